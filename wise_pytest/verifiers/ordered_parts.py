"""Named parts in a given order, and nothing before them. Called through the registry.

A part begins with its label, as it is written in the target: case counts, and
so do a colon and any markup. It ends where the next one begins, on the same line or
not, and holds something after its label. A label inside a longer word is none
(``Sound:`` in ``Ultrasound:`` or in ``My_Sound:``). Both sides are compared in NFC.

Where several things are wrong, the first of these is reported: missing_part,
repeated_part, wrong_order, preamble (text before the first part), empty_part.
"""

from __future__ import annotations

import unicodedata

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

DIRECTIONS = ("ordered", "missing_part", "repeated_part", "wrong_order", "preamble", "empty_part")

_MIN_PARTS = 2


def verify(text: str, target: tuple[str, ...]) -> Verdict:
    """Whether ``text`` consists of parts that begin with the labels of ``target``, in this order.

    ``observed`` is the number of labels that occur.
    """
    whole = unicodedata.normalize("NFC", text)
    labels = [unicodedata.normalize("NFC", label) for label in target]
    places = [_places(whole, label) for label in labels]
    observed = sum(1 for found in places if found)
    direction = _direction(whole, labels, places)
    return Verdict(compliant=direction == "ordered", direction=direction, observed=observed)


def check_target(target: object) -> None:
    """Refuse anything but two or more labels that can be told apart in a text.

    Raises
    ------
    PanelError
        If ``target`` is no such tuple.
    """
    is_texts = isinstance(target, tuple) and all(isinstance(label, str) for label in target)
    if not isinstance(target, tuple) or not is_texts or len(target) < _MIN_PARTS:
        raise PanelError(f"ordered_parts needs two or more labels as its target, not {target!r}")
    if not all(label and label == label.strip() for label in target):
        raise PanelError(f"ordered_parts needs labels without blanks around them, not {target!r}")
    for place, label in enumerate(target):
        for other in target[:place] + target[place + 1 :]:
            if unicodedata.normalize("NFC", label) in unicodedata.normalize("NFC", other):
                raise PanelError(f"ordered_parts cannot tell the label {label!r} from a part of {other!r}")


def describe(target: tuple[str, ...]) -> str:
    """The requirement in words."""
    return f"consists of parts that begin with {', '.join(target)} in this order, and of nothing else"


def _direction(whole: str, labels: list[str], places: list[list[int]]) -> str:
    if not all(places):
        return "missing_part"
    if any(len(found) > 1 for found in places):
        return "repeated_part"
    starts = [found[0] for found in places]
    if starts != sorted(starts):
        return "wrong_order"
    if whole[: starts[0]].strip():
        return "preamble"
    ends = [*starts[1:], len(whole)]
    bodies = (whole[start + len(label) : end] for start, label, end in zip(starts, labels, ends, strict=True))
    return "ordered" if all(body.strip() for body in bodies) else "empty_part"


def _places(whole: str, label: str) -> list[int]:
    """Where ``label`` stands in ``whole`` and is not part of a longer word."""
    places = []
    at = whole.find(label)
    while at != -1:
        before, after = whole[:at][-1:], whole[at + len(label) :][:1]
        if not (_joins(before, label[0]) or _joins(label[-1], after)):
            places.append(at)
        at = whole.find(label, at + 1)
    return places


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters are of one word."""
    return _is_word(left) and _is_word(right)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"

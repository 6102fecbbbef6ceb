r"""Exactly one citation of a given form in square brackets. Called through the registry.

The target is the form as the instruction shows it, such as ``[Surname, Year]``:
the names of ``PLACEHOLDERS`` stand for what they say, and everything else for
itself. A citation fills the brackets wholly, and its brackets do not touch
others of their kind, so ``[[Smith, 2020]]`` is none. Brackets with anything
else in them are no citations and change nothing; where there is no citation
but such brackets, the direction is ``wrong_form``. Both sides are compared in NFC.
"""

from __future__ import annotations

import re
import unicodedata

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

DIRECTIONS = ("zero", "wrong_form", "once", "multiple")

PLACEHOLDERS = {
    "Surname": r"[^\W\d_]+(?:['’-][^\W\d_]+)*",
    "Year": "[0-9]{4}",
    "Number": "[0-9]+",
    "Page": "[0-9]+",
    "Title": r"[^\[\]\s](?:[^\[\]\r\n]*[^\[\]\s])?",
}
"""What stands in a form for something else, and the texts it stands for."""

_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_FORM = re.compile(r"\[[^\[\]\s](?:[^\[\]\r\n]*[^\[\]\s])?\]")
_PLACEHOLDER = re.compile(rf"\b({'|'.join(PLACEHOLDERS)})\b")


def verify(text: str, target: str) -> Verdict:
    """Whether ``text`` has exactly one citation of the form ``target``; ``error`` is observed minus one."""
    whole = unicodedata.normalize("NFC", text)
    observed = len(_pattern(target).findall(whole))
    if observed == 0:
        direction = "wrong_form" if _BRACKETS.search(whole) else "zero"
    else:
        direction = "once" if observed == 1 else "multiple"
    return Verdict(compliant=observed == 1, direction=direction, observed=observed, error=observed - 1)


def check_target(target: object) -> None:
    """Refuse anything but one pair of square brackets around a form with a placeholder in it.

    Raises
    ------
    PanelError
        If ``target`` is no such form.
    """
    if not isinstance(target, str) or not _FORM.fullmatch(target):
        raise PanelError(
            "citation_once needs a form in one pair of square brackets as its target, such as "
            f"'[Surname, Year]', not {target!r}"
        )
    if not _PLACEHOLDER.search(target):
        raise PanelError(
            f"citation_once needs one of {', '.join(PLACEHOLDERS)} in the form of a citation, not {target!r}"
        )


def describe(target: str) -> str:
    """The requirement in words."""
    return f"has exactly one citation in the form {target}"


def _pattern(form: str) -> re.Pattern[str]:
    # Splitting at the placeholders leaves them in the odd places.
    parts = _PLACEHOLDER.split(unicodedata.normalize("NFC", form))
    filled = (PLACEHOLDERS[part] if place % 2 else re.escape(part) for place, part in enumerate(parts))
    return re.compile(rf"(?<!\[){''.join(filled)}(?!\])")

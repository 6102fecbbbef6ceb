"""No capital letter. Called through the registry.

A capital letter is a character that Unicode calls upper case or title case, in
whatever script. A text without any letter that has cases complies if there is
a text at all: it has no capital letter, whichever way that was asked for.
"""

from __future__ import annotations

import unicodedata

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

DIRECTIONS = ("lower", "initials", "inside", "all_capitals", "empty")

TARGET = "lower case"
"""The one target: the same for every item, and named by the form in its own way."""


def verify(text: str, target: str) -> Verdict:  # noqa: ARG001 - every verifier is called alike
    """Whether ``text`` has no capital letter; ``observed`` and ``error`` count those it has.

    ``initials``: every capital letter begins a word. ``all_capitals``: there is
    no lower-case letter beside them. ``inside``: some stand within a word.
    """
    whole = unicodedata.normalize("NFC", text)
    places = [place for place, character in enumerate(whole) if _is_capital(character)]
    direction = _direction(whole, places)
    return Verdict(
        compliant=direction == "lower", direction=direction, observed=len(places), error=len(places)
    )


def check_target(target: object) -> None:
    """Refuse anything but the one target.

    Raises
    ------
    PanelError
        If ``target`` is another.
    """
    if target != TARGET:
        raise PanelError(f"lower_case needs {TARGET!r} as its target, not {target!r}")


def describe(target: str) -> str:  # noqa: ARG001
    """The requirement in words."""
    return "has no capital letter"


def _direction(whole: str, places: list[int]) -> str:
    if not places:
        return "lower" if whole.strip() else "empty"
    if not any(character.islower() for character in whole):
        return "all_capitals"
    inside = any(_is_word(whole[place - 1]) for place in places if place > 0)
    return "inside" if inside else "initials"


def _is_capital(character: str) -> bool:
    return character.isupper() or unicodedata.category(character) == "Lt"


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"

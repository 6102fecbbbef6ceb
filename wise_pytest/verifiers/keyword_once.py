"""The keyword exactly once, as a whole word. Called through the registry.

What counts as the same letter is Unicode's canonical caseless matching
(The Unicode Standard, definition D145), compared character by character, a
character being what it is in NFC together with the combining marks that follow:

* ``straße``, ``STRASSE`` and ``strasse`` are one word, and so are ``sun`` and
  its spelling with a long s (U+017F). ``re.IGNORECASE`` compares single code
  points and would tell the first two apart.
* ``İstanbul`` is not ``istanbul``: ``İ`` is an ``i`` with a dot above, and so is
  another letter. The Turkish rules would need to know the language of the text.
* ``café`` is the same composed or decomposed, and neither is ``cafe``. A letter
  with a mark is another letter also where Unicode has no composed form of it.

A match never begins or ends inside a character, and is not touched by a word
character (a letter, digit or underscore, whatever marks it carries) on either
side. So ``river's`` and ``river-bank`` hold ``river``, ``rivers`` and
``river_bank`` do not, and ``c++`` is found in ``(c++)``, where the usual word
boundary of regular expressions would miss it. Whitespace inside a keyword
stands for itself.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

DIRECTIONS = ("zero", "once", "multiple")

_NOT_TEXT = frozenset({"Cc", "Cs"})
"""Control characters and lone surrogates: no instruction can ask for them."""


def verify(text: str, target: str) -> Verdict:
    """Whether ``target`` occurs exactly once in ``text``; ``error`` is observed minus one."""
    observed = count_keyword(text, target)
    direction = "once" if observed == 1 else "zero" if observed == 0 else "multiple"
    return Verdict(compliant=observed == 1, direction=direction, observed=observed, error=observed - 1)


def count_keyword(text: str, keyword: str) -> int:
    """The number of whole-word matches of ``keyword`` in ``text``, left to right, none overlapping."""
    needle = _fold(keyword)
    if not needle or needle not in _fold(text):
        return 0  # most outputs without the keyword end here, before the walk over their characters
    characters = _characters(text)
    pieces = [_fold(character) for character in characters]
    # Folding changes lengths, so places in the folded text are led back to the characters they came from.
    index_at = {offset: index for index, offset in enumerate(accumulate(map(len, pieces), initial=0))}
    folded = "".join(pieces)
    count = 0
    at = folded.find(needle)
    while at != -1:
        end = at + len(needle)
        first, stop = index_at.get(at), index_at.get(end)
        if first is not None and stop is not None and _is_free(characters, first, stop):
            count += 1
            at = folded.find(needle, end)
        else:
            at = folded.find(needle, at + 1)
    return count


def check_target(target: object) -> None:
    """Refuse a keyword that is empty, has blanks around it, or can never match.

    Raises
    ------
    PanelError
        If ``target`` is no usable keyword.
    """
    if not isinstance(target, str) or not target:
        raise PanelError(f"keyword_once needs a non-empty text as its target, not {target!r}")
    if target != target.strip():
        raise PanelError(f"keyword_once needs a keyword without whitespace around it, not {target!r}")
    if any(unicodedata.category(character) in _NOT_TEXT for character in target):
        raise PanelError(
            f"keyword_once needs a keyword without control characters or surrogates, not {target!r}"
        )
    # Within blanks, because a keyword that opens with a combining mark matches where no text precedes it.
    if count_keyword(f" {target} ", target) != 1:
        raise PanelError(f"keyword_once can never find the keyword {target!r} in a text")


def describe(target: str) -> str:
    """The requirement in words."""
    return f'has the word "{target}" exactly once'


def _fold(text: str) -> str:
    """``text`` in the form in which equal letters are equal code points (definition D145)."""
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", decomposed.casefold())


def _characters(text: str) -> list[str]:
    """The characters of ``text`` in NFC, each with the combining marks that follow it."""
    characters: list[str] = []
    for point in unicodedata.normalize("NFC", text):
        if characters and unicodedata.category(point).startswith("M"):
            characters[-1] += point
        else:
            characters.append(point)
    return characters


def _is_free(characters: list[str], first: int, stop: int) -> bool:
    """Whether no word character touches ``characters[first:stop]``."""
    before = first > 0 and _is_word(characters[first - 1])
    after = stop < len(characters) and _is_word(characters[stop])
    return not before and not after


def _is_word(character: str) -> bool:
    # What ``\w`` matches, by the documentation of ``re``.
    return character[0].isalnum() or character[0] == "_"

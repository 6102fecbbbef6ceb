"""Exactly this many words. Called through the registry; the count also serves ``word_range``."""

from __future__ import annotations

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

DIRECTIONS = ("under", "exact", "over")


def count_words(text: str) -> int:
    """The number of maximal runs of non-whitespace, in Python's Unicode sense of whitespace.

    The paper writes ``len(text.strip().split())``. ``split()`` without a
    separator already ignores whitespace at both ends, so the count is the same.
    Punctuation standing alone is a word; a no-break space separates; a
    zero-width space does not.
    """
    return len(text.split())


def verify(text: str, target: int) -> Verdict:
    """Whether ``text`` has exactly ``target`` words; ``error`` is observed minus target."""
    observed = count_words(text)
    error = observed - target
    direction = "exact" if error == 0 else "under" if error < 0 else "over"
    return Verdict(compliant=error == 0, direction=direction, observed=observed, error=error)


def check_target(target: object) -> None:
    """Refuse anything but a whole number from 1.

    Raises
    ------
    PanelError
        If ``target`` is no such number.
    """
    if not isinstance(target, int) or isinstance(target, bool) or target < 1:
        raise PanelError(f"word_count needs a whole number of words from 1 as its target, not {target!r}")


def describe(target: int) -> str:
    """The requirement in words."""
    return f"has exactly {target} words"

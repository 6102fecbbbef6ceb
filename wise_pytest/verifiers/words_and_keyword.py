"""Exactly this many words, and the keyword exactly once. Called through the registry.

Both are scored as ``word_count`` and ``keyword_once`` do it; the directions say
which of the two are met, so the share of either is a sum of directions
(``PARTS``).
"""

from __future__ import annotations

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers import keyword_once, word_count

DIRECTIONS = ("both", "words_only", "keyword_only", "neither")
PARTS = (("words", ("both", "words_only")), ("keyword", ("both", "keyword_only")))
"""Each single requirement, and the directions under which it is met."""

_N_TARGETS = 2


def verify(text: str, target: tuple[int, str]) -> Verdict:
    """Whether ``text`` meets both; ``observed`` and ``error`` are those of the word count."""
    words = word_count.verify(text, target[0])
    keyword = keyword_once.verify(text, target[1])
    if words.compliant:
        direction = "both" if keyword.compliant else "words_only"
    else:
        direction = "keyword_only" if keyword.compliant else "neither"
    return Verdict(
        compliant=direction == "both", direction=direction, observed=words.observed, error=words.error
    )


def check_target(target: object) -> None:
    """Refuse anything but a number of words and a keyword.

    Raises
    ------
    PanelError
        If ``target`` is no such pair.
    """
    if not isinstance(target, tuple) or len(target) != _N_TARGETS:
        raise PanelError(f"words_and_keyword needs a number of words and a keyword, not {target!r}")
    word_count.check_target(target[0])
    keyword_once.check_target(target[1])


def describe(target: tuple[int, str]) -> str:
    """The requirement in words."""
    return f"{word_count.describe(target[0])} and {keyword_once.describe(target[1])}"

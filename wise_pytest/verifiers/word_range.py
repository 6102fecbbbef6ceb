"""A number of words between two bounds, both allowed. Called through the registry."""

from __future__ import annotations

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers.word_count import count_words

DIRECTIONS = ("below", "within", "above")

_N_BOUNDS = 2


def verify(text: str, target: tuple[int, int]) -> Verdict:
    """Whether the word count of ``text`` is from ``target[0]`` to ``target[1]``, both included.

    ``error`` stays ``None``: with two bounds there is no one number to differ from.
    """
    low, high = target
    observed = count_words(text)
    direction = "below" if observed < low else "above" if observed > high else "within"
    return Verdict(compliant=direction == "within", direction=direction, observed=observed)


def check_target(target: object) -> None:
    """Refuse anything but two whole numbers, 1 ≤ low ≤ high.

    Raises
    ------
    PanelError
        If ``target`` is no such pair.
    """
    if (
        not isinstance(target, tuple)
        or len(target) != _N_BOUNDS
        or not all(isinstance(bound, int) and not isinstance(bound, bool) for bound in target)
    ):
        raise PanelError(f"word_range needs two whole numbers, low and high, as its target, not {target!r}")
    low, high = target
    if low < 1:
        raise PanelError(f"word_range needs a lower bound from 1, not {low}")
    if low > high:
        raise PanelError(f"word_range needs low ≤ high; {low} is more than {high}, so no answer could comply")


def describe(target: tuple[int, int]) -> str:
    """The requirement in words."""
    return f"has {target[0]} to {target[1]} words, both included"

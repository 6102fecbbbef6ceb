"""The floor regime: a model whose outputs stay short whatever length is asked for.

Called by the audit for each model of a panel. Such a model says nothing about
wording, so the primary analysis leaves it out (Appendix I of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from wise_pytest.stats.rates import Rate, pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_COMPLIANCE = Fraction(1, 100)
"""Compliance at every target above the smallest is at most this."""
MIN_CHANGE_WORDS = 1
"""From the smallest to the largest target, mean observed words grow by less than this."""
MIN_TARGETS = 2


@dataclass(frozen=True, slots=True)
class TargetOutcome:
    """What was done at one target: by one model or several, under one form or several."""

    target: int
    """Words asked for."""
    rate: Rate
    n_observed: int
    """Scored generations whose length is known."""
    sum_observed: int
    """Their words, added up."""
    n_texts: int = 0
    """Scored generations whose output is known."""
    n_empty: int = 0
    """Of these, with nothing but white space in it."""
    n_truncated: int = 0
    """Scored generations that the token cap has stopped."""

    @property
    def mean_observed(self) -> Fraction | None:
        """Mean words of the generations whose length is known."""
        return Fraction(self.sum_observed, self.n_observed) if self.n_observed else None


def pool_outcomes(outcomes: Iterable[TargetOutcome]) -> tuple[TargetOutcome, ...]:
    """One outcome a target, ascending, that adds up the disjoint ones given."""
    by_target: dict[int, list[TargetOutcome]] = {}
    for outcome in outcomes:
        by_target.setdefault(outcome.target, []).append(outcome)
    return tuple(
        TargetOutcome(
            target=target,
            rate=pool(part.rate for part in parts),
            n_observed=sum(part.n_observed for part in parts),
            sum_observed=sum(part.sum_observed for part in parts),
            n_texts=sum(part.n_texts for part in parts),
            n_empty=sum(part.n_empty for part in parts),
            n_truncated=sum(part.n_truncated for part in parts),
        )
        for target, parts in sorted(by_target.items())
    )


@dataclass(frozen=True, slots=True)
class FloorRegime:
    """Whether a model is in the floor regime, and what that rests on."""

    in_floor: bool
    """``False`` too where it cannot be assessed: a doubt excludes nobody."""
    change: Fraction | None
    """Mean observed words at the largest target minus those at the smallest."""
    reason: str | None = None
    """Why it cannot be assessed; ``None`` where it was."""

    @property
    def assessable(self) -> bool:
        """Whether the rows hold what the criterion needs."""
        return self.reason is None


def floor_regime(outcomes: Sequence[TargetOutcome]) -> FloorRegime:
    """Apply the saved-output floor criterion to one model.

    Parameters
    ----------
    outcomes
        One entry a numeric target, in any order. Targets without a scored
        generation are ignored.

    Returns
    -------
    FloorRegime
        Not assessable with fewer than two targets, or where the smallest or
        largest has a scored generation of unknown length.

    Notes
    -----
    Appendix I of the paper: at most 1 % compliance at every target above the
    smallest, and less than one mean observed word of change from the smallest
    to the largest target.
    """
    scored = sorted((outcome for outcome in outcomes if outcome.rate.n), key=lambda outcome: outcome.target)
    if len(scored) < MIN_TARGETS:
        return FloorRegime(in_floor=False, change=None, reason="fewer than two numeric targets were scored")
    smallest, largest = scored[0], scored[-1]
    if any(outcome.n_observed < outcome.rate.n for outcome in (smallest, largest)):
        return FloorRegime(in_floor=False, change=None, reason="rows do not hold the observed count")
    change = Fraction(largest.sum_observed, largest.n_observed) - Fraction(
        smallest.sum_observed, smallest.n_observed
    )
    at_floor = all(
        Fraction(outcome.rate.n_compliant, outcome.rate.n) <= MAX_COMPLIANCE for outcome in scored[1:]
    )
    return FloorRegime(in_floor=at_floor and change < MIN_CHANGE_WORDS, change=change)

"""Intervals of rates, of their mean, of the worst form and of the wording gap, out of the replicates.

Called by the audit's ``uncertainty``, for a panel's pooled rates and for each
model's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.stats.contrasts import percentile_interval, percentile_intervals, too_many_undefined
from wise_pytest.stats.summary import MIN_FORMS_FOR_GAP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.stats.bootstrap import Floats, PanelDraws, Truths
    from wise_pytest.stats.rates import Interval, Rate

MEASURES = ("reference", "mean", "worst", "gap")
NOT_DRAWN = "draw no row of this form"
SEE_WILSON = "all or none comply, which resampling cannot vary: see the Wilson interval"


@dataclass(frozen=True, slots=True)
class RateInterval:
    """The interval of one rate, or why there is none."""

    interval: Interval | None
    """95 % percentile interval, in 0..1."""
    reason: str | None


@dataclass(frozen=True, slots=True)
class SummaryIntervals:
    """95 % percentile intervals of a summary over forms, in 0..1.

    Each replicate has its own worst and best form. Resampling adds noise to
    every rate, which lowers their minimum and raises their range: the interval
    of a small gap lies above it, and does not reach zero.
    """

    reference: Interval | None
    mean: Interval | None
    worst: Interval | None
    gap: Interval | None
    """``None`` with one form, too."""
    degenerate: tuple[str, ...] = ()
    """Those that are equal in all replicates: their interval has no width, which is not certainty."""
    reason: str | None = None
    """Why there are none."""

    @classmethod
    def unavailable(cls, reason: str) -> SummaryIntervals:
        """No interval of any of them."""
        return cls(reference=None, mean=None, worst=None, gap=None, reason=reason)


def rate_intervals(draws: PanelDraws, rates: Sequence[Rate]) -> tuple[RateInterval, ...]:
    """The interval of each form's rate.

    Parameters
    ----------
    draws
        Of the same forms in the same order.
    rates
        The rates in the rows themselves. One without a scored row has no
        interval, and neither has one where all or none comply: all replicates
        are then alike, which is not certainty.
    """
    intervals: Sequence[Interval | None] = [None] * len(rates)
    if draws.scored.all():
        intervals = percentile_intervals(draws.rates)
    return tuple(
        _rate_interval(rate, draws.rates[:, place], draws.scored[:, place], intervals[place])
        for place, rate in enumerate(rates)
    )


def summary_intervals(draws: PanelDraws, rates: Mapping[str, Rate], *, reference: str) -> SummaryIntervals:
    """Intervals of the reference form's rate, of the mean, of the worst form and of the gap.

    Parameters
    ----------
    draws
        Of the forms of ``rates``, in their order.
    rates
        Form to its rate in the rows themselves; forms without a scored row are
        in no summary.
    reference
        The form that the others are compared with; it need not be there.
    """
    import numpy as np

    place_of = {form: place for place, (form, rate) in enumerate(rates.items()) if rate.n}
    places = [*place_of.values()]
    complete: Truths = np.all(draws.scored[:, places], axis=1)
    reason = too_many_undefined(int(complete.sum()), len(complete), "lack rows of one of the forms")
    if not places or reason is not None:
        return SummaryIntervals.unavailable(reason or "no form has a scored row")
    kept = draws.rates[complete][:, places]
    worst = kept.min(axis=1)
    measures = {"mean": np.ascontiguousarray(kept).mean(axis=1), "worst": worst}
    if reference in place_of:
        measures["reference"] = draws.rates[complete, place_of[reference]]
    if len(places) >= MIN_FORMS_FOR_GAP:
        measures["gap"] = kept.max(axis=1) - worst
    found = percentile_intervals(np.stack(list(measures.values()), axis=1))
    intervals = dict(zip(measures, found, strict=True))
    return SummaryIntervals(
        reference=intervals.get("reference"),
        mean=intervals["mean"],
        worst=intervals["worst"],
        gap=intervals.get("gap"),
        degenerate=tuple(
            name for name in MEASURES if name in measures and measures[name].min() == measures[name].max()
        ),
    )


def _rate_interval(rate: Rate, values: Floats, scored: Truths, interval: Interval | None) -> RateInterval:
    """The interval of one rate; it is that of all replicates where they all have rows."""
    if not rate.n:
        return RateInterval(None, "no scored rows")
    if rate.degenerate:
        return RateInterval(None, SEE_WILSON)
    kept = values[scored]
    reason = too_many_undefined(len(kept), len(scored), NOT_DRAWN)
    return RateInterval(None if reason else interval or percentile_interval(kept), reason)

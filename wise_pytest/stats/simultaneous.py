"""Bounds of a worst form and of a wording gap that hold whichever form is worst, or best.

Called by the audit's ``uncertainty``; the gate judges by them. A percentile
interval of a range leans upwards, because resampling adds noise to every form
and the range picks the noisiest: on simulated runs whose gap was exactly the
limit it lay beyond the limit in up to half of all cases. Bounds that hold for
all differences at once hold for the largest one, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.stats.contrasts import CONFIDENCE
from wise_pytest.stats.rates import Interval, wilson_interval
from wise_pytest.stats.summary import MIN_FORMS_FOR_GAP

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.stats.rates import Rate

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RangeBounds:
    """Simultaneous 95 % bounds, in 0..1."""

    worst: Interval
    gap: Interval | None
    """``None`` with one form."""


def range_bounds(rates: Sequence[Rate], draws: Floats) -> RangeBounds:
    r"""Bound the smallest of several rates, and their range.

    .. math:: [\max_{a \ne b} (d_{ab} - c\,s_{ab}),\ \max_{a \ne b} (d_{ab} + c\,s_{ab})]

    bounds the largest difference of two rates, :math:`d_{ab}` being that of the
    rates themselves, :math:`s_{ab}` its standard deviation over the replicates,
    and :math:`c` the 95 % quantile of :math:`\max_{ab} |d^*_{ab} - d_{ab}| / s_{ab}`.
    The smallest rate has its bounds likewise, over the rates.

    Parameters
    ----------
    rates
        Of the forms, each with at least one scored row.
    draws
        Their rates in the replicates, shape ``(n_replicates, n_forms)``.

    Notes
    -----
    A rate of 0 or 1 does not vary when it is resampled, which is not certainty:
    what its Wilson interval leaves open is added.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their
    application, section 4.2.4; P. H. Westfall and S. S. Young (1993),
    Resampling-based multiple testing, section 2.
    """
    import numpy as np

    points = np.array([rate.value for rate in rates], dtype=np.float64)
    below, above = _open(rates)
    low, high = _band(points, draws)
    worst = Interval(max(0.0, float((low - below).min())), min(1.0, float((high + above).min())))
    if len(rates) < MIN_FORMS_FOR_GAP:
        return RangeBounds(worst, None)
    one, other = np.triu_indices(len(rates), k=1)
    low, high = _band(points[one] - points[other], draws[:, one] - draws[:, other])
    # Each pair stands for both of its differences: the one is minus the other.
    lows = np.concatenate([low - below[one] - above[other], -high - above[one] - below[other]])
    highs = np.concatenate([high + above[one] + below[other], -low + below[one] + above[other]])
    return RangeBounds(worst, Interval(max(0.0, float(lows.max())), min(1.0, max(0.0, float(highs.max())))))


def _band(points: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """Lower and upper bounds that hold for all of ``points`` together."""
    import numpy as np

    spread = draws.std(axis=0)
    varies = spread > 0
    if not varies.any():
        return points, points
    largest = (np.abs(draws[:, varies] - points[varies]) / spread[varies]).max(axis=1)
    width = float(np.quantile(largest, CONFIDENCE)) * spread
    return points - width, points + width


def _open(rates: Sequence[Rate]) -> tuple[Floats, Floats]:
    """How far below and above a rate of 0 or 1 the truth may lie; zero for all others."""
    import numpy as np

    below, above = np.zeros(len(rates)), np.zeros(len(rates))
    for place, rate in enumerate(rates):
        if rate.degenerate:
            interval = wilson_interval(rate)
            below[place] = float(rate.value or 0.0) - interval.low
            above[place] = interval.high - float(rate.value or 0.0)
    return below, above

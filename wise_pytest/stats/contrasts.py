"""Intervals and p values of contrasts, out of their replicates.

Called by the audit's ``uncertainty`` with the draws of ``bootstrap``, and by
``ranking_bootstrap`` for its percentile intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.stats.rates import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.stats.bootstrap import ContrastDraws

    Floats: TypeAlias = NDArray[np.float64]
    Truths: TypeAlias = NDArray[np.bool_]

CONFIDENCE = 0.95
MAX_UNDEFINED = Fraction(1, 100)
"""With this share of undefined replicates or more, those left over are no fair sample of all."""
NO_VARIATION = "all replicates give the same difference, so they cannot tell it from chance"


@dataclass(frozen=True, slots=True)
class Contrast:
    """One form against the reference form."""

    diff: float | None
    """The scheme's own estimate, -1..1."""
    interval: Interval | None
    """95 % percentile interval of the difference."""
    interval_reason: str | None
    """Why there is none."""
    degenerate: bool
    """Whether all replicates are equal: the interval has no width, which is not certainty."""
    p: float | None
    """Two-sided, raw."""
    p_reason: str | None
    """Why there is none: the contrast is untestable."""
    n_replicates: int
    """Replicates in which the difference is defined; the interval rests on these."""

    @classmethod
    def unavailable(cls, reason: str, *, diff: float | None = None, n_replicates: int = 0) -> Contrast:
        """A contrast that resampling says nothing about."""
        return cls(
            diff=diff,
            interval=None,
            interval_reason=reason,
            degenerate=False,
            p=None,
            p_reason=reason,
            n_replicates=n_replicates,
        )


def summarize_contrasts(points: Sequence[float | None], draws: ContrastDraws) -> tuple[Contrast, ...]:
    """Interval and p value of each form, from the same draws.

    Parameters
    ----------
    points
        From ``bootstrap.contrast_points``.
    draws
        From ``bootstrap.draw_contrasts``, of the same counts and scheme.

    Returns
    -------
    tuple[Contrast, ...]
        One a form, in the order of the draws. Replicates without a row of one
        of the two forms are left out where they are fewer than ``MAX_UNDEFINED``
        of all; otherwise the interval is unavailable. They never count as zero.
    """
    intervals: Sequence[Interval | None] = [None] * len(points)
    if draws.defined.all():
        intervals = percentile_intervals(draws.differences)
    return tuple(
        _contrast(point, draws.differences[:, place], draws.defined[:, place], intervals[place])
        for place, point in enumerate(points)
    )


def _contrast(
    point: float | None, differences: Floats, defined: Truths, interval: Interval | None
) -> Contrast:
    """One contrast; its interval is that of all replicates where they are all defined."""
    if point is None:
        return Contrast.unavailable("no scored rows of this form, or none of the reference form")
    kept = differences[defined]
    reason = too_many_undefined(len(kept), len(defined), "draw no row of this form or of the reference form")
    if reason is not None:
        return Contrast.unavailable(reason, diff=point, n_replicates=len(kept))
    degenerate = bool((kept == kept[0]).all())
    return Contrast(
        diff=point,
        interval=interval or percentile_interval(kept),
        interval_reason=None,
        degenerate=degenerate,
        p=None if degenerate else two_sided_p(kept),
        p_reason=NO_VARIATION if degenerate else None,
        n_replicates=len(kept),
    )


def percentile_interval(values: Floats, *, confidence: float = CONFIDENCE) -> Interval:
    """The middle ``confidence`` of the replicates.

    Parameters
    ----------
    values
        One dimension, at least one value, in any unit.
    confidence
        In (0, 1).

    Returns
    -------
    Interval
        Quantiles with linear interpolation between order statistics.
    """
    import numpy as np

    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail]).tolist()
    return Interval(low=low, high=high)


def percentile_intervals(values: Floats, *, confidence: float = CONFIDENCE) -> tuple[Interval, ...]:
    """``percentile_interval`` of each column of ``values``, shape ``(n_replicates, n)``, in one go."""
    import numpy as np

    tail = (1 - confidence) / 2
    lows, highs = np.quantile(values, [tail, 1 - tail], axis=0).tolist()
    return tuple(Interval(low=low, high=high) for low, high in zip(lows, highs, strict=True))


def two_sided_p(differences: Floats) -> float:
    r"""How rarely the replicates lie on the far side of zero.

    .. math:: p = \min\left(1, 2 \min\left(\frac{1 + \#\{d \le 0\}}{1 + R},
              \frac{1 + \#\{d \ge 0\}}{1 + R}\right)\right)

    The added one keeps p above zero: 2,000 replicates cannot show less than
    2/2001.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their
    application, section 4.4.
    """
    n = len(differences)
    n_low, n_high = int((differences <= 0).sum()), int((differences >= 0).sum())
    return min(1.0, 2 * (1 + min(n_low, n_high)) / (1 + n))


def too_many_undefined(n_kept: int, n: int, what: str) -> str | None:
    """Why ``n_kept`` defined replicates of ``n`` do not make an interval; ``None`` where they do."""
    if n_kept and Fraction(n - n_kept, n) < MAX_UNDEFINED:
        return None
    return f"{n - n_kept} of {n} replicates {what}"

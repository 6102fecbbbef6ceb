"""Compliance rates that keep their counts, and an interval for the degenerate ones.

Called by the other modules of ``stats`` and by the audit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of compliant generations, kept as the two counts that make it.

    Raises
    ------
    ValueError
        If the counts are not ``0 <= n_compliant <= n``.
    """

    n_compliant: int
    n: int
    """Scored generations: the denominator. Zero means that the rate is undefined."""

    def __post_init__(self) -> None:
        if not 0 <= self.n_compliant <= self.n:
            raise ValueError(f"{self.n_compliant} of {self.n} is no rate")

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.n_compliant + other.n_compliant, self.n + other.n)

    @property
    def fraction(self) -> Fraction | None:
        """The exact rate in 0..1, or ``None`` without a scored generation."""
        return Fraction(self.n_compliant, self.n) if self.n else None

    @property
    def value(self) -> float | None:
        """The rate in 0..1, divided once, or ``None`` without a scored generation."""
        return self.n_compliant / self.n if self.n else None

    @property
    def degenerate(self) -> bool:
        """Whether all or none of at least one scored generation comply."""
        return self.n > 0 and self.n_compliant in {0, self.n}


NO_ROWS = Rate(0, 0)


def pool(rates: Iterable[Rate]) -> Rate:
    """The row-pooled rate: a rate with more generations weighs more.

    Counts are integers, so the result does not depend on the order.
    """
    return sum(rates, NO_ROWS)


@dataclass(frozen=True, slots=True)
class Interval:
    """Two bounds, each in the unit of what they bound, ``low <= high``."""

    low: float
    high: float


def wilson_interval(rate: Rate, *, confidence: float = 0.95) -> Interval:
    r"""Score interval of a binomial rate; honest at 0 and 1, where a bootstrap is not.

    .. math:: \frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    10 of 10 gives [0.72, 1] and 0 of 10 gives [0, 0.28].

    Parameters
    ----------
    rate
        With at least one scored generation.
    confidence
        Coverage of the two-sided interval, in (0, 1).

    Returns
    -------
    Interval
        Bounds in 0..1.

    Raises
    ------
    ValueError
        If the rate has no generations.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and
    statistical inference, JASA 22, 209-212.
    """
    if not rate.n:
        raise ValueError("a rate without generations has no interval")
    n = rate.n
    p = rate.n_compliant / n
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = p + z * z / (2 * n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the boundary the algebra gives exactly 0 or 1; the floating point need not.
    low = 0.0 if rate.n_compliant == 0 else (centre - half) / scale
    high = 1.0 if rate.n_compliant == n else (centre + half) / scale
    return Interval(low=low, high=high)

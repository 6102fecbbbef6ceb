"""The spread of count errors, out of how often each error occurs.

Called by the audit for each form (Figure 4 of the paper). Errors are whole
numbers, so everything here is exact.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

WHISKER = Fraction(3, 2)
"""Whiskers reach to the last value within this many interquartile ranges of the box."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Five numbers of a box plot, the extremes and the mean; in the unit of the values."""

    n: int
    minimum: int
    whisker_low: Fraction
    """The smallest value within 1.5 interquartile ranges of the first quartile, at most that quartile."""
    q1: Fraction
    median: Fraction
    q3: Fraction
    whisker_high: Fraction
    """The largest value within 1.5 interquartile ranges of the third quartile, at least that quartile."""
    maximum: int
    mean: Fraction


def spread(counts: Mapping[int, int]) -> Spread | None:
    r"""Quartiles, whiskers, extremes and mean of values that are given with their frequencies.

    Parameters
    ----------
    counts
        Value to its frequency, from 0; in any order.

    Returns
    -------
    Spread or None
        ``None`` where nothing was counted.

    Raises
    ------
    ValueError
        If a frequency is negative.

    Notes
    -----
    The quantile at :math:`q` of n ordered values :math:`x_0 \dots x_{n-1}` lies
    at :math:`q (n - 1)`, interpolated linearly between its neighbours: method 7
    of Hyndman and Fan, the default of ``numpy.quantile``.

    References
    ----------
    R. J. Hyndman and Y. Fan (1996), Sample quantiles in statistical packages,
    The American Statistician 50, 361-365; J. W. Tukey (1977), Exploratory data
    analysis, for the whiskers.
    """
    if any(count < 0 for count in counts.values()):
        raise ValueError("a frequency cannot be negative")
    values = sorted(value for value, count in counts.items() if count)
    if not values:
        return None
    through = list(accumulate(counts[value] for value in values))
    n = through[-1]

    def at(place: int) -> int:
        """The value at ``place`` of all n in order."""
        return values[bisect_right(through, place)]

    def quantile(share: Fraction) -> Fraction:
        place = share * (n - 1)
        below = place.numerator // place.denominator
        low, high = at(below), at(min(below + 1, n - 1))
        return low + (place - below) * (high - low)

    q1, median, q3 = (quantile(Fraction(quarter, 4)) for quarter in (1, 2, 3))
    reach = WHISKER * (q3 - q1)
    return Spread(
        n=n,
        minimum=values[0],
        # An interpolated quartile can lie beyond every value near it; a whisker never points into the box.
        whisker_low=min(q1, Fraction(values[bisect_left(values, q1 - reach)])),
        q1=q1,
        median=median,
        q3=q3,
        whisker_high=max(q3, Fraction(values[bisect_right(values, q3 + reach) - 1])),
        maximum=values[-1],
        mean=Fraction(sum(value * counts[value] for value in values), n),
    )

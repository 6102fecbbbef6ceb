"""The spread of counts: by hand, against numpy's quantiles, and against the rule of a box plot's whiskers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.stats.distribution import Spread, spread

COUNTS = st.dictionaries(st.integers(-40, 40), st.integers(0, 6), max_size=12)


def listed(counts: dict[int, int]) -> list[int]:
    return sorted(value for value, count in counts.items() for _ in range(count))


def test_worked_by_hand():
    # Values 1 2 3 4 5 6 7 8 9 30: quartiles at places 2.25, 4.5 and 6.75 of 0 to 9.
    found = spread(dict.fromkeys([*range(1, 10), 30], 1))
    assert found == Spread(
        n=10,
        minimum=1,
        whisker_low=Fraction(1),
        q1=Fraction(13, 4),
        median=Fraction(11, 2),
        q3=Fraction(31, 4),
        whisker_high=Fraction(9),  # 7.75 + 1.5 · 4.5 = 14.5, and 9 is the last value below it
        maximum=30,
        mean=Fraction(75, 10),
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # minimum, whisker, q1, median, q3, whisker, maximum, mean
        ({-4: 1}, (-4, -4, -4, -4, -4, -4, -4, -4)),
        ({0: 3, 5: 0}, (0, 0, 0, 0, 0, 0, 0, 0)),
        ({0: 1, 1: 1}, (0, 0, 0.25, 0.5, 0.75, 1, 1, 0.5)),
        # The box has no height: whatever is not in it is beyond the whiskers.
        ({-1: 1, 0: 98, 22: 1}, (-1, 0, 0, 0, 0, 0, 22, 0.21)),
        # 100 lies beyond, and no value lies between the box and the upper fence but those in the box.
        ({0: 3, 1: 1, 100: 1}, (0, 0, 0, 0, 1, 1, 100, 20.2)),
        # q3 is interpolated to 10 · 0.25 = 2.5, its fence is at 6.25: the whisker stays at the box.
        ({0: 3, 10: 1}, (0, 0, 0, 0, 2.5, 2.5, 10, 2.5)),
        ({0: 3, -10: 1}, (-10, -2.5, -2.5, 0, 0, 0, 0, -2.5)),
    ],
)  # fmt: skip
def test_small_ones(counts, expected):
    found = spread(counts)
    assert found is not None
    names = ("minimum", "whisker_low", "q1", "median", "q3", "whisker_high", "maximum", "mean")
    assert [float(getattr(found, name)) for name in names] == [*expected]


def test_counts_that_no_float_holds():
    big = 2**60
    found = spread({big: 1, big + 1: 2})
    assert found is not None
    assert (found.q1, found.median, found.mean) == (big + Fraction(1, 2), big + 1, big + Fraction(2, 3))
    assert (found.whisker_low, found.whisker_high) == (big, big + 1)


def test_nothing_and_less_than_nothing():
    assert spread({}) is None
    assert spread({3: 0}) is None
    with pytest.raises(ValueError, match="negative"):
        spread({3: 1, 4: -1})


@given(COUNTS)
def test_quartiles_are_numpy_s_and_the_mean_is_the_mean(counts):
    values, found = listed(counts), spread(counts)
    if not values:
        assert found is None
        return
    assert found is not None
    expected = np.quantile(values, [0.25, 0.5, 0.75])
    assert [float(found.q1), float(found.median), float(found.q3)] == pytest.approx(expected, abs=1e-12)
    assert (found.n, found.minimum, found.maximum) == (len(values), values[0], values[-1])
    assert found.mean == Fraction(sum(values), len(values))


@given(COUNTS)
def test_whiskers_are_those_of_a_box_plot(counts):
    values, found = listed(counts), spread(counts)
    if found is None:
        return
    # As matplotlib.cbook.boxplot_stats does with whis=1.5.
    fence_low = found.q1 - Fraction(3, 2) * (found.q3 - found.q1)
    fence_high = found.q3 + Fraction(3, 2) * (found.q3 - found.q1)
    inside_low = [value for value in values if value >= fence_low]
    inside_high = [value for value in values if value <= fence_high]
    assert found.whisker_low == (min(inside_low) if inside_low and min(inside_low) <= found.q1 else found.q1)
    assert found.whisker_high == (
        max(inside_high) if inside_high and max(inside_high) >= found.q3 else found.q3
    )


@given(COUNTS, st.integers(-5, 5), st.integers(1, 4))
def test_what_does_not_change_and_what_changes_with_it(counts, shift, times):
    found = spread(counts)
    if found is None:
        return
    ordered = (
        found.minimum, found.whisker_low, found.q1, found.median, found.q3, found.whisker_high, found.maximum
    )  # fmt: skip
    assert list(ordered) == sorted(ordered)
    assert found.minimum <= found.mean <= found.maximum
    backwards = dict(sorted(counts.items(), reverse=True))
    assert spread(backwards) == spread(Counter(listed(counts))) == found
    moved = spread({value + shift: count for value, count in counts.items()})
    turned = spread({-value: count for value, count in counts.items()})
    assert moved is not None
    assert turned is not None
    assert moved.median == found.median + shift
    assert (moved.whisker_low, moved.mean) == (found.whisker_low + shift, found.mean + shift)
    assert (turned.q1, turned.q3, turned.mean) == (-found.q3, -found.q1, -found.mean)
    assert (turned.whisker_low, turned.whisker_high) == (-found.whisker_high, -found.whisker_low)
    often = spread({value: count * times for value, count in counts.items()})
    assert often is not None
    assert (often.n, often.mean) == (found.n * times, found.mean)

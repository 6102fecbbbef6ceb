from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest

from wise_pytest.stats.rates import NO_ROWS, Rate, pool, wilson_interval


def test_a_rate_keeps_its_counts_and_is_exact():
    rate = Rate(1, 3)
    assert rate.fraction == Fraction(1, 3)
    assert rate.value == 1 / 3


def test_a_rate_without_generations_is_undefined_and_not_zero():
    assert NO_ROWS.value is None
    assert NO_ROWS.fraction is None
    assert not NO_ROWS.degenerate


@pytest.mark.parametrize(("n_compliant", "n"), [(2, 1), (-1, 3), (0, -1)])
def test_impossible_counts_are_refused(n_compliant, n):
    with pytest.raises(ValueError, match="is no rate"):
        Rate(n_compliant, n)


def test_pooling_weighs_by_rows():
    assert pool([Rate(1, 1), Rate(0, 3)]) == Rate(1, 4)
    assert pool([]) == NO_ROWS


def test_equal_items_in_another_order_give_an_equal_rate():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point.
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    items = [Rate(1, 10), Rate(2, 10), Rate(3, 10)]
    assert {pool(order) for order in permutations(items)} == {Rate(6, 30)}


@pytest.mark.parametrize(
    ("n_compliant", "n", "low", "high"),
    [
        # n / (n + z²) with z² = 3.841459: 10 / 13.841459
        (10, 10, 0.722467, 1.0),
        (0, 10, 0.0, 0.277533),
        # Worked by hand: centre (0.5 + 0.1920729) / 1.3841459 = 0.5,
        # half-width 1.959964 * sqrt(0.025 + 0.00960365) / 1.3841459 = 0.263405
        (5, 10, 0.236595, 0.763405),
        # Newcombe (1998), Table I: 81 of 263 and 15 of 148 by the score method without correction
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval(n_compliant, n, low, high):
    interval = wilson_interval(Rate(n_compliant, n))
    assert interval.low == pytest.approx(low, abs=5.1e-5)
    assert interval.high == pytest.approx(high, abs=5.1e-5)


@pytest.mark.parametrize("n", range(1, 60))
def test_wilson_is_exact_at_the_boundary_and_inside_it(n):
    full, empty = wilson_interval(Rate(n, n)), wilson_interval(Rate(0, n))
    assert full.high == 1.0
    assert empty.low == 0.0
    assert 0 < full.low < 1
    assert 0 < empty.high < 1


def test_wilson_needs_generations():
    with pytest.raises(ValueError, match="no interval"):
        wilson_interval(NO_ROWS)


def test_only_all_or_nothing_is_degenerate():
    assert [rate.degenerate for rate in (Rate(0, 3), Rate(1, 3), Rate(3, 3))] == [True, False, True]
    assert Rate(0, 1).degenerate
    assert Rate(1, 1).degenerate

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wise_pytest.stats.rates import Rate, wilson_interval
from wise_pytest.stats.simultaneous import range_bounds


def simulated(rates, n_items=100, seed=0, replicates=2000):
    """Observed rates and bootstrap replicates of forms with these true rates, three repetitions an item."""
    rng = np.random.default_rng(seed)
    found = rng.binomial(3, np.repeat([rates], n_items, axis=0))
    weights = rng.multinomial(n_items, [1 / n_items] * n_items, size=replicates)
    return [Rate(int(n), 3 * n_items) for n in found.sum(axis=0)], weights @ found / (3 * n_items)


def by_loops(rates, draws):
    """The formulas of the docstring, pair by pair."""
    points = [rate.value for rate in rates]
    pairs = [(a, b) for a, b in itertools.permutations(range(len(rates)), 2)]
    spread = {(a, b): np.std(draws[:, a] - draws[:, b]) for a, b in pairs}
    largest = [
        max(abs((line[a] - line[b]) - (points[a] - points[b])) / spread[a, b] for a, b in pairs)
        for line in draws
    ]
    c = np.quantile(largest, 0.95)
    lows = [points[a] - points[b] - c * spread[a, b] for a, b in pairs]
    highs = [points[a] - points[b] + c * spread[a, b] for a, b in pairs]
    return max(0.0, *lows), min(1.0, max(highs))


def test_agrees_with_slow_loops():
    rates, draws = simulated([0.7, 0.6, 0.3, 0.5], replicates=200)
    bounds = range_bounds(rates, draws)
    assert (bounds.gap.low, bounds.gap.high) == pytest.approx(by_loops(rates, draws))
    points = np.array([rate.value for rate in rates])
    spread = draws.std(axis=0)
    c = np.quantile((np.abs(draws - points) / spread).max(axis=1), 0.95)
    assert bounds.worst.low == pytest.approx((points - c * spread).min())
    assert bounds.worst.high == pytest.approx((points + c * spread).min())


def test_the_bounds_hold_the_value_and_stay_in_range():
    rates, draws = simulated([0.98, 0.97, 0.02, 0.01], n_items=20)
    bounds = range_bounds(rates, draws)
    values = [rate.value for rate in rates]
    assert 0 <= bounds.gap.low <= max(values) - min(values) <= bounds.gap.high <= 1
    assert 0 <= bounds.worst.low <= min(values) <= bounds.worst.high <= 1


def test_equal_forms_may_have_no_gap_at_all():
    rates, draws = simulated([0.5] * 6)
    assert range_bounds(rates, draws).gap.low == 0


def test_a_rate_that_does_not_vary_is_not_certain():
    rates = [Rate(12, 12), Rate(0, 12)]
    bounds = range_bounds(rates, np.repeat([[1.0, 0.0]], 100, axis=0))
    high, low = wilson_interval(rates[0]).low, wilson_interval(rates[1]).high
    assert bounds.gap.high == 1
    assert bounds.gap.low == pytest.approx(high - low)
    assert (bounds.worst.low, bounds.worst.high) == (0, pytest.approx(low))


def test_one_form_has_no_gap():
    rates, draws = simulated([0.5])
    assert range_bounds(rates, draws).gap is None


@pytest.mark.slow
@pytest.mark.parametrize("n_low", [1, 3, 5])
def test_the_true_gap_is_inside_in_ninety_five_of_a_hundred_runs(n_low):
    """Where forms are tied at both ends the percentile interval of the gap misses most."""
    true = [0.6] * (6 - n_low) + [0.4] * n_low
    n_inside = 0
    for seed in range(300):
        bounds = range_bounds(*simulated(true, seed=seed, replicates=500))
        n_inside += bounds.gap.low <= 0.2 <= bounds.gap.high
    assert n_inside / 300 >= 0.95 - 2 * (0.05 * 0.95 / 300) ** 0.5

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
    down, up = left_open(rates)
    lows = [points[a] - points[b] - c * spread[a, b] - down[a] - up[b] for a, b in pairs]
    highs = [points[a] - points[b] + c * spread[a, b] + up[a] + down[b] for a, b in pairs]
    return max(0.0, *lows), min(1.0, max(highs))


def left_open(rates):
    """What Wilson's interval leaves open below a rate of 1, and above one of 0."""
    down = [1 - wilson_interval(rate).low if rate.value == 1 else 0.0 for rate in rates]
    up = [wilson_interval(rate).high if rate.value == 0 else 0.0 for rate in rates]
    return down, up


@pytest.mark.parametrize(
    "true", [[0.7, 0.6, 0.3, 0.5], [0.0, 0.35, 0.3], [0.3, 0.0], [1.0, 0.6, 0.7], [0.7, 1.0]]
)
def test_agrees_with_slow_loops(true):
    rates, draws = simulated(true, replicates=200)
    bounds = range_bounds(rates, draws)
    assert (bounds.gap.low, bounds.gap.high) == pytest.approx(by_loops(rates, draws))
    points = np.array([rate.value for rate in rates])
    spread = draws.std(axis=0)
    varies = spread > 0
    assert varies.tolist() == [rate not in {0.0, 1.0} for rate in true]
    c = np.quantile((np.abs(draws - points)[:, varies] / spread[varies]).max(axis=1), 0.95)
    down, up = map(np.array, left_open(rates))
    assert bounds.worst.low == pytest.approx(max(0.0, (points - c * spread - down).min()))
    assert bounds.worst.high == pytest.approx((points + c * spread + up).min())


def test_no_bound_is_over_one():
    rates = [Rate(299, 300), Rate(298, 300)]
    draws = np.random.default_rng(1).binomial(300, [299 / 300, 298 / 300], size=(500, 2)) / 300
    assert range_bounds(rates, draws).worst.high == 1.0


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


@pytest.mark.parametrize(("n", "low", "high"), [(12, 0.757506, 1.0), (0, 0.0, 0.242494)])
def test_two_rates_that_do_not_vary_may_differ_by_what_is_left_open(n, low, high):
    """Wilson's bound of 12 of 12 is 12 / (12 + z²) = 0.757506 with z = 1.959964, of none the rest."""
    bounds = range_bounds([Rate(n, 12)] * 2, np.full((100, 2), n / 12))
    assert (bounds.worst.low, bounds.worst.high) == pytest.approx((low, high), abs=1e-6)
    assert (bounds.gap.low, bounds.gap.high) == pytest.approx((0, 0.242494), abs=1e-6)


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

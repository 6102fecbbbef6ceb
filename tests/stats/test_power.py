from __future__ import annotations

import numpy as np
import pytest

from wise_pytest.stats.power import Question, Recorded, shrunken_rates, simulate_power

FORMS = ("POS", "NEG", "AVOID")


def recorded(mean: float, *, n_items: int = 50) -> Recorded:
    """Items from certain failure to certain success about ``mean``, the same for all forms."""
    spread = np.linspace(-0.3, 0.3, n_items)
    return Recorded(FORMS, np.repeat(np.clip(mean + spread, 0, 1)[:, None], 3, axis=1), ())


def power(
    effect: str,
    size: float,
    *,
    n_items: int = 60,
    repetitions: int = 3,
    seed: int = 1,
    mean: float = 0.5,
    simulations: int = 60,
):
    question = Question("drop" if effect == "drop" else "gap", size, "AVOID", "POS")
    return simulate_power(
        recorded(mean),
        question,
        n_items=n_items,
        repetitions=repetitions,
        simulations=simulations,
        replicates=200,
        rng=np.random.default_rng(seed),
    ).value


class TestShrinking:
    def test_noise_alone_leaves_no_difference_between_items(self):
        """Repetitions of a fair coin: all variance is binomial, and every item gets about the mean."""
        rng = np.random.default_rng(4)
        counts = rng.binomial(3, 0.5, size=(4000, 1))
        found = shrunken_rates(("POS",), counts, np.full(counts.shape, 3))
        assert (counts / 3).std() == pytest.approx(0.29, abs=0.01)
        assert found.rates.std() < 0.1
        assert found.means["POS"] == pytest.approx(counts.mean() / 3)

    def test_real_differences_stay(self):
        """Half of the items always comply and half never do: nothing is noise."""
        counts = np.array([[3], [0]] * 20)
        found = shrunken_rates(("POS",), counts, np.full(counts.shape, 3))
        assert np.array_equal(np.unique(found.rates), [0, 1])
        assert found.alike == ()

    def test_the_variance_is_that_of_the_items(self):
        rng = np.random.default_rng(5)
        true = rng.beta(2, 2, size=(20_000, 1))
        counts = rng.binomial(3, true)
        found = shrunken_rates(("POS",), counts, np.full(counts.shape, 3))
        assert found.rates.var() == pytest.approx(true.var(), rel=0.05)
        assert (counts / 3).var() > 1.5 * true.var()

    def test_one_repetition_tells_nothing_apart(self):
        found = shrunken_rates(("POS",), np.array([[1], [0], [1], [0]]), np.ones((4, 1), dtype=int))
        assert found.rates.tolist() == [[0.5]] * 4
        assert found.alike == ("POS",)

    def test_items_that_lack_a_form_are_left_out(self):
        found = shrunken_rates(("POS", "NEG"), np.array([[3, 3], [3, 0]]), np.array([[3, 3], [3, 0]]))
        assert found.rates.shape == (1, 2)
        with pytest.raises(ValueError, match="no item"):
            shrunken_rates(("POS", "NEG"), np.array([[3, 0]]), np.array([[3, 0]]))

    @pytest.mark.parametrize(
        ("compliant", "repetitions", "rates", "alike"),
        [
            # 1 and 1/3: V is 2/9, and the noise 0 and 1/9, a quarter of V: s is the root of 3/4.
            ([3, 1], 3, [2 / 3 + 0.288675, 2 / 3 - 0.288675], ()),
            # 1, 0 and 1/2: V is 1/4, the noise 0, 0 and 1/4, a third of V: s is the root of 2/3.
            ([2, 0, 1], 2, [0.908248, 0.091752, 0.5], ()),
            # 1 and 1/2: V is 1/8, and so is the noise.
            ([2, 1], 2, [0.75, 0.75], ("POS",)),
            ([3, 3], 3, [1.0, 1.0], ("POS",)),
            ([2], 3, [2 / 3], ("POS",)),
        ],
    )
    def test_by_hand(self, compliant, repetitions, rates, alike):
        counts = np.array(compliant)[:, None]
        found = shrunken_rates(("POS",), counts, np.full(counts.shape, repetitions))
        assert found.rates[:, 0].tolist() == pytest.approx(rates, abs=1e-6)
        assert found.alike == alike


@pytest.mark.parametrize(("effect", "own", "reference"), [("drop", 0.9, 0.2), ("gap", 0.2, 0.9)])
def test_a_drop_is_from_the_forms_own_rate_and_a_gap_from_the_references(effect, own, reference):
    """From 0.9 down to 0.6: as a gap the first would be a rise, and as a drop the second."""
    rates = np.repeat([[reference, reference, own]], 50, axis=0)
    found = simulate_power(
        Recorded(FORMS, rates, ()),
        Question(effect, 0.3, "AVOID", "POS"),
        n_items=100,
        repetitions=3,
        simulations=20,
        replicates=200,
        rng=np.random.default_rng(8),
    )
    assert found.value == 1


def test_a_rate_may_fall_to_nothing():
    assert power("drop", 0.5, mean=0.5, simulations=10) == 1


def gap(rates, size, *, n_items, simulations, replicates, seed=1):
    """How often a gap between the only two forms is found, from the same rates of both."""
    return simulate_power(
        Recorded(("POS", "AVOID"), np.repeat(np.array(rates)[:, None], 2, axis=1), ()),
        Question("gap", size, "AVOID", "POS"),
        n_items=n_items,
        repetitions=30,
        simulations=simulations,
        replicates=replicates,
        rng=np.random.default_rng(seed),
    ).value


def test_a_corrected_p_value_of_exactly_the_limit_finds_nothing():
    """With every replicate below zero p is 2 / (R + 1): 0.05 for 39 of them, and less for 40."""
    rates = np.linspace(0.8, 1, 20)
    assert gap(rates, 0.7, n_items=20, simulations=3, replicates=39) == 0
    assert gap(rates, 0.7, n_items=20, simulations=3, replicates=40) == 1


def test_a_gap_the_other_way_is_none():
    """Two items without a gap to speak of are found to have one where both fall, and not where both rise.

    Of 30 repetitions at one half, two counts are equal by chance 0.103 of the time (60 over 30
    by 2**60), so one is the smaller 0.449 of the time. Both items fall 0.201 of the time; every
    replicate lies below zero then, and they differ unless both fall alike.
    """
    assert 0.12 < gap([0.5], 1e-6, n_items=2, simulations=200, replicates=100) < 0.25


def test_what_no_replicate_changes_is_not_found():
    """All comply, and then none: the audit has no p value for that, either."""
    assert gap([1.0], 1.0, n_items=5, simulations=1, replicates=50) == 0


@pytest.mark.parametrize("effect", ["drop", "gap"])
class TestPower:
    def test_a_large_effect_is_found_and_a_tiny_one_is_not(self, effect):
        assert power(effect, 0.4) == 1
        assert power(effect, 0.001) < 0.15

    def test_more_items_and_more_repetitions_find_more(self, effect):
        small = power(effect, 0.15, n_items=20, repetitions=1)
        assert power(effect, 0.15, n_items=200, repetitions=1) > small
        assert power(effect, 0.15, n_items=20, repetitions=10) > small

    def test_the_same_seed_gives_the_same(self, effect):
        once, again = (power(effect, 0.15, n_items=20, simulations=25) for _ in range(2))
        assert once == again

    def test_a_rate_cannot_fall_below_zero(self, effect):
        with pytest.raises(ValueError, match="cannot fall"):
            power(effect, 0.6, mean=0.4)


@pytest.mark.slow
def test_simulated_power_is_the_power_of_runs_from_the_recorded_items():
    """Against an independent simulation of the same drop with the paired t test's normal approximation."""
    given = recorded(0.5, n_items=100)
    rates = given.rates[:, 0]
    size, repetitions, n_items = 0.1, 3, 100
    # Difference of two binomial means an item; its variance, and the mean over items.
    lowered = rates * (rates.mean() - size) / rates.mean()
    within = (rates * (1 - rates) + lowered * (1 - lowered)) / repetitions
    between = (rates - lowered).var()
    z = size / np.sqrt((within.mean() + between) / n_items)
    rng = np.random.default_rng(3)
    # Holm's first step of three forms: about 0.05 / 3, two-sided.
    expected = (rng.normal(z, 1, size=200_000) > 2.394).mean()
    found = simulate_power(
        given,
        Question("drop", size, "NEG", "POS"),
        n_items=n_items,
        repetitions=repetitions,
        simulations=400,
        replicates=1000,
        rng=np.random.default_rng(2),
    ).value
    assert abs(found - expected) < 0.08

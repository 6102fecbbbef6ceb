"""Intervals of rates and of their summary, against a loop over the replicates."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from wise_pytest.stats.bootstrap import ContrastDraws, ItemCounts, PanelDraws, draw_models, draw_panel
from wise_pytest.stats.contrasts import percentile_interval
from wise_pytest.stats.rates import Rate
from wise_pytest.stats.summary_bootstrap import rate_intervals, summary_intervals


def draws_of(rates, scored=None) -> PanelDraws:
    rates = np.array(rates, dtype=np.float64)
    scored = np.ones(rates.shape, dtype=bool) if scored is None else np.array(scored, dtype=bool)
    return PanelDraws(ContrastDraws(np.zeros_like(rates), np.zeros_like(scored)), rates, scored)


def random_draws(seed: int, n: int = 400, *, missing: float = 0.0) -> PanelDraws:
    rng = np.random.default_rng(seed)
    return draws_of(rng.integers(0, 31, (n, 4)) / 30, rng.uniform(size=(n, 4)) >= missing)


FORMS = {"POS": Rate(12, 30), "A": Rate(20, 30), "B": Rate(3, 30), "C": Rate(7, 30)}


def slow_quantiles(values: list[float]) -> tuple[float, float]:
    """2.5 and 97.5 %, interpolated between neighbours."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return at(0.025), at(0.975)


def approximately(interval):
    return pytest.approx((interval.low, interval.high), abs=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.001])
def test_a_loop_over_replicates_says_the_same(missing):
    draws = random_draws(4, missing=missing)
    found = summary_intervals(draws, FORMS, reference="POS")
    kept = [
        rates
        for rates, scored in zip(draws.rates.tolist(), draws.scored.tolist(), strict=True)
        if all(scored)
    ]
    assert slow_quantiles([rates[0] for rates in kept]) == approximately(found.reference)
    assert slow_quantiles([fmean(rates) for rates in kept]) == approximately(found.mean)
    assert slow_quantiles([min(rates) for rates in kept]) == approximately(found.worst)
    assert slow_quantiles([max(rates) - min(rates) for rates in kept]) == approximately(found.gap)
    assert (found.degenerate, found.reason) == ((), None)
    for place, each in enumerate(rate_intervals(draws, tuple(FORMS.values()))):
        own = draws.rates[draws.scored[:, place], place].tolist()
        assert each.reason is None
        assert slow_quantiles(own) == approximately(each.interval)


def test_each_replicate_has_a_worst_form_of_its_own():
    # Two forms take turns: each is at 0 to 1 by itself, the worst of them is always at 0.
    draws = draws_of([[0.0, 1.0], [1.0, 0.0]] * 50)
    found = summary_intervals(draws, {"POS": Rate(1, 2), "A": Rate(1, 2)}, reference="POS")
    assert (found.reference.low, found.reference.high) == (0, 1)
    assert (found.worst.low, found.worst.high) == (0, 0)
    assert (found.gap.low, found.gap.high) == (1, 1)
    assert (found.mean.low, found.mean.high) == (0.5, 0.5)
    assert found.degenerate == ("mean", "worst", "gap")  # they have no width, which is not certainty


def test_a_form_without_rows_is_in_no_summary():
    draws = random_draws(5)
    scored = draws.scored.copy()
    scored[:, 2] = False
    without = PanelDraws(draws.contrasts, draws.rates, scored)
    found = summary_intervals(without, {**FORMS, "B": Rate(0, 0)}, reference="POS")
    kept = np.delete(draws.rates, 2, axis=1)
    assert found.worst == percentile_interval(kept.min(axis=1))
    assert found.reason is None
    one, none = Rate(1, 2), Rate(0, 0)
    reasons = [each.reason for each in rate_intervals(without, [one, one, none, one])]
    assert reasons == [None, None, "no scored rows", None]


def test_without_the_reference_form_or_with_one_form_only():
    draws = draws_of(random_draws(6).rates[:, :1])
    found = summary_intervals(draws, {"A": Rate(5, 30)}, reference="POS")
    assert (found.reference, found.gap, found.reason) == (None, None, None)
    assert found.worst == found.mean == percentile_interval(draws.rates[:, 0])
    found = summary_intervals(draws, {"A": Rate(0, 0)}, reference="POS")
    assert (found.mean, found.reason) == (None, "no form has a scored row")


def test_replicates_that_lack_a_form_are_left_out_while_they_are_few():
    draws = random_draws(7, n=1000)
    for n_missing, available in ((9, True), (10, False), (1000, False)):
        scored = draws.scored.copy()
        scored[:n_missing, 1] = False
        rates = draws.rates.copy()
        rates[:n_missing, 1] = 0  # what stands there means nothing
        lacking = PanelDraws(draws.contrasts, rates, scored)
        found = summary_intervals(lacking, FORMS, reference="POS")
        one = rate_intervals(lacking, tuple(FORMS.values()))[1]
        if available:
            assert found.worst == percentile_interval(draws.rates[n_missing:].min(axis=1))
            assert one.interval == percentile_interval(draws.rates[n_missing:, 1])
        else:
            assert (found.mean, found.worst, found.gap, found.reference) == (None, None, None, None)
            assert found.reason == f"{n_missing} of 1000 replicates lack rows of one of the forms"
            assert (one.interval, one.reason) == (
                None,
                f"{n_missing} of 1000 replicates draw no row of this form",
            )


def test_all_or_none_is_no_certainty():
    draws = draws_of([[0.0, 1.0]] * 20)
    found = rate_intervals(draws, [Rate(0, 9), Rate(9, 9)])
    reason = "all or none comply, which resampling cannot vary: see the Wilson interval"
    assert [(each.interval, each.reason) for each in found] == [(None, reason)] * 2
    alone = summary_intervals(draws, {"POS": Rate(0, 9), "A": Rate(9, 9)}, reference="POS")
    assert alone.degenerate == ("reference", "mean", "worst", "gap")


def counts(seed: int = 3) -> ItemCounts:
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 4, (3, 8, 4))
    return ItemCounts(("a", "b", "c"), tuple("12345678"), tuple(FORMS), rng.binomial(n, 0.4), n)


def test_the_draws_of_one_model_are_those_of_its_rows_alone():
    # Items are drawn for all models together: a model's rates follow from the same items.
    panel = counts()
    panel.n[0, 2:, 0] = panel.n_compliant[0, 2:, 0] = 0  # some replicates draw no row of it
    every = draw_models(panel, replicates=300, rng=np.random.default_rng(5))
    for place in range(3):
        alone = ItemCounts(
            (panel.models[place],), panel.items, panel.forms, panel.n_compliant[[place]], panel.n[[place]]
        )
        expected = draw_panel(
            alone, "item-cluster", reference="POS", providers={}, replicates=300, rng=np.random.default_rng(5)
        )
        found = every.of_model(place, 0)
        assert (found.rates == expected.rates).all()
        assert (found.scored == expected.scored).all()
        assert (found.contrasts.differences == expected.contrasts.differences).all()
        assert (found.contrasts.defined == expected.contrasts.defined).all()
        none = every.of_model(place, None)
        assert (none.rates == expected.rates).all()
        assert not none.contrasts.defined.any()
    assert 0 < every.scored[:, 0, 0].sum() < 300

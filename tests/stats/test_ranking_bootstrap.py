from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kendalltau

from wise_pytest.stats.bootstrap import ItemCounts
from wise_pytest.stats.ranking import ranking_stability
from wise_pytest.stats.ranking_bootstrap import MEASURES, _measures, ranking_intervals
from wise_pytest.stats.rates import Rate

FORMS = ("POS", "NEG", "AVOID")


def counts_of(compliant, n):
    n_models, n_items, n_forms = compliant.shape
    return ItemCounts(
        tuple(f"m{number}" for number in range(n_models)),
        tuple(f"i{number:02}" for number in range(n_items)),
        FORMS[:n_forms],
        compliant,
        n,
    )


def panel(n_models=6, n_items=12, seed=1):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 4, (n_models, n_items, 3))
    return counts_of(rng.binomial(n, rng.uniform(0.1, 0.9, (n_models, 1, 3))), n)


def intervals(counts, *, replicates=2000, seed=0):
    return ranking_intervals(counts, reference="POS", replicates=replicates, rng=np.random.default_rng(seed))


def stability(counts, items, form):
    """Stability over a list of items, by the exact code for point estimates."""
    sums = counts.n_compliant[:, items].sum(axis=1).tolist(), counts.n[:, items].sum(axis=1).tolist()
    rates = [[Rate(c, n) for c, n in zip(*rows, strict=True)] for rows in zip(*sums, strict=True)]
    return ranking_stability([rate[0] for rate in rates], [rate[form] for rate in rates])


def test_same_distribution_as_the_loop():
    counts = panel()
    rnd = random.Random(5)
    fast = intervals(counts, replicates=8000)
    every = range(len(counts.items))
    for form, name in ((1, "NEG"), (2, "AVOID")):
        loops = [stability(counts, rnd.choices(every, k=len(every)), form) for _ in range(1500)]
        assert fast[name].n_replicates == 8000
        for measure in MEASURES:
            slow = [_value(getattr(loop, measure)) for loop in loops]
            found = getattr(fast[name], measure)
            # The measures take few values, so bounds are held against shares: 2.5 % of the
            # loops lie below the lower bound and above the upper, give or take four errors.
            margin = 4 * (0.025 * 0.975 / len(slow)) ** 0.5
            for beyond, up_to in (
                (sum(x < found.low for x in slow), sum(x <= found.low for x in slow)),
                (sum(x > found.high for x in slow), sum(x >= found.high for x in slow)),
            ):
                assert beyond / len(slow) <= 0.025 + margin
                assert up_to / len(slow) >= 0.025 - margin


def _value(measure):
    value = measure.value if isinstance(measure, Rate) else measure
    return float(value)


def test_each_replicate_by_the_exact_code_and_by_scipy():
    # Counts of 200 replicates of five models, ties and all-tied ones among them.
    rng = np.random.default_rng(3)
    n = rng.integers(1, 4, (200, 5, 1, 2))
    compliant = rng.binomial(n, 0.5)
    compliant[:3, :, :, 1] = n[:3, :, :, 1]
    measured, defined = _measures(np.concatenate([compliant, n], axis=2))
    for line, known, c, total in zip(
        measured.tolist(), defined.tolist(), compliant.tolist(), n.tolist(), strict=True
    ):
        rates = [[Rate(a[0][form], b[0][form]) for a, b in zip(c, total, strict=True)] for form in range(2)]
        exact = ranking_stability(*rates)
        assert known == (exact.reason is None)
        if known:
            assert line == pytest.approx([_value(getattr(exact, name)) for name in MEASURES], abs=1e-12)
            fractions = [[rate.fraction for rate in form] for form in rates]
            places = [[sorted(set(form)).index(value) for value in form] for form in fractions]
            assert line[0] == pytest.approx(kendalltau(*places, variant="b").statistic, abs=1e-12)
    assert not all(defined.tolist()[:3])
    assert sum(defined.tolist()) > 150


def test_bounds_and_the_point_in_between():
    counts = panel(n_models=8, n_items=60)
    assert list(intervals(counts)) == ["NEG", "AVOID"]  # the reference is not held against itself
    for form, name in ((1, "NEG"), (2, "AVOID")):
        point = stability(counts, list(range(60)), form)
        found = intervals(counts)[name]
        assert found.degenerate == ()
        for measure, (least, most) in zip(MEASURES, [(-1, 1), (0, 1), (0, 1), (0, 7)], strict=True):
            interval = getattr(found, measure)
            assert least <= interval.low <= _value(getattr(point, measure)) <= interval.high <= most


def test_items_are_drawn_for_all_models_at_once():
    # On each item either everybody complies or nobody does, under both forms: whatever is drawn
    # ties all models, which models drawing items of their own would not be.
    compliant = np.zeros((4, 10, 2), dtype=np.int64)
    compliant[:, :5] = 1
    found = intervals(counts_of(compliant, np.ones_like(compliant)))["NEG"]
    assert found.tau_b is None
    assert found.n_replicates == 0
    assert found.reason == (
        "2000 of 2000 replicates tie all models under one of the two forms, or draw no row of one of them"
    )


def test_a_ranking_that_no_draw_can_change_is_labelled():
    compliant = np.zeros((2, 10, 2), dtype=np.int64)
    compliant[0] = 1
    found = intervals(counts_of(compliant, np.ones_like(compliant)))["NEG"]
    assert (found.tau_b.low, found.tau_b.high) == (1, 1)
    assert (found.reversal.low, found.reversal.high) == (0, 0)
    assert found.degenerate == MEASURES


def test_models_without_rows_of_a_form_are_left_out_of_its_ranking_only():
    counts = panel()
    n, compliant = counts.n.copy(), counts.n_compliant.copy()
    n[2, :, 1] = compliant[2, :, 1] = 0
    found = intervals(counts_of(compliant, n))
    kept = [0, 1, 3, 4, 5]
    assert found["NEG"] == intervals(counts_of(compliant[kept], n[kept]))["NEG"]
    assert found["AVOID"] == intervals(counts)["AVOID"]


def test_a_model_with_few_rows_makes_many_replicates_undefined():
    # One item of twelve has the model's only rows of NEG: it is missed in (11/12)^12 = 35 % of draws.
    counts = panel()
    n, compliant = counts.n.copy(), counts.n_compliant.copy()
    n[2, 1:, 1] = compliant[2, 1:, 1] = 0
    found = intervals(counts_of(compliant, n))["NEG"]
    assert found.tau_b is None
    assert 1 - found.n_replicates / 2000 == pytest.approx(float(Fraction(11, 12) ** 12), abs=0.05)


def test_too_few_units():
    counts = panel()
    one_model = counts_of(counts.n_compliant[:1], counts.n[:1])
    found = intervals(one_model)["NEG"]
    assert found.reason == "a ranking needs two models with scored generations under both forms"
    assert (found.tau_b, found.n_replicates) == (None, 0)
    one_item = counts_of(counts.n_compliant[:, :1], counts.n[:, :1])
    found = intervals(one_item)["AVOID"]
    assert (found.reason, found.n_replicates) == ("fewer than two items to resample", 0)


def test_two_items_are_enough_to_resample():
    compliant = np.array([[[1, 1], [1, 1]], [[0, 0], [0, 0]]])
    assert intervals(counts_of(compliant, np.ones_like(compliant)))["NEG"].reason is None


def test_what_varies_is_not_labelled_with_what_does_not():
    """Of two models the top three are both, always; which is ahead of eleven items changes with the draw."""
    compliant = np.zeros((2, 11, 2), dtype=np.int64)
    compliant[0, :, 0] = 1
    compliant[0, :6, 1] = compliant[1, 6:, 1] = 1
    found = intervals(counts_of(compliant, np.ones_like(compliant)), replicates=100)["NEG"]
    assert found.degenerate == ("top3_jaccard",)
    assert (found.tau_b.low, found.tau_b.high) == (-1, 1)


def test_parts_do_not_matter(monkeypatch):
    before = intervals(panel(), replicates=100)
    monkeypatch.setattr("wise_pytest.stats.ranking_bootstrap._CHUNK_PAIRS", 50)
    monkeypatch.setattr("wise_pytest.stats.bootstrap._CHUNK_CELLS", 50)
    assert intervals(panel(), replicates=100) == before

"""Each scheme against a slow version of it that draws units one by one, and against its exact moments."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from statistics import fmean, pstdev, pvariance

import numpy as np
import pytest
from scipy.stats import ks_2samp

from wise_pytest.stats.bootstrap import (
    SCHEMES,
    ItemCounts,
    contrast_points,
    draw_contrasts,
    draw_models,
    draw_panel,
    item_weights,
    joint_sums,
    resampled_units,
)

FORMS = ("POS", "NEG", "AVOID")
PROVIDERS = {"a1": "A", "b1": "B", "a2": "A", "c1": "C", "a3": "A"}  # in no order of providers
N_LOOPS, N_DRAWS = 3000, 12000


def panel(seed=3, *, holes=False):
    """Five models of three providers, six items; models differ, and items within them.

    With holes, models lack items, items lack forms, and one model lacks a form.
    """
    rng = np.random.default_rng(seed)
    models, items = tuple(PROVIDERS), tuple(f"i{number}" for number in range(6))
    n = np.full((len(models), len(items), len(FORMS)), 2)
    if holes:
        n = rng.integers(0, 4, n.shape)
        n[1, 4:] = 0
        n[4, :2] = 0
        n[2, :, 2] = 0
    rates = np.clip(rng.uniform(0, 1, (len(models), 1, len(FORMS))) + rng.uniform(-0.3, 0.3, n.shape), 0, 1)
    return ItemCounts(models=models, items=items, forms=FORMS, n_compliant=rng.binomial(n, rates), n=n)


class SlowPanel:
    """The panel as plain lists, resampled unit by unit."""

    def __init__(self, counts):
        self.n_forms = len(counts.forms)
        n, n_compliant = counts.n.tolist(), counts.n_compliant.tolist()
        # One entry an item that the model has: a (compliant, scored) pair for each form.
        self.items = {
            model: [
                list(zip(n_compliant[m][i], n[m][i], strict=True))
                for i in range(len(counts.items))
                if any(n[m][i])
            ]
            for m, model in enumerate(counts.models)
        }
        self.joint = [
            [
                (sum(n_compliant[m][i][f] for m in range(len(n))), sum(n[m][i][f] for m in range(len(n))))
                for f in range(self.n_forms)
            ]
            for i in range(len(counts.items))
        ]

    def rates(self, units):
        """Rate of each form over the rows of ``units``; ``None`` where undefined."""
        compliant, n = [0] * self.n_forms, [0] * self.n_forms
        for unit in units:
            for form, (hits, rows) in enumerate(unit):
                compliant[form] += hits
                n[form] += rows
        return [compliant[form] / n[form] if n[form] else None for form in range(self.n_forms)]

    def contrasts(self, units):
        """Difference of each form to the first over the rows of ``units``; ``None`` where undefined."""
        rates = self.rates(units)
        return [None if None in (rate, rates[0]) else rate - rates[0] for rate in rates]

    def replicate(self, scheme, rnd, measure=None):
        measure = self.contrasts if measure is None else measure

        def items_of(model):
            return rnd.choices(self.items[model], k=len(self.items[model]))

        models = list(self.items)
        if scheme == "item-cluster":
            return measure(rnd.choices(self.joint, k=len(self.joint)))
        if scheme == "equal-model-item":
            whole = [measure(self.items[model]) for model in models]
            drawn = [measure(items_of(model)) for model in models]
            means = []
            for form in range(self.n_forms):
                own = [d[form] for w, d in zip(whole, drawn, strict=True) if w[form] is not None]
                means.append(None if None in own or not own else fmean(own))
            return means
        if scheme == "model-item":
            return measure(unit for model in rnd.choices(models, k=len(models)) for unit in items_of(model))
        providers = sorted(set(PROVIDERS.values()))
        units = []
        for provider in rnd.choices(providers, k=len(providers)):
            own = [model for model in models if PROVIDERS[model] == provider]
            for model in rnd.choices(own, k=len(own)):
                units += items_of(model)
        return measure(units)


def fast(counts, scheme, *, replicates=N_DRAWS, seed=1):
    return draw_contrasts(
        counts,
        scheme,
        reference="POS",
        providers=PROVIDERS,
        replicates=replicates,
        rng=np.random.default_rng(seed),
    )


def assert_same_distribution(quick, slow):
    """Both are rounded, so that sums in another order do not tell equal values apart."""
    spread = pstdev(slow)
    error = spread / len(slow) ** 0.5
    # Four standard errors of each statistic, the fast version's own error included.
    assert quick.mean() == pytest.approx(fmean(slow), abs=4.5 * error)
    assert quick.std() == pytest.approx(spread, rel=4.5 / (2 * len(slow)) ** 0.5)
    # Small panels give few different values, so quantiles are held against shares of the loops.
    for share in (0.025, 0.5, 0.975):
        bound = np.quantile(quick, share)
        margin = 4.5 * (share * (1 - share) / len(slow)) ** 0.5
        assert sum(value < bound for value in slow) / len(slow) <= share + margin
        assert sum(value <= bound for value in slow) / len(slow) >= share - margin
    assert ks_2samp(quick, slow).pvalue > 1e-3


@pytest.mark.parametrize("holes", [False, True], ids=["full", "holes"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_same_distribution_as_the_loop(scheme, holes):
    counts = panel(holes=holes)
    draws = fast(counts, scheme)
    rnd = random.Random(17)
    slow_panel = SlowPanel(counts)
    loops = [slow_panel.replicate(scheme, rnd) for _ in range(N_LOOPS)]
    for place in (1, 2):
        slow = [round(loop[place], 9) for loop in loops if loop[place] is not None]
        assert_same_distribution(draws.differences[draws.defined[:, place], place].round(9), slow)
        undefined = 1 - len(slow) / N_LOOPS
        assert 1 - draws.defined[:, place].mean() == pytest.approx(undefined, abs=0.03)
    assert (draws.differences[:, 0] == 0).all()


@pytest.mark.parametrize("holes", [False, True], ids=["full", "holes"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_rates_have_the_same_distribution_as_the_loop(scheme, holes):
    counts = panel(holes=holes)
    draws = draw_panel(
        counts,
        scheme,
        reference="POS",
        providers=PROVIDERS,
        replicates=N_DRAWS,
        rng=np.random.default_rng(2),
    )
    rnd = random.Random(23)
    slow_panel = SlowPanel(counts)
    loops = [slow_panel.replicate(scheme, rnd, slow_panel.rates) for _ in range(N_LOOPS)]
    for place in range(3):
        slow = [round(loop[place], 9) for loop in loops if loop[place] is not None]
        assert_same_distribution(draws.rates[draws.scored[:, place], place].round(9), slow)
        assert draws.scored[:, place].mean() == pytest.approx(len(slow) / N_LOOPS, abs=0.03)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rates_and_differences_come_from_the_same_draws(scheme):
    counts = panel(holes=True)
    options = {"providers": PROVIDERS, "replicates": 200}
    draws = draw_panel(counts, scheme, reference="POS", rng=np.random.default_rng(4), **options)
    again = draw_contrasts(counts, scheme, reference="POS", rng=np.random.default_rng(4), **options)
    assert (draws.contrasts.differences == again.differences).all()
    assert (draws.contrasts.defined == again.defined).all()
    if scheme != "equal-model-item":  # there the two are means over other sets of models
        both = draws.scored & draws.scored[:, [0]]
        assert (draws.contrasts.defined == both).all()
        assert np.where(both, draws.rates - draws.rates[:, [0]] - draws.contrasts.differences, 0).max() == 0
    without = draw_panel(counts, scheme, reference="no such form", rng=np.random.default_rng(4), **options)
    assert (without.rates == draws.rates).all()
    assert not without.contrasts.defined.any()


def test_models_share_the_items_that_are_drawn():
    counts = panel(holes=True)
    draws = draw_models(counts, replicates=100, rng=np.random.default_rng(6))
    n_compliant, n = joint_sums(counts, replicates=100, rng=np.random.default_rng(6))
    weights = np.concatenate(list(item_weights(6, replicates=100, rng=np.random.default_rng(6))))
    for replicate in range(100):
        drawn = [item for item in range(6) for _ in range(int(weights[replicate, item]))]
        for model in range(5):
            for form in range(3):
                hits = sum(int(counts.n_compliant[model, item, form]) for item in drawn)
                rows = sum(int(counts.n[model, item, form]) for item in drawn)
                assert (n_compliant[replicate, model, form], n[replicate, model, form]) == (hits, rows)
                assert draws.scored[replicate, model, form] == (rows > 0)
                assert draws.rates[replicate, model, form] == (hits / rows if rows else 0)


def test_the_schemes_are_told_apart():
    # The comparison above means something only where one scheme's spread is not another's.
    spreads = sorted(fast(panel(), scheme).differences[:, 2].std() for scheme in SCHEMES)
    assert all(wider > 1.1 * narrower for narrower, wider in pairwise(spreads))


def test_exact_variances_on_a_balanced_panel():
    # Two providers of two models, five items, one row a cell. With equal counts a replicate is the
    # mean of means of means, so each level adds its population variance over the number of its draws.
    rng = np.random.default_rng(8)
    compliant = rng.integers(0, 2, (4, 5, 2))
    models = ("m0", "m1", "m2", "m3")
    counts = ItemCounts(models, tuple("abcde"), ("POS", "NEG"), compliant, np.ones_like(compliant))
    d = (compliant[:, :, 1] - compliant[:, :, 0]).tolist()
    means = [fmean(row) for row in d]
    of_items = fmean(pvariance(row) / 5 for row in d)
    pairs = [means[::2], means[1::2]]
    expected = {
        "item-cluster": pvariance([fmean(column) for column in zip(*d, strict=True)]) / 5,
        "equal-model-item": of_items / 4,
        "model-item": (pvariance(means) + of_items) / 4,
        "provider-model-item": pvariance([fmean(pair) for pair in pairs]) / 2
        + fmean(pvariance(pair) for pair in pairs) / 4
        + of_items / 4,
    }
    for scheme, variance in expected.items():
        draws = draw_contrasts(
            counts,
            scheme,
            reference="POS",
            providers=dict(zip(models, "ABAB", strict=True)),
            replicates=40_000,
            rng=np.random.default_rng(5),
        )
        assert draws.differences[:, 1].mean() == pytest.approx(fmean(means), abs=0.01)
        assert draws.differences[:, 1].var() == pytest.approx(variance, rel=0.04), scheme


def test_a_provider_with_more_models_weighs_more():
    # Without items to vary: A has three models at 0, B one at 1; POS is 0 throughout.
    compliant = np.zeros((4, 2, 2), dtype=np.int64)
    compliant[3, :, 1] = 1
    counts = ItemCounts(
        ("a1", "a2", "a3", "b1"), ("x", "y"), ("POS", "NEG"), compliant, np.ones_like(compliant)
    )
    draws = fast(counts, "provider-model-item", replicates=4000)
    # Drawn AA: 0 of 6 rows a form and item; AB: 1 of 4; BB: 2 of 2.
    values, times = np.unique(draws.differences[:, 1], return_counts=True)
    assert values.tolist() == [0, 0.25, 1]
    assert times / 4000 == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_points():
    counts = panel(holes=True)
    totals, n = counts.n_compliant.sum(axis=(0, 1)).tolist(), counts.n.sum(axis=(0, 1)).tolist()
    pooled = contrast_points(counts, "model-item", reference="POS")
    assert pooled[1] == float(Fraction(totals[1], n[1]) - Fraction(totals[0], n[0]))
    own, own_n = counts.n_compliant.sum(axis=1).tolist(), counts.n.sum(axis=1).tolist()
    means = [
        fmean(
            own[model][form] / own_n[model][form] - own[model][0] / own_n[model][0]
            for model in range(5)
            if own_n[model][form] and own_n[model][0]
        )
        for form in range(3)
    ]
    equal = contrast_points(counts, "equal-model-item", reference="POS")
    assert equal == pytest.approx(means, abs=1e-12)
    assert own_n[2][2] == 0  # the model that lacks a form is left out of that form's mean only


def test_a_form_that_no_model_shares_with_the_reference():
    # m0 has POS only, m1 has NEG only: the pooled rates differ, no model's own do.
    n = np.array([[[1, 0], [1, 0]], [[0, 1], [0, 1]]])
    counts = ItemCounts(("m0", "m1"), ("x", "y"), ("POS", "NEG"), np.zeros_like(n), n)
    providers = {"m0": "A", "m1": "B"}
    assert contrast_points(counts, "equal-model-item", reference="POS") == (0.0, None)
    assert contrast_points(counts, "model-item", reference="POS") == (0.0, 0.0)
    draws = draw_contrasts(
        counts,
        "model-item",
        reference="POS",
        providers=providers,
        replicates=4000,
        rng=np.random.default_rng(0),
    )
    # Both models must be drawn for a replicate to say anything: half of all draws.
    assert draws.defined[:, 1].mean() == pytest.approx(0.5, abs=0.03)
    never = draw_contrasts(
        counts,
        "equal-model-item",
        reference="POS",
        providers=providers,
        replicates=5,
        rng=np.random.default_rng(0),
    )
    assert not never.defined[:, 1].any()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_form_without_rows_differs_from_none(scheme):
    n = np.array([[[1, 0]]])
    counts = ItemCounts(("m",), ("x",), ("POS", "NEG"), n, n)
    assert contrast_points(counts, scheme, reference="POS") == (0, None)
    assert contrast_points(counts, scheme, reference="NEG") == (None, None)


@pytest.mark.parametrize(
    ("scheme", "share"),
    [
        ("item-cluster", 3 / 4),  # x, of two items in two draws
        ("equal-model-item", 3 / 4),
        ("model-item", 1 / 2 * 3 / 4 + 1 / 4 * 15 / 16),  # x in two draws, or in four of m0 twice
        ("provider-model-item", 1 / 2 * 3 / 4 + 1 / 4 * 15 / 16),
    ],
)
def test_a_form_that_one_row_has(scheme, share):
    # m0 has NEG for x only, and complies there; all that has POS fails.
    n = np.array([[[1, 1], [1, 0]], [[1, 0], [1, 0]]])
    counts = ItemCounts(("m0", "m1"), ("x", "y"), ("POS", "NEG"), n * [0, 1], n)
    draws = draw_panel(
        counts,
        scheme,
        reference="POS",
        providers={"m0": "A", "m1": "B"},
        replicates=4000,
        rng=np.random.default_rng(0),
    )
    assert draws.scored[:, 0].all()
    assert draws.scored[:, 1].mean() == pytest.approx(share, abs=0.03)
    assert (draws.contrasts.defined == draws.scored).all()
    assert (draws.rates[draws.scored] == np.broadcast_to([0, 1], (4000, 2))[draws.scored]).all()
    assert (draws.contrasts.differences[draws.scored] == draws.rates[draws.scored]).all()


def test_equal_differences_of_every_model_are_exactly_zero_together():
    # 0.1 + 0.2 - 0.3 is not zero in floating point; a replicate of no difference must count on both sides.
    compliant = np.array([[[5, 6]], [[5, 7]], [[5, 2]]])
    counts = ItemCounts(("a", "b", "c"), ("x",), ("POS", "NEG"), compliant, np.full_like(compliant, 10))
    draws = draw_contrasts(
        counts,
        "equal-model-item",
        reference="POS",
        providers=dict.fromkeys("abc", "P"),
        replicates=10,
        rng=np.random.default_rng(0),
    )
    assert contrast_points(counts, "equal-model-item", reference="POS")[1] == 0
    assert (draws.differences[:, 1] == 0).all()


@pytest.mark.parametrize("cells", [100, 1], ids=["some replicates", "less than one"])
def test_parts_do_not_matter(monkeypatch, cells):
    before = {scheme: fast(panel(holes=True), scheme, replicates=50) for scheme in SCHEMES}
    monkeypatch.setattr("wise_pytest.stats.bootstrap._CHUNK_CELLS", cells)
    for scheme, draws in before.items():
        again = fast(panel(holes=True), scheme, replicates=50)
        assert (again.differences == draws.differences).all(), scheme
        assert (again.defined == draws.defined).all()


def test_one_seed_gives_one_result_and_another_seed_another():
    counts = panel()
    for scheme in SCHEMES:
        first, again, other = (fast(counts, scheme, replicates=20, seed=seed) for seed in (1, 1, 2))
        assert (first.differences == again.differences).all()
        assert (first.differences != other.differences).any()


def test_item_weights():
    weights = np.concatenate(list(item_weights(7, replicates=2000, rng=np.random.default_rng(0))))
    assert weights.shape == (2000, 7)
    assert (weights.sum(axis=1) == 7).all()
    # Multinomial: mean 1, variance 1 - 1/7, covariance -1/7.
    assert weights.mean(axis=0) == pytest.approx(np.ones(7), abs=0.09)
    covariance = np.cov(weights.T)
    assert np.diag(covariance) == pytest.approx(np.full(7, 6 / 7), abs=0.14)
    assert covariance[np.triu_indices(7, 1)] == pytest.approx(np.full(21, -1 / 7), abs=0.1)


REASONS = {
    "provider-model-item": "providers and models and items",
    "model-item": "models and items",
    "item-cluster": "items",
    "equal-model-item": "items",
}


@pytest.mark.parametrize(
    ("n_models", "n_items", "providers", "available"),
    [
        (1, 1, "A", ()),
        (1, 2, "A", SCHEMES),
        (2, 1, "AA", ("provider-model-item", "model-item")),
        (2, 1, "AB", ("provider-model-item", "model-item")),
    ],
)
def test_units(n_models, n_items, providers, available):
    names = tuple(f"m{number}" for number in range(n_models))
    n = np.ones((n_models, n_items, 2), dtype=np.int64)
    counts = ItemCounts(names, tuple(f"i{number}" for number in range(n_items)), ("POS", "NEG"), n, n)
    for scheme in SCHEMES:
        units = resampled_units(counts, scheme, providers=dict(zip(names, providers, strict=True)))
        assert (units.reason is None) == (scheme in available)
        assert units.reason in {None, f"fewer than two {REASONS[scheme]} to resample"}
        assert units.n_units["items"] == n_items
    every = resampled_units(counts, "provider-model-item", providers=dict(zip(names, providers, strict=True)))
    assert every.n_units == {"providers": len(set(providers)), "models": n_models, "items": n_items}
    assert list(every.n_units) == ["providers", "models", "items"]


def test_items_that_no_model_shares_are_one_unit_to_each():
    # Two items in all, but each model has one: nothing varies within a model.
    n = np.array([[[1], [0]], [[0], [1]]])
    counts = ItemCounts(("a", "b"), ("x", "y"), ("POS",), n, n)
    providers = {"a": "P", "b": "P"}
    assert resampled_units(counts, "equal-model-item", providers=providers).reason is not None
    assert resampled_units(counts, "item-cluster", providers=providers).reason is None


def test_a_model_draws_from_its_own_items():
    # a has one item of three, b another two: under each the same rows come up in every replicate.
    n = np.array([[[0], [0], [2]], [[1], [1], [0]]])
    counts = ItemCounts(("a", "b"), ("x", "y", "z"), ("POS",), n * [[[1]], [[0]]], n)
    assert resampled_units(counts, "equal-model-item", providers=dict.fromkeys("ab", "A")).reason is None
    sums = {}
    for scheme in ("equal-model-item", "model-item"):
        draws = draw_panel(
            counts,
            scheme,
            reference="POS",
            providers={},
            replicates=100,
            rng=np.random.default_rng(2),
        )
        assert draws.scored.all()
        sums[scheme] = sorted({*draws.rates[:, 0].tolist()})
    # Two draws of a model: a alone, two rows of a and two of b, or b alone.
    assert sums == {"equal-model-item": [0.5], "model-item": [0, 0.5, 1]}


def test_counts_are_checked_and_selected():
    n = np.ones((2, 3, 1), dtype=np.int64)
    for n_compliant, scored in ((n[:, :2], n), (n, n[:, :2])):
        with pytest.raises(ValueError, match="for \\(2, 3, 1\\) names"):
            ItemCounts(("a", "b"), ("x", "y", "z"), ("POS",), n_compliant, scored)
    for wrong in (-1, 2):
        n_compliant = n.copy()
        n_compliant[1, 2] = wrong
        with pytest.raises(ValueError, match="between none and all"):
            ItemCounts(("a", "b"), ("x", "y", "z"), ("POS",), n_compliant, n)
    n[0, 2] = 0
    some = ItemCounts(("a", "b"), ("x", "y", "z"), ("POS",), n, n).of_models(["a", "never seen"])
    assert (some.models, some.items, some.n.shape) == (("a",), ("x", "y"), (1, 2, 1))

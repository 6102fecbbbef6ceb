"""Effects of factors: by hand, against observed rates, against statsmodels, and against known truth."""

import itertools

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from wise_pytest.stats.factorial import (
    Contrast,
    contrasts_of,
    factorial_effects,
)

N_LEVELS = (4, 2, 2, 2)
"""Of the panel that comes with the package."""


def grid(n_levels, *, n_items, n_repetitions=1, n_models=1):
    """Levels, items and models of a complete grid, one row a generation."""
    cells = np.array(list(itertools.product(*map(range, n_levels))))
    each = np.repeat(cells, n_repetitions, axis=0)
    levels = np.tile(each, (n_items * n_models, 1))
    items = np.tile(np.repeat(np.arange(n_items), len(each)), n_models)
    models = np.repeat(np.arange(n_models), n_items * len(each))
    return levels, items, models


def estimate(compliant, levels, items, models, n_levels=N_LEVELS):
    """Effects of single generations, each a group of one."""
    found = factorial_effects(
        compliant.astype(np.int64),
        np.ones(len(levels), dtype=np.int64),
        levels,
        n_levels=n_levels,
        clusters=items,
        blocks=models,
    )
    return {(effect.contrast.factors, effect.contrast.levels): effect for effect in found.effects}, found


def test_the_contrasts_are_all_main_effects_and_all_pairs():
    assert contrasts_of((3, 2)) == (
        Contrast((0,), (1,)),
        Contrast((0,), (2,)),
        Contrast((1,), (1,)),
        Contrast((0, 1), (1, 1)),
        Contrast((0, 1), (2, 1)),
    )
    # 3 + 1 + 1 + 1 main effects; 3 + 3 + 3 + 1 + 1 + 1 interactions
    assert len(contrasts_of(N_LEVELS)) == 18


def test_on_a_complete_grid_effects_are_differences_of_observed_rates():
    rng = np.random.default_rng(1)
    levels, items, models = grid(N_LEVELS, n_items=12, n_repetitions=3, n_models=2)
    compliant = rng.random(len(levels)) < 0.4
    effects, found = estimate(compliant, levels, items, models)
    assert (found.n, found.n_clusters) == (12 * 32 * 3 * 2, 12)

    def rate(**chosen):
        wanted = np.logical_and.reduce([levels[:, int(f[1:])] == v for f, v in chosen.items()])
        return compliant[wanted].mean()

    assert effects[(0,), (2,)].estimate == pytest.approx(rate(f0=2) - rate(f0=0))
    assert effects[(3,), (1,)].estimate == pytest.approx(rate(f3=1) - rate(f3=0))
    assert effects[(0, 2), (3, 1)].estimate == pytest.approx(
        (rate(f0=3, f2=1) - rate(f0=3, f2=0)) - (rate(f0=0, f2=1) - rate(f0=0, f2=0))
    )
    for effect in effects.values():
        middle = (effect.interval.low + effect.interval.high) / 2
        assert middle == pytest.approx(effect.estimate)
        assert effect.interval.high - effect.estimate == pytest.approx(
            stats.t.ppf(0.975, 11) * effect.standard_error
        )
        assert effect.p == pytest.approx(2 * stats.t.sf(abs(effect.estimate / effect.standard_error), 11))


def test_the_standard_error_is_the_clustered_sandwich_computed_by_hand():
    # Two factors with two levels, uneven items: the textbook formula, written out with matrices.
    rng = np.random.default_rng(2)
    levels, items, models = grid((2, 2), n_items=9, n_repetitions=2)
    kept = rng.random(len(levels)) < 0.8
    levels, items, models = levels[kept], items[kept], models[kept]
    compliant = (rng.random(len(levels)) < 0.3 + 0.3 * levels[:, 0] + 0.05 * (items % 4)).astype(float)
    effects, _ = estimate(compliant, levels, items, models, (2, 2))
    a, b = levels[:, 0], levels[:, 1]
    matrix = np.stack([np.ones(len(a)), a, b, a * b], axis=1).astype(float)
    bread = np.linalg.inv(matrix.T @ matrix)
    beta = bread @ matrix.T @ compliant
    residuals = compliant - matrix @ beta
    meat = np.zeros((4, 4))
    for item in np.unique(items):
        score = matrix[items == item].T @ residuals[items == item]
        meat += np.outer(score, score)
    n, k, g = len(compliant), 4, len(np.unique(items))
    covariance = bread @ meat @ bread * g / (g - 1) * (n - 1) / (n - k)
    # With treatment coding the main effect of a is its coefficient plus half of the interaction's.
    for key, chosen in {
        ((0,), (1,)): [0, 1, 0, 0.5],
        ((1,), (1,)): [0, 0, 1, 0.5],
        ((0, 1), (1, 1)): [0, 0, 0, 1],
    }.items():
        weights = np.array(chosen)
        assert effects[key].estimate == pytest.approx(weights @ beta)
        assert effects[key].standard_error == pytest.approx(np.sqrt(weights @ covariance @ weights))


def fitted_by_library(compliant, levels, items, models, n_levels):
    """The same model as statsmodels fits it, in treatment coding, one row a generation."""
    columns = [(models == model).astype(float) for model in np.unique(models)]
    for contrast in contrasts_of(n_levels):
        pairs = zip(contrast.factors, contrast.levels, strict=True)
        columns.append(np.prod([levels[:, f] == level for f, level in pairs], axis=0).astype(float))
    model = OLS(compliant.astype(float), np.stack(columns, axis=1))
    return model.fit(cov_type="cluster", cov_kwds={"groups": items}, use_t=True)


def weights_on_coefficients(contrast, n_levels, n_models):
    """An effect as weights on coefficients of treatment coding: other factors averaged over their levels."""
    wanted = dict(zip(contrast.factors, contrast.levels, strict=True))
    weights = [0.0] * n_models
    for other in contrasts_of(n_levels):
        held = dict(zip(other.factors, other.levels, strict=True))
        inside = set(wanted) <= set(held) and all(held[f] == level for f, level in wanted.items())
        weights.append(float(np.prod([1 / n_levels[f] for f in held if f not in wanted])) if inside else 0.0)
    return np.array(weights)


@pytest.mark.parametrize(
    ("n_levels", "n_models", "kept"), [(N_LEVELS, 1, 1.0), (N_LEVELS, 3, 0.7), ((3, 2), 2, 0.9)]
)
def test_everything_is_what_statsmodels_says(n_levels, n_models, kept):
    rng = np.random.default_rng(13)
    levels, items, models = grid(n_levels, n_items=23, n_repetitions=3, n_models=n_models)
    chosen = rng.random(len(levels)) < kept
    levels, items, models = levels[chosen], items[chosen], models[chosen]
    chance = 0.2 + 0.1 * models + 0.15 * levels[:, 0] + 0.02 * (items % 5)
    compliant = rng.random(len(levels)) < chance
    effects, found = estimate(compliant, levels, items, models, n_levels)
    library = fitted_by_library(compliant, levels, items, models, n_levels)
    wanted = contrasts_of(n_levels)
    weights = np.stack([weights_on_coefficients(each, n_levels, n_models) for each in wanted])
    test = library.t_test(weights)
    bounds = test.conf_int(alpha=0.05)
    for place, contrast in enumerate(wanted):
        effect = effects[contrast.factors, contrast.levels]
        assert effect.estimate == pytest.approx(test.effect[place], abs=1e-9)
        assert effect.standard_error == pytest.approx(np.ravel(test.sd)[place], abs=1e-9)
        assert effect.interval.low == pytest.approx(bounds[place, 0], abs=1e-9)
        assert effect.interval.high == pytest.approx(bounds[place, 1], abs=1e-9)
        assert effect.p == pytest.approx(test.pvalue[place], abs=1e-9)
    for term in found.terms:
        rows = [place for place, contrast in enumerate(wanted) if contrast.factors == term.factors]
        joint = library.f_test(weights[rows])
        assert term.statistic == pytest.approx(float(joint.fvalue), rel=1e-9)
        assert term.df == (int(joint.df_num), int(joint.df_denom))
        assert term.p == pytest.approx(float(joint.pvalue), abs=1e-9)


def test_counts_say_what_single_generations_say():
    rng = np.random.default_rng(14)
    levels, items, models = grid(N_LEVELS, n_items=6, n_repetitions=1, n_models=2)
    n = rng.integers(0, 4, len(levels))
    n_compliant = rng.binomial(n, 0.3)
    counted = factorial_effects(n_compliant, n, levels, n_levels=N_LEVELS, clusters=items, blocks=models)
    compliant = np.concatenate(
        [np.r_[np.ones(k), np.zeros(m - k)] for k, m in zip(n_compliant, n, strict=True)]
    )
    _, single = estimate(compliant, np.repeat(levels, n, axis=0), np.repeat(items, n), np.repeat(models, n))
    assert (counted.n, counted.n_clusters) == (single.n, single.n_clusters) == (n.sum(), 6)
    for one, other in zip(counted.effects, single.effects, strict=True):
        assert one.contrast == other.contrast
        assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-12)


def test_a_term_is_tested_with_all_its_contrasts_together():
    rng = np.random.default_rng(3)
    levels, items, models = grid((3, 2), n_items=20, n_repetitions=2)
    compliant = rng.random(len(levels)) < 0.5 - 0.2 * (levels[:, 0] == 2)
    effects, found = estimate(compliant, levels, items, models, (3, 2))
    terms = {term.factors: term for term in found.terms}
    assert list(terms) == [(0,), (1,), (0, 1)]
    assert terms[0,].df == (2, 19)
    assert terms[0, 1].df == (2, 19)
    # One contrast alone: F is the square of t.
    single = effects[(1,), (1,)]
    assert terms[1,].df == (1, 19)
    assert terms[1,].statistic == pytest.approx((single.estimate / single.standard_error) ** 2)
    assert terms[1,].p == pytest.approx(single.p)
    assert terms[0,].p == pytest.approx(stats.f.sf(terms[0,].statistic, 2, 19))


MAIN = {0: (0.0, -0.05, -0.20, -0.12), 1: (0.0, -0.08), 2: (0.0, -0.10), 3: (0.0, 0.04)}
PAIR = {(0, 2): {(2, 1): 0.12}, (1, 3): {(1, 1): -0.06}}
"""The truth behind the simulations: of each level against the first, and of three pairs of levels."""


def truth():
    """Every contrast's true value: cell means averaged over the design, as the definition says."""
    cells = np.array(list(itertools.product(*map(range, N_LEVELS))))
    means = np.array([probability(cell) for cell in cells])
    values = {}
    for contrast in contrasts_of(N_LEVELS):
        total = 0.0
        for kept in itertools.product((1, 0), repeat=len(contrast.factors)):
            wanted = [level * keep for level, keep in zip(contrast.levels, kept, strict=True)]
            chosen = np.logical_and.reduce(
                [cells[:, f] == level for f, level in zip(contrast.factors, wanted, strict=True)]
            )
            total += (-1) ** kept.count(0) * means[chosen].mean()
        values[contrast.factors, contrast.levels] = total
    return values


def probability(cell):
    total = 0.55 + sum(MAIN[factor][level] for factor, level in enumerate(cell))
    for (first, second), values in PAIR.items():
        total += values.get((cell[first], cell[second]), 0.0)
    return total


def simulate(rng, *, n_items=100, n_models=2):
    levels, items, models = grid(N_LEVELS, n_items=n_items, n_repetitions=3, n_models=n_models)
    chance = np.array([probability(cell) for cell in levels])
    chance = chance + rng.uniform(-0.15, 0.15, n_items)[items] + np.array([0.0, 0.05])[models % 2]
    return (rng.random(len(levels)) < chance), levels, items, models


def test_known_effects_are_recovered():
    effects, _ = estimate(*simulate(np.random.default_rng(4)))
    for key, true in truth().items():
        effect = effects[key]
        assert abs(effect.estimate - true) < 4 * effect.standard_error
        assert effect.standard_error < 0.03
    # What is large is found, and which way it goes.
    for key in [((0,), (2,)), ((1,), (1,)), ((2,), (1,)), ((0, 2), (2, 1))]:
        assert effects[key].p < 0.001
        assert np.sign(effects[key].estimate) == np.sign(truth()[key])


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [1, 3])
def test_intervals_hold_the_truth_about_as_often_as_they_say(n_models):
    rng = np.random.default_rng(5)
    true = truth()
    held = []
    for _ in range(600):
        compliant, levels, items, models = simulate(rng, n_items=30, n_models=n_models)
        found = factorial_effects(
            compliant.reshape(-1, 3).sum(axis=1),
            np.full(len(levels) // 3, 3),
            levels[::3],
            n_levels=N_LEVELS,
            clusters=items[::3],
            blocks=models[::3],
        )
        intervals = {(e.contrast.factors, e.contrast.levels): e.interval for e in found.effects}
        held.append([intervals[key].low <= value <= intervals[key].high for key, value in true.items()])
    # 600 panels of 18 effects, 30 items each: for one model, and pooled over three.
    mains = [len(factors) == 1 for factors, _ in true]
    shares = np.mean(held, axis=0)
    assert 0.92 < shares[mains].mean() < 0.98
    assert 0.92 < shares[~np.array(mains)].mean() < 0.98
    # Of 600, a share of 95 % varies by 0.9 points.
    assert shares.min() > 0.92
    assert shares.max() < 0.98


def test_rows_of_one_item_that_agree_widen_the_interval():
    rng = np.random.default_rng(6)
    levels, items, models = grid((2, 2), n_items=40)
    compliant = rng.random(len(levels)) < 0.5
    once, _ = estimate(compliant, levels, items, models, (2, 2))
    tripled, found = estimate(
        np.repeat(compliant, 3), np.repeat(levels, 3, 0), np.repeat(items, 3), np.repeat(models, 3), (2, 2)
    )
    assert found.n == 480
    for key, effect in once.items():
        # Saying everything three times adds nothing: only the small-sample factor moves.
        assert tripled[key].standard_error == pytest.approx(effect.standard_error, rel=0.02)


def test_a_level_of_a_model_is_no_effect():
    rng = np.random.default_rng(7)
    levels, items, models = grid((2, 2), n_items=30, n_models=2)
    kept = (models == 0) | (levels[:, 0] == 1) | (rng.random(len(models)) < 0.3)
    compliant = rng.random(len(levels)) < np.where(models == 0, 0.1, 0.9)
    levels, items, models, compliant = levels[kept], items[kept], models[kept], compliant[kept]
    effects, _ = estimate(compliant, levels, items, models, (2, 2))
    crude = compliant[levels[:, 0] == 1].mean() - compliant[levels[:, 0] == 0].mean()
    assert crude > 0.1  # the better model has more rows under one level
    assert abs(effects[(0,), (1,)].estimate) < 0.1


def test_what_the_rows_do_not_tell_apart_has_no_estimate_but_a_reason():
    levels, items, models = grid((2, 2), n_items=10)
    compliant = np.random.default_rng(8).random(len(levels)) < 0.5
    kept = ~((levels[:, 0] == 1) & (levels[:, 1] == 1))
    effects, found = estimate(compliant[kept], levels[kept], items[kept], models[kept], (2, 2))
    assert all(effect.estimate is None for effect in effects.values())  # each would need the missing cell
    said = "the combinations of levels that were scored do not tell this effect from others"
    assert {effect.reason for effect in effects.values()} == {said}
    assert all(term.p is None and term.reason for term in found.terms)


def test_of_half_a_design_some_effects_are_known():
    # Cells with an even sum of the last three levels: each of these factors says where the other two differ.
    levels, items, models = grid(N_LEVELS, n_items=6)
    kept = levels[:, 1:].sum(axis=1) % 2 == 0
    levels, items, models = levels[kept], items[kept], models[kept]
    compliant = np.random.default_rng(9).random(len(levels)) < 0.5
    effects, _ = estimate(compliant, levels, items, models)
    for (factors, chosen), effect in effects.items():
        if factors[0] != 0:
            assert effect.estimate is None
            continue
        rates = {
            held: compliant[(levels[:, factors] == held).all(axis=1)].mean()
            for held in itertools.product(*({level, 0} for level in chosen))
        }
        signs = {held: (-1) ** held.count(0) for held in rates}
        assert effect.estimate == pytest.approx(sum(signs[held] * rate for held, rate in rates.items()))


@pytest.mark.parametrize("value", [0, 1])
def test_effects_of_a_model_that_never_varies_are_zero_without_an_interval(value):
    levels, items, models = grid((2, 2), n_items=10)
    effects, found = estimate(np.full(len(levels), value), levels, items, models, (2, 2))
    for effect in effects.values():
        assert effect.estimate == pytest.approx(0)
        assert (effect.interval, effect.p) == (None, None)
        assert effect.reason == "every item shows the same difference, so they do not vary"
    assert [term.statistic for term in found.terms] == [None] * 3


def test_one_item_has_estimates_and_no_intervals():
    levels, items, models = grid((2, 2), n_items=1, n_repetitions=4)
    compliant = levels[:, 0] == 1
    effects, _ = estimate(compliant, levels, items, models, (2, 2))
    effect = effects[(0,), (1,)]
    assert effect.estimate == pytest.approx(1)
    assert (effect.interval, effect.reason) == (None, "fewer than two items")


@pytest.mark.parametrize(
    ("n_items", "df", "reason"),
    [(2, None, "too few items to test 3 differences together"), (4, (3, 3), None)],
)
def test_three_differences_together_take_four_items(n_items, df, reason):
    levels, items, models = grid((4, 2), n_items=n_items, n_repetitions=3)
    compliant = np.random.default_rng(12).random(len(levels)) < 0.5
    _, found = estimate(compliant, levels, items, models, (4, 2))
    assert (found.terms[0].df, found.terms[0].reason) == (df, reason)


@pytest.mark.parametrize("seed", [1, 90])  # with 90, rounding looks like a difference to numpy's own bound
def test_items_that_show_the_same_cannot_tell_differences_apart(seed):
    # Two items, and each once more: their scores add up to nothing, so all of them lie on one line.
    rng = np.random.default_rng(seed)
    levels, items, models = grid((4, 2, 2), n_items=2, n_models=2)
    kept = rng.random(len(levels)) < 0.6
    compliant = rng.random(len(levels)) < 0.5
    compliant, levels, items, models = (
        np.concatenate([each[kept]] * 2) for each in (compliant, levels, items, models)
    )
    items[len(items) // 2 :] += 2
    _, found = estimate(compliant, levels, items, models, (4, 2, 2))
    assert (found.terms[0].p, found.terms[0].reason) == (None, "the items do not tell 3 differences apart")


def test_no_rows_at_all():
    empty = np.zeros(0, dtype=np.int64)
    found = factorial_effects(
        empty, empty, np.zeros((0, 2), dtype=np.int64), n_levels=(2, 2), clusters=empty, blocks=empty
    )
    assert (found.n, found.n_clusters) == (0, 0)
    assert {effect.reason for effect in found.effects} == {"no scored rows"}


def test_no_more_generations_than_parameters_have_estimates_and_no_intervals():
    levels, _, models = grid((2, 2), n_items=1)
    effects, found = estimate(np.array([1, 0, 0, 0]), levels, np.array([0, 1, 1, 0]), models, (2, 2))
    assert (found.n, found.n_clusters) == (4, 2)
    assert {effect.reason for effect in effects.values()} == {"too few generations"}
    assert effects[(0, 1), (1, 1)].estimate == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_levels": (2,)}, "factors"),
        ({"n_levels": (2, 1)}, "at least two levels"),
        # One entry of all.
        ({"levels": 2}, "out of the range"),
        ({"levels": -1}, "out of the range"),
        ({"n_compliant": 2}, "between none and all"),
        ({"n_compliant": -1}, "between none and all"),
        ({"blocks": -1}, "from 0"),
        ({"clusters": np.zeros(7, dtype=np.int64)}, "8 groups"),
    ],
)
def test_input_that_does_not_fit_is_refused(change, message):
    levels, items, models = grid((2, 2), n_items=2)
    given = {
        "n_compliant": np.zeros(8, dtype=np.int64),
        "n": np.ones(8, dtype=np.int64),
        "levels": levels,
        "n_levels": (2, 2),
        "clusters": items,
        "blocks": models,
    }
    changed = dict(change)
    for name, value in change.items():
        if isinstance(value, int):
            changed[name] = given[name].copy()
            changed[name].flat[3] = value
    with pytest.raises(ValueError, match=message):
        factorial_effects(**{**given, **changed})

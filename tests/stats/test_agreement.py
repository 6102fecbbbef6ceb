from __future__ import annotations

import sys
import types
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as from_statsmodels

from wise_pytest.stats.agreement import (
    draw_items,
    fleiss_kappa,
    icc_2k,
    icc_terms,
    kappa_terms,
)
from wise_pytest.stats.rates import Interval

# Fleiss (1971), table 1: 30 patients, 6 psychiatrists; depression, personality disorder,
# schizophrenia, neurosis, other.
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
# The textbook example of 10 subjects, 14 raters and 5 categories.
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# Shrout and Fleiss (1979), table 2: 6 targets, 4 judges.
JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def ints(table) -> np.ndarray:
    return np.array(table, dtype=np.int64)


def draws_for(table, n_replicates: int = 200, seed: int = 1) -> np.ndarray:
    return draw_items(len(table), n_replicates=n_replicates, rng=np.random.default_rng(seed))


def kappa(table, **settings_):
    return fleiss_kappa(ints(table), draws_for(table, **settings_))


def icc(table, **settings_):
    return icc_2k(ints(table), draws_for(table, **settings_))


def binary(*n_yes: int, of: int):
    return [[of - n, n] for n in n_yes]


def slow_kappa(counts) -> Fraction | None:
    """The definition in words: agreeing pairs of annotators, against what the margins would give."""
    k = sum(counts[0])
    agreeing = [Fraction(sum(n * (n - 1) for n in row), k * (k - 1)) for row in counts]
    observed = sum(agreeing) / len(counts)
    shares = [Fraction(sum(row[c] for row in counts), len(counts) * k) for c in range(len(counts[0]))]
    expected = sum(share**2 for share in shares)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def slow_icc(ratings) -> Fraction | None:
    """Mean squares from deviations, cell by cell."""
    n, k = len(ratings), len(ratings[0])
    grand = Fraction(sum(map(sum, ratings)), n * k)
    rows = [Fraction(sum(row), k) for row in ratings]
    columns = [Fraction(sum(row[j] for row in ratings), n) for j in range(k)]
    items = sum(k * (mean - grand) ** 2 for mean in rows) / (n - 1)
    judges = sum(n * (mean - grand) ** 2 for mean in columns) / (k - 1)
    residual = sum(
        (ratings[i][j] - rows[i] - columns[j] + grand) ** 2 for i in range(n) for j in range(k)
    ) / ((n - 1) * (k - 1))
    denominator = items + (judges - residual) / n
    return (items - residual) / denominator if denominator > 0 else None


def resampled(table, draw):
    return [row for row, times in zip(table, draw, strict=True) for _ in range(times)]


def test_kappa_of_the_published_example():
    counts = [[int(digit) for digit in row] for row in DIAGNOSES.split()]
    assert len(counts) == 30
    assert [sum(column) for column in zip(*counts, strict=True)] == [26, 26, 30, 55, 43]  # as printed
    assert kappa(counts).value == pytest.approx(0.430, abs=5e-4)


def test_kappa_of_fourteen_raters():
    result = kappa(FOURTEEN_RATERS)
    assert result.value == pytest.approx(0.210, abs=5e-4)
    assert (result.statistic, result.n_items, result.n_annotators) == ("fleiss_kappa", 10, 14)


def test_kappa_worked_by_hand():
    # Three annotators, four items with 3, 3, 0, 2 yes. Agreeing pairs: 1, 1, 1, 1/3, mean 5/6.
    # Two thirds are yes: chance 4/9 + 1/9. (5/6 - 5/9) / (4/9) = 5/8.
    assert kappa(binary(3, 3, 0, 2, of=3)).value == pytest.approx(5 / 8, abs=1e-12)


def test_kappa_is_one_where_all_agree_on_items_that_differ():
    result = kappa(binary(5, 0, 5, 0, 5, 0, 5, 0, 5, 0, of=5))
    assert result.value == 1
    assert result.reason is None
    # 2 * 2^-10 of the replicates hold one kind of item only.
    assert 190 <= result.n_defined <= 200
    assert result.interval == Interval(1, 1)
    assert result.degenerate


@pytest.mark.parametrize("n_yes", [0, 5])
def test_kappa_is_undefined_where_all_judgments_are_the_same(n_yes):
    result = kappa(binary(n_yes, n_yes, n_yes, of=5))
    assert result.value is None
    assert result.interval is None
    assert not result.degenerate
    assert result.n_defined == 0
    assert result.reason == "all judgments are the same, and chance alone would agree as well"


def test_no_interval_where_too_many_replicates_have_no_value():
    # One of twenty items has a no: (19/20)^20 = 36 % of the replicates miss it.
    result = kappa(binary(*[5] * 19, 4, of=5), n_replicates=1000)
    assert result.value is not None
    assert result.interval is None
    assert 590 <= result.n_defined <= 690
    assert result.interval_reason == (
        f"{1000 - result.n_defined} of 1000 resampled sets of items have no value, "
        "more than a 95 % interval leaves outside"
    )


def test_a_few_replicates_without_a_value_leave_the_interval():
    # Three of twenty: (17/20)^20 = 3.9 %.
    result = kappa(binary(*[5] * 17, 4, 3, 1, of=5), n_replicates=1000)
    assert 940 <= result.n_defined < 1000
    assert result.interval is not None
    assert not result.degenerate
    assert result.interval_reason is None


def test_icc_of_the_published_example():
    result = icc(JUDGES)
    # Printed: mean squares 11.24, 32.49 and 1.02; ICC(2,4) .62.
    assert result.value == pytest.approx(0.62005, abs=5e-6)
    assert result.value == pytest.approx((11.24 - 1.02) / (11.24 + (32.49 - 1.02) / 6), abs=5e-4)
    assert (result.statistic, result.n_items, result.n_annotators) == ("icc_2k", 6, 4)


def test_icc_is_one_where_annotators_agree_on_items_that_differ():
    assert icc([[1, 1, 1], [3, 3, 3], [5, 5, 5], [2, 2, 2]]).value == 1


def test_icc_is_zero_where_only_annotators_differ():
    result = icc([[1, 3, 5]] * 4)
    assert result.value == 0
    assert result.degenerate


def test_icc_is_undefined_without_variance():
    result = icc([[4, 4, 4]] * 5)
    assert result.value is None
    assert result.reason == "every rating is the same"
    assert result.interval is None


def test_icc_is_undefined_where_only_the_combination_varies():
    # Equal means of items and of annotators: the formula would give 2, which is no reliability.
    result = icc([[1, 2], [2, 1]])
    assert result.value is None
    assert result.reason == "the estimated variance of a mean rating is not positive"


def test_icc_may_be_negative():
    # Item means 3, 3, 3; annotator means 2 and 4, each over three items: 6. Residuals -1, 1, 0, 0, 1, -1
    # on two degrees of freedom: 2. (0 - 2) / (0 + (6 - 2) / 3) = -3/2.
    assert icc([[1, 5], [2, 4], [3, 3]]).value == pytest.approx(-1.5, abs=1e-12)


def test_without_pingouin_only_the_icc_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pingouin", None)
    result = icc(JUDGES)
    assert result.value is None
    assert result.interval is None
    assert result.reason == "ICC(2,k) needs pingouin: pip install 'wise-pytest[agreement]'"
    assert kappa(FOURTEEN_RATERS).value is not None


def test_without_statsmodels_only_kappa_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.stats.inter_rater", None)
    result = kappa(FOURTEEN_RATERS)
    assert (result.value, result.interval) == (None, None)
    assert result.reason == "Fleiss' kappa needs statsmodels: pip install 'wise-pytest[agreement]'"
    if "pingouin" not in sys.modules:  # pingouin itself needs statsmodels
        pytest.importorskip("pingouin")
    assert icc(JUDGES).value is not None


@pytest.mark.parametrize(("name", "value"), [("ICC2k", 0.25), ("ICC(A,k)", 0.25), ("ICC(9,k)", None)])
def test_the_names_that_pingouin_gives(monkeypatch, name, value):
    table = pd.DataFrame({"Type": ["ICC1", name, "ICC(C,k)"], "ICC": [0.1, 0.25, 0.3]})
    other = types.SimpleNamespace(intraclass_corr=lambda **_: table)
    monkeypatch.setitem(sys.modules, "pingouin", other)
    result = icc(JUDGES)
    unknown = "this pingouin does not name ICC(2,k): pip install --upgrade 'wise-pytest[agreement]'"
    assert result.value == value
    assert result.reason == (unknown if value is None else None)


@pytest.mark.parametrize(
    ("terms", "slow", "table"),
    [
        (kappa_terms, slow_kappa, FOURTEEN_RATERS),
        (kappa_terms, slow_kappa, binary(5, 5, 5, 4, 5, 1, of=5)),
        (icc_terms, slow_icc, JUDGES),
        (icc_terms, slow_icc, [[1, 2, 5], [5, 1, 3], [3, 3, 3], [3, 3, 3]]),
    ],
)
def test_every_replicate_against_a_loop(terms, slow, table):
    draws = draws_for(table, n_replicates=300)
    numerators, denominators = terms(ints(table), draws)
    expected = [slow(resampled(table, draw)) for draw in draws]
    assert [value > 0 for value in denominators] == [value is not None for value in expected]
    for numerator, denominator, value in zip(numerators, denominators, expected, strict=True):
        if value is not None:
            assert numerator / denominator == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "slow", "table"), [(kappa, slow_kappa, FOURTEEN_RATERS), (icc, slow_icc, JUDGES)]
)
def test_the_interval_against_a_bootstrap_that_draws_items_one_by_one(measure, slow, table):
    rng = np.random.default_rng(20)
    values = []
    for _ in range(2000):
        value = slow([table[rng.integers(len(table))] for _ in table])
        if value is not None:
            values.append(float(value))
    low, high = sorted(values)[int(0.025 * len(values))], sorted(values)[int(0.975 * len(values))]
    result = measure(table, n_replicates=4000)
    assert result.interval.low == pytest.approx(low, abs=0.035)
    assert result.interval.high == pytest.approx(high, abs=0.035)


def test_replicates_count_where_they_have_a_value():
    # Some resampled tables vary in the combination of item and annotator only: the denominator is negative.
    table = [[1, 2, 5], [5, 1, 3], [2, 5, 1], [3, 3, 3], [2, 4, 4], [1, 1, 4]]
    draws = draws_for(table, n_replicates=500)
    _, denominators = icc_terms(ints(table), draws)
    assert (denominators < 0).any()
    values = [slow_icc(resampled(table, draw)) for draw in draws]
    result = icc(table, n_replicates=500)
    assert result.n_defined == sum(value is not None for value in values) < 500


def test_without_replicates_there_is_no_interval():
    for result in (kappa(FOURTEEN_RATERS, n_replicates=0), icc(JUDGES, n_replicates=0)):
        assert result.value is not None
        assert result.interval is None
        assert result.interval_reason == "no bootstrap replicates were asked for"
        assert (result.n_defined, result.n_replicates) == (0, 0)


def test_the_bounds_are_percentiles_of_the_replicates():
    draws = draws_for(JUDGES, n_replicates=41)
    ordered = sorted(float(slow_icc(resampled(JUDGES, draw))) for draw in draws)
    # With 41 values the 2.5th and 97.5th percentiles are the second and the last but one.
    assert icc(JUDGES, n_replicates=41).interval == Interval(
        pytest.approx(ordered[1], abs=1e-12), pytest.approx(ordered[-2], abs=1e-12)
    )


def test_draws_are_samples_with_replacement():
    draws = draw_items(24, n_replicates=5000, rng=np.random.default_rng(3))
    assert draws.shape == (5000, 24)
    assert (draws.sum(axis=1) == 24).all()
    assert draws.mean(axis=0) == pytest.approx(1, abs=0.06)
    assert draws.var() == pytest.approx(23 / 24, abs=0.03)
    again = draw_items(24, n_replicates=5000, rng=np.random.default_rng(3))
    assert (draws == again).all()


tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(1, 5), min_size=k, max_size=k), min_size=2, max_size=8)
)


@given(tables)
def test_kappa_equals_the_library_and_the_slow_one(table):
    counts = [[row.count(category) for category in range(1, 6)] for row in table]
    result = kappa(counts, n_replicates=1)
    expected = slow_kappa(counts)
    if expected is None:
        assert result.value is None
    else:
        numerator, denominator = kappa_terms(ints(counts), ints([[1] * len(counts)]))
        assert numerator[0] / denominator[0] == pytest.approx(float(expected), abs=1e-12)
        assert from_statsmodels(counts) == pytest.approx(float(expected), abs=1e-12)
        assert result.value == from_statsmodels(counts)


@settings(max_examples=15, deadline=None)
@example([[1, 1], [1, 2]])
@given(tables)
def test_icc_equals_the_library_and_the_slow_one(table):
    result = icc(table, n_replicates=1)
    expected = slow_icc(table)
    if expected is None:
        assert result.value is None
    elif len(table) * len(table[0]) < 5:
        assert result.reason == "pingouin needs at least 5 ratings"
    else:
        numerator, denominator = icc_terms(ints(table), ints([[1] * len(table)]))
        assert numerator[0] / denominator[0] == pytest.approx(float(expected), abs=1e-12)
        assert result.value == pytest.approx(float(expected), abs=1e-9)


def test_the_order_of_annotators_changes_not_one_bit():
    rng = np.random.default_rng(5)
    table = rng.integers(1, 6, size=(24, 5))
    expected = icc(table)
    for _ in range(3):
        assert icc(table[:, rng.permutation(5)]) == expected


@pytest.mark.parametrize(
    ("measure", "table", "said"),
    [
        (kappa, binary(3, 2, of=3)[:1], "at least two items"),
        (kappa, [[3, 0], [2, 0]], "the same two or more annotators"),
        (kappa, [[1, 0], [0, 1]], "the same two or more annotators"),
        (kappa, [[4, -1], [2, 1]], "the same two or more annotators"),
        (kappa, [1, 2, 3], "do not fit"),
        (icc, [[1, 2, 3]], "at least two items"),
        (icc, [[1], [2]], "at least two annotators"),
    ],
)
def test_what_cannot_be_measured_is_refused(measure, table, said):
    with pytest.raises(ValueError, match=said):
        measure(table)


@pytest.mark.parametrize("shape", [(10, 5), (0, 5), (6,)])
def test_draws_of_another_size_are_refused(shape):
    with pytest.raises(ValueError, match="do not fit"):
        icc_2k(ints(JUDGES), np.ones(shape, dtype=np.int64))

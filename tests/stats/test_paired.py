from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.stats.bootstrap import item_weights
from wise_pytest.stats.contrasts import Interval, percentile_interval
from wise_pytest.stats.paired import Change, PairedCounts, compare_paired, sign_flip_p, summary_changes
from wise_pytest.stats.rates import Rate, wilson_interval

FORMS = ("POS", "NEG", "CNEG")


def counts(before, after, n=None, forms=FORMS) -> PairedCounts:
    before, after = np.array(before), np.array(after)
    n = np.full(before.shape, 3) if n is None else np.array(n)
    return PairedCounts(tuple(f"i{k:03}" for k in range(len(before))), forms, before, after, n)


def random_counts(seed: int, n_items: int = 20, *, missing: bool = False) -> PairedCounts:
    rng = np.random.default_rng(seed)
    n = rng.integers(0 if missing else 1, 4, size=(n_items, len(FORMS)))
    return counts(rng.binomial(n, 0.5), rng.binomial(n, 0.4), n)


def compared(given_counts: PairedCounts, replicates: int = 400, seed: int = 7):
    return compare_paired(given_counts, replicates=replicates, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("missing", [False, True])
def test_agrees_with_drawing_items_one_by_one(missing):
    given_counts = random_counts(3, missing=missing)
    result = compared(given_counts)
    present = given_counts.n.sum(axis=1) > 0
    weights = np.concatenate(
        list(item_weights(int(present.sum()), replicates=400, rng=np.random.default_rng(7)))
    ).astype(int)
    replicates = [[] for _ in weights]
    """By replicate, of every form that it drew pairs of: both rates."""
    for place, form in enumerate(FORMS):
        differences = []
        for rates, line in zip(replicates, weights, strict=True):
            before = after = n = 0
            for item, times in zip(np.flatnonzero(present), line, strict=True):
                for _ in range(times):
                    before += given_counts.before[item, place]
                    after += given_counts.after[item, place]
                    n += given_counts.n[item, place]
            if n:
                differences.append(after / n - before / n)
                rates.append((before / n, after / n))
        change = result.forms[form]
        expected = percentile_interval(np.array(differences))
        assert (change.interval.low, change.interval.high) == pytest.approx((expected.low, expected.high))
        low = 1 + sum(value <= 0 for value in differences)
        high = 1 + sum(value >= 0 for value in differences)
        bootstrap = min(1.0, 2 * min(low, high) / (1 + len(differences)))
        net = (given_counts.after - given_counts.before)[:, place].tolist()
        assert change.p == pytest.approx(max(bootstrap, every_sign(net)))
    whole = [rates for rates in replicates if len(rates) == len(FORMS)]
    for figure, of in FIGURES.items():
        moved = [of([new for _, new in rates]) - of([old for old, _ in rates]) for rates in whole]
        expected = percentile_interval(np.array(moved))
        found = getattr(result, figure).interval
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high)), figure


FIGURES = {
    "mean": lambda rates: sum(rates) / len(rates),
    "worst": min,
    "gap": lambda rates: max(rates) - min(rates),
}


def a_change(diff, p_holm) -> Change:
    return Change(Rate(1, 2), Rate(1, 2), diff, None, None, p_holm, p_holm, 1, None)


@pytest.mark.parametrize(
    ("diff", "p_holm", "changed", "worse"),
    [
        (Fraction(-1, 2), 0.049, True, True),
        (Fraction(1, 2), 0.049, True, False),
        (Fraction(1, 1000), 0.0, True, False),
        (Fraction(-1, 1000), 0.0, True, True),
        (Fraction(-1, 2), 0.05, False, False),  # at the level itself chance is explanation enough
        (Fraction(-1, 2), None, False, False),
        (Fraction(0), 0.001, False, False),
        (None, None, False, False),
    ],
)
def test_a_change_is_what_chance_does_not_explain(diff, p_holm, changed, worse):
    found = a_change(diff, p_holm)
    assert (found.changed, found.worse) == (changed, worse)


def test_figures_are_over_the_forms_that_both_sides_have():
    rates = {
        "POS": (Rate(1, 2), Rate(3, 4)),
        "NEG": (Rate(1, 4), Rate(0, 4)),
        "CNEG": (Rate(0, 0), Rate(4, 4)),
        "NEVER": (Rate(4, 4), Rate(0, 0)),
    }
    found = summary_changes(rates, {"gap": Interval(-0.5, 0.5)})
    assert (found["mean"].before, found["mean"].after) == (Fraction(3, 8), Fraction(3, 8))
    assert (found["worst"].before, found["worst"].after) == (Fraction(1, 4), Fraction(0))
    assert (found["gap"].before, found["gap"].after) == (Fraction(1, 4), Fraction(3, 4))
    assert found["gap"].interval == Interval(-0.5, 0.5)
    assert found["mean"].interval is None
    nothing = {"mean": None, "worst": None, "gap": None}
    assert summary_changes({"CNEG": rates["CNEG"], "NEVER": rates["NEVER"]}) == nothing
    assert summary_changes({}) == nothing
    assert summary_changes(rates)["worst"].interval is None


def test_an_item_without_a_pair_is_no_item():
    result = compared(counts([[2], [1], [0]], [[1], [2], [0]], [[3], [3], [0]], forms=("POS",)))
    assert result.n_items == 2
    assert result.forms["POS"].n_changed == 2
    # One pair is enough to be one.
    single = compared(counts([[1], [1]], [[0], [0]], [[1], [1]], forms=("POS",)))
    assert single.n_items == 2
    assert single.forms["POS"].interval.high == pytest.approx(-wilson_interval(Rate(2, 2)).low)
    some = random_counts(4)
    more = counts(*(np.vstack([part, np.zeros((4, 3), int)]) for part in (some.before, some.after, some.n)))
    assert compared(more) == compared(some)
    alone = compared(counts([[2], [0]], [[1], [0]], [[3], [0]], forms=("POS",)))
    assert alone.n_items == 1
    assert alone.forms["POS"].reason == "fewer than two items to resample"


def test_a_form_that_replicates_seldom_draw_has_no_interval_and_says_so():
    """One item of twelve has the form: a replicate misses it in (11/12)^12, 35 %, of all cases."""
    n = np.full((12, 2), 3)
    n[1:, 1] = 0
    result = compared(counts(np.where(n > 0, 2, 0), np.where(n > 0, 1, 0), n, forms=("POS", "NEG")))
    rare = result.forms["NEG"]
    assert rare.diff == Fraction(-1, 3)
    assert (rare.interval, rare.simultaneous) == (None, None)
    assert re.fullmatch(r"\d+ of 400 replicates draw no pair of this form", rare.reason)
    assert result.forms["POS"].interval is not None
    assert (result.mean.interval, result.worst.interval, result.gap.interval) == (None, None, None)


def test_a_change_of_all_items_alike_reaches_as_far_as_it_is():
    """All of n items up by 1/3: from 1/3 of Wilson's bound n / (n + z²) to 1/3; z = 1.959964, n = 5."""
    found = compared(counts([[1]] * 5, [[2]] * 5, forms=("POS",))).forms["POS"].interval
    assert (found.low, found.high) == pytest.approx((0.565518 / 3, 1 / 3), abs=1e-6)


def test_no_figure_moves_further_than_all_the_way():
    """Of two items that did not change, neither says much: a gap may move by 1, and by no more."""
    same = np.full((2, 2), 2)
    result = compared(counts(same, same, forms=("POS", "NEG")))
    assert (result.gap.interval.low, result.gap.interval.high) == (-1.0, 1.0)


def every_sign(net) -> float:
    changed = [value for value in net if value]
    sums = [
        abs(sum(s * abs(v) for s, v in zip(signs, changed, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(changed))
    ]
    return sum(total >= abs(sum(net)) for total in sums) / len(sums)


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_sign_flips_are_counted_as_by_trying_every_one(net):
    assert sign_flip_p(net) == pytest.approx(every_sign(net))


@pytest.mark.parametrize(
    ("net", "p"),
    [([], 1.0), ([0, 0], 1.0), ([1], 1.0), ([-1] * 6, 2 / 64), ([3, -3], 1.0), ([1, 1, 1, -1], 10 / 16)],
)
def test_sign_flips_by_hand(net, p):
    assert sign_flip_p(net) == pytest.approx(p)


def test_many_items_are_no_trouble():
    assert sign_flip_p([-1] * 5000) == pytest.approx(0, abs=1e-300)
    assert 0.99 < sign_flip_p([1, -1] * 2500) <= 1


def test_the_change_is_over_the_same_cells_and_exact():
    result = compared(counts([[3, 1, 0], [3, 2, 0]], [[3, 0, 1], [2, 2, 0]]))
    change = result.forms["POS"]
    assert (change.before, change.after) == (Rate(6, 6), Rate(5, 6))
    assert change.diff == Fraction(-1, 6)
    assert [result.forms[form].n_changed for form in FORMS] == [1, 1, 1]
    assert (result.n_items, result.family_size) == (2, 3)
    assert (result.mean.before, result.mean.after) == (Fraction(1, 2), Fraction(8, 18))
    assert (result.gap.before, result.gap.after) == (Fraction(1), Fraction(4, 6))
    assert result.worst.diff == Fraction(1, 6)


def test_a_run_against_itself_has_no_change():
    same = random_counts(5)
    result = compared(counts(same.before, same.before, same.n))
    for change in result.forms.values():
        assert (change.diff, change.p, change.p_holm, change.changed) == (0, 1.0, 1.0, False)
    assert result.gap.diff == 0


def test_no_change_in_a_few_items_is_not_certainty():
    """None of n items changed: Wilson's bound on the share that would is 1 - n/(n + z²), z = 1.959964."""
    for n_items, most in ((5, 0.434482), (20, 0.161125)):
        same = np.full((n_items, 1), 2)
        change = compared(counts(same, same, forms=("POS",))).forms["POS"]
        assert (change.interval.low, change.interval.high) == pytest.approx((-most, most), abs=1e-6)
        assert change.simultaneous == change.interval  # one form: there is nothing to correct for
    result = compared(counts(np.full((20, 3), 2), np.full((20, 3), 2)))
    assert result.forms["POS"].simultaneous.high > result.forms["POS"].interval.high
    assert result.mean.interval.high == result.worst.interval.high == pytest.approx(0.161125, abs=1e-6)
    assert result.gap.interval.high == pytest.approx(2 * 0.161125, abs=1e-6)  # one form up, another down


def test_only_items_with_a_pair_of_the_form_say_how_sure_it_is():
    n = np.full((12, 2), 3)
    n[4:, 1] = 0
    result = compared(counts(n, np.where(n > 0, 0, 0), n, forms=("POS", "NEG")), replicates=2000)
    few, many = result.forms["NEG"], result.forms["POS"]
    assert few.interval.high == pytest.approx(-wilson_interval(Rate(4, 4)).low)
    assert many.interval.high == pytest.approx(-wilson_interval(Rate(12, 12)).low)


def test_a_form_that_fails_everywhere_is_found_although_nothing_varies():
    result = compared(counts([[3, 3, 3]] * 12, [[3, 0, 3]] * 12))
    change = result.forms["NEG"]
    assert change.worse
    assert change.p == pytest.approx(2 / 401)  # no replicate of 400 says otherwise; signs alone: 2/4096
    # Twelve of twelve items: Wilson's lower bound says how sure that is.
    assert change.interval.low == -1
    assert change.interval.high == pytest.approx(-wilson_interval(Rate(12, 12)).low)
    assert change.simultaneous.high > change.interval.high
    assert not compared(counts([[3, 3, 3]] * 4, [[3, 0, 3]] * 4)).forms["NEG"].worse  # p is 2/16


def test_two_runs_without_a_pair_have_nothing_to_compare():
    result = compared(counts([[0, 0]] * 3, [[0, 0]] * 3, [[0, 0]] * 3, forms=("POS", "NEG")))
    assert (result.n_items, result.family_size, result.mean, result.worst, result.gap) == (
        0,
        0,
        None,
        None,
        None,
    )
    assert {found.reason for found in result.forms.values()} == {"no cell was scored in both runs"}


def test_holm_is_over_the_forms_with_pairs():
    n = [[3, 3, 0]] * 15
    result = compared(counts([[3, 2, 0]] * 15, [[0, 2, 0]] * 15, n))
    assert result.family_size == 2
    assert result.forms["POS"].p_holm == pytest.approx(2 * result.forms["POS"].p)
    missing = result.forms["CNEG"]
    assert (missing.diff, missing.p, missing.p_holm, missing.interval) == (None, None, None, None)
    assert missing.reason == "no cell was scored in both runs"


def test_simultaneous_intervals_hold_the_others():
    result = compared(random_counts(11, 60), replicates=2000)
    for change in result.forms.values():
        assert change.simultaneous.low <= change.interval.low
        assert change.simultaneous.high >= change.interval.high


@pytest.mark.parametrize(
    ("n_items", "replicates", "reason"),
    [
        (1, 400, "fewer than two items to resample"),
        (2, 0, "nothing was resampled"),
        (5, 0, "nothing was resampled"),
    ],
)
def test_what_cannot_be_resampled_says_why(n_items, replicates, reason):
    result = compared(random_counts(2, n_items), replicates=replicates)
    for change in result.forms.values():
        assert (change.interval, change.simultaneous, change.p, change.p_holm) == (None,) * 4
        assert change.reason == reason
    assert result.gap.interval is None


def test_the_order_of_items_matters_to_no_figure_of_the_rows():
    given_counts = random_counts(9)
    turned = counts(given_counts.before[::-1], given_counts.after[::-1], given_counts.n[::-1])
    one, other = compared(given_counts), compared(turned)
    assert [change.diff for change in one.forms.values()] == [c.diff for c in other.forms.values()]
    assert one.gap.diff == other.gap.diff


def test_one_form_has_no_gap():
    result = compared(counts([[1], [2]], [[1], [1]], forms=("POS",)))
    assert result.gap is None
    assert result.mean.diff == Fraction(-1, 6)


@pytest.mark.parametrize(
    ("before", "after", "n"),
    [
        ([[4]], [[1]], [[3]]),
        ([[1]], [[-1]], [[3]]),
        ([[1, 1]], [[1]], [[3]]),
        ([[1]], [[1]], [[3, 3]]),
        ([[1], [4]], [[1], [1]], [[3], [3]]),
    ],
)
def test_impossible_counts_are_refused(before, after, n):
    with pytest.raises(ValueError, match=r"counts|compliant"):
        counts(before, after, n, forms=("POS",))


@pytest.mark.slow
def test_false_alarms_stay_under_five_percent():
    """Two runs of one model, 400 pairs: any form is called changed in at most 5 % of them, up to chance."""
    rng = np.random.default_rng(12)
    n_false = n_found = 0
    for _ in range(400):
        rates = np.repeat(rng.beta(0.4, 1.6, size=60)[:, None], 3, axis=1)
        lower = rates * np.array([1, 0.2, 1])
        before = rng.binomial(3, rates)
        n_false += any(c.changed for c in compared(counts(before, rng.binomial(3, rates))).forms.values())
        n_found += compared(counts(before, rng.binomial(3, lower))).forms["NEG"].worse
    assert n_false / 400 <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5
    assert n_found / 400 > 0.9

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from wise_pytest.stats.ranking import (
    average_ranks,
    doubled_ranks,
    pairwise_order,
    ranking_stability,
    reversals,
)
from wise_pytest.stats.rates import NO_ROWS, Rate


def tens(*counts: int) -> list[Rate]:
    return [Rate(count, 10) for count in counts]


def test_worked_by_hand():
    # Models A to E. Strictly ordered under the reference: all pairs but BC (9); under the form: all
    # but CD (9); under both: 8. Reversed: AB, AC, AD. tau-b = (5 - 3) / sqrt(9 * 9).
    # Top three: A B C before, B C D after. Ranks before: 1, 2.5, 2.5, 4, 5; after: 4, 1, 2.5, 2.5, 5.
    result = ranking_stability(tens(9, 7, 7, 4, 2), tens(5, 8, 6, 6, 1))
    assert result.reversal == Rate(3, 8)
    assert result.tau_b == pytest.approx(2 / 9, abs=1e-15)
    assert result.top3_jaccard == Fraction(1, 2)
    assert result.max_rank_shift == 3
    assert result.n_models == 5
    assert result.reason is None


def test_a_tie_at_the_third_place_widens_the_top_three():
    # Competition ranks before: 1, 2, 3, 3 (four models at three or better); after: 1, 2, 3, 4.
    result = ranking_stability(tens(9, 8, 5, 5), tens(9, 8, 5, 4))
    assert result.top3_jaccard == Fraction(3, 4)
    assert result.max_rank_shift == Fraction(1, 2)


def test_a_tie_above_pushes_the_next_model_out_of_the_top_three():
    # Competition ranks before: 1, 1, 1, 4; after: 4, 1, 2, 3.
    result = ranking_stability(tens(9, 9, 9, 5), tens(1, 8, 7, 6))
    assert result.top3_jaccard == Fraction(2, 4)


def test_a_complete_reversal():
    result = ranking_stability(tens(9, 5, 1), tens(1, 5, 9))
    assert result.tau_b == -1.0
    assert result.reversal == Rate(3, 3)
    assert result.max_rank_shift == 2


def test_equal_orders_with_ties_agree_exactly():
    # Dividing by two square roots in turn gives 0.9999999999999998 for some such orders.
    for n in range(2, 40):
        counts = [Rate(i * i % n % 7, 10) for i in range(n)]
        if len(set(counts)) > 1:
            assert ranking_stability(counts, counts).tau_b == 1.0


def test_equal_rates_tie_whatever_their_counts():
    # 0.1 + 0.2 against 0.3, and 1/3 against 100/300: no rounding may break a tie.
    result = ranking_stability(
        [Rate(1, 3), Rate(100, 300), Rate(1, 10)], [Rate(2, 10), Rate(3, 10), Rate(1, 10)]
    )
    assert result.reversal == Rate(0, 2)
    huge = 10**9
    order = pairwise_order(np.array([huge - 1, huge - 2]), np.array([huge, huge - 1]))
    assert order[0, 1] == 1  # 1 - 1e-9 and 1 - 1/(1e9 - 1) are closer than floats of sums would tell


@pytest.mark.parametrize(
    ("reference", "form", "reason"),
    [
        ([], [], "a ranking needs two models with scored generations under both forms"),
        (tens(5), tens(4), "a ranking needs two models with scored generations under both forms"),
        (tens(5, 5, 5), tens(1, 2, 3), "all models are tied under the reference form"),
        (tens(1, 2, 3), tens(0, 0, 0), "all models are tied under this form"),
        (tens(5, 5), tens(4, 4), "all models are tied under the reference form and this form"),
    ],
)
def test_undefined_is_none_with_a_reason(reference, form, reason):
    result = ranking_stability(reference, form)
    assert result.tau_b is None
    assert result.reversal is None
    assert result.top3_jaccard is None
    assert result.max_rank_shift is None
    assert result.n_models == len(form)
    assert result.reason == reason


def test_input_is_checked():
    with pytest.raises(ValueError, match="2 reference rates for 1"):
        ranking_stability(tens(1, 2), tens(1))
    with pytest.raises(ValueError, match="cannot be ranked"):
        ranking_stability(tens(1, 2), [Rate(1, 1), NO_ROWS])


RATES = st.integers(1, 6).flatmap(lambda n: st.builds(Rate, st.integers(0, n), st.just(n)))


@given(st.lists(st.tuples(RATES, RATES), min_size=2, max_size=9))
def test_agrees_with_scipy_and_with_slow_counting(pairs):
    before = [first.fraction for first, _ in pairs]
    after = [second.fraction for _, second in pairs]
    result = ranking_stability([first for first, _ in pairs], [second for _, second in pairs])
    if len(set(before)) == 1 or len(set(after)) == 1:
        assert result.tau_b is None
        return

    strict = reverse = concordant = n_before = n_after = 0
    for a, b in combinations(range(len(pairs)), 2):
        n_before += before[a] != before[b]
        n_after += after[a] != after[b]
        if before[a] == before[b] or after[a] == after[b]:
            continue
        strict += 1
        if (before[a] > before[b]) == (after[a] > after[b]):
            concordant += 1
        else:
            reverse += 1
    assert result.reversal == Rate(reverse, strict)
    assert result.tau_b == pytest.approx((concordant - reverse) / (n_before * n_after) ** 0.5, abs=1e-12)

    # Exact ranks make the floats that scipy sees free of rounding.
    places_before, places_after = rankdata(_places(before)), rankdata(_places(after))
    assert result.tau_b == pytest.approx(
        kendalltau(places_before, places_after, variant="b").statistic, abs=1e-12
    )
    assert result.max_rank_shift == max(abs(places_before - places_after))
    top_before = {i for i, rate in enumerate(before) if sum(other > rate for other in before) < 3}
    top_after = {i for i, rate in enumerate(after) if sum(other > rate for other in after) < 3}
    assert result.top3_jaccard == Fraction(len(top_before & top_after), len(top_before | top_after))


def _places(rates):
    """Whole numbers in the order of the rates, the best first, ties kept."""
    distinct = sorted(set(rates), reverse=True)
    return [distinct.index(rate) for rate in rates]


def test_replicates_are_handled_in_one_call():
    n = np.full((2, 3), 10)
    before = pairwise_order(np.array([[9, 5, 1], [1, 1, 2]]), n)
    after = pairwise_order(np.array([[1, 5, 9], [1, 2, 2]]), n)
    n_reversed, n_pairs = reversals(before, after)
    assert n_reversed.tolist() == [3, 0]
    assert n_pairs.tolist() == [3, 1]
    assert (doubled_ranks(before) / 2).tolist() == [[1, 2, 3], [2.5, 2.5, 1]]


@given(st.lists(st.integers(1, 7).flatmap(lambda n: st.builds(Rate, st.integers(0, n), st.just(n)))))
def test_average_ranks_are_scipy_s(rates):
    # Fractions with denominators up to 7 differ by 1/42 or more, so no float confuses two of them.
    found = average_ranks(rates)
    expected = rankdata([-rate.n_compliant / rate.n for rate in rates], method="average") if rates else []
    assert [float(rank) for rank in found] == list(expected)


def test_average_ranks_compare_exact_fractions():
    third = Rate(333_333_333, 999_999_999)
    assert average_ranks([Rate(1, 3), third, Rate(333_333_334, 999_999_999), Rate(0, 5)]) == (
        Fraction(5, 2),
        Fraction(5, 2),
        1,
        4,
    )
    assert average_ranks([]) == ()
    assert average_ranks([Rate(3, 3)]) == (1,)

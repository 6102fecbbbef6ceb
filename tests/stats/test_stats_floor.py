from __future__ import annotations

from fractions import Fraction

import pytest

from wise_pytest.stats.floor import TargetOutcome, floor_regime, pool_outcomes
from wise_pytest.stats.rates import NO_ROWS, Rate


def at(
    target: int, n_compliant: int, words: int, *, n: int = 100, n_observed: int | None = None
) -> TargetOutcome:
    """One target with ``words`` observed words in all."""
    return TargetOutcome(
        target=target,
        rate=Rate(n_compliant, n),
        n_observed=n if n_observed is None else n_observed,
        sum_observed=words,
    )


def test_the_published_floor_model_is_in_the_floor_regime():
    # Gemini 2.5 Flash, original experiment (Table 12): 30.4 % at 5 words, then 0; 3.66 to 2.93 mean words.
    result = floor_regime([at(5, 30, 366), at(8, 0, 285), at(10, 0, 289), at(12, 0, 293)])
    assert result.in_floor
    assert result.assessable
    assert result.change == Fraction(-73, 100)


@pytest.mark.parametrize(
    ("outcomes", "in_floor"),
    [
        ([at(5, 0, 300), at(12, 1, 399)], True),  # exactly 1 %, and 0.99 words more
        ([at(5, 0, 30_000, n=10_000), at(12, 101, 30_000, n=10_000)], False),  # 1.01 %
        ([at(5, 0, 300), at(12, 1, 400)], False),  # exactly one word more
        ([at(5, 0, 300), at(8, 2, 300), at(12, 0, 300)], False),  # 2 % at a target in between
        ([at(5, 100, 500), at(12, 0, 500)], True),  # any compliance at the smallest target
        ([at(5, 0, 300), at(12, 0, 1200)], False),  # never compliant, but it follows the target
        ([at(12, 0, 293), at(5, 30, 366)], True),  # in any order
    ],
)
def test_both_conditions_and_their_bounds(outcomes, in_floor):
    assert floor_regime(outcomes).in_floor is in_floor


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ([], "fewer than two numeric targets were scored"),
        ([at(5, 0, 100)], "fewer than two numeric targets were scored"),
        ([at(5, 0, 100), TargetOutcome(12, NO_ROWS, 0, 0)], "fewer than two numeric targets were scored"),
        ([at(5, 0, 100), at(12, 0, 0, n_observed=0)], "rows do not hold the observed count"),
        ([at(5, 0, 100, n_observed=99), at(12, 0, 100)], "rows do not hold the observed count"),
    ],
)
def test_a_model_that_cannot_be_assessed_is_never_excluded(outcomes, reason):
    result = floor_regime(outcomes)
    assert not result.in_floor
    assert not result.assessable
    assert result.reason == reason
    assert result.change is None


def test_mean_words_need_a_known_length():
    assert at(5, 0, 250).mean_observed == Fraction(5, 2)
    assert at(5, 0, 0, n_observed=0).mean_observed is None


def test_outcomes_of_one_target_are_added_up():
    # Two forms at 12 words, one at 5; of the texts, some are empty and some were stopped.
    pooled = pool_outcomes(
        [
            TargetOutcome(12, Rate(1, 4), 3, 30, 4, 1, 2),
            TargetOutcome(5, Rate(2, 3), 3, 16),
            TargetOutcome(12, Rate(3, 6), 5, 61, 5, 2, 0),
        ]
    )
    assert pooled == (
        TargetOutcome(5, Rate(2, 3), 3, 16, 0, 0, 0),
        TargetOutcome(12, Rate(4, 10), 8, 91, 9, 3, 2),
    )
    assert pool_outcomes([]) == ()

from __future__ import annotations

import numpy as np
import pytest

from wise_pytest.stats.bootstrap import ContrastDraws
from wise_pytest.stats.contrasts import (
    percentile_interval,
    summarize_contrasts,
    too_many_undefined,
    two_sided_p,
)


def draws(differences, defined=None):
    column = np.array(differences, dtype=float)[:, None]
    known = np.ones(column.shape, dtype=bool) if defined is None else np.array(defined)[:, None]
    return ContrastDraws(differences=column, defined=known)


def one(point, differences, defined=None):
    return summarize_contrasts([point], draws(differences, defined))[0]


def test_percentiles_by_hand():
    # 0, 1, ..., 1000 thousandths: the 2.5 % and 97.5 % quantiles are its 25th and 975th steps.
    interval = percentile_interval(np.arange(1001) / 1000)
    assert (interval.low, interval.high) == pytest.approx((0.025, 0.975), abs=1e-12)
    # Four values: places 0.075 and 2.925 between the order statistics 1, 2, 3, 4.
    interval = percentile_interval(np.array([4.0, 1.0, 3.0, 2.0]))
    assert (interval.low, interval.high) == pytest.approx((1.075, 3.925), abs=1e-12)
    interval = percentile_interval(np.array([1.0, 2.0, 3.0]), confidence=0.5)
    assert (interval.low, interval.high) == pytest.approx((1.5, 2.5), abs=1e-12)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([-0.1] * 9, 2 / 10),  # none on the far side: 2 * (0 + 1) / (9 + 1)
        ([0.1] * 9, 2 / 10),
        ([-0.1] * 7 + [0.1] * 2, 2 * 3 / 10),
        ([0.1] * 7 + [-0.1] * 2, 2 * 3 / 10),
        ([-0.1] * 7 + [0.0] * 2, 2 * 3 / 10),  # zeros lie on both sides
        ([-0.1] * 5 + [0.1] * 4, 1.0),
        ([0.0] * 9, 1.0),
        ([-0.1] * 1999, 2 / 2000),
    ],
)
def test_p_by_hand(differences, p):
    assert two_sided_p(np.array(differences)) == pytest.approx(p, abs=1e-15)


def test_a_contrast():
    found = one(-0.2, np.linspace(-0.5, 0.1, 1001))
    # From -0.5 in steps of 0.0006: the 25th and the 975th; 834th is the first above zero.
    assert found.diff == -0.2
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.485, 0.085), abs=1e-12)
    assert found.p == pytest.approx(2 * (1 + 167) / 1002, abs=1e-12)
    assert (found.degenerate, found.interval_reason, found.p_reason) == (False, None, None)
    assert found.n_replicates == 1001


@pytest.mark.parametrize("value", [0.0, -1.0, 1.0, 0.25])
def test_equal_replicates_are_no_certainty(value):
    found = one(value, [value] * 100)
    assert (found.interval.low, found.interval.high) == (value, value)
    assert found.degenerate
    assert found.p is None
    assert found.p_reason == "all replicates give the same difference, so they cannot tell it from chance"


def test_one_replicate_is_no_certainty_either():
    found = one(0.25, [0.25])
    assert (found.degenerate, found.p, found.n_replicates) == (True, None, 1)


def test_a_point_that_is_undefined():
    found = one(None, [0.0] * 10, [False] * 10)
    assert found.interval is None
    assert found.p is None
    assert found.interval_reason == "no scored rows of this form, or none of the reference form"
    assert found.p_reason == found.interval_reason
    assert (found.diff, found.degenerate, found.n_replicates) == (None, False, 0)


def test_few_undefined_replicates_are_left_out_and_never_zero():
    values = [*([99.0] * 9), *np.linspace(-0.6, -0.4, 991).tolist()]
    found = one(-0.5, values, [False] * 9 + [True] * 991)
    assert found.n_replicates == 991
    assert found.interval.high == pytest.approx(-0.405, abs=1e-12)
    assert found.p == pytest.approx(2 / 992, abs=1e-15)


def test_one_percent_of_undefined_replicates_is_too_many():
    values = np.linspace(-0.6, -0.4, 1000)
    found = one(-0.5, values, [False] * 10 + [True] * 990)
    assert found.interval is None
    assert found.p is None
    assert found.interval_reason == "10 of 1000 replicates draw no row of this form or of the reference form"
    assert (found.diff, found.n_replicates) == (-0.5, 990)


def test_no_replicate_at_all_is_defined():
    found = one(0.0, [0.0] * 5, [False] * 5)
    assert found.interval is None
    assert found.interval_reason.startswith("5 of 5 replicates")


def test_how_many_undefined_replicates_are_too_many():
    assert too_many_undefined(19_801, 20_000, "lack it") is None  # 0.995 %
    assert too_many_undefined(19_800, 20_000, "lack it") == "200 of 20000 replicates lack it"  # 1 %
    assert too_many_undefined(0, 0, "lack it") == "0 of 0 replicates lack it"

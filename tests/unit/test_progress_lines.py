"""How far a run is and what it has cost, in words."""

import pytest

from wise_pytest.report.plan import PlannedCost, plan_lines
from wise_pytest.report.progress import (
    ModelProgress,
    ModelSpent,
    duration,
    money,
    progress_line,
    spent_lines,
    spent_record,
)


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (1.0, "$1.00"),
        (0.125, "$0.1250"),
        (0.0001, "$0.0001"),
        (0.0000012, "$0.0000012"),
    ],
)
def test_money(usd: float, shown: str):
    assert money(usd) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0:00"), (111, "1:51"), (3723, "1:02:03"), (-1, "0:00"), (59.6, "1:00")]
)
def test_durations(seconds: float, shown: str):
    assert duration(seconds) == shown


def test_one_model_is_one_line_of_totals():
    line = progress_line([ModelProgress("m", 431, 1800, 2)], rate=12.34, usd=0.5)
    assert line == "431/1800 (23%), 12.3/s, 1:51 left, 2 errors, $0.5000 spent"


def test_nothing_is_said_of_what_is_not_known():
    assert progress_line([ModelProgress("m", 0, 10)], rate=None, usd=None) == "0/10 (0%)"
    assert progress_line([], rate=None, usd=None) == "0/0 (0%)"


def test_of_several_models_those_under_way_come_first_and_the_line_fits():
    models = [ModelProgress("done", 5, 5), ModelProgress("half", 2, 5, 1), ModelProgress("next", 0, 5)]
    line = progress_line(models, rate=None, usd=None)
    assert line == "7/15 (46%), 1 error | half 2/5 (1 errors), done 5/5, next 0/5"
    assert len(progress_line(models, rate=None, usd=None, width=40)) <= 40


def test_what_was_spent_by_model_and_in_all():
    spent = [ModelSpent("a", 1, 1200, 30, None, 0), ModelSpent("b", 2, 5, 6, 0.25, 1)]
    assert spent_lines(spent) == [
        "spent on a: 1 call, 1,200 tokens in, 30 out",
        "spent on b: 2 calls, 5 tokens in, 6 out, $0.2500, 1 call without a count, taken at most",
        "spent in all: 3 calls, $0.2500",
    ]
    assert spent_lines(spent[1:], max_usd=2)[-1] == "spent in all: 2 calls, $0.2500 of at most $2.00"
    assert spent_lines([]) == []
    assert spent_record(spent)["b"] == {
        "calls": 2,
        "input_tokens": 5,
        "output_tokens": 6,
        "usd": 0.25,
        "inexact": 1,
    }


def test_a_plan_is_a_table_with_a_sum_and_says_what_it_does_not_know():
    costs = [
        PlannedCost("p", "a", 10, 8, 1000, 200, "measured", 0.5, 2.0),
        PlannedCost("p", "b", 10, 10, 900, 100, "estimated", None, None),
    ]
    header, first, second, total, unpriced, budget, last = plan_lines(costs, max_usd=1.0)
    names = "panel model cells to ask tokens in tokens out price at most tokens are"
    assert " ".join(header.split()) == names
    assert first.split() == ["p", "a", "10", "8", "1,000", "200", "$0.5000", "$2.00", "measured"]
    assert second.split() == ["p", "b", "10", "10", "900", "100", "–", "–", "estimated"]
    assert total.split() == ["all", "20", "18", "1,900", "300", "$0.5000", "$2.00"]
    assert unpriced == "without a known price: b"
    assert budget == "--wise-max-cost $1.00 may end the run before all is asked"
    assert last == "nothing was asked: this is a plan"
    assert plan_lines([]) == ["no cell is selected: nothing would be asked"]

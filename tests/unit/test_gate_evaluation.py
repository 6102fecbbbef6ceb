from __future__ import annotations

from fractions import Fraction

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.rules import GateRules, Thresholds, parse_threshold
from wise_pytest.errors import OptionError
from wise_pytest.records import Row


def cell(
    model: str, form: str, n_compliant: int, n: int = 10, *, panel: str = "exact_count", n_errors: int = 0
):
    """``n`` rows, the first compliant, the last without a usable reply."""
    return [
        Row(
            panel=panel,
            model=model,
            provider="lab",
            item=f"item-{item}",
            form=form,
            repetition=1,
            compliant=None if item >= n - n_errors else item < n_compliant,
            status="error" if item >= n - n_errors else "ok",
        )
        for item in range(n)
    ]


def model(name: str, *counts: int, forms=("POS", "NEG", "CNEG"), **more):
    return [
        row for form, count in zip(forms, counts, strict=False) for row in cell(name, form, count, **more)
    ]


def floor_model(name: str) -> list[Row]:
    return [
        Row(
            panel="exact_count",
            model=name,
            provider="lab",
            item=f"item-{item}",
            form=form,
            repetition=1,
            compliant=False,
            target=(5, 12)[item % 2],
            observed=2,
        )
        for form in ("POS", "NEG", "CNEG")
        for item in range(10)
    ]


def thresholds(**limits: str) -> Thresholds:
    return Thresholds(**{name: parse_threshold(text, name) for name, text in limits.items()})


def evaluated(rows, *, exclude=(), planned=None, expected_models=(), partial=None, **limits: str):
    audit = build_audit(rows, exclude=exclude, planned=planned)
    rules = GateRules(thresholds(**limits))
    return evaluate_gate(audit, rules, expected_models=expected_models, partial=partial)


def statuses(gate) -> dict[tuple, str]:
    return {(check.metric, check.model or check.form): check.status for check in gate.checks}


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        # Forms at 8, 7 and 4 of 10: gap 40, worst 40, mean 63.33...
        ({"max_gap": "40"}, "pass"),
        ({"max_gap": "39.999999"}, "fail"),
        ({"min_worst": "40"}, "pass"),
        ({"min_worst": "40.000001"}, "fail"),
        ({"min_mean": "63.333333"}, "pass"),
        ({"min_mean": "63.333334"}, "fail"),
        ({"max_gap": "40", "min_worst": "40", "min_mean": "63"}, "pass"),
        ({"max_gap": "100", "min_worst": "90"}, "fail"),
    ],
)
def test_limits_of_a_model(limits, status):
    assert evaluated(model("a", 8, 7, 4), **limits).status == status


def test_a_gap_of_exactly_the_limit_passes_whatever_floats_say():
    assert 0.8 - 0.7 > 0.1
    gate = evaluated(model("a", 8, 7), max_gap="10")
    assert gate.status == "pass"
    check = next(check for check in gate.checks if check.metric == "gap")
    assert (check.value, check.limit) == (Fraction(1, 10), Fraction(1, 10))


def test_a_check_says_what_was_compared():
    gate = evaluated(model("a", 8, 7, 4), min_worst="50")
    found = to_document(build_audit(model("a", 8, 7, 4)), gate)["gate"]
    assert found["status"] == "fail"
    assert found["reason"] == "1 of 2 checks failed"
    assert found["checks"][1] == {
        "panel": "exact_count",
        "model": "a",
        "form": "CNEG",
        "metric": "worst",
        "value": 0.4,
        "limit": 0.5,
        "status": "fail",
        "rule": "everywhere",
        "reason": "worst-form compliance under CNEG 40.0, asked for at least 50.0",
    }


def test_a_reason_tells_close_numbers_apart():
    rows = model("a", 801, 600, n=1000)
    gate = evaluated(rows, max_gap="20.09")
    assert [check.reason for check in gate.checks if check.metric == "gap"] == [
        "gap 20.10, asked for at most 20.09"
    ]
    told = {
        # One of three pairs. Six decimals are the most that are shown.
        "33.333334": "reversal rate under NEG 33.333333, asked for at most 33.333334",
        "33.333333": "reversal rate under NEG 33.333333, asked for at most 33.333333",
    }
    for limit, reason in told.items():
        assert evaluated(TestRanking.ROWS, max_reversal=limit).checks[-2].reason == reason
    assert evaluated(model("a", 8, 4), max_gap="40").checks[-1].reason == "gap 40.0, asked for at most 40.0"


def test_each_model_is_checked_and_not_only_the_pool():
    # Pooled, both forms are at 50 %: opposite gaps of 80 points cancel out.
    rows = model("a", 9, 1) + model("b", 1, 9)
    gate = evaluated(rows, max_gap="20")
    assert gate.status == "fail"
    assert statuses(gate)["gap", "a"] == statuses(gate)["gap", "b"] == "fail"


def test_each_panel_is_checked():
    rows = model("a", 8, 8) + model("a", 8, 1, panel="keyword_once")
    gate = evaluated(rows, max_gap="20")
    assert [(check.panel, check.status) for check in gate.checks if check.metric == "gap"] == [
        ("exact_count", "pass"),
        ("keyword_once", "fail"),
    ]


class TestCoverage:
    def test_ten_technical_errors_in_a_hundred_cells(self):
        rows = cell("a", "POS", 80, 100, n_errors=10)
        assert evaluated(rows, min_mean="88").status == "fail"
        assert statuses(evaluated(rows, min_mean="88")) == {("coverage", "a"): "fail", ("mean", "a"): "pass"}
        assert evaluated(rows, min_coverage="90", min_mean="88.888888").status == "pass"
        gate = evaluated(rows, min_coverage="90.1", min_mean="90")
        assert [check.reason for check in gate.checks] == [
            "coverage 90.0, asked for at least 90.1",
            "mean compliance 88.9, asked for at least 90.0",
        ]
        assert gate.status == "fail"

    def test_the_default_minimum_is_95(self):
        assert evaluated(cell("a", "POS", 1, 20, n_errors=1)).status == "pass"
        assert evaluated(cell("a", "POS", 1, 19, n_errors=1)).status == "fail"

    def test_a_planned_model_that_never_ran_fails(self):
        gate = evaluated(model("a", 8, 8), planned={("exact_count", "b"): 20}, max_gap="50")
        assert gate.status == "fail"
        assert statuses(gate)["coverage", "b"] == "fail"
        assert statuses(gate)["gap", "b"] == "not_evaluated"
        assert [c.reason for c in gate.checks if (c.model, c.metric) == ("b", "gap")] == ["no scored rows"]

    def test_coverage_says_once_that_a_named_model_never_ran(self):
        planned = {("exact_count", "b"): 20}
        gate = evaluated(model("a", 8, 8), planned=planned, expected_models=["a", "b"])
        assert [(c.model, c.metric, c.status) for c in gate.checks] == [
            ("a", "coverage", "pass"),
            ("b", "coverage", "fail"),
        ]


class TestFloor:
    def test_a_broken_model_cannot_slip_through(self):
        rows = model("a", 8, 8, 8) + floor_model("broken")
        gate = evaluated(rows, max_gap="20", min_worst="10", min_mean="10")
        assert gate.status == "fail"
        found = statuses(gate)
        assert found["worst", "broken"] == found["mean", "broken"] == "fail"
        assert found["gap", "broken"] == "not_evaluated"
        assert found["coverage", "broken"] == "pass"

    def test_its_gap_of_nothing_is_no_pass(self):
        gate = evaluated(floor_model("broken"), max_gap="20")
        assert gate.status == "not_evaluated"
        check = next(check for check in gate.checks if check.metric == "gap")
        assert check.reason == "the model is in the floor regime, where a gap means nothing"
        assert check.value is None

    def test_a_model_excluded_by_name_is_not_checked(self):
        rows = model("a", 8, 8, 8) + floor_model("broken")
        gate = evaluated(
            rows, exclude=["broken"], expected_models=["a", "broken"], max_gap="20", min_worst="10"
        )
        assert gate.status == "pass"
        assert {check.model for check in gate.checks} == {"a"}
        others = evaluated(model("a", 8, 1) + model("b", 8, 8), exclude=["a"], max_gap="20")
        assert statuses(others) == {("coverage", "b"): "pass", ("gap", "b"): "pass"}


class TestRanking:
    # a 9, b 6, c 3 under POS; a 5, b 8, c 2 under NEG: one of three pairs reversed, tau 1/3, shift 1.
    ROWS = (*model("a", 9, 5, 9), *model("b", 6, 8, 6), *model("c", 3, 2, 3))

    @pytest.mark.parametrize(
        ("limits", "status"),
        [
            ({"max_reversal": "33.333334"}, "pass"),
            ({"max_reversal": "33.333333"}, "fail"),
            ({"min_tau": "0.33"}, "pass"),
            ({"min_tau": "0.34"}, "fail"),
            ({"max_rank_shift": "1"}, "pass"),
            ({"max_rank_shift": "0.5"}, "fail"),
        ],
    )
    def test_limits(self, limits, status):
        gate = evaluated(self.ROWS, **limits)
        assert gate.status == status
        ranking = [check for check in gate.checks if check.metric != "coverage"]
        assert [(check.form, check.model) for check in ranking] == [("NEG", None), ("CNEG", None)]
        assert [check.status for check in ranking] == [status, "pass"]

    @pytest.mark.parametrize(
        ("limits", "reason"),
        [
            ({"max_reversal": "30"}, "reversal rate under NEG 33.3, asked for at most 30.0"),
            ({"min_tau": "0.34"}, "tau-b under NEG 0.33, asked for at least 0.34"),
            ({"max_rank_shift": "0.5"}, "largest rank shift under NEG 1.0, asked for at most 0.5"),
        ],
    )
    def test_it_is_told_in_the_unit_of_its_limit(self, limits, reason):
        gate = evaluated(self.ROWS, **limits)
        assert [check.reason for check in gate.checks if check.form == "NEG"] == [reason]

    def test_equal_orders_meet_a_tau_of_one(self):
        rows = model("a", 9, 8) + model("b", 9, 8) + model("c", 3, 2) + model("d", 1, 1)
        assert evaluated(rows, min_tau="1").status == "pass"

    def test_a_tau_of_exactly_a_decimal_limit_passes(self):
        # Five models, two of ten pairs reversed: tau is 0.6, and float(0.6) is not 3/5.
        rows = [
            row
            for name, pair in zip("abcde", [(9, 8), (8, 9), (7, 6), (6, 7), (5, 5)], strict=True)
            for row in model(name, *pair)
        ]
        gate = evaluated(rows, min_tau="0.6")
        assert [check.value for check in gate.checks if check.metric == "tau_b"] == [0.6]
        assert gate.status == "pass"

    def test_one_model_in_the_audit(self):
        gate = evaluated(model("a", 8, 8), max_reversal="50", min_tau="0", max_rank_shift="9")
        assert gate.status == "not_evaluated"
        found = [check for check in gate.checks if check.metric != "coverage"]
        assert [check.metric for check in found] == ["reversal", "tau_b", "max_rank_shift"]
        assert all(check.reason == "a ranking needs two models" for check in found)

    def test_a_panel_that_cannot_be_ranked_stops_no_other(self):
        unranked = model("a", 8) + model("b", 7)
        ranked = model("a", 8, 5, panel="keyword_once") + model("b", 7, 4, panel="keyword_once")
        gate = evaluated(unranked + ranked, max_reversal="0")
        assert [(c.panel, c.form, c.status) for c in gate.checks if c.metric == "reversal"] == [
            ("exact_count", None, "not_evaluated"),
            ("keyword_once", "NEG", "pass"),
        ]

    def test_one_primary_model_in_a_panel(self):
        gate = evaluated(model("a", 8, 8, 8) + floor_model("b"), max_reversal="50")
        check = gate.checks[-1]
        assert (check.metric, check.status) == ("reversal", "not_evaluated")
        assert check.reason == "a ranking needs two primary models, and this panel has 1"

    @pytest.mark.parametrize(
        ("rows", "reason"),
        [
            (
                model("a", 8, 7, forms=("NEG", "CNEG")) + model("b", 7, 8, forms=("NEG", "CNEG")),
                "no scored row of the reference form POS",
            ),
            (
                [row for name in "ab" for row in cell(name, "POS", 0, n_errors=10)],
                "no scored row of the reference form POS",
            ),
            (model("a", 8) + model("b", 7), "there is no form but the reference form POS"),
            (model("a", 8, 5) + model("b", 8, 4), "all models are tied under the reference form"),
            (model("a", 8, 5) + model("b", 7, 4) + model("c", 6), "cannot be ranked: c"),
            (
                model("a", 8, 5) + model("b", 7, 4) + model("c", 6) + model("d", 5),
                "cannot be ranked: c, d",
            ),
        ],
    )
    def test_what_cannot_be_computed_is_not_evaluated(self, rows, reason):
        gate = evaluated(rows, max_reversal="100", min_coverage="0")
        assert gate.status == "not_evaluated"
        assert gate.checks[-1].reason == reason


class TestNotEvaluated:
    def test_a_model_without_one_of_the_forms(self):
        gate = evaluated(model("a", 8, 8) + model("b", 8), max_gap="20", min_worst="10", min_coverage="0")
        assert gate.status == "not_evaluated"
        checks = {check.metric: check for check in gate.checks if check.model == "b"}
        assert checks["coverage"].status == "pass"
        assert checks["gap"].status == checks["worst"].status == "not_evaluated"
        assert checks["gap"].reason == "no scored rows under NEG"
        gate = evaluated(model("a", 8, 8, 8) + model("b", 8), min_mean="10", min_coverage="0")
        assert gate.checks[-1].reason == "no scored rows under NEG, CNEG"

    def test_one_form_has_no_gap(self):
        gate = evaluated(model("a", 8), max_gap="20")
        assert gate.status == "not_evaluated"
        assert gate.checks[-1].reason == "a gap needs two forms"

    def test_a_failure_goes_before_what_is_open(self):
        assert evaluated(model("a", 8), max_gap="20", min_worst="90").status == "fail"

    def test_nothing_at_all(self):
        gate = evaluated([], max_gap="20")
        assert (gate.status, gate.checks, gate.reason) == ("not_evaluated", (), "nothing was evaluated")

    def test_a_limit_of_rankings_is_open_where_there_is_no_panel(self):
        gate = evaluated([], max_reversal="50")
        assert [(c.panel, c.metric, c.reason) for c in gate.checks] == [
            (None, "reversal", "a ranking needs two models")
        ]
        assert (gate.status, gate.reason) == ("not_evaluated", "1 of 1 checks could not be evaluated")

    def test_everything_excluded(self):
        gate = evaluated(model("a", 8, 8), exclude=["a"], max_gap="20")
        assert (gate.status, gate.reason) == ("not_evaluated", "nothing was evaluated")

    def test_a_model_that_was_named_and_has_no_row(self):
        gate = evaluated(model("a", 8, 8), expected_models=["a", "b"], max_gap="20")
        assert gate.status == "not_evaluated"
        check = gate.checks[0]
        assert (check.model, check.panel, check.status) == ("b", None, "not_evaluated")
        assert check.reason == "no panel has a scored row of b"

    def test_a_minimum_of_zero_says_nothing_of_a_named_model_that_never_ran(self):
        planned = {("exact_count", "b"): 20}
        gate = evaluated(model("a", 8, 8), planned=planned, expected_models=["a", "b"], min_coverage="0")
        assert gate.status == "not_evaluated"
        assert gate.checks[0].reason == "no panel has a scored row of b"

    def test_it_is_told_without_a_limit_for_coverage_too(self):
        audit = build_audit(model("a", 8, 8))
        gate = evaluate_gate(audit, GateRules(Thresholds(min_coverage=None)), expected_models=["b"])
        assert [(c.metric, c.model, c.limit, c.rule, c.reason) for c in gate.checks] == [
            ("coverage", "b", 0, "everywhere", "no panel has a scored row of b")
        ]

    def test_a_model_that_was_named_and_excluded_need_not_have_rows(self):
        gate = evaluated(model("a", 8, 8), exclude=["b"], expected_models=["a", "b"], max_gap="20")
        assert gate.status == "pass"

    def test_a_model_with_a_row_somewhere_is_not_absent(self):
        rows = model("a", 8, 8) + model("b", 8, 8, panel="keyword_once")
        assert evaluated(rows, expected_models=["a", "b"], max_gap="20").status == "pass"

    def test_a_partial_run_never_passes(self):
        partial = "partial: 3 of 8 cells"
        gate = evaluated(model("a", 8, 8), partial=partial, max_gap="20")
        assert (gate.status, gate.reason) == ("not_evaluated", partial)
        assert {check.status for check in gate.checks} == {"pass"}
        gate = evaluated(model("a", 8, 1), partial=partial, max_gap="20")
        assert (gate.status, gate.reason) == ("fail", f"1 of 2 checks failed; {partial}")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("20", "--wise-max-gap", Fraction(20)),
        (" 2.5 ", "--wise-min-worst", Fraction(5, 2)),
        ("0.1", "max_gap", Fraction(1, 10)),
        (".5", "wise_min_mean", Fraction(1, 2)),
        ("100", "--wise-min-coverage", Fraction(100)),
        ("0", "--wise-max-gap", Fraction(0)),
        ("-1", "--wise-min-tau", Fraction(-1)),
        ("1", "pyproject.toml: [tool.wise.gate] min_tau", Fraction(1)),
        ("+0.25", "min_tau", Fraction(1, 4)),
        ("0", "wise_max_rank_shift", Fraction(0)),
        ("250", "--wise-max-rank-shift", Fraction(250)),
    ],
)
def test_thresholds_are_read_exactly(text, name, value):
    assert parse_threshold(text, name) == value


@pytest.mark.parametrize(
    ("text", "name", "low_to_high"),
    [
        *(
            (text, "--wise-max-gap", "0 to 100")
            for text in ("abc", "", "nan", "NaN", "inf", "-inf", "1_0", "20%", "1e1", "٢٠")
        ),
        ("1e999999999", "--wise-max-gap", "0 to 100"),
        ("-0.1", "--wise-max-gap", "0 to 100"),
        ("100.1", "--wise-min-coverage", "0 to 100"),
        ("1.01", "--wise-min-tau", "-1 to 1"),
        ("-1.01", "wise_min_tau", "-1 to 1"),
        ("-1", "--wise-max-rank-shift", "0"),
    ],
)
def test_what_is_no_threshold_names_the_option_the_value_and_the_range(text, name, low_to_high):
    with pytest.raises(OptionError) as caught:
        parse_threshold(text, name)
    assert str(caught.value) == f"{name}: must be a number from {low_to_high}, not {text!r}"

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.unit.test_gate_evaluation import cell, model, thresholds
from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.judging import Question
from wise_pytest.audit.rules import (
    NO_TABLE,
    GateRules,
    Limit,
    Rule,
    Thresholds,
    parse_mode,
    read_gate_table,
)
from wise_pytest.errors import OptionError
from wise_pytest.options import GATE_OPTIONS
from wise_pytest.report.facts import gate_verdict
from wise_pytest.report.html.page import render_page
from wise_pytest.report.markdown import render_markdown
from wise_pytest.report.terminal import summary_lines
from wise_pytest.settings import gate_rules
from wise_pytest.stats.rates import Interval

KNOWN = {"panels": ["exact_count", "keyword_once"], "models": ["a", "b"]}


def table(text: str):
    found = read_gate_table(tomllib.loads(text), where="pyproject.toml", **KNOWN)
    return GateRules(Thresholds(**found.everywhere), found.scoped, found.mode or "point")


RULES = table(
    """
    max_gap = 20
    min_mean = 0.1
    [panels.exact_count]
    max_gap = 30
    max_reversal = 5
    [models.a]
    max_gap = "12.5"
    min_worst = 40
    [models.a.panels.exact_count]
    max_gap = 50
    [models.b]
    min_mean = false
    """
)


@pytest.mark.parametrize(
    ("name", "scope", "value", "rule"),
    [
        ("max_gap", {"panel": "exact_count", "model": "a"}, 50, "model a, panel exact_count"),
        ("max_gap", {"panel": "keyword_once", "model": "a"}, Fraction("12.5"), "model a"),
        ("max_gap", {"panel": "exact_count", "model": "b"}, 30, "panel exact_count"),
        ("max_gap", {"panel": "keyword_once", "model": "b"}, 20, "everywhere"),
        ("min_worst", {"panel": "exact_count", "model": "a"}, 40, "model a"),
        ("min_mean", {"panel": "exact_count", "model": "a"}, Fraction(1, 10), "everywhere"),
        ("max_reversal", {"panel": "exact_count"}, 5, "panel exact_count"),
        ("min_coverage", {"panel": "exact_count", "model": "a"}, 95, "everywhere"),
    ],
)
def test_the_most_specific_rule_wins(name, scope, value, rule):
    assert RULES.limit(name, **scope) == Limit(Fraction(value), rule)


def test_a_rule_may_lift_a_limit():
    assert RULES.limit("min_mean", panel="exact_count", model="b") is None
    assert RULES.limit("min_worst", panel="exact_count", model="b") is None


def test_the_report_says_which_rule_decided():
    rows = model("a", 9, 5) + model("b", 9, 5)
    audit = build_audit(rows)
    gate = evaluate_gate(audit, RULES)
    gaps = {check.model: check for check in gate.checks if check.metric == "gap"}
    assert (gaps["a"].status, gaps["a"].rule) == ("pass", "model a, panel exact_count")
    assert (gaps["b"].status, gaps["b"].rule) == ("fail", "panel exact_count")
    document = to_document(audit, gate)
    assert "gap 40.0 > 30.0 for model b in exact_count (rule of panel exact_count)" in render_markdown(
        document
    )
    assert any("(rule of panel exact_count)" in line.text for line in summary_lines(document))
    assert "| Rule" in render_markdown(document)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_gapp = 3", "]: there is no 'max_gapp'; it takes max_gap, min_worst, "),
        ("max_gap = 101", "] max_gap: must be a number from 0 to 100, not '101'"),
        ("max_gap = true", "] max_gap: must be a number, or false for no limit, not True"),
        ("max_gap = [3]", "] max_gap: must be a number, or false for no limit, not [3]"),
        ("max_gap = nan", "] max_gap: must be a number from 0 to 100, not 'nan'"),
        ("min_tau = 2", "] min_tau: must be a number from -1 to 1, not '2'"),
        ('mode = "sure"', "] mode: must be point or confident, not 'sure'"),
        ("panels = 3", "] panels: must be a table of panels by name, not 3"),
        ("models = 3", "] models: must be a table of models by name, not 3"),
        (
            "[panels.exactcount]\nmax_gap = 3",
            "] panels: unknown panel 'exactcount' (known: exact_count, ",
        ),
        ("[panels.exact_count]\nmode = 'point'", "] panels.exact_count: there is no 'mode'"),
        ("[models.c]\nmax_gap = 3", "] models: unknown model 'c'"),
        # What all models come to together, none of them can hold.
        ("[models.a]\nmax_reversal = 3", ".models.a]: there is no 'max_reversal'"),
        ("[models.a]\nmin_tau = 0", ".models.a]: there is no 'min_tau'"),
        ("[models.a]\nmax_rank_shift = 3", ".models.a]: there is no 'max_rank_shift'"),
        ("[models.a.panels.other]\nmax_gap = 3", ".models.a] panels: unknown panel 'other'"),
        ("[models]\na = 3", ".models.a]: must be a table, not 3"),
    ],
)
def test_what_is_no_rule_is_named(text, said):
    with pytest.raises(OptionError) as caught:
        table(text)
    assert str(caught.value).startswith(f"pyproject.toml: [tool.wise.gate{said}")


def test_there_are_two_modes():
    assert GateRules().mode == "point"
    rules = table('mode = "confident"\nmax_gap = 3')
    assert (rules.mode, rules.everywhere.max_gap) == ("confident", 3)
    assert parse_mode("confident", "--wise-gate") == "confident"
    with pytest.raises(OptionError, match="--wise-gate: must be point or confident, not 'Point'"):
        parse_mode("Point", "--wise-gate")


class TestConfident:
    """Ten items, each form's rate known exactly; intervals from the rows themselves."""

    @pytest.mark.parametrize(
        ("metric", "limit", "interval", "value", "status"),
        [
            ("gap", "0.2", (0.25, 0.35), Fraction("0.3"), "fail"),
            ("gap", "0.2", (0.15, 0.35), Fraction("0.3"), "inconclusive"),
            ("gap", "0.2", (0.15, 0.35), Fraction("0.19"), "inconclusive"),
            ("gap", "0.2", (0.05, 0.20), Fraction("0.1"), "pass"),
            ("gap", "0.2", (0.20, 0.35), Fraction("0.3"), "inconclusive"),  # the limit itself is not beyond
            # A gap's interval leans upwards: beyond the limit, while the gap itself is not; and the converse.
            ("gap", "0.2", (0.25, 0.35), Fraction("0.2"), "inconclusive"),
            ("gap", "0.2", (0.05, 0.15), Fraction("0.3"), "inconclusive"),
            ("worst", "0.5", (0.3, 0.49), Fraction("0.4"), "fail"),
            ("worst", "0.5", (0.3, 0.50), Fraction("0.4"), "inconclusive"),
            ("mean", "0.5", (0.5, 0.7), Fraction("0.6"), "pass"),
            ("form_drop", "0.05", (0.06, 0.2), Fraction("0.1"), "fail"),
            ("form_drop", "0.05", (-0.1, 0.02), Fraction("-0.05"), "pass"),
            # Without width at the limit itself: floating point decides nothing.
            ("gap", "0.1", (0.8 - 0.7, 0.8 - 0.7), Fraction("0.1"), "pass"),
            # A ranking's interval and its mirror image: [0.1, 0.4] about 0.2 reaches down to 0.
            ("reversal", "0.05", (0.1, 0.4), Fraction("0.2"), "inconclusive"),
            ("reversal", "0.05", (0.1, 0.22), Fraction("0.2"), "fail"),
            ("tau_b", "0.5", (0.2, 0.4), 0.4, "inconclusive"),
            ("tau_b", "0.7", (0.2, 0.4), 0.4, "fail"),
            ("max_rank_shift", "1", (2.0, 4.0), Fraction(3), "fail"),
        ],
    )
    def test_the_whole_interval_decides(self, metric, limit, interval, value, status):
        question = Question(metric, Fraction(limit), "everywhere", "confident")
        assert question.answer(value, Interval(*interval)).status == status

    @pytest.mark.parametrize(
        ("metric", "interval", "value", "judged"),
        [
            # Beyond [-1, 1], [0, 1] and [0, ∞) there is no tau, no share and no shift.
            ("tau_b", (-1, -0.5), -0.8, (-1, -0.5)),  # mirrored: down to -1.1
            ("tau_b", (0.5, 1), 0.8, (0.5, 1)),  # up to 1.1
            ("tau_b", (0, 0.5), 0.375, (0, 0.75)),
            ("reversal", (0.0625, 0.5), 0.125, (0, 0.5)),  # down to -0.25
            ("reversal", (0.5, 0.9375), 0.875, (0.5, 1)),  # up to 1.25
            ("max_rank_shift", (1, 4), 1, (0, 4)),  # down to -2
            ("max_rank_shift", (1, 4), 3, (1, 5)),
            ("gap", (0.0625, 0.5), 0.125, (0.0625, 0.5)),  # no ranking: as it is
        ],
    )
    def test_a_ranking_is_judged_by_its_interval_and_the_mirror_image(self, metric, interval, value, judged):
        question = Question(metric, Fraction(1, 2), "everywhere", "confident")
        assert question.answer(value, Interval(*interval)).interval == Interval(*judged)

    @pytest.mark.parametrize(
        ("metric", "interval", "value", "reason"),
        [
            ("gap", (0.05, 0.5), Fraction(1, 8), "gap 12.5 [5.0, 50.0], asked for at most 50.0"),
            ("tau_b", (0, 0.5), 0.375, "tau-b 0.4 [0.00, 0.75], asked for at least 0.5"),
        ],
    )
    def test_the_interval_is_told_in_points_or_as_it_is(self, metric, interval, value, reason):
        question = Question(metric, Fraction(1, 2), "everywhere", "confident")
        assert question.answer(value, Interval(*interval)).reason == reason

    def test_without_an_interval_nothing_is_judged(self):
        question = Question("gap", Fraction(1, 5), "everywhere", "confident")
        check = question.answer(Fraction(3, 5), None, why_none="nothing was resampled")
        assert check.status == "not_evaluated"
        assert "no interval to judge it by: nothing was resampled" in check.reason

    def test_coverage_has_no_interval_and_is_judged_as_it_is(self):
        question = Question("coverage", Fraction(95, 100), "everywhere", "confident")
        assert question.answer(Fraction(94, 100)).status == "fail"

    def confident(self, rows, **limits):
        audit = build_audit(rows)
        gate = evaluate_gate(audit, GateRules(thresholds(**limits), mode="confident"))
        return gate, to_document(audit, gate)

    def test_a_gap_that_is_unclear_fails_nothing_and_is_told(self):
        """9 against 6 of 10: a gap of 30 with an interval of about 0 to 60."""
        gate, document = self.confident(model("a", 9, 6), max_gap="20")
        assert gate.status == "pass"
        check = gate.checks[-1]
        assert (check.metric, check.status) == ("gap", "inconclusive")
        shown = document["panels"]["exact_count"]["by_model"]["a"]["summary"]
        assert check.interval.low == min(shown["gap_ci"][0], shown["gap_bounds"][0])
        assert check.interval.high == max(shown["gap_ci"][1], shown["gap_bounds"][1])
        assert shown["gap_bounds"][1] > shown["gap_ci"][1]  # so that it makes a difference
        assert gate_verdict(document).sentence == "PASS: 1 check (coverage), 1 inconclusive"
        assert "inconclusive: gap 30.0 [" in "\n".join(line.text for line in summary_lines(document))
        assert "Inconclusive, since the interval lies on both sides of the limit" in render_markdown(document)
        assert document["gate"]["mode"] == "confident"

    def test_a_gap_that_is_clear_fails(self):
        rows = cell("a", "POS", 190, 200) + cell("a", "NEG", 60, 200)
        gate, document = self.confident(rows, max_gap="20")
        assert gate.status == "fail"
        assert document["gate"]["checks"][-1]["interval"][0] > 0.2

    def test_all_or_none_is_not_certainty(self):
        """10 of 10 and 0 of 10: resampling gives nothing but a gap of 100, and ten items cannot know that."""
        rows = model("a", 10, 0)
        assert self.confident(rows, max_gap="90")[0].checks[-1].status == "inconclusive"
        assert self.confident(rows, max_gap="20")[0].checks[-1].status == "fail"
        assert self.confident(model("a", 10, 10), min_mean="90")[0].checks[-1].status == "inconclusive"
        assert self.confident(model("a", 10, 10), min_mean="50")[0].checks[-1].status == "pass"
        # Wilson's interval of 0 of 10 reaches up to z² / (10 + z²), 27.75 points; so does the mean of two.
        none = self.confident(model("a", 0, 0), min_mean="28")[0].checks[-1]
        assert (none.status, none.interval.low) == ("fail", 0)
        assert none.interval.high == pytest.approx(0.277533, abs=1e-6)
        assert self.confident(model("a", 0, 0), min_mean="27")[0].checks[-1].status == "inconclusive"

    def test_a_mean_is_judged_by_the_interval_that_is_shown(self):
        gate, document = self.confident(model("a", 9, 6), min_mean="40")
        shown = document["panels"]["exact_count"]["by_model"]["a"]["summary"]["mean_ci"]
        found = gate.checks[-1].interval
        assert [found.low, found.high] == shown

    def test_one_item_cannot_be_judged(self):
        gate, _ = self.confident(cell("a", "POS", 1, 1) + cell("a", "NEG", 0, 1), max_gap="20")
        assert gate.status == "not_evaluated"
        assert gate.checks[-1].reason == "no interval to judge it by: fewer than two items to resample"

    def test_without_replicates_it_cannot_either(self):
        audit = build_audit(model("a", 9, 6), replicates=0)
        gate = evaluate_gate(audit, GateRules(thresholds(max_gap="20"), mode="confident"))
        assert gate.status == "not_evaluated"
        assert gate.checks[-1].reason == "no interval to judge it by: nothing was resampled"

    # Of 200 items 180, 100 and 20 comply, the same ones first: no draw of items brings two models together.
    KEPT = tuple(row for name, n in (("a", 180), ("b", 100), ("c", 20)) for row in model(name, n, n, n=200))
    TURNED = tuple(
        row for name, n in (("a", 180), ("b", 100), ("c", 20)) for row in model(name, n, 200 - n, n=200)
    )

    @pytest.mark.parametrize(
        ("rows", "metric", "limit", "status", "bounds"),
        [
            (KEPT, "max_reversal", "0", "pass", (0, 0)),
            (TURNED, "max_reversal", "99", "fail", (1, 1)),
            (KEPT, "min_tau", "1", "pass", (1, 1)),
            (TURNED, "min_tau", "-0.9", "fail", (-1, -1)),
            (KEPT, "max_rank_shift", "0", "pass", (0, 0)),
            (TURNED, "max_rank_shift", "1.9", "fail", (2, 2)),
        ],
    )
    def test_a_ranking_that_is_clear(self, rows, metric, limit, status, bounds):
        gate, _ = self.confident(rows, **{metric: limit})
        check = gate.checks[-1]
        assert (check.form, check.status, check.interval) == ("NEG", status, Interval(*bounds))
        unsampled = build_audit(rows, replicates=0)
        rules = GateRules(thresholds(**{metric: limit}), mode="confident")
        check = evaluate_gate(unsampled, rules).checks[-1]
        assert (check.status, check.reason) == (
            "not_evaluated",
            "no interval to judge it by: nothing was resampled",
        )


def test_a_shard_is_judged_by_its_coverage():
    audit = build_audit(model("a", 9, 1))
    gate = evaluate_gate(audit, GateRules(thresholds(max_gap="20")), shard="shard 1 of 2")
    assert (gate.status, [check.metric for check in gate.checks]) == ("pass", ["coverage"])
    # Without limits a shard is no complete run either, and every report says so.
    gate = evaluate_gate(audit, GateRules(), shard="shard 1 of 2")
    said = "shard 1 of 2: its coverage alone is judged; wise audit judges all shards together"
    assert gate.deferred == said
    document = to_document(audit, gate)
    assert said in "\n".join(line.text for line in summary_lines(document))
    assert said in render_markdown(document)
    assert said in render_page(document).partition("What was run</h2>")[0]


@pytest.mark.parametrize("metric", ["max_reversal", "min_tau", "max_rank_shift"])
def test_a_ranking_limit_of_a_panel_is_open_where_there_is_one_model(metric):
    rules = GateRules(scoped=(Rule("exact_count", None, {metric: Fraction(1)}),))
    gate = evaluate_gate(build_audit(model("a", 9, 9)), rules)
    assert gate.status == "not_evaluated"
    assert (gate.checks[-1].panel, gate.checks[-1].rule) == ("exact_count", "panel exact_count")
    assert gate.checks[-1].reason == "a ranking needs two models"


def test_a_limit_for_everywhere_is_left_open_once():
    rows = model("a", 9, 9) + model("a", 9, 9, panel="keyword_once")
    gate = evaluate_gate(build_audit(rows), GateRules(thresholds(min_tau="0.5")))
    assert [check.metric for check in gate.checks].count("tau_b") == 1


def noted(rows, text: str, *, exclude=(), **given: str):
    """The notes of a gate, as the terminal, the markdown and the page say them, too."""
    rules = table(text)
    everywhere = replace(rules.everywhere, **{n: Fraction(t.rpartition(" ")[2]) for n, t in given.items()})
    audit = build_audit(rows, exclude=exclude)
    gate = evaluate_gate(audit, replace(rules, everywhere=everywhere, given=given))
    document = to_document(audit, gate)
    for note in gate.notes:
        assert f"  note: {note}" in [line.text for line in summary_lines(document)]
        assert "Notes on the rules:" in render_markdown(document)
        assert "Notes on the rules:" in render_page(document)
    return gate


def test_a_rule_without_rows_is_told_and_fails_nothing():
    gate = noted(model("a", 9, 9), "[panels.keyword_once]\nmax_gap = 1")
    assert (gate.status, gate.notes) == ("pass", ("rule of panel keyword_once: no rows of it",))
    gate = noted(
        model("a", 9, 9),
        """
        [panels.exact_count]
        max_gap = 100
        [models.b]
        max_gap = 1
        [models.a.panels.keyword_once]
        max_gap = 1
        """,
    )
    assert gate.notes == ("rules of model b; model a, panel keyword_once: no rows of them",)
    # A rule that only lifts limits asks for nothing.
    assert noted(model("a", 9, 9), "[models.b]\nmax_gap = false").notes == ()
    gate = noted(model("a", 9, 9), "[models.b]\nmax_gap = false\nmin_worst = 5")
    assert gate.notes == ("rule of model b: no rows of it",)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("[models.a]\nmax_gap = 80", "rule of model a (80) goes before it"),
        ("[models.a]\nmax_gap = false", "rule of model a (no limit) goes before it"),
        ("[panels.exact_count]\nmax_gap = 80", "rule of panel exact_count (80) goes before it"),
    ],
)
def test_an_option_that_decides_nothing_is_told(text, note):
    gate = noted(model("a", 9, 5), text, max_gap="--wise-max-gap 5")
    assert gate.notes == (f"--wise-max-gap 5 decided nothing: {note}",)
    # Where it decides for another model, it is not idle.
    if "models" in text:
        assert noted(model("a", 9, 5) + model("b", 9, 9), text, max_gap="--wise-max-gap 5").notes == ()


GAP, WORST = {"max_gap": "--wise-max-gap 5"}, {"min_worst": "--wise-min-worst 10"}
REVERSAL = {"max_reversal": "--wise-max-reversal 5"}


@pytest.mark.parametrize(
    ("text", "exclude", "given", "told"),
    [
        (
            "[models.a]\nmax_gap = 80\n[models.b]\nmax_gap = 70",
            (),
            GAP,
            "rules of model a (80), model b (70) go before it",
        ),
        (
            "[panels.exact_count]\nmax_gap = 80\n[panels.keyword_once]\nmax_gap = false",
            (),
            WORST | GAP,  # the first decides, and the second is looked at all the same
            "rules of panel exact_count (80), panel keyword_once (no limit) go before it",
        ),
        ("[models.a]\nmax_gap = 80", ("b",), GAP, "rule of model a (80) goes before it"),
        ("", ("a", "b"), GAP, None),  # without a model no rule goes before it
        ("[panels.exact_count]\nmax_reversal = 80", (), REVERSAL, None),  # it decides for the other panel
    ],
)
def test_which_options_decide_nothing(text, exclude, given, told):
    rows = [row for panel in KNOWN["panels"] for name in "ab" for row in model(name, 9, 5, panel=panel)]
    notes = () if told is None else (f"--wise-max-gap 5 decided nothing: {told}",)
    assert noted(rows, text, exclude=exclude, **given).notes == notes


def test_an_option_is_kept_as_it_was_written():
    values = dict.fromkeys((*GATE_OPTIONS, "gate")) | {"max-gap": "5"}
    rules = gate_rules(values, NO_TABLE, prefix="wise-", baseline=False)
    assert rules.given == {"max_gap": "--wise-max-gap 5"}
    assert rules == GateRules(Thresholds(max_gap=Fraction(5)))  # however it was written, it asks for the same


def test_a_limit_that_looks_like_a_rate_is_told():
    text = "min_coverage = 0.9\n[models.a]\nmin_worst = 0.5"
    gate = noted(model("a", 9, 9), text, min_mean="--wise-min-mean 0.8")
    assert gate.notes == (
        "min_worst = 0.5 of model a is 0.5 percentage points, not 50",
        "--wise-min-mean 0.8 is 0.8 percentage points, not 80",
        "min_coverage = 0.9 is 0.9 percentage points, not 90",
    )
    assert (
        noted(model("a", 9, 9), "min_mean = 1\nmin_worst = 0\nmax_gap = 0.5\nmin_coverage = 80").notes == ()
    )


def test_wider_bounds_are_told_beside_the_gate_table():
    rows = cell("a", "POS", 190, 200) + cell("a", "NEG", 60, 200)
    for mode, told in (("confident", True), ("point", False)):
        audit = build_audit(rows)
        gate = evaluate_gate(audit, GateRules(thresholds(max_gap="20"), mode=mode))
        document = to_document(audit, gate)
        said = "judged by wider bounds than the intervals shown in the tables"
        assert (said in render_markdown(document)) is told
        assert (said in render_page(document)) is told


def test_a_limit_of_a_comparison_needs_one():
    rules = GateRules(thresholds(max_form_drop="5"))
    assert rules.compares
    gate = evaluate_gate(build_audit(model("a", 9, 9)), rules)
    assert gate.status == "not_evaluated"
    assert gate.checks[-1].reason == "no baseline was given"
    why = "a partial run is compared with nothing"
    gate = evaluate_gate(build_audit(model("a", 9, 9)), rules, why_no_comparison=why)
    assert gate.checks[-1].reason == why
    assert GateRules(scoped=(Rule("p", None, {"max_gap_increase": Fraction(1)}),)).compares
    assert not GateRules(scoped=(Rule("p", None, {"max_gap_increase": None}),)).compares

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.baseline import AuditSide, Side, read_baseline, save_baseline
from wise_pytest.audit.comparison import NO_CELLS, Asked, compare
from wise_pytest.audit.comparison_document import comparison_document
from wise_pytest.audit.conditions import Condition
from wise_pytest.audit.document import dump, to_document
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.rules import GateRules, Rule, Thresholds
from wise_pytest.audit.table import table_of
from wise_pytest.errors import OptionError, RowsError
from wise_pytest.records import Row
from wise_pytest.report.comparison import comparison_lines
from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.markdown import render_markdown

PANEL = "exact_count"
DECODING = {"max_tokens": 120, "temperature": 0.2}


def rows(model: str = "m", *, n_items: int = 20, lost: int = 0, forms=("POS", "NEG"), **changes: Any):
    """Every second cell complies; of NEG's, the first ``lost`` items comply nowhere."""
    made = []
    for item in range(n_items):
        for form in forms:
            for repetition in (1, 2, 3):
                complies = (item + repetition) % 2 == 0 and not (form == "NEG" and item < lost)
                made.append(
                    Row(
                        panel=PANEL,
                        model=model,
                        provider="lab",
                        item=f"i{item:03}",
                        form=form,
                        repetition=repetition,
                        target=5,
                        prompt=f"{item} {form}",
                        text="one two three four five" if complies else "one",
                        compliant=complies,
                        verifier="word_count/1",
                        request_digest="d" * 64,
                        run="r1",
                        **changes,
                    )
                )
    return made


def side(given, *, decoding: Any = DECODING, digest: str | None = "a" * 64, model: str = "m") -> Side:
    return Side(table_of(given), {(PANEL, model): Condition(digest, decoding)}, "rows")


def asked(**how: Any) -> Asked:
    return Asked(replicates=400, seed=0, **how)


def one(before, after, **how: Any):
    (pair,) = compare(before, after, asked(**how)).pairs
    return pair


def test_which_form_got_worse_by_how_much_and_how_sure():
    pair = one(side(rows()), side(rows(lost=16)))
    assert pair.refused == ()
    assert (pair.n_paired, pair.n_only_before, pair.n_only_after) == (120, 0, 0)
    assert not pair.result.forms["POS"].changed
    change = pair.result.forms["NEG"]
    assert change.worse
    assert change.diff == Fraction(-24, 60)
    assert change.interval.high < 0
    # Items with one or with two compliant repetitions, all lost; named item by item.
    assert len(pair.flips) == 16
    assert (pair.flips[0].item, pair.flips[0].form, pair.flips[0].lost, pair.flips[0].gained) == (
        "i000",
        "NEG",
        (2,),
        (),
    )
    assert pair.flips[1].lost == (1, 3)


def test_a_run_against_itself_reports_nothing():
    pair = one(side(rows()), side(rows()[::-1]))
    assert pair.flips == ()
    assert not any(change.changed for change in pair.result.forms.values())


def test_a_version_that_nobody_wrote_down_is_said_unless_the_rows_tell_it():
    whole, bare = rows(), [replace(row, prompt=None, target=None) for row in rows()]
    assert one(side(whole, digest=None), side(whole)).notes == ()  # prompts, targets and verifiers are there
    for before, after, who in (
        (side(bare, digest=None), side(whole), "the baseline has"),
        (side(whole), side(bare, digest=None), "this run has"),
        (side(bare, digest=None), side(bare, digest=None), "the baseline and this run have"),
    ):
        pair = one(before, after)
        assert pair.refused == ()
        assert pair.notes == (f"the panel's version could not be checked: {who} no digest of it",)
    unverified = [replace(row, verifier=None) for row in whole]
    assert "could not be checked" in one(side(unverified, digest=None), side(whole)).notes[0]


def test_a_new_model_against_the_old_one_under_another_name():
    before, after = side(rows("old"), model="old"), side(rows("new", lost=16), model="new")
    assert compare(before, after, asked()).pairs == ()
    pair = one(before, after, models={"new": "old"})
    assert (pair.model, pair.baseline_model) == ("new", "old")
    assert pair.result.forms["NEG"].worse
    for models, said in (({"x": "old"}, "no model 'x' in the later run"), ({"new": "x"}, "in the baseline")):
        with pytest.raises(OptionError, match=said):
            compare(before, after, asked(models=models))


def test_what_one_side_alone_has_is_told():
    before = Side(table_of([*rows("a"), *rows("b")]), {}, "rows")
    after = Side(table_of([*rows("a"), *rows("c")]), {}, "rows")
    found = compare(before, after, asked())
    assert found.only_before == ((PANEL, "b"),)
    assert found.only_after == ((PANEL, "c"),)
    assert [pair.model for pair in found.pairs] == ["a"]


def changed(given, **changes: Any):
    return [replace(row, **changes) for row in given]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (side(rows(n_items=20)), side(rows(n_items=12)), "other items: 8 only in the baseline (i012, i013"),
        (side(rows(n_items=12)), side(rows(n_items=13)), "other items: 1 only in this run (i012)"),
        (
            side(rows()),
            side(rows(forms=("POS", "CNEG"))),
            "other forms: 1 only in the baseline (NEG), 1 only in",
        ),
        (
            side(rows()),
            side([row for row in rows() if row.repetition < 3]),
            "other repetitions: 1 only in the baseline (3)",
        ),
        (
            side(changed(rows(), verifier="word_count/0")),
            side(rows()),
            "other verifiers: word_count/0 before, word_count/1 now",
        ),
        (
            side(rows()),
            side(rows(), decoding={"max_tokens": 80, "temperature": None}),
            "other decoding settings: max_tokens 120 before, 80 now; temperature 0.2 before, not sent now",
        ),
        (side(rows()), side(rows(), digest="b" * 64), "another version of the panel"),
        (
            side(rows(), digest=None),
            side(changed(rows(), prompt="other"), digest=None),
            "other prompts or targets: 120 of 120 cells, such as item i000, form",
        ),
        (
            side(rows(), decoding=None),
            side(changed(rows(), request_digest="e" * 64)),
            "other requests for the same prompts, such as model m, panel exact_count",
        ),
    ],
    ids=[
        "fewer items",
        "more items",
        "forms",
        "repetitions",
        "verifier",
        "decoding",
        "panel",
        "prompts",
        "requests",
    ],
)
def test_another_baseline_is_refused_with_the_difference(before, after, said):
    pair = one(before, after)
    assert pair.result is None
    assert any(said in reason for reason in pair.refused), pair.refused
    document = {"comparison": comparison_document(compare(before, after, asked()))}
    text = "\n".join(line.text for line in comparison_lines(document))
    assert "not compared" in text
    assert said in text


def test_what_both_share_is_compared_if_asked():
    pair = one(
        side(rows(n_items=20)), side(rows(n_items=18, forms=("POS", "NEG", "CNEG"), lost=16)), shared=True
    )
    assert pair.n_paired == 18 * 2 * 3
    assert list(pair.result.forms) == ["POS", "NEG"]
    assert pair.result.forms["NEG"].worse
    assert (pair.n_only_before, pair.n_only_after) == (2 * 2 * 3, 18 * 3)
    assert any("other items" in note for note in pair.notes)
    assert any("other forms" in note for note in pair.notes)


def test_cells_that_asked_for_something_else_are_no_part_of_what_is_shared():
    after = [replace(row, prompt="other") if row.item == "i003" else row for row in rows()]
    pair = one(side(rows(), digest="b" * 64), side(after), shared=True)
    assert pair.n_paired == 114
    assert pair.result.n_items == 19


def test_other_decoding_is_never_shared_but_models_may_differ_in_it():
    other = {"max_tokens": 120, "temperature": None}
    assert one(side(rows()), side(rows(), decoding=other), shared=True).refused
    pair = one(
        side(rows("old"), model="old"), side(rows("new"), decoding=other, model="new"), models={"new": "old"}
    )
    assert pair.refused == ()
    assert any("temperature 0.2 before, not sent now" in note for note in pair.notes)


def test_a_cell_that_is_scored_on_one_side_only_is_no_pair_and_no_zero():
    after = rows()
    after[0] = replace(after[0], status="error", compliant=None, text=None)
    pair = one(side(rows()), side(after))
    assert (pair.n_paired, pair.n_only_before, pair.n_only_after) == (119, 1, 0)
    assert pair.result.forms["POS"].after.n == 59
    lost = one(side(rows()), side(changed(rows(), status="error", compliant=None)))
    assert lost.refused[0] == "no cell was scored in both runs"


def test_flips_of_the_verifier_are_no_flips_of_the_model():
    """An older verifier had called 30 failures compliant; the texts are the same."""
    before = [
        replace(row, verifier="word_count/0", compliant=True)
        if row.item < "i010"
        else replace(row, verifier="word_count/0")
        for row in rows()
    ]
    assert one(side(before), side(rows())).refused
    for how in ({"rescore": True}, {"shared": True}):
        pair = one(side(before, digest="b" * 64), side(rows()), **how)
        assert pair.refused == (), how
        assert pair.flips == ()
        assert (pair.verifier_flips.n_before, pair.verifier_flips.n_after) == (30, 0)
        assert pair.verifier_flips.versions == ("word_count/0 → word_count/1",)
        document = {"comparison": comparison_document(compare(side(before), side(rows()), asked(**how)))}
        text = "\n".join(line.text for line in comparison_lines(document))
        assert "30 verdicts of the earlier rows and 0 of these changed by the verifier alone" in text
    textless = [replace(row, text=None) for row in before]
    assert any(
        "other verifiers" in reason for reason in one(side(textless), side(rows()), shared=True).refused
    )


class TestSaved:
    def test_a_saved_baseline_is_compared_as_the_run_itself(self, tmp_path):
        path = tmp_path / "base.jsonl"
        assert save_baseline(side(rows()), path) == 120
        saved = read_baseline(path, {})
        assert isinstance(saved, Side)
        assert saved.condition(PANEL, "m") == Condition("a" * 64, DECODING)
        assert comparison_document(compare(saved, side(rows(lost=16)), asked())) == comparison_document(
            compare(side(rows()), side(rows(lost=16)), asked())
        )
        # What changes from run to run is not in it, and the order of rows is no matter.
        again = tmp_path / "again.jsonl"
        save_baseline(side(changed(rows(), run="r2", latency_s=3.5)[::-1]), again)
        assert again.read_bytes() == path.read_bytes()
        assert b"latency" not in path.read_bytes()

    def test_one_that_was_changed_or_cut_is_refused(self, tmp_path):
        path = tmp_path / "base.jsonl"
        save_baseline(side(rows()), path)
        text = path.read_text("ascii")
        lines = text.splitlines(keepends=True)
        for broken in ("".join(lines[:-1]), text.replace('"compliant":false', '"compliant":true', 1)):
            path.write_text(broken, "ascii")
            with pytest.raises(RowsError, match=r"base\.jsonl: is not what was saved"):
                read_baseline(path, {})

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", None),
            (b"{}\n", "'panel' must be"),
            (b'{\n "schema": "x"\n}\n', "schema 'x' is not 'wise.audit/1'"),
            (b'{\n "schema": "wise.audit/1"\n}\n', "is no audit that this version reads"),
            (b'{\n "schema"', "cannot be read"),
            (b'{"schema":"wise.baseline/1","n_rows":0}\n', "is not what was saved"),
            (b"\x00\xff", "is not UTF-8"),
        ],
    )
    def test_what_is_no_baseline_is_named(self, tmp_path, content, said):
        path = tmp_path / "x"
        path.write_bytes(content)
        if said is None:
            assert read_baseline(path, {}).pairs() == ()
            return
        with pytest.raises(RowsError) as caught:
            read_baseline(path, {})
        assert str(path) in str(caught.value)
        assert said in str(caught.value)

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(RowsError, match=r"none\.jsonl: cannot be read"):
            read_baseline(tmp_path / "none.jsonl", {})


class TestAnAuditAsBaseline:
    def written(self, tmp_path, given, **provenance):
        path = tmp_path / "audit.json"
        path.write_text(dump(to_document(build_audit(given, replicates=0, provenance=provenance))), "ascii")
        return read_baseline(path, {})

    def test_rates_are_compared_without_pairs(self, tmp_path):
        before = self.written(tmp_path, rows())
        assert isinstance(before, AuditSide)
        pair = one(before, side(rows(lost=16)))
        change = pair.result.forms["NEG"]
        assert (change.diff, change.interval, change.p_holm) == (Fraction(-24, 60), None, None)
        assert pair.why_no_intervals == NO_CELLS
        assert pair.result.gap.diff == Fraction(24, 60)

    @pytest.mark.parametrize(
        "layout",
        [
            {"separators": (",", ":")},
            {"separators": (",", ":"), "sort_keys": True},
            {"indent": 4},
            {"indent": 1, "sort_keys": True},
            {},
        ],
        ids=["one line", "one line, sorted", "indented", "indented, sorted", "one line with blanks"],
    )
    @pytest.mark.parametrize("before", ["", "\n ", "\ufeff"])
    def test_it_is_known_by_what_it_holds_and_not_by_its_layout(self, tmp_path, layout, before):
        written = self.written(tmp_path, rows())
        path = tmp_path / "other.json"
        path.write_text(before + json.dumps(written.document, **layout), "utf-8")
        found = read_baseline(path, {})
        assert isinstance(found, AuditSide)
        assert found.document == written.document

    def test_its_digest_and_its_forms_must_agree(self, tmp_path):
        before = self.written(tmp_path, rows(), panels={PANEL: "b" * 64})
        assert "another version of the panel" in one(before, side(rows())).refused[0]
        before = self.written(tmp_path, rows(forms=("POS",)))
        assert one(before, side(rows())).refused == (
            "the panel's version could not be checked: the baseline has no digest of it",
            "other forms: 1 only in this run (NEG)",
        )
        assert list(one(before, side(rows()), shared=True).result.forms) == ["POS"]
        before = self.written(tmp_path, rows(n_items=10))
        assert (
            "another number of scored cells: form POS has 30 before, 60 now"
            in one(before, side(rows())).refused
        )

    def test_the_gate_judges_it_by_its_values_and_never_with_confidence(self, tmp_path):
        before = self.written(tmp_path, rows())
        comparison = compare(before, side(rows(lost=16)), asked())
        audit = build_audit(rows(lost=16))
        limits = Thresholds(max_form_drop=Fraction(30))
        found = evaluate_gate(audit, GateRules(limits), comparison=comparison)
        assert {c.form: c.status for c in found.checks if c.metric == "form_drop"} == {
            "POS": "pass",
            "NEG": "fail",
        }
        sure = evaluate_gate(audit, GateRules(limits, mode="confident"), comparison=comparison)
        assert sure.status == "not_evaluated"


class TestGate:
    def gate(self, before, after, *, mode="point", shared=False, scoped=(), **limits):
        comparison = compare(before, after, asked(shared=shared))
        audit = build_audit(list(after.table.rows()), replicates=400)
        rules = GateRules(Thresholds(**{k: Fraction(v) for k, v in limits.items()}), scoped, mode=mode)
        gate = evaluate_gate(audit, rules, comparison=comparison)
        return gate, to_document(audit, gate, comparison)

    def test_drops_and_the_gap_are_limited_exactly(self):
        before, after = side(rows()), side(rows(lost=16))  # NEG 50 to 10, POS 50: gap 0 to 40
        assert self.gate(before, after, max_form_drop=40, max_gap_increase=40)[0].status == "pass"
        gate, document = self.gate(before, after, max_form_drop="39.9", max_gap_increase="39.9")
        assert gate.status == "fail"
        failed = [(check.metric, check.form) for check in gate.checks if check.status == "fail"]
        assert failed == [("gap_increase", None), ("form_drop", "NEG")]
        assert [check.reason for check in gate.checks if check.status == "fail"] == [
            "gap's increase since the baseline 40.0, asked for at most 39.9",
            "drop since the baseline under NEG 40.0, asked for at most 39.9",
        ]
        text = render_markdown(document)
        assert "drop 40.0 > 39.9 for model m in exact_count, form NEG" in text
        assert "## Since the baseline" in text
        assert {"changes.csv", "flips.csv", "summary_changes.csv"} <= render_tables(document).keys()

    def test_confident_needs_the_whole_interval(self):
        """16 of 20 items lost all: surely more than 10 points, perhaps not more than 35."""
        before, after = side(rows()), side(rows(lost=16))
        assert self.gate(before, after, mode="confident", max_form_drop=10)[0].status == "fail"
        gate, _ = self.gate(before, after, mode="confident", max_form_drop=35)
        assert gate.status == "pass"
        assert {check.form: check.status for check in gate.checks if check.metric == "form_drop"} == {
            "POS": "pass",
            "NEG": "inconclusive",
        }

    def test_a_refused_or_absent_model_is_no_pass(self):
        refused, _ = self.gate(side(rows(n_items=19)), side(rows()), max_form_drop=100)
        assert refused.status == "not_evaluated"
        assert "other items" in refused.checks[-1].reason
        absent, _ = self.gate(side(rows("old"), model="old"), side(rows()), max_form_drop=100)
        assert absent.checks[-1].reason == "the baseline has no row of m in exact_count"
        nothing, _ = self.gate(side(rows("old"), model="old"), side(rows()), shared=True, max_form_drop=100)
        assert nothing.status == "not_evaluated"
        assert nothing.checks[-1].reason == "the baseline and this run have no model of a panel in common"

    @pytest.mark.parametrize("metric", ["max_form_drop", "max_gap_increase"])
    @pytest.mark.parametrize("scope", [(PANEL, None), (None, "m"), (PANEL, "m")])
    def test_a_limit_of_a_panel_or_model_is_open_where_nothing_is_paired(self, metric, scope):
        rule = Rule(*scope, {metric: Fraction(100)})
        for shared in (False, True):
            gate, _ = self.gate(side(rows("old"), model="old"), side(rows()), shared=shared, scoped=(rule,))
            assert gate.status == "not_evaluated"
            assert [(c.panel, c.model) for c in gate.checks if c.rule == rule.label] == [(PANEL, "m")]

    def test_of_what_is_shared_a_rule_of_an_absent_model_is_open_and_others_are_not(self):
        before, after = side(rows("a")), side([*rows("a"), *rows("b")])
        assert self.gate(before, after, shared=True, max_form_drop=100)[0].status == "pass"
        rule = Rule(None, "b", {"max_form_drop": Fraction(100)})
        gate, _ = self.gate(before, after, shared=True, scoped=(rule,), max_form_drop=100)
        assert gate.status == "not_evaluated"

    @pytest.mark.parametrize("shared", [False, True])
    def test_a_baseline_with_few_scored_cells_lets_no_drop_through(self, shared):
        """Of 120 cells 7 without a score leave 94.2 % paired, 6 leave 95."""
        for n_errors, status in ((7, "not_evaluated"), (6, "pass"), (114, "not_evaluated")):
            given = rows()
            before = changed(given[:n_errors], status="error", compliant=None) + given[n_errors:]
            gate, _ = self.gate(
                side(before), side(given), shared=shared, max_form_drop=100, max_gap_increase=100
            )
            assert gate.status == status
        assert [c.reason for c in gate.checks if c.metric == "form_drop"] == [
            "6 of 120 scored cells are paired with the baseline (5.0 %); min-coverage asks for at least 95 %"
        ]
        for least in (Fraction(5), None):
            rule = Rule(PANEL, "m", {"min_coverage": least})
            gate, _ = self.gate(side(before), side(given), shared=shared, scoped=(rule,), max_form_drop=100)
            assert gate.status == "pass"

    def test_a_model_excluded_by_name_is_not_asked_about(self):
        given = [*rows("a"), *rows("b")]
        audit = build_audit(given, exclude=["b"])
        rules = GateRules(Thresholds(max_form_drop=Fraction(0), max_gap_increase=Fraction(0)))
        gate = evaluate_gate(audit, rules, comparison=compare(side(given), side(given), asked()))
        assert {check.model for check in gate.checks} == {"a"}

    def test_every_reason_of_a_refusal_is_told(self):
        before, after = side(rows()), side(rows(n_items=12, forms=("POS", "CNEG")))
        first, second = one(before, after).refused
        gate, _ = self.gate(before, after, max_form_drop=100)
        assert gate.checks[-1].reason == f"the baseline cannot be compared: {first}; {second}"

    def test_where_a_gap_means_nothing_none_has_increased(self):
        short = [
            replace(row, compliant=False, target=(5, 12)[int(row.item[1:]) % 2], observed=2) for row in rows()
        ]
        gate, _ = self.gate(side(short), side(short), max_gap_increase=100)
        assert gate.status == "not_evaluated"
        assert gate.checks[-1].reason == "the model is in the floor regime, where a gap means nothing"
        single = side(rows(forms=("POS",)))
        gate, _ = self.gate(single, single, max_gap_increase=100)
        assert gate.checks[-1].reason == "a gap needs two forms"

    def test_without_an_interval_confident_says_why(self):
        rules = GateRules(
            Thresholds(max_form_drop=Fraction(5), max_gap_increase=Fraction(5)), mode="confident"
        )
        given = rows()
        comparison = compare(side(given), side(given), Asked(replicates=0, seed=0))
        gate = evaluate_gate(build_audit(given, replicates=0), rules, comparison=comparison)
        why = "no interval to judge it by: nothing was resampled"
        assert [(c.metric, c.reason) for c in gate.checks if c.metric != "coverage"] == [
            ("gap_increase", why),
            ("form_drop", why),
            ("form_drop", why),
        ]
        given = rows(n_items=1)
        comparison = compare(side(given), side(given), asked())
        gate = evaluate_gate(build_audit(given), rules, comparison=comparison)
        assert [c.reason for c in gate.checks if c.metric != "coverage"] == [
            "no interval to judge it by: not available",
            *["no interval to judge it by: fewer than two items to resample"] * 2,
        ]

    def test_a_baseline_without_a_scored_cell_is_refused_in_its_own_words(self):
        unscored = changed(rows(), status="error", compliant=None)
        gate, _ = self.gate(side(unscored), side(rows()), max_form_drop=100)
        said = "the baseline cannot be compared: no cell was scored in both runs"
        assert gate.checks[-1].reason == said

    def test_of_a_shared_part_only_what_both_planned_counts(self):
        before = side(rows(n_items=5))
        assert self.gate(before, side(rows()), shared=True, max_form_drop=100)[0].status == "pass"
        other = changed(rows()[:60], prompt="other") + rows()[60:]
        unknown = side(rows(), digest=None)
        assert self.gate(unknown, side(other), shared=True, max_form_drop=100)[0].status == "pass"
        # Cells that the baseline has no row of at all are not out of its plan for that.
        half = side(rows()[::2])
        assert self.gate(half, side(rows()), shared=True, max_form_drop=100)[0].status == "not_evaluated"

    def test_an_incomplete_baseline_is_refused_unless_shared(self):
        before = replace(side(rows()), lacking={(PANEL, "m"): "120 of 240 planned cells"})
        pair = one(before, side(rows()))
        assert pair.refused == ("the baseline is incomplete: 120 of 240 planned cells",)
        assert one(before, side(rows()), shared=True).notes == pair.refused

    def test_without_limits_a_comparison_is_reported_and_judges_nothing(self):
        gate, document = self.gate(side(rows()), side(rows(lost=16)))
        assert gate.status == "pass"
        assert document["comparison"]["pairs"][0]["forms"]["NEG"]["verdict"] == "worse"
        assert json.loads(dump(document)) == document


def told(comparison, **how: Any) -> str:
    document = {"comparison": comparison_document(comparison)}
    return "\n".join(line.text for line in comparison_lines(document, **how))


def test_a_mean_that_has_moved_is_no_change_of_nothing():
    """One item of twenty lost under each of twelve forms: too little for any form, not for the mean."""
    forms = tuple(f"F{n}" for n in range(12))
    before = rows(n_items=20, forms=forms)
    after = [
        replace(row, compliant=False) if int(row.item[1:]) == 2 * int(row.form[1:]) % 20 else row
        for row in before
    ]
    for first, then, way in ((before, after, "lower"), (after, before, "higher")):
        text = told(compare(side(first), side(then), asked()))
        assert f"mean {way}; no single form beyond chance; mean " in text
        assert "no change found" not in text
    assert "no change found in 12 forms" in told(compare(side(before), side(before), asked()))


def test_two_models_are_compared_from_one_to_the_other():
    found = compare(side(rows("A")), side(rows("B")), asked(models={"B": "A"}))
    assert f"from A to B: {PANEL}: " in told(found, full=True)
    assert "since the baseline" not in told(found, full=True)
    same = compare(side(rows("A")), side(rows("A")), asked())
    assert f"A, from the earlier run to the later: {PANEL}: " in told(same, full=True)
    assert f"since the baseline: {PANEL}, B against A: " in told(found)


def test_a_model_that_the_baseline_lacks_may_be_mapped():
    found = compare(side(rows("old")), side(rows("new")), asked())
    assert (
        "the baseline has old: name with --wise-baseline-map (wise audit: --baseline-map) NEW=OLD "
        "which of them to compare new with" in told(found)
    )
    known = [*rows("a"), *changed(rows("b"), panel="keyword_once")]
    assert "baseline-map" not in told(compare(side(known), side([*rows("a"), *rows("b")]), asked()))


def test_a_few_items_without_a_change_do_not_settle_how_far_a_form_may_have_dropped():
    few, many = rows(n_items=5, forms=("POS",)), rows(n_items=400, forms=("POS",))
    for given, expected in ((few, "inconclusive"), (many, "pass")):
        comparison = compare(side(given), side(given), asked())
        rules = GateRules(Thresholds(max_form_drop=Fraction(2)), mode="confident")
        gate = evaluate_gate(build_audit(given), rules, comparison=comparison)
        (check,) = (check for check in gate.checks if check.metric == "form_drop")
        assert (check.value, check.status) == (0, expected)

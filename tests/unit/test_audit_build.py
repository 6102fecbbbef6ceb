from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import dump, to_document
from wise_pytest.audit.parquet import write_parquet
from wise_pytest.audit.rows import read_rows, read_table
from wise_pytest.audit.table import table_of
from wise_pytest.errors import RowsError
from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.records import Row
from wise_pytest.stats.rates import Rate

TARGETS = (5, 8, 10, 12)


def minimal(model: str, form: str, item: int, repetition: int, compliant, **more) -> Row:
    return Row(
        panel=more.pop("panel", "exact_count"),
        model=model,
        provider=more.pop("provider", "lab"),
        item=f"item-{item}",
        form=form,
        repetition=repetition,
        compliant=compliant,
        status=more.pop("status", "ok" if compliant is not None else "error"),
        **more,
    )


def counted(model: str, form: str, item: int, observed: int, *, repetition: int = 1, **more) -> Row:
    """A row of a word count panel: item k has target 5, 8, 10, 12, 5, ..."""
    target = TARGETS[item % 4]
    error = observed - target
    return minimal(
        model,
        form,
        item,
        repetition,
        error == 0,
        target=target,
        observed=observed,
        error=error,
        direction="under" if error < 0 else "over" if error else "exact",
        verifier="word_count/1",
        **more,
    )


def cell(model: str, form: str, n_compliant: int, n: int, **more) -> list[Row]:
    """One item per row, the first ones compliant."""
    return [minimal(model, form, item, 1, item < n_compliant, **more) for item in range(n)]


def document(rows, **options):
    return to_document(build_audit(rows, **{"replicates": 0, **options}))


def test_the_document_of_a_small_run_by_hand():
    rows = [
        counted("a", "POS", 0, 5),
        counted("a", "POS", 1, 8),
        counted("a", "NEG", 0, 5),
        counted("a", "NEG", 1, 6, status="truncated"),
        counted("b", "POS", 0, 7, provider="shop"),
        counted("b", "POS", 1, 8, provider="shop"),
        counted("b", "NEG", 0, 5, provider="shop"),
        minimal("b", "NEG", 1, 1, None, provider="shop", target=8, verifier="word_count/1"),
    ]
    found = document(rows, provenance={"wise": "0.1.0"})
    assert found["schema"] == "wise.audit/1"
    assert found["run"]["wise"] == "0.1.0"
    assert found["run"]["n_rows"] == 8
    panel = found["panels"]["exact_count"]
    assert panel["models"] == ["a", "b"]
    assert panel["excluded"] == {}
    assert (panel["n_rows"], panel["n_scored"], panel["n_planned"], panel["coverage"]) == (8, 7, 8, 7 / 8)
    assert panel["summary"] == {
        "pos": 0.75,
        "mean": 17 / 24,  # (3/4 + 2/3) / 2
        "worst": 2 / 3,
        "worst_form": "NEG",
        "best": 0.75,
        "best_form": "POS",
        "gap": 1 / 12,
        "n_forms": 2,
    }
    neg = panel["forms"]["NEG"]
    assert (neg["n"], neg["n_compliant"], neg["compliance"], neg["diff"]) == (3, 2, 2 / 3, -1 / 12)
    assert neg["directions"] == {"under": 1 / 3, "exact": 2 / 3, "over": 0.0}
    assert list(neg["directions"]) == ["under", "exact", "over"]
    assert neg["mean_abs_error"] == 2 / 3
    assert neg["statuses"] == {"ok": 2, "truncated": 1, "refused": 0, "blocked": 0, "error": 1}
    assert "diff" not in panel["forms"]["POS"]
    assert panel["forms"]["POS"]["mean_abs_error"] == 0.5
    # Under POS a leads 2/2 to 1/2; under NEG b leads 1/1 to 1/2.
    assert panel["ranking"]["NEG"] == {
        "tau_b": -1.0,
        "reversal": 1.0,
        "n_reversed": 1,
        "n_pairs": 1,
        "top3_jaccard": 1.0,
        "max_rank_shift": 1.0,
        "n_models": 2,
        "unranked": [],
    }
    b = panel["by_model"]["b"]
    assert (b["provider"], b["excluded"], b["coverage"]) == ("shop", False, 0.75)
    assert b["summary"]["gap"] == 0.5
    assert b["targets"][0] == {
        "target": 5,
        "compliance": 0.5,
        "n": 2,
        "n_compliant": 1,
        "mean_observed": 6.0,
        "mean_error": 1.0,
        "n_observed": 2,
        "empty_share": None,
        "reason": "no scored row holds its output",
        "truncated_share": 0.0,
    }
    assert panel["all_models"]["summary"] == panel["summary"]
    assert found["gate"]["status"] == "not_evaluated"


def test_rows_with_seven_fields_leave_out_what_needs_more_with_a_note():
    panel = document(cell("a", "POS", 3, 4) + cell("a", "NEG", 2, 4))["panels"]["exact_count"]
    assert panel["forms"]["NEG"]["compliance"] == 0.5
    assert "directions" not in panel["forms"]["NEG"]
    assert "mean_abs_error" not in panel["forms"]["NEG"]
    assert "targets" not in panel["by_model"]["a"]
    notes = " | ".join(panel["notes"])
    assert "directions are left out" in notes
    assert "mean_abs_error is left out" in notes
    assert "floor regime is not assessed" in notes


def test_a_full_word_count_panel_has_no_notes():
    rows = [counted("a", form, item, 5) for form in ("POS", "NEG") for item in range(8)]
    assert "notes" not in document(rows)["panels"]["exact_count"]


def test_rows_that_partly_name_a_direction_say_over_how_many_the_shares_are():
    rows = [counted("a", "POS", 0, 5), counted("a", "POS", 4, 6), minimal("a", "POS", 8, 1, compliant=True)]
    panel = document(rows)["panels"]["exact_count"]
    assert panel["forms"]["POS"]["directions"] == {"under": 0.0, "exact": 0.5, "over": 0.5}
    assert panel["forms"]["POS"]["n_directions"] == 2
    assert panel["notes"] == ["1 of 3 scored rows name no direction: the shares are over the others"]


def test_technical_errors_are_planned_and_not_scored():
    # 100 cells: 80 comply, 10 do not, 10 never got an answer.
    rows = cell("a", "POS", 80, 90) + [minimal("a", "POS", item, 1, None) for item in range(90, 100)]
    panel = build_audit(rows).panels["exact_count"]
    assert panel.primary.forms["POS"].rate == Rate(80, 90)
    assert panel.coverage.fraction == Fraction(9, 10)
    assert panel.by_model["a"].statuses["error"] == 10


def test_statuses_in_and_out_of_the_denominator():
    rows = [
        minimal("a", "POS", 0, 1, compliant=True),
        minimal("a", "POS", 1, 1, compliant=False, status="truncated"),
        minimal("a", "POS", 2, 1, compliant=False, status="refused"),
        minimal("a", "POS", 3, 1, None, status="blocked"),
        minimal("a", "POS", 4, 1, None, status="error"),
    ]
    form = build_audit(rows).panels["exact_count"].primary.forms["POS"]
    assert form.rate == Rate(1, 3)
    assert form.statuses == dict.fromkeys(("ok", "truncated", "refused", "blocked", "error"), 1)


def test_contradicting_rows_are_never_averaged():
    row = minimal("a", "POS", 0, 1, compliant=True)
    with pytest.raises(RowsError, match="row 1 and row 2 are one cell"):
        build_audit([row, dataclasses.replace(row, compliant=False)])
    assert build_audit([row, dataclasses.replace(row, run="again")]).n_rows == 1


def test_a_model_has_one_provider():
    rows = [
        minimal("a", "POS", 0, 1, compliant=True),
        minimal("a", "POS", 1, 1, compliant=True, provider="shop"),
    ]
    with pytest.raises(RowsError, match="two providers, 'lab' and 'shop'"):
        build_audit(rows)


class TestMissing:
    """One model lacks a form; another has one repetition where others have more."""

    @pytest.fixture
    def panel(self):
        rows = [
            minimal(model, form, item, repetition, compliant)
            for model, forms, repetitions, compliant in (
                ("full", ("POS", "NEG", "CNEG"), 10, True),
                ("gap", ("POS", "CNEG"), 10, True),
                ("once", ("POS", "NEG", "CNEG"), 1, False),
            )
            for form in forms
            for item in range(2)
            for repetition in range(1, repetitions + 1)
        ]
        return document(rows)["panels"]["exact_count"]

    def test_a_missing_form_is_not_zero(self, panel):
        assert panel["by_model"]["gap"]["forms"]["NEG"] == {
            "compliance": None,
            "n": 0,
            "n_compliant": 0,
            "reason": "no rows",
            "n_rows": 0,
            "statuses": dict.fromkeys(("ok", "truncated", "refused", "blocked", "error"), 0),
        }
        assert panel["by_model"]["gap"]["summary"]["worst"] == 1.0
        assert panel["by_model"]["gap"]["summary"]["incomplete"] == ["NEG"]
        assert "incomplete" not in panel["by_model"]["full"]["summary"]

    def test_pooled_rates_count_what_is_there(self, panel):
        assert (panel["forms"]["POS"]["n"], panel["forms"]["POS"]["compliance"]) == (42, 40 / 42)
        assert (panel["forms"]["NEG"]["n"], panel["forms"]["NEG"]["compliance"]) == (22, 20 / 22)

    def test_a_model_that_cannot_be_compared_is_unranked_and_named(self, panel):
        assert panel["ranking"]["NEG"]["unranked"] == ["gap"]
        assert panel["ranking"]["NEG"]["n_models"] == 2
        assert panel["ranking"]["CNEG"]["unranked"] == []

    def test_coverage_is_against_the_full_grid_that_was_seen(self, panel):
        coverages = {model: audit["coverage"] for model, audit in panel["by_model"].items()}
        assert coverages == {"full": 1.0, "gap": 40 / 60, "once": 6 / 60}


def test_a_plan_goes_before_the_grid():
    rows = cell("a", "POS", 5, 10)
    planned = {("exact_count", "a"): 20, ("exact_count", "never-ran"): 20, ("keyword_once", "a"): 5}
    audit = build_audit(rows, planned=planned)
    assert audit.models == ("a", "never-ran")
    panel = audit.panels["exact_count"]
    assert panel.by_model["a"].coverage.fraction == Fraction(1, 2)
    assert panel.coverage.fraction == Fraction(1, 4)
    found = to_document(audit)
    never = found["panels"]["exact_count"]["by_model"]["never-ran"]
    assert (never["provider"], never["summary"], never["reason"]) == (None, None, "no rows")
    assert (never["coverage"], never["n_planned"]) == (0.0, 20)
    assert found["panels"]["keyword_once"]["coverage"] == 0.0
    assert found["panels"]["keyword_once"]["summary"] is None
    check_nulls(found)


def test_a_plan_smaller_than_what_ran_does_not_hide_a_hole():
    rows = [*cell("a", "POS", 5, 10), minimal("a", "POS", 10, 1, None)]
    assert build_audit(rows, planned={("exact_count", "a"): 5}).panels[
        "exact_count"
    ].coverage.fraction == Fraction(10, 11)


def test_without_the_reference_form_contrasts_and_ranking_are_left_out():
    rows = cell("a", "NEG", 3, 4) + cell("a", "CNEG", 2, 4) + cell("b", "NEG", 1, 4) + cell("b", "CNEG", 2, 4)
    panel = document(rows)["panels"]["exact_count"]
    assert panel["summary"]["pos"] is None
    assert "POS" in panel["summary"]["reason"]
    assert panel["summary"]["gap"] == 0.0
    assert panel["ranking"] == {}
    assert all("diff" not in form for form in panel["forms"].values())
    assert any("contrasts and ranking are left out" in note for note in panel["notes"])


def test_a_reference_form_without_a_scored_row_is_no_reference():
    rows = [minimal("a", "POS", 0, 1, None), *cell("a", "NEG", 3, 4), *cell("b", "NEG", 1, 4)]
    panel = document(rows)["panels"]["exact_count"]
    assert panel["forms"]["POS"]["compliance"] is None
    assert panel["forms"]["POS"]["reason"] == "no scored rows"
    assert panel["summary"]["incomplete"] == ["POS"]
    assert panel["ranking"] == {}


def test_one_form_has_no_gap_and_one_model_no_ranking():
    panel = document(cell("a", "POS", 3, 4))["panels"]["exact_count"]
    assert panel["summary"]["gap"] is None
    assert "fewer than two forms" in panel["summary"]["reason"]
    panel = document(cell("a", "POS", 3, 4) + cell("a", "NEG", 2, 4))["panels"]["exact_count"]
    ranking = panel["ranking"]["NEG"]
    assert [ranking[name] for name in ("tau_b", "reversal", "top3_jaccard", "max_rank_shift")] == [None] * 4
    assert "two models" in ranking["reason"]


def test_degenerate_rates_are_labelled_and_bounded():
    forms = document(cell("a", "POS", 10, 10) + cell("a", "NEG", 0, 10) + cell("a", "CNEG", 5, 10))["panels"][
        "exact_count"
    ]["forms"]
    assert forms["POS"]["degenerate"] is True
    assert (forms["POS"]["wilson_low"], forms["POS"]["wilson_high"]) == (pytest.approx(0.7225, abs=1e-4), 1.0)
    assert (forms["NEG"]["wilson_low"], forms["NEG"]["wilson_high"]) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert "degenerate" not in forms["CNEG"]
    assert "wilson_low" not in forms["CNEG"]


class TestFloor:
    @pytest.fixture
    def rows(self):
        """Model ``floor`` writes 3 words whatever is asked; ``low`` follows the target, badly."""
        return [
            row
            for form in ("POS", "NEG")
            for item in range(40)
            for row in (
                counted("floor", form, item, 5 if item == 0 else 3),
                counted("low", form, item, TARGETS[item % 4] + 1),
                counted("good", form, item, TARGETS[item % 4]),
            )
        ]

    def test_a_model_in_the_floor_regime_is_no_primary_model(self, rows):
        panel = document(rows)["panels"]["exact_count"]
        assert panel["models"] == ["good", "low"]
        assert panel["excluded"] == {"floor": "floor regime"}
        assert panel["by_model"]["floor"]["excluded"] == "floor regime"
        assert panel["by_model"]["floor"]["floor"] == {
            "assessable": True,
            "in_floor": True,
            "change_words": -0.2,  # 2 of the 20 outputs at target 5 have 5 words
        }
        assert panel["forms"]["POS"]["compliance"] == 0.5
        assert panel["all_models"]["forms"]["POS"]["compliance"] == 41 / 120

    def test_the_user_s_exclusion_goes_first(self, rows):
        panel = document(rows, exclude=["floor", "low"])["panels"]["exact_count"]
        assert panel["excluded"] == dict.fromkeys(("floor", "low"), "excluded by name")
        assert panel["coverage"] == 1.0

    def test_when_everything_is_excluded_there_is_no_summary(self, rows):
        found = document(rows, exclude=["good", "low"])
        panel = found["panels"]["exact_count"]
        assert panel["summary"] is None
        assert panel["reason"] == "every model is excluded"
        assert panel["forms"] == {}
        assert panel["ranking"] == {}
        assert panel["all_models"]["summary"]["mean"] == 41 / 120
        check_nulls(found)

    def test_other_targets_are_never_a_floor(self):
        rows = [
            minimal("a", form, item, 1, compliant=False, panel="length_range", target=(8, 12), observed=1)
            for form in ("POS", "NEG")
            for item in range(8)
        ]
        panel = document(rows)["panels"]["length_range"]
        assert panel["models"] == ["a"]
        assert panel["by_model"]["a"]["floor"]["assessable"] is False
        assert "numeric targets" in panel["by_model"]["a"]["floor"]["reason"]


def test_the_coverage_of_a_panel_is_over_the_models_that_the_user_kept():
    rows = [*cell("a", "POS", 5, 10), *[minimal("flaky", "POS", item, 1, None) for item in range(10)]]
    assert build_audit(rows).panels["exact_count"].coverage.fraction == Fraction(1, 2)
    assert build_audit(rows, exclude=["flaky"]).panels["exact_count"].coverage.fraction == 1
    # A model in the floor regime was not left out by the user: its holes count.
    rows = [counted("floor", form, item, 3) for form in ("POS", "NEG") for item in range(8)]
    rows = [*rows[:-4], *[minimal("floor", "NEG", item, 1, None) for item in range(4, 8)]]
    panel = build_audit(rows).panels["exact_count"]
    assert panel.excluded == {"floor": "floor regime"}
    assert panel.coverage.fraction == Fraction(3, 4)


def test_excluding_a_model_that_is_not_there_is_noted():
    found = document(cell("a", "POS", 1, 2), exclude=["b"])
    assert found["run"]["exclude"] == ["b"]
    assert found["run"]["notes"] == ["b was to be excluded and is not among the models"]


class TestOrder:
    def test_forms_of_a_bundled_panel_come_in_declared_order(self):
        rows = [row for form in ("CNEG", "ZED", "AVOID1", "POS", "NEG") for row in cell("a", form, 1, 2)]
        assert list(document(rows)["panels"]["exact_count"]["forms"]) == [
            "POS",
            "NEG",
            "AVOID1",
            "CNEG",
            "ZED",
        ]

    def test_forms_of_another_panel_come_by_name_after_the_reference(self):
        rows = [row for form in ("B", "POS", "A") for row in cell("a", form, 1, 2, panel="mine")]
        panel = document(rows)["panels"]["mine"]
        assert list(panel["forms"]) == ["POS", "A", "B"]
        assert panel["summary"]["worst_form"] == "POS"  # all tie

    def test_a_panel_of_the_user_s_own_declares_order_and_reference(self):
        own = dataclasses.replace(
            bundled_panel("exact_count"),
            panel_id="mine",
            reference="NEVER",
        )
        rows = [row for form in ("AVOID1", "NEVER", "POS") for row in cell("a", form, 1, 2, panel="mine")]
        panel = document(rows, panels={"mine": own})["panels"]["mine"]
        assert panel["reference"] == "NEVER"
        assert list(panel["forms"]) == ["POS", "NEVER", "AVOID1"]
        assert list(panel["ranking"]) == ["POS", "AVOID1"]

    def test_bundled_panels_come_first(self):
        rows = [
            row
            for name in ("zzz", "json_structure", "mmm", "exact_count", "aaa", "nnn", "bbb")
            for row in cell("a", "POS", 1, 2, panel=name)
        ]
        assert list(document(rows)["panels"]) == [
            "exact_count",
            "json_structure",
            "aaa",
            "bbb",
            "mmm",
            "nnn",
            "zzz",
        ]


def random_run(seed: int) -> list[Row]:
    chance = random.Random(seed)
    rows = []
    for panel in ("exact_count", "mine"):
        for model in ("b", "a", "c"):
            for form in ("POS", "NEG", "AVOID1"):
                for item in range(4):
                    for repetition in (1, 2):
                        if chance.random() < 0.1:
                            continue
                        if chance.random() < 0.1:
                            rows.append(minimal(model, form, item, repetition, None, panel=panel))
                        else:
                            words = chance.choice(TARGETS)
                            rows.append(counted(model, form, item, words, repetition=repetition, panel=panel))
    return rows


@given(st.integers(0, 3), st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_the_same_rows_give_the_same_bytes_in_any_order(seed, chance):
    rows = random_run(seed)
    shuffled = [dataclasses.replace(row, run=str(chance.random())) for row in rows]
    shuffled += chance.sample(shuffled, 5)
    chance.shuffle(shuffled)
    assert dump(document(shuffled)) == dump(document(rows))


def test_the_same_rows_give_the_same_bytes_from_several_files(tmp_path):
    rows = random_run(7)
    whole, one, two = (tmp_path / name for name in ("whole.jsonl", "one.jsonl", "two.jsonl"))
    lines = [row.to_json() + "\n" for row in rows]
    whole.write_text("".join(lines), encoding="ascii")
    one.write_text("".join(lines[1::2]), encoding="ascii")
    two.write_text("".join(lines[::2]), encoding="ascii")
    expected = dump(document(rows))
    assert dump(document(read_rows([whole]))) == expected
    assert dump(document(read_rows([one, two]))) == expected


def test_the_digest_of_the_rows_is_in_the_document():
    run = document([minimal("a", "POS", 0, 1, compliant=True)])["run"]
    assert len(run["rows_sha256"]) == 64
    assert run["rows_sha256"] != hashlib.sha256(b"").hexdigest()


def check_nulls(value, path="document"):
    """Every null has a reason beside it; nothing is NaN (``dump`` refuses it)."""
    if isinstance(value, dict):
        missing = [name for name, part in value.items() if part is None]
        if missing:
            assert value.get("reason") or all(value.get(f"{name}_reason") for name in missing), path
        for name, part in value.items():
            if name.endswith("_ci") and part is None:
                assert value.get(f"{name}_reason") or value.get("ci_reason") or value.get("reason"), path
            check_nulls(part, f"{path}.{name}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            assert part is not None, path
            check_nulls(part, f"{path}[{number}]")


def full(model: str, form: str, item: int, observed: int, **more) -> Row:
    """A row of a word count panel with its text."""
    text = " ".join(["Sure", *["word"] * observed][:observed])
    return counted(model, form, item, observed, text=text, **more)


def full_run(seed: int, *, models=("a", "b", "c"), panels=("exact_count", "length_range")) -> list[Row]:
    chance = random.Random(seed)
    return [
        full(model, form, item, chance.choice((0, 2, *TARGETS)), panel=panel, provider=f"of {model}")
        for panel in panels
        for model in models
        for form in ("POS", "NEG", "AVOID1")
        for item in range(6)
    ]


ODD_RUNS = {
    "nothing": [],
    "nothing-scored": [minimal("a", "POS", 0, 1, None)],
    "no-reference": [minimal("a", "NEG", 0, 1, compliant=True)],
    "one-row": [full("a", "POS", 0, 5)],
    "one-model": full_run(1, models=("a",)),
    "one-panel": full_run(1, panels=("exact_count",)),
    "one-item": [
        full(model, form, 0, 5 + (form < model)) for model in "NQ" for form in ("POS", "NEG", "CNEG")
    ],
    "an-item-each": [
        full(model, form, item, 5 + (form < "O"))
        for item, model in enumerate("ab")
        for form in ("POS", "NEG")
    ],
    "no-pos": [row for row in full_run(2) if row.form != "POS"],
    "no-pos-of-one": [row for row in full_run(2) if row.form != "POS" or row.model != "a"],
    "one-form": [row for row in full_run(3) if row.form == "NEG"],
    "all-tied": [
        row for model in "ab" for form, n in (("POS", 2), ("NEG", 0)) for row in cell(model, form, n, 2)
    ],
    "no-texts": [dataclasses.replace(row, text=None) for row in full_run(4)],
    "some-texts": [
        dataclasses.replace(row, text=None if row.form == "NEG" else row.text) for row in full_run(4)
    ],
    "no-counts": [
        dataclasses.replace(row, observed=None, error=None, direction=None) for row in full_run(4)
    ],
    "nothing-complies": [
        dataclasses.replace(row, compliant=False, text="") for row in full_run(5)
    ],
    "a-form-that-failed": [
        dataclasses.replace(row, compliant=None, status="error") if row.form == "NEG" else row
        for row in full_run(6)
    ],
    "a-model-that-failed": [
        dataclasses.replace(row, compliant=None, status="blocked") if row.model == "b" else row
        for row in full_run(6)
    ],
    "full": full_run(7),
    "random": random_run(1),
    "odd-names": [minimal("\ud83d", "POS", 0, 1, compliant=True, provider="é\x00", direction="\udc00")],
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"replicates": 30}, {"replicates": 30, "exclude": ["a", "b", "c"]}])
@pytest.mark.parametrize("name", ODD_RUNS)
def test_every_document_is_strict_json_with_reasons(name, options):
    found = document(ODD_RUNS[name], planned={("keyword_once", "planned"): 3}, **options)
    text = dump(found)
    assert text.isascii()
    assert text.endswith("}\n")
    assert json.loads(text) == found
    check_nulls(found)
    check_intervals(found)


def check_intervals(value, path="document"):
    """Intervals lie in their range, the right way round, and rates in 0..1."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name.endswith("_ci") and isinstance(part, list) and name != "degenerate_ci":
                assert part[0] <= part[1], f"{path}.{name}"
                if name not in {"tau_b_ci", "max_rank_shift_ci"}:
                    assert 0 <= part[0] <= part[1] <= 1, f"{path}.{name}"
            elif name in {"compliance", "coverage", "empty_share", "short_share"} and part is not None:
                assert 0 <= part <= 1, f"{path}.{name}"
            check_intervals(part, f"{path}.{name}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            check_intervals(part, f"{path}[{number}]")


def test_without_replicates_there_are_no_intervals_at_all():
    text = dump(document(full_run(7), replicates=0))
    assert "_ci" not in text
    assert "ci_low" not in text
    assert '"bootstrap"' not in text
    assert '"tau_b"' in text
    assert '"wilson_low"' in dump(document(ODD_RUNS["nothing-complies"], replicates=0))


def test_intervals_are_there_or_say_why_for_every_model():
    panel = document(full_run(7), replicates=40)["panels"]["exact_count"]
    for each in (panel, panel["all_models"], *panel["by_model"].values()):
        for name in ("pos_ci", "mean_ci", "worst_ci", "gap_ci"):
            assert len(each["summary"][name]) == 2
        assert each["summary"]["degenerate_ci"] == [
            name for name in ("pos", "mean", "worst", "gap") if len({*each["summary"][f"{name}_ci"]}) == 1
        ]
    panel = document(ODD_RUNS["one-item"], replicates=40)["panels"]["exact_count"]
    for each in panel["by_model"].values():
        assert each["summary"]["ci_reason"] == "fewer than two items to resample"
        assert each["summary"]["pos_ci"] is None
        for form in each["forms"].values():
            assert form["compliance_ci"] is None
            assert form["compliance_ci_reason"]


def test_intervals_of_no_width_are_labelled():
    # All comply under POS, none under NEG: no draw of items can change that.
    rows = cell("a", "POS", 6, 6) + cell("a", "NEG", 0, 6) + cell("a", "CNEG", 3, 6)
    panel = document(rows, replicates=40)["panels"]["exact_count"]
    assert panel["summary"]["worst_ci"] == [0.0, 0.0]
    assert panel["summary"]["degenerate_ci"] == ["pos", "worst", "gap"]
    assert panel["forms"]["NEG"]["compliance_ci"] is None
    assert "Wilson" in panel["forms"]["NEG"]["compliance_ci_reason"]
    assert len(panel["forms"]["CNEG"]["compliance_ci"]) == 2


def test_the_same_rows_give_the_same_bytes_whatever_they_come_in(tmp_path):
    rows = full_run(8)
    expected = dump(document(rows, replicates=30))
    assert all(f'"{name}"' in expected for name in ("examples", "cross", "surface", "ranks", "targets"))
    shuffled = random.Random(3).sample(rows, len(rows))
    one, two, three = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "three"))
    for path, part in ((one, shuffled[:40]), (two, shuffled[30:]), (three, shuffled[::-1])):
        lines = (dataclasses.replace(row, run=path.name).to_json() + "\n" for row in part)
        path.write_text("".join(lines), encoding="ascii")
    write_parquet(table_of(shuffled[20:]), tmp_path / "four.parquet")
    for paths in ([one, two], [three], [two, three, one], [one, tmp_path / "four.parquet"]):
        assert dump(document(read_table(paths), replicates=30)) == expected
        assert dump(document(read_rows(paths), replicates=30)) == expected


class TestFloorTable:
    """Table 12 of the paper in small: what a model in the floor regime does at each target."""

    @pytest.fixture
    def panel(self):
        # At 5 words one of five outputs complies, the others are short; elsewhere all have two or three.
        lengths = {5: (5, 3, 3, 2, 0), 8: (3, 3, 3, 2, 3), 10: (2, 3, 2, 3, 3), 12: (3, 3, 3, 3, 2)}
        rows = [
            full(
                "floor",
                form,
                4 * number + place,
                lengths[target][number],
                status="truncated" if (target, number) == (8, 0) else "ok",
            )
            for form in ("POS", "NEG")
            for place, target in enumerate(TARGETS)
            for number in range(5)
        ]
        rows += [full("good", form, item, TARGETS[item % 4]) for form in ("POS", "NEG") for item in range(20)]
        return document(rows)["panels"]["exact_count"]

    def test_the_model_at_each_target(self, panel):
        assert panel["excluded"] == {"floor": "floor regime"}
        targets = panel["by_model"]["floor"]["targets"]
        shown = [
            (
                each["target"],
                each["n"],
                each["compliance"],
                each["mean_observed"],
                each["mean_error"],
                each["empty_share"],
                each["truncated_share"],
            )
            for each in targets
        ]
        assert shown == [
            (5, 10, 0.2, 2.6, -2.4, 0.2, 0.0),
            (8, 10, 0.0, 2.8, -5.2, 0.0, 0.2),
            (10, 10, 0.0, 2.6, -7.4, 0.0, 0.0),
            (12, 10, 0.0, 2.8, -9.2, 0.0, 0.0),
        ]
        assert panel["by_model"]["floor"]["floor"]["change_words"] == pytest.approx(0.2)

    def test_its_directions_over_all_forms(self, panel):
        floor = panel["by_model"]["floor"]
        assert floor["n_directions"] == 40
        assert floor["directions"] == {"under": 38 / 40, "exact": 2 / 40, "over": 0.0}

    def test_the_primary_models_at_each_target(self, panel):
        assert [(each["target"], list(each["forms"])) for each in panel["targets"]] == [
            (target, ["POS", "NEG"]) for target in TARGETS
        ]
        for each in panel["targets"]:
            right = {"compliance": 1.0, "n": 5, "n_compliant": 5, "n_observed": 5, "mean_error": 0.0}
            assert each["forms"]["NEG"] == {**right, "mean_observed": each["target"]}

    def test_the_surface_of_its_outputs(self, panel):
        # Of the five outputs at each target 2, 1, 2 and 1 are short; one of them is empty.
        surface = panel["by_model"]["floor"]["forms"]["POS"]["surface"]
        spread = surface.pop("count_error")
        assert surface == {
            "n_texts": 20,
            "n_observed": 20,
            "short_share": 6 / 20,
            "empty_share": 1 / 20,
            "opening_share": 19 / 20,
            "openings": {"Sure": 19},
            "truncated_share": 1 / 20,
            "refused_share": 0.0,
        }
        errors = sorted(
            length - target
            for target, found in {
                5: (5, 3, 3, 2, 0), 8: (3, 3, 3, 2, 3), 10: (2, 3, 2, 3, 3), 12: (3, 3, 3, 3, 2)
            }.items()
            for length in found
        )  # fmt: skip
        assert (spread["n"], spread["min"], spread["max"]) == (20, -10, 0)
        assert spread["mean"] == sum(errors) / 20
        # Places 4.75, 9.5 and 14.25 of 0 to 19.
        assert spread["q1"] == errors[4] + 0.75 * (errors[5] - errors[4])
        assert spread["median"] == (errors[9] + errors[10]) / 2
        assert spread["q3"] == errors[14] + 0.25 * (errors[15] - errors[14])
        # The box is from -8.25 to -5, so whiskers end within 4.875 of it: 0 lies beyond, -2 does not.
        assert (spread["q1"], spread["q3"]) == (-8.25, -5)
        assert (spread["whisker_low"], spread["whisker_high"]) == (-10, -2)


def test_ranks_by_hand():
    n_compliant = {
        ("b", "POS"): 9, ("a", "POS"): 5, ("c", "POS"): 5,
        ("b", "NEG"): 1, ("a", "NEG"): 8, ("c", "NEG"): 9, ("d", "NEG"): 1,
    }  # fmt: skip
    rows = [row for (model, form), n in n_compliant.items() for row in cell(model, form, n, 10)]
    ranks = document(rows)["panels"]["exact_count"]["ranks"]
    assert ranks["order"] == ["b", "a", "c", "d"]  # ties by name, unranked models last
    assert ranks["by_model"] == {
        "b": {"POS": 1.0, "NEG": 3.5},
        "a": {"POS": 2.5, "NEG": 2.0},
        "c": {"POS": 2.5, "NEG": 1.0},
        "d": {"NEG": 3.5},
    }


def test_a_declared_panel_says_what_it_asks():
    panels = document([*cell("a", "POS", 1, 2), *cell("a", "POS", 1, 2, panel="own")])["panels"]
    declared = bundled_panel("exact_count")
    assert (panels["exact_count"]["title"], panels["exact_count"]["question"]) == (
        declared.title,
        declared.question,
    )
    assert "title" not in panels["own"]


def test_openings_of_one_s_own_are_counted():
    found = document(full_run(9), openings=["word", "Sure word"])
    assert found["run"]["openings"] == ["word", "Sure word"]
    surface = found["panels"]["exact_count"]["forms"]["POS"]["surface"]
    assert set(surface["openings"]) == {"Sure word"}  # one that stands in the middle is none


def test_what_strict_json_lacks_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        dump({"run": {"x": float("inf")}})

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
from wise_pytest.audit.rows import read_rows
from wise_pytest.errors import RowsError
from wise_pytest.panels.loader import bundled_panel
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
        if any(part is None for part in value.values()):
            assert value.get("reason"), path
        for name, part in value.items():
            check_nulls(part, f"{path}.{name}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            assert part is not None, path
            check_nulls(part, f"{path}[{number}]")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [minimal("a", "POS", 0, 1, None)],
        [minimal("a", "NEG", 0, 1, compliant=True)],
        cell("a", "POS", 2, 2) + cell("b", "POS", 2, 2) + cell("a", "NEG", 0, 2) + cell("b", "NEG", 0, 2),
        random_run(1),
        [minimal("\ud83d", "POS", 0, 1, compliant=True, provider="é\x00", direction="\udc00")],
    ],
    ids=["nothing", "nothing-scored", "no-reference", "all-tied", "random", "odd-names"],
)
def test_every_document_is_strict_json_with_reasons(rows):
    found = document(rows)
    text = dump(found)
    assert text.isascii()
    assert text.endswith("}\n")
    assert json.loads(text) == found
    check_nulls(found)


def test_what_strict_json_lacks_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        dump({"run": {"x": float("inf")}})

"""The audit of the factorial panel: from rows to the effects of its factors."""

import dataclasses
import json
import random

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.factorial import build_factorial
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import Row
from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.markdown import render_markdown

PANEL = bundled_panels()["factorial_count"]


def rows_of(chance, *, n_items=25, models=("a", "b"), seed=0):
    """Rows of a complete grid whose compliance is drawn with a chance that depends on the levels."""
    rng = random.Random(seed)
    return [
        Row(
            panel="factorial_count",
            model=model,
            provider="p",
            item=f"i{item:03}",
            form=form.form_id,
            repetition=repetition,
            compliant=rng.random() < chance(model, *form.levels),
        )
        for model in models
        for item in range(n_items)
        for form in PANEL.forms
        for repetition in (1, 2, 3)
    ]


def chance(model, polarity, length, position, naturalness):
    base = {"a": 0.6, "b": 0.4}[model] - 0.25 * (polarity == "avoid") - 0.1 * (length == "long")
    return base + (0.15 if (position, naturalness) == ("late", "formal") else 0.0)


def effect_of(result, *levels):
    (found,) = (e for e in result["effects"] if tuple(c["level"] for c in e["contrast"]) == levels)
    return found


def panel_of(rows, **how):
    """The panel in ``audit.json``."""
    return to_document(build_audit(rows, **{"replicates": 0, **how}))["panels"]["factorial_count"]


@pytest.fixture(scope="module")
def whole():
    return to_document(build_audit(rows_of(chance), replicates=0))


@pytest.fixture(scope="module")
def document(whole):
    return whole["panels"]["factorial_count"]["effects"]


def test_the_effects_of_simulated_data_are_recovered_for_each_model_and_pooled(document):
    for result in (document["pooled"], *document["by_model"].values()):
        avoid = effect_of(result, "avoid")
        assert avoid["ci_low"] < -0.25 < avoid["ci_high"]
        assert avoid["p_holm"] < 0.001
        long = effect_of(result, "long")
        assert long["ci_low"] < -0.1 < long["ci_high"]
        both = effect_of(result, "late", "formal")
        assert both["ci_low"] < 0.15 < both["ci_high"]
        # Half of it shows as a main effect of either factor, since effects are averages over the others.
        assert effect_of(result, "late")["estimate"] == pytest.approx(0.075, abs=0.05)
        nothing = effect_of(result, "negate", "long")
        assert nothing["ci_low"] < 0 < nothing["ci_high"]


def test_the_document_names_factors_levels_and_what_they_are_compared_with(document):
    assert document["factors"] == {
        "polarity": ["affirm", "negate", "avoid", "exclude"],
        "length": ["short", "long"],
        "position": ["early", "late"],
        "naturalness": ["plain", "formal"],
    }
    pooled = document["pooled"]
    assert (pooled["models"], pooled["n"], pooled["n_items"]) == (["a", "b"], 2 * 25 * 32 * 3, 25)
    assert len(pooled["effects"]) == 18
    assert pooled["effects"][0]["contrast"] == [
        {"factor": "polarity", "level": "negate", "against": "affirm"}
    ]
    assert [term["factors"] for term in pooled["terms"]] == [
        ["polarity"],
        ["length"],
        ["position"],
        ["naturalness"],
        ["polarity", "length"],
        ["polarity", "position"],
        ["polarity", "naturalness"],
        ["length", "position"],
        ["length", "naturalness"],
        ["position", "naturalness"],
    ]
    assert pooled["terms"][0]["df"] == [3, 24]
    json.dumps(document, allow_nan=False)


def test_what_is_written_down_does_not_depend_on_the_last_digits_of_a_machine(document):
    for effect in document["pooled"]["effects"]:
        for key in ("estimate", "ci_low", "ci_high", "standard_error"):
            assert effect[key] == round(effect[key], 10)
        assert float(f"{effect['p_raw']:.8g}") == effect["p_raw"]
    rows = [dataclasses.replace(row, compliant=True) for row in rows_of(chance, n_items=2)]
    nothing = panel_of(rows)["effects"]["pooled"]["effects"]
    assert {str(effect["estimate"]) for effect in nothing} == {"0.0"}


def test_a_main_effect_is_the_difference_of_the_rates_of_two_levels(document):
    pooled = document["pooled"]
    rates = pooled["levels"]["length"]
    assert rates["short"]["n"] == rates["long"]["n"] == 2 * 25 * 16 * 3
    difference = rates["long"]["compliance"] - rates["short"]["compliance"]
    assert effect_of(pooled, "long")["estimate"] == pytest.approx(difference)


def test_only_scored_rows_of_the_panels_own_forms_and_of_primary_models_count():
    rows = rows_of(chance, n_items=3)
    stray = dataclasses.replace(rows[0], panel="exact_count")
    error = dataclasses.replace(rows[0], repetition=9, status="error", compliant=None)
    unknown = dataclasses.replace(rows[0], form="POS")
    found = build_audit([*rows, stray, error, unknown], replicates=0, exclude=["a"])
    effects = found.panels["factorial_count"].effects
    assert effects.n_rows == len(rows)
    assert effects.pooled.models == ("b",)
    assert list(effects.by_model) == ["a", "b"]
    assert effects.pooled.effects == effects.by_model["b"].effects
    assert found.panels["exact_count"].effects is None
    assert "effects" not in to_document(found)["panels"]["exact_count"]


@pytest.mark.parametrize("replicates", [0, 50])
def test_effects_need_no_bootstrap_and_do_not_depend_on_it(replicates, document):
    assert panel_of(rows_of(chance), replicates=replicates)["effects"] == document


def test_the_order_of_rows_makes_no_difference():
    rows = rows_of(chance, n_items=4)
    first = json.dumps(panel_of(rows))
    random.Random(3).shuffle(rows)
    assert json.dumps(panel_of(rows)) == first


def test_a_panel_none_of_whose_rows_is_scored_has_no_effects():
    rows = [dataclasses.replace(row, status="error", compliant=None) for row in rows_of(chance, n_items=1)]
    assert "effects" not in panel_of(rows)


def test_where_every_model_is_left_out_that_is_the_reason():
    pooled = panel_of(rows_of(chance, n_items=3), exclude=["a", "b"])["effects"]["pooled"]
    why = "every model is excluded"
    assert pooled["reason"] == why
    assert {effect["reason"] for effect in pooled["effects"]} == {why}
    assert {term["reason"] for term in pooled["terms"]} == {why}
    assert pooled["levels"]["length"]["short"] == {
        "compliance": None,
        "n": 0,
        "n_compliant": 0,
        "reason": why,
    }


def test_a_cell_that_is_missing_leaves_a_reason_in_the_place_of_each_number():
    rows = [row for row in rows_of(chance, n_items=3) if "LATE_FORMAL" not in row.form]
    effects = panel_of(rows)["effects"]["pooled"]["effects"]
    (both,) = (e for e in effects if [c["level"] for c in e["contrast"]] == ["late", "formal"])
    assert both["estimate"] is both["ci_low"] is both["p_holm"] is None
    assert "do not tell this effect from others" in both["reason"]


def test_the_markdown_has_a_compact_table_of_the_effects(whole):
    text = render_markdown(whole)
    section = text.split("### Effects of the properties of a wording")[1].split("###")[0]
    assert "over 25 items" in section
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "Effect", "Points", "Interval", "p (Holm)", "a", "b"
    ]  # fmt: skip
    assert len(lines) == 2 + 18
    pooled = whole["panels"]["factorial_count"]["effects"]["pooled"]["effects"]
    assert f"{100 * abs(pooled[1]['estimate']):.1f}" in lines[3]
    assert lines[3].startswith("| avoid − affirm")


def test_the_tables_for_programs_have_every_effect_pooled_and_by_model(whole):
    tables = render_tables(whole)
    lines = tables["effects.csv"].splitlines()
    assert len(lines) == 1 + 3 * 18
    head = lines[0].split(",")
    pooled = dict(zip(head, lines[1].split(","), strict=True))
    effect = whole["panels"]["factorial_count"]["effects"]["pooled"]["effects"][0]
    assert (pooled["level"], pooled["model"], pooled["factors"]) == ("pooled", "", "polarity")
    assert float(pooled["estimate"]) == effect["estimate"]
    assert float(pooled["ci_low"]) == effect["ci_low"]
    assert pooled["n"] == str(2 * 25 * 32 * 3)
    assert {line.split(",")[head.index("model")] for line in lines[1:]} == {"", "a", "b"}
    assert len(tables["effect_tests.csv"].splitlines()) == 1 + 3 * 10
    plain = build_audit([dataclasses.replace(rows_of(chance, n_items=1)[0], panel="exact_count")])
    assert not {name for name in render_tables(to_document(plain)) if name.startswith("effect")}


def test_a_panel_without_factors_is_refused():
    with pytest.raises(ValueError, match="exact_count declares no factors"):
        build_factorial(None, bundled_panels()["exact_count"], primary=())

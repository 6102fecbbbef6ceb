"""The audit of the factorial panel: from rows to the effects of its factors."""

import dataclasses
import json
import random

import pytest

from wise_pytest.audit.factorial import build_factorial, to_document
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import Row

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


@pytest.fixture(scope="module")
def document():
    return to_document(build_factorial(rows_of(chance), PANEL))


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
    found = build_factorial([*rows, stray, error, unknown], PANEL, primary=["b"])
    assert found.n_rows == len(rows)
    assert found.pooled.models == ("b",)
    assert list(found.by_model) == ["a", "b"]
    assert found.pooled.effects == found.by_model["b"].effects


def test_the_order_of_rows_makes_no_difference():
    rows = rows_of(chance, n_items=4)
    first = json.dumps(to_document(build_factorial(rows, PANEL)))
    random.Random(3).shuffle(rows)
    assert json.dumps(to_document(build_factorial(rows, PANEL))) == first


def test_without_rows_every_null_has_its_reason():
    document = to_document(build_factorial([], PANEL))
    assert document["by_model"] == {}
    assert {effect["reason"] for effect in document["pooled"]["effects"]} == {"no scored rows"}
    assert document["pooled"]["levels"]["length"]["short"] == {
        "compliance": None,
        "n": 0,
        "n_compliant": 0,
        "reason": "no scored rows",
    }


def test_a_panel_without_factors_is_refused():
    with pytest.raises(ValueError, match="exact_count declares no factors"):
        build_factorial([], bundled_panels()["exact_count"])

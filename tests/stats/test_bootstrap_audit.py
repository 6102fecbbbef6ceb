"""What resampling adds to the audit: its fields and their reasons, and that no order of rows matters."""

from __future__ import annotations

import dataclasses
import json
import random

import numpy as np
import pytest

from tests.stats.test_stats_published import GEMINI, model_rates
from wise_pytest.audit import uncertainty
from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import dump, to_document
from wise_pytest.options import DEFAULT_REPLICATES, DEFAULT_SEED
from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.records import Row

PROVIDERS = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}
REPLICATES = 400


def rows_of(
    panel="exact_count", *, models=tuple(PROVIDERS), forms=("POS", "NEG", "AVOID1"), n_items=12, seed=0
):
    rnd = random.Random(seed)
    share = {form: {model: rnd.uniform(0.2, 0.9) for model in models} for form in forms}
    return [
        Row(
            panel, model, PROVIDERS[model], f"i{item:02}", form, repetition, rnd.random() < share[form][model]
        )
        for model in models
        for item in range(n_items)
        for form in forms
        for repetition in (1, 2)
    ]


def document(rows, **options):
    return to_document(build_audit(rows, **{"replicates": REPLICATES, **options}))


def test_the_fields_of_a_panel():
    found = document(rows_of(), seed=7)["panels"]["exact_count"]
    assert not {"ci_low", "p_raw"} & set(found["forms"]["POS"])
    for form in ("NEG", "AVOID1"):
        result = found["forms"][form]
        assert result["ci_low"] < result["diff"] < result["ci_high"]
        assert 2 / (REPLICATES + 1) <= result["p_raw"] <= result["p_holm"] <= 1
        assert result["n_replicates"] == REPLICATES
        ranking = found["ranking"][form]
        for measure in ("tau_b", "reversal", "top3_jaccard", "max_rank_shift"):
            low, high = ranking[f"{measure}_ci"]
            assert low <= high
        every = found["all_models"]["forms"][form]
        assert (every["ci_low"], every["ci_high"]) == (result["ci_low"], result["ci_high"])
        assert "p_raw" not in every
    smaller, larger = sorted(
        (found["forms"][form] for form in ("NEG", "AVOID1")), key=lambda result: result["p_raw"]
    )
    assert smaller["p_holm"] == pytest.approx(min(1, 2 * smaller["p_raw"]))
    assert larger["p_holm"] == pytest.approx(max(smaller["p_holm"], larger["p_raw"]))
    bootstrap = found["bootstrap"]
    assert bootstrap["scheme"] == bundled_panel("exact_count").bootstrap == "provider-model-item"
    assert (bootstrap["replicates"], bootstrap["seed"], bootstrap["confidence"]) == (REPLICATES, 7, 0.95)
    assert bootstrap["n_units"] == {"providers": 3, "models": 4, "items": 12}
    assert (bootstrap["family_size"], bootstrap["untestable"]) == (2, [])
    assert "resample 3 providers" in bootstrap["cautions"][0]
    sides = bootstrap["sensitivity"]
    assert list(sides) == ["provider-model-item", "model-item", "equal-model-item"]
    own = sides["provider-model-item"]["forms"]["NEG"]
    assert [own[key] for key in ("diff", "ci_low", "ci_high")] == [
        found["forms"]["NEG"][key] for key in ("diff", "ci_low", "ci_high")
    ]
    widths = [side["forms"]["NEG"]["ci_high"] - side["forms"]["NEG"]["ci_low"] for side in sides.values()]
    assert widths[0] > widths[2]
    assert widths[1] > widths[2]
    assert sides["equal-model-item"]["n_units"] == {"items": 12}


@pytest.mark.parametrize(
    ("panel", "scheme"),
    [
        ("avoidance_family", "provider-model-item"),
        ("length_range", "model-item"),
        ("keyword_once", "item-cluster"),
        ("constructional_controls", "item-cluster"),
        ("json_structure", "item-cluster"),
        ("never_heard_of", "item-cluster"),
    ],
)
def test_the_scheme_of_each_panel(panel, scheme):
    found = document(rows_of(panel), replicates=20)["panels"][panel]["bootstrap"]
    assert found["scheme"] == scheme
    assert len(found["n_units"]) == scheme.count("-") + (scheme != "item-cluster")
    assert len(found["sensitivity"]) == 3


def test_a_declared_scheme_is_used():
    panel = dataclasses.replace(bundled_panel("exact_count"), panel_id="mine", bootstrap="model-item")
    assert (
        document(rows_of("mine"), panels={"mine": panel})["panels"]["mine"]["bootstrap"]["scheme"]
        == "model-item"
    )


def test_no_replicates_leave_the_keys_out():
    text = dump(document(rows_of(), replicates=0))
    for key in ("ci_low", "p_raw", "p_holm", "tau_b_ci", "bootstrap", "n_replicates"):
        assert f'"{key}"' not in text


def test_the_same_rows_in_any_order_give_the_same_bytes():
    rows = rows_of() + rows_of("keyword_once", seed=1)
    before = dump(document(rows))
    random.Random(1).shuffle(rows)
    assert dump(document(rows)) == before
    assert dump(document(rows, seed=1)) != before


def test_another_panel_changes_nothing():
    alone = document(rows_of())["panels"]["exact_count"]
    assert document(rows_of() + rows_of("keyword_once"))["panels"]["exact_count"] == alone


def test_excluded_models_leave_the_primary_intervals_and_stay_in_the_others():
    rows = rows_of()
    found = document(rows, exclude=["c1"])["panels"]["exact_count"]
    without = document([row for row in rows if row.model != "c1"])["panels"]["exact_count"]
    assert found["forms"] == without["forms"]
    assert found["ranking"] == without["ranking"]
    assert found["bootstrap"] == without["bootstrap"]
    every = document(rows)["panels"]["exact_count"]["forms"]["NEG"]
    assert found["all_models"]["forms"]["NEG"]["ci_low"] == every["ci_low"] != found["forms"]["NEG"]["ci_low"]


def test_one_model_varies_by_its_items():
    found = document(rows_of(models=("a1",)))["panels"]["exact_count"]
    assert found["bootstrap"]["n_units"] == {"providers": 1, "models": 1, "items": 12}
    assert found["bootstrap"]["cautions"] == [
        "there is one provider only: the intervals do not say how others would differ"
    ]
    assert found["forms"]["NEG"]["ci_low"] < found["forms"]["NEG"]["ci_high"]
    assert found["ranking"]["NEG"]["tau_b_ci"] is None
    assert "two models" in found["ranking"]["NEG"]["reason"]


def test_one_model_and_one_item_have_no_interval_and_say_why():
    found = document(rows_of(models=("a1",), n_items=1))["panels"]["exact_count"]
    result = found["forms"]["NEG"]
    assert [result[key] for key in ("ci_low", "ci_high", "p_raw", "p_holm")] == [None] * 4
    assert "fewer than two providers and models and items" in result["reason"]
    assert (found["bootstrap"]["family_size"], found["bootstrap"]["untestable"]) == (0, ["NEG", "AVOID1"])
    assert "fewer than two" in found["bootstrap"]["sensitivity"]["model-item"]["reason"]


def test_a_degenerate_contrast_is_labelled_and_leaves_the_family():
    rows = [
        dataclasses.replace(row, compliant=row.form == "POS") if row.form != "NEG" else row
        for row in rows_of()
    ]
    found = document(rows)["panels"]["exact_count"]
    degenerate = found["forms"]["AVOID1"]
    assert (degenerate["ci_low"], degenerate["ci_high"], degenerate["ci_degenerate"]) == (-1, -1, True)
    assert (degenerate["p_raw"], degenerate["p_holm"]) == (None, None)
    assert degenerate["reason"].startswith("p: all replicates")
    assert (found["bootstrap"]["family_size"], found["bootstrap"]["untestable"]) == (1, ["AVOID1"])
    assert found["forms"]["NEG"]["p_holm"] == found["forms"]["NEG"]["p_raw"]
    assert "ci_degenerate" not in found["forms"]["NEG"]


def test_without_the_reference_form_there_is_nothing_to_contrast():
    found = document(rows_of(forms=("NEG", "AVOID1")))["panels"]["exact_count"]
    assert "ci_low" not in found["forms"]["NEG"]
    assert found["ranking"] == {}
    assert (found["bootstrap"]["family_size"], found["bootstrap"]["sensitivity"]) == (0, {})


def test_rows_that_are_not_scored_are_no_units():
    rows = rows_of()
    failed = [
        dataclasses.replace(row, item="never", compliant=None, status="error")
        for row in rows
        if row.item == "i00"
    ]
    before, after = (document(some)["panels"]["exact_count"] for some in (rows, rows + failed))
    assert after["bootstrap"] == before["bootstrap"]
    assert after["forms"]["NEG"]["ci_low"] == before["forms"]["NEG"]["ci_low"]


def test_every_model_excluded_and_no_scored_row():
    nothing = document(rows_of(), exclude=list(PROVIDERS))["panels"]["exact_count"]
    assert nothing["bootstrap"]["sensitivity"] == {}
    assert "no scored rows" in nothing["bootstrap"]["reason"]
    assert nothing["all_models"]["forms"]["NEG"]["ci_low"] is not None
    unscored = [dataclasses.replace(row, compliant=None, status="error") for row in rows_of()]
    assert document(unscored)["panels"]["exact_count"]["bootstrap"]["family_size"] == 0


def test_every_null_has_a_reason_beside_it():
    rows = rows_of(models=("a1", "b1"), n_items=2) + rows_of("keyword_once", models=("a1",), n_items=1)
    rows = [row for row in rows if not (row.model == "b1" and row.form == "NEG")]

    def walk(value, path=""):
        if isinstance(value, dict):
            for key, part in value.items():
                if part is None:
                    assert value.get("reason"), f"{path}/{key}"
                walk(part, f"{path}/{key}")
        elif isinstance(value, list):
            for part in value:
                walk(part, path)

    walk(json.loads(dump(document(rows)))["panels"])


def test_the_defaults_of_the_options_are_those_of_the_audit():
    assert (uncertainty.DEFAULT_SEED, uncertainty.DEFAULT_REPLICATES) == (DEFAULT_SEED, DEFAULT_REPLICATES)
    rows = rows_of(n_items=3)
    assert to_document(build_audit(rows)) == document(rows, seed=0, replicates=2000)


PUBLISHED = {  # percentage points
    "NEG": (-17.1, -4.4),
    "NEVER": (-14.6, -2.6),
    "AVOID1": (-29.0, -12.9),
    "AVOID2": (-6.3, 3.2),
    "CNEG": (-2.2, 4.5),
}


def test_the_published_intervals_of_table_2():
    """The rates are published, the rows are not: each rate is spread over its 300 cells by chance.

    How the compliant cells of a rate lie over items decides how much items vary.
    Chance is the choice that adds nothing to what is known. Bounds move by less
    than a point where all items comply alike, or where the same items comply
    under every form; repetitions that always agree, with items that comply
    independently from form to form, widen the small contrasts by up to 1.7
    points. Providers and models make up most of each interval, and their rates
    are the published ones.
    """
    rnd = np.random.default_rng(2)
    rows = []
    for record in model_rates():
        if record["panel"] != "exact_count" or record["model"] in GEMINI:
            continue
        n_compliant = round(float(record["compliance_pct"]) * 3)
        cells = rnd.permutation(300) < n_compliant
        rows += [
            Row(
                record["panel"],
                record["model"],
                record["provider"],
                f"item-{cell % 100:03}",
                record["form"],
                cell // 100 + 1,
                bool(compliant),
            )
            for cell, compliant in enumerate(cells.tolist())
        ]
    panel = to_document(build_audit(rows))["panels"]["exact_count"]
    for form, bounds in PUBLISHED.items():
        found = tuple(100 * panel["forms"][form][key] for key in ("ci_low", "ci_high"))
        assert found == pytest.approx(bounds, abs=1.5), form
    # Holm's verdicts of Table 10.
    significant = {form for form in PUBLISHED if panel["forms"][form]["p_holm"] < 0.05}
    assert significant == {"NEG", "NEVER", "AVOID1"}
    assert panel["bootstrap"]["n_units"] == {"providers": 6, "models": 11, "items": 100}

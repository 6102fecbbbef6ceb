"""Whether an effect of a wording survives another way to read the outputs, on rows made by hand."""

import dataclasses
import json
import random
import sys

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import Row
from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.html.page import render_page
from wise_pytest.report.markdown import render_markdown
from wise_pytest.report.terminal import summary_lines

PANELS = bundled_panels()
READERS = "other counters that read any output otherwise"
IDLE = "No output reads otherwise under"
NOTHING_TESTED = (
    f"{IDLE} any other counter (5 of 5), so that nothing was tested: whether the wording effect survives "
    "another counter cannot be said."
)


def row(form, item, text, *, model="m", repetition=1, panel="exact_count", target=3, **more):
    verdict = PANELS[panel].scorer().verify(text, target) if text is not None and target is not None else None
    return Row(
        panel=panel,
        model=model,
        provider=f"p-{model}",
        item=f"i{item}",
        form=form,
        repetition=repetition,
        compliant=False if verdict is None else verdict.compliant,
        text=text,
        target=target,
        verifier=PANELS[panel].verifier,
        **more,
    )


def audited(rows, *, replicates=500, **how):
    return build_audit(rows, replicates=replicates, **{"sensitivity": True, **how})


def readings_of(rows, panel="exact_count", **how):
    """What other counters say of one panel."""
    return audited(rows, **how).panels[panel].sensitivity


def written(rows, panel="exact_count", **how):
    """The same as ``audit.json`` has it."""
    return to_document(audited(rows, **how))["panels"][panel]["verifier_sensitivity"]


def always(text):
    return lambda _: text


def grid(texts, *, n_items=20, models=("a", "b", "c")):
    """Rows of several models; ``texts`` says what a form answers to an item, by form."""
    return [
        row(form, item, say(item), model=model)
        for model in models
        for item in range(n_items)
        for form, say in texts.items()
    ]


def fates(sensitivity, form):
    return {name: reading.forms[form].fate for name, reading in sensitivity.readings.items()}


def test_an_effect_that_is_only_markdown_does_not_survive_its_removal():
    # Asked with AVOID1 the models write a bullet before the same three words.
    rows = grid(
        {
            "POS": always("one two three"),
            "AVOID1": lambda item: "- one two three" if item % 4 else "one two three",
        }
    )
    found = readings_of(rows)
    strict = found.readings["strict"].forms["AVOID1"]
    assert strict.rate.value == 0.25
    assert strict.contrast.diff == -0.75
    assert fates(found, "AVOID1") == {
        "strict": None,
        "markdown_removed": "unclear",
        "unwrapped": "survives",
        "answer_body": "survives",
        "unicode_words": "unclear",
        "language_words": "survives",
    }
    markdown = found.readings["markdown_removed"]
    assert markdown.forms["AVOID1"].rate.value == 1.0
    assert (markdown.n_changed_text, markdown.n_gained, markdown.n_lost) == (45, 45, 0)


def test_an_effect_can_turn_round_and_another_can_appear():
    wordy = {"POS": always("well-known two"), "AVOID1": always("one two three")}
    turned = readings_of(grid({**wordy, "NEG": lambda item: "well-known two three" if item % 5 else "a b"}))
    # Counted strictly POS has two words; by Unicode's boundaries well-known is two.
    assert turned.readings["strict"].forms["NEG"].rate.value == 0.8
    assert fates(turned, "NEG")["unicode_words"] == "reversed"
    appeared = readings_of(
        grid(
            {
                "POS": always("one two three"),
                "NEG": lambda item: "one well-known three" if item % 5 else "a b c",
            }
        )
    )
    assert appeared.readings["strict"].forms["NEG"].contrast.diff == 0
    assert fates(appeared, "NEG") == {
        "strict": None,
        "markdown_removed": "none",
        "unwrapped": "none",
        "answer_body": "none",
        "unicode_words": "appears",
        "language_words": "none",
    }


def test_an_output_that_is_read_as_it_stands_keeps_the_verdict_of_its_row():
    # A verdict of another version: nothing here may put it right.
    rows = [
        dataclasses.replace(each, compliant=True)
        for each in grid({"POS": always("one"), "NEG": always("one")})
    ]
    found = readings_of(rows)
    for reading in found.readings.values():
        assert {form.rate.value for form in reading.forms.values()} == {1.0}


def test_the_strict_score_is_the_rows_own_and_the_rows_are_left_alone():
    rows = grid({"POS": always("one two three"), "NEG": always("**one** two")})
    before = [each.to_json() for each in rows]
    found = readings_of(rows)
    assert [each.to_json() for each in rows] == before
    strict = found.readings["strict"]
    assert (strict.n_changed_text, strict.n_gained, strict.n_lost) == (0, 0, 0)
    assert strict.forms["POS"].rate.value == 1.0
    assert strict.forms["NEG"].rate.value == 0.0


def test_equal_rows_give_equal_documents_in_whatever_order_they_come():
    rng = random.Random(1)
    rows = grid(
        {
            form.form_id: lambda _: " ".join(["w"] * rng.choice([2, 3, 4]))
            for form in PANELS["exact_count"].forms
        }
    )
    document = json.dumps(written(rows))
    rng.shuffle(rows)
    assert json.dumps(written(rows)) == document
    json.loads(document, parse_constant=pytest.fail)


def test_what_cannot_be_read_is_counted_and_left_out():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    rows += [
        row("POS", 8, None),
        row("POS", 9, "one two three", target=None),
        dataclasses.replace(row("POS", 7, "x"), status="error", compliant=None),
        dataclasses.replace(row("POS", 6, "x"), panel="unknown"),
    ]
    panels = audited(rows).panels
    assert panels["unknown"].sensitivity is None
    found = panels["exact_count"].sensitivity
    assert (found.n, found.n_without_text) == (12, 2)
    bare = [dataclasses.replace(each, text=None) for each in rows]
    assert audited(bare).panels["exact_count"].sensitivity is None


def test_only_the_primary_models_are_pooled():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    found = written(rows, exclude=["b"])
    assert found["models"] == ["a", "c"]
    assert found["n"] == 8
    assert list(found["readings"]["strict"]["by_model"]) == ["a", "b", "c"]
    nobody = written(rows, exclude=["a", "b", "c"])
    assert (nobody["models"], nobody["n"]) == ([], 0)
    assert nobody["readings"]["strict"]["summary"] is None
    assert nobody["readings"]["strict"]["reason"] == "every model is excluded"
    assert nobody["readings"]["unwrapped"]["by_model"]["b"]["summary"]["gap"] == 1.0


def test_a_panel_of_json_is_read_in_the_ways_of_json():
    rows = [
        row(form, item, text, panel="json_structure", target=("a",))
        for item in range(6)
        for form, text in (
            ("POS", '{"a": 1}'),
            ("NEG", '```json\n{"a": 1}\n```'),
            ("AVOID", 'Sure: {"a": 1}'),
        )
    ]
    found = readings_of(rows, "json_structure")
    assert list(found.readings) == ["strict", "unwrapped", "answer_body"]
    rates = {
        name: {form: each.rate.value for form, each in reading.forms.items()}
        for name, reading in found.readings.items()
    }
    assert rates == {
        "strict": {"POS": 1.0, "NEG": 0.0, "AVOID": 0.0},
        "unwrapped": {"POS": 1.0, "NEG": 1.0, "AVOID": 0.0},
        "answer_body": {"POS": 1.0, "NEG": 1.0, "AVOID": 1.0},
    }


def test_a_missing_library_leaves_out_its_alternative_with_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "uniseg.wordbreak", None)
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    whole = written(rows)
    document = whole["readings"]
    assert whole["answer"].endswith("Not available: Unicode words.")
    assert document["unicode_words"]["forms"] is None
    assert "pip install 'wise-pytest[sensitivity]'" in document["unicode_words"]["reason"]
    assert document["language_words"]["forms"]["POS"]["compliance"] == 1.0


def test_without_replicates_or_a_reference_form_there_are_rates_alone():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    whole = written(rows, replicates=0)
    bare = whole["readings"]
    assert bare["strict"]["forms"]["NEG"] == {"compliance": 0.0, "n": 6, "n_compliant": 0, "diff": -1.0}
    assert "effect" not in bare["unwrapped"]
    assert "cannot be said" in whole["answer"]
    assert "effect" not in bare["unwrapped"]["forms"]["NEG"]
    others = [each for each in rows if each.form != "POS"]
    alone = readings_of(others)
    assert alone.readings["strict"].forms["NEG"].contrast is None


def test_one_item_of_one_model_has_no_interval_but_a_reason():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=1, models=("a",))
    form = written(rows)["readings"]["strict"]["forms"]["NEG"]
    assert (form["diff"], form["ci_low"], form["ci_high"]) == (-1.0, None, None)
    assert form["reason"]


# Beside the strict score


def by_chance(seed=1):
    """Three models that differ; AVOID1 is weaker because of bullets, NEG because of words."""
    rng = random.Random(seed)
    return grid(
        {
            "POS": lambda _: "one two three" if rng.random() < 0.8 else "one",
            "NEG": lambda _: "one two three" if rng.random() < 0.4 else "one two",
            "AVOID1": lambda _: "one two three" if rng.random() < 0.3 else "- one two three",
        },
        n_items=30,
    )


@pytest.fixture(scope="module")
def document():
    return to_document(audited(by_chance(), replicates=2000))


def test_the_strict_reading_is_the_audit_itself(document):
    panel = document["panels"]["exact_count"]
    strict = panel["verifier_sensitivity"]["readings"]["strict"]
    for key in ("pos", "mean", "worst", "worst_form", "gap", "gap_ci", "gap_bounds"):
        assert strict["summary"][key] == panel["summary"][key], key
    for form, found in strict["forms"].items():
        for key in ("compliance", "n", "n_compliant", "diff", "ci_low", "ci_high"):
            assert found.get(key) == panel["forms"][form].get(key), (form, key)
    for model, found in strict["by_model"].items():
        own = panel["by_model"][model]["summary"]
        for key in ("worst", "worst_form", "gap", "gap_ci", "gap_bounds"):
            assert found["summary"][key] == own[key], (model, key)


def test_asking_changes_nothing_else(document):
    plain = to_document(audited(by_chance(), replicates=2000, sensitivity=False))
    assert "verifier_sensitivity" not in plain["panels"]["exact_count"]
    del (asked := json.loads(json.dumps(document)))["panels"]["exact_count"]["verifier_sensitivity"]
    assert asked == json.loads(json.dumps(plain))


def test_the_gap_under_a_counter_is_that_of_rows_which_it_had_scored(document):
    rescored = [
        dataclasses.replace(each, text=text, compliant=len(text.split()) == 3)
        for each in by_chance()
        for text in [each.text.removeprefix("- ")]
    ]
    own = to_document(audited(rescored, replicates=2000, sensitivity=False))["panels"]["exact_count"]
    read = document["panels"]["exact_count"]["verifier_sensitivity"]["readings"]["markdown_removed"]
    for key in ("pos", "mean", "worst", "worst_form", "gap", "gap_ci", "gap_bounds"):
        assert read["summary"][key] == own["summary"][key], key
    assert read["forms"]["AVOID1"]["compliance"] == own["forms"]["AVOID1"]["compliance"] == 1.0


def test_the_answer_says_which_counters_the_effect_survives(document):
    found = document["panels"]["exact_count"]["verifier_sensitivity"]
    strict = found["readings"]["strict"]["summary"]
    assert strict["worst_form"] == "AVOID1"
    low, high = (100 * bound for bound in strict["gap_bounds"])
    assert {name: reading.get("effect") for name, reading in found["readings"].items()} == {
        "strict": None,
        "markdown_removed": "other_worst_form",
        "unwrapped": "untested",
        "answer_body": "untested",
        "unicode_words": "other_worst_form",
        "language_words": "untested",
    }
    assert found["answer"] == (
        f"The wording effect survives 2 of 2 {READERS}; strictly the gap is "
        f"{100 * strict['gap']:.1f} points ({low:.1f} to {high:.1f}), and AVOID1 the worst form. "
        "Under Markdown removed NEG is the "
        f"worst form. Under Unicode words NEG is the worst form. {IDLE} unwrapped, answer "
        "body and language words, which tests nothing."
    )
    assert list(found["answer_by_model"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"POS": always("one two three"), "NEG": always("one two")},
            (f"The gap is 100.0 points ({{}}) strictly. {NOTHING_TESTED}"),
        ),
        (
            {"POS": always("one two three"), "NEG": always("- one two three")},
            (
                f"The wording effect survives 0 of 2 {READERS}; strictly the "
                "gap is 100.0 points ({}), and NEG the worst form. It may be none under Markdown removed and "
                f"Unicode words. {IDLE} unwrapped, answer body and language words, which tests nothing."
            ),
        ),
        (
            {"POS": always("one two three"), "NEG": always("one well-known three")},
            (
                "Strictly no wording effect is clear: the gap of 0.0 points ({}) may be none. One is clear "
                f"under Unicode words. {IDLE} Markdown removed, unwrapped, answer body and language words, "
                "which tests nothing."
            ),
        ),
        (
            {"POS": always("one two three"), "NEG": always("one two three")},
            (f"The gap is 0.0 points ({{}}) strictly. {NOTHING_TESTED}"),
        ),
    ],
)
def test_each_answer_in_plain_sentences(texts, said):
    found = written(grid(texts))
    # What Wilson's bound leaves open of 60 of 60, 3.84 / 63.84, and of one model's 20 of 20, 3.84 / 23.84;
    # of a gap of 100 at both ends.
    pooled, own = ("88.0 to 100.0", "67.8 to 100.0") if "100.0" in said else ("0.0 to 6.0", "0.0 to 16.1")
    assert found["answer"] == said.format(pooled)
    assert found["answer_by_model"]["a"] == said.format(own)


def test_every_report_shows_the_other_counters_and_a_run_that_did_not_ask_says_nothing(document):
    found = document["panels"]["exact_count"]["verifier_sensitivity"]
    text = render_markdown(document)
    section = text.split("### The same outputs under other counters")[1].split("###")[0]
    assert found["answer"] in section
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 6
    assert "### Compliance under other counters" in text
    tables = render_tables(document)
    gaps = tables["verifier_sensitivity_gaps.csv"].splitlines()
    assert len(gaps) == 1 + 6 * (1 + 3)
    assert len(tables["verifier_sensitivity.csv"].splitlines()) == 1 + 6 * (1 + 3) * 3
    row = dict(zip(gaps[0].split(","), gaps[1].split(","), strict=True))
    assert float(row["gap"]) == found["readings"]["strict"]["summary"]["gap"]
    page = render_page(document)
    assert "Does the wording effect survive the choice of counter?" in page
    assert found["answer"] in page
    assert f"other counters: exact_count: {found['answer']}" in [
        line.text for line in summary_lines(document)
    ]
    plain = to_document(audited(by_chance(), sensitivity=False))
    assert "other counters" not in render_markdown(plain)
    assert not {name for name in render_tables(plain) if name.startswith("verifier")}
    assert "choice of counter" not in render_page(plain)
    assert "other counters" not in str(summary_lines(plain))

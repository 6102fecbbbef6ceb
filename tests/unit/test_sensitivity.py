"""Whether an effect of a wording survives another way to read the outputs, on rows made by hand."""

import dataclasses
import json
import random
import sys

import pytest

from wise_pytest.audit.sensitivity import build_sensitivity, to_document
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import Row

PANELS = bundled_panels()


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
    found = build_sensitivity(rows, PANELS)["exact_count"]
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
    turned = build_sensitivity(
        grid({**wordy, "NEG": lambda item: "well-known two three" if item % 5 else "a b"}), PANELS
    )["exact_count"]
    # Counted strictly POS has two words; by Unicode's boundaries well-known is two.
    assert turned.readings["strict"].forms["NEG"].rate.value == 0.8
    assert fates(turned, "NEG")["unicode_words"] == "reversed"
    appeared = build_sensitivity(
        grid(
            {
                "POS": always("one two three"),
                "NEG": lambda item: "one well-known three" if item % 5 else "a b c",
            }
        ),
        PANELS,
    )["exact_count"]
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
    found = build_sensitivity(rows, PANELS)["exact_count"]
    for reading in found.readings.values():
        assert {form.rate.value for form in reading.forms.values()} == {1.0}


def test_the_strict_score_is_the_rows_own_and_the_rows_are_left_alone():
    rows = grid({"POS": always("one two three"), "NEG": always("**one** two")})
    before = [each.to_json() for each in rows]
    found = build_sensitivity(rows, PANELS)["exact_count"]
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
    document = json.dumps(to_document(build_sensitivity(rows, PANELS)))
    rng.shuffle(rows)
    assert json.dumps(to_document(build_sensitivity(rows, PANELS))) == document
    json.loads(document, parse_constant=pytest.fail)


def test_what_cannot_be_read_is_counted_and_left_out():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    rows += [
        row("POS", 8, None),
        row("POS", 9, "one two three", target=None),
        dataclasses.replace(row("POS", 7, "x"), status="error", compliant=None),
        dataclasses.replace(row("POS", 6, "x"), panel="unknown"),
    ]
    found = build_sensitivity(rows, PANELS)
    assert list(found) == ["exact_count"]
    assert (found["exact_count"].n, found["exact_count"].n_without_text) == (12, 2)


def test_only_the_primary_models_are_pooled():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    found = build_sensitivity(rows, PANELS, primary={"exact_count": ["a", "c"]})["exact_count"]
    assert found.models == ("a", "c")
    assert found.n == 8
    assert build_sensitivity(rows, PANELS, primary={}) == {}


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
    found = build_sensitivity(rows, PANELS)["json_structure"]
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
    document = to_document(build_sensitivity(rows, PANELS))["exact_count"]["readings"]
    assert document["unicode_words"]["forms"] is None
    assert "pip install 'wise-pytest[sensitivity]'" in document["unicode_words"]["reason"]
    assert document["language_words"]["forms"]["POS"]["compliance"] == 1.0


def test_without_replicates_or_a_reference_form_there_are_rates_alone():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=2)
    bare = to_document(build_sensitivity(rows, PANELS, replicates=0))["exact_count"]["readings"]
    assert bare["strict"]["forms"]["NEG"] == {"compliance": 0.0, "n": 6, "n_compliant": 0}
    assert "effect" not in bare["unwrapped"]["forms"]["NEG"]
    others = [each for each in rows if each.form != "POS"]
    alone = build_sensitivity(others, PANELS)["exact_count"]
    assert alone.readings["strict"].forms["NEG"].contrast is None


def test_one_item_of_one_model_has_no_interval_but_a_reason():
    rows = grid({"POS": always("one two three"), "NEG": always("one")}, n_items=1, models=("a",))
    form = to_document(build_sensitivity(rows, PANELS))["exact_count"]["readings"]["strict"]["forms"]["NEG"]
    assert (form["diff"], form["ci_low"], form["ci_high"]) == (-1.0, None, None)
    assert form["reason"]

import dataclasses
import json

import pytest

from tests.judged import COMPLIANT
from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers import VERIFIERS, get_verifier, registry

EXAMPLES = {
    "word_count/1": (2, {"exact": "a b", "under": "a", "over": "a b c"}),
    "word_range/1": ((2, 3), {"below": "a", "within": "a b", "above": "a b c d"}),
    "keyword_once/1": ("sun", {"zero": "", "once": "sun", "multiple": "sun sun"}),
    "json_keys/1": (
        ("a", "b"),
        {
            "ok": '{"a":1,"b":2}',
            "unparseable": "",
            "not_object": "[]",
            "duplicate_key": '{"a":1,"a":2}',
            "missing_keys": '{"a":1}',
            "extra_keys": '{"a":1,"b":2,"c":3}',
            "wrong_keys": '{"a":1,"c":3}',
        },
    ),
    "ordered_parts/1": (
        ("A:", "B:"),
        {
            "ordered": "A: a B: b",
            "missing_part": "A: a",
            "repeated_part": "A: a B: b B: b",
            "wrong_order": "B: b A: a",
            "preamble": "Well. A: a B: b",
            "empty_part": "A: B: b",
        },
    ),
    "lower_case/1": (
        "lower case",
        {"lower": "a b", "initials": "A b", "inside": "aB", "all_capitals": "AB", "empty": ""},
    ),
    "citation_once/1": (
        "[Number]",
        {"zero": "a", "wrong_form": "a [b]", "once": "a [1]", "multiple": "a [1] [2]"},
    ),
    "tool_call/1": (
        '{"name":"f","parameters":{"type":"object","required":["a"]}}',
        {
            "ok": '{"name":"f","arguments":{"a":1}}',
            "unparseable": "f(a=1)",
            "not_object": "[]",
            "duplicate_key": '{"name":"f","name":"f","arguments":{"a":1}}',
            "wrong_keys": '{"name":"f"}',
            "wrong_function": '{"name":"g","arguments":{"a":1}}',
            "bad_arguments": '{"name":"f","arguments":{}}',
        },
    ),
    "words_and_keyword/1": (
        (2, "sun"),
        {"both": "sun up", "words_only": "moon up", "keyword_only": "sun", "neither": "moon"},
    ),
}


def test_the_names_of_the_verifiers_are_those_that_rows_carry():
    assert [verifier.name for verifier in VERIFIERS] == list(EXAMPLES)


@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda verifier: verifier.verifier_id)
def test_each_direction_of_the_table_can_happen_and_one_of_them_complies(verifier):
    target, texts = EXAMPLES[verifier.name]
    verifier.check_target(target)
    assert set(texts) == set(verifier.directions)
    for direction, text in texts.items():
        verdict = verifier.verify(text, target)
        assert verdict.direction == direction
        assert verdict.compliant == (direction == COMPLIANT[verifier.name])


@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda verifier: verifier.verifier_id)
def test_a_target_survives_its_journey_through_a_row(verifier):
    target, texts = EXAMPLES[verifier.name]
    again = json.loads(json.dumps(target))
    again = tuple(again) if isinstance(again, list) else again
    verifier.check_target(again)
    assert all(verifier.verify(text, again) == verifier.verify(text, target) for text in texts.values())


def test_a_verifier_is_found_with_and_without_its_version():
    assert get_verifier("word_count/1") is get_verifier("word_count")
    assert get_verifier("json_keys").name == "json_keys/1"


def test_without_a_version_the_newest_is_meant(monkeypatch):
    def always(_text, _target):
        return Verdict(compliant=True, direction="exact")

    newer = dataclasses.replace(VERIFIERS[0], version=10, function=always)
    older = dataclasses.replace(VERIFIERS[0], version=9)
    monkeypatch.setattr(registry, "VERIFIERS", (*VERIFIERS, newer, older))
    assert get_verifier("word_count") is newer
    assert get_verifier("word_count/1") is VERIFIERS[0]
    assert get_verifier("word_count/9") is older


@pytest.mark.parametrize(
    "name", ["word_cuont", "word_cuont/1", "word_count/2", "Word_Count/1", "word_count/01"]
)
def test_an_unknown_verifier_is_an_error_that_names_what_exists_and_what_is_close(name):
    with pytest.raises(PanelError) as caught:
        get_verifier(name)
    message = str(caught.value)
    assert f"unknown verifier {name!r}" in message
    assert ", ".join(EXAMPLES) in message
    assert "did you mean 'word_count/1'?" in message


@pytest.mark.parametrize("name", ["", "less than", "/1"])
def test_nothing_passes_for_a_verifier_by_default(name):
    with pytest.raises(PanelError, match="unknown verifier"):
        get_verifier(name)

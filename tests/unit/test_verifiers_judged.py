"""Every verifier against texts that a person has judged, and against anything at all."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judged import CASES, COMPLIANT, REQUIREMENTS, UNUSABLE, USABLE
from wise_pytest.errors import PanelError
from wise_pytest.records import Row, Verdict
from wise_pytest.verifiers import VERIFIERS, get_verifier

MIN_JUDGED = 30


def verdict_of(name, direction, observed, error):
    return Verdict(
        compliant=direction == COMPLIANT[name], direction=direction, observed=observed, error=error
    )


def test_every_verifier_has_enough_judged_texts_and_each_direction_among_them():
    assert list(CASES) == list(COMPLIANT) == [verifier.name for verifier in VERIFIERS]
    for verifier in VERIFIERS:
        assert len({text for text, *_ in CASES[verifier.name]}) >= MIN_JUDGED
        assert {direction for _, _, direction, *_ in CASES[verifier.name]} == set(verifier.directions)


@pytest.mark.parametrize("name", CASES)
def test_texts_are_judged_as_a_person_has_judged_them(name):
    verifier = get_verifier(name)
    wrong = [
        (text, target, verdict, judged)
        for text, target, *rest in CASES[name]
        if (verdict := verifier.verify(text, target)) != (judged := verdict_of(name, *rest))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", CASES)
def test_targets_that_can_be_met_pass_and_others_are_refused_in_one_line(name):
    verifier = get_verifier(name)
    for target in [*USABLE[name], *(target for _, target, *_ in CASES[name] if target != "")]:
        verifier.check_target(target)
        assert "\n" not in verifier.requirement(target)
        assert verifier.requirement(target).split()[0] in {"has", "is", "consists"}
    for target in UNUSABLE[name]:
        with pytest.raises(PanelError) as caught:
            verifier.check_target(target)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_a_target_survives_its_journey_through_a_row(name):
    verifier = get_verifier(name)
    for target in USABLE[name]:
        row = Row("p", "m", "v", "i", "f", 1, compliant=True, target=target)
        again = Row.from_dict(json.loads(row.to_json()), where="here").target
        assert again == target
        verifier.check_target(again)


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None)  # the first function call to judge loads a library
@given(data=st.data())
def test_any_text_has_a_verdict_and_it_is_the_same_again(name, data):
    verifier = get_verifier(name)
    cases = CASES[name]
    alphabet = sorted(set("".join(text[:200] for text, *_ in cases)))
    text = data.draw(
        st.text(st.characters(), max_size=60)
        | st.text(st.sampled_from(alphabet), max_size=60)
        | st.sampled_from([text for text, *_ in cases]).flatmap(
            lambda text: st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(
                lambda cut: text[: cut[0]] + text[cut[1] :]
            )
        )
    )
    target = data.draw(st.sampled_from([target for _, target, *_ in cases if target != ""]))
    verdict = verifier.verify(text, target)
    assert verdict.direction in verifier.directions
    assert verdict.compliant == (verdict.direction == COMPLIANT[name])
    assert verifier.verify(text, target) == verdict


def test_a_tool_call_whose_arguments_are_huge_is_a_verdict():
    verifier = get_verifier("tool_call/1")
    for step in ("1e-300", "0.1", "3", "1e300"):
        schema = '{"type": "object", "properties": {"n": {"multipleOf": ' + step + "}}}"
        target = '{"name": "f", "parameters": ' + schema + "}"
        verifier.check_target(target)
        for number in ("9" * 308, "1e308", "-1e308", "0", "5e-324"):
            call = '{"name": "f", "arguments": {"n": ' + number + "}}"
            assert verifier.verify(call, target).direction in {"ok", "bad_arguments"}


def test_the_parts_of_two_requirements_are_sums_of_directions():
    verifier = get_verifier("words_and_keyword/1")
    assert verifier.parts == REQUIREMENTS[verifier.name]
    words, keyword = get_verifier("word_count/1"), get_verifier("keyword_once/1")
    met = dict(verifier.parts)
    for text, (n, word), direction, *_ in CASES["words_and_keyword/1"]:
        assert (direction in met["words"]) == words.verify(text, n).compliant
        assert (direction in met["keyword"]) == keyword.verify(text, word).compliant


@pytest.mark.parametrize(
    ("name", "cell", "target"),
    [
        ("word_count/1", "5", 5),
        ("word_range/1", "8|12", (8, 12)),
        ("keyword_once/1", "new york", "new york"),
        ("json_keys/1", "a|b", ("a", "b")),
        ("ordered_parts/1", "A:|B:", ("A:", "B:")),
        ("citation_once/1", "[Number]", "[Number]"),
    ],
)
def test_a_cell_of_a_table_is_read_as_the_verifier_takes_it(name, cell, target):
    assert get_verifier(name).read_cell(cell) == target


@pytest.mark.parametrize(
    ("name", "cell"),
    [("word_count/1", "five"), ("word_count/1", "-1"), ("word_range/1", "8"), ("word_range/1", "8|x")],
)
def test_a_cell_that_holds_no_target_is_refused(name, cell):
    with pytest.raises(PanelError, match="expected"):
        get_verifier(name).read_cell(cell)

import json
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers.json_keys import check_target, verify
from wise_pytest.verifiers.strict_json import MAX_DEPTH

# Judged by eye against the keys "cause" and "effect": direction and number of keys.
JUDGED = [
    ('{"cause": 1, "effect": 2}', "ok", 2),
    ('{"effect": 2, "cause": 1}', "ok", 2),
    ('{"cause":"","effect":null}', "ok", 2),
    (' \t\r\n{"cause": [], "effect": {}}\n', "ok", 2),
    ('{\n  "cause": true,\n  "effect": false\n}', "ok", 2),
    ('{"cause": {"cause": 1}, "effect": [{"effect": 1}, {"effect": 1}]}', "ok", 2),
    ('{"c\\u0061use": 1, "effect": 2}', "ok", 2),
    ('{"cause": "\\ud83d", "effect": "\\u0000"}', "ok", 2),
    ('{"cause": "\ud83d", "effect": 1}', "ok", 2),
    ('{"cause": -0, "effect": 1E+2}', "ok", 2),
    ('{"cause": 1e-999, "effect": 1.5}', "ok", 2),
    ('{"cause": "[[[[", "effect": "a\\"]"}', "ok", 2),
    ('{"cause": ' + "9" * 5000 + ', "effect": -' + "9" * 5000 + "}", "ok", 2),
    ("", "unparseable", None),
    (" ", "unparseable", None),
    ("Lightning is faster.", "unparseable", None),
    ('Here it is: {"cause": 1, "effect": 2}', "unparseable", None),
    ('{"cause": 1, "effect": 2} I hope this helps!', "unparseable", None),
    ('{"cause": 1, "effect": 2}.', "unparseable", None),
    ('```json\n{"cause": 1, "effect": 2}\n```', "unparseable", None),
    ('```\n{"cause": 1, "effect": 2}\n```', "unparseable", None),
    ('`{"cause": 1, "effect": 2}`', "unparseable", None),
    ('\ufeff{"cause": 1, "effect": 2}', "unparseable", None),
    ('{"cause": 1, "effect": 2}\ufeff', "unparseable", None),
    ('\u00a0{"cause": 1, "effect": 2}', "unparseable", None),
    ('{"cause": 1, "effect": 2}\u2028', "unparseable", None),
    ('\x0c{"cause": 1, "effect": 2}', "unparseable", None),
    ('{"cause": 1,\u00a0"effect": 2}', "unparseable", None),
    ('{"cause": 1, "effect": 2}\0', "unparseable", None),
    ('{"cause": 1, "effect": 2}{"cause": 1, "effect": 2}', "unparseable", None),
    ('{"cause": 1, "effect": 2,}', "unparseable", None),
    ('{"cause": 1 "effect": 2}', "unparseable", None),
    ("{'cause': 1, 'effect': 2}", "unparseable", None),
    ("{cause: 1, effect: 2}", "unparseable", None),
    ("{“cause”: 1, “effect”: 2}", "unparseable", None),
    ('{"cause": 1, "effect": 2', "unparseable", None),
    ('{"cause": 1, "effect": "cut o', "unparseable", None),
    ('{"cause": 1, "effect": 2} // done', "unparseable", None),
    ('{"cause": "line\nbreak", "effect": 2}', "unparseable", None),
    ('{"cause": "tab\there", "effect": 2}', "unparseable", None),
    ('{"cause": "\\x41", "effect": 2}', "unparseable", None),
    ('{"cause": NaN, "effect": 2}', "unparseable", None),
    ('{"cause": Infinity, "effect": 2}', "unparseable", None),
    ('{"cause": -Infinity, "effect": 2}', "unparseable", None),
    ('{"cause": 1e999, "effect": 2}', "unparseable", None),
    ('{"cause": [{"deep": -1e999}], "effect": 2}', "unparseable", None),
    ('{"cause": ' + "9" * 400 + '.0, "effect": 2}', "unparseable", None),
    ('{"cause": 01, "effect": 2}', "unparseable", None),
    ('{"cause": .5, "effect": 2}', "unparseable", None),
    ('{"cause": 1., "effect": 2}', "unparseable", None),
    ('{"cause": +1, "effect": 2}', "unparseable", None),
    ('{"cause": 0x1F, "effect": 2}', "unparseable", None),
    ('{"cause": ١, "effect": 2}', "unparseable", None),
    ('{"cause": True, "effect": None}', "unparseable", None),
    ('{"cause": undefined, "effect": 2}', "unparseable", None),
    ('"cause"', "not_object", None),
    ("null", "not_object", None),
    ("12", "not_object", None),
    ("9" * 5000, "not_object", None),
    ('["cause", "effect"]', "not_object", None),
    ('[{"cause": 1, "effect": 2}]', "not_object", None),
    ('"{\\"cause\\": 1, \\"effect\\": 2}"', "not_object", None),
    ('{"cause": 1, "effect": 2, "cause": 1}', "duplicate_key", 2),
    ('{"cause": 1, "c\\u0061use": 1, "effect": 2}', "duplicate_key", 2),
    ('{"cause": 1, "effect": {"a": 1, "a": 1}}', "duplicate_key", 2),
    ('{"cause": [[{"a": 1, "b": 2, "a": 3}]], "effect": 2}', "duplicate_key", 2),
    ("{}", "missing_keys", 0),
    ('{"cause": 1}', "missing_keys", 1),
    ('{"cause": {"effect": 2}}', "missing_keys", 1),
    ('{"cause": 1, "effect": 2, "note": 3}', "extra_keys", 3),
    ('{"cause": 1, "effect": 2, "": 3}', "extra_keys", 3),
    ('{"cause": 1, "effects": 2}', "wrong_keys", 2),
    ('{"cause": 1, "Effect": 2}', "wrong_keys", 2),
    ('{"cause": 1, "effect ": 2}', "wrong_keys", 2),
    ('{"cause, effect": 1}', "wrong_keys", 1),
    ('{"answer": {"cause": 1, "effect": 2}}', "wrong_keys", 1),
]


@pytest.mark.parametrize(("text", "direction", "n_keys"), JUDGED, ids=range(len(JUDGED)))
def test_the_whole_output_is_one_object_with_exactly_the_keys(text, direction, n_keys):
    assert verify(text, ("cause", "effect")) == Verdict(
        compliant=direction == "ok", direction=direction, observed=n_keys, error=None
    )


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ('{"a": 1, "a": 1', "unparseable"),
        ('[{"a": 1, "a": 1}]', "not_object"),
        ('{"b": 1, "b": 1}', "duplicate_key"),
        ('{"a": 1, "b": 2, "b": NaN}', "unparseable"),
    ],
)
def test_of_several_faults_the_one_nearest_the_grammar_is_reported(text, direction):
    assert verify(text, ("a",)).direction == direction


def test_key_names_are_compared_code_point_by_code_point():
    assert verify('{"café": 1}', ("café",)).compliant
    assert verify('{"cafe\u0301": 1}', ("café",)).direction == "wrong_keys"


@pytest.mark.parametrize("opener", ["[", '{"a":', '[{"a":'])
def test_a_hundred_thousand_brackets_are_a_verdict(opener):
    assert verify(opener * 100_000, ("a",)).direction == "unparseable"
    assert verify('{"a":' + opener * 100_000, ("a",)).direction == "unparseable"
    assert verify('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", ("a",)).direction == "unparseable"


def test_nesting_is_allowed_to_a_fixed_depth():
    inner = MAX_DEPTH - 1
    assert verify('{"a":' + "[" * inner + "]" * inner + "}", ("a",)).compliant
    inner += 1
    assert verify('{"a":' + "[" * inner + "]" * inner + "}", ("a",)).direction == "unparseable"


def test_only_nesting_counts_as_depth():
    inner = MAX_DEPTH - 2
    assert verify('{"a": [[], ' + "[" * inner + "]" * inner + "]}", ("a",)).compliant
    inner += 1
    assert verify('{"a": [[], ' + "[" * inner + "]" * inner + "]}", ("a",)).direction == "unparseable"


@pytest.mark.parametrize("string", ['"\\\\"', '"\\""', '"[]"', '"]"', '"\\\\\\""'])
def test_a_string_hides_no_depth_that_follows_it(string):
    json.loads(string)
    nested = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert verify(f'{{"b": {string}, "a": {nested}}}', ("a", "b")).direction == "unparseable"


@pytest.mark.parametrize(
    "value", ['"' + "[{" * 300 + '"', '"' + '\\"[' * 300 + '"', "[" + "[]," * 300 + "[]]"]
)
def test_many_brackets_that_are_not_nested_are_no_depth(value):
    assert verify(f'{{"a": {value}}}', ("a",)).compliant


def test_the_depth_allowed_does_not_hang_on_the_stack_in_use():
    text = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    verdicts = []

    def descend(levels):
        if levels:
            descend(levels - 1)
        else:
            verdicts.append(verify(text, ("a",)))

    def run():
        descend(sys.getrecursionlimit() - 250)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert verdicts == [verify(text, ("a",))]
    assert verdicts[0].compliant


@given(
    st.text(st.characters(), max_size=60) | st.text(st.sampled_from('{}[]",:\\ea1-.N \n\ufeff'), max_size=30)
)
def test_any_text_has_a_verdict_whose_parts_agree(text):
    verdict = verify(text, ("a",))
    assert verdict.compliant == (verdict.direction == "ok")
    assert (verdict.observed is None) == (verdict.direction in {"unparseable", "not_object"})
    assert verdict.error is None
    if verdict.compliant:
        assert list(json.loads(text)) == ["a"]


keys = st.lists(st.text(st.characters(), min_size=1, max_size=6), min_size=1, max_size=4, unique=True)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
blanks = st.text(st.sampled_from(" \t\r\n"), max_size=3)


@st.composite
def written_objects(draw):
    """Key names and one way to write an object that has them."""
    names = draw(keys)
    order = draw(st.permutations(names))
    text = json.dumps(
        {name: draw(values) for name in order},
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r")])),
    )
    return tuple(names), draw(blanks) + text + draw(blanks)


@given(written_objects())
def test_however_an_object_is_written_it_complies(case):
    names, text = case
    assert verify(text, names) == Verdict(compliant=True, direction="ok", observed=len(names))


@given(written_objects(), st.data())
def test_one_fault_is_enough(case, data):
    names, text = case
    body = text.strip(" \t\r\n")
    first = json.dumps(names[0])
    faults = {
        "cut at the end": (body[:-1], "unparseable"),
        "cut at the start": (body[1:], "unparseable"),
        "prose before": ("Answer: " + text, "unparseable"),
        "prose after": (text + "Done", "unparseable"),
        "fence": (f"```json\n{text}\n```", "unparseable"),
        "byte-order mark": ("\ufeff" + text, "unparseable"),
        "no-break space": (text + "\u00a0", "unparseable"),
        "trailing comma": (body[:-1] + ",}", "unparseable"),
        "twice": (body + body, "unparseable"),
        "list": (f"[{body}]", "not_object"),
        "string": (json.dumps(body), "not_object"),
        "key again": (f"{body[:-1]}, {first}: 0}}", "duplicate_key"),
        "NaN": (f"{body[:-1]}, {first}: NaN}}", "unparseable"),
        "overflow": (f"{body[:-1]}, {first}: 1e400}}", "unparseable"),
        "another key": (f'{body[:-1]}, "another key": 0}}', "extra_keys"),
    }
    changed, direction = faults[data.draw(st.sampled_from(sorted(faults)))]
    assert verify(changed, names).direction == direction
    assert verify(text, (*names, "another key")).direction == "missing_keys"
    assert verify(text, (*names[1:], "another key")).direction == "wrong_keys"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ((), "one or more key names"),
        ("cause", "one or more key names"),
        (["cause"], "one or more key names"),
        (None, "one or more key names"),
        ((8, 12), "one or more key names"),
        (("cause", 1), "one or more key names"),
        (("cause", ""), "not blank"),
        (("cause", " "), "not blank"),
        (("cause", "effect", "cause"), "'cause' is there twice"),
    ],
)
def test_key_names_that_cannot_be_used_are_refused(target, reason):
    with pytest.raises(PanelError, match=reason):
        check_target(target)


def test_usable_key_names_pass():
    check_target(("cause",))
    check_target(("cause", "Cause", "light_speed", "größe"))

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recordings import recording
from wise_pytest.cassettes.stale import MAX_VALUE_LENGTH, explain_difference
from wise_pytest.cassettes.vcr import CellRequest, same_request

URL = "https://api.test/v1/chat/completions"
BODY = {
    "max_tokens": 120,
    "messages": [{"content": "Why so blue? Use 5 words.", "role": "user"}],
    "model": "m",
    "temperature": 0.2,
}


PROMPT = "messages[0].content"


def encoded(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def recorded(body=None, *, method="POST", url=URL):
    exchange = recording(request_body=encoded(BODY) if body is None else body).exchange
    return dataclasses.replace(exchange, method=method, url=url)


def explain(old=None, new=None, *, method="POST", url=URL):
    body = encoded(BODY) if new is None else new
    return explain_difference(recorded(old), method=method, url=url, body=body)


def test_equal_requests_have_nothing_to_explain():
    assert explain() == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"temperature": 0.7}, "temperature: recorded 0.2, now 0.7"),
        ({"max_tokens": 60}, "max_tokens: recorded 120, now 60"),
        ({"model": "n"}, 'model: recorded "m", now "n"'),
        ({"top_p": 1}, "top_p: recorded (absent), now 1"),
        ({"temperature": None}, "temperature: recorded 0.2, now null"),
        ({"temperature": "(absent)"}, 'temperature: recorded 0.2, now "(absent)"'),
        ({"stop": []}, "stop: recorded (absent), now []"),
        ({"extra": {}}, "extra: recorded (absent), now {}"),
        ({"x": {"a": [{}, 2]}}, "x.a[0]: recorded (absent), now {}; x.a[1]: recorded (absent), now 2"),
        (
            {"messages": [{"content": "Why so blue? Use 8 words.", "role": "user"}]},
            f'{PROMPT}: recorded "Why so blue? Use 5 words.", now "Why so blue? Use 8 words."',
        ),
        (
            {"messages": [{"content": "é\n\ud83d", "role": "user"}]},
            f'{PROMPT}: recorded "Why so blue? Use 5 words.", now "\\u00e9\\n\\ud83d"',
        ),
    ],
)
def test_each_field_that_differs_is_named_with_both_values(change, said):
    assert explain(new=encoded({**BODY, **change})) == said


def test_a_field_that_is_no_longer_sent_is_named():
    shorter = {name: value for name, value in BODY.items() if name != "temperature"}
    assert explain(new=encoded(shorter)) == "temperature: recorded 0.2, now (absent)"


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False), (1, 1.0), (None, "null"), ([], {})])
def test_values_that_python_or_a_reader_may_take_for_equal_are_told_apart(old, new):
    said = explain(old=encoded({"a": old}), new=encoded({"a": new}))
    assert said == f"a: recorded {json.dumps(old)}, now {json.dumps(new)}"


def test_all_differences_come_in_one_line_in_a_fixed_order():
    body = encoded({**BODY, "a": 1, "z": 2})
    said = explain_difference(recorded(method="GET"), method="POST", url="http://h.test/v1/x", body=body)
    assert said == (
        'method: recorded "GET", now "POST"; '
        f'URL: recorded "{URL}", now "http://h.test/v1/x"; '
        "a: recorded (absent), now 1; z: recorded (absent), now 2"
    )


def test_no_secret_of_a_url_is_shown_and_none_makes_a_difference():
    with_secrets = "https://user:sk-1@api.test/v1/chat/completions?key=sk-2#sk-3"
    assert explain(url=with_secrets) == ""
    moved = explain(url=with_secrets.replace("api.test", "other.test"))
    assert moved == f'URL: recorded "{URL}", now "{URL.replace("api.test", "other.test")}"'


def test_a_body_written_differently_is_said_to_be_so():
    assert explain(new=json.dumps(BODY).encode()) == "body: the same values, written differently"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"a", b"b", 'body: recorded "a", now "b"'),
        (b"", b"\xff\x00", 'body: recorded "", now "\\\\xff\\u0000"'),
        (b"\xfe", b"\xff", 'body: recorded "\\\\xfe", now "\\\\xff"'),
        (b"1", b"2", "body: recorded 1, now 2"),
        (b"[1,2]", b"[1,3]", "[1]: recorded 2, now 3"),
        (b"a\nb", b"{}", 'body: recorded "a\\nb", now {}'),
    ],
)
def test_bodies_that_are_no_json_objects_are_shown_as_they_are(old, new, said):
    assert explain(old=old, new=new) == said


def test_too_deep_a_body_is_shown_as_text():
    deep = b"[" * 200_000
    said = explain(old=deep, new=deep + b"[")
    assert said.startswith("body: recorded ")
    assert len(said) < 500


def test_a_long_value_is_cut_to_its_first_difference():
    task = "x" * 1000
    old = encoded({"a": task + " Use 5 words." + "y" * 1000})
    new = encoded({"a": task + " Use 8 words."})
    shared = "x" * 35 + " Use "
    before, now = explain(old=old, new=new).removeprefix("a: recorded ").split(", now ")
    assert before == "…" + shared + "5 words." + "y" * (MAX_VALUE_LENGTH - len(shared + "5 words.")) + "…"
    assert now == "…" + shared + '8 words."'


def test_a_long_value_beside_a_short_one_is_cut_at_its_end():
    said = explain(old=encoded({"a": "x" * 1000}), new=encoded({"a": 1}))
    assert said == 'a: recorded "' + "x" * (MAX_VALUE_LENGTH - 1) + "…, now 1"


def test_a_name_with_a_line_break_stays_on_the_line():
    assert explain(new=encoded({**BODY, "a\nb": 1})) == "a\\nb: recorded (absent), now 1"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
bodies = st.binary() | values.map(encoded)


@settings(deadline=None)
@given(bodies, bodies)
def test_whatever_differs_there_is_one_line_to_explain_it(old, new):
    said = explain(old=old, new=new)
    assert len(said.splitlines()) == (old != new)
    assert (said == "") == same_request(*(CellRequest("POST", URL, body, {}) for body in (old, new)))

import dataclasses
import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wise_pytest.errors import RowsError
from wise_pytest.records import (
    SCORED_STATUSES,
    STATUSES,
    Cell,
    Generation,
    Row,
    Usage,
    Verdict,
    build_row,
)

MINIMAL = {
    "panel": "exact_count",
    "model": "m",
    "provider": "p",
    "item": "i1",
    "form": "POS",
    "repetition": 1,
    "compliant": True,
}
"""All that rows from elsewhere must hold."""

SCHEMA_FIELDS = [
    "schema",
    "run",
    "panel",
    "model",
    "provider",
    "item",
    "form",
    "repetition",
    "target",
    "instruction",
    "prompt",
    "status",
    "finish_reason",
    "text",
    "compliant",
    "observed",
    "error",
    "direction",
    "flags",
    "usage",
    "latency_s",
    "attempts",
    "served_model",
    "request_digest",
    "recorded_at",
    "verifier",
]
"""As the contract lists them; a row also has ``reason``."""

REQUIRED_TEXTS = ["panel", "model", "provider", "item", "form"]
OPTIONAL_TEXTS = [
    "run",
    "instruction",
    "prompt",
    "finish_reason",
    "text",
    "direction",
    "served_model",
    "request_digest",
    "recorded_at",
    "verifier",
    "reason",
]
OPTIONAL_COUNTS = ["observed", "error", "attempts"]

texts = st.text(st.characters())  # lone surrogates included
names = st.text(st.characters(), min_size=1)
counts = st.integers(-(10**6), 10**6)
targets = counts | texts | st.tuples(counts, counts) | st.lists(texts, min_size=1, max_size=4).map(tuple)
outcomes = st.tuples(st.sampled_from(STATUSES), st.booleans()).map(
    lambda drawn: {"status": drawn[0], "compliant": drawn[1] if drawn[0] in SCORED_STATUSES else None}
)
usages = st.builds(Usage, *[st.none() | counts] * 3)


@st.composite
def rows(draw):
    return Row(
        **{name: draw(names) for name in REQUIRED_TEXTS},
        **{name: draw(st.none() | texts) for name in OPTIONAL_TEXTS},
        **{name: draw(st.none() | counts) for name in OPTIONAL_COUNTS},
        **draw(outcomes),
        repetition=draw(st.integers(1, 10**6)),
        target=draw(st.none() | targets),
        flags=tuple(draw(st.lists(texts, max_size=3))),
        usage=draw(usages),
        latency_s=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
    )


def read(record):
    return Row.from_dict(record, where="rows.jsonl:7")


def refusal(record):
    """What is said of a record that is refused."""
    with pytest.raises(RowsError) as error:
        read(record)
    message = str(error.value)
    assert message.startswith("rows.jsonl:7: ")
    assert "\n" not in message
    assert len(message) < 500
    return message.removeprefix("rows.jsonl:7: ")


# There and back


@settings(deadline=None)
@given(rows())
def test_any_row_is_one_line_of_ascii_and_comes_back_the_same(row):
    line = row.to_json()
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert read(json.loads(line)) == row
    assert read(json.loads(line)).to_json() == line


@settings(deadline=None)
@given(rows())
def test_a_line_holds_every_field_in_the_order_of_the_contract(row):
    record = json.loads(row.to_json())
    assert list(record) == [*SCHEMA_FIELDS, "reason"]
    assert record["schema"] == "wise.row/1"
    assert list(record["usage"]) == ["input_tokens", "output_tokens", "reasoning_tokens"]
    for name in {
        *REQUIRED_TEXTS,
        *OPTIONAL_TEXTS,
        *OPTIONAL_COUNTS,
        "repetition",
        "status",
        "compliant",
        "latency_s",
    }:
        assert record[name] == getattr(row, name)
        assert type(record[name]) is type(getattr(row, name))


def test_every_field_of_a_row_is_written():
    assert {field.name for field in dataclasses.fields(Row)} == {*SCHEMA_FIELDS, "reason"} - {"schema"}


@pytest.mark.parametrize("target", [5, "river", (8, 12), ("cause", "effect"), ("one",), ("a", "b", "c"), ""])
def test_a_target_keeps_its_kind(target):
    row = dataclasses.replace(read(MINIMAL), target=target)
    back = read(json.loads(row.to_json())).target
    assert (back, type(back)) == (target, type(target))


@pytest.mark.parametrize("latency_s", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_lacks_is_never_written(latency_s):
    with pytest.raises(ValueError, match="JSON"):
        dataclasses.replace(read(MINIMAL), latency_s=latency_s).to_json()


def test_a_row_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        read(MINIMAL).compliant = False


# What is enough


def test_a_minimal_row_is_accepted_and_the_rest_is_unknown():
    row = read(MINIMAL)
    assert row.key == ("m", "exact_count", "i1", "POS", 1)
    assert (row.compliant, row.status, row.scored) == (True, "ok", True)
    assert (row.flags, row.usage) == ((), Usage(None, None, None))
    unknown = [*OPTIONAL_TEXTS, *OPTIONAL_COUNTS, "target", "latency_s"]
    assert {name: getattr(row, name) for name in unknown} == dict.fromkeys(unknown)


def test_without_a_status_the_verdict_tells_it():
    assert read({**MINIMAL, "compliant": False}).status == "ok"
    not_scored = read({**MINIMAL, "compliant": None})
    assert (not_scored.status, not_scored.scored) == ("error", False)


def test_null_is_as_good_as_absent_for_what_is_optional():
    optional = [*OPTIONAL_TEXTS, *OPTIONAL_COUNTS, "target", "latency_s", "flags", "usage"]
    assert read({**MINIMAL, **dict.fromkeys(optional)}) == read(MINIMAL)
    assert read({**MINIMAL, "usage": {}}) == read(MINIMAL)
    assert read({**MINIMAL, "usage": {"input_tokens": None, "cached": "x"}}) == read(MINIMAL)


def test_what_is_not_known_is_passed_over():
    assert read({**MINIMAL, "score": 1, "schema": "wise.row/1"}) == read(MINIMAL)


@pytest.mark.parametrize("status", STATUSES)
def test_which_statuses_are_in_the_denominator(status):
    scored = status in {"ok", "truncated", "refused"}
    row = read({**MINIMAL, "status": status, "compliant": False if scored else None})
    assert row.scored is scored


# What is refused


@pytest.mark.parametrize("name", REQUIRED_TEXTS)
@pytest.mark.parametrize("value", [None, "", 1, True, [], {}, ["x"]])
def test_a_required_text_must_be_there(name, value):
    assert refusal({**MINIMAL, name: value}) == f"'{name}' must be a non-empty text, not {value!r}"


@pytest.mark.parametrize("name", REQUIRED_TEXTS)
def test_a_required_text_that_is_missing_is_named(name):
    short = {key: value for key, value in MINIMAL.items() if key != name}
    assert refusal(short) == f"'{name}' must be a non-empty text, not missing"


@pytest.mark.parametrize("name", OPTIONAL_TEXTS)
@pytest.mark.parametrize("value", [1, 0.5, False, ["x"], {"a": 1}])
def test_an_optional_text_is_a_text(name, value):
    assert refusal({**MINIMAL, name: value}) == f"'{name}' must be a text or null, not {value!r}"


@pytest.mark.parametrize("name", OPTIONAL_COUNTS)
@pytest.mark.parametrize("value", ["1", 1.0, True, [1], {}])
def test_a_count_is_a_whole_number(name, value):
    assert refusal({**MINIMAL, name: value}) == f"'{name}' must be a whole number or null, not {value!r}"


@pytest.mark.parametrize("value", [None, 0, -1, 1.0, True, "1", [1]])
def test_a_repetition_counts_from_1(value):
    said = f"'repetition' must be a whole number from 1, not {value!r}"
    assert refusal({**MINIMAL, "repetition": value}) == said


def test_a_repetition_or_verdict_that_is_missing_is_named():
    short = {key: value for key, value in MINIMAL.items() if key not in {"repetition", "compliant"}}
    assert refusal(short) == "'repetition' must be a whole number from 1, not missing"
    assert refusal({**short, "repetition": 1}) == "'compliant' is missing"


@pytest.mark.parametrize("value", [0, 1, 0.5, "true", "", [], {}])
def test_a_verdict_is_no_number(value):
    assert (
        refusal({**MINIMAL, "compliant": value}) == f"'compliant' must be true, false or null, not {value!r}"
    )


@pytest.mark.parametrize("value", [None, "OK", "", 1, [], {"a": 1}, "failed"])
def test_an_unknown_status_is_refused_with_those_that_exist(value):
    said = f"'status' must be one of ok, truncated, refused, blocked, error, not {value!r}"
    assert refusal({**MINIMAL, "status": value}) == said


@pytest.mark.parametrize(
    ("status", "compliant", "shown"),
    [
        ("ok", None, "null"),
        ("truncated", None, "null"),
        ("refused", None, "null"),
        ("blocked", False, "false"),
        ("blocked", True, "true"),
        ("error", False, "false"),
    ],
)
def test_a_verdict_that_contradicts_the_status_is_refused(status, compliant, shown):
    said = f"'compliant' is {shown}, which contradicts the status '{status}'"
    assert refusal({**MINIMAL, "status": status, "compliant": compliant}) == said


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 10**400, -(10**400), "0.5", True, [0.5], {}],
    ids=lambda value: str(value)[:8],
)
def test_a_latency_is_a_finite_number(value):
    said = refusal({**MINIMAL, "latency_s": value})
    assert said.startswith("'latency_s' must be a finite number of seconds or null, not ")


@pytest.mark.parametrize("value", [0, 3, 0.25, sys.float_info.max])
def test_a_whole_number_of_seconds_is_a_latency(value):
    read_back = read({**MINIMAL, "latency_s": value}).latency_s
    assert (read_back, type(read_back)) == (value, float)


@pytest.mark.parametrize("value", ["x", 1, {}, [1], ["x", None], True])
def test_flags_are_a_list_of_texts(value):
    assert refusal({**MINIMAL, "flags": value}) == f"'flags' must be a list of texts or null, not {value!r}"


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        True,
        {},
        [],
        [1],
        [1, 2, 3],
        [1, 2.0],
        [True, 2],
        [1, True],
        [True, "a"],
        ["a", 1],
        [None],
        [["a"]],
    ],
)
def test_a_target_is_of_one_of_five_kinds(value):
    expected = "a whole number, a text, two whole numbers, a number and a text, or a list of texts"
    assert refusal({**MINIMAL, "target": value}) == f"'target' must be {expected}, not {value!r}"


@pytest.mark.parametrize(
    "value",
    [1, "x", [], [1], True, {"input_tokens": "1"}, {"output_tokens": 1.0}, {"reasoning_tokens": True}],
)
def test_usage_is_an_object_of_counts(value):
    assert refusal({**MINIMAL, "usage": value}) == f"'usage' must be an object of token counts, not {value!r}"


@pytest.mark.parametrize("value", [None, "wise.row/2", "wise.audit/1", 1, ["wise.row/1"], {}])
def test_another_schema_is_refused(value):
    said = f"schema {value!r} is not 'wise.row/1', the one this version reads"
    assert refusal({**MINIMAL, "schema": value}) == said


@pytest.mark.parametrize(
    "name", ["schema", "model", "text", "status", "target", "usage", "flags", "repetition"]
)
def test_a_message_stays_short_however_long_the_value(name):
    said = refusal({**MINIMAL, name: ["x" * 10**6, 1]})
    assert name in said
    assert "…" in said


# A row from what a run knows

CELL = Cell(
    model="m",
    provider="p",
    panel="exact_count",
    item="i1",
    form="POS",
    repetition=2,
    target=5,
    instruction="Use 5 words.",
    prompt="Why? Use 5 words.",
    verifier="word_count/1",
)


def test_a_row_joins_a_cell_its_generation_and_the_verdict():
    generation = Generation(
        status="truncated",
        text="a b",
        finish_reason="length",
        flags=("x",),
        usage=Usage(1, 2, 3),
        served_model="m-1",
        request_digest="d",
        recorded_at="t",
        latency_s=0.5,
        attempts=3,
    )
    row = build_row(
        CELL, generation, Verdict(compliant=False, direction="under", observed=2, error=-3), run="r"
    )
    assert row == Row(
        panel="exact_count",
        model="m",
        provider="p",
        item="i1",
        form="POS",
        repetition=2,
        compliant=False,
        status="truncated",
        run="r",
        target=5,
        instruction="Use 5 words.",
        prompt="Why? Use 5 words.",
        finish_reason="length",
        text="a b",
        observed=2,
        error=-3,
        direction="under",
        flags=("x",),
        usage=Usage(1, 2, 3),
        latency_s=0.5,
        attempts=3,
        served_model="m-1",
        request_digest="d",
        recorded_at="t",
        verifier="word_count/1",
        reason=None,
    )
    assert row.key == CELL.key == ("m", "exact_count", "i1", "POS", 2)


def test_a_row_without_a_verdict_says_why():
    row = build_row(CELL, Generation(status="error", text=None, reason="no reply"), None, run="r")
    assert (row.compliant, row.observed, row.error, row.direction) == (None, None, None, None)
    assert (row.reason, row.scored, row.verifier) == ("no reply", False, "word_count/1")
    assert read(json.loads(row.to_json())) == row

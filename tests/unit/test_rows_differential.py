"""Columns are checked at once where ``Row.from_dict`` looks at one record: both have to say the same."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import event, given, settings

from wise_pytest.audit import rows as reading
from wise_pytest.audit.checks import CHECKED_FIELDS, LARGEST_COUNT, InDoubtError, check_limits, checked
from wise_pytest.audit.rows import columns_of_records, read_rows
from wise_pytest.audit.table import FIELDS, USAGE_FIELDS, columns_of
from wise_pytest.errors import RowsError
from wise_pytest.records import ROW_SCHEMA, Row

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = ["", "a", "ok", "null", "é\x00", "\ud83d", "x\ry", "1", None]
NAMES = ["a", "b", "é", "\ud83d"]
COUNTS = [0, 1, -1, 5, LARGEST_COUNT, -LARGEST_COUNT, None]
STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 0.0, 1.0, 0.5, 5.5, 1e999, -1e999, 10**400, LARGEST_COUNT + 1,
    -LARGEST_COUNT - 1, "", "x", "yes", "1", "true", "ok", "error", "truncated", ROW_SCHEMA, "wise.row/2",
    [], {}, [None], ["a"], ["a", 1], [1, 2], [1, 2, 3], [True, 2], [1.0, 2], [[1, 2]], [{}], {"a": 1},
    {"input_tokens": 1}, {"input_tokens": True}, {"input_tokens": 1.0}, {"output_tokens": "1"},
    {"reasoning_tokens": [1]}, {"input_tokens": LARGEST_COUNT + 1}, {"input_tokens": None, "more": []},
    [["a"]], [""], ["\ud83d", "b"], {"schema": ROW_SCHEMA},
]  # fmt: skip
"""Everything that JSON can hold where something else was meant; 1e999 is read as infinity."""
OPTIONAL: dict[str, list[Any]] = {
    "schema": [ROW_SCHEMA],
    "run": TEXTS,
    "target": [*COUNTS, *TEXTS, ["a"], ["", "b", "a"], [8, 12], [10**30, -1]],
    "instruction": TEXTS,
    "prompt": TEXTS,
    "finish_reason": TEXTS,
    "text": TEXTS,
    "observed": COUNTS,
    "error": COUNTS,
    "direction": TEXTS,
    "flags": [[], ["a"], ["a", ""], None],
    "usage": [
        {},
        {"input_tokens": 3},
        dict.fromkeys(USAGE_FIELDS),
        {"output_tokens": 0, "x": 1},
        None,
    ],
    "latency_s": [0, 1, 0.5, -0.0, 1e300, 10**300, None],
    "attempts": COUNTS,
    "served_model": TEXTS,
    "request_digest": TEXTS,
    "recorded_at": TEXTS,
    "verifier": TEXTS,
    "reason": TEXTS,
}
EVERY_FIELD = ("panel", "model", "provider", "item", "form", "repetition", "compliant", "status", *OPTIONAL)
SEEDS = st.integers(0, 2**32)
"""Drawing every value by itself would take most of the time."""


def sound(chance: random.Random) -> dict[str, Any]:
    """A record that is a row."""
    record: dict[str, Any] = {
        name: chance.choice(NAMES) for name in ("panel", "model", "provider", "item", "form")
    }
    record["repetition"] = chance.randint(1, 3)
    record["compliant"] = chance.choice([True, False, None])
    if chance.random() < 0.5:
        statuses = ["blocked", "error"] if record["compliant"] is None else ["ok", "truncated", "refused"]
        record["status"] = chance.choice(statuses)
    for name, values in OPTIONAL.items():
        if chance.random() < 0.6:
            record[name] = chance.choice(values)
    return record


def changed(chance: random.Random) -> dict[str, Any]:
    """A row in which one field or two are dropped or something else."""
    record = sound(chance)
    for name in chance.sample(EVERY_FIELD, chance.randint(1, 2)):
        if chance.random() < 0.3:
            record.pop(name, None)
        else:
            record[name] = chance.choice(STRANGE)
    return record


def some_records(chance: random.Random, most: int) -> list[dict[str, Any]]:
    """Few of them changed, so that the fast way is taken often."""
    return [(changed if chance.random() < 0.3 else sound)(chance) for _ in range(chance.randint(1, most))]


def one_by_one(records: list[dict[str, Any]], path: Path | str = "f") -> list[Row]:
    """What reading a line at a time gives."""
    rows = []
    for number, record in enumerate(records, start=1):
        row = Row.from_dict(record, where=f"{path}:{number}")
        check_limits(row, f"{path}:{number}", RowsError)
        rows.append(row)
    return rows


def same(one: Any, two: Any) -> bool:
    """Equal, and of the same types all the way down: 1 is not True here."""
    return repr(one) == repr(two)


@settings(deadline=None, max_examples=1500)
@given(SEEDS)
def test_columns_are_in_doubt_or_what_rows_hold(seed: int):
    records = some_records(random.Random(seed), 4)
    try:
        columns = columns_of_records(records)
    except InDoubtError:
        event("in doubt")
        return
    event("sure")
    expected = columns_of(one_by_one(records))
    assert columns.keys() == expected.keys() == set(FIELDS)
    for name, values in expected.items():
        assert same(columns[name], values), name


@settings(deadline=None, max_examples=300)
@given(SEEDS)
def test_sound_records_leave_no_doubt(seed: int):
    # The slow way would come to the same, and take many times as long.
    chance = random.Random(seed)
    records = [sound(chance) for _ in range(4)]
    assert columns_of_records(records)["panel"] == [record["panel"] for record in records]


@pytest.mark.parametrize("name", EVERY_FIELD)
def test_no_strange_value_of_any_field_passes_by_mistake(name: str):
    # Not left to chance: each value in each field, alone and beside a sound record.
    minimal = {
        "panel": "p", "model": "m", "provider": "x", "item": "i", "form": "F", "repetition": 1,
        "compliant": True,
    }  # fmt: skip
    for value in [*STRANGE, object]:
        record = {**minimal, name: value}
        if value is object:
            del record[name]
        try:
            expected = one_by_one([record])[0]
        except RowsError:
            for records in ([record], [minimal, record], [record, minimal]):
                with pytest.raises(InDoubtError):
                    columns_of_records(records)
            continue
        try:
            columns = columns_of_records([minimal, record])
        except InDoubtError:
            continue
        for field, values in columns_of([expected]).items():
            assert same(columns[field][1], values[0]), (name, value, field)


@pytest.mark.parametrize("name", CHECKED_FIELDS)
def test_no_rows_leave_no_doubt(name: str):
    assert checked(name, []) == []


@settings(deadline=None, max_examples=500)
@given(SEEDS)
def test_reading_a_file_is_reading_its_lines(seed: int):
    chance = random.Random(seed)
    records = some_records(chance, 6)
    for number, record in enumerate(records):
        if record.get("item") in NAMES:
            record["item"] = f"{record['item']}{number}"  # no two of one key
    lines = [json.dumps(record).replace("Infinity", "1e999") for record in records]
    broken = chance.choice([None, *range(len(lines))])
    if broken is not None:
        lines[broken] = chance.choice(["{", "[]", '{"a": NaN}', '{"a":1,"a":1}', "nul"])
    with tempfile.TemporaryDirectory() as folder, patch.object(reading, "_PART_LINES", chance.randint(1, 4)):
        path = Path(folder) / "rows.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        said, rows = outcome(lambda: read_rows([path]))
        expected_said, expected = outcome(lambda: one_by_one([*map(json.loads, lines[:broken])], path))
    if expected_said is None and broken is not None:
        event("no JSON")
        assert said is not None
        assert f"rows.jsonl:{broken + 1}: " in said
    else:
        event("rows" if expected_said is None else "no row")
        assert said == expected_said
        assert same(rows, expected)


def outcome(read: Callable[[], list[Row]]) -> tuple[str | None, list[Row]]:
    """What an attempt to read says against it, and what it reads."""
    try:
        return None, read()
    except RowsError as error:
        return str(error), []


FIELD_NAMES = ["a", "b", "usage", "c\\", 'd"', 'e":', "f :", "g\\\\", '"', '\\"', "x:", "\u00e9"]
FIELD_VALUES = [1, '":', '\\":', 'a" :', "\\", "\\\\", {}, [], None]
BLANKS = ["", "", "", " ", "\t", "  ", "\r"]


def some_json(chance: random.Random, depth: int) -> str:
    """An object whose names repeat, hold quotation marks and backslashes, and stand before blanks."""
    members = []
    for _ in range(chance.randint(0, 4)):
        deep = depth and chance.random() < 0.4
        value = some_json(chance, depth - 1) if deep else json.dumps(chance.choice(FIELD_VALUES))
        name = json.dumps(chance.choice(FIELD_NAMES), ensure_ascii=chance.random() < 0.5)
        members.append(f"{name}{chance.choice(BLANKS)}:{chance.choice(BLANKS)}{value}")
    return "{" + ",".join(members) + "}"


def twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def test_no_field_appears_twice_unseen():
    chance = random.Random(7)
    n_sure = 0
    for _ in range(20_000):
        text = some_json(chance, 2)
        if reading._names_each_field_once(text.encode(), json.loads(text)):
            n_sure += 1
            json.loads(text, object_pairs_hook=twice)
    assert n_sure > 3000  # or the test would show nothing

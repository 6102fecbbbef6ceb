from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import random
import struct
import sys

import pytest

from wise_pytest.audit import rows as reading
from wise_pytest.audit.merging import merged, rows_sha256
from wise_pytest.audit.rows import Flip, read_rows, read_table, rescore
from wise_pytest.audit.table import table_of
from wise_pytest.errors import RowsError
from wise_pytest.records import Row, Usage

MINIMAL = {
    "panel": "exact_count",
    "model": "m",
    "provider": "p",
    "item": "item-1",
    "form": "POS",
    "repetition": 1,
    "compliant": True,
}


def full_row(**changes) -> Row:
    values = {
        **MINIMAL,
        "run": "run-1",
        "target": 5,
        "text": "one two three four five",
        "observed": 5,
        "error": 0,
        "direction": "exact",
        "usage": Usage(10, 5, None),
        "latency_s": 0.25,
        "attempts": 1,
        "verifier": "word_count/1",
    }
    return Row(**{**values, **changes})


@pytest.fixture
def write(tmp_path):
    def write(*lines: str | bytes | dict, name: str = "rows.jsonl", end: str = "\n"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded = [
            line
            if isinstance(line, bytes)
            else (json.dumps(line) if isinstance(line, dict) else line).encode()
            for line in lines
        ]
        path.write_bytes(b"\n".join(encoded) + end.encode())
        return path

    return write


def test_seven_fields_are_enough(write):
    assert read_rows([write(MINIMAL)]) == [Row(**MINIMAL)]


def test_rows_come_back_as_they_were_written(write):
    rows = [full_row(), full_row(item="item-2", text="a\u2028b\ud83d\x1c", compliant=False, flags=("x",))]
    assert read_rows([write(*(row.to_json() for row in rows))]) == rows


def test_blank_lines_line_ends_and_a_missing_last_one_are_accepted(write):
    other = {**MINIMAL, "item": "item-2"}
    path = write("", json.dumps(MINIMAL) + "\r", "  \t", other, end="")
    assert [row.item for row in read_rows([path])] == ["item-1", "item-2"]


def test_a_byte_order_mark_is_accepted_where_editors_put_it(write):
    assert read_rows([write("\ufeff" + json.dumps(MINIMAL))]) == [Row(**MINIMAL)]


def test_a_folder_stands_for_its_journal(write, tmp_path):
    write(MINIMAL, name="run/generations.jsonl")
    assert len(read_rows([str(tmp_path / "run")])) == 1


def test_an_empty_file_has_no_rows(write):
    assert read_rows([write(end="")]) == []


def test_shards_are_merged_in_order_of_appearance(write):
    rows = [full_row(item=f"item-{number}") for number in range(4)]
    one = write(rows[2].to_json(), rows[0].to_json(), name="one.jsonl")
    two = write(rows[3].to_json(), rows[1].to_json(), name="two.jsonl")
    assert [row.item for row in read_rows([one, two])] == ["item-2", "item-0", "item-3", "item-1"]


def test_the_same_row_from_two_runs_is_one_row(write):
    one = write(full_row(run="a").to_json(), name="one.jsonl")
    two = write(full_row(run="b").to_json(), full_row(run="b").to_json(), name="two.jsonl")
    assert [row.run for row in read_rows([one, two])] == ["a"]


def test_contradicting_rows_are_an_error_that_names_both_places(write):
    one = write(full_row(item="other").to_json(), full_row().to_json(), name="one.jsonl")
    failing = full_row(compliant=False, text="one", observed=1, error=-4, direction="under")
    two = write(failing.to_json(), name="two.jsonl")
    with pytest.raises(RowsError) as caught:
        read_rows([one, two])
    message = str(caught.value)
    assert f"{one}:2 and {two}:1" in message
    assert "model m, panel exact_count, item item-1, form POS, repetition 1" in message
    assert "compliant" in message
    assert "latency_s" not in message
    assert "\n" not in message


def test_contradicting_rows_in_one_file(write):
    path = write(MINIMAL, {**MINIMAL, "compliant": False})
    with pytest.raises(RowsError, match=r"rows\.jsonl:1 and .*rows\.jsonl:2"):
        read_rows([path])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "is not a JSON object"),
        ('{"panel": "exa', "is not a JSON object"),
        ("[]", "must be a JSON object, one row a line, not list"),
        ("null", "must be a JSON object"),
        ("\ufeff" + json.dumps(MINIMAL), "Expecting value at column 1"),
        (json.dumps(MINIMAL) + json.dumps(MINIMAL), "Extra data"),
        (b'{"panel": "\xff"}', "is not UTF-8 (byte 12 of the line)"),
        (json.dumps(MINIMAL).encode("utf-16"), "is not UTF-8"),
        ("[" * 100_000, "is not a JSON object"),
        ('{"observed": ' + "9" * 5000 + "}", "is not a JSON object"),
        (json.dumps(MINIMAL)[:-1] + ', "compliant": false}', "the field 'compliant' appears twice"),
        (json.dumps({**MINIMAL, "latency_s": float("nan")}), "NaN is not JSON"),
        (json.dumps(MINIMAL)[:-1] + ', "latency_s": 1e999}', "'latency_s' must be a finite number"),
        (json.dumps({**MINIMAL, "observed": 10**30}), "'observed' is beyond"),
        (json.dumps({**MINIMAL, "target": -(10**30)}), "'target' is beyond"),
        (json.dumps({**MINIMAL, "usage": {"input_tokens": 2**53 + 1}}), "'usage.input_tokens' is beyond"),
        (json.dumps({**MINIMAL, "schema": "wise.row/2"}), "wise.row/2"),
        # A share in the place of a verdict must never be rounded to one.
        (json.dumps({**MINIMAL, "compliant": 1}), "'compliant' must be true, false or null, not 1"),
        (json.dumps({**MINIMAL, "compliant": 0}), "'compliant' must be true, false or null, not 0"),
        (json.dumps({**MINIMAL, "compliant": 0.5}), "'compliant' must be true, false or null, not 0.5"),
        (json.dumps({**MINIMAL, "compliant": 1.5}), "'compliant' must be true, false or null, not 1.5"),
        (json.dumps({**MINIMAL, "compliant": "yes"}), "'compliant' must be true, false or null, not 'yes'"),
        (json.dumps({k: v for k, v in MINIMAL.items() if k != "compliant"}), "'compliant' is missing"),
        (json.dumps({**MINIMAL, "status": None}), "'status' must be one of"),
        (json.dumps({**MINIMAL, "flags": [1]}), "'flags' must be a list of texts"),
        (json.dumps({**MINIMAL, "target": []}), "'target' must be a whole number"),
        (json.dumps({**MINIMAL, "usage": [1]}), "'usage' must be an object"),
        (json.dumps({**MINIMAL, "schema": None}), "schema None is not 'wise.row/1'"),
        (json.dumps({**MINIMAL, "repetition": "1"}), "'repetition' must be a whole number"),
        (json.dumps({**MINIMAL, "model": None}), "'model' must be a non-empty text"),
        (json.dumps({**MINIMAL, "status": "error"}), "contradicts the status"),
    ],
)
def test_a_line_that_is_no_row_names_its_file_and_line(write, line, problem):
    path = write(json.dumps({**MINIMAL, "item": "first"}), line, {**MINIMAL, "item": "last"})
    with pytest.raises(RowsError) as caught:
        read_rows([path])
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "probably cut" not in str(caught.value)


def test_a_cut_last_line_is_an_error_that_says_so(write):
    path = write(MINIMAL, full_row(item="item-2").to_json()[:60], end="")
    with pytest.raises(RowsError, match=r"rows\.jsonl:2: .*probably cut"):
        read_rows([path])


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(RowsError, match=r"nowhere\.jsonl: cannot be read: No such file"):
        read_rows([tmp_path / "nowhere.jsonl"])
    with pytest.raises(RowsError, match=r"this folder holds no generations\.jsonl"):
        read_rows([tmp_path])


def test_merging_rows_that_come_from_no_file():
    row, other = full_row(), full_row(compliant=False)
    assert list(merged(table_of([row, dataclasses.replace(row, run="b")])).rows()) == [row]
    unrelated = [full_row(item=f"item-{number}") for number in range(2, 7)]
    with pytest.raises(RowsError, match="row 1 and row 7 are one cell"):
        merged(table_of([row, *unrelated, other]))


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of three lines, so that a short file has several."""
    monkeypatch.setattr(reading, "_PART_LINES", 3)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("bad", [1, 3, 4, 6, 7, 8])
@pytest.mark.parametrize(
    ("line", "problem"),
    [("{", "is not a JSON object"), ({**MINIMAL, "repetition": 0}, "'repetition' must be")],
)
def test_a_fault_in_any_part_names_its_own_line(write, bad, line, problem):
    lines: list = ["", *({**MINIMAL, "item": f"item-{number}"} for number in range(6)), ""]
    lines[bad - 1] = line
    with pytest.raises(RowsError) as caught:
        read_rows([write(*lines)])
    assert f"rows.jsonl:{bad}: {problem}" in str(caught.value)


@pytest.mark.usefixtures("small_parts")
def test_contradictions_across_parts_and_files_name_both_places(write):
    lines = [{**MINIMAL, "item": f"item-{number}"} for number in range(7)]
    one = write("", *lines, name="one.jsonl")
    two = write(*lines[1:], {**lines[0], "compliant": False}, name="two.jsonl")
    with pytest.raises(RowsError, match="are one cell") as caught:
        read_rows([one, two])
    assert f"{one}:2 and {two}:7" in str(caught.value)


def test_rows_come_back_the_same_from_parts_of_any_size(write, monkeypatch):
    rows = [
        full_row(
            item=f"item-{number}",
            direction=None if number % 3 else f"way-{number}",
            flags=("x",) * (number % 2),
            target=[5, "word", (8, 12), ("a", "b"), None][number % 5],
            text=None if number % 4 == 1 else "é" * number,
            latency_s=None if number % 3 == 1 else number / 7,
        )
        for number in range(300)  # more different values than one byte of codes holds
    ]
    path = write(*(row.to_json() for row in rows))
    for size in (1, 7, 128, 299, 300, 301):
        monkeypatch.setattr(reading, "_PART_LINES", size)
        assert read_rows([path]) == rows


def test_of_two_faults_the_first_in_the_file_is_named(write):
    # One fault shows when a line is decoded, the other when its values are looked at.
    path = write(MINIMAL, {**MINIMAL, "repetition": 0}, "{")
    with pytest.raises(RowsError, match=r"rows\.jsonl:2: 'repetition'"):
        read_rows([path])
    path = write(MINIMAL, "{", {**MINIMAL, "repetition": 0})
    with pytest.raises(RowsError, match=r"rows\.jsonl:2: is not a JSON object"):
        read_rows([path])


@pytest.mark.parametrize(
    "line",
    [
        '{"compliant":true,"compliant":false,REST}',
        '{"compliant":true, "compliant" : true,REST}',
        '{"compliant":true,"compliant":false,"y" :3,REST}',
        '{"compliant":true,"compliant":false,"y"\t:3,REST}',
        '{"compliant":true,"compliant":false,"y\\\\":3,REST}',
        '{"compliant":true,"c\\u006fmpliant":false,REST}',
        '{"compliant":true,"usage":{"input_tokens":1,"input_tokens":2},REST}',
        '{"compliant":true,"usage":{"input_tokens":1,"input_tokens":2,"z" :1},REST}',
        '{"compliant":true,"other":{"deep":[{"a":1,"a":2}]},REST}',
        '{"compliant":true,"text":"\\"a\\":1","compliant":true,REST}',
    ],
)
def test_a_field_that_appears_twice_is_refused_however_it_is_written(write, line):
    rest = json.dumps({k: v for k, v in MINIMAL.items() if k != "compliant"})[1:-1]
    path = write(line.replace("REST", rest))
    with pytest.raises(RowsError, match=r"rows\.jsonl:1: .*the field '\w+' appears twice"):
        read_rows([path])


def test_fields_that_only_look_as_if_they_appeared_twice(write):
    text = 'He said "compliant": "compliant": {"a":1,"a":2} \\'
    row = full_row(text=text, reason='"compliant":')
    record = {**json.loads(row.to_json()), "other": {"compliant": 1, "usage": {"compliant": 2}}, "a\\": 1}
    assert read_rows([write(record)]) == [row]


def test_line_ends_of_other_systems_inside_texts_do_not_end_a_line(write):
    row = full_row(text="a\rb\x0bc\x0cd\x1ce\x85f\u2028g\u2029h\r\n")
    raw = json.dumps({**MINIMAL, "item": "raw", "text": "a\x85b\u2028c"}, ensure_ascii=False)
    assert read_rows([write(row.to_json() + "\r", raw)])[0] == row
    assert [each.item for each in read_rows([write(row.to_json() + "\r", raw)])] == ["item-1", "raw"]


def test_rows_of_one_item_have_one_target(write):
    one = write(full_row().to_json(), name="one.jsonl")
    other = full_row(form="NEG", model="n", target=8, compliant=False, observed=5, error=-3)
    without = full_row(form="CNEG", target=None, error=None)
    elsewhere = [full_row(item="item-2", target=8), full_row(panel="length_range", target=(8, 12))]
    two = write(*(row.to_json() for row in (without, *elsewhere, other)), name="two.jsonl")
    with pytest.raises(RowsError) as caught:
        read_rows([one, two])
    assert str(caught.value) == (
        f"{one}:1 and {two}:4 hold different targets for panel exact_count, item item-1: 5 and 8; "
        "they are of different versions of the panel: audit them apart"
    )
    assert len(read_rows([one, write(*(row.to_json() for row in (without, *elsewhere)))])) == 4


def test_rows_of_one_item_and_form_have_one_prompt(write):
    rows = [
        full_row(prompt="Name a river. Answer using exactly 5 words."),
        full_row(prompt="Name a river. Use 5 words.", form="NEG"),
        full_row(prompt=None, repetition=2),
        full_row(prompt="Name a river. Answer using exactly 5 words.", model="n"),
    ]
    assert len(read_rows([write(*(row.to_json() for row in rows))])) == 4
    changed = full_row(prompt="Name a RIVER. " + "x" * 500, model="o", repetition=3)
    with pytest.raises(RowsError) as caught:
        read_rows([write(*(row.to_json() for row in [*rows[::-1], changed]))])
    message = str(caught.value)
    assert "rows.jsonl:1 and " in message
    assert "rows.jsonl:5 hold different prompts for panel exact_count, item item-1, form POS: " in message
    assert "'Name a river. Answer using exactly 5 words.' and 'Name a RIVER. " in message
    assert len(message) < 800


def test_one_target_for_each_of_very_many_items():
    # More names than a place for each would be cheap for: the slower way has to come to the same.
    rows = [
        full_row(panel=f"panel-{number}", item=f"item-{number}", target=number + 1) for number in range(1500)
    ]
    assert len(merged(table_of(rows))) == 1500
    with pytest.raises(RowsError, match="row 700 and row 1501 hold different targets for panel panel-699"):
        merged(table_of([*rows, dataclasses.replace(rows[699], target=1, form="NEG")]))


def slow_digest(rows) -> str:
    """The documented digest, a row and a field at a time."""
    fields = [field.name for field in dataclasses.fields(Row) if field.name not in {"run", "usage"}]
    columns = {name: [getattr(row, name) for row in rows] for name in fields}
    for name in ("input_tokens", "output_tokens", "reasoning_tokens"):
        columns[f"usage.{name}"] = [getattr(row.usage, name) for row in rows]
    order = sorted(range(len(rows)), key=lambda place: rows[place].key)
    digest = hashlib.sha256()
    for name, values in columns.items():
        content = hashlib.sha256()
        for place in order:
            value = values[place]
            if name == "latency_s":
                content.update(struct.pack(">d", math.nan if value is None else value))
            elif isinstance(value, str):
                text = b"s" + value.encode("utf-8", "surrogatepass")
                content.update(hashlib.blake2b(text, digest_size=16).digest())
            else:
                text = b"j" + json.dumps(value, separators=(",", ":")).encode("ascii")
                content.update(hashlib.blake2b(text, digest_size=16).digest())
        digest.update(name.encode("ascii") + b"\n" + content.digest())
    return digest.hexdigest()


def various_rows() -> list[Row]:
    return [
        full_row(item="b", flags=("x", "y"), repetition=2),
        full_row(item="a", target=("k", "é"), repetition=10),
        full_row(item="a", target=("k", "é"), text="\ud83d \U0001f600", usage=Usage(None, 0, 7), run=None),
        full_row(item="c", target=None, text="", latency_s=None, compliant=None, status="error", attempts=3),
        full_row(item="d", target=(8, 12), text=None, latency_s=-0.0, served_model="null", reason="5"),
        full_row(panel="\ud83d", item="e", target="word", recorded_at="2026-01-01T00:00:00Z"),
        full_row(model="Z", item="e", latency_s=0.0, request_digest="ab" * 32, observed=-(2**53)),
    ]


def test_the_digest_can_be_recomputed_from_its_description():
    rows = various_rows()
    assert rows_sha256(table_of(rows)) == slow_digest(
        [row if row.latency_s != 0 else dataclasses.replace(row, latency_s=0.0) for row in rows]
    )
    assert rows_sha256(table_of([])) == slow_digest([])


def test_the_digest_ignores_order_and_run_and_nothing_else():
    rows = [full_row(item=f"item-{number}") for number in range(20)]
    expected = rows_sha256(table_of(rows))
    shuffled = [dataclasses.replace(row, run="another") for row in rows]
    random.Random(1).shuffle(shuffled)
    assert rows_sha256(table_of(shuffled)) == expected
    assert rows_sha256(table_of(rows[1:])) != expected
    # What stands for a value must not be that of another: each changed alone, then two of them swapped.
    other = {
        "panel": "x", "model": "x", "provider": "x", "item": "x", "form": "x", "repetition": 2,
        "compliant": False, "status": "truncated", "target": "5", "instruction": "", "prompt": "x",
        "finish_reason": "x", "text": None, "observed": 0, "error": None, "direction": "null",
        "flags": ("x",), "usage": Usage(11, 5, None), "latency_s": 0.0, "attempts": None,
        "served_model": "x", "request_digest": "x", "recorded_at": "x", "verifier": "x", "reason": "x",
    }  # fmt: skip
    assert {*other, "run"} == {field.name for field in dataclasses.fields(Row)}
    seen = {expected}
    for name, value in other.items():
        digest = rows_sha256(table_of([dataclasses.replace(rows[0], **{name: value}), *rows[1:]]))
        assert digest not in seen, name
        seen.add(digest)
    for usage in (Usage(10, None, 5), Usage(None, 5, 10), Usage(5, 10, None)):
        digest = rows_sha256(table_of([dataclasses.replace(rows[0], usage=usage), *rows[1:]]))
        assert digest not in seen
        seen.add(digest)


def test_the_digest_is_the_same_whatever_file_the_rows_come_from(write):
    rows = [row for row in various_rows() if row.compliant is not None]
    lines = [row.to_json() for row in rows]
    one, two = write(*lines[::2], name="one.jsonl"), write(*lines[::-1], name="two.jsonl")
    assert (
        rows_sha256(read_table([one, two])) == rows_sha256(read_table([two])) == rows_sha256(table_of(rows))
    )


def test_rescoring_finds_the_verdicts_that_change():
    right = full_row()
    wrong = full_row(item="item-2", text="only three words")  # its row says 5 words, compliant
    lost = full_row(item="item-3", compliant=False, observed=4, error=-1, direction="under")
    rescored = rescore([right, wrong, lost])
    assert rescored.flips == (
        Flip(wrong.key, "word_count/1", before=True, after=False),
        Flip(lost.key, "word_count/1", before=False, after=True),
    )
    assert str(rescored.flips[0]) == (
        "model m, panel exact_count, item item-2, form POS, repetition 1: "
        "compliant → not compliant (word_count/1)"
    )
    assert rescored.rows[0] == right
    fresh = rescored.rows[1]
    assert (fresh.compliant, fresh.observed, fresh.error, fresh.direction) == (False, 3, -2, "under")
    assert (rescored.n_rescored, rescored.n_kept) == (3, 0)


def test_rescoring_mends_details_without_a_flip():
    stale = full_row(compliant=False, text="a", observed=9, error=4, direction="over")
    rescored = rescore([stale])
    assert rescored.flips == ()
    assert rescored.rows[0].direction == "under"


def test_rescoring_keeps_what_it_cannot_score():
    minimal = Row(**MINIMAL)
    failed = full_row(item="e", status="error", compliant=None, text=None)
    blocked = full_row(item="b", status="blocked", compliant=None, text="partial")
    rescored = rescore([minimal, failed, blocked])
    assert rescored.rows == (minimal, failed, blocked)
    assert (rescored.n_rescored, rescored.n_kept) == (0, 1)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"verifier": "word_cuont/1"}, "unknown verifier 'word_cuont/1'"),
        ({"target": "five"}, "whole number of words"),
    ],
)
def test_rescoring_with_a_verifier_or_target_that_is_none(changes, problem):
    with pytest.raises(RowsError, match=problem) as caught:
        rescore([full_row(**changes)])
    assert "model m, panel exact_count, item item-1" in str(caught.value)


def test_rows_are_the_same_without_the_faster_decoder(write, monkeypatch):
    records = [
        {**MINIMAL, "item": f"item-{number}", "text": text, "latency_s": latency, "target": target}
        for number, (text, latency, target) in enumerate(
            [
                ("a", 1, 5),
                ("\ud83d", 0.1, "sun"),
                ("\u2028", None, [8, 12]),
                ("", 2**63, ["a", "b"]),
                (None, 1e300, None),
            ]
        )
    ]
    path = write(*records)
    fast = read_rows([path])
    monkeypatch.setitem(sys.modules, "orjson", None)
    assert read_rows([path]) == fast
    assert [row.latency_s for row in fast] == [1.0, 0.1, None, float(2**63), 1e300]

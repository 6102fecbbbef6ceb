from __future__ import annotations

import dataclasses
import hashlib
import json
import random

import pytest

from wise_pytest.audit.rows import Flip, merge_rows, read_rows, rescore, rows_sha256
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
        (json.dumps({**MINIMAL, "schema": "wise.row/2"}), "wise.row/2"),
        (json.dumps({**MINIMAL, "compliant": 1}), "'compliant' must be true, false or null"),
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
    assert merge_rows([("row 1", row), ("row 2", dataclasses.replace(row, run="b"))]) == [row]
    with pytest.raises(RowsError, match="row 1 and row 7 are one cell"):
        merge_rows([("row 1", row), ("row 7", other)])


def test_the_digest_can_be_recomputed_from_its_description():
    rows = [full_row(item="b", flags=("x", "y")), full_row(item="a", target=("k", "é"))]
    fields = [field.name for field in dataclasses.fields(Row) if field.name not in {"run", "usage"}]
    lines = []
    for row in sorted(rows, key=lambda row: row.key):
        values = [getattr(row, name) for name in fields]
        values += [row.usage.input_tokens, row.usage.output_tokens, row.usage.reasoning_tokens]
        lines.append(json.dumps(values, separators=(",", ":")) + "\n")
    assert rows_sha256(rows) == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_the_digest_ignores_order_and_run_and_nothing_else():
    rows = [full_row(item=f"item-{number}") for number in range(20)]
    shuffled = [dataclasses.replace(row, run="another") for row in rows]
    random.Random(1).shuffle(shuffled)
    assert rows_sha256(shuffled) == rows_sha256(rows)
    changed = [dataclasses.replace(rows[0], usage=Usage(11, 5, None)), *rows[1:]]
    assert rows_sha256(changed) != rows_sha256(rows)
    assert rows_sha256(rows[1:]) != rows_sha256(rows)


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

"""Parquet beside JSON lines: the same rows, the same digest, the same audit; faults name file and row."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wise_pytest.audit import parquet
from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import dump, to_document
from wise_pytest.audit.merging import rows_sha256
from wise_pytest.audit.parquet import write_parquet
from wise_pytest.audit.rows import read_rows, read_table
from wise_pytest.audit.table import table_of
from wise_pytest.errors import RowsError
from wise_pytest.records import Row, Usage

BASE: dict[str, Any] = {
    "panel": ["p", "p"],
    "model": ["m", "m"],
    "provider": ["x", "x"],
    "item": ["i", "j"],
    "form": ["POS", "POS"],
    "repetition": [1, 1],
    "compliant": [True, False],
}


def mixed_rows(seed: int, n: int = 60) -> list[Row]:
    """Rows with every kind of value in every field, and with none."""
    chance = random.Random(seed)
    texts = [None, "", "null", "one two", "\U0001f600 naïve 字", "a\r\nb\x00c", "x" * 1000]
    targets = [None, 5, 0, -3, 2**53, "word", "", "5", "null", (8, 12), ("a", "b"), ("",), ("8", "12")]
    rows = []
    for number in range(n):
        compliant = chance.choice([True, False, None])
        statuses = ("error", "blocked") if compliant is None else ("ok", "truncated", "refused")
        rows.append(
            Row(
                panel=chance.choice(["exact_count", "own", "é"]),
                model=chance.choice(["a", "b", "\U0001f600"]),
                provider="x",
                item=f"item-{number}",
                form=chance.choice(["POS", "NEG"]),
                repetition=chance.randint(1, 300),
                compliant=compliant,
                status=chance.choice(statuses),
                run=chance.choice([None, "r1", "r2"]),
                target=chance.choice(targets),
                instruction=chance.choice(texts),
                prompt=chance.choice(texts),
                finish_reason=chance.choice([None, "stop", ""]),
                text=chance.choice(texts),
                observed=chance.choice([None, 0, 7, 2**53]),
                error=chance.choice([None, 0, -(2**53), 7]),
                direction=chance.choice([None, "under", ""]),
                flags=chance.choice([(), (), ("a",), ("a", "b"), ("",)]),
                usage=Usage(chance.choice([None, 0, 10]), chance.choice([None, 7]), None),
                latency_s=chance.choice([None, 0.0, 0.1, 1e-300, 123456.75]),
                attempts=chance.choice([None, 1, 2]),
                served_model=chance.choice([None, "s"]),
                request_digest=chance.choice([None, "ab" * 32]),
                recorded_at=chance.choice([None, "2026-01-01T00:00:00.000Z"]),
                verifier=chance.choice([None, "word_count/1"]),
                reason=chance.choice([None, "timeout"]),
            )
        )
    return rows


def write(tmp_path, columns: dict[str, Any], name: str = "rows.parquet", **options):
    path = tmp_path / name
    given = {key: pa.array(value) if isinstance(value, list) else value for key, value in columns.items()}
    pq.write_table(
        pa.table({key: value for key, value in given.items() if value is not None}), path, **options
    )
    return path


def read_pair(tmp_path, **columns: Any) -> list[Row]:
    return read_rows([write(tmp_path, {**BASE, **columns})])


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_is_read(tmp_path, seed, monkeypatch):
    rows = mixed_rows(seed)
    path = tmp_path / "rows.parquet"
    write_parquet(table_of(rows), path)
    assert [each.name for each in tmp_path.iterdir()] == ["rows.parquet"]  # no draft is left
    expected = rows_sha256(table_of(rows))
    for size in (250_000, 7, 1):
        monkeypatch.setattr(parquet, "_PART_ROWS", size)
        table = read_table([path])
        assert list(table.rows()) == rows
        assert rows_sha256(table) == expected


@pytest.mark.parametrize("rows", [[], mixed_rows(1, 1), [Row("p", "m", "x", "i", "POS", 1, None, "error")]])
def test_few_rows_come_back_too(tmp_path, rows):
    write_parquet(table_of(rows), tmp_path / "rows.pq")
    assert read_rows([tmp_path / "rows.pq"]) == rows


def test_a_row_of_both_kinds_of_file_is_one_row(tmp_path):
    rows = mixed_rows(3)
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(replace(row, run="z").to_json() + "\n" for row in rows), encoding="ascii")
    write_parquet(table_of(rows), tmp_path / "rows.parquet")
    assert read_rows([tmp_path / "rows.parquet", lines]) == rows
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(replace(rows[9], direction="other").to_json() + "\n", encoding="ascii")
    with pytest.raises(RowsError, match=r"rows\.parquet:10 and .*wrong\.jsonl:1 are one cell .*direction"):
        read_rows([tmp_path / "rows.parquet", wrong])


def test_the_audit_of_both_kinds_of_file_is_the_same(tmp_path):
    rows = [replace(row, target=5, prompt=None) for row in mixed_rows(5, 200) if row.panel != "é"]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(row.to_json() + "\n" for row in rows), encoding="ascii")
    shuffled = random.Random(1).sample(rows, len(rows))
    write_parquet(table_of(shuffled[:70]), tmp_path / "one.parquet")
    write_parquet(table_of(shuffled[60:]), tmp_path / "two.parquet")  # ten rows are in both
    audits = [
        dump(to_document(build_audit(read_table(paths), replicates=50)))
        for paths in ([lines], [tmp_path / "two.parquet", tmp_path / "one.parquet"])
    ]
    assert audits[0] == audits[1]
    assert '"examples"' in audits[0]


def coded(codes: list[Any], values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(values))


def frame(**more: Any) -> pd.DataFrame:
    return pd.DataFrame({**BASE, **more})


@pytest.mark.parametrize(
    ("more", "name", "expected"),
    [
        # A missing whole number makes pandas hold the others as floating-point ones.
        ({"observed": [7, None]}, "observed", [7, None]),
        ({"target": [5.0, 8.0]}, "target", [5, 8]),
        ({"observed": pd.array([7, None], dtype="Int64")}, "observed", [7, None]),
        ({"attempts": np.array([1, 2], dtype=np.uint8)}, "attempts", [1, 2]),
        ({"usage.output_tokens": [np.nan, 9.0]}, "usage.output_tokens", [None, 9]),
        ({"usage": [{"input_tokens": 5, "other": "x"}, None]}, "usage.input_tokens", [5, None]),
        ({"usage": [{"output_tokens": 5.0}, {"output_tokens": None}]}, "usage.output_tokens", [5, None]),
        ({"compliant": [True, None]}, "compliant", [True, None]),
        ({"compliant": pd.array([True, None], dtype="boolean")}, "compliant", [True, None]),
        ({"direction": pd.Categorical(["a", None], categories=["z", "a"])}, "direction", ["a", None]),
        ({"model": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)}, "model", ["b", "a"]),
        ({"text": pd.Categorical(["t", None])}, "text", ["t", None]),
        ({"text": pd.array(["t", None], dtype="string")}, "text", ["t", None]),
        ({"text": pd.Series(["", None], dtype=object)}, "text", ["", None]),
        ({"text": [None, None]}, "text", [None, None]),
        ({"target": [[8, 12], [8, 12]]}, "target", [(8, 12), (8, 12)]),
        ({"target": [["a"], ["b", "c"]]}, "target", [("a",), ("b", "c")]),
        ({"target": ["river", None]}, "target", ["river", None]),
        ({"flags": [["x"], None]}, "flags", [("x",), ()]),
        ({"latency_s": [1, None]}, "latency_s", [1.0, None]),
        ({"latency_s": np.array([1, 2], dtype=np.int16)}, "latency_s", [1.0, 2.0]),
        ({"status": ["truncated", None]}, "status", ["truncated", "ok"]),
        ({"schema": ["wise.row/1", None]}, "reason", [None, None]),
        ({"whatever": [{"a": [1]}, None], "index": [1, 2]}, "text", [None, None]),
    ],
)  # fmt: skip
def test_what_pandas_writes_is_read(tmp_path, more, name, expected):
    frame(**more).to_parquet(tmp_path / "rows.parquet")
    table = read_table([tmp_path / "rows.parquet"])
    assert [table.columns[name].get(row) for row in (0, 1)] == expected
    assert [type(table.columns[name].get(row)) for row in (0, 1)] == [*map(type, expected)]


@pytest.mark.parametrize(
    ("more", "name", "expected"),
    [
        ({"text": pa.array(["é", None], pa.large_string())}, "text", ["é", None]),
        ({"text": pa.array(["é", None], pa.string_view())}, "text", ["é", None]),
        ({"text": pa.array(["a", "b", "", "é"], pa.large_string())[2:]}, "text", ["", "é"]),
        ({"form": pa.array(["POS", "NEG"], pa.large_string())}, "form", ["POS", "NEG"]),
        ({"text": pa.array(["b", "a"]).dictionary_encode()}, "text", ["b", "a"]),
        # Polars writes indices without a sign.
        ({"direction": coded([1, None], ["a", "b"], pa.uint32())}, "direction", ["b", None]),
        ({"form": coded([1, 0], ["a", "b"], pa.uint64())}, "form", ["b", "a"]),
        ({"observed": coded([0, 1], [3, 3], pa.int8())}, "observed", [3, 3]),
        ({"target": pa.array([[8, 12], [8, 12]], pa.list_(pa.int32(), 2))}, "target", [(8, 12), (8, 12)]),
        ({"target_json": ["[8,12]", "[8,12]"]}, "target", [(8, 12), (8, 12)]),
        ({"target_json": [None, '"a"']}, "target", [None, "a"]),
        ({"compliant": pa.nulls(2), "status": pa.nulls(2), "text": pa.nulls(2), "flags": pa.nulls(2)},
         "status", ["error", "error"]),
        ({"usage": pa.nulls(2)}, "usage.input_tokens", [None, None]),
        ({"latency_s": pa.array(np.array([1, 2], np.float16))}, "latency_s", [1.0, 2.0]),
    ],
)  # fmt: skip
def test_what_others_write_is_read(tmp_path, more, name, expected):
    try:
        path = write(tmp_path, {**BASE, **more})
    except pa.ArrowNotImplementedError as error:  # such as views of texts, in older versions
        pytest.skip(f"this pyarrow cannot write it: {error}")
    table = read_table([path])
    assert [table.columns[name].get(row) for row in (0, 1)] == expected


@pytest.mark.parametrize(
    ("more", "place", "problem"),
    [
        ({"compliant": None}, ":1: ", "'compliant' is missing"),
        ({"compliant": [0.5, 1.0]}, ":1: ", "'compliant' must be true, false or null, not 0.5"),
        ({"compliant": [1, 0]}, ":1: ", "'compliant' must be true, false or null, not 1"),
        ({"compliant": ["yes", "no"]}, ":1: ", "'compliant' must be true, false or null, not 'yes'"),
        ({"panel": None}, ":1: ", "'panel' must be a non-empty text, not missing"),
        ({"model": ["m", None]}, ":2: ", "'model' must be a non-empty text, not None"),
        ({"model": ["m", ""]}, ":2: ", "'model' must be a non-empty text, not ''"),
        ({"item": [1, 2]}, ":1: ", "'item' must be a non-empty text, not 1"),
        ({"panel": [b"p", b"p"]}, ":1: ", "'panel' must be a non-empty text, not b'p'"),
        ({"text": [b"p", None]}, ":1: ", "'text' must be a text or null, not b'p'"),
        ({"repetition": [1, 0]}, ":2: ", "'repetition' must be a whole number from 1, not 0"),
        ({"repetition": [1.0, 1.5]}, ":2: ", "'repetition' must be a whole number from 1, not 1.5"),
        ({"repetition": [1.0, None]}, ":2: ", "'repetition' must be a whole number from 1, not None"),
        ({"repetition": pa.array([1, 2], pa.decimal128(5, 0))}, ":1: ", "'repetition' must be a whole"),
        ({"recorded_at": pa.array([1, None], pa.timestamp("ms"))}, ":1: ", "'recorded_at' must be a text"),
        ({"observed": [1.0, 2.5]}, ":2: ", "'observed' must be a whole number or null, not 2.5"),
        ({"observed": [0, 2**53 + 1]}, ":2: ", "'observed' is beyond"),
        ({"usage.input_tokens": pa.array([0, 2**64 - 1], pa.uint64())}, ":2: ", "'usage.input_tokens' is "),
        ({"usage": ["a", None]}, ":1: ", "'usage' must be an object of token counts"),
        ({"latency_s": [1.0, float("inf")]}, ":2: ", "'latency_s' must be a finite number"),
        ({"latency_s": ["1", None]}, ":1: ", "'latency_s' must be a finite number"),
        ({"status": ["ok", "fine"]}, ":2: ", "'status' must be one of"),
        ({"status": ["ok", "error"]}, ":2: ", "contradicts the status 'error'"),
        ({"schema": ["wise.row/1", "wise.row/2"]}, ":2: ", "schema 'wise.row/2' is not 'wise.row/1'"),
        ({"flags": [["a"], ["a", None]]}, ":2: ", "'flags' must be a list of texts"),
        ({"flags": ["a", None]}, ":1: ", "'flags' must be a list of texts"),
        ({"target": [[8], [8]]}, ":1: ", "'target' must be a whole number, a text"),
        ({"target": [5.5, 6.0]}, ":1: ", "'target' must be a whole number, a text"),
        ({"target_json": ["5", "{"]}, ":2: ", "'target_json' is not JSON"),
        ({"target_json": ["5", "[" * 100_000]}, ":2: ", "'target_json' is not JSON"),
        ({"target_json": ["5", "1" * 5000]}, ":2: ", "'target_json' is not JSON"),
        ({"target_json": ["5", "NaN"]}, ":2: ", "'target' must be a whole number, a text"),
        ({"target_json": [5, 6]}, ":1: ", "'target_json' is not JSON"),
        ({"target_json": ["5", "6"], "target": [5, 6]}, ": ", "has both columns 'target' and 'target_json'"),
        ({"usage": [{"input_tokens": 5}, None], "usage.input_tokens": [5, 6]}, ": ",
         "the column 'usage.input_tokens' appears twice"),
    ],
)  # fmt: skip
def test_a_fault_names_file_and_row(tmp_path, more, place, problem):
    path = write(tmp_path, {**BASE, **more})
    with pytest.raises(RowsError) as caught:
        read_rows([path])
    assert str(caught.value).startswith(f"{path}{place}")
    assert problem in str(caught.value)


def raw_texts(*raw: bytes) -> pa.Array:
    """A column of texts whose bytes nobody has checked."""
    ends = np.cumsum([0, *map(len, raw)]).astype(np.int32).tobytes()
    return pa.Array.from_buffers(
        pa.string(), len(raw), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(raw))]
    )


@pytest.mark.parametrize("name", ["text", "direction", "target", "target_json"])
@pytest.mark.parametrize("raw", [b"\xff", b"\xed\xa0\xbd"], ids=["no-utf-8", "half-a-surrogate-pair"])
def test_bytes_that_are_no_text_name_file_and_row(tmp_path, name, raw):
    path = write(tmp_path, {**BASE, name: raw_texts(b"fine", raw)})
    with pytest.raises(RowsError, match=rf"rows\.parquet:[12]: '{name}' is not"):
        read_rows([path])
    path = write(tmp_path, {**BASE, name: raw_texts(b"1", raw)})
    with pytest.raises(RowsError, match=rf"rows\.parquet:2: '{name}' is not UTF-8"):
        read_rows([path])


def test_rows_are_numbered_through_all_row_groups_and_parts(tmp_path, monkeypatch):
    n = 50
    columns = {
        "panel": ["p"] * n, "model": ["m"] * n, "provider": ["x"] * n, "form": ["POS"] * n,
        "item": [f"i{number}" for number in range(n)], "repetition": [1] * n, "compliant": [True] * n,
        "target": [*range(n)], "text": [None if k % 3 else "t" * k for k in range(n)],
    }  # fmt: skip
    path = write(tmp_path, columns, row_group_size=7)
    assert pq.ParquetFile(path).num_row_groups == 8
    monkeypatch.setattr(parquet, "_PART_ROWS", 5)
    rows = read_rows([path])
    assert [(row.item, row.target, row.text) for row in rows] == [
        (f"i{k}", k, None if k % 3 else "t" * k) for k in range(n)
    ]
    for bad in (0, 6, 7, 23, 49):
        repetition = [int(number != bad) for number in range(n)]
        path = write(tmp_path, {**columns, "repetition": repetition}, row_group_size=7)
        with pytest.raises(RowsError, match=rf"rows\.parquet:{bad + 1}: 'repetition'"):
            read_rows([path])


def test_row_groups_may_be_empty(tmp_path):
    table = pa.table({**BASE, "text": ["a", "b"]})
    with pq.ParquetWriter(tmp_path / "rows.parquet", table.schema) as writer:
        for part in (table[:0], table[:1], table[:0], table[1:], table[:0]):
            writer.write_table(part)
    assert [row.text for row in read_rows([tmp_path / "rows.parquet"])] == ["a", "b"]


@pytest.mark.parametrize("cut", [0, 4, 11, 200, -1, -9])
def test_a_cut_file_is_named(tmp_path, cut):
    path = write(tmp_path, BASE)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(RowsError, match=r"rows\.parquet: cannot be read as Parquet: "):
        read_rows([path])


def test_files_that_are_no_parquet(tmp_path):
    path = tmp_path / "rows.PARQUET"
    with pytest.raises(RowsError, match=r"rows\.PARQUET: cannot be read as Parquet: .*No such file"):
        read_rows([path])
    path.write_text("{}\n", encoding="ascii")
    with pytest.raises(RowsError, match=r"rows\.PARQUET: cannot be read as Parquet: "):
        read_rows([path])
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(RowsError, match=r"holds no generations\.jsonl"):
        read_rows([tmp_path / "folder.parquet"])


@pytest.mark.parametrize("old", [b"compliant", b"repetition"])
def test_a_damaged_footer_is_named(tmp_path, old):
    path = write(tmp_path, BASE)
    path.write_bytes(path.read_bytes().replace(old, b"\xff" * len(old)))
    with pytest.raises(RowsError, match=r"rows\.parquet"):
        read_rows([path])


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, BASE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RowsError, match=r"rows\.parquet: .*pip install 'wise-pytest\[parquet\]'"):
        read_rows([path])
    with pytest.raises(RowsError, match=r"out\.parquet: .*pip install 'wise-pytest\[parquet\]'"):
        write_parquet(table_of([]), tmp_path / "out.parquet")
    lines = tmp_path / "rows.jsonl"
    lines.write_text(Row("p", "m", "x", "i", "POS", 1, compliant=True).to_json() + "\n", encoding="ascii")
    assert len(read_rows([lines])) == 1  # and nobody else needs it


@pytest.mark.parametrize(
    "changes", [{"text": "\ud83d"}, {"direction": "\ud83d"}, {"flags": ("\ud83d",)}, {"usage": Usage(10**30)}]
)
def test_what_parquet_cannot_hold_is_not_written(tmp_path, changes):
    rows = [Row("p", "m", "x", "i", "POS", 1, compliant=True, **changes)]
    with pytest.raises(RowsError, match=r"out\.parquet: cannot be written as Parquet: "):
        write_parquet(table_of(rows), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(RowsError, match="cannot be written as Parquet"):
        write_parquet(table_of([]), tmp_path / "nowhere" / "out.parquet")

"""Rows files, read strictly into one table: merged when they agree, refused when they contradict each other.

``wise audit`` reads files here and scores rows again. Lines are decoded and
checked some ten thousand at a time, column by column. Where a part does not
pass, ``Row.from_dict`` goes over it line by line: it decides, and words the error.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.checks import ABSENT, InDoubtError, check_limits, checked, require, settled_statuses
from wise_pytest.audit.merging import merged, named
from wise_pytest.audit.parquet import PARQUET_SUFFIXES, add_parquet
from wise_pytest.audit.table import FIELDS, USAGE_FIELDS, TableBuilder, columns_of
from wise_pytest.errors import PanelError, RowsError
from wise_pytest.records import JOURNAL, ROW_SCHEMA, Row
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wise_pytest.audit.table import RowTable
    from wise_pytest.records import CellKey
    from wise_pytest.verifiers.registry import Verifier

MAX_LINE_BYTES = 100_000_000
"""No row is longer: its text is a part of one reply."""
_PART_LINES = 1_000
"""Few enough that their objects stay in the processor's cache until they are columns."""


def read_table(paths: Iterable[Path | str]) -> RowTable:
    """Read rows files and merge them.

    Parameters
    ----------
    paths
        Files with one JSON object a line (blank lines allowed), Parquet files
        (ending in ``.parquet`` or ``.pq``), or folders of runs, which stand for
        the ``generations.jsonl`` in them.

    Returns
    -------
    RowTable
        Every key once, in the order of first appearance. Rows that agree in
        everything but ``run`` are one row.

    Raises
    ------
    RowsError
        If a file cannot be read, a line is cut or is no row, or two rows with
        one key differ; the message names file and line, or both places.
    """
    builder = TableBuilder()
    for given in paths:
        path = Path(given)
        if path.is_dir():
            path /= JOURNAL
            if not path.is_file():
                raise RowsError(
                    f"{given}: this folder holds no {JOURNAL}; give a run's folder or a rows file"
                )
        if path.suffix.lower() in PARQUET_SUFFIXES:
            add_parquet(path, builder)
        else:
            _add_lines(path, builder)
    return merged(builder.table())


def read_rows(paths: Iterable[Path | str]) -> list[Row]:
    """The same as objects, for what goes over rows one by one.

    Raises
    ------
    RowsError
        As ``read_table``.
    """
    return list(read_table(paths).rows())


BASELINE_SCHEMA = "wise.baseline/1"
"""What the first line of a saved baseline says; rows follow it."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A row whose verdict changed when it was scored again."""

    key: CellKey
    verifier: str
    before: bool
    after: bool

    def __str__(self) -> str:
        words = {True: "compliant", False: "not compliant"}
        return f"{named(self.key)}: {words[self.before]} → {words[self.after]} ({self.verifier})"


@dataclass(frozen=True, slots=True)
class Rescored:
    """Rows with the verdicts of this version's verifiers."""

    rows: tuple[Row, ...]
    """All rows in the order given; those that could not be scored again as they were."""
    flips: tuple[Flip, ...]
    n_rescored: int
    n_kept: int
    """Scored rows that lack the text, target or verifier, and keep their verdict."""
    versions: tuple[str, ...] = ()
    """Verifiers that were replaced by a newer version, such as ``word_count/1 → word_count/2``; sorted."""


def rescore(
    rows: Iterable[Row],
    *,
    newest: bool = False,
    verifier_of: Callable[[str], Verifier] = get_verifier,
) -> Rescored:
    """Run the verifier that each row names on its text and target again.

    Rows that are not in the denominator stay as they are.

    Parameters
    ----------
    rows
        With texts and targets, or they keep their verdict.
    newest
        Take the newest version of the verifier, whichever the row names; the
        row then names that one.
    verifier_of
        The verifier of a name; ``PanelError`` where there is none. The bundled
        ones by default; a catalog of panels knows the user's own as well.

    Raises
    ------
    RowsError
        If a row names an unknown verifier, or a target that it cannot use.
    """
    fresh: list[Row] = []
    flips: list[Flip] = []
    n_rescored = n_kept = 0
    verifiers: dict[str, Verifier] = {}
    for row in rows:
        if not row.scored or row.text is None or row.target is None or row.verifier is None:
            n_kept += row.scored
            fresh.append(row)
            continue
        if row.verifier not in verifiers:
            verifiers[row.verifier] = _verifier_of(row, verifier_of, newest=newest)
        again = _scored_again(row, verifiers[row.verifier], newest=newest)
        if again.compliant is not row.compliant:
            flips.append(Flip(row.key, row.verifier, before=bool(row.compliant), after=bool(again.compliant)))
        n_rescored += 1
        fresh.append(again)
    versions = {f"{name} → {used.name}" for name, used in verifiers.items() if used.name != name}
    return Rescored(
        tuple(fresh),
        tuple(flips),
        n_rescored=n_rescored,
        n_kept=n_kept,
        versions=tuple(sorted(versions)) if newest else (),
    )


def _add_lines(path: Path, builder: TableBuilder) -> None:
    try:
        with path.open("rb") as stream:
            lines: list[bytes] = []
            numbers: list[int] = []
            # Binary lines end at \n only: a text stream would also split at \r.
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES + 1), b""), start=1):
                if len(line) > MAX_LINE_BYTES:
                    raise RowsError(f"{path}:{number}: is longer than {MAX_LINE_BYTES:,} bytes, and no row")
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901 - some editors put it there
                if number == 1 and _is_baseline_header(line):
                    continue
                if line.strip():
                    lines.append(line)
                    numbers.append(number)
                if len(lines) == _PART_LINES:
                    _add_part(path, lines, numbers, builder)
                    lines, numbers = [], []
            if lines:
                _add_part(path, lines, numbers, builder)
    except OSError as error:
        raise RowsError(f"{path}: cannot be read: {error.strerror or error}") from error


def _is_baseline_header(line: bytes) -> bool:
    """Whether a first line is the header of a saved baseline; ``baseline`` checks what it says."""
    if BASELINE_SCHEMA.encode("ascii") not in line:
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("schema") == BASELINE_SCHEMA


def _add_part(path: Path, lines: Sequence[bytes], numbers: Sequence[int], builder: TableBuilder) -> None:
    columns = _columns_fast(lines)
    if columns is None:
        columns = _columns_with_errors(path, lines, numbers)
    builder.add(columns, source=str(path), numbers=numbers)


def _columns_fast(lines: Sequence[bytes]) -> dict[str, list[Any]] | None:
    """The columns of lines that hold nothing unusual, by the faster decoder; ``None`` where any may.

    Without that decoder, too. It takes a whole number beyond 64 bits for a floating-point one, and of
    a field that appears twice the last: what is in doubt is decoded again.
    """
    try:
        from orjson import loads
    except ImportError:
        return None
    records = []
    try:
        for line in lines:
            record = loads(line)
            if not _names_each_field_once(line, record):
                return None
            records.append(record)
        return columns_of_records(records)
    except (ValueError, RecursionError, InDoubtError):
        return None


def _columns_with_errors(path: Path, lines: Sequence[bytes], numbers: Sequence[int]) -> dict[str, list[Any]]:
    """The columns of any lines, or the error that names the first that is no row."""
    records: list[dict[str, Any]] = []
    try:
        for line, number in zip(lines, numbers, strict=True):
            records.append(_record_of_line(line, path, number))
    except RowsError:
        _rows_one_by_one(path, records, numbers)  # a line before this one may be no row: it is named first
        raise
    try:
        return columns_of_records(records)
    except InDoubtError:
        return columns_of(_rows_one_by_one(path, records, numbers))


def _rows_one_by_one(path: Path, records: Sequence[dict[str, Any]], numbers: Sequence[int]) -> list[Row]:
    """The rows as objects, or the error that the first faulty one makes."""
    rows = []
    for record, number in zip(records, numbers, strict=False):
        row = Row.from_dict(record, where=f"{path}:{number}")
        check_limits(row, f"{path}:{number}", RowsError)
        rows.append(row)
    return rows


def _record_of_line(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        text = line.decode("utf-8").strip(" \t\r\n")
        record = _DECODE(text)
        if not _names_each_field_once(line, record):
            record = _DECODE_WATCHFULLY(text)
    except UnicodeDecodeError as error:
        raise RowsError(
            f"{path}:{number}: is not UTF-8 (byte {error.start + 1} of the line); {_hint(line)}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path}:{number}: is not a JSON object: {_said(error)}; {_hint(line)}") from error
    if not isinstance(record, dict):
        raise RowsError(
            f"{path}:{number}: must be a JSON object, one row a line, not {type(record).__name__}"
        )
    return record


def columns_of_records(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of every field, checked and in the form in which a ``Row`` holds them.

    Raises
    ------
    InDoubtError
        If a value may be one that no row can have.
    """
    schemas = [record.get("schema", ROW_SCHEMA) for record in records]
    require(schemas.count(ROW_SCHEMA) == len(schemas))
    require(all("compliant" in record for record in records))
    usages = [record.get("usage") for record in records]
    require(set(map(type, usages)) <= {dict, type(None)})
    columns: dict[str, list[Any]] = {
        f"usage.{name}": [usage.get(name) if usage else None for usage in usages] for name in USAGE_FIELDS
    }
    for name in FIELDS:
        if name not in columns and name != "status":
            columns[name] = [record.get(name) for record in records]
    columns = {name: checked(name, values) for name, values in columns.items()}
    statuses = (record.get("status", ABSENT) for record in records)
    columns["status"] = [*settled_statuses(statuses, columns["compliant"])]
    return columns


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} appears twice")
    return record


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


_DECODE = json.JSONDecoder(parse_constant=_no_constant).decode
_DECODE_WATCHFULLY = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant).decode
"""Refuses a field that appears twice; three times slower, and so kept for lines that may hold one."""


def _names_each_field_once(line: bytes, record: Any) -> bool:
    """Whether it is certain that no field appears twice.

    In a string a quotation mark has a backslash before it. So one with a colon
    behind it and none before it ends a name, and every name ends like this,
    unless white space stands before its colon or it ends in a backslash itself.
    Where there are as many of these as the objects have members, no member has
    replaced another.
    """
    if not isinstance(record, dict) or any(mark in line for mark in _UNUSUAL):
        return False
    usage = record.get("usage")
    n_members = len(record) + (len(usage) if isinstance(usage, dict) else 0)
    return line.count(b'":') - line.count(b'\\":') == n_members


_UNUSUAL = (b" :", b"\t:", b"\r:", b'\\\\":')


def _hint(line: bytes) -> str:
    if line.endswith(b"\n"):
        return "mend or remove this line"
    return (
        "the last line has no line end, so the file was probably cut while it was written; remove this line"
    )


def _said(error: BaseException) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"  # its own text would count lines within this line
    return str(error) or type(error).__name__


def _verifier_of(row: Row, verifier_of: Callable[[str], Verifier], *, newest: bool) -> Verifier:
    name = str(row.verifier)
    if newest:
        # One of the user's own may have no versions to choose from; then it is the one that is named.
        with contextlib.suppress(PanelError):
            return verifier_of(name.partition("/")[0])
    try:
        return verifier_of(name)
    except PanelError as error:
        raise RowsError(f"the row of {named(row.key)} cannot be scored again: {error}") from error


def _scored_again(row: Row, verifier: Verifier, *, newest: bool) -> Row:
    try:
        verifier.check_target(row.target)
    except PanelError as error:
        raise RowsError(f"the row of {named(row.key)} cannot be scored again: {error}") from error
    verdict = verifier.verify(str(row.text), row.target)
    return dataclasses.replace(
        row,
        compliant=verdict.compliant,
        direction=verdict.direction,
        observed=verdict.observed,
        error=verdict.error,
        verifier=verifier.name if newest else row.verifier,
    )

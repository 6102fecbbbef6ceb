"""Rows files, read strictly: merged when they agree, refused when they contradict each other.

``wise audit`` reads files and scores them again; the audit itself uses
``merge_rows`` and ``rows_sha256``.
"""

from __future__ import annotations

import codecs
import dataclasses
import hashlib
import json
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError, RowsError
from wise_pytest.records import JOURNAL, Row, Usage
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wise_pytest.records import CellKey
    from wise_pytest.verifiers.registry import Verifier

_LARGEST_COUNT = 2**53
"""Counts beyond this are exact neither in JSON readers nor in 64-bit sums."""
_COUNTS = ("repetition", "observed", "error", "attempts", "target")
_REPEATED = ("run", "panel", "model", "provider", "item", "form", "instruction", "prompt", "verifier")
"""Fields whose few different texts are kept once, however many rows hold them."""

_CONTENT_FIELDS = (
    *(field.name for field in dataclasses.fields(Row) if field.name not in {"run", "usage"}),
    *(f"usage.{field.name}" for field in dataclasses.fields(Usage)),
)
_content: Callable[[Row], tuple[Any, ...]] = attrgetter(*_CONTENT_FIELDS)
"""Everything a row says except which run wrote it."""


def read_rows(paths: Iterable[Path | str]) -> list[Row]:
    """Read rows files and merge them into one list.

    Parameters
    ----------
    paths
        Files with one JSON object a line (blank lines allowed), or folders of
        runs, which stand for the ``generations.jsonl`` in them.

    Returns
    -------
    list[Row]
        Every key once, in the order of first appearance. Rows that agree in
        everything but ``run`` are one row.

    Raises
    ------
    RowsError
        If a file cannot be read, a line is cut or is no row, or two rows with
        one key differ; the message names file and line, or both places.
    """
    return merge_rows(_located_rows(paths))


def merge_rows(located: Iterable[tuple[str, Row]]) -> list[Row]:
    """Keep one of each group of equal rows.

    Parameters
    ----------
    located
        Rows, each with the place to name in a message.

    Raises
    ------
    RowsError
        If two rows with one key differ in more than ``run``.
    """
    kept: dict[CellKey, tuple[str, Row]] = {}
    for where, row in located:
        first_where, first = kept.setdefault(row.key, (where, row))
        if first is not row and _content(first) != _content(row):
            raise RowsError(_contradiction(first_where, first, where, row))
    return [row for _, row in kept.values()]


def located(rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    """Rows that come from no file, each with its place in the list."""
    return ((f"row {number}", row) for number, row in enumerate(rows, start=1))


def rows_sha256(rows: Iterable[Row]) -> str:
    """A digest of what the rows say, in hexadecimal; their order and ``run`` do not matter.

    SHA-256 over one line a row, sorted by key: a compact ASCII JSON list of its
    fields in the order of ``Row``, ``usage`` spread out at the end.
    """
    digest = hashlib.sha256()
    for row in sorted(rows, key=attrgetter("key")):
        digest.update(_ENCODE(_content(row)).encode("ascii"))
        digest.update(b"\n")
    return digest.hexdigest()


_ENCODE = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Flip:
    """A row whose verdict changed when it was scored again."""

    key: CellKey
    verifier: str
    before: bool
    after: bool

    def __str__(self) -> str:
        words = {True: "compliant", False: "not compliant"}
        return f"{_named(self.key)}: {words[self.before]} → {words[self.after]} ({self.verifier})"


@dataclass(frozen=True, slots=True)
class Rescored:
    """Rows with the verdicts of this version's verifiers."""

    rows: tuple[Row, ...]
    """All rows in the order given; those that could not be scored again as they were."""
    flips: tuple[Flip, ...]
    n_rescored: int
    n_kept: int
    """Scored rows that lack the text, target or verifier, and keep their verdict."""


def rescore(rows: Iterable[Row]) -> Rescored:
    """Run the verifier that each row names on its text and target again.

    Rows that are not in the denominator stay as they are.

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
            verifiers[row.verifier] = _verifier_of(row)
        again = _scored_again(row, verifiers[row.verifier])
        if again.compliant is not row.compliant:
            flips.append(Flip(row.key, row.verifier, before=bool(row.compliant), after=bool(again.compliant)))
        n_rescored += 1
        fresh.append(again)
    return Rescored(tuple(fresh), tuple(flips), n_rescored=n_rescored, n_kept=n_kept)


def _located_rows(paths: Iterable[Path | str]) -> Iterator[tuple[str, Row]]:
    shared: dict[str, str] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            path /= JOURNAL
            if not path.is_file():
                raise RowsError(
                    f"{given}: this folder holds no {JOURNAL}; give a run's folder or a rows file"
                )
        yield from _rows_of_file(path, shared)


def _rows_of_file(path: Path, shared: dict[str, str]) -> Iterator[tuple[str, Row]]:
    try:
        with path.open("rb") as stream:
            # Binary lines end at \n only: a text stream would also split at \r.
            for number, line in enumerate(stream, start=1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901 - some editors put it there
                if line.strip():
                    where = f"{path}:{number}"
                    yield where, _row_of_line(line, where, shared)
    except OSError as error:
        raise RowsError(f"{path}: cannot be read: {error.strerror or error}") from error


def _row_of_line(line: bytes, where: str, shared: dict[str, str]) -> Row:
    try:
        record = _DECODE(line.decode("utf-8").strip(" \t\r\n"))
    except UnicodeDecodeError as error:
        raise RowsError(
            f"{where}: is not UTF-8 (byte {error.start + 1} of the line); {_hint(line)}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{where}: is not a JSON object: {_said(error)}; {_hint(line)}") from error
    if not isinstance(record, dict):
        raise RowsError(f"{where}: must be a JSON object, one row a line, not {type(record).__name__}")
    for name in _REPEATED:
        value = record.get(name)
        if type(value) is str:
            record[name] = shared.setdefault(value, value)
    row = Row.from_dict(record, where=where)
    _check_counts(row, where)
    return row


def _check_counts(row: Row, where: str) -> None:
    """Refuse counts that no later step can add up or write down again."""
    for name in _COUNTS:
        value = getattr(row, name)
        if type(value) is int and not -_LARGEST_COUNT <= value <= _LARGEST_COUNT:
            raise RowsError(f"{where}: {name!r} is beyond ±2^53, the largest count that is read")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} appears twice")
    return record


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


_DECODE = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant).decode


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


def _contradiction(first_where: str, first: Row, where: str, row: Row) -> str:
    differing = [
        name
        for name, before, after in zip(_CONTENT_FIELDS, _content(first), _content(row), strict=True)
        if before != after
    ]
    return (
        f"{first_where} and {where} are one cell ({_named(row.key)}) with different {', '.join(differing)}; "
        "keep one of the two rows"
    )


def _named(key: CellKey) -> str:
    model, panel, item, form, repetition = key
    return f"model {model}, panel {panel}, item {item}, form {form}, repetition {repetition}"


def _verifier_of(row: Row) -> Verifier:
    try:
        return get_verifier(str(row.verifier))
    except PanelError as error:
        raise RowsError(f"the row of {_named(row.key)} cannot be scored again: {error}") from error


def _scored_again(row: Row, verifier: Verifier) -> Row:
    try:
        verifier.check_target(row.target)
    except PanelError as error:
        raise RowsError(f"the row of {_named(row.key)} cannot be scored again: {error}") from error
    verdict = verifier.verify(str(row.text), row.target)
    return dataclasses.replace(
        row,
        compliant=verdict.compliant,
        direction=verdict.direction,
        observed=verdict.observed,
        error=verdict.error,
    )

"""Ratings of wordings by human annotators, read strictly from a CSV file.

``wise agreement`` reads the file here and hands the result to
``audit.agreement``. Nothing is guessed or filled in: agreement statistics need
every annotator's rating of every item, and a rating that was lost or mistyped
would change them unseen.

The file is UTF-8 (a byte-order mark is allowed) with a header and one line for
each item and annotator. Columns may come in any order; blanks around a value
are ignored.

=============  ================================================================
item           what was rated, under a name that shows no form
form           the wording form of the item, such as ``AVOID1``
target         the number of words that the item asks for, a whole number from 1
annotator      who rated it
exact_n        whether it requires exactly that many words: 0, 1, no, yes, false, true
clarity        1 to 5
naturalness    1 to 5
ambiguity      1 to 5
complexity     1 to 5
=============  ================================================================

The columns ``instruction`` and ``requirement`` of ``wise review`` may stay. A key
that it wrote says which form a code in ``form`` stands for.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.errors import RowsError
from wise_pytest.files import read_limited

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_RATINGS_BYTES = 100_000_000
SCALES = ("clarity", "naturalness", "ambiguity", "complexity")
COLUMNS = ("item", "form", "target", "annotator", "exact_n", *SCALES)
SHOWN = ("instruction", "requirement")
"""Columns that a sheet shows its annotators; they may stay in the file and are not read."""
KEY_COLUMNS = ("code", "form")

_ANSWERS = {"0": 0, "no": 0, "false": 0, "1": 1, "yes": 1, "true": 1}
# Spreadsheets and data frames write whole numbers with a zero after the point.
_ZEROS = re.compile(r"\.0+$")
_RATING = re.compile(r"[1-5]")
_TARGET = re.compile(r"0*[1-9][0-9]{0,8}")
_MAX_SHOWN = 10
_MAX_VALUE = 60


@dataclass(frozen=True, slots=True)
class RatedItem:
    """One instruction that was rated."""

    item: str
    form: str
    target: int
    """Words asked for."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """A complete table of ratings, the same for any order of lines.

    The tables have one row an item and one column an annotator.
    """

    items: tuple[RatedItem, ...]
    """Sorted by name; at least two."""
    annotators: tuple[str, ...]
    """Sorted; at least two."""
    exact_n: tuple[tuple[int, ...], ...]
    """1 where the annotator judged that the item requires exactly its number of words, else 0."""
    scales: Mapping[str, tuple[tuple[int, ...], ...]]
    """The other ratings by the name of their scale, each 1..5."""

    @property
    def sha256(self) -> str:
        """A digest of what the ratings say, in hexadecimal; the order of lines does not matter."""
        content = [
            [[item.item, item.form, item.target] for item in self.items],
            self.annotators,
            self.exact_n,
            [[scale, self.scales[scale]] for scale in SCALES],
        ]
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Line:
    """One rating of one item by one annotator."""

    where: str
    item: RatedItem
    annotator: str
    exact_n: int
    scales: tuple[int, ...]


def read_ratings(path: Path | str) -> Ratings:
    """Read and check one file of ratings.

    Raises
    ------
    RowsError
        If the file cannot be read, is not as described above, rates an item
        twice by one annotator or with two forms or targets, lacks a rating, or
        holds fewer than two annotators or items. The message names the file,
        the line, the column, the value and what was expected.
    """
    lines = list(_lines(Path(path)))
    cells: dict[tuple[str, str], _Line] = {}
    first_of: dict[str, _Line] = {}
    for line in lines:
        first = first_of.setdefault(line.item.item, line)
        _check_same_item(first, line)
        earlier = cells.setdefault((line.item.item, line.annotator), line)
        if earlier is not line:
            raise RowsError(
                f"{line.where}: annotator {_said(line.annotator)} has rated item {_said(line.item.item)} "
                f"already at {earlier.where}; keep one of the two lines"
            )
    items, annotators = sorted(first_of), sorted({line.annotator for line in lines})
    _check_design(path, items, annotators, cells)
    table = [[cells[item, annotator] for annotator in annotators] for item in items]
    return Ratings(
        items=tuple(first_of[item].item for item in items),
        annotators=tuple(annotators),
        exact_n=tuple(tuple(line.exact_n for line in row) for row in table),
        scales={
            scale: tuple(tuple(line.scales[position] for line in row) for row in table)
            for position, scale in enumerate(SCALES)
        },
    )


def read_key(path: Path | str) -> dict[str, str]:
    """The forms that codes stand for, from a CSV file with the columns ``code`` and ``form``.

    Raises
    ------
    RowsError
        If the file cannot be read, or is not as described.
    """
    records = _records(Path(path))
    where, header = next(records, (f"{path}:1", []))
    if tuple(name.strip() for name in header) != KEY_COLUMNS:
        raise RowsError(f"{where}: a key has the columns {_named(KEY_COLUMNS)}, not {_named(header)!r}")
    key: dict[str, str] = {}
    for place, record in records:
        values = [value.strip() for value in record]
        if len(values) != len(KEY_COLUMNS) or not all(values):
            raise RowsError(f"{place}: a key has a code and a form on each line")
        if key.setdefault(values[0], values[1]) != values[1]:
            raise RowsError(f"{place}: the code {_said(values[0])} stands for two forms")
    return key


def with_forms(ratings: Ratings, key: Mapping[str, str], *, where: Path | str) -> Ratings:
    """Ratings with the forms that their codes stand for; ``where`` names the key in a message.

    Raises
    ------
    RowsError
        If the key lacks a code.
    """
    missing = sorted({item.form for item in ratings.items} - set(key))
    if missing:
        raise RowsError(f"{where}: says nothing of the form {_said(missing[0])}; use the key of this sheet")
    items = tuple(replace(item, form=key[item.form]) for item in ratings.items)
    return replace(ratings, items=items)


def _lines(path: Path) -> Iterator[_Line]:
    records = _records(path)
    where, header = next(records, (f"{path}:1", []))
    if not header:
        raise RowsError(f"{path}: is empty; expected a header with the columns {_named(COLUMNS)}")
    names = [name.strip() for name in header]
    _check_header(where, names)
    for place, record in records:
        if len(record) > len(names):
            extra = _said(record[len(names)])
            raise RowsError(
                f"{place}: has {len(record)} values for {len(names)} columns, the first without a column is "
                f"{extra}; put a value that holds a comma in double quotes"
            )
        # A line that is too short lacks its last values: the check of a value names the column.
        values = {name: value.strip() for name, value in zip(names, record, strict=False)}
        yield _line(place, values)


def _records(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Every record that is not blank, with the place where it begins."""
    # Line ends inside quotes belong to the value, so the csv module must see them unchanged.
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    while True:
        where = f"{path}:{reader.line_num + 1}"
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise RowsError(f"{where}: is not CSV: {error}; mend the quotes of this line") from error
        if any(value.strip() for value in record):
            yield where, record


def _text(path: Path) -> str:
    try:
        content = read_limited(path, MAX_RATINGS_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        said = getattr(error, "strerror", None) or error
        raise RowsError(f"{path}: cannot be read: {said}") from error
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RowsError(f"{path}: is UTF-16, and must be UTF-8; save it again as CSV in UTF-8")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].split(b"\n")
        column = len(before[-1]) + 1
        raise RowsError(
            f"{path}:{len(before)}: is not UTF-8 (byte {column} of the line is "
            f"0x{content[error.start]:02x}); save the file again as CSV in UTF-8"
        ) from error


def _check_header(where: str, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in (*COLUMNS, *SHOWN)]
    missing = [name for name in COLUMNS if name not in names]
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        hint = "; separate the columns by commas"
    if unknown:
        raise RowsError(
            f"{where}: unknown column {', '.join(map(_said, unknown))}; "
            f"the columns are {_named(COLUMNS)}{hint}"
        )
    if missing:
        raise RowsError(f"{where}: lacks the column {_named(missing)}; the columns are {_named(COLUMNS)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RowsError(f"{where}: the column {twice!r} appears twice; keep one of the two")


def _line(where: str, values: Mapping[str, str]) -> _Line:
    names = {column: _name(where, column, values) for column in ("item", "form", "annotator")}
    target = _matching(where, "target", values, _TARGET, "a whole number of words from 1")
    return _Line(
        where=where,
        item=RatedItem(item=names["item"], form=names["form"], target=target),
        annotator=names["annotator"],
        exact_n=_answer(where, values),
        scales=tuple(
            _matching(where, scale, values, _RATING, "a whole number from 1 to 5") for scale in SCALES
        ),
    )


def _name(where: str, column: str, values: Mapping[str, str]) -> str:
    value = values.get(column, "")
    if not value:
        raise RowsError(f"{where}: column {column!r} is empty; expected a name")
    return value


def _matching(
    where: str, column: str, values: Mapping[str, str], pattern: re.Pattern[str], expected: str
) -> int:
    value = values.get(column, "")
    whole = _ZEROS.sub("", value)
    if not pattern.fullmatch(whole):
        raise RowsError(_unusable(where, column, value, expected))
    return int(whole)


def _answer(where: str, values: Mapping[str, str]) -> int:
    value = values.get("exact_n", "")
    answer = _ANSWERS.get(_ZEROS.sub("", value).lower())
    if answer is None:
        raise RowsError(_unusable(where, "exact_n", value, "0 or 1, no or yes, false or true"))
    return answer


def _unusable(where: str, column: str, value: str, expected: str) -> str:
    if not value:
        return f"{where}: column {column!r} is empty, a missing rating; expected {expected}"
    return f"{where}: column {column!r} is {_said(value)}; expected {expected}"


def _check_same_item(first: _Line, line: _Line) -> None:
    for column in ("form", "target"):
        before, now = getattr(first.item, column), getattr(line.item, column)
        if before != now:
            raise RowsError(
                f"{line.where}: column {column!r} is {_said(now)} for item {_said(line.item.item)}, "
                f"expected {_said(before)} as at {first.where}; an item has one form and one target"
            )


def _check_design(
    path: Path | str,
    items: Sequence[str],
    annotators: Sequence[str],
    cells: Mapping[tuple[str, str], _Line],
) -> None:
    if not items:
        raise RowsError(f"{path}: holds a header and no rating; expected a line for each item and annotator")
    for name, found in (("annotator", annotators), ("item", items)):
        if len(found) == 1:
            raise RowsError(
                f"{path}: column {name!r} is {_said(found[0])} on every line; "
                f"agreement needs at least two {name}s"
            )
    missing = [
        f"item {_said(item)} by annotator {_said(annotator)}"
        for annotator in annotators
        for item in items
        if (item, annotator) not in cells
    ]
    if missing:
        more = f" and {len(missing) - _MAX_SHOWN} more" if len(missing) > _MAX_SHOWN else ""
        raise RowsError(
            f"{path}: lacks {len(missing)} of {len(items) * len(annotators)} ratings: "
            f"{', '.join(missing[:_MAX_SHOWN])}{more}; expected every annotator's rating of every item"
        )


def _named(columns: Iterable[str]) -> str:
    return ", ".join(columns)


def _said(value: str | int) -> str:
    """A value as it is shown in a message: on one line, and not too long."""
    if isinstance(value, str) and len(value) > _MAX_VALUE:
        return f"{value[:_MAX_VALUE]!r}…"
    return repr(value)

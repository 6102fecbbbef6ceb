"""Rows as columns: what every figure of the audit is counted from, whether there are ten rows or ten million.

``rows`` and ``parquet`` read files into a ``RowTable``, ``audit.build_audit``
makes one of a session's rows. A column with few different values keeps each of
them once; texts lie end to end in one block of bytes. Ten million rows with
their texts take some three gigabytes, where as many ``Row`` objects would take
ten and more. Nothing here depends on the order in which values appear.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from wise_pytest.records import Row, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.signedinteger[Any]]
    Ints: TypeAlias = NDArray[np.int64]
    Truths: TypeAlias = NDArray[np.bool_]
    Floats: TypeAlias = NDArray[np.float64]

USAGE_FIELDS = tuple(field.name for field in dataclasses.fields(Usage))
FIELDS = (
    *(field.name for field in dataclasses.fields(Row) if field.name != "usage"),
    *(f"usage.{name}" for name in USAGE_FIELDS),
)
"""The columns of a table: what a row holds, its usage spread out."""
PACKED_FIELDS = frozenset({"text", "recorded_at", "request_digest"})
"""Texts that hardly any two rows share."""
FLOAT_FIELDS = frozenset({"latency_s"})
KEY_FIELDS = ("model", "panel", "item", "form", "repetition")

_PART_ROWS = 50_000
"""Rows that are turned into columns at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column that keeps each different value once."""

    codes: Codes
    """Shape ``(n_rows,)``: the place of the row's value, -1 where it has none."""
    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def get(self, row: int) -> Any:
        """The value of one row."""
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def among(self, values: Iterable[Any]) -> Truths:
        """Which rows have one of these values."""
        import numpy as np

        wanted = set(values)
        return np.array([*(value in wanted for value in self.values), False], dtype=bool)[self.codes]

    def take(self, rows: Any) -> Coded:
        """The column of some of the rows."""
        return Coded(self.codes[rows], self.values)

    def ordered(self) -> Coded:
        """The same column with its values sorted, those that no row has left out."""
        import numpy as np

        counts = np.bincount(self.codes.astype(np.int64) + 1, minlength=len(self.values) + 1)[1:]
        used = [code for code in range(len(self.values)) if counts[code]]
        used.sort(key=self.values.__getitem__)
        places = np.full(len(self.values) + 1, -1, dtype=np.int64)
        places[used] = np.arange(len(used))
        # The last place is that of a missing value, which its code of -1 points to.
        narrow = places.astype(_narrowest(len(used)))
        return Coded(narrow[self.codes], tuple(self.values[code] for code in used))


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A column of texts, end to end."""

    data: bytes | bytearray
    """UTF-8; a lone surrogate, which JSON can hold, is encoded as if it were a character."""
    ends: Ints
    """Shape ``(n_rows,)``."""
    present: Truths
    """Which rows have a text at all, be it empty."""

    def __len__(self) -> int:
        return len(self.ends)

    def raw(self, row: int) -> bytes | bytearray | None:
        """The bytes of one row's text."""
        if not self.present[row]:
            return None
        return self.data[int(self.ends[row - 1]) if row else 0 : int(self.ends[row])]

    def get(self, row: int) -> str | None:
        """The text of one row."""
        raw = self.raw(row)
        return None if raw is None else raw.decode("utf-8", errors="surrogatepass")

    def raws(self) -> Iterator[bytes | bytearray | None]:
        """The bytes of every row's text, faster than one by one."""
        start = 0
        for first in range(0, len(self), _PART_ROWS):
            part = slice(first, first + _PART_ROWS)
            for end, present in zip(self.ends[part].tolist(), self.present[part].tolist(), strict=True):
                yield self.data[start:end] if present else None
                start = end

    def take(self, rows: Any) -> Packed:
        """The column of some of the rows."""
        import numpy as np

        places = np.arange(len(self))[rows].tolist()
        return pack([self.raw(place) for place in places])


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column of floating-point numbers."""

    numbers: Floats
    """NaN where the row has none: no row's own value is NaN."""

    def __len__(self) -> int:
        return len(self.numbers)

    def get(self, row: int) -> float | None:
        """The number of one row."""
        number = float(self.numbers[row])
        return None if number != number else number  # noqa: PLR0124 - only NaN differs from itself

    def take(self, rows: Any) -> Numbers:
        """The column of some of the rows."""
        return Numbers(self.numbers[rows])


ColumnOfRows: TypeAlias = Coded | Packed | Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where each row comes from, for messages."""

    sources: Coded
    """Files."""
    numbers: Ints
    """Line or row within the file, from 1."""

    def name(self, row: int) -> str:
        """Such as ``rows.jsonl:7``; ``row 7`` for one that comes from no file."""
        source, number = self.sources.get(row), int(self.numbers[row])
        return f"row {number}" if source is None else f"{source}:{number}"

    def take(self, rows: Any) -> Places:
        """The places of some of the rows."""
        return Places(self.sources.take(rows), self.numbers[rows])


@dataclass(frozen=True, slots=True, eq=False)
class RowTable:
    """Rows, column by column."""

    columns: Mapping[str, ColumnOfRows]
    """Every one of ``FIELDS``."""
    places: Places

    def __len__(self) -> int:
        return len(self.places.numbers)

    def coded(self, name: str) -> Coded:
        """A column of few different values."""
        return cast("Coded", self.columns[name])

    def packed(self, name: str) -> Packed:
        """One of the ``PACKED_FIELDS``."""
        return cast("Packed", self.columns[name])

    def row(self, place: int) -> Row:
        """One row as an object."""
        values: dict[str, Any] = {name: column.get(place) for name, column in self.columns.items()}
        usage = Usage(**{name: values.pop(f"usage.{name}") for name in USAGE_FIELDS})
        return Row(usage=usage, **values)

    def rows(self) -> Iterator[Row]:
        """Every row as an object, in order; slow for many."""
        return map(self.row, range(len(self)))

    def take(self, rows: Any) -> RowTable:
        """The table of some of the rows, chosen by truths or by places."""
        return RowTable(
            {name: column.take(rows) for name, column in self.columns.items()}, self.places.take(rows)
        )


def cells_by_pair(table: RowTable) -> dict[tuple[str, str], set[tuple[str, str, int]]]:
    """The (item, form, repetition) of each (panel, model); objects, so not for millions of rows."""
    cells: dict[tuple[str, str], set[tuple[str, str, int]]] = {}
    model, panel, item, form, repetition = (
        map(table.coded(name).get, range(len(table))) for name in KEY_FIELDS
    )
    for pair, cell in zip(
        zip(panel, model, strict=True), zip(item, form, repetition, strict=True), strict=True
    ):
        cells.setdefault(pair, set()).add(cell)
    return cells


def table_of(rows: Iterable[Row]) -> RowTable:
    """The table of rows that come from no file."""
    builder = TableBuilder()
    every = list(rows)
    for start in range(0, len(every), _PART_ROWS):
        part = every[start : start + _PART_ROWS]
        builder.add(columns_of(part), source=None, numbers=range(start + 1, start + len(part) + 1))
    return builder.table()


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """The values of every field, row by row."""
    return {name: list(map(attrgetter(name), rows)) for name in FIELDS}


class TableBuilder:
    """Makes a table out of parts, each added column by column."""

    def __init__(self) -> None:
        self._codes: dict[str, _Codes] = {name: _Codes() for name in FIELDS if _is_coded(name)}
        self._sources = _Codes()
        self._parts: dict[str, list[Any]] = {name: [] for name in FIELDS}
        self._source_parts: list[Any] = []
        self._number_parts: list[Any] = []

    def add(
        self, columns: Mapping[str, Sequence[Any]], *, source: str | None, numbers: Iterable[int]
    ) -> None:
        """Add rows whose values have been checked.

        Parameters
        ----------
        columns
            Every one of ``FIELDS``, all of one length.
        source
            The file; ``None`` for rows that come from none.
        numbers
            Of the rows in that file, from 1.
        """
        import numpy as np

        for name in FIELDS:
            values = columns[name]
            if name in PACKED_FIELDS:
                encoded = [None if text is None else text.encode("utf-8", "surrogatepass") for text in values]
                self._parts[name].append(pack(encoded))
            elif name in FLOAT_FIELDS:
                self._parts[name].append(np.array(values, dtype=np.float64))
            else:
                self._parts[name].append(self._codes[name].encode(values))
        self._add_places(source, np.fromiter(numbers, dtype=np.int64))

    def add_encoded(
        self,
        columns: Mapping[str, tuple[Codes, Sequence[Any]] | Packed | Floats],
        *,
        source: str,
        numbers: Ints,
    ) -> None:
        """Add rows whose coded columns come with values of their own."""
        for name in FIELDS:
            column = columns[name]
            if isinstance(column, tuple):
                codes, values = column
                self._parts[name].append(self._codes[name].translate(codes, values))
            else:
                self._parts[name].append(column)
        self._add_places(source, numbers)

    def table(self) -> RowTable:
        """The table of all parts, in the order in which they were added; the parts are used up."""
        columns: dict[str, ColumnOfRows] = {}
        for name in FIELDS:
            parts = self._parts.pop(name)
            if name in PACKED_FIELDS:
                columns[name] = _joined(parts)
            elif name in FLOAT_FIELDS:
                columns[name] = Numbers(_concatenated(parts, "float64"))
            else:
                columns[name] = Coded(_concatenated(parts, "int8"), self._codes[name].values())
        sources = Coded(_concatenated(self._source_parts, "int8"), self._sources.values())
        return RowTable(columns, Places(sources, _concatenated(self._number_parts, "int64")))

    def _add_places(self, source: str | None, numbers: Ints) -> None:
        import numpy as np

        code = self._sources[source]
        self._source_parts.append(np.full(len(numbers), code, dtype=_narrowest(code)))
        self._number_parts.append(numbers)


class _Codes(dict[Any, int]):
    """Gives each new value the next code."""

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, value: Any) -> int:
        code = self[value] = len(self) - 1
        return code

    def encode(self, values: Sequence[Any]) -> Codes:
        import numpy as np

        if values and values.count(values[0]) == len(values):  # most columns are of one value
            code = self[values[0]]
            return np.full(len(values), code, dtype=_narrowest(code))
        codes = np.fromiter(map(self.__getitem__, values), dtype=np.int64, count=len(values))
        return codes.astype(_narrowest(len(self)))

    def translate(self, codes: Codes, values: Sequence[Any]) -> Codes:
        """The codes of another table of values as codes of this one; -1 stays -1."""
        import numpy as np

        own = np.array([*(self[value] for value in values), -1], dtype=np.int64)
        translated: Codes = own[codes].astype(_narrowest(len(self)))
        return translated

    def values(self) -> tuple[Any, ...]:  # type: ignore[override]
        return tuple(self)[1:]


def pack(texts: Sequence[bytes | bytearray | None]) -> Packed:
    """A column of encoded texts."""
    import numpy as np

    present = np.array([text is not None for text in texts], dtype=bool)
    lengths = np.fromiter((len(text) if text else 0 for text in texts), dtype=np.int64, count=len(texts))
    return Packed(b"".join(text for text in texts if text), np.cumsum(lengths), present)


def _is_coded(name: str) -> bool:
    return name not in PACKED_FIELDS and name not in FLOAT_FIELDS


def _narrowest(highest: int) -> Any:
    """The smallest signed type that holds codes up to ``highest``, and -1."""
    import numpy as np

    return np.min_scalar_type(-max(highest, 1) - 1)


def _concatenated(parts: list[Any], dtype: str) -> Any:
    import numpy as np

    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _joined(parts: list[Packed]) -> Packed:
    import numpy as np

    present = _concatenated([part.present for part in parts], "bool")
    offsets = np.cumsum([0, *(len(part.data) for part in parts)]).tolist()
    data = bytearray(offsets[-1])
    ends = np.empty(len(present), dtype=np.int64)
    parts.reverse()
    # Each part is let go once it is copied: the texts of all rows are not held twice.
    first = 0
    for offset in offsets[:-1]:
        part = parts.pop()
        data[offset : offset + len(part.data)] = part.data
        ends[first : first + len(part)] = part.ends + offset
        first += len(part)
    return Packed(data, ends, present)

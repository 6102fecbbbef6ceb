"""Rows in Parquet files: the same fields as in ``generations.jsonl``, for millions of rows.

``rows.read_table`` reads them, ``write_parquet`` writes them. ``usage`` is
spread out over columns such as ``usage.input_tokens`` or is a struct. A column
of Parquet has one type, but targets are numbers, texts and lists: a file with
several kinds of them holds each as JSON in ``target_json``. pyarrow loads when
it is used, and is not needed without Parquet.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.audit.checks import (
    ABSENT,
    InDoubtError,
    check_limits,
    checked,
    require,
    settled_statuses,
)
from wise_pytest.audit.table import FIELDS, FLOAT_FIELDS, PACKED_FIELDS, USAGE_FIELDS, Packed, columns_of
from wise_pytest.errors import RowsError
from wise_pytest.records import ROW_SCHEMA, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from wise_pytest.audit.table import RowTable, TableBuilder

    Ints: TypeAlias = NDArray[np.int64]
    Column: TypeAlias = tuple[Ints, list[Any]]

PARQUET_SUFFIXES = (".parquet", ".pq")
TARGET_JSON = "target_json"
MISSING_PYARROW = "Parquet files need pyarrow: pip install 'wise-pytest[parquet]'"
_PART_ROWS = 250_000
_NOT_JSON = (TypeError, ValueError, RecursionError)
"""What ``json.loads`` raises."""


def add_parquet(path: Path, builder: TableBuilder) -> None:
    """Add the rows of one file to ``builder``.

    Parameters
    ----------
    path
        A Parquet file. Columns that no row has are left alone; of the fields
        of a row, those that the file lacks are missing, as they may be in JSON.
        A null ``status`` follows from ``compliant``. Whole numbers may be held as
        floating-point ones, as pandas holds them where some are missing.

    Raises
    ------
    RowsError
        If pyarrow is not installed, the file cannot be read, or a row cannot be
        used; the message names file and row.
    """
    import numpy as np

    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise RowsError(f"{path}: {MISSING_PYARROW}") from error
    try:
        with pq.ParquetFile(path) as file:
            first = 1
            for batch in file.iter_batches(batch_size=_PART_ROWS):
                _add_part(path, batch, first, builder)
                first += batch.num_rows
    except (OSError, pa.ArrowException, UnicodeError) as error:
        raise RowsError(f"{path}: cannot be read as Parquet: {error}") from error
    if first == 1:
        # A file without rows has said nothing, as an empty file of lines has.
        builder.add({name: [] for name in FIELDS}, source=str(path), numbers=np.empty(0, dtype=np.int64))


def write_parquet(table: RowTable, path: Path) -> None:
    """Write a table as one Parquet file, from which ``rows.read_table`` reads the same rows.

    Raises
    ------
    RowsError
        If pyarrow is not installed, the file cannot be written, or a text holds a
        lone surrogate, which Parquet cannot hold.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise RowsError(f"{path}: {MISSING_PYARROW}") from error
    draft = path.with_name(f".{path.name}.part")
    try:
        columns = {"schema": pa.array([ROW_SCHEMA] * len(table)).dictionary_encode()}
        columns |= {name: column for field in FIELDS for name, column in _arrow_columns(table, field)}
        pq.write_table(pa.table(columns), draft)
        draft.replace(path)
    except (OSError, pa.ArrowException, UnicodeError, OverflowError) as error:
        draft.unlink(missing_ok=True)
        raise RowsError(f"{path}: cannot be written as Parquet: {error}") from error


def _arrow_columns(table: RowTable, name: str) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa

    column = table.columns[name]
    if name in FLOAT_FIELDS or name in PACKED_FIELDS:
        yield name, pa.array([column.get(row) for row in range(len(column))])
        return
    coded = table.coded(name)
    values = list(coded.values)
    indices = pa.array(coded.codes, mask=coded.codes < 0)
    if name == "target":
        values, name = [json.dumps(value) for value in values], TARGET_JSON
    elif name == "flags":
        # Lists have no dictionaries.
        yield name, pa.array([list(coded.get(row) or ()) for row in range(len(coded))], pa.list_(pa.string()))
        return
    if not values:
        yield name, pa.nulls(len(coded))
        return
    yield name, pa.DictionaryArray.from_arrays(indices, pa.array(values)).dictionary_decode()


def _add_part(path: Path, batch: pa.RecordBatch, first: int, builder: TableBuilder) -> None:
    import numpy as np

    numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
    arrays = _arrays(path, batch)
    try:
        columns = _columns(arrays, batch.num_rows)
    except InDoubtError:
        rows = list(_rows_one_by_one(path, arrays, batch.num_rows, first))
        builder.add(columns_of(rows), source=str(path), numbers=numbers)
    else:
        builder.add_encoded(columns, source=str(path), numbers=numbers)


def _arrays(path: Path, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns of a batch by name, a struct of usage spread out."""
    arrays: dict[str, pa.Array] = {}
    for name, array in _spread(batch):
        if name in arrays:
            raise RowsError(f"{path}: the column {name!r} appears twice; remove one of the two")
        arrays[name] = array
    if "target" in arrays and TARGET_JSON in arrays:
        raise RowsError(f"{path}: has both columns 'target' and {TARGET_JSON!r}; remove one of the two")
    return arrays


def _spread(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    import pyarrow as pa

    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name == "usage" and pa.types.is_struct(array.type):
            # flatten, unlike field, carries the nulls of the struct over to its members.
            members = [array.type.field(place).name for place in range(array.type.num_fields)]
            for member, part in zip(members, array.flatten(), strict=True):
                yield f"usage.{member}", part
        else:
            yield name, array


def _columns(arrays: Mapping[str, pa.Array], n_rows: int) -> dict[str, Any]:
    """Every field as codes with values, a packed column or numbers, checked."""
    import numpy as np

    require("usage" not in arrays and "compliant" in arrays)
    if "schema" in arrays:
        require({value for value in _encoded(arrays["schema"])[1] if value is not None} <= {ROW_SCHEMA})
    nothing = np.full(n_rows, -1, dtype=np.int8)
    columns: dict[str, Any] = {}
    for name in FIELDS:
        array = arrays.get(name)
        if name in PACKED_FIELDS:
            columns[name] = _packed(array, n_rows)
        elif name in FLOAT_FIELDS:
            columns[name] = _floats(array, n_rows)
        elif name == "target" and TARGET_JSON in arrays:
            codes, texts = _encoded(arrays[TARGET_JSON])
            columns[name] = codes, checked(name, _decoded(texts))
        elif array is None:
            columns[name] = nothing, checked(name, [None]) if name != "status" else [None]
        else:
            codes, values = _encoded(array)
            # A null has no value of its own here, and a field that must not be null has to see it.
            probe = [*values, None] if (codes < 0).any() else values
            done = probe if name == "status" else checked(name, _whole(probe))
            columns[name] = codes, done[: len(values)]
    columns["flags"] = _flags(columns["flags"])
    columns["status"] = _statuses(columns["status"], columns["compliant"])
    return columns


def _encoded(array: pa.Array) -> Column:
    """Codes, -1 for a null, and the values that they stand for."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_nested(array.type):
        places: dict[str, int] = {}
        values: list[Any] = []
        codes = np.full(len(array), -1, dtype=np.int64)
        for row, value in enumerate(array.to_pylist()):
            if value is None:
                continue
            place = places.setdefault(json.dumps(value, default=repr), len(values))
            if place == len(values):
                values.append(value)
            codes[row] = place
        return codes, values
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    # Others than pandas write unsigned indices, which hold no -1.
    indices = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    try:
        values = encoded.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        raise InDoubtError from error
    # A dictionary may hold a null, a NaN, or values that no row has.
    missing = [place for place, value in enumerate(values) if value is None or value != value]  # noqa: PLR0124
    if missing:
        indices = np.where(np.isin(indices, missing), -1, indices)
    used = np.unique(indices[indices >= 0])
    places_of = np.full(len(values) + 1, -1, dtype=np.int64)
    places_of[used] = np.arange(len(used))
    return places_of[indices], [values[place] for place in used.tolist()]


def _whole(values: Sequence[Any]) -> list[Any]:
    """``values`` with whole floating-point numbers as what they are."""
    return [int(value) if type(value) is float and value.is_integer() else value for value in values]


def _packed(array: pa.Array | None, n_rows: int) -> Packed:
    import numpy as np
    import pyarrow as pa

    if array is None or pa.types.is_null(array.type):
        return Packed(b"", np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=bool))
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    require(pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type))
    present = plain.is_valid().to_numpy(zero_copy_only=False)
    # Texts of nulls are undefined, and so filled; large strings have 64-bit offsets.
    filled = plain.fill_null("").cast(pa.large_string())
    try:
        filled.validate(full=True)  # nobody has looked yet whether the bytes are UTF-8
    except pa.ArrowInvalid as error:
        raise InDoubtError from error
    _, offsets, data = filled.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
    held = b"" if data is None else data[int(ends[0]) : int(ends[-1])].to_pybytes()
    return Packed(held, ends[1:] - ends[0], present)


def _floats(array: pa.Array | None, n_rows: int) -> NDArray[np.float64]:
    import numpy as np
    import pyarrow as pa

    if array is None or pa.types.is_null(array.type):
        return np.full(n_rows, np.nan)
    require(pa.types.is_floating(array.type) or pa.types.is_integer(array.type))
    numbers: NDArray[np.float64] = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    require(not np.isinf(numbers).any())
    return numbers


def _flags(column: Column) -> Column:
    """A null stands for no flag, as in JSON."""
    codes, values = column
    return (codes % (len(values) + 1)).astype("int64"), [*values, ()]


def _statuses(status: Column, compliant: Column) -> Column:
    import numpy as np

    n_verdicts = len(compliant[1]) + 1
    pairs, codes = np.unique((status[0] + 1) * n_verdicts + compliant[0] + 1, return_inverse=True)
    named = [ABSENT, *status[1]]
    verdicts = [None, *compliant[1]]
    found = [divmod(pair, n_verdicts) for pair in pairs.tolist()]
    return codes, settled_statuses([named[a] for a, _ in found], [verdicts[b] for _, b in found])


def _decoded(texts: Sequence[Any]) -> list[Any]:
    try:
        return [json.loads(text) for text in texts]
    except _NOT_JSON as error:
        raise InDoubtError from error


def _rows_one_by_one(path: Path, arrays: Mapping[str, pa.Array], n_rows: int, first: int) -> Iterator[Row]:
    """The rows as objects, or the error that one of them makes."""
    lists = {name: _whole(_listed(path, name, array, first)) for name, array in arrays.items()}
    for place in range(n_rows):
        where = f"{path}:{first + place}"
        record = {name: values[place] for name, values in lists.items()}
        record = {name: None if value != value else value for name, value in record.items()}  # noqa: PLR0124
        if record.get("status") is None:
            record.pop("status", None)
        if record.get("schema") is None:
            record.pop("schema", None)
        if TARGET_JSON in record:
            try:
                text = record.pop(TARGET_JSON)
                record["target"] = None if text is None else json.loads(text)
            except _NOT_JSON as error:
                raise RowsError(f"{where}: {TARGET_JSON!r} is not JSON: {error}") from error
        usage = {name: record.pop(f"usage.{name}", None) for name in USAGE_FIELDS}
        record.setdefault("usage", usage)
        row = Row.from_dict(record, where=where)
        check_limits(row, where, RowsError)
        yield row


def _listed(path: Path, name: str, array: pa.Array, first: int) -> list[Any]:
    """The values of one column as objects."""
    try:
        values: list[Any] = array.to_pylist()
    except UnicodeDecodeError:
        for place in range(len(array)):
            try:
                array[place].as_py()
            except UnicodeDecodeError as error:
                raise RowsError(f"{path}:{first + place}: {name!r} is not UTF-8: {error}") from error
        raise
    return values

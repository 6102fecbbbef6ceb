"""Rows of several files as one set: what they share is kept once, a contradiction between them is refused.

Called by ``rows`` after reading and by ``audit.build_audit``, which also takes
the digest of what it audits from here.
"""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.table import FIELDS, KEY_FIELDS, Coded, Numbers
from wise_pytest.errors import RowsError
from wise_pytest.records import cut_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.audit.table import ColumnOfRows, Packed, RowTable
    from wise_pytest.records import CellKey

    Ints = NDArray[np.int64]

CONTENT_FIELDS = tuple(name for name in FIELDS if name != "run")
"""Everything a row says except which run wrote it."""
_VALUE_BYTES = 16
_PIECE_ROWS = 50_000
_MIN_KEYS = 1_000_000
"""Up to so many keys, or one a row, a place for each is cheaper than sorting them."""


def merged(table: RowTable) -> RowTable:
    """The table with each key once, in the order of first appearance.

    Raises
    ------
    RowsError
        If two rows with one key differ in more than ``run``, or rows of one item
        have different targets, or those of one item and form different prompts;
        the message names both places.
    """
    table = _each_once(table)
    _require_one(table, "target", of=("panel", "item"))
    _require_one(table, "prompt", of=("panel", "item", "form"))
    return table


def _each_once(table: RowTable) -> RowTable:
    import numpy as np

    keys = combined([table.coded(name) for name in KEY_FIELDS])
    order = np.argsort(keys, kind="stable")
    repeats = keys[order][1:] == keys[order][:-1]
    if not repeats.any():
        return table
    # Of equal keys the first in the order of rows stands first; every other one is held against it.
    firsts = order[np.maximum.accumulate(np.where(np.append(False, repeats), 0, np.arange(len(order))))]
    later = np.flatnonzero(np.append(False, repeats))
    pairs = sorted(zip(order[later].tolist(), firsts[later].tolist(), strict=True))
    for row, first in pairs:
        differing = [
            name for name in CONTENT_FIELDS if table.columns[name].get(row) != table.columns[name].get(first)
        ]
        if differing:
            raise RowsError(_contradiction(table, first, row, differing))
    kept = np.ones(len(table), dtype=bool)
    kept[order[later]] = False
    return table.take(kept)


def _require_one(table: RowTable, name: str, *, of: Sequence[str]) -> None:
    """Refuse rows that agree in the fields ``of`` and differ in ``name``, which those that lack it do not.

    Such rows come from different versions of a panel, and no rate is about both.
    """
    import numpy as np

    codes = table.coded(name).codes
    present = codes >= 0
    if not present.any():
        return
    keys = combined([table.coded(field) for field in of])
    if not present.all():
        keys, codes = keys[present], codes[present]
    if int(keys.max()) >= max(len(keys), _MIN_KEYS):
        keys = np.unique(keys, return_inverse=True)[1]
    # Whichever of the rows with one key is held last: where all agree, it is the same as every other.
    held = np.empty(int(keys.max()) + 1, dtype=codes.dtype)
    held[keys] = codes
    if (held[keys] == codes).all():
        return
    _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
    later = int(np.flatnonzero(codes != codes[firsts[places]])[0])
    rows = np.flatnonzero(present)
    first, row = int(rows[firsts[places[later]]]), int(rows[later])
    cell = ", ".join(f"{field} {table.coded(field).get(row)}" for field in of)
    raise RowsError(
        f"{table.places.name(first)} and {table.places.name(row)} hold different {name}s for {cell}: "
        f"{cut_value(table.coded(name).get(first))} and {cut_value(table.coded(name).get(row))}; "
        "they are of different versions of the panel: audit them apart"
    )


def combined(columns: Sequence[Coded]) -> Ints:
    """One whole number for each row, equal exactly where rows agree in all columns.

    Rows sort by these numbers as by the columns, if their values are sorted.
    """
    import numpy as np

    keys = np.zeros(len(columns[0]), dtype=np.int64)
    n_keys = 1
    for column in columns:
        size = len(column.values) + 1
        if n_keys * size >= 2**62:
            found, keys = np.unique(keys, return_inverse=True)
            n_keys = len(found)
        keys = keys * size + column.codes.astype(np.int64) + 1
        n_keys *= size
    return keys


def rows_sha256(table: RowTable) -> str:
    """A digest of what the rows say, in hexadecimal; their order and ``run`` do not matter.

    SHA-256 over the columns in the order of ``Row``, ``usage`` spread out at
    the end. Each column adds its name and the SHA-256 of its values in the
    order of the rows' keys: for a number of seconds its eight bytes, for every
    other value a 16-byte BLAKE2b digest (``_value_digest``).
    """
    import numpy as np

    ordered = [table.coded(name).ordered() for name in KEY_FIELDS]
    order = np.argsort(combined(ordered), kind="stable")
    digest = hashlib.sha256()
    for name in CONTENT_FIELDS:
        digest.update(f"{name}\n".encode("ascii"))
        digest.update(hashlib.sha256(_column_bytes(table.columns[name], order)).digest())
    return digest.hexdigest()


def _column_bytes(column: ColumnOfRows, order: Ints) -> bytes:
    import numpy as np

    if isinstance(column, Numbers):
        numbers = np.where(np.isnan(column.numbers), np.nan, column.numbers + 0.0)  # one NaN, one zero
        return numbers[order].astype(">f8").tobytes()
    if isinstance(column, Coded):
        digests = b"".join(_value_digest(value) for value in (*column.values, None))
        places = column.codes[order]
    else:
        digests = b"".join(_text_digests(column))
        places = order
    # One value of 16 bytes a row, without the copies that rows of single bytes would take.
    return np.frombuffer(digests, dtype=f"V{_VALUE_BYTES}")[places].tobytes()


def _value_digest(value: Any) -> bytes:
    """Of a text its UTF-8 after ``s``, of anything else its compact JSON after ``j``."""
    if isinstance(value, str):
        content = b"s" + value.encode("utf-8", errors="surrogatepass")
    else:
        content = b"j" + json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    return hashlib.blake2b(content, digest_size=_VALUE_BYTES).digest()


def _text_digests(column: Packed) -> Iterator[bytes]:
    """The digest of each row's text, many to a piece: an object a row would take more room than the texts."""
    blake2b, size, missing = hashlib.blake2b, _VALUE_BYTES, _value_digest(None)
    if not column.present.any():
        yield missing * len(column)
        return
    each = (
        missing if raw is None else blake2b(b"s" + raw, digest_size=size).digest() for raw in column.raws()
    )
    while piece := b"".join(islice(each, _PIECE_ROWS)):
        yield piece


def _contradiction(table: RowTable, first: int, row: int, differing: Sequence[str]) -> str:
    return (
        f"{table.places.name(first)} and {table.places.name(row)} are one cell "
        f"({named(table.row(row).key)}) with different {', '.join(differing)}; keep one of the two rows"
    )


def named(key: CellKey) -> str:
    """A cell's key in words."""
    model, panel, item, form, repetition = key
    return f"model {model}, panel {panel}, item {item}, form {form}, repetition {repetition}"

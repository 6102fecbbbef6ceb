"""Tables of a panel's own: items beside its file, or more columns for items that it shares.

Called by the panel loader. A table is CSV in UTF-8 whose header begins with
``item_id``; the columns are the panel's own, and cells are kept as text until
the panel's verifier reads them.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from wise_pytest.errors import PanelError
from wise_pytest.naming import explain_unknown
from wise_pytest.panels.manifest import check_item_id, check_task, read_records
from wise_pytest.panels.model import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_COLUMN = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset({"item_id", "task", "low", "high"})
"""Names that mean something else: in the table itself, or in a template."""


def load_own_items(path: Path) -> tuple[Item, ...]:
    """The items of a table with the columns ``item_id``, ``task`` and any others.

    Raises
    ------
    PanelError
        If the file cannot be read, or an item cannot be used; the message
        names the file, the line and what was expected.
    """
    items = []
    lines_of_tasks: dict[str, int] = {}
    for line, record in _records(path, ("item_id", "task")):
        where = f"{path}: line {line}: item {record['item_id']!r}"
        check_task(record["task"], where=where)
        first = lines_of_tasks.setdefault(record["task"].casefold(), line)
        if first != line:
            raise PanelError(f"{where}: its task is already used in line {first}")
        more = tuple((column, value) for column, value in record.items() if column not in _RESERVED)
        items.append(Item(item_id=record["item_id"], task=record["task"], more=more))
    return tuple(items)


def join_columns(path: Path, items: Sequence[Item]) -> tuple[Item, ...]:
    """``items`` with the columns of a table that has one line for each of them.

    Raises
    ------
    PanelError
        If the file cannot be read, or its items are not those given.
    """
    records = {record["item_id"]: (line, record) for line, record in _records(path, ("item_id",))}
    known = {item.item_id for item in items}
    for item_id, (line, _) in records.items():
        if item_id not in known:
            raise PanelError(f"{path}: line {line}: {explain_unknown('item', item_id, known)}")
    missing = [item.item_id for item in items if item.item_id not in records]
    if missing:
        raise PanelError(
            f"{path}: there is no line for item {missing[0]!r}, nor for {len(missing) - 1} others; "
            "expected one for every item of the panel"
        )
    return tuple(_joined(item, records[item.item_id][1]) for item in items)


def _joined(item: Item, record: Mapping[str, str]) -> Item:
    added = tuple((column, value) for column, value in record.items() if column != "item_id")
    return dataclasses.replace(item, more=(*item.more, *added))


def _records(path: Path, first: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """Line and named cells of every record, with item ids checked; none of them is blank."""
    records = list(read_records(path, _header_check(first)))
    lines_of_ids: dict[str, int] = {}
    for line, record in records:
        where = f"{path}: line {line}"
        check_item_id(record["item_id"], where=where)
        earlier = lines_of_ids.setdefault(record["item_id"], line)
        if earlier != line:
            raise PanelError(f"{where}: item_id {record['item_id']!r} is already used in line {earlier}")
        for column, value in record.items():
            if not value or value != value.strip():
                raise PanelError(
                    f"{where}: column {column!r} must be a text without blanks around it, not {value!r}"
                )
    if not records:
        raise PanelError(f"{path}: there are no items; expected one a line under the header")
    return records


def _header_check(first: tuple[str, ...]) -> Callable[[Path, Sequence[str]], None]:
    """Refuses a header that does not begin so, or names a column that no template could name."""

    def check(path: Path, header: Sequence[str]) -> None:
        if tuple(header[: len(first)]) != first:
            raise PanelError(
                f"{path}: line 1: the header must begin with {','.join(first)!r}, not {','.join(header)!r}"
            )
        others = header[len(first) :]
        for column in others:
            if not _COLUMN.fullmatch(column) or column in _RESERVED or others.count(column) > 1:
                raise PanelError(
                    f"{path}: line 1: column {column!r} cannot be used; expected different names made of "
                    f"a-z, 0-9 and '_', none of them {', '.join(sorted(_RESERVED))}"
                )

    return check

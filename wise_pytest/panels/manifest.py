"""The item manifest: reads and checks ``items.csv``. Called by the panel loader.

A manifest is frozen once recordings exist, so a fault in it has to show when
it is read: every check here names the file and the line.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from wise_pytest.errors import PanelError
from wise_pytest.files import read_limited
from wise_pytest.panels.model import Item
from wise_pytest.verifiers import json_keys, keyword_once, word_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MAX_TABLE_BYTES = 50_000_000
"""A longer file is no table of items."""
COLUMNS = ("item_id", "task", "target_words", "keyword", "json_keys")
KEY_SEPARATOR = "|"
"""Stands between the names in the column ``json_keys``."""

_ITEM_ID = re.compile(r"(?=.*[a-z])[a-z0-9_-]+")
"""At least one letter, because a bare number is a count in ``--wise-items``."""

_NUMBER = re.compile(r"[0-9]{1,6}")


def load_items(path: Path) -> tuple[Item, ...]:
    """The items of the CSV file at ``path``, in its order.

    Raises
    ------
    PanelError
        If the file cannot be read, or an item cannot be used; the message
        names the file, the line and what was expected.
    """
    lines_of_ids: dict[str, int] = {}
    lines_of_tasks: dict[str, int] = {}
    items = []
    for line, record in read_records(path, _check_header):
        where = f"{path}: line {line}"
        item = _item(record, where=where)
        first = lines_of_ids.setdefault(item.item_id, line)
        if first != line:
            raise PanelError(f"{where}: item_id {item.item_id!r} is already used in line {first}")
        first = lines_of_tasks.setdefault(item.task.casefold(), line)
        if first != line:
            raise PanelError(f"{where}: item {item.item_id!r}: its task is already used in line {first}")
        items.append(item)
    if not items:
        raise PanelError(f"{path}: there are no items; expected one a line under the header")
    return tuple(items)


def read_text(path: Path, *, limit: int = MAX_TABLE_BYTES) -> str:
    """The UTF-8 text of a data file, with or without a byte-order mark.

    Raises
    ------
    PanelError
        If the file cannot be read or is not UTF-8.
    """
    try:
        data = read_limited(path, limit)
    except OSError as error:
        raise PanelError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PanelError(
            f"{path}: line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from error


def read_records(
    path: Path, check_header: Callable[[Path, Sequence[str]], None]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and named cells of each record of a CSV file with a header.

    Raises
    ------
    PanelError
        If the file cannot be read, is empty or no CSV, or a record does not fit
        the header; and whatever ``check_header`` raises.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise PanelError(f"{path}: the file is empty; expected a header such as {','.join(COLUMNS)!r}")
        check_header(path, header)
        for record in reader:
            if len(record) != len(header):
                raise PanelError(
                    f"{path}: line {reader.line_num}: expected {len(header)} columns, found {len(record)}"
                )
            yield reader.line_num, dict(zip(header, record, strict=True))
    except csv.Error as error:
        raise PanelError(f"{path}: line {reader.line_num}: not valid CSV: {error}") from error


def check_item_id(item_id: str, *, where: str) -> None:
    """Refuse an id that options and test ids could not name.

    Raises
    ------
    PanelError
        If it holds other characters, or no letter.
    """
    if not _ITEM_ID.fullmatch(item_id):
        raise PanelError(
            f"{where}: item_id must be made of a-z, 0-9, '_' and '-', with a letter in it, not {item_id!r}"
        )


def check_task(task: str, *, where: str) -> None:
    """Refuse a task that is not one line of text.

    Raises
    ------
    PanelError
        If it is empty, or has blanks around it or characters that do not print.
    """
    if not task or task != task.strip() or not task.isprintable():
        raise PanelError(f"{where}: task must be one line of text without blanks around it, not {task!r}")


def _check_header(path: Path, header: Sequence[str]) -> None:
    if tuple(header) != COLUMNS:
        raise PanelError(
            f"{path}: line 1: the header must be {','.join(COLUMNS)!r}, not {','.join(header)!r}"
        )


def _item(record: dict[str, str], *, where: str) -> Item:
    item_id = record["item_id"]
    check_item_id(item_id, where=where)
    where = f"{where}: item {item_id!r}"
    task, keyword = record["task"], record["keyword"]
    check_task(task, where=where)
    if not _NUMBER.fullmatch(record["target_words"]):
        raise PanelError(
            f"{where}: target_words must be a whole number from 1, not {record['target_words']!r}"
        )
    item = Item(
        item_id=item_id,
        task=task,
        target_words=int(record["target_words"]),
        keyword=keyword,
        json_keys=tuple(record["json_keys"].split(KEY_SEPARATOR)),
    )
    try:
        word_count.check_target(item.target_words)
        keyword_once.check_target(keyword)
        json_keys.check_target(item.json_keys)
    except PanelError as error:
        raise PanelError(f"{where}: {error}") from error
    if keyword_once.count_keyword(task, keyword):
        raise PanelError(f"{where}: keyword {keyword!r} must not occur in the task {task!r}")
    return item

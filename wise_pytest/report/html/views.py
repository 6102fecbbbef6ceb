"""Tables and figures as the templates want them: texts, alignments, and the notes below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.columns import DASH, Interval, Measured, Missing, show

if TYPE_CHECKING:
    from markupsafe import Markup

    from wise_pytest.report.columns import Column, Value
    from wise_pytest.report.tables import Table

WITHOUT_WIDTH = "no width: all replicates are alike, which is no certainty"
_LONG = 60
"""Characters from which on a cell may break its line."""


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell."""

    text: str
    right: bool
    note: int | None = None
    """Of the notes below the table, which one says why there is nothing here, or what it is worth."""
    wide: bool = False
    """Whether it is too long to stay on one line."""


@dataclass(frozen=True, slots=True)
class HeaderView:
    """The head of one column."""

    header: str
    right: bool


@dataclass(frozen=True, slots=True)
class TableView:
    """One table, with its notes below."""

    title: str
    columns: tuple[HeaderView, ...]
    rows: tuple[tuple[CellView, ...], ...]
    notes: tuple[str, ...]
    folded: bool = False
    """Whether it is shown only when asked for."""


@dataclass(frozen=True, slots=True)
class FigureView:
    """One picture with its data."""

    title: str
    caption: str
    svg: Markup
    data: TableView
    open: bool
    """Whether the data show without being asked for."""


def view_table(table: Table, *, folded: bool = False) -> TableView:
    """A table with its values as people read them; each reason for a missing one is told once."""
    notes: dict[str, int] = {}
    rows = tuple(
        tuple(_cell(value, column, notes) for column, value in zip(table.columns, row, strict=True))
        for row in table.rows
    )
    columns = tuple(HeaderView(column.header, column.align == "right") for column in table.columns)
    return TableView(table.title, columns, rows, tuple(notes), folded)


def _cell(value: Value, column: Column, notes: dict[str, int]) -> CellView:
    right = column.align == "right"
    if isinstance(value, Missing):
        note = None if value.reason is None else notes.setdefault(value.reason, len(notes) + 1)
        return CellView(DASH, right, note)
    kind = value.kind if isinstance(value, Measured) else column.kind
    shown = show(value, kind)
    if isinstance(value, Interval) and not value.has_width:
        note = notes.setdefault(WITHOUT_WIDTH, len(notes) + 1)
        return CellView(shown, right, note)
    return CellView(shown, right, wide=len(shown) > _LONG)

"""A grid of shaded cells: models by forms; what the heat map and the chart of ranks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.figures.drawing import SMALL, Drawing, text_width
from wise_pytest.report.figures.figure import WIDTH
from wise_pytest.report.figures.labels import beside, heads, widest_part
from wise_pytest.report.figures.theme import N_HEAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_HEADER = 30
_HEAD_SIZE, _HEAD_LINE, _HEAD_MARGIN = 12, 15, 6
_LEGEND = 30
_BREAK = 10
_GAP = 2
_MANY = 8
"""More columns than this become rows, where there are fewer rows."""
_NARROWEST, _WIDE_PART, _WIDEST = 50, 90, 130
"""A cell holds its number and the longest part of its head, if that is not too long; where the grid was
turned, it does not stretch far beyond them."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell shows."""

    text: str
    step: int
    """Of the scale of heat."""
    below: str = ""
    """A second, smaller line."""
    framed: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class GridPlan:
    """A grid before it is drawn; the models or targets are its rows unless there are many forms."""

    rows: tuple[tuple[str, str], ...]
    """Key and label, from the top."""
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    """By row and column; what is missing stays empty."""
    legend: tuple[str, str]
    """What the two ends of the scale mean."""
    break_after: int | None = None
    """Rows after which a gap sets the others apart."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A row or a column as it is drawn."""

    key: str
    label: str
    after_gap: bool = False


def draw_grid(theme: Theme, plan: GridPlan) -> Drawing:
    """The grid with its header and its legend; turned where it has many columns and fewer rows.

    It is as wide as every picture, or wider where its numbers need the room.
    """
    models = [
        _Line(key, label, plan.break_after is not None and place >= plan.break_after)
        for place, (key, label) in enumerate(plan.rows)
    ]
    forms = [_Line(form, form) for form in plan.columns]
    turned = len(forms) > _MANY and len(models) < len(forms)
    rows, columns = (forms, models) if turned else (models, forms)
    cells = {(form, key): cell for (key, form), cell in plan.cells.items()} if turned else plan.cells
    side = beside((row.label for row in rows), bold=turned)
    gap = _BREAK if any(column.after_gap for column in columns) else 0
    names = [column.label for column in columns]
    least = max(_NARROWEST, min(widest_part(names, _HEAD_SIZE) + _HEAD_MARGIN, _WIDE_PART))
    width = max((WIDTH - side.room - gap) / len(columns), least)
    if turned:
        width = min(width, _WIDEST)
    tops = heads(names, width - _HEAD_MARGIN, _HEAD_SIZE)
    header = max(_HEADER, _HEAD_LINE * max(map(len, tops.values())) + 12)
    height = 40 if any(cell.below for cell in cells.values()) else 28
    below = _BREAK if any(row.after_gap for row in rows) else 0
    sheet = Drawing(
        theme,
        max(WIDTH, side.room + width * len(columns) + gap),
        header + height * len(rows) + below + _LEGEND,
    )
    for place, column in enumerate(columns):
        x = side.room + width * (place + 0.5) + (gap if column.after_gap else 0)
        lines = tops[column.label]
        for line, text in enumerate(lines):
            y = header - 8 - _HEAD_LINE * (len(lines) - line - 0.5)
            sheet.text(x, y, text, role="soft", size=_HEAD_SIZE, anchor="middle", bold=True)
    frames = []
    for place, row in enumerate(rows):
        top = header + height * place + (below if row.after_gap else 0)
        sheet.text(side.room - 12, top + height / 2, side.shown[row.label], anchor="end", bold=turned)
        for position, column in enumerate(columns):
            x = side.room + width * position + (gap if column.after_gap else 0)
            at = (x + _GAP / 2, top + _GAP / 2, width - _GAP, height - _GAP)
            cell = cells.get((row.key, column.key))
            _draw_cell(sheet, cell, at)
            if cell is not None and cell.framed:
                frames.append(at)
    for x, y, w, h in frames:
        sheet.box(x + 1, y + 1, w - 2, h - 2, fill=None, edge="paper", edge_width=4)
        sheet.box(x, y, w, h, fill=None, edge="ink", edge_width=2.5)
    _draw_legend(sheet, plan.legend, side.room)
    return sheet


def _draw_cell(sheet: Drawing, cell: Cell | None, at: tuple[float, float, float, float]) -> None:
    x, y, width, height = at
    middle_x, middle_y = x + width / 2, y + height / 2
    if cell is None:
        sheet.text(middle_x, middle_y, "–", role="soft", anchor="middle")
        return
    sheet.box(*at, fill=f"heat-{cell.step}", about=cell.about)
    ink = f"heat-text-{cell.step}"
    above = 7 if cell.below else 0
    sheet.text(
        middle_x, middle_y - above, cell.text, role=ink, anchor="middle", bold=cell.framed or bool(above)
    )
    if cell.below:
        sheet.text(middle_x, middle_y + 9, cell.below, role=ink, size=SMALL, anchor="middle")


def _draw_legend(sheet: Drawing, ends: tuple[str, str], left: float) -> None:
    y = sheet.height - 10
    x = left + text_width(ends[0], SMALL) + 10
    sheet.text(left, y, ends[0], role="soft", size=SMALL)
    for step in range(N_HEAT):
        sheet.box(x + 16 * step, y - 6, 16, 12, fill=f"heat-{step}")
    sheet.box(x, y - 6, 16 * N_HEAT, 12, fill=None, edge="rule")
    sheet.text(x + 16 * N_HEAT + 8, y, ends[1], role="soft", size=SMALL)

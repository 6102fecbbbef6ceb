"""A grid of shaded cells: models by forms; what the heat map and the chart of ranks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.figures.drawing import SMALL, Drawing, cut, cut_apart, text_width
from wise_pytest.report.figures.figure import WIDTH
from wise_pytest.report.figures.theme import N_HEAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_HEADER = 30
_LEGEND = 30
_BREAK = 10
_WIDEST_LABEL = 210
_GAP = 2


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
    """A grid before it is drawn."""

    rows: tuple[tuple[str, str], ...]
    """Key and label, from the top."""
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    """By row and column; what is missing stays empty."""
    legend: tuple[str, str]
    """What the two ends of the scale mean."""
    break_after: int | None = None
    """Rows after which a gap sets the others apart."""


def draw_grid(theme: Theme, plan: GridPlan) -> Drawing:
    """The grid with its header and its legend."""
    left = min(max(text_width(label) for _, label in plan.rows) + 16, _WIDEST_LABEL)
    width = (WIDTH - left) / len(plan.columns)
    height = 40 if any(cell.below for cell in plan.cells.values()) else 28
    gap = 0 if plan.break_after is None else _BREAK
    sheet = Drawing(theme, WIDTH, _HEADER + height * len(plan.rows) + gap + _LEGEND)
    for column, name in enumerate(plan.columns):
        x = left + width * (column + 0.5)
        sheet.text(x, _HEADER / 2, cut(name, width - 4, 12), role="soft", size=12, anchor="middle", bold=True)
    labels = cut_apart((label for _, label in plan.rows), left - 14)
    frames = []
    for row, (key, label) in enumerate(plan.rows):
        top = _HEADER + height * row
        if plan.break_after is not None and row >= plan.break_after:
            top += gap
        sheet.text(left - 12, top + height / 2, labels[label], anchor="end")
        for column, name in enumerate(plan.columns):
            x = left + width * column
            cell = plan.cells.get((key, name))
            if cell is None:
                sheet.text(x + width / 2, top + height / 2, "–", role="soft", anchor="middle")
                continue
            place = (x + _GAP / 2, top + _GAP / 2, width - _GAP, height - _GAP)
            sheet.box(*place, fill=f"heat-{cell.step}", about=cell.about)
            ink = f"heat-text-{cell.step}"
            middle = top + height / 2
            above = 7 if cell.below else 0
            sheet.text(
                x + width / 2,
                middle - above,
                cell.text,
                role=ink,
                anchor="middle",
                bold=cell.framed or bool(above),
            )
            if cell.below:
                sheet.text(x + width / 2, middle + 9, cell.below, role=ink, size=SMALL, anchor="middle")
            if cell.framed:
                frames.append(place)
    for x, y, w, h in frames:
        sheet.box(x + 1, y + 1, w - 2, h - 2, fill=None, edge="paper", edge_width=4)
        sheet.box(x, y, w, h, fill=None, edge="ink", edge_width=2.5)
    _draw_legend(sheet, plan.legend, left)
    return sheet


def _draw_legend(sheet: Drawing, ends: tuple[str, str], left: float) -> None:
    y = sheet.height - 10
    x = left + text_width(ends[0], SMALL) + 10
    sheet.text(left, y, ends[0], role="soft", size=SMALL)
    for step in range(N_HEAT):
        sheet.box(x + 16 * step, y - 6, 16, 12, fill=f"heat-{step}")
    sheet.box(x, y - 6, 16 * N_HEAT, 12, fill=None, edge="rule")
    sheet.text(x + 16 * N_HEAT + 8, y, ends[1], role="soft", size=SMALL)

"""From the reference form to the worst form, model by model (the paper's Figure 5)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import Column, number, show
from wise_pytest.report.figures.axis import AXIS_HEIGHT, Scale, draw_axis
from wise_pytest.report.figures.charts.values import (
    best_first,
    forms_of,
    models_of,
    percent,
    plain_points,
    points,
    rates,
    reference_of,
    upper_end,
)
from wise_pytest.report.figures.drawing import SMALL, Drawing, text_width
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.objects import mapping
from wise_pytest.report.tables import MODEL, Table
from wise_pytest.report.ties import forms_at, lowest, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_ROW = 30
_TOP = 30
_VALUE, _LEAST_FORM = 66, 84
"""Right of the scale: the difference, and the form that it belongs to."""
_WIDEST_LABEL = 210


@dataclass(frozen=True, slots=True)
class _Drop:
    model: str
    before: float
    after: float
    form: str
    """The weakest one, or how many tie."""
    diff: float
    """0 where the reference form is itself the weakest."""


def dumbbell(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture of the primary models, or ``None`` where none has both ends."""
    reference = reference_of(panel)
    by_model = models_of(panel)
    found = (_drop(model, by_model[model], reference) for model in best_first(panel, by_model))
    drops = [drop for drop in found if drop is not None]
    if not drops:
        return None
    return Figure(
        name=f"{slug(panel_id)}-worst-form",
        title=_title(drops, reference),
        caption=(
            f"Compliance of each model under {reference} (circle) and under its own worst form "
            "(diamond), with the difference in percentage points."
        ),
        draw=lambda theme: _draw(theme, drops, reference),
        data=_table(drops, reference),
    )


def _drop(model: str, result: Mapping[str, Any], reference: str) -> _Drop | None:
    known = rates(result)
    worst = mapping(result, "summary").get("worst_form")
    if reference not in known or not isinstance(worst, str) or worst not in known:
        return None
    diff = 0.0 if worst == reference else number(forms_of(result)[worst].get("diff"))
    return (
        None
        if diff is None
        else _Drop(model, known[reference], known[worst], named(forms_at(result, "worst")), float(diff))
    )


def _title(drops: list[_Drop], reference: str) -> str:
    by_model = {drop.model: drop for drop in drops}
    most = lowest({drop.model: drop.diff for drop in drops})
    first = by_model[most[0]]
    if first.diff == 0:
        return f"No model complies less than under {reference}"
    if len(most) > 1:
        return f"{named(most)} lose most, {points(first.diff)} each, from {reference} to their worst forms"
    fall = f"{percent(first.before)} under {reference}, {percent(first.after)} under {first.form}"
    return f"{first.model}: {fall}" if len(drops) == 1 else f"{first.model} loses most: {fall}"


def _draw(theme: Theme, drops: list[_Drop], reference: str) -> Drawing:
    side = beside((drop.model for drop in drops), most=_WIDEST_LABEL, margin=20)
    worst = beside((drop.form for drop in drops), least=_LEAST_FORM, size=SMALL, margin=0)
    left, right = side.room, WIDTH - _VALUE - worst.room
    bottom = _TOP + _ROW * len(drops)
    scale = Scale(0.0, upper_end(max(max(drop.before, drop.after) for drop in drops)), left, right)
    sheet = Drawing(theme, WIDTH, bottom + AXIS_HEIGHT)
    draw_axis(sheet, scale, top=_TOP, bottom=bottom, label="compliance, per cent", shown=plain_points)
    sheet.circle(left + 6, 10, 6, fill="paper", edge="accent")
    sheet.text(left + 18, 10, reference, role="soft", size=12)
    x = left + 18 + text_width(reference, 12) + 24
    sheet.diamond(x, 10, 7, fill="warn")
    sheet.text(x + 13, 10, "worst form", role="soft", size=12)
    for row, drop in enumerate(drops):
        y = _TOP + _ROW * (row + 0.5)
        before, after = scale.place(drop.before), scale.place(drop.after)
        sheet.text(left - 14, y, side.shown[drop.model], anchor="end")
        sheet.line(before, y, after, y, "axis", 2.5)
        about = f"{drop.model}, {reference}: {percent(drop.before)}"
        sheet.circle(before, y, 6, fill="paper", edge="accent", about=about)
        about = f"{drop.model}, {drop.form}: {percent(drop.after)}"
        sheet.diamond(after, y, 7, fill="warn", edge="paper", edge_width=1, about=about)
        shown = show(drop.diff, "difference")
        sheet.text(right + 58, y, shown, anchor="end", bold=True)
        sheet.text(right + 66, y, worst.shown[drop.form], role="soft", size=SMALL)
    return sheet


def _table(drops: list[_Drop], reference: str) -> Table:
    columns = (
        MODEL,
        Column(reference, "before", ("before",), "rate"),
        Column("Worst form", "form", ("form",)),
        Column("Compliance there", "after", ("after",), "rate"),
        Column("Δ", "diff", ("diff",), "difference"),
    )
    records = map(asdict, drops)
    return Table(
        f"From {reference} to the worst form",
        columns,
        tuple(tuple(column.value(record) for column in columns) for record in records),
    )

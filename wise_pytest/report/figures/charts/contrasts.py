"""Differences to the reference form with their intervals (the paper's Figures 7 and 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import number, show
from wise_pytest.report.figures.axis import AXIS_HEIGHT, draw_axis, spanning
from wise_pytest.report.figures.charts.values import (
    bounds,
    forms_of,
    holds_after_holm,
    interval_beside,
    no_certainty,
    percent,
    plain_points,
    point_fill,
    points,
    rates,
    reference_of,
    with_holm,
)
from wise_pytest.report.figures.drawing import Drawing
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.objects import mapping
from wise_pytest.report.tables import forms_table
from wise_pytest.report.ties import highest, lowest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_ROW = 34
_TOP = 30
_LEFT, _RIGHT = 150, 530


def contrasts(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture, or ``None`` where no form has a difference."""
    results = {form: r for form, r in forms_of(panel).items() if number(r.get("diff")) is not None}
    if not results:
        return None
    reference = reference_of(panel)
    confidence = number(mapping(panel, "bootstrap").get("confidence"))
    level = "" if confidence is None else f"{confidence * 100:g} % "
    return Figure(
        name=f"{slug(panel_id)}-contrasts",
        title=_title(results, reference, confidence),
        caption=(
            f"Difference in compliance between each wording and {reference}, in percentage points, with its "
            f"{level}interval. A strong point differs from {reference} after Holm's correction; a "
            f"pale one's interval alone leaves out 0; a hollow one's holds 0, or was not tested."
            f"{no_certainty(results.values())}"
        ),
        draw=lambda theme: _draw(theme, panel, results, confidence),
        data=forms_table(panel),
    )


def _title(results: Mapping[str, Mapping[str, Any]], reference: str, confidence: float | None) -> str:
    diffs = {form: float(result["diff"]) for form, result in results.items()}
    low, high = lowest(diffs), highest(diffs)
    if diffs[low[0]] < 0:
        falls = verb(low, "falls", "fall")
        seen = f"{named(low)} {falls} {points(diffs[low[0]])} below {reference}"
    elif diffs[high[0]] > 0:
        above = f"{verb(high, 'is', 'are')} {points(diffs[high[0]])} above it"
        seen = f"No wording falls below {reference}; {named(high)} {above}"
    else:
        seen = f"No wording differs from {reference}"
    return with_holm(seen, results.values(), confidence, "difference")


def _draw(
    theme: Theme,
    panel: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Any]],
    confidence: float | None,
) -> Drawing:
    side = beside(results, least=_LEFT, bold=True)
    intervals = {form: bounds(result, "ci_low", "ci_high") for form, result in results.items()}
    ends = [end for pair in intervals.values() if pair is not None for end in pair]
    scale = spanning(
        [*ends, *(float(r["diff"]) for r in results.values())], left=side.room, right=_RIGHT, least=0.1
    )
    bottom = _TOP + _ROW * len(results)
    sheet = Drawing(theme, WIDTH, bottom + AXIS_HEIGHT)
    draw_axis(sheet, scale, top=_TOP, bottom=bottom, label="percentage points", shown=plain_points)
    zero = scale.place(0)
    sheet.line(zero, _TOP - 6, zero, bottom, "axis", 1.5)
    reference = reference_of(panel)
    base = rates(panel).get(reference)
    said = reference if base is None else f"{reference} {percent(base)}"
    sheet.text(zero, _TOP - 16, said, role="soft", anchor="middle")
    for row, (form, result) in enumerate(results.items()):
        y = _TOP + _ROW * (row + 0.5)
        diff, pair = float(result["diff"]), intervals[form]
        x = scale.place(diff)
        sheet.text(side.room - 12, y, side.shown[form], anchor="end", bold=True)
        if pair is not None:
            low, high = scale.place(pair[0]), scale.place(pair[1])
            sheet.line(low, y, high, y, "accent", 2)
            for end in (low, high):
                sheet.line(end, y - 5, end, y + 5, "accent", 2)
        shown = show(diff, "difference")
        between = "" if pair is None else interval_beside(*pair)
        clear = holds_after_holm(result, confidence)
        sheet.circle(
            x,
            y,
            6,
            fill=point_fill(result, "ci_low", "ci_high", confidence),
            edge="accent",
            about=f"{form} {shown} {between}",
        )
        sheet.text(_RIGHT + 62, y, shown, anchor="end", bold=clear)
        sheet.text(_RIGHT + 72, y, between, role="soft", size=12)
    return sheet

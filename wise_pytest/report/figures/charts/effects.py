"""What each property of a wording does to compliance, and each pair of them: a factorial panel's effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import number, show
from wise_pytest.report.factorial import effect_name, effects_of, effects_table, models_beside
from wise_pytest.report.figures.axis import AXIS_HEIGHT, draw_axis, spanning
from wise_pytest.report.figures.charts.values import (
    bounds,
    holds_after_holm,
    interval_beside,
    no_certainty,
    plain_points,
    point_fill,
    points,
    with_holm,
)
from wise_pytest.report.figures.drawing import Drawing
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.ties import highest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.report.figures.theme import Theme

_ROW = 26
_TOP = 12
_LEFT, _RIGHT = 170, 530
_SPAN = 0.2
"""The axis is at least this wide: small effects are to look small."""


def effects(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture, or ``None`` where no factor has an estimate."""
    found = [mapping(effect) for effect in listed(mapping(effects_of(panel), "pooled"), "effects")]
    if all(number(effect.get("estimate")) is None for effect in found):
        return None
    confidence = number(effects_of(panel).get("confidence"))
    level = "" if confidence is None else f"{100 * confidence:g} % "
    several = models_beside(panel)
    models = "; diamonds are the models' own estimates" if several else ""
    return Figure(
        name=f"{slug(panel_id)}-effects",
        title=_title(found, confidence),
        caption=(
            "Change in compliance, in percentage points: of a level against the first of its factor (bold), "
            f"and of two levels that meet beyond what each does alone, with {level}intervals over items. A "
            "strong point differs from 0 after Holm's correction; a pale one's interval alone leaves out 0; "
            f"a hollow one's holds 0, or was not tested{models}.{no_certainty(found)}"
        ),
        draw=lambda theme: _draw(theme, found, [listed(m, "effects") for m in several.values()], confidence),
        data=effects_table(panel),
    )


def _title(found: Sequence[Mapping[str, Any]], confidence: float | None) -> str:
    known = {
        effect_name(effect): float(estimate)
        for effect in found
        if (estimate := number(effect.get("estimate"))) is not None
    }
    most = highest({name: abs(estimate) for name, estimate in known.items()})
    size = points(known[most[0]])
    if known[most[0]] == 0:
        seen = "No property of the wording changes compliance"
    elif all(known[name] > 0 for name in most):
        seen = f"{named(most)} {verb(most, 'raises', 'raise')} compliance most, by {size}"
    elif all(known[name] < 0 for name in most):
        seen = f"{named(most)} {verb(most, 'lowers', 'lower')} compliance most, by {size}"
    else:
        seen = f"{named(most)} change compliance most, by {size} up or down"
    return with_holm(seen, found, confidence, "effect")


def _draw(
    theme: Theme,
    found: Sequence[Mapping[str, Any]],
    models: Sequence[Sequence[Any]],
    confidence: float | None,
) -> Drawing:
    own = [
        [
            float(value)
            for effects in models
            if row < len(effects) and (value := number(mapping(effects[row]).get("estimate"))) is not None
        ]
        for row in range(len(found))
    ]
    intervals = [bounds(effect, "ci_low", "ci_high") for effect in found]
    estimates = [number(effect.get("estimate")) for effect in found]
    ends = [end for pair in intervals if pair is not None for end in pair]
    values = [*ends, *(value for values in own for value in values), *filter(None, estimates)]
    side = beside(map(effect_name, found), least=_LEFT, bold=True)
    scale = spanning(values, left=side.room, right=_RIGHT, least=_SPAN)
    bottom = _TOP + _ROW * len(found)
    sheet = Drawing(theme, WIDTH, bottom + AXIS_HEIGHT)
    draw_axis(sheet, scale, top=_TOP, bottom=bottom, label="percentage points", shown=plain_points)
    zero = scale.place(0)
    sheet.line(zero, _TOP - 6, zero, bottom, "axis", 1.5)
    for row, effect in enumerate(found):
        y = _TOP + _ROW * (row + 0.5)
        name = effect_name(effect)
        is_main = len(listed(effect, "contrast")) == 1
        sheet.text(side.room - 12, y, side.shown[name], anchor="end", bold=is_main)
        for value in own[row]:
            sheet.diamond(scale.place(value), y, 4.5, fill=None, edge="warn", edge_width=1.2)
        estimate, pair = estimates[row], intervals[row]
        if estimate is None:
            sheet.text(_RIGHT + 72, y, "no estimate", role="soft", size=12)
            continue
        between = "" if pair is None else interval_beside(*pair)
        if pair is not None:
            sheet.line(scale.place(pair[0]), y, scale.place(pair[1]), y, "accent", 2)
        shown, clear = show(estimate, "difference"), holds_after_holm(effect, confidence)
        fill = point_fill(effect, "ci_low", "ci_high", confidence)
        sheet.circle(scale.place(estimate), y, 5, fill=fill, edge="accent", about=f"{name} {shown} {between}")
        sheet.text(_RIGHT + 62, y, shown, anchor="end", bold=clear)
        sheet.text(_RIGHT + 72, y, between, role="soft", size=12)
    return sheet

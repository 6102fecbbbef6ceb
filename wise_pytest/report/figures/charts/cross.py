"""The panels side by side over the models that they share (the paper's Figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import Column, show
from wise_pytest.report.figures.axis import AXIS_HEIGHT, Scale, draw_axis
from wise_pytest.report.figures.charts.values import (
    counted,
    forms_of,
    percent,
    plain_points,
    rate_interval,
    rates,
)
from wise_pytest.report.figures.drawing import SMALL, Drawing
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.tables import FORM, PANEL, Table
from wise_pytest.report.ties import all_alike, highest, lowest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme
    from wise_pytest.report.objects import Document

_ROW, _BAR = 26, 18
_HEADER, _GAP = 26, 8
_LEFT, _RIGHT = 150, WIDTH - 76
_FEWEST = 2


def cross(document: Document) -> Figure | None:
    """The picture, or ``None`` where fewer than two panels share a model."""
    view = mapping(document, "cross")
    panels = {
        str(panel_id): (_roles(mapping(panel)), mapping(panel))
        for panel_id, panel in mapping(view, "panels").items()
    }
    if len(panels) < _FEWEST:
        return None
    n_models = len(listed(view, "models"))
    return Figure(
        name="cross-constraint",
        title=_title(panels),
        caption=(
            f"Compliance of the {counted(n_models, 'model')} that all panels share, in per cent, under a "
            "plain requirement (POS), a prohibition (NEG) and an avoidance (AVOID), with intervals where "
            "they are known."
        ),
        draw=lambda theme: _draw(theme, panels),
        data=_table(panels),
    )


def _roles(panel: Mapping[str, Any]) -> dict[str, str]:
    """The form that plays each role, for those that have a rate."""
    known = rates(panel)
    return {str(role): str(form) for role, form in mapping(panel, "roles").items() if str(form) in known}


def _title(panels: Mapping[str, tuple[Mapping[str, str], Mapping[str, Any]]]) -> str:
    below: list[str] = []
    for roles, panel in panels.values():
        known = rates(panel)
        own = {role: known[form] for role, form in roles.items()}
        if own and not all_alike(own):
            below += lowest(own)
    if not below:
        return "Compliance by kind of wording, panel by panel"
    counts = {role: float(below.count(role)) for role in dict.fromkeys(below)}
    often = highest(counts)
    n = below.count(often[0])
    within = f"all {n}" if n == len(panels) else f"{n} of {len(panels)}"
    return f"{named(often)} {verb(often, 'is', 'are each')} the lowest in {within} panels"


def _said(role: str, form: str) -> str:
    return role if role == form else f"{role} ({form})"


def _draw(theme: Theme, panels: Mapping[str, tuple[Mapping[str, str], Mapping[str, Any]]]) -> Drawing:
    bottom = sum(_HEADER + _ROW * len(roles) + _GAP for roles, _ in panels.values())
    said = (_said(role, form) for roles, _ in panels.values() for role, form in roles.items())
    side = beside(dict.fromkeys(said), least=_LEFT)
    left = side.room
    scale = Scale(0.0, 1.0, left, _RIGHT)
    sheet = Drawing(theme, WIDTH, bottom + AXIS_HEIGHT)
    draw_axis(sheet, scale, top=4, bottom=bottom, label="compliance, per cent", shown=plain_points)
    shades = {"POS": "good", "NEG": "heat-4", "AVOID": "heat-7"}
    y = 0.0
    for panel_id, (roles, panel) in panels.items():
        sheet.text(left + 4, y + _HEADER / 2 + 2, panel_id, bold=True, halo=True)
        y += _HEADER
        known = rates(panel)
        for role, form in roles.items():
            middle, rate = y + _ROW / 2, known[form]
            sheet.text(left - 12, middle, side.shown[_said(role, form)], anchor="end")
            pair = rate_interval(forms_of(panel)[form])
            about = f"{panel_id}, {form}: {percent(rate)}"
            fill = shades.get(role, "heat-2")
            sheet.box(
                left, middle - _BAR / 2, scale.place(rate) - left, _BAR, fill=fill, edge="axis", about=about
            )
            end = rate
            if pair is not None:
                low, high = scale.place(pair[0]), scale.place(pair[1])
                # Twice, so that it shows on the bar as well as beside it.
                for role_of_line, width in (("paper", 5.5), ("ink", 2)):
                    sheet.line(low, middle, high, middle, role_of_line, width)
                    for x in (low, high):
                        reach = 5 + width / 4
                        sheet.line(x, middle - reach, x, middle + reach, role_of_line, width)
                end = max(rate, pair[1])
            sheet.text(scale.place(end) + 10, middle, show(rate, "rate"), size=SMALL, bold=True, halo=True)
            y += _ROW
        y += _GAP
    return sheet


def _table(panels: Mapping[str, tuple[Mapping[str, str], Mapping[str, Any]]]) -> Table:
    columns = (
        PANEL,
        Column("Kind", "role", ("role",)),
        FORM,
        Column("Compliance", "compliance", ("compliance",), "rate"),
        Column("Interval", "compliance_ci", ("compliance_ci",), "rate_interval"),
        Column("n", "n", ("n",), "count"),
        Column("Δ", "diff", ("diff",), "difference"),
        Column("Interval of Δ", "ci", (), "difference_interval", bounds=("ci_low", "ci_high")),
    )
    records = [
        {**forms_of(panel)[form], "panel": panel_id, "role": role, "form": form}
        for panel_id, (roles, panel) in panels.items()
        for role, form in roles.items()
    ]
    return Table("Panels side by side", columns, tuple(tuple(c.value(r) for c in columns) for r in records))

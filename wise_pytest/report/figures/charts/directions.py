"""Which way the answers of each form fail (the paper's Figure 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import number, show
from wise_pytest.report.figures.charts.values import COMPLIANT, forms_of, percent, rates
from wise_pytest.report.figures.drawing import SMALL, Drawing, text_width
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.figures.theme import N_SEGMENTS
from wise_pytest.report.objects import mapping
from wise_pytest.report.tables import directions_table
from wise_pytest.report.ties import highest, lowest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_ROW, _BAR = 34, 24
_LEFT, _RIGHT = 150, WIDTH - 8
_LEGEND_LINE = 22


def directions(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture, or ``None`` where no row names a direction."""
    shares = {
        form: {str(key): float(share) for key, share in mapping(result, "directions").items()}
        for form, result in forms_of(panel).items()
        if mapping(result, "directions")
    }
    if not shares:
        return None
    return Figure(
        name=f"{slug(panel_id)}-directions",
        title=_title(shares, rates(panel)),
        caption="Share of the scored answers of each wording, in per cent, by the way they meet or miss it.",
        draw=lambda theme: _draw(theme, shares),
        data=directions_table(panel),
    )


def _title(shares: Mapping[str, Mapping[str, float]], known: Mapping[str, float]) -> str:
    weakest = lowest({form: known.get(form, 1.0) for form in shares})
    mains = {form: _main_misses(shares[form]) for form in shares}
    if not any(mains[form] for form in weakest):
        return "Every answer meets its requirement"
    main = mains[weakest[0]]
    said = " and ".join(f'"{key.replace("_", " ")}"' for key in main)
    alike = {(tuple(mains[form]), percent(shares[form][main[0]])) for form in weakest if mains[form] == main}
    if len(alike) != 1 or any(mains[form] != main for form in weakest):
        each = "each by" if len(weakest) > 1 else "by"
        return (
            f"{named(weakest)} are met least often, {each} {percent(known.get(weakest[0], 0.0))} of answers"
        )
    share = f"{percent(shares[weakest[0]][main[0]])} of answers{' each' if len(main) > 1 else ''}"
    if len(main) == 1 and all(found == main for found in mains.values()):
        return f"Most misses are {said} under every wording; under {named(weakest)} they are {share}"
    worst = verb(weakest, "the worst form", "the worst forms")
    return f"Under {named(weakest)}, {worst}, {share} are {said}"


def _main_misses(of_form: Mapping[str, float]) -> list[str]:
    """The way in which most answers miss, or the ways, where they tie."""
    misses = {key: share for key, share in of_form.items() if key not in COMPLIANT and share > 0}
    return highest(misses) if misses else []


def roles(keys: list[str]) -> dict[str, tuple[str, str]]:
    """For each direction the role of its colour, and of the text on it."""
    colours: dict[str, tuple[str, str]] = {}
    for key in keys:
        if key in COMPLIANT:
            colours[key] = ("good", "good-text")
        else:
            n = min(sum(role != "good" for role, _ in colours.values()), N_SEGMENTS - 1)
            colours[key] = (f"segment-{n}", f"segment-text-{n}")
    return colours


def _draw(theme: Theme, shares: Mapping[str, Mapping[str, float]]) -> Drawing:
    keys = list(dict.fromkeys(key for of_form in shares.values() for key in of_form))
    colours = roles([key for key in keys if any(of_form.get(key, 0) > 0 for of_form in shares.values())])
    side = beside(shares, least=_LEFT, bold=True)
    left = side.room
    legend = _legend_places(list(colours), left)
    top = _LEGEND_LINE * (max(line for _, line in legend.values()) + 1) + 8
    sheet = Drawing(theme, WIDTH, top + _ROW * len(shares))
    for key, (x, line) in legend.items():
        y = _LEGEND_LINE * (line + 0.5)
        sheet.box(x, y - 7, 14, 14, fill=colours[key][0], edge="axis")
        sheet.text(x + 20, y, key.replace("_", " "), role="soft", size=12)
    for row, (form, of_form) in enumerate(shares.items()):
        y = top + _ROW * (row + 0.5)
        sheet.text(left - 12, y, side.shown[form], anchor="end", bold=True)
        x = left
        for key, (role, text_role) in colours.items():
            share = number(of_form.get(key)) or 0.0
            width = share * (_RIGHT - left)
            if width <= 0:
                continue
            shown = show(share, "rate")
            about = f"{form}: {key} {shown} %"
            sheet.box(x, y - _BAR / 2, width, _BAR, fill=role, edge="paper", about=about)
            if text_width(shown, SMALL) + 6 < width:
                sheet.text(x + width / 2, y, shown, role=text_role, size=SMALL, anchor="middle")
            x += width
    return sheet


def _legend_places(keys: list[str], left: float) -> dict[str, tuple[float, int]]:
    """Where each entry of the legend goes: its left edge and its line."""
    places: dict[str, tuple[float, int]] = {}
    x, line = left, 0
    for key in keys:
        width = 20 + text_width(key, 12) + 22
        if x + width > _RIGHT and x > left:
            x, line = left, line + 1
        places[key] = (x, line)
        x += width
    return places

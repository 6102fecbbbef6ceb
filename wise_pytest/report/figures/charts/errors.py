"""How far counts are off their target, form by form (the paper's Figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import Column, number, show
from wise_pytest.report.figures.axis import AXIS_HEIGHT, draw_axis, spanning
from wise_pytest.report.figures.charts.values import forms_of
from wise_pytest.report.figures.drawing import Drawing
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.objects import mapping
from wise_pytest.report.tables import FORM, Table
from wise_pytest.report.ties import all_alike, highest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_ROW, _BOX = 34, 18
_TOP = 8
_LEFT, _RIGHT = 150, WIDTH - 24
_FIELDS = ("whisker_low", "q1", "median", "q3", "whisker_high")
_PATH = ("surface", "count_error")


def errors(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture, or ``None`` where nothing was counted."""
    boxes = {
        form: {field: float(found[field]) for field in _FIELDS}
        for form, result in forms_of(panel).items()
        if _whole(found := mapping(result, *_PATH))
    }
    if not boxes:
        return None
    return Figure(
        name=f"{slug(panel_id)}-errors",
        title=_title(boxes),
        caption=(
            "Observed count minus target. A box holds the middle half of the answers, its bar is the "
            "median; whiskers reach the most extreme answer within 1.5 box lengths; answers "
            "beyond them are not drawn."
        ),
        draw=lambda theme: _draw(theme, boxes),
        data=_table(panel, list(boxes)),
    )


def _whole(found: Mapping[str, Any]) -> bool:
    return all(number(found.get(field)) is not None for field in _FIELDS)


def _title(boxes: Mapping[str, Mapping[str, float]]) -> str:
    widths = {form: box["q3"] - box["q1"] for form, box in boxes.items()}
    most = highest(widths)
    low, high = boxes[most[0]]["q1"], boxes[most[0]]["q3"]
    if low == high:
        return "Under every wording at least half of the answers are off by the same count"
    if all((boxes[form]["q1"], boxes[form]["q3"]) == (low, high) for form in most):
        off = f"are off by {_words(low)} to {_words(high)}"
    else:
        off = f"lie within a range of {show(high - low, 'compact')}"
    if all_alike(widths):
        return f"All {len(widths)} wordings scatter alike: half of the answers to each {off}"
    return (
        f"{named(most)} {verb(most, 'scatters', 'scatter')} most: half of "
        f"{verb(most, 'its answers', 'the answers to each')} {off}"
    )


def _words(error: float) -> str:
    shown = show(error, "compact")
    return f"+{shown}" if error > 0 else shown


def _draw(theme: Theme, boxes: Mapping[str, Mapping[str, float]]) -> Drawing:
    values = [value for box in boxes.values() for value in box.values()]
    side = beside(boxes, least=_LEFT, bold=True)
    scale = spanning(values, left=side.room, right=_RIGHT, least=4)
    bottom = _TOP + _ROW * len(boxes)
    sheet = Drawing(theme, WIDTH, bottom + AXIS_HEIGHT)
    draw_axis(sheet, scale, top=_TOP, bottom=bottom, label="observed count minus target", shown=_tick)
    zero = scale.place(0)
    sheet.line(zero, _TOP - 4, zero, bottom, "axis", 1.5)
    for row, (form, box) in enumerate(boxes.items()):
        y = _TOP + _ROW * (row + 0.5)
        low, q1, median, q3, high = (scale.place(box[field]) for field in _FIELDS)
        sheet.text(side.room - 12, y, side.shown[form], anchor="end", bold=True)
        sheet.line(low, y, high, y, "accent", 1.5)
        for end in (low, high):
            sheet.line(end, y - 5, end, y + 5, "accent", 1.5)
        half = f"{_words(box['q1'])} to {_words(box['q3'])}"
        about = f"{form}: median {_words(box['median'])}, half of the answers {half}"
        sheet.box(
            q1, y - _BOX / 2, max(q3 - q1, 1), _BOX, fill="heat-2", edge="accent", edge_width=1.5, about=about
        )
        sheet.line(median, y - _BOX / 2, median, y + _BOX / 2, "warn", 3.5)
    return sheet


def _tick(value: float) -> str:
    return _words(round(value, 6))


def _table(panel: Mapping[str, Any], forms: list[str]) -> Table:
    columns = (
        FORM,
        Column("n", "n", (*_PATH, "n"), "count"),
        Column("Lowest", "min", (*_PATH, "min"), "compact"),
        Column("Lower whisker", "whisker_low", (*_PATH, "whisker_low"), "compact"),
        Column("Lower quartile", "q1", (*_PATH, "q1"), "compact"),
        Column("Median", "median", (*_PATH, "median"), "compact"),
        Column("Upper quartile", "q3", (*_PATH, "q3"), "compact"),
        Column("Upper whisker", "whisker_high", (*_PATH, "whisker_high"), "compact"),
        Column("Highest", "max", (*_PATH, "max"), "compact"),
        Column("Mean", "mean", (*_PATH, "mean"), "compact"),
    )
    records = [{**forms_of(panel)[form], "form": form} for form in forms]
    return Table(
        "Observed count minus target", columns, tuple(tuple(c.value(r) for c in columns) for r in records)
    )

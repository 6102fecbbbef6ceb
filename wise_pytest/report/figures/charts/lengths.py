"""Do outputs grow with their target? Mean counts of each model (the diagnostics of the floor regime)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import Column, number, show
from wise_pytest.report.figures.axis import AXIS_HEIGHT, Scale, draw_axis, round_step
from wise_pytest.report.figures.charts.values import counted, models_of
from wise_pytest.report.figures.drawing import SMALL, Drawing
from wise_pytest.report.figures.figure import WIDTH, Figure
from wise_pytest.report.figures.labels import beside
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.tables import MODEL, Table
from wise_pytest.report.ties import lowest, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.theme import Theme

_ROW = 30
_TOP = 30
_FEWEST = 2


def lengths(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture of every model with counts at two targets or more, or ``None``."""
    known = {
        model: (result, means)
        for model, result in models_of(panel, every=True).items()
        if len(means := _means(result)) >= _FEWEST
    }
    if not known:
        return None
    targets = sorted({target for _, means in known.values() for target in means})
    return Figure(
        name=f"{slug(panel_id)}-lengths",
        title=_title({model: result for model, (result, _) in known.items()}),
        caption=(
            f"Mean count of words at each target ({', '.join(f'{t:g}' for t in targets)}), from pale to "
            "strong. Points that lie on one another are outputs that do not follow the target."
        ),
        draw=lambda theme: _draw(theme, {model: means for model, (_, means) in known.items()}, targets),
        data=_table(panel, list(known)),
    )


def _means(result: Mapping[str, Any]) -> dict[float, float]:
    found = {}
    for entry in listed(result, "targets"):
        target, mean = number(mapping(entry).get("target")), number(mapping(entry).get("mean_observed"))
        if target is not None and mean is not None:
            found[float(target)] = float(mean)
    return found


def _title(results: Mapping[str, Mapping[str, Any]]) -> str:
    in_floor = [
        model for model, result in results.items() if mapping(result, "floor").get("in_floor") is True
    ]
    if in_floor:
        whose = in_floor[0] if len(in_floor) == 1 else counted(len(in_floor), "model")
        return f"Outputs of {whose} hardly follow the target: floor regime"
    changes = {
        model: change
        for model, result in results.items()
        if (change := number(mapping(result, "floor").get("change_words"))) is not None
    }
    if not changes:
        return "Mean length of outputs at each target"
    least = lowest(changes)
    said = f"{show(float(changes[least[0]]), 'compact')} words from the smallest target to the largest"
    if len(changes) == 1:
        return f"Outputs of {named(least)} grow by {said}"
    return f"Outputs of {named(least)} follow the target least: they grow by {said}"


def _draw(theme: Theme, known: Mapping[str, Mapping[float, float]], targets: list[float]) -> Drawing:
    side = beside(known, margin=20)
    left = side.room
    right = WIDTH - 20
    highest = max(*(mean for means in known.values() for mean in means.values()), *targets)
    step = round_step(highest / 6)
    scale = Scale(0.0, step * (int(highest / step) + 1), left, right)
    bottom = _TOP + _ROW * len(known)
    sheet = Drawing(theme, WIDTH, bottom + AXIS_HEIGHT)
    draw_axis(sheet, scale, top=_TOP, bottom=bottom, label="mean words", shown=lambda v: f"{v:g}")
    shades = {target: f"heat-{_shade(n, len(targets))}" for n, target in enumerate(targets)}
    for target in targets:
        x = scale.place(target)
        sheet.line(x, _TOP - 4, x, bottom, "axis", 1, dash="3 3")
        sheet.text(x, _TOP - 14, f"{target:g}", role="soft", size=SMALL, anchor="middle")
    for row, (model, means) in enumerate(known.items()):
        y = _TOP + _ROW * (row + 0.5)
        sheet.text(left - 14, y, side.shown[model], anchor="end")
        places = [scale.place(mean) for mean in means.values()]
        sheet.line(min(places), y, max(places), y, "axis", 2)
        for target, mean in means.items():
            about = f"{model}: {mean:.1f} words at target {target:g}"
            sheet.circle(
                scale.place(mean), y, 6, fill=shades[target], edge="ink", edge_width=1.2, about=about
            )
    return sheet


def _shade(position: int, n: int) -> int:
    return round(1 + position * 6 / max(n - 1, 1))


def _table(panel: Mapping[str, Any], models: list[str]) -> Table:
    columns = (
        MODEL,
        Column("Target", "target", ("target",), "compact"),
        Column("Compliance", "compliance", ("compliance",), "rate"),
        Column("n", "n", ("n",), "count"),
        Column("Mean words", "mean_observed", ("mean_observed",), "decimal"),
        Column("Mean error", "mean_error", ("mean_error",), "decimal"),
        Column("Empty", "empty_share", ("empty_share",), "rate", optional=True),
        Column("Truncated", "truncated_share", ("truncated_share",), "rate", optional=True),
    )
    every = models_of(panel, every=True)
    records = [
        {**mapping(entry), "model": model} for model in models for entry in listed(every[model], "targets")
    ]
    kept = tuple(column for column in columns if not column.optional or any(map(column.present, records)))
    return Table(
        "Outputs by target", kept, tuple(tuple(column.value(record) for column in kept) for record in records)
    )

"""Compliance under each form at each target, where targets are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import Column, number, show
from wise_pytest.report.figures.charts.grid import Cell, GridPlan, draw_grid
from wise_pytest.report.figures.charts.values import (
    forms_of,
    percent,
    plain_points,
    reference_of,
    upper_end,
)
from wise_pytest.report.figures.figure import Figure
from wise_pytest.report.figures.theme import heat_step
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.tables import FORM, Table
from wise_pytest.report.ties import all_alike, highest, lowest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

_FEWEST = 2


def targets(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture over the primary models, or ``None`` where there is one target only."""
    entries = [mapping(entry) for entry in listed(panel, "targets")]
    by_target = {
        float(target): mapping(entry, "forms")
        for entry in entries
        if (target := number(entry.get("target"))) is not None
    }
    known = {
        (f"{target:g}", form): float(rate)
        for target, forms in by_target.items()
        for form, result in forms.items()
        if (rate := number(mapping(result).get("compliance"))) is not None
    }
    if len({target for target, _ in known}) < _FEWEST:
        return None
    top = upper_end(max(known.values()))
    forms = [form for form in forms_of(panel) if any(form == other for _, other in known)]
    plan = GridPlan(
        rows=tuple((f"{target:g}", f"target {target:g}") for target in by_target),
        columns=tuple(forms),
        cells={
            (target, form): Cell(
                show(rate, "rate"), heat_step(rate / top), about=f"target {target}, {form}: {percent(rate)}"
            )
            for (target, form), rate in known.items()
        },
        legend=("0 %", f"{plain_points(top)} %"),
    )
    return Figure(
        name=f"{slug(panel_id)}-targets",
        title=_title(known, reference_of(panel)),
        caption="Compliance over the pooled models in per cent; the stronger the colour, the more.",
        draw=lambda theme: draw_grid(theme, plan),
        data=_table(entries),
    )


def _title(known: Mapping[tuple[str, str], float], reference: str) -> str:
    own = {target: rate for (target, form), rate in known.items() if form == reference}
    if not own:
        return "Compliance by target and wording"
    if all_alike(own):
        return f"Under {reference} every target is met equally often"
    most, least = highest(own), lowest(own)
    return (
        f"Under {reference}, {_targets(most)} {verb(most, 'is', 'are')} met most often "
        f"({percent(own[most[0]])}) and {_targets(least)} least ({percent(own[least[0]])})"
    )


def _targets(names: list[str]) -> str:
    return f"{verb(names, 'target', 'targets')} {named(names)}"


def _table(entries: list[Mapping[str, Any]]) -> Table:
    columns = (
        Column("Target", "target", ("target",), "compact"),
        FORM,
        Column("Compliance", "compliance", ("compliance",), "rate"),
        Column("n", "n", ("n",), "count"),
        Column("Mean observed", "mean_observed", ("mean_observed",), "decimal"),
        Column("Mean error", "mean_error", ("mean_error",), "decimal"),
    )
    records = [
        {**mapping(result), "target": entry.get("target"), "form": str(form)}
        for entry in entries
        for form, result in mapping(entry, "forms").items()
    ]
    return Table("Compliance by target", columns, tuple(tuple(c.value(r) for c in columns) for r in records))

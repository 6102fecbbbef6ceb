"""Compliance of each model under each form, its worst form framed (the paper's Table 21 as a picture)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import show
from wise_pytest.report.figures.charts.grid import Cell, GridPlan, draw_grid
from wise_pytest.report.figures.charts.values import (
    best_first,
    counted,
    forms_of,
    models_of,
    percent,
    plain_points,
    rates,
    upper_end,
)
from wise_pytest.report.figures.figure import Figure
from wise_pytest.report.figures.theme import heat_step
from wise_pytest.report.tables import mapping, models_table

if TYPE_CHECKING:
    from collections.abc import Mapping


def heat_map(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture of every model, those left out of the primary set last; ``None`` without rates."""
    by_model = models_of(panel, every=True)
    known = {model: rates(result) for model, result in by_model.items() if rates(result)}
    if not known:
        return None
    primary = best_first(panel, (model for model in models_of(panel) if model in known))
    others = best_first(panel, (model for model in known if model not in primary))
    forms = list(dict.fromkeys([*forms_of(panel), *(form for found in known.values() for form in found)]))
    excluded = mapping(panel, "excluded")
    top = upper_end(max(rate for found in known.values() for rate in found.values()))
    plan = GridPlan(
        rows=tuple((model, f"{model} *" if model in excluded else model) for model in [*primary, *others]),
        columns=tuple(forms),
        cells={
            (model, form): _cell(
                form, rate, model, mapping(by_model[model], "summary").get("worst_form"), top
            )
            for model, found in known.items()
            for form, rate in found.items()
        },
        legend=("0 %", f"{plain_points(top)} %"),
        break_after=len(primary) if primary and others else None,
    )
    starred = " Models marked * are left out of the pooled results." if others else ""
    return Figure(
        name=f"{slug(panel_id)}-models",
        title=_title(by_model, known, primary),
        caption=(
            f"Compliance in per cent; the stronger the colour, the more. A frame marks the "
            f"worst form of a model.{starred}"
        ),
        draw=lambda theme: draw_grid(theme, plan),
        data=models_table(panel),
    )


def _cell(form: str, rate: float, model: str, worst_form: object, top: float) -> Cell:
    worst = form == worst_form
    about = f"{model}, {form}: {percent(rate)}{', its worst form' if worst else ''}"
    return Cell(show(rate, "rate"), heat_step(rate / top), framed=worst, about=about)


def _title(
    by_model: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, float]], primary: list[str]
) -> str:
    weakest = [mapping(by_model[model], "summary").get("worst_form") for model in primary]
    named = [str(form) for form in weakest if form is not None]
    if not named:
        return f"Compliance of {counted(len(known), 'model')} by wording"
    if len(named) == 1:
        model, form = primary[0], named[0]
        return f"{model} complies least under {form}: {percent(known[model][form])}"
    often = max(dict.fromkeys(named), key=named.count)
    n = named.count(often)
    if n == 1:
        return "Each model has a worst form of its own"
    if n == len(named):
        return f"{often} is the worst form of all {n} models"
    return f"{often} is the worst form of {n} of {counted(len(named), 'model')}"

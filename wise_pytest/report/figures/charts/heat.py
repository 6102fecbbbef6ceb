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
from wise_pytest.report.objects import mapping
from wise_pytest.report.tables import many_forms, models_by_form_table, models_table
from wise_pytest.report.ties import all_alike, forms_at, highest, named, verb

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
            (model, form): _cell(form, rate, model, worst, top)
            for model, found in known.items()
            for worst in [_worst_forms(by_model[model])]
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
            f"worst form of a model, or the forms that tie for it.{starred}"
        ),
        draw=lambda theme: draw_grid(theme, plan),
        data=models_by_form_table(panel) if many_forms(panel) else models_table(panel),
    )


def _cell(form: str, rate: float, model: str, worst_forms: list[str], top: float) -> Cell:
    worst = form in worst_forms
    about = f"{model}, {form}: {percent(rate)}{', its worst form' if worst else ''}"
    return Cell(show(rate, "rate"), heat_step(rate / top), framed=worst, about=about)


def _title(
    by_model: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, float]], primary: list[str]
) -> str:
    if not primary:
        return f"Compliance of {counted(len(known), 'model')} by wording"
    worst = {model: _worst_forms(by_model[model]) for model in primary}
    if len(primary) == 1:
        return _title_of_one(primary[0], known[primary[0]], worst[primary[0]])
    every = [form for forms in worst.values() for form in forms]
    if not every:
        return "No model complies less under one wording than under another"
    often = highest({form: float(every.count(form)) for form in dict.fromkeys(every)})
    n = every.count(often[0])
    tied = any(len(forms) > 1 for forms in worst.values())
    if n == 1 and all(worst.values()) and not tied:
        return "Each model has a worst form of its own"
    within = f"all {n} models" if n == len(primary) else f"{n} of {counted(len(primary), 'model')}"
    the = "a worst form" if tied else "the worst form"
    ties = ", ties counted" if tied else ""
    return f"{named(often)} {verb(often, 'is', 'are each')} {the} of {within}{ties}"


def _title_of_one(model: str, own: Mapping[str, float], worst: list[str]) -> str:
    if all_alike(own):
        return f"{model} complies equally under every wording: {percent(next(iter(own.values())))}"
    if not worst:
        return f"Compliance of {model} by wording"
    return f"{model} complies least under {named(worst)}: {percent(own[worst[0]])}"


def _worst_forms(result: Mapping[str, Any]) -> list[str]:
    """The forms at a model's lowest rate; none where there is no difference."""
    return [] if all_alike(rates(result)) else forms_at(result, "worst")

"""Average ranks of the models under each form, in the order of the reference form (the paper's Figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report.columns import Column, number, show
from wise_pytest.report.figures.charts.grid import Cell, GridPlan, draw_grid
from wise_pytest.report.figures.charts.values import forms_of, percent, rates, reference_of
from wise_pytest.report.figures.figure import Figure
from wise_pytest.report.figures.theme import heat_step
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.tables import FORM, MODEL, Table, many_forms
from wise_pytest.report.ties import highest, named, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

_FEWEST = 2


def ranks(panel_id: str, panel: Mapping[str, Any]) -> Figure | None:
    """The picture, or ``None`` where fewer than two models are ranked."""
    known = mapping(panel, "ranks")
    order = [str(model) for model in listed(known, "order")]
    if len(order) < _FEWEST:
        return None
    by_model = {model: mapping(known, "by_model", model) for model in order}
    forms = [form for form in forms_of(panel) if any(form in found for found in by_model.values())]
    if not forms:
        return None  # nothing was scored of any model
    reference = reference_of(panel)
    cells = {}
    for model, found in by_model.items():
        own = rates(mapping(panel, "by_model", model))
        for form in forms:
            rank = number(found.get(form))
            if rank is not None:
                below = f"{show(own[form], 'rate')} %" if form in own else ""
                about = f"{model}, {form}: rank {show(rank, 'compact')}"
                about += f", {percent(own[form])}" if form in own else ""
                share = 1 - (rank - 1) / max(len(order) - 1, 1)
                cells[model, form] = Cell(show(rank, "compact"), heat_step(share), below=below, about=about)
    plan = GridPlan(
        rows=tuple((model, model) for model in order),
        columns=tuple(forms),
        cells=cells,
        legend=("last", "first"),
    )
    return Figure(
        name=f"{slug(panel_id)}-ranks",
        title=_title(panel, reference),
        caption=(
            "Average rank of each model under each wording, with its compliance below; models in the order "
            f"of {reference}. Tied models share the mean of their ranks. Where wording changes nothing, "
            f"all wordings rank them as {reference} does."
        ),
        draw=lambda theme: draw_grid(theme, plan),
        data=_table(panel, order, forms, by_model),
    )


def _title(panel: Mapping[str, Any], reference: str) -> str:
    reversals = {
        form: rate
        for form, result in mapping(panel, "ranking").items()
        if (rate := number(mapping(result).get("reversal"))) is not None
    }
    if not reversals:
        return "Ranks of the models under each wording"
    most = highest(reversals)
    if reversals[most[0]] == 0:
        return f"No wording reverses the order of two models under {reference}"
    n_pairs = {number(mapping(panel, "ranking", form).get("n_pairs")) for form in most}
    known = n_pairs.pop() if len(n_pairs) == 1 else None
    of = "" if known is None else f"{known} "
    reverses = f"{verb(most, 'reverses', 'each reverse')} {percent(reversals[most[0]])}"
    return f"{named(most)} {reverses} of {of}model pairs against {reference}"


def _table(
    panel: Mapping[str, Any], order: list[str], forms: list[str], by_model: Mapping[str, Mapping[str, Any]]
) -> Table:
    if many_forms(panel):
        return _turned(panel, order, forms, by_model)
    pairs = (
        (
            Column(f"{form}, rank", f"{form}_rank", ("ranks", form), "compact"),
            Column(f"{form}, %", form, ("rates", form), "rate"),
        )
        for form in forms
    )
    columns = (MODEL, *(column for pair in pairs for column in pair))
    records = [
        {"model": model, "ranks": by_model[model], "rates": rates(mapping(panel, "by_model", model))}
        for model in order
    ]
    return Table("Average ranks", columns, tuple(tuple(c.value(r) for c in columns) for r in records))


def _turned(
    panel: Mapping[str, Any], order: list[str], forms: list[str], by_model: Mapping[str, Mapping[str, Any]]
) -> Table:
    """One row a form, where there are many."""
    known = {model: rates(mapping(panel, "by_model", model)) for model in order}
    pairs = (
        (
            Column(f"{model}, rank", f"{model}_rank", ("ranks", model), "compact"),
            Column(f"{model}, %", model, ("rates", model), "rate"),
        )
        for model in order
    )
    columns = (FORM, *(column for pair in pairs for column in pair))
    records = [
        {
            "form": form,
            "ranks": {model: by_model[model].get(form) for model in order},
            "rates": {model: known[model].get(form) for model in order},
        }
        for form in forms
    ]
    return Table("Average ranks", columns, tuple(tuple(c.value(r) for c in columns) for r in records))

"""One panel of the page: its headline, its numbers, and its blocks of pictures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.naming import slug
from wise_pytest.report import facts, objects
from wise_pytest.report.columns import Interval, number, reason_beside, show, thousands, words
from wise_pytest.report.figures.charts.values import (
    bounds,
    counted,
    interval,
    percent,
    points,
    reference_of,
)
from wise_pytest.report.html.blocks import Block, blocks_of
from wise_pytest.report.ties import forms_at, forms_said, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wise_pytest.records import Row
    from wise_pytest.report.columns import Kind

_RATES: Kind = "rate_interval"


@dataclass(frozen=True, slots=True)
class NumberView:
    """One number that stands large."""

    name: str
    value: str
    unit: str
    below: str
    """Its interval, or which form it belongs to."""


@dataclass(frozen=True, slots=True)
class PanelView:
    """One panel of the page."""

    id: str
    anchor: str
    title: str
    question: str
    headline: str
    numbers: tuple[NumberView, ...]
    models: str
    excluded: str
    notes: tuple[str, ...]
    blocks: tuple[Block, ...]


def view_panel(panel_id: str, panel: Mapping[str, Any], rows: Iterable[Row]) -> PanelView:
    """The panel with everything that its data allow; ``rows`` are its own, in any order."""
    anchor = f"panel-{slug(panel_id)}"
    models = [str(model) for model in objects.listed(panel, "models")]
    pooled = f"Pooled over {counted(len(models), 'model')}: {', '.join(models)}."
    return PanelView(
        id=panel_id,
        anchor=anchor,
        title=words(panel["title"]) if panel.get("title") else panel_id,
        question=words(panel["question"]) if panel.get("question") else "",
        headline=headline(panel),
        numbers=tuple(_numbers(panel)),
        models=pooled if models else "No model is pooled.",
        excluded=", ".join(facts.excluded_models(panel)),
        notes=tuple(words(note) for note in objects.listed(panel, "notes")),
        blocks=tuple(blocks_of(panel_id, panel, rows, anchor=anchor)),
    )


def headline(panel: Mapping[str, Any]) -> str:
    """What a panel says, in a sentence."""
    summary = objects.mapping(panel, "summary")
    best, worst, gap = (number(summary.get(key)) for key in ("best", "worst", "gap"))
    if best is None or worst is None:
        return f"There is no result: {reason_beside(panel, 'summary') or 'nothing was scored'}."
    if gap is None:
        return f"{percent(best)} of answers comply; one wording alone has no gap."
    if gap == 0:
        return f"Every wording is met by the same share of answers, {percent(best)}."
    return (
        f"The same requirement is met by {percent(best)} of answers when worded "
        f"{named(forms_at(panel, 'best'), 'or')}, and by {percent(worst)} when worded "
        f"{named(forms_at(panel, 'worst'), 'or')}: a gap of {points(gap)}."
    )


def _numbers(panel: Mapping[str, Any]) -> Iterator[NumberView]:
    summary = objects.mapping(panel, "summary")
    worst_form = words(summary["worst_form"]) if summary.get("worst_form") else ""
    for name, key, unit in (
        (reference_of(panel), "pos", "%"),
        ("Mean of the forms", "mean", "%"),
        ("Worst form", "worst", "%"),
        ("Gap", "gap", "points"),
    ):
        value = number(summary.get(key))
        if value is None:
            continue
        form = {"pos": reference_of(panel), "worst": worst_form}.get(key, "")
        parts = (forms_said(panel, "worst") if key == "worst" else "", _between(panel, key, form))
        yield NumberView(name, show(value, "rate"), unit, " ".join(part for part in parts if part))
    coverage = number(panel.get("coverage"))
    if coverage is not None:
        of = (
            f"{thousands(panel['n_scored'])} of {thousands(panel.get('n_planned'))}"
            if "n_scored" in panel
            else ""
        )
        yield NumberView("Coverage", show(coverage, "rate"), "%", of)


def _between(panel: Mapping[str, Any], key: str, form: str) -> str:
    """The interval of a number; where it has no width, that of the form, which heeds the boundary."""
    pair = interval(objects.mapping(panel, "summary"), f"{key}_ci")
    if pair is None:
        return ""
    if pair[0] == pair[1]:
        pair = bounds(objects.mapping(panel, "forms", form) if form else {}, "wilson_low", "wilson_high")
        return "interval without width" if pair is None else f"{show(Interval(*pair), _RATES)} (Wilson)"
    return show(Interval(*pair), _RATES)

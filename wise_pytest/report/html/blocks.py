"""The parts of a panel's section: wordings, each picture with what belongs beside it, examples, coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from wise_pytest.naming import slug
from wise_pytest.report import facts, objects, tables
from wise_pytest.report.counters import (
    counter_forms_table,
    counter_models_table,
    counters_of,
    counters_sentences,
    gaps_table,
)
from wise_pytest.report.factorial import effects_sentence, terms_table
from wise_pytest.report.figures.catalog import panel_figures
from wise_pytest.report.figures.charts.values import reference_of
from wise_pytest.report.html.diagnostics import floor_sentences, model_directions_table, surface_table
from wise_pytest.report.html.examples import PairView, examples_rule, pairs_of
from wise_pytest.report.html.views import FigureView, TableView, view_table
from wise_pytest.report.limitations import verifier_sentence
from wise_pytest.report.published import published_sentences, published_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wise_pytest.records import Row
    from wise_pytest.report.figures.figure import Figure


@dataclass(frozen=True, slots=True)
class Wording:
    """One form, as its first item has it."""

    form: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a panel with one finding."""

    anchor: str
    topic: str
    title: str
    figure: FigureView | None = None
    tables: tuple[TableView, ...] = ()
    sentences: tuple[str, ...] = ()
    wordings: tuple[Wording, ...] = ()
    pairs: tuple[PairView, ...] = ()


_TOPICS = {
    "contrasts": "Differences between wordings",
    "effects": "Effects of the properties of a wording",
    "directions": "Which way answers fail",
    "errors": "How far counts are off",
    "models": "Model by model",
    "worst-form": "From {reference} to the worst form",
    "ranks": "Ranking of the models",
    "targets": "Target by target",
    "lengths": "Length by target",
}


def blocks_of(
    panel_id: str, panel: Mapping[str, Any], rows: Iterable[Row], *, anchor: str
) -> Iterator[Block]:
    """Every part that the panel's data allow, in reading order."""
    wordings, verifiers = _wordings(panel, rows)
    if wordings:
        many = f"One requirement in {len(wordings)} wordings"
        yield Block(
            f"{anchor}-wordings",
            "Wordings",
            "One requirement in one wording" if len(wordings) == 1 else many,
            wordings=tuple(wordings),
            sentences=tuple(verifier_sentence(verifier) for verifier in verifiers),
        )
    prefix = f"{slug(panel_id)}-"
    figures = {figure.name.removeprefix(prefix): figure for figure in panel_figures(panel_id, panel)}
    if "contrasts" not in figures and objects.mapping(panel, "forms"):
        table = view_table(tables.forms_table(panel))
        yield Block(f"{anchor}-forms", "Forms", "Compliance by wording", tables=(table,))
    for name, figure in figures.items():
        extra, sentences = _beside(name, panel)
        yield Block(
            f"{anchor}-{name}",
            _TOPICS[name].format(reference=reference_of(panel)),
            figure.title,
            figure=view_figure(figure, opened=name == "contrasts"),
            tables=tuple(extra),
            sentences=tuple(sentences),
        )
    if counters_of(panel):
        yield _counters(panel, anchor)
    pairs = tuple(pairs_of(panel))
    if pairs:
        title = "Same task, same repetition: one wording is met, the other is not"
        yield Block(f"{anchor}-examples", "Examples", title, pairs=pairs, sentences=(examples_rule(panel),))
    counts = (build(panel) for build in (tables.coverage_table, tables.statuses_table))
    folded = tuple(view_table(table, folded=True) for table in counts if table.rows)
    if folded:
        yield Block(f"{anchor}-coverage", "Coverage", "What was scored, and what was not", tables=folded)
    published = published_table(panel)
    if published.rows:
        yield Block(
            f"{anchor}-published",
            "Published",
            published.title,
            tables=(view_table(published),),
            sentences=tuple(published_sentences(panel)),
        )


def _counters(panel: Mapping[str, Any], anchor: str) -> Block:
    """The same outputs under other counters; its own heading does not say more than the answer below it."""
    beside = (counter_forms_table(panel), counter_models_table(panel))
    return Block(
        f"{anchor}-counters",
        "Other counters",
        "Does the wording effect survive the choice of counter?",
        sentences=tuple(counters_sentences(panel)),
        tables=(view_table(gaps_table(panel)), *(view_table(t, folded=True) for t in beside if t.rows)),
    )


def view_figure(figure: Figure, *, opened: bool = False) -> FigureView:
    """A picture for within the page; its texts are escaped where they are drawn."""
    svg = Markup(figure.inline())  # noqa: S704 - drawn by this package, every text in it escaped
    return FigureView(figure.title, figure.caption, svg, view_table(figure.data), open=opened)


def _beside(name: str, panel: Mapping[str, Any]) -> tuple[list[TableView], list[str]]:
    """What belongs beside a picture: more tables, and how its numbers were made."""
    match name:
        case "contrasts":
            found = [tables.sensitivity_table(panel)]
            sentences = [f"{sentence}." for sentence in facts.resampling(panel)]
        case "effects":
            found, sentences = [terms_table(panel)], [effects_sentence(panel)]
        case "directions":
            found, sentences = [surface_table(panel), model_directions_table(panel)], []
        case "ranks":
            return [view_table(table) for table in (tables.ranking_table(panel),) if table.rows], []
        case "models" if tables.many_forms(panel):
            return [view_table(tables.gaps_table(panel))], []
        case "lengths":
            found, sentences = [], list(floor_sentences(panel))
        case _:
            found, sentences = [], []
    return [view_table(table, folded=True) for table in found if table.rows], sentences


def _wordings(panel: Mapping[str, Any], rows: Iterable[Row]) -> tuple[list[Wording], list[str]]:
    """The wording of each form, as the first item has it, and the verifiers named."""
    first: dict[str, Row] = {}
    verifiers: set[str] = set()
    for row in rows:
        if row.verifier is not None:
            verifiers.add(row.verifier)
        if row.instruction is not None and (row.form not in first or row.item < first[row.form].item):
            first[row.form] = row
    forms = dict.fromkeys([*objects.mapping(panel, "forms"), *sorted(first)])
    found = [Wording(form, str(first[form].instruction)) for form in forms if form in first]
    return found, sorted(verifiers)

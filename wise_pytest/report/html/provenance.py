"""What was run, in facts: from the document, and from the run's manifest where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.report import facts, objects, tables
from wise_pytest.report.columns import Column, number, thousands, words
from wise_pytest.report.html.views import TableView, view_table
from wise_pytest.report.progress import money

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wise_pytest.report.objects import Document

_LABELS = {
    "wise_pytest": "wise-pytest",
    "n_rows": "Generations",
    "rows_sha256": "SHA-256 of the rows",
    "exclude": "Left out by name",
    "panels": "Digests of the panels",
    "openings": "Opening phrases counted",
}
_TOLD_ELSEWHERE = frozenset({"partial", "not_recorded", "errors", "served_model_differs"})
_MANY = 3
"""A longer list is not written one below the other."""
_MANY_FORMS = 8
"""A panel with more of them lists them at its own place."""
_MANIFEST_FACTS = (
    ("run", "Run"),
    ("started_at", "Started"),
    ("record_mode", "Record mode"),
    ("notes", "Notes"),
)
_MODELS = (
    tables.MODEL,
    Column("Provider", "provider", ("provider",)),
    Column("Sent as", "api_model", ("api_model",)),
    Column("Protocol", "protocol", ("protocol",)),
    Column("Address", "base_url", ("base_url",)),
    Column("Weights", "weights", ("weights",)),
)
_GRID = (
    tables.PANEL,
    tables.MODEL,
    Column("Items", "items", ("n_items",), "count"),
    Column("Forms", "forms", ("forms",)),
    Column("Repetitions", "repetitions", ("repetitions",), "count"),
    Column("Cells", "n_cells", ("n_cells",), "count"),
    Column("Decoding", "decoding", ("decoding",)),
)
_SPENT = (
    tables.MODEL,
    Column("Calls", "calls", ("calls",), "count"),
    Column("Tokens in", "input_tokens", ("input_tokens",), "count"),
    Column("Tokens out", "output_tokens", ("output_tokens",), "count"),
    Column("Cost", "usd", ("cost",)),
    Column("Calls taken at their most", "inexact", ("inexact",), "count"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what it stands for."""

    name: str
    values: tuple[str, ...]
    flow: bool = False
    """Whether the values follow one another on a line."""


@dataclass(frozen=True, slots=True)
class Note:
    """A short list under a heading."""

    title: str
    entries: tuple[str, ...]


def run_facts(document: Document, manifest: Mapping[str, Any] | None) -> list[Fact]:
    """Everything that the document's ``run`` says, and how the manifest says that it was made."""
    run = objects.mapping(document, "run")
    found = [
        Fact(
            _LABELS.get(key, key.replace("_", " ").capitalize()),
            (thousands(value),) if key == "n_rows" else _values(value),
            flow=isinstance(value, list) and len(value) > _MANY,
        )
        for key, value in run.items()
        if key not in _TOLD_ELSEWHERE and value not in (None, [], {})
    ]
    if manifest is not None:
        found += [Fact(name, _values(manifest[key])) for key, name in _MANIFEST_FACTS if manifest.get(key)]
        found += (
            [Fact("Software", _values(manifest["software"]), flow=True)] if manifest.get("software") else []
        )
    return found


def run_notes(document: Document) -> list[Note]:
    """What is missing from the run, and what went wrong in it."""
    trouble = facts.technical(document)
    notes = [
        Note("Not recorded, and so not part of this audit", tuple(facts.not_recorded(document))),
        Note("Answered by another model than the one asked for", tuple(facts.served_by_others(document))),
    ]
    if trouble.n_errors or trouble.n_blocked:
        entries = trouble.reasons or ("The document gives no reason.",)
        notes.append(Note(f"Without a usable reply: {facts.technical_counts(trouble)}", entries))
    excluded = [
        f"{panel_id}: {said}"
        for panel_id, panel in objects.panels_of(document).items()
        for said in facts.excluded_models(panel)
    ]
    notes.append(Note("Left out of the pooled results", tuple(excluded)))
    return [note for note in notes if note.entries]


def result_tables(document: Document) -> list[TableView]:
    """The results of all panels side by side."""
    found = [tables.summary_table(document), tables.all_models_table(document)]
    return [view_table(table) for table in found if table.rows]


def run_tables(manifest: Mapping[str, Any] | None) -> list[TableView]:
    """What a manifest says of the models and the grid."""
    found: list[tables.Table] = []
    if manifest is not None:
        models = [
            {**entry, "model": entry.get("name")}
            for entry in map(objects.mapping, objects.listed(manifest, "models"))
        ]
        grid = list(_grid(manifest))
        found += [
            _table("Models as they were asked", _MODELS, models),
            _table("What was planned", _GRID, grid),
            _table("What the calls of this run have cost", _SPENT, list(_spent(manifest))),
        ]
    return [view_table(table) for table in found if table.rows]


def _grid(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in map(objects.mapping, objects.listed(manifest, "plan")):
        forms = objects.listed(entry, "forms")
        said = f"{len(forms)}, see Wordings" if len(forms) > _MANY_FORMS else forms
        yield {**entry, "n_items": len(objects.listed(entry, "items")), "forms": said}


def _spent(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for model, record in objects.mapping(manifest, "outcome", "spent").items():
        usd = number(objects.mapping(record).get("usd"))
        yield {**objects.mapping(record), "model": str(model), "cost": None if usd is None else money(usd)}


def _table(title: str, columns: tuple[Column, ...], records: list[dict[str, Any]]) -> tables.Table:
    return tables.Table(
        title, columns, tuple(tuple(column.value(record) for column in columns) for record in records)
    )


def _values(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        return tuple(f"{key} {words(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(words(part) for part in value)
    return (words(value),)

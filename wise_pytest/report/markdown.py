"""The audit as markdown: for a run's folder and for the summary page of a CI job.

Called by ``writer``. The verdict is the first line, so that whatever is cut
off a long report, the verdict stays. Every text from the document is escaped,
so that no name of a model can break a table or bring markup of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from wise_pytest.report import diagnostics, facts, objects, tables
from wise_pytest.report.columns import DASH, Measured, Missing, show, words
from wise_pytest.report.comparison import comparison_sections
from wise_pytest.report.counters import (
    counter_forms_table,
    counter_models_table,
    counters_sentences,
    gaps_table,
)
from wise_pytest.report.factorial import effects_sentence, effects_table
from wise_pytest.report.limitations import LIMITATIONS, verifier_sentence
from wise_pytest.report.published import published_sentences, published_table
from wise_pytest.report.text import escape_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wise_pytest.report.columns import Column, Value
    from wise_pytest.report.objects import Document
    from wise_pytest.report.tables import Table

_RUN_LABELS = {
    "wise_pytest": "wise-pytest",
    "n_rows": "Rows",
    "rows_sha256": "SHA-256 of the rows",
    "exclude": "Left out by name",
}
_TOLD_ELSEWHERE = frozenset({"partial", "not_recorded", "errors", "served_model_differs"})
_TABLE_OPENING = 2
"""Lines of a table before its first row: the header and the rule."""


def render_markdown(document: Document) -> str:
    """The whole report; lines end in LF, the last one included."""
    blocks = [*_opening(document), *_gate(document), *comparison_sections(document, render_table)]
    blocks += [*_run(document), *_overview(document)]
    for panel_id, panel in objects.panels_of(document).items():
        blocks += _panel(panel_id, panel)
    blocks += _cross(document)
    blocks += ["## How to read this", _bullets([*LIMITATIONS, *_what_counts(document)])]
    return "\n\n".join(block for block in blocks if block) + "\n"


def render_comparison(document: Document) -> str:
    """The report of a comparison alone."""
    blocks = ["# WISE comparison", *comparison_sections(document, render_table)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def render_table(table: Table) -> str:
    """One table in GitHub's format with a list of reasons below it; empty without rows."""
    if not table.rows:
        return ""
    notes: dict[str, int] = {}
    cells = [
        [_cell(value, column, notes) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    grid = tabulate(
        cells,
        headers=[escape_markdown(column.header) for column in table.columns],
        tablefmt="github",
        disable_numparse=True,
        colalign=[column.align for column in table.columns],
    )
    reasons = "\n".join(f"- ({mark}) {escape_markdown(reason)}" for reason, mark in notes.items())
    return f"{grid}\n\n{reasons}" if reasons else grid


def fit_markdown(text: str, max_bytes: int) -> str:
    """``text`` in at most ``max_bytes`` bytes of UTF-8, its beginning kept.

    Whole lines are kept, a table keeps its header only together with a row,
    and a note at the end says how much was cut. Where not even the first line
    and the note fit, as many characters of the first line as do are kept.
    A lone surrogate becomes its escape, as in the files.
    """
    text = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if _size(text) <= max_bytes:
        return text
    lines = text.splitlines(keepends=True)
    room = max_bytes - _size(_cut_note(len(lines), len(lines)))
    kept, used = 0, 0
    while kept < len(lines) and used + _size(lines[kept]) <= room:
        used += _size(lines[kept])
        kept += 1
    kept = _without_dangling(lines, kept)
    if kept == 0:
        first = text.partition("\n")[0].encode("utf-8")[: max(max_bytes, 0)]
        return first.decode("utf-8", errors="ignore")
    return "".join(lines[:kept]).rstrip("\n") + _cut_note(len(lines) - kept, len(lines))


def _opening(document: Document) -> Iterator[str]:
    verdict = facts.gate_verdict(document)
    yield f"# WISE audit {DASH} {escape_markdown(verdict.sentence)}"
    partial = facts.partial_reason(document)
    if partial is not None:
        yield f"**Partial run:** {escape_markdown(partial)}"


def _gate(document: Document) -> Iterator[str]:
    yield "## Gate"
    failed, open_checks = facts.failed_checks(document), facts.unevaluated_checks(document)
    checks = tables.gate_table(document)
    if not checks.rows:
        yield "No check was made."
    if failed:
        yield "Failed:"
        yield _bullets(failed)
    if open_checks:
        yield "Not evaluated:"
        yield _bullets(open_checks)
    unclear = facts.inconclusive_checks(document)
    if unclear:
        yield "Inconclusive, since the interval lies on both sides of the limit:"
        yield _bullets(sentence.removeprefix("inconclusive: ") for sentence in unclear)
    deferred = facts.deferred_limits(document)
    if deferred is not None:
        yield escape_markdown(f"{deferred}.")
    notes = facts.gate_notes(document)
    if notes:
        yield "Notes on the rules:"
        yield _bullets(notes)
    yield render_table(checks)
    wider = facts.wider_bounds(document)
    if wider is not None:
        yield escape_markdown(wider)


def _run(document: Document) -> Iterator[str]:
    run = objects.mapping(document, "run")
    yield "## What was run"
    entries = [
        f"{_run_label(key)}: {escape_markdown(words(value))}"
        for key, value in run.items()
        if key not in _TOLD_ELSEWHERE and value not in (None, [], {})
    ]
    yield _bullets(entries, escaped=True) or "The document does not say."
    missing = facts.not_recorded(document)
    if missing:
        yield "Not recorded, and so not part of this audit:"
        yield _bullets(missing)
    served = facts.served_by_others(document)
    if served:
        yield "Answered by another model than the one asked for:"
        yield _bullets(served)
    trouble = facts.technical(document)
    if trouble.n_errors or trouble.n_blocked:
        yield f"Without a usable reply: {facts.technical_counts(trouble)}."
        yield _bullets(trouble.reasons)


def _overview(document: Document) -> Iterator[str]:
    yield "## Summary"
    yield "Rates, gaps and differences are in percentage points, over the primary models of each panel."
    yield render_table(tables.summary_table(document)) or "No panel was audited."
    intervals = render_table(tables.intervals_table(document))
    if intervals:
        yield "Intervals of these figures:"
        yield intervals
    every = render_table(tables.all_models_table(document))
    if every:
        yield "Over all models, where some are left out above:"
        yield every


def _cross(document: Document) -> Iterator[str]:
    """The panels side by side; nothing where there is one panel only."""
    table = diagnostics.cross_table(document)
    if not table.rows:
        return
    cross = objects.mapping(document, "cross")
    models = ", ".join(escape_markdown(str(model)) for model in objects.listed(cross, "models"))
    yield f"## {table.title}"
    yield f"Wordings that panels have in common, over the models that are primary in all of them: {models}."
    yield render_table(table)
    left_out = objects.mapping(cross, "left_out")
    if left_out:
        yield "Left out of this view:"
        yield _bullets(f"{model} ({words(reason)})" for model, reason in left_out.items())


def _what_counts(document: Document) -> list[str]:
    """What each verifier that has scored a row takes for what it counts."""
    panels = objects.panels_of(document).values()
    verifiers = dict.fromkeys(str(name) for panel in panels for name in objects.listed(panel, "verifiers"))
    return [verifier_sentence(name) for name in verifiers]


def _panel(panel_id: str, panel: Mapping[str, Any]) -> Iterator[str]:
    yield f"## Panel {escape_markdown(panel_id)}"
    models = [str(model) for model in objects.listed(panel, "models")]
    yield f"Primary models: {', '.join(map(escape_markdown, models)) or 'none'}."
    excluded = facts.excluded_models(panel)
    if excluded:
        yield "Left out of the primary models:"
        yield _bullets(excluded)
    resampled = facts.resampling(panel)
    if resampled:
        yield "Intervals and p values:"
        yield _bullets(resampled)
    for build in _PANEL_TABLES:
        table = build(panel)
        if table.rows:
            yield f"### {escape_markdown(table.title)}"
            if build in _INTRODUCED:
                yield escape_markdown(_INTRODUCED[build](panel))
            yield render_table(table)
    notes = [words(note) for note in objects.listed(panel, "notes")]
    if notes:
        yield "### Notes"
        yield _bullets(notes)


_PANEL_TABLES = (
    tables.forms_table,
    effects_table,
    gaps_table,
    counter_forms_table,
    counter_models_table,
    tables.directions_table,
    tables.models_table,
    diagnostics.model_directions_table,
    tables.ranking_table,
    diagnostics.ranks_table,
    diagnostics.targets_table,
    diagnostics.errors_table,
    diagnostics.surface_table,
    diagnostics.examples_table,
    tables.sensitivity_table,
    diagnostics.floor_table,
    tables.coverage_table,
    tables.statuses_table,
    published_table,
)
"""In the order in which a reader needs them."""
_INTRODUCED: Mapping[Callable[[Mapping[str, Any]], Table], Callable[[Mapping[str, Any]], str]] = {
    effects_table: effects_sentence,
    gaps_table: lambda panel: " ".join(counters_sentences(panel)),
    diagnostics.examples_table: facts.examples_rule,
    diagnostics.surface_table: facts.openings_found,
    published_table: lambda panel: " ".join(published_sentences(panel)),
}
"""Sentences that stand before a table."""


def _cell(value: Value, column: Column, notes: dict[str, int]) -> str:
    if isinstance(value, Missing):
        if value.reason is None:
            return DASH
        return f"{DASH} ({notes.setdefault(value.reason, len(notes) + 1)})"
    kind = value.kind if isinstance(value, Measured) else column.kind
    shown = show(value, kind)
    return escape_markdown(shown) if isinstance(value, str) else shown


def _run_label(key: str) -> str:
    return escape_markdown(_RUN_LABELS.get(key, key.replace("_", " ").capitalize()))


def _bullets(entries: Iterable[str], *, escaped: bool = False) -> str:
    return "\n".join(f"- {entry if escaped else escape_markdown(entry)}" for entry in entries)


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _cut_note(n_cut: int, n_lines: int) -> str:
    left_out = f"{n_cut} of {n_lines} lines are left out here"
    return f"\n\n*Cut to fit: {left_out}; the run's own files have them all.*\n"


def _without_dangling(lines: list[str], kept: int) -> int:
    """How many of the first ``kept`` lines to keep, for no heading or table header to stand last."""
    while kept > 1:
        last = lines[kept - 1]
        if not last.strip() or last.startswith("#") or _is_table_opening(lines, kept - 1):
            kept -= 1
        else:
            break
    return kept


def _is_table_opening(lines: list[str], position: int) -> bool:
    """Whether this line is the header or the rule of a table."""
    if not lines[position].startswith("|"):
        return False
    first = position
    while first > 0 and lines[first - 1].startswith("|"):
        first -= 1
        if position - first >= _TABLE_OPENING:
            return False
    return True

"""The comparison with an earlier run, where the document has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.report import tables
from wise_pytest.report.columns import Column, words
from wise_pytest.report.html.views import TableView, view_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wise_pytest.report.tables import Document

_COLUMNS = (
    tables.MODEL,
    tables.FORM,
    Column("Before", "before", ("before",), "rate"),
    Column("Now", "after", ("after",), "rate"),
    Column("Change", "diff", ("diff",), "difference"),
    Column("Interval", "ci", (), "difference_interval", optional=True, bounds=("ci_low", "ci_high")),
    Column("p", "p_raw", ("p_raw",), "p_value", optional=True),
    Column("p (Holm)", "p_holm", ("p_holm",), "p_value", optional=True),
    Column("Pairs", "n_pairs", ("n_pairs",), "count", optional=True),
)


@dataclass(frozen=True, slots=True)
class BaselineView:
    """What got better or worse since an earlier run."""

    sentences: tuple[str, ...]
    tables: tuple[TableView, ...]


def view_baseline(document: Document) -> BaselineView | None:
    """The comparison in words and one table a panel; ``None`` where there is none."""
    baseline = tables.mapping(document, "baseline")
    if not baseline:
        return None
    sentences = [
        f"{key.replace('_', ' ').capitalize()}: {words(value)}."
        for key, value in baseline.items()
        if key != "panels" and value not in (None, "", [], {})
    ]
    found = []
    for panel_id, panel in tables.mapping(baseline, "panels").items():
        records = list(_records(panel))
        columns = tuple(c for c in _COLUMNS if not c.optional or any(map(c.present, records)))
        rows = tuple(tuple(column.value(record) for column in columns) for record in records)
        if rows:
            found.append(view_table(tables.Table(str(panel_id), columns, rows)))
        elif tables.mapping(panel).get("reason"):
            sentences.append(f"{panel_id}: {words(tables.mapping(panel)['reason'])}.")
    return BaselineView(tuple(sentences), tuple(found))


def _records(panel: Any) -> Iterator[dict[str, Any]]:
    for model, result in tables.mapping(panel, "by_model").items():
        for form, change in tables.mapping(result, "forms").items():
            yield {**tables.mapping(change), "model": str(model), "form": str(form)}

"""The comparison with an earlier run, where the document has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report import comparison, objects
from wise_pytest.report.html.views import TableView, view_table

if TYPE_CHECKING:
    from wise_pytest.report.objects import Document


@dataclass(frozen=True, slots=True)
class PairView:
    """One model in one panel, before and now."""

    title: str
    sentence: str
    remarks: tuple[str, ...]
    tables: tuple[TableView, ...]


@dataclass(frozen=True, slots=True)
class BaselineView:
    """What got better or worse since an earlier run."""

    sentences: tuple[str, ...]
    pairs: tuple[PairView, ...]


def view_baseline(document: Document) -> BaselineView | None:
    """The comparison in words and tables; ``None`` where there is none."""
    if not objects.mapping(document, "comparison"):
        return None
    return BaselineView(
        sentences=tuple(comparison.how_compared(document)),
        pairs=tuple(
            PairView(
                title=comparison.pair_title(pair),
                sentence=comparison.pair_sentence(pair),
                remarks=tuple(comparison.pair_remarks(pair)),
                tables=tuple(view_table(table) for table in comparison.pair_tables(pair) if table.rows),
            )
            for pair in comparison.pairs_of(document)
        ),
    )

"""The tables as CSV files, for spreadsheets and data frames.

Called by ``writer``. UTF-8, lines end in LF, one observation a row, rates 0..1
in full precision, nothing in a cell where the document has no number. Text
that a spreadsheet would run as a formula gets a leading apostrophe; the
unchanged text is in ``audit.json``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wise_pytest.report.columns import Interval, Measured, Missing
from wise_pytest.report.comparison import tidy_comparison
from wise_pytest.report.counters import has_counters, tidy_counters
from wise_pytest.report.diagnostics import tidy_diagnostics
from wise_pytest.report.factorial import has_effects, tidy_effects
from wise_pytest.report.published import holds_published, tidy_published
from wise_pytest.report.tables import tidy_tables
from wise_pytest.report.text import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wise_pytest.report.columns import Column, Value
    from wise_pytest.report.objects import Document
    from wise_pytest.report.tables import Table, Tidy

_NEEDS_QUOTES = re.compile(r'[,"\r\n]')


def render_tables(document: Document) -> dict[str, str]:
    """The content of every CSV file, by its file name."""
    kinds: tuple[Tidy, ...] = (*tidy_tables(), *tidy_diagnostics())
    if has_effects(document):
        kinds = (*kinds, *tidy_effects())
    if has_counters(document):
        kinds = (*kinds, *tidy_counters())
    if holds_published(document):
        kinds = (*kinds, tidy_published())
    own = {f"{tidy.name}.csv": render_csv(tidy.table(document)) for tidy in kinds}
    return {**own, **render_comparison_tables(document)} if "comparison" in document else own


def render_comparison_tables(document: Document) -> dict[str, str]:
    """The content of the CSV files of a comparison, by file name."""
    return {f"{tidy.name}.csv": render_csv(tidy.table(document)) for tidy in tidy_comparison()}


def render_csv(table: Table) -> str:
    """One table as the text of a CSV file."""
    lines = [_line(name for column in table.columns for name in _names(column))]
    for row in table.rows:
        pairs = zip(table.columns, row, strict=True)
        lines.append(_line(cell for column, value in pairs for cell in _cells(column, value)))
    return "".join(lines)


def _line(cells: Iterable[str]) -> str:
    return ",".join(map(_quoted, cells)) + "\n"


def _quoted(cell: str) -> str:
    # The csv module of Python 3.11 and 3.12 leaves a lone carriage return unquoted where lines end
    # in LF, and readers then see a new row.
    return cell if not _NEEDS_QUOTES.search(cell) else '"' + cell.replace('"', '""') + '"'


def _names(column: Column) -> Iterator[str]:
    if column.is_interval:
        yield f"{column.name}_low"
        yield f"{column.name}_high"
    else:
        yield column.name


def _cells(column: Column, value: Value) -> Iterator[str]:
    if isinstance(value, Interval):
        yield repr(value.low)
        yield repr(value.high)
    elif isinstance(value, Missing):
        yield from ("" for _ in _names(column))
    elif isinstance(value, Measured):
        yield repr(value.number)
    elif isinstance(value, str):
        yield neutralise(value)
    else:
        # repr is the shortest text that reads back as the same number.
        yield repr(value)

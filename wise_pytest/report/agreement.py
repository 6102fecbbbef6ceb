"""What annotators make of the wording forms, laid out for people.

Called by ``wise agreement`` with the decoded ``agreement.json``; as in the
other reports, nothing is computed here. The tables are those of the paper's
wording validation: judgments by form and annotator, agreement, mean ratings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wise_pytest.report.columns import DASH, Column, Missing, show, words
from wise_pytest.report.markdown import render_table
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.tables import Table
from wise_pytest.report.text import display_width, escape_markdown, pad, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wise_pytest.report.columns import Value
    from wise_pytest.report.objects import Document, Record

_FORM = Column("Form", "form", ("form",))
_EXACT = Column("Exact-N", "exact_n", ("exact_n", "rate"), "rate")
_N = Column("n", "n", ("exact_n", "n"), "count")
AGREEMENT = (
    Column("Measure", "measure", ("measure",)),
    Column("Statistic", "statistic", ("statistic",)),
    Column("Estimate", "value", ("value",), "decimal"),
    Column("95 % interval", "ci", (), "decimal_interval", bounds=("ci_low", "ci_high")),
    Column("Without width", "degenerate", ("degenerate",), optional=True),
    Column("Items", "n_items", ("n_items",), "count"),
    Column("Replicates", "n_defined", ("n_defined",), "count"),
)

_STATISTICS = {"fleiss_kappa": "Fleiss' kappa", "icc_2k": "ICC(2,k)"}
_MEASURES = {"exact_n": "Exact-N judgment"}
_GAP = "  "
_READING = (
    (
        "An annotator's rate is the share of the form's items that the annotator judged to require exactly "
        "their number of words; Exact-N is that share over all annotators, in percentage points."
    ),
    (
        "Kappa measures agreement beyond chance. Where nearly all judgments are alike, chance agrees nearly "
        "always, and kappa is low however well the annotators agree: read it beside the rates."
    ),
    (
        "ICC(2,k) is the reliability of the mean over these annotators (two-way random effects, absolute "
        "agreement), not that of one annotator."
    ),
    (
        "Intervals are percentiles over resampled items, each with all its annotators: they say nothing of "
        "how other annotators would judge. Replicates counts those with a value."
    ),
)


def render_agreement(document: Document) -> str:
    """The whole report as markdown; lines end in LF, the last one included."""
    run = mapping(document, "run")
    blocks = [
        "# Human wording validation",
        f"{_sentence(document)} SHA-256 of the ratings: {escape_markdown(words(run.get('ratings_sha256')))}.",
    ]
    for table in agreement_tables(document):
        blocks += [f"## {escape_markdown(table.title)}", render_table(table) or "No form was rated."]
    blocks += ["## How to read this", "\n".join(f"- {sentence}" for sentence in _READING)]
    return "\n\n".join(blocks) + "\n"


def agreement_lines(document: Document) -> list[str]:
    """The same tables for a terminal, one text a line."""
    lines = [_sentence(document)]
    for table in agreement_tables(document):
        lines += ["", table.title, *_grid(table)]
    return [visible(line) for line in lines]


def agreement_tables(document: Document) -> tuple[Table, Table, Table]:
    """Judgments by form and annotator, agreement, and mean ratings by form."""
    forms = [{**mapping(form), "form": str(name)} for name, form in mapping(document, "forms").items()]
    annotators = [str(name) for name in listed(mapping(document, "run"), "annotators")]
    scales = list(dict.fromkeys(str(scale) for form in forms for scale in mapping(form, "ratings")))
    judged = (
        _FORM,
        *(Column(name, name, ("exact_n", "by_annotator", name, "rate"), "decimal") for name in annotators),
        _EXACT,
        _N,
    )
    rated = (
        _FORM,
        *(Column(_label(scale), scale, ("ratings", scale, "mean"), "decimal") for scale in scales),
        _N,
    )
    return (
        _table("Judgments that a form requires exactly N words", judged, forms),
        _table("Agreement between annotators", AGREEMENT, list(_measures(document))),
        _table("Mean ratings, 1 to 5", rated, forms),
    )


def _table(title: str, columns: tuple[Column, ...], records: Sequence[Record]) -> Table:
    kept = tuple(column for column in columns if not column.optional or any(map(column.present, records)))
    return Table(title, kept, tuple(tuple(column.value(record) for column in kept) for record in records))


def _measures(document: Document) -> Iterator[Record]:
    for name, found in mapping(document, "agreement").items():
        record = dict(mapping(found))
        statistic = words(record.get("statistic"))
        yield {**record, "measure": _label(str(name)), "statistic": _STATISTICS.get(statistic, statistic)}


def _label(name: str) -> str:
    return _MEASURES.get(name, name.replace("_", " ").capitalize())


def _sentence(document: Document) -> str:
    run = mapping(document, "run")
    return (
        f"{words(run.get('n_annotators'))} annotators rated {words(run.get('n_items'))} items "
        f"({words(run.get('n_ratings'))} judgments a measure); {words(run.get('n_replicates'))} bootstrap "
        f"replicates over items, seed {words(run.get('seed'))}."
    )


def _grid(table: Table) -> Iterator[str]:
    """The table in columns, and below it why a value is missing."""
    notes: dict[str, int] = {}
    cells = [[visible(column.header) for column in table.columns]]
    cells += [
        [_cell(value, column, notes) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            pad(cell, width, right=column.align == "right")
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        )
        yield _GAP.join(padded).rstrip()
    for reason, mark in notes.items():
        yield f"({mark}) {reason}"


def _cell(value: Value, column: Column, notes: dict[str, int]) -> str:
    if isinstance(value, Missing) and value.reason is not None:
        return f"{DASH} ({notes.setdefault(value.reason, len(notes) + 1)})"
    return visible(show(value, column.kind))

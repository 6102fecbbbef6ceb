"""Pages to open: from rows to the file, by the package's own audit and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.facts import row_facts
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.rules import GateRules, Thresholds, parse_threshold
from wise_pytest.audit.table import table_of
from wise_pytest.report.html.page import render_page

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from wise_pytest.records import Row


def document_of(
    rows: Sequence[Row],
    *,
    exclude: Collection[str] = (),
    limits: Mapping[str, str] | None = None,
    replicates: int = 200,
    sensitivity: bool = False,
) -> dict[str, Any]:
    """The audit of some rows as ``audit.json`` has it."""
    table = table_of(rows)
    audit = build_audit(
        table,
        exclude=exclude,
        provenance={"wise_pytest": "0.1.0", "partial": None, **row_facts(table)},
        replicates=replicates,
        sensitivity=sensitivity,
    )
    given = {
        name.replace("-", "_"): parse_threshold(text, f"--{name}") for name, text in (limits or {}).items()
    }
    gate = evaluate_gate(audit, GateRules(Thresholds(**given)), expected_models=[], partial=None)
    return to_document(audit, gate)


def write_page(path: Path, rows: Sequence[Row], document: Mapping[str, Any], **beside: Any) -> Path:
    """The page as a run writes it."""
    text = render_page(document, rows, **beside)
    path.write_bytes(text.encode("utf-8", errors="backslashreplace"))
    return path

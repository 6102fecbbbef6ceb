"""The audit of rows that are there, made as their runs made it: what several commands share.

``wise audit``, ``wise report`` and ``wise baseline`` read rows with the
manifests of their runs here; the first two have them audited and judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wise_pytest import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from wise_pytest.audit.comparison import Comparison
    from wise_pytest.audit.conditions import Pair
    from wise_pytest.audit.result import Audit
    from wise_pytest.audit.rules import GateRules
    from wise_pytest.audit.table import RowTable
    from wise_pytest.manifest import RunRecord
    from wise_pytest.panels.catalog import Catalog


@dataclass(frozen=True, slots=True, eq=False)
class RunRows:
    """Rows, and what the manifests of their runs say of them."""

    table: RowTable
    runs: tuple[RunRecord, ...]
    """Those that have a manifest."""
    n_cells: Mapping[Pair, int]
    """Cells that each planned pair answers for."""
    partial: str | None
    """Why the runs are incomplete, with the shards that are not there; ``None`` where they are whole."""
    panels: Mapping[str, Any] = field(default_factory=dict)
    """What the audit is to say of them: digests, and pairs without recordings; empty without a manifest."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """How an audit is to be made."""

    seed: int
    replicates: int
    openings: tuple[str, ...] | None
    """``None`` for those of the package."""
    exclude: Sequence[str]
    sensitivity: bool = False
    """Whether the outputs are scored under other counters as well."""


def read_runs(paths: Sequence[Path | str], *, table: RowTable | None = None) -> RunRows:
    """Read rows with the manifests of their runs.

    Parameters
    ----------
    paths
        Run folders or rows files.
    table
        Their rows, where they have been read already.

    Raises
    ------
    RowsError
        If a file cannot be read, or the runs do not belong together.
    """
    from wise_pytest.audit.rows import read_table
    from wise_pytest.audit.table import cells_by_pair
    from wise_pytest.manifest import read_manifests
    from wise_pytest.runs import missing_shards, panels_of_runs, plans_of, progress

    runs = read_manifests(paths)
    lacking = missing_shards(runs)
    rows = read_table(paths) if table is None else table
    plans = plans_of(runs)
    cells = cells_by_pair(rows) if runs else {}
    done = progress(plans, cells)
    partial = done.partial if lacking is None or done.partial is None else f"{done.partial}: {lacking}"
    return RunRows(rows, runs, done.n_cells, partial, panels_of_runs(runs, cells))


def statistics_of(
    runs: Sequence[RunRecord],
    *,
    seed: int | None = None,
    replicates: int | None = None,
    openings: tuple[str, ...] | None = None,
    exclude: Iterable[str] = (),
    sensitivity: bool = False,
) -> Statistics:
    """How the runs were audited, but for what is asked for.

    Raises
    ------
    RowsError
        If the runs differ in something that is not asked for.
    """
    from wise_pytest.options import DEFAULT_REPLICATES, DEFAULT_SEED
    from wise_pytest.runs import agreed

    def chosen(name: Any, asked: Any, default: Any) -> Any:
        kept = agreed(runs, name) if asked is None else asked
        return default if kept is None else kept

    return Statistics(
        seed=chosen("seed", seed, DEFAULT_SEED),
        replicates=chosen("replicates", replicates, DEFAULT_REPLICATES),
        openings=chosen("openings", openings, None),
        exclude=[*exclude] or sorted({name for run in runs for name in run.exclude}),
        sensitivity=sensitivity or any(run.sensitivity for run in runs),
    )


def audit_again(
    rows: RunRows,
    how: Statistics,
    rules: Callable[[Audit], GateRules],
    *,
    panels: Catalog,
    comparison: Comparison | None = None,
    why_no_comparison: str | None = None,
) -> dict[str, Any]:
    """Audit rows and judge the gate.

    Parameters
    ----------
    rules
        What the gate is asked, of the audit.
    panels
        All panels that are known.
    comparison
        With an earlier run.
    why_no_comparison
        Why there is none, for limits that need one.

    Returns
    -------
    dict
        The document, as in ``audit.json``.
    """
    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import to_document
    from wise_pytest.audit.facts import row_facts
    from wise_pytest.audit.gate import evaluate_gate
    from wise_pytest.runs import named_models

    audit = build_audit(
        rows.table,
        exclude=how.exclude,
        planned=rows.n_cells,
        provenance={
            "wise_pytest": __version__,
            **rows.panels,
            "partial": rows.partial,
            **row_facts(rows.table),
        },
        panels=panels,
        seed=how.seed,
        replicates=how.replicates,
        openings=how.openings,
        sensitivity=how.sensitivity,
    )
    gate = evaluate_gate(
        audit,
        rules(audit),
        comparison=comparison,
        why_no_comparison=why_no_comparison,
        expected_models=named_models(rows.runs),
        partial=rows.partial,
    )
    return to_document(audit, gate, comparison)

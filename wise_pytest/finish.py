"""The end of a run: rows to audit, audit to verdict, verdict to files and a few lines.

Called once, by the collector, in the process that the user started. Everything volatile (times, versions,
machine) goes into the manifest, so that equal rows give an equal ``audit.json``.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest import __version__
from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import dump, to_document
from wise_pytest.audit.facts import row_facts
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.table import table_of
from wise_pytest.comparing import compare_with
from wise_pytest.errors import ReportError
from wise_pytest.files import write_whole
from wise_pytest.manifest import not_recorded_of, panel_digests, write_manifest
from wise_pytest.recorded import generations_of
from wise_pytest.report.facts import GateVerdict, failed_checks, gate_verdict, unevaluated_checks
from wise_pytest.report.kinds import kinds_of_a_run
from wise_pytest.report.lines import Line
from wise_pytest.report.markdown import render_markdown
from wise_pytest.report.progress import spent_lines, spent_record
from wise_pytest.report.terminal import summary_lines
from wise_pytest.report.writer import STEP_SUMMARY, append_step_summary, write_report
from wise_pytest.runs import partial_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from wise_pytest.audit.baseline import Baseline
    from wise_pytest.audit.table import RowTable
    from wise_pytest.records import Row
    from wise_pytest.report.kinds import ReportKind
    from wise_pytest.report.progress import ModelSpent
    from wise_pytest.report.writer import Generations
    from wise_pytest.settings import Settings
    from wise_pytest.xdist import Plan, RunIdentity

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished session says."""

    lines: tuple[Line, ...]
    passed: bool
    """Whether the exit status may stay 0."""
    verdict: GateVerdict
    checks: tuple[str, ...] = ()
    """One sentence for each check that does not hold, or could not be made."""


def nothing_to_audit() -> Outcome:
    """The end of a session that was asked for an audit and has collected no panel: no pass, and no files."""
    verdict = GateVerdict("not_evaluated", "NOT EVALUATED: no test of a chosen panel was collected")
    return Outcome(lines=(Line(f"gate: {verdict.sentence}", "yellow"),), passed=False, verdict=verdict)


def finish_run(
    *,
    settings: Settings,
    identity: RunIdentity,
    plan: Plan,
    rows: Sequence[Row],
    folder: Path,
    exit_status: int,
    environ: Mapping[str, str],
    spent: Sequence[ModelSpent] = (),
    baseline: Baseline | None = None,
) -> Outcome:
    """Audit the rows, judge the gate, write every report.

    Parameters
    ----------
    folder
        The run's own folder.
    exit_status
        What pytest has come to so far; kept in the manifest.
    environ
        Where ``GITHUB_STEP_SUMMARY`` may be named.
    spent
        What the run's calls have cost; nothing of a replay.
    baseline
        An earlier run to compare with.

    Raises
    ------
    ReportError
        If a report cannot be written.
    """
    expected = plan.expected()
    partial = partial_reason(len(rows), sum(expected.values()))
    table = table_of(rows)
    audit = build_audit(
        table,
        exclude=settings.exclude,
        planned=expected,
        provenance=_provenance(plan, table, partial),
        panels=settings.catalog,
        seed=settings.seed,
        replicates=settings.replicates,
        openings=settings.openings,
        sensitivity=settings.sensitivity,
    )
    comparison = None if baseline is None else compare_with(baseline, settings, plan, table)
    gate = evaluate_gate(
        audit,
        settings.gate,
        comparison=comparison,
        expected_models=_expected_models(settings, plan),
        partial=partial,
        shard=None if settings.shard is None else str(settings.shard),
    )
    document = to_document(audit, gate, comparison)
    text = dump(document)
    outcome = {
        "n_rows": len(rows),
        "gate": gate.status,
        "exit_status_of_tests": exit_status,
        "spent": spent_record(spent),
    }
    # Before the reports, which tell what it says.
    write_manifest(folder, settings, identity, plan, outcome=outcome)
    kinds = kinds_of_a_run(settings.reports)
    beside = None
    if any(kind.kind == "html" for kind in (*kinds, *settings.reports)):
        recordings = None if settings.disable_recording else settings.cassettes
        beside = generations_of(rows, folder=folder, cassettes=recordings)
    try:
        written = write_report(document, folder, kinds, json_text=text, generations=beside)
    except ReportError as error:
        _take_back(folder, kinds)
        with suppress(ReportError):
            judged = {**outcome, "gate": "not_evaluated"}
            write_manifest(folder, settings, identity, plan, outcome=judged)
        raise ReportError(
            f"{error}; mend that, and `wise report {_shown([folder])[0]}` writes the report of this run"
        ) from error
    if partial is None and settings.shard is None:
        _point_latest(folder)
    notes = _write_copies(document, text, settings.reports, folder, partial=partial, beside=beside)
    if environ.get(STEP_SUMMARY):
        said = append_step_summary(environ, render_markdown(document))
        notes += [] if said is None else [said]
    width = shutil.get_terminal_size().columns
    lines = [*summary_lines(document, width=width, report_paths=_shown(written))]
    lines += [Line(text) for text in spent_lines(spent, max_usd=settings.max_cost_usd)]
    lines += [Line(note, "yellow") for note in notes]
    return Outcome(
        lines=tuple(lines),
        passed=gate.status == "pass",
        verdict=gate_verdict(document),
        checks=(*failed_checks(document), *unevaluated_checks(document)),
    )


def _expected_models(settings: Settings, plan: Plan) -> list[str]:
    """The models that the user named, without those of which this shard has no cell."""
    empty = {
        model
        for model in {model for _, model in plan.planned}
        if not any(count for (_, name), count in plan.planned.items() if name == model)
    }
    return [
        selected.endpoint.name
        for selected in settings.models
        if selected.explicit and selected.endpoint.name not in empty
    ]


def _provenance(plan: Plan, table: RowTable, partial: str | None) -> dict[str, Any]:
    """What the audit says of its run: nothing that differs between two replays of the same recordings."""
    return {
        "wise_pytest": __version__,
        "panels": panel_digests(plan),
        "not_recorded": not_recorded_of(plan),
        "partial": partial,
        **row_facts(table),
    }


def _write_copies(
    document: Mapping[str, Any],
    text: str,
    asked: Iterable[ReportKind],
    folder: Path,
    *,
    partial: str | None,
    beside: Generations | None,
) -> list[str]:
    """Write the reports that have a place of their own; an incomplete run replaces none that is there."""
    notes = []
    for kind in asked:
        if kind.path is None:
            continue
        if partial is not None and kind.path.exists():
            notes.append(f"{kind.path}: kept as it was, since this run is incomplete")
            continue
        write_report(document, folder, [kind], json_text=text, generations=beside)
        notes.append(f"report: {kind.path}")
    return notes


def _take_back(folder: Path, kinds: Iterable[ReportKind]) -> None:
    """Remove the part of a report that was written: whoever finds it would take it for the whole."""
    for target in {kind.target(folder) for kind in kinds}:
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            with suppress(OSError):
                target.unlink()


def _point_latest(folder: Path) -> None:
    """Make ``reports/latest`` lead to this run: by a link, or by a file with its name."""
    latest = folder.parent / LATEST
    if latest.is_dir() and not latest.is_symlink():
        return
    draft = folder.parent / f".{LATEST}-{folder.name}"
    try:
        draft.symlink_to(folder.name, target_is_directory=True)
        draft.replace(latest)
    except OSError:
        draft.unlink(missing_ok=True)
        if latest.is_symlink():
            return
        write_whole(latest, folder.name + "\n")


def _shown(paths: Iterable[Path]) -> list[str]:
    """Paths as a person would type them from where they are."""
    shown = []
    for path in paths:
        try:
            relative = os.path.relpath(path)
        except ValueError:  # another drive on Windows
            relative = str(path)
        shown.append(str(path) if relative.startswith("..") else relative)
    return shown

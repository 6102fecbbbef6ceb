"""``wise audit``: rows to an audit, a verdict and reports, without pytest and without calls."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import BOOTSTRAP_OPTIONS, add_shared, help_of, print_lines
from wise_pytest.errors import OptionError
from wise_pytest.options import DEFAULT_CASSETTES, GATE_OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from wise_pytest.again import Statistics
    from wise_pytest.audit.rows import Rescored
    from wise_pytest.audit.table import RowTable
    from wise_pytest.manifest import RunRecord
    from wise_pytest.report.writer import Generations

EXIT_GATE = 1
MAX_FLIPS_SHOWN = 10
MAX_LISTED = 200_000
"""Rows beyond this are not gone over one by one for a page that could not list them."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    audit = commands.add_parser(
        "audit",
        help="audit rows of one or more runs, and judge the gate",
        description="Audit the rows of one or more runs: merge them, score again, judge the gate.",
    )
    audit.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    audit.add_argument("--out", type=Path, metavar="DIR", help="write every report that a run has there")
    audit.add_argument(
        "--rescore", action="store_true", help="verify every text again, and report verdicts that change"
    )
    audit.add_argument("--exclude", action="append", default=[], metavar="MODEL", help=help_of("exclude"))
    audit.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="KIND[:PATH]",
        help=f"{help_of('report')}; without --out, PATH is needed",
    )
    audit.add_argument("--openings", type=Path, metavar="FILE", help=help_of("openings"))
    audit.add_argument("--sensitivity", action="store_true", help=help_of("sensitivity"))
    add_shared(audit, (*BOOTSTRAP_OPTIONS, *GATE_OPTIONS, "gate", "baseline"))
    audit.add_argument(
        "--baseline-map", action="append", default=[], metavar="NEW=OLD", help=help_of("baseline-map")
    )
    audit.add_argument("--baseline-shared", action="store_true", help=help_of("baseline-shared"))
    audit.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="take the rules of [tool.wise.gate] from this file (default: pyproject.toml, where it is)",
    )
    audit.set_defaults(run=_audit)


def _audit(parsed: argparse.Namespace) -> int:
    from wise_pytest.again import audit_again, read_runs
    from wise_pytest.audit.document import dump
    from wise_pytest.audit.rows import rescore
    from wise_pytest.audit.table import table_of
    from wise_pytest.commands.gate import compare_again, rules_of
    from wise_pytest.report.kinds import kinds_of_a_run, parse_report_option
    from wise_pytest.report.terminal import summary_lines
    from wise_pytest.report.writer import write_report
    from wise_pytest.runs import conditions_of_runs
    from wise_pytest.settings import catalog_of

    kinds = [parse_report_option(text, "--report") for text in parsed.report]
    rows = read_runs(parsed.rows)
    how = _statistics(parsed, rows.runs)
    catalog = catalog_of(Path.cwd())
    rescored = rescore(rows.table.rows(), verifier_of=catalog.verifier) if parsed.rescore else None
    if rescored is not None:
        rows = replace(rows, table=table_of(rescored.rows))
    document = audit_again(
        rows,
        how,
        lambda audit: rules_of(parsed, panels=audit.panels, models=audit.models),
        panels=catalog,
        comparison=compare_again(
            parsed, rows.table, conditions_of_runs(rows.runs), seed=how.seed, replicates=how.replicates
        ),
    )
    places = [kind for kind in kinds if kind.path is not None]
    if parsed.out is not None:
        places = [*kinds_of_a_run(kinds), *places]
    elif len(places) < len(kinds):
        raise OptionError("--report KIND needs a place: write --report KIND:PATH, or give --out DIR")
    beside = _beside(parsed.rows, rows.table) if any(kind.kind == "html" for kind in places) else None
    written = write_report(
        document, parsed.out or Path.cwd(), places, json_text=dump(document), generations=beside
    )
    width = shutil.get_terminal_size().columns
    print_lines(
        (line.text for line in summary_lines(document, width=width, report_paths=written)), sys.stdout
    )
    if rescored is not None:
        print_lines(_rescored_lines(rescored), sys.stdout)
    return 0 if document["gate"]["status"] == "pass" else EXIT_GATE


def _statistics(parsed: argparse.Namespace, runs: Sequence[RunRecord]) -> Statistics:
    """An audit of a run's rows is the run's own audit again, unless it is asked for something else."""
    from wise_pytest.again import statistics_of
    from wise_pytest.audit.texts import read_openings
    from wise_pytest.values import bootstrap_replicates, bootstrap_seed

    return statistics_of(
        runs,
        seed=None if parsed.seed is None else bootstrap_seed(parsed.seed, "--seed"),
        replicates=None
        if parsed.replicates is None
        else bootstrap_replicates(parsed.replicates, "--replicates"),
        openings=None if parsed.openings is None else read_openings(parsed.openings, option="--openings"),
        exclude=[name for text in parsed.exclude for name in text.split(",")],
        sensitivity=parsed.sensitivity,
    )


def _beside(paths: Sequence[str], table: RowTable) -> Generations:
    """What the page shows beside the audit: the rows, as far as they can be listed at all."""
    from wise_pytest.manifest import run_folder
    from wise_pytest.recorded import generations_of, manifest_in
    from wise_pytest.report.writer import Generations

    folders = {run_folder(path) for path in paths}
    folder = folders.pop() if len(folders) == 1 else None
    if len(table) > MAX_LISTED:
        note = f"The {len(table)} generations are too many to list on this page; the files audited have them."
        return Generations(manifest=None if folder is None else manifest_in(folder), note=note)
    cassettes = Path(DEFAULT_CASSETTES)
    return generations_of(table.rows(), folder=folder, cassettes=cassettes if cassettes.is_dir() else None)


def _rescored_lines(rescored: Rescored) -> list[str]:
    """What scoring again has changed, and what it could not reach."""
    lines = [
        f"scored again: {rescored.n_rescored} rows, {len(rescored.flips)} verdicts changed",
        *(f"  {flip}" for flip in rescored.flips[:MAX_FLIPS_SHOWN]),
    ]
    if len(rescored.flips) > MAX_FLIPS_SHOWN:
        lines.append(f"  … and {len(rescored.flips) - MAX_FLIPS_SHOWN} more")
    if rescored.n_kept:
        lines.append(f"not scored again: {rescored.n_kept} rows without text, target or verifier")
    return lines

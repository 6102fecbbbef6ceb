"""``wise audit``: rows to an audit, a verdict and reports, without pytest and without calls."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest import __version__
from wise_pytest.commands.console import BOOTSTRAP_OPTIONS, add_shared, help_of, print_lines
from wise_pytest.errors import OptionError
from wise_pytest.options import GATE_OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from wise_pytest.audit.rows import Rescored
    from wise_pytest.manifest import RunRecord

EXIT_GATE = 1
MAX_FLIPS_SHOWN = 10


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    audit = commands.add_parser(
        "audit",
        help="audit rows of one or more runs, and judge the gate",
        description="Audit the rows of one or more runs: merge them, score again, judge the gate.",
    )
    audit.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    audit.add_argument("--out", type=Path, metavar="DIR", help="write audit.json, audit.md and tables/ there")
    audit.add_argument(
        "--rescore", action="store_true", help="verify every text again, and report verdicts that change"
    )
    audit.add_argument("--exclude", action="append", default=[], metavar="MODEL", help=help_of("exclude"))
    audit.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="KIND[:PATH]",
        help="markdown, json or csv, into DIR or to PATH, repeatable (default: all into DIR)",
    )
    audit.add_argument("--openings", type=Path, metavar="FILE", help=help_of("openings"))
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
    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import dump, to_document
    from wise_pytest.audit.facts import row_facts
    from wise_pytest.audit.gate import evaluate_gate
    from wise_pytest.audit.rows import read_table, rescore
    from wise_pytest.audit.table import cells_by_pair, table_of
    from wise_pytest.commands.gate import compare_again, rules_of
    from wise_pytest.manifest import (
        conditions_of_runs,
        missing_shards,
        named_models,
        plans_of,
        progress,
        read_manifests,
    )
    from wise_pytest.report.kinds import kinds_of_a_run, parse_report_option
    from wise_pytest.report.terminal import summary_lines
    from wise_pytest.report.writer import write_report
    from wise_pytest.settings import catalog_of

    kinds = [parse_report_option(text, "--report") for text in parsed.report]
    runs = read_manifests(parsed.rows)
    lacking = missing_shards(runs)
    how = _statistics(parsed, runs)
    catalog = catalog_of(Path.cwd())
    table = read_table(parsed.rows)
    rescored = rescore(table.rows(), verifier_of=catalog.verifier) if parsed.rescore else None
    if rescored is not None:
        table = table_of(rescored.rows)
    plans = plans_of(runs)
    done = progress(plans, cells_by_pair(table) if plans else {})
    partial = done.partial if lacking is None or done.partial is None else f"{done.partial}: {lacking}"
    comparison = compare_again(
        parsed, table, conditions_of_runs(runs), seed=how.seed, replicates=how.replicates
    )
    provenance = {"wise_pytest": __version__, "partial": partial, **row_facts(table)}
    audit = build_audit(
        table,
        exclude=how.exclude,
        planned=done.n_cells,
        provenance=provenance,
        panels=catalog,
        seed=how.seed,
        replicates=how.replicates,
        openings=how.openings,
    )
    gate = evaluate_gate(
        audit,
        rules_of(parsed, panels=audit.panels, models=audit.models),
        comparison=comparison,
        expected_models=named_models(runs),
        partial=partial,
    )
    document = to_document(audit, gate, comparison)
    text = dump(document)
    places = [kind for kind in kinds if kind.path is not None]
    if parsed.out is not None:
        places = [*kinds_of_a_run(kinds), *places]
    elif len(places) < len(kinds):
        raise OptionError("--report KIND needs a place: write --report KIND:PATH, or give --out DIR")
    written = write_report(document, parsed.out or Path.cwd(), places, json_text=text)
    width = shutil.get_terminal_size().columns
    print_lines(
        (line.text for line in summary_lines(document, width=width, report_paths=written)), sys.stdout
    )
    if rescored is not None:
        print_lines(_rescored_lines(rescored), sys.stdout)
    return 0 if gate.status == "pass" else EXIT_GATE


@dataclass(frozen=True, slots=True)
class _Statistics:
    """How the audit is to be made."""

    seed: int
    replicates: int
    openings: tuple[str, ...] | None
    exclude: Sequence[str]


def _statistics(parsed: argparse.Namespace, runs: Sequence[RunRecord]) -> _Statistics:
    """An audit of a run's rows is the run's own audit again, unless it is asked for something else."""
    from wise_pytest.audit.texts import read_openings
    from wise_pytest.manifest import agreed
    from wise_pytest.options import DEFAULT_REPLICATES, DEFAULT_SEED
    from wise_pytest.settings import bootstrap_replicates, bootstrap_seed

    seed = agreed(runs, "seed") if parsed.seed is None else bootstrap_seed(parsed.seed, "--seed")
    replicates = (
        agreed(runs, "replicates")
        if parsed.replicates is None
        else bootstrap_replicates(parsed.replicates, "--replicates")
    )
    if parsed.openings is not None:
        openings: tuple[str, ...] | None = read_openings(parsed.openings, option="--openings")
    else:
        openings = agreed(runs, "openings")
    exclude = [name for text in parsed.exclude for name in text.split(",")]
    return _Statistics(
        seed=DEFAULT_SEED if seed is None else seed,
        replicates=DEFAULT_REPLICATES if replicates is None else replicates,
        openings=openings,
        exclude=exclude or sorted({name for run in runs for name in run.exclude}),
    )


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

"""``wise report``: every report of a run again, from its rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest import __version__
from wise_pytest.commands.console import help_of, print_lines
from wise_pytest.errors import OptionError
from wise_pytest.files import read_document
from wise_pytest.options import DEFAULT_CASSETTES
from wise_pytest.records import AUDIT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from wise_pytest.audit.table import RowTable


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    report = commands.add_parser(
        "report",
        help="write every report of a run again, from its rows",
        description="Write the reports of a run again, from its rows. The audit.json beside them is kept if "
        "it is of these rows; where there is none, they are audited as their run was.",
    )
    report.add_argument("rows", nargs="+", metavar="ROWS", help="a run's folder, or a generations.jsonl")
    report.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: the run's folder)")
    report.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="KIND[:PATH]",
        help=help_of("report"),
    )
    report.add_argument(
        "--cassettes",
        type=Path,
        default=Path(DEFAULT_CASSETTES),
        metavar="DIR",
        help=f"{help_of('cassettes')}; where it is there, the page shows the recorded replies",
    )
    report.add_argument(
        "--portable",
        action="store_true",
        help="leave out what differs between machines and moments: times, software, addresses",
    )
    report.set_defaults(run=_report)


def _report(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.document import dump
    from wise_pytest.audit.rows import read_table
    from wise_pytest.manifest import run_folder
    from wise_pytest.recorded import generations_of
    from wise_pytest.report.facts import gate_verdict
    from wise_pytest.report.kinds import kinds_of_a_run, parse_report_option
    from wise_pytest.report.writer import write_report

    kinds = [parse_report_option(text, "--report") for text in parsed.report]
    folder = _only_folder(parsed.rows)
    if parsed.out is None and folder is None:
        raise OptionError("rows of more than one place: say with --out DIR where their report is to be")
    table = read_table(parsed.rows)
    document = (None if folder is None else _document_in(folder, table)) or _audited(parsed.rows, table)
    runs = {run_folder(path) for path in parsed.rows}
    run = runs.pop() if len(runs) == 1 and not parsed.portable else None
    beside = generations_of(table.rows(), folder=run, cassettes=parsed.cassettes)
    places = [*kinds_of_a_run(kinds), *(kind for kind in kinds if kind.path is not None)]
    written = write_report(
        document, parsed.out or folder or Path.cwd(), places, json_text=dump(document), generations=beside
    )
    print_lines([f"gate: {gate_verdict(document).sentence}"], sys.stdout)
    print_lines((f"report: {path}" for path in written), sys.stdout)
    return 0


def _only_folder(rows: Sequence[str]) -> Path | None:
    """The folder that all rows are in."""
    folders = {path if path.is_dir() else path.parent for path in map(Path, rows)}
    return folders.pop() if len(folders) == 1 else None


def _document_in(folder: Path, table: RowTable) -> Mapping[str, Any] | None:
    """The audit in the rows' folder, if it was made of these very rows.

    Raises
    ------
    RowsError
        If it is there and cannot be read.
    """
    from wise_pytest.audit.document import AUDIT_SCHEMA
    from wise_pytest.audit.merging import rows_sha256

    document = read_document(folder / AUDIT, AUDIT_SCHEMA, hint="delete it to audit the rows again")
    run = None if document is None else document.get("run")
    same = (
        isinstance(run, dict)
        and run.get("wise_pytest") == __version__
        and run.get("rows_sha256") == rows_sha256(table)
    )
    return document if same else None


def _audited(paths: Sequence[str], table: RowTable) -> dict[str, Any]:
    """The audit of the rows, made and judged as their run made it where its manifest says how."""
    from wise_pytest.again import audit_again, read_runs, statistics_of
    from wise_pytest.runs import rules_of_runs
    from wise_pytest.settings import catalog_of

    rows = read_runs(paths, table=table)
    rules = rules_of_runs(rows.runs)
    return audit_again(
        rows,
        statistics_of(rows.runs),
        lambda _: rules,
        panels=catalog_of(Path.cwd()),
        why_no_comparison="the baseline is not there any more: compare with it by wise audit --baseline FILE",
    )

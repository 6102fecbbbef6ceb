"""``wise baseline save``: keep what a comparison needs of a run, in one file for the repository."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import print_lines

if TYPE_CHECKING:
    import argparse

DEFAULT_FILE = "baseline.jsonl"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    baseline = commands.add_parser("baseline", help="keep a run to compare later ones with")
    actions = baseline.add_subparsers(title="actions", required=True, metavar="ACTION")
    save = actions.add_parser(
        "save",
        help="write the rows of a run to one file, without what changes from run to run",
        description="Write rows and the conditions of their run to one sorted file, for --wise-baseline.",
    )
    save.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    save.add_argument(
        "--to",
        type=Path,
        default=Path(DEFAULT_FILE),
        metavar="FILE",
        help=f"where to write it (default: {DEFAULT_FILE})",
    )
    save.set_defaults(run=_save)


def _save(parsed: argparse.Namespace) -> int:
    from wise_pytest.again import read_runs
    from wise_pytest.audit.baseline import Side, save_baseline
    from wise_pytest.errors import OptionError
    from wise_pytest.runs import conditions_of_runs

    rows = read_runs(parsed.rows)
    if rows.partial is not None:
        raise OptionError(f"an incomplete run is no baseline ({rows.partial}); finish it first")
    if not len(rows.table):
        raise OptionError(f"{', '.join(parsed.rows)}: there are no rows to keep")
    side = Side(rows.table, conditions_of_runs(rows.runs), ", ".join(parsed.rows))
    n_rows = save_baseline(side, parsed.to)
    print_lines([f"baseline: {n_rows} rows in {parsed.to}"], sys.stdout)
    return 0

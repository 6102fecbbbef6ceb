"""``wise sensitivity``: whether effects of wording survive other ways to read the outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import BOOTSTRAP_OPTIONS, add_shared, help_of, print_lines
from wise_pytest.errors import OptionError
from wise_pytest.naming import explain_unknown

if TYPE_CHECKING:
    import argparse


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    sensitivity = commands.add_parser(
        "sensitivity",
        help="score the same outputs under other counters, beside the strict score",
        description="Score the outputs of rows again with Markdown, wrappers or introductions left out, and "
        "with other words, and say whether each effect of wording survives. No score is changed.",
    )
    sensitivity.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    sensitivity.add_argument(
        "--panel", action="append", default=[], metavar="ID", help="only this panel, repeatable"
    )
    sensitivity.add_argument(
        "--exclude", action="append", default=[], metavar="MODEL", help=help_of("exclude")
    )
    sensitivity.add_argument("--out", type=Path, metavar="DIR", help="write sensitivity.json there")
    add_shared(sensitivity, BOOTSTRAP_OPTIONS)
    sensitivity.set_defaults(run=_sensitivity)


def _sensitivity(parsed: argparse.Namespace) -> int:
    from wise_pytest.again import read_runs, statistics_of
    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import dump, to_document
    from wise_pytest.files import write_whole
    from wise_pytest.report.beyond import sensitivity_lines
    from wise_pytest.settings import catalog_of
    from wise_pytest.values import bootstrap_replicates, bootstrap_seed

    seed = None if parsed.seed is None else bootstrap_seed(parsed.seed, "--seed")
    replicates = (
        None if parsed.replicates is None else bootstrap_replicates(parsed.replicates, "--replicates")
    )
    rows = read_runs(parsed.rows)
    of_panel = rows.table.coded("panel")
    for name in parsed.panel:
        if name not in of_panel.values:
            raise OptionError(f"--panel: {explain_unknown('panel', name, of_panel.values)}")
    how = statistics_of(rows.runs, seed=seed, replicates=replicates, exclude=parsed.exclude)
    # The audit of these rows, so that the figures are those of an audit.json that was asked for them.
    audit = build_audit(
        rows.table.take(of_panel.among(parsed.panel)) if parsed.panel else rows.table,
        exclude=how.exclude,
        panels=catalog_of(Path.cwd()),
        seed=how.seed,
        replicates=how.replicates,
        sensitivity=True,
    )
    for name in parsed.exclude:
        if name not in audit.models:
            raise OptionError(f"--exclude: {name!r} is not among the models: {', '.join(audit.models)}")
    panels = {
        name: panel["verifier_sensitivity"]
        for name, panel in to_document(audit)["panels"].items()
        if "verifier_sensitivity" in panel
    }
    if not panels:
        raise OptionError(f"there are no scored rows with texts of a known panel in {', '.join(parsed.rows)}")
    print_lines(sensitivity_lines(panels), sys.stdout)
    if parsed.out is not None:
        path = write_whole(parsed.out / "sensitivity.json", dump(panels))
        print_lines([f"report: {path}"], sys.stdout)
    return 0

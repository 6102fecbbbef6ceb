"""``wise sensitivity``: whether effects of wording survive other ways to read the outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import BOOTSTRAP_OPTIONS, add_shared, help_of, print_lines
from wise_pytest.errors import OptionError

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
        "--exclude", action="append", default=[], metavar="MODEL", help=help_of("exclude")
    )
    sensitivity.add_argument("--out", type=Path, metavar="DIR", help="write sensitivity.json there")
    add_shared(sensitivity, BOOTSTRAP_OPTIONS)
    sensitivity.set_defaults(run=_sensitivity)


def _sensitivity(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.document import dump
    from wise_pytest.audit.rows import read_rows
    from wise_pytest.audit.sensitivity import build_sensitivity, to_document
    from wise_pytest.files import write_whole
    from wise_pytest.report.beyond import sensitivity_lines
    from wise_pytest.settings import bootstrap_replicates, bootstrap_seed, catalog_of

    seed = bootstrap_seed(parsed.seed, "--seed")
    replicates = bootstrap_replicates(parsed.replicates, "--replicates")
    catalog = catalog_of(Path.cwd())
    rows = read_rows(parsed.rows)
    known = {row.model for row in rows}
    for name in parsed.exclude:
        if name not in known:
            raise OptionError(f"--exclude: {name!r} is not among the models: {', '.join(sorted(known))}")
    kept = [row for row in rows if row.model not in parsed.exclude]
    panels = {name: catalog[name] for name in catalog if any(row.panel == name for row in kept)}
    document = to_document(build_sensitivity(kept, panels, seed=seed, replicates=replicates))
    if not document:
        raise OptionError(f"there are no scored rows with texts of a known panel in {', '.join(parsed.rows)}")
    print_lines(sensitivity_lines(document), sys.stdout)
    if parsed.out is not None:
        path = write_whole(parsed.out / "sensitivity.json", dump(document))
        print_lines([f"report: {path}"], sys.stdout)
    return 0

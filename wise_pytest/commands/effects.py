"""``wise effects``: what each property of a wording does to compliance, from rows of a factorial panel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import help_of, print_lines
from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    import argparse


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    effects = commands.add_parser(
        "effects",
        help="effects of the properties of wordings, from rows of a factorial panel",
        description="Estimate the effect of each factor and of each pair of factors on compliance, pooled "
        "and for each model, with intervals over items.",
    )
    effects.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    effects.add_argument(
        "--panel",
        default="factorial_count",
        metavar="ID",
        help="a panel with factors (default: factorial_count)",
    )
    effects.add_argument("--exclude", action="append", default=[], metavar="MODEL", help=help_of("exclude"))
    effects.add_argument("--out", type=Path, metavar="DIR", help="write effects.json and effects.svg there")
    effects.set_defaults(run=_effects)


def _effects(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.document import dump
    from wise_pytest.audit.factorial import build_factorial, to_document
    from wise_pytest.audit.rows import read_rows
    from wise_pytest.files import write_whole
    from wise_pytest.report.beyond import effects_lines
    from wise_pytest.report.effects import effects_svg
    from wise_pytest.settings import catalog_of

    catalog = catalog_of(Path.cwd())
    panel = catalog.panel(parsed.panel)
    if not panel.factors:
        raise OptionError(f"--panel: {panel.panel_id} has no factors; it is no factorial design")
    rows = read_rows(parsed.rows)
    models = {row.model for row in rows if row.panel == panel.panel_id and row.scored}
    if not models:
        raise OptionError(f"there are no scored rows of {panel.panel_id} in {', '.join(parsed.rows)}")
    for name in parsed.exclude:
        if name not in models:
            raise OptionError(f"--exclude: {name!r} is not among the models: {', '.join(sorted(models))}")
    document = to_document(build_factorial(rows, panel, primary=models - set(parsed.exclude)))
    print_lines(effects_lines(document), sys.stdout)
    if parsed.out is not None:
        texts = {"effects.json": dump(document), "effects.svg": effects_svg(document)}
        written = [write_whole(parsed.out / name, text) for name, text in texts.items()]
        print_lines((f"report: {path}" for path in written), sys.stdout)
    return 0

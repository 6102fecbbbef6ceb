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
    from wise_pytest.again import read_runs, statistics_of
    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import dump, to_document
    from wise_pytest.files import write_whole
    from wise_pytest.report.beyond import effects_lines
    from wise_pytest.report.figures.charts.effects import effects
    from wise_pytest.settings import catalog_of

    catalog = catalog_of(Path.cwd())
    panel = catalog.panel(parsed.panel)
    if not panel.factors:
        raise OptionError(f"--panel: {panel.panel_id} has no factors; it is no factorial design")
    rows = read_runs(parsed.rows)
    of_panel = rows.table.take(rows.table.coded("panel").among([panel.panel_id]))
    # The audit of this panel, so that the figures are those of audit.json; nothing is resampled for them.
    audit = build_audit(
        of_panel,
        exclude=statistics_of(rows.runs, exclude=parsed.exclude).exclude,
        panels=catalog,
        replicates=0,
    )
    found = audit.panels.get(panel.panel_id)
    if found is None or found.effects is None:
        raise OptionError(f"there are no scored rows of {panel.panel_id} in {', '.join(parsed.rows)}")
    for name in parsed.exclude:
        if name not in audit.models:
            raise OptionError(f"--exclude: {name!r} is not among the models: {', '.join(audit.models)}")
    content = to_document(audit)["panels"][panel.panel_id]
    print_lines(effects_lines(panel.panel_id, content), sys.stdout)
    if parsed.out is not None:
        picture = effects(panel.panel_id, content)
        texts = {
            "effects.json": dump({"panel": panel.panel_id, **content["effects"]}),
            **({} if picture is None else {"effects.svg": picture.standalone()}),
        }
        written = [write_whole(parsed.out / name, text) for name, text in texts.items()]
        print_lines((f"report: {path}" for path in written), sys.stdout)
    return 0

"""``wise check-panel``: whether a panel of one's own can be used, and what to look at in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import print_lines
from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from wise_pytest.panels.check import PanelCheck
    from wise_pytest.panels.model import Panel

EXIT_FOUND = 1


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    check = commands.add_parser(
        "check-panel",
        help="check panels of your own",
        description="Load panels, run their self-tests, and warn of wordings that may ask for another thing.",
    )
    check.add_argument(
        "panels",
        nargs="*",
        metavar="PANEL",
        help="ids, or panel files (default: all that [tool.wise] of this folder's pyproject.toml names)",
    )
    check.add_argument("--strict", action="store_true", help="exit with 1 for a warning, too")
    check.set_defaults(run=_check_panels)


def _check_panels(parsed: argparse.Namespace) -> int:
    from wise_pytest.panels.check import check_panel

    failed = False
    for panel in _chosen(parsed.panels):
        found = check_panel(panel)
        print_lines(_report(panel, found), sys.stdout)
        failed |= bool(found.self_test) or (parsed.strict and bool(found.warnings))
    return EXIT_FOUND if failed else 0


def _chosen(names: list[str]) -> Iterator[Panel]:
    from wise_pytest.panels.loader import bundled_items, load_panel
    from wise_pytest.settings import catalog_of

    catalog = catalog_of(Path.cwd())
    if not names and not catalog.own:
        raise OptionError("there is no panel of your own to check; name one, or make one with wise new-panel")
    for name in names or catalog.own:
        is_file = name.endswith(".toml")
        yield load_panel(Path(name), bundled_items()) if is_file else catalog.panel(name)


def _report(panel: Panel, found: PanelCheck) -> Iterator[str]:
    facts = (
        f"{len(panel.forms)} forms",
        f"{len(panel.items)} items",
        f"verifier {panel.verifier}",
        f"language {panel.language}",
    )
    yield f"{panel.panel_id}: {', '.join(facts)}"
    item = panel.items[0]
    for form in panel.forms:
        yield f"  {form.form_id}: {panel.instruction(item, form)}"
    if panel.self_test is not None:
        n_right = found.n_texts - len(found.self_test)
        yield f"  self-test: {n_right} of {found.n_texts} texts are judged as declared"
    yield from (f"  FAILED: {problem}" for problem in found.self_test)
    yield from (f"  warning: {warning}" for warning in found.warnings)

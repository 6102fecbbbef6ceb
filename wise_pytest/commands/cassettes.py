"""``wise cassettes``: what is recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import help_of, print_lines
from wise_pytest.errors import OptionError
from wise_pytest.options import DEFAULT_CASSETTES

if TYPE_CHECKING:
    import argparse

    from wise_pytest.cassettes.pack import RecordingKey


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    cassettes = commands.add_parser("cassettes", help="see what is recorded")
    actions = cassettes.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list",
        help="list recordings: missing, orphaned and unplayed ones",
        description="List the recordings of each panel and model beside what the panel plans.",
    )
    listing.add_argument(
        "--cassettes", type=Path, default=Path(DEFAULT_CASSETTES), metavar="DIR", help=help_of("cassettes")
    )
    listing.add_argument(
        "--rows", nargs="+", metavar="ROWS", help="rows of a run: say which recordings it has not played"
    )
    listing.add_argument("--cells", action="store_true", help="name every cell that is counted")
    listing.set_defaults(run=_list_cassettes)


def _list_cassettes(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.rows import read_rows
    from wise_pytest.cassettes.inventory import take_inventory, unplayed
    from wise_pytest.settings import catalog_of

    if not parsed.cassettes.is_dir():
        raise OptionError(f"{parsed.cassettes}: is no folder; name the recordings with --cassettes DIR")
    played: dict[tuple[str, str], list[RecordingKey]] = {}
    for row in read_rows(parsed.rows or []):
        played.setdefault((row.panel, row.model), []).append((row.item, row.form, row.repetition))
    for pack in take_inventory(parsed.cassettes, catalog_of(Path.cwd())):
        groups = {"missing": pack.missing, "orphaned": pack.orphaned}
        if parsed.rows:
            groups["unplayed"] = unplayed(pack.recorded, played.get((pack.panel, pack.model), []))
        planned = "an unknown panel" if pack.n_planned is None else str(pack.n_planned)
        counts = ", ".join(f"{len(keys)} {name}" for name, keys in groups.items())
        print_lines(
            [f"{pack.panel}, {pack.model}: {pack.n_recorded} recorded of {planned}, {counts}"], sys.stdout
        )
        if parsed.cells:
            print_lines(
                (f"  {name}: {key}" for name, keys in groups.items() for key in map(_shown, keys)), sys.stdout
            )
    return 0


def _shown(key: RecordingKey) -> str:
    item, form, repetition = key
    return f"{item}, {form}, repetition {repetition}"

"""``wise demo``: replay the small recording that comes with the package, without network, key or model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import print_lines
from wise_pytest.commands.running import DEMO, demo_arguments, run_pytest
from wise_pytest.errors import OptionError
from wise_pytest.files import reason_of
from wise_pytest.options import DEFAULT_OUT

if TYPE_CHECKING:
    import argparse

ITEMS = "10"
REPETITIONS = "1"
"""What the packaged recordings hold of each model: the first items, once under every form."""
PANEL = "exact_count"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    demo = commands.add_parser(
        "demo",
        help="replay the small recording that comes with the package, offline, and write its report",
        description=f"Replay {ITEMS} items of {PANEL} under every form, as three small models answered them "
        "once, and audit them. It needs no network, no key and no model, and is a part of a larger "
        "recording: too small to judge by.",
    )
    demo.add_argument(
        "--out",
        type=Path,
        default=Path(DEFAULT_OUT),
        metavar="DIR",
        help=f"folder for the run's folder (default: {DEFAULT_OUT}/)",
    )
    demo.set_defaults(run=_demo)


def _demo(parsed: argparse.Namespace) -> int:
    from wise_pytest.cassettes.store import CassetteStore

    store = CassetteStore(DEMO / "cassettes")
    models = [pack.model for pack in store.packs_of(PANEL)]
    out: Path = parsed.out.absolute()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"--out: {parsed.out}: cannot be written: {reason_of(error)}; name another folder"
        ) from error
    before = _pages(out)
    status = run_pytest(
        [
            *demo_arguments(),
            *("--block-network", "--wise-cassettes", str(store.root), "--wise-out", str(out)),
            *("--wise-items", ITEMS, "--wise-repetitions", REPETITIONS),
            *(part for model in models for part in ("--wise-model", model)),
        ],
        alone=True,
    )
    new = sorted(_pages(out) - before)
    too_small = (
        f"{ITEMS} items asked once are too small to judge a model by: this shows the reports, not the models"
    )
    print_lines([too_small, *(f"open {page}" for page in new)], sys.stdout)
    return status


def _pages(out: Path) -> set[Path]:
    """The page of every run in a folder."""
    return {page for page in out.glob("*/audit.html") if not page.parent.is_symlink()}

"""``wise new-panel``: the files of a panel of one's own, ready to run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import print_lines
from wise_pytest.errors import PanelError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

SETTING = '[tool.wise]\npanels = ["panels"]\n'


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    new = commands.add_parser(
        "new-panel",
        help="write the files of a panel of your own",
        description="Write a panel of your own into the current folder: wordings, items, verifier and test.",
    )
    new.add_argument("name", metavar="NAME", help="the panel's id, such as closing_words")
    new.set_defaults(run=_new_panel)


def _new_panel(parsed: argparse.Namespace) -> int:
    from wise_pytest.files import write_whole
    from wise_pytest.panels.starter import starter_files

    files = {Path(path): text for path, text in starter_files(parsed.name).items()}
    for path in files:
        if path.exists():
            raise PanelError(
                f"{path}: is there already; nothing was written. Move it away, or choose another name"
            )
    hint = list(_declare())
    written = [write_whole(path, text, error=PanelError) for path, text in files.items()]
    print_lines((f"wrote {path}" for path in written), sys.stdout)
    print_lines(hint, sys.stdout)
    print_lines([f"next: wise check-panel {parsed.name}"], sys.stdout)
    return 0


def _declare() -> Iterator[str]:
    """Make the folder of panels known; where there are settings already, say what to add to them."""
    from wise_pytest.files import write_whole
    from wise_pytest.panels.catalog import FOLDER
    from wise_pytest.settings import read_tool_table

    project = Path("pyproject.toml")
    if not project.exists():
        yield f"wrote {write_whole(project, SETTING, error=PanelError)}"
    elif FOLDER not in read_tool_table(project).get("panels", []):
        yield f'to do: add panels = ["{FOLDER}"] to [tool.wise] in {project}'

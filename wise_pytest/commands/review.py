"""``wise review``: sheets of instructions for annotators, in the format that ``wise agreement`` reads."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import print_lines
from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    import argparse

    from wise_pytest.panels.review import Sheet

HEADER = (
    "annotator",
    "item",
    "instruction",
    "requirement",
    "exact_n",
    "clarity",
    "naturalness",
    "ambiguity",
    "complexity",
    "target",
    "form",
)
KEY_HEADER = ("code", "form")
MAX_SEED = 2**63 - 1


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    review = commands.add_parser(
        "review",
        help="print instructions for annotators, blinded and in random order",
        description="Print every instruction of panels for annotators, without the names of the forms and in "
        "an order of each annotator's own, as CSV that wise agreement reads back.",
    )
    review.add_argument("panels", nargs="+", metavar="PANEL", help="ids of panels, bundled or your own")
    review.add_argument(
        "--items", default="4", metavar="N", help="items to fill the wordings in for (default: 4)"
    )
    review.add_argument("--annotators", default="2", metavar="N", help="how many there are (default: 2)")
    review.add_argument("--seed", default="0", metavar="N", help="of codes and orders (default: 0)")
    review.add_argument(
        "--key", type=Path, metavar="FILE", help="write which code stands for which form; not for annotators"
    )
    review.set_defaults(run=_review)


def _review(parsed: argparse.Namespace) -> int:
    from wise_pytest.files import write_whole
    from wise_pytest.panels.review import build_sheet
    from wise_pytest.settings import catalog_of

    key: Path | None = parsed.key
    if key is not None and (key.is_file() or key.is_dir()):
        raise OptionError(
            f"--key: {key} is there already, and an earlier sheet may need it; name another file"
        )
    catalog = catalog_of(Path.cwd())
    sheet = build_sheet(
        [catalog.panel(name) for name in dict.fromkeys(parsed.panels)],
        n_items=_count(parsed.items, "--items"),
        n_annotators=_count(parsed.annotators, "--annotators"),
        seed=_count(parsed.seed, "--seed", least=0),
    )
    if key is not None:
        write_whole(key, _csv([KEY_HEADER, *sheet.key.items()]), error=OptionError)
    print_lines(_csv(_rows(sheet)).splitlines(), sys.stdout)
    return 0


def _rows(sheet: Sheet) -> list[tuple[object, ...]]:
    blanks = ("",) * 5
    return [
        HEADER,
        *(
            (line.annotator, line.item, line.instruction, line.requirement, *blanks, line.target, line.form)
            for line in sheet.lines
        ),
    ]


def _csv(rows: list[tuple[object, ...]] | list[tuple[str, str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _count(text: str, name: str, *, least: int = 1) -> int:
    if not (text.isascii() and text.isdigit()) or not least <= int(text[:19]) <= MAX_SEED:
        raise OptionError(f"{name}: must be a whole number from {least}, not {text!r}")
    return int(text)

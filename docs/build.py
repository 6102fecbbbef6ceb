"""Writes what the pages of this folder take from the code: tables, wordings, and the README's picture.

A page holds such a part between two comments, ``<!-- NAME: made by docs/build.py -->`` and
``<!-- end -->``; all other text is written by hand and stays as it is. A test fails where a part is
no longer what the code says.

    python docs/build.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sections import commands, figure, files, options, panels, statistics, statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FOLDER = Path(__file__).parent
PARTS: Mapping[str, Callable[[], str]] = {
    **options.PARTS,
    **commands.PARTS,
    **panels.PARTS,
    **statuses.PARTS,
    **files.PARTS,
    **statistics.PARTS,
}
"""Every part, by the name that its comment has."""
_PART = re.compile(
    r"(?<=^<!-- )(?P<name>[\w-]+)(?P<mark>: made by docs/build\.py -->\n).*?(?=^<!-- end -->$)",
    re.MULTILINE | re.DOTALL,
)


def main() -> int:
    """Write what is stale, or with ``--check`` name it and exit with 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if anything is stale"
    )
    only_check = parser.parse_args().check
    stale = [(path, text) for path, text in made() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(FOLDER.parent)} is stale" if only_check else f"wrote {path}")
        if not only_check:
            path.write_text(text, "utf-8", newline="\n")
    if stale and only_check:
        print("write them again with: python docs/build.py")
    return int(bool(stale) and only_check)


def made() -> Iterator[tuple[Path, str]]:
    """Every file with its text as it should be."""
    used: list[str] = []

    def part(found: re.Match[str]) -> str:
        used.append(found["name"])
        return f"{found['name']}{found['mark']}\n{PARTS[found['name']]()}\n\n"

    for page in sorted(FOLDER.glob("*.md")):
        yield page, _PART.sub(part, page.read_text("utf-8"))
    if sorted(used) != sorted(PARTS):
        raise SystemExit(
            f"parts that are on no page, or on several: {set(used).symmetric_difference(PARTS) or used}"
        )
    yield FOLDER / "figure.svg", figure.svg()


if __name__ == "__main__":
    sys.exit(main())

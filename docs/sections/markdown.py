"""Tables in GitHub's format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar within a cell is escaped, and a line break becomes a blank."""
    lines = [_line(header), _line(["---"] * len(header)).replace(" ", "")]
    return "\n".join([*lines, *map(_line, rows)])


def code(text: str) -> str:
    """``text`` as code, nothing where it is empty."""
    return f"`{text}`" if text else ""


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"

"""Names beside and above a chart: they get the room that they need, and what is cut stays distinct.

Called by the charts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.figures.drawing import SIZE, cut_apart, fits, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WIDEST = 290
"""What names may take of a chart's width: enough for the longest form of the bundled panels, in bold."""
_BOLD = 1.06
_MARGIN = 16
_MOST_LINES = 6
_PIECE = re.compile(r"[^_\- /:]+[_\- /:]*|[_\- /:]+")


@dataclass(frozen=True, slots=True)
class Beside:
    """The names at the side of a chart."""

    room: float
    """What they take of its width, their margin included."""
    shown: Mapping[str, str]
    """Each name as it fits, no two alike."""


def beside(
    names: Iterable[str],
    *,
    least: float = 0,
    most: float = WIDEST,
    size: float = SIZE,
    bold: bool = False,
    margin: float = _MARGIN,
) -> Beside:
    """As much room as the longest name needs, at most ``most``; longer names are cut apart."""
    names = list(names)
    widest = max((text_width(name, size, bold=bold) for name in names), default=0.0)
    room = min(max(widest + margin, least), most)
    return Beside(room, cut_apart(names, (room - margin) / (_BOLD if bold else 1), size))


def heads(names: Iterable[str], width: float, size: float = SIZE) -> dict[str, tuple[str, ...]]:
    """Each name in lines of at most ``width``, broken where its parts meet, or within a part that is longer.

    Nothing is left out of a name that fits in a few lines; longer ones are cut
    so that no two are alike.
    """
    names = list(names)
    lines = {name: _lines(name, width, size) for name in names}
    if all(len(found) <= _MOST_LINES for found in lines.values()):
        return lines
    # Half, since lines are seldom full.
    shorter = cut_apart(names, _MOST_LINES * width / 2, size)
    return {name: _lines(shorter[name], width, size) for name in names}


def widest_part(names: Iterable[str], size: float = SIZE) -> float:
    """What the longest part of any name takes, in bold."""
    parts = (part.rstrip() for name in names for part in _PIECE.findall(name))
    return max((text_width(part, size, bold=True) for part in parts), default=0.0)


def _lines(name: str, width: float, size: float) -> tuple[str, ...]:
    lines: list[str] = []
    for piece in _PIECE.findall(name):
        if lines and fits(lines[-1] + piece.rstrip(), width, size, bold=True):
            lines[-1] += piece
            continue
        lines.append("")
        for mark in piece:
            if lines[-1] and not fits(lines[-1] + mark, width, size, bold=True):
                lines.append("")
            lines[-1] += mark
    return tuple(line.strip() for line in lines if line.strip())

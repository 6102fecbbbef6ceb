"""Marks on a sheet of SVG: lines, boxes, points and text, in units of one CSS pixel.

Called by the charts. A mark names the role of its colour; texts are escaped
here and nowhere else.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Literal

from wise_pytest.report.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wise_pytest.report.figures.theme import Theme

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
SIZE = 13
"""Size of plain text."""
SMALL = 11.5

Anchor = Literal["start", "middle", "end"]

_WIDTHS = {
    **dict.fromkeys("il.,:;'|! ", 33),
    **dict.fromkeys("fjrt()[]{}/\\-I", 42),
    **dict.fromkeys("mwMW@%—…", 98),
}
"""Of the marks that are not about as wide as most, in hundredths of the size: whole numbers, since
versions of Python add fractions up differently."""
_SMALL_LETTER, _CAPITAL, _DOUBLE = 64, 74, 100
_SLACK = 1e-6
"""What adding a margin to a width and taking it off again may change."""
_FIRST_DOUBLE = 0x1100
"""From here on, roughly, characters are as wide as high."""
_TAIL_SHARES = (0.5, 0.65, 0.35, 0.8, 0.2)
"""How much of what is kept of a name stands after the cut, the first choice first."""
_NOT_XML = re.compile("[\ufffe\uffff]")


def text_width(text: str, size: float = SIZE, *, bold: bool = False) -> float:
    """About how wide a text is; rather too wide than too narrow, since the reader's font is not known."""
    hundredths = sum(map(_mark_width, text))
    return hundredths * size * (106 if bold else 100) / 10_000


def fits(text: str, width: float, size: float = SIZE, *, bold: bool = False) -> bool:
    """Whether a text is at most so wide; one that is as wide as a room was made for it is."""
    return text_width(text, size, bold=bold) < width + _SLACK


def _mark_width(mark: str) -> int:
    known = _WIDTHS.get(mark)
    if known is not None:
        return known
    if ord(mark) >= _FIRST_DOUBLE:
        return _DOUBLE
    return _CAPITAL if mark.isupper() else _SMALL_LETTER


def wrap(text: str, width: float, size: float = SIZE, *, bold: bool = False) -> list[str]:
    """``text`` in lines of at most ``width``; a longer word is cut."""
    lines: list[str] = []
    for word in (cut(word, width, size) for word in text.split(" ")):
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and fits(joined, width, size, bold=bold):
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def cut(text: str, width: float, size: float = SIZE, *, tail_share: float = 0.5) -> str:
    """``text`` cut in its middle to at most ``width``: names often differ only at their ends."""
    if fits(text, width, size):
        return text
    for kept in range(len(text) - 1, 1, -1):
        tail = int(kept * tail_share)
        shorter = f"{text[: kept - tail]}…{text[len(text) - tail :]}"
        if fits(shorter, width, size):
            return shorter
    return "…"


def cut_apart(names: Iterable[str], width: float, size: float = SIZE) -> dict[str, str]:
    """Each name as ``cut`` shortens it, cut elsewhere if two different ones would then look alike.

    Where they differ in the middle only, a number tells them apart.
    """
    names = list(names)
    found: dict[str, str] = {}
    for tail_share in _TAIL_SHARES:
        found = {name: cut(name, width, size, tail_share=tail_share) for name in names}
        if len(set(found.values())) == len(found):
            return found
    # Numbered, where no cut tells them apart.
    room = width - text_width(f" ({len(found)})", size)
    short = {name: name if fits(name, width, size) else cut(name, room, size) for name in found}
    cuts = list(short.values())
    return {
        name: said if cuts.count(said) == 1 else f"{said} ({place})"
        for place, (name, said) in enumerate(short.items(), 1)
    }


def escape(text: str) -> str:
    """``text`` as content or attribute of XML, on one line, invisible characters as their code points."""
    return html.escape(_NOT_XML.sub(lambda found: f"<U+{ord(found[0]):04X}>", visible(text)))


def number(value: float) -> str:
    """A coordinate in as few digits as show."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


class Drawing:
    """A sheet that grows mark by mark, from the top left corner."""

    def __init__(self, theme: Theme, width: float, height: float) -> None:
        self.theme = theme
        self.width = width
        self.height = height
        self._marks: list[str] = []

    @property
    def marks(self) -> str:
        """All marks as SVG."""
        return "".join(self._marks)

    def line(  # noqa: PLR0917 - two points and a colour
        self, x1: float, y1: float, x2: float, y2: float, role: str, width: float = 1, dash: str = ""
    ) -> None:
        """A straight line."""
        points = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._marks.append(
            f'<line {points} stroke="{self.theme[role]}" stroke-width="{number(width)}"{dashes}/>'
        )

    def path(self, points: Sequence[tuple[float, float]], role: str, width: float = 1.5) -> None:
        """A line through points."""
        joined = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._marks.append(
            f'<polyline points="{joined}" fill="none" stroke="{self.theme[role]}" '
            f'stroke-width="{number(width)}"/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None,
        edge: str | None = None,
        edge_width: float = 1,
        about: str = "",
    ) -> None:
        """A rectangle; ``about`` shows when the pointer rests on it."""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        self._shape(f"rect {place}", "rect", fill, edge, edge_width, about)

    def circle(
        self,
        x: float,
        y: float,
        radius: float,
        *,
        fill: str | None,
        edge: str | None = None,
        edge_width: float = 2,
        about: str = "",
    ) -> None:
        """A round point."""
        place = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
        self._shape(f"circle {place}", "circle", fill, edge, edge_width, about)

    def diamond(
        self,
        x: float,
        y: float,
        radius: float,
        *,
        fill: str | None,
        edge: str | None = None,
        edge_width: float = 2,
        about: str = "",
    ) -> None:
        """A square point that stands on a corner."""
        corners = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
        points = " ".join(f"{number(a)},{number(b)}" for a, b in corners)
        self._shape(f'polygon points="{points}"', "polygon", fill, edge, edge_width, about)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        role: str = "ink",
        size: float = SIZE,
        anchor: Anchor = "start",
        bold: bool = False,
        halo: bool = False,
    ) -> None:
        """One line of text, its middle at height ``y``; ``halo`` keeps it legible across lines."""
        # Not dominant-baseline, which not every program that reads SVG knows.
        place = f'x="{number(x)}" y="{number(y + size * 0.35)}" font-size="{number(size)}"'
        more = "" if anchor == "start" else f' text-anchor="{anchor}"'
        more += ' font-weight="600"' if bold else ""
        if halo:
            paper = self.theme["paper"]
            more += f' stroke="{paper}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
        self._marks.append(f'<text {place} fill="{self.theme[role]}"{more}>{escape(text)}</text>')

    def _shape(  # noqa: PLR0917 - called here only
        self, tag: str, name: str, fill: str | None, edge: str | None, edge_width: float, about: str
    ) -> None:
        paint = f' fill="{"none" if fill is None else self.theme[fill]}"'
        if edge is not None:
            paint += f' stroke="{self.theme[edge]}" stroke-width="{number(edge_width)}"'
        if about:
            self._marks.append(f"<{tag}{paint}><title>{escape(about)}</title></{name}>")
        else:
            self._marks.append(f"<{tag}{paint}/>")

"""One picture of the audit: what it shows, in words, as marks and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.figures.drawing import FONTS, Drawing, escape, number, wrap
from wise_pytest.report.figures.theme import LIGHT, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from wise_pytest.report.figures.theme import Theme
    from wise_pytest.report.tables import Table

WIDTH = 700
"""Of every picture, so that one scale of text serves them all."""
_MARGIN = 16
_TITLE_SIZE = 16
_TITLE_LINE = 22
_CAPTION_SIZE = 11.5
_CAPTION_LINE = 16


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, ready to be drawn on any ground."""

    name: str
    """Unique within a report; letters, digits, ``-`` and ``_`` only."""
    title: str
    """What is seen, in a sentence."""
    caption: str
    """How to read it."""
    draw: Callable[[Theme], Drawing]
    data: Table
    """Every number that the picture shows."""

    def inline(self) -> str:
        """The picture for within a page that has the title beside it and defines the colours."""
        sheet = self.draw(VARIABLES)
        box = f'viewBox="0 0 {number(sheet.width)} {number(sheet.height)}"'
        size = f'width="{number(sheet.width)}" height="{number(sheet.height)}"'
        size += ' class="wide"' if sheet.width > WIDTH else ""
        return f'<svg {box} {size} role="img" aria-label="{escape(self.title)}">{sheet.marks}</svg>'

    def standalone(self, theme: Theme = LIGHT) -> str:
        """The picture as a file of its own, with its title above and its caption below."""
        chart = self.draw(theme)
        room = chart.width
        title = wrap(self.title, room, _TITLE_SIZE, bold=True)
        caption = wrap(self.caption, room, _CAPTION_SIZE)
        top = _MARGIN + _TITLE_LINE * len(title) + 8
        height = top + chart.height + 8 + _CAPTION_LINE * len(caption) + _MARGIN
        width = room + 2 * _MARGIN
        frame = Drawing(theme, width, height)
        frame.box(0, 0, width, height, fill="paper")
        for line, text in enumerate(title):
            frame.text(_MARGIN, _MARGIN + _TITLE_LINE * (line + 0.5), text, size=_TITLE_SIZE, bold=True)
        for line, text in enumerate(caption):
            y = top + chart.height + 8 + _CAPTION_LINE * (line + 0.5)
            frame.text(_MARGIN, y, text, role="soft", size=_CAPTION_SIZE)
        size = f'width="{number(width)}" height="{number(height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {number(width)} {number(height)}" '
            f'font-family="{FONTS}" role="img"><title>{escape(self.title)}</title>'
            f"<desc>{escape(self.caption)}</desc>{frame.marks}"
            f'<g transform="translate({_MARGIN} {number(top)})">{chart.marks}</g></svg>\n'
        )

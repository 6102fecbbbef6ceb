"""Pictures as PNG, for slides and for programs that read no SVG; made where they are asked for.

resvg draws them: a wheel without further libraries, which gives the same
picture everywhere that has the same fonts. It comes with the extra ``png``.
"""

from __future__ import annotations

from functools import cache

from wise_pytest.errors import ReportError

ZOOM = 2
"""Pixels for each unit: fit for a screen of high density, and for print at column width."""


def to_png(svg: str) -> bytes:
    """A picture as PNG.

    Raises
    ------
    ReportError
        If the library is missing, or finds no font and would leave out every word.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise ReportError("PNG needs the extra 'png': pip install 'wise-pytest[png]'; or take SVG") from error
    if not _writes_text():
        raise ReportError(
            "PNG needs a font, and this machine has none: install one such as DejaVu; or take SVG"
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM))


@cache
def _writes_text() -> bool:
    """Whether a word leaves a trace; without fonts it is left out silently."""
    import resvg_py

    sheet = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
    word = '<text x="2" y="15" font-size="14" font-family="sans-serif">M</text>'
    drawn, empty = (bytes(resvg_py.svg_to_bytes(svg_string=sheet.format(mark))) for mark in (word, ""))
    return drawn != empty

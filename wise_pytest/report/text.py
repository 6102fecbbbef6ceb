"""Text from models, files and providers, made safe for where it is shown.

Called by every report. None of these functions raises, whatever the text.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings that spreadsheets read as a formula, their full-width twins included."""

_MARKDOWN = str.maketrans(
    {
        # References and not backslashes: these must not even occur, since programs that cut tables
        # at every pipe, or paste the text into a page, know nothing of backslashes.
        "&": "&amp;",
        "<": "&lt;",
        "|": "&#124;",
        **{mark: f"\\{mark}" for mark in "\\`*[]~$"},
    }
)
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_BLOCK_START = re.compile(r"^(?:(?=[-+=#>])|(\d{1,9})(?=[.)](?:\s|$)))")
_WIDE = frozenset({"W", "F"})

_PLAIN_TWINS = {
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "τ": "tau",
    "→": "->",
}


def visible(text: str) -> str:
    """``text`` on one line, with everything that does not show written as its code point.

    Control and format characters (bidirectional overrides included), line
    breaks, lone surrogates and every space but the ordinary one become
    ``<U+202E>`` and the like.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_code_point(mark) if _hidden(mark) else mark for mark in text)


def escape_markdown(text: str) -> str:
    """``text`` as inline markdown that shows the same characters, in a table cell or a list item."""
    shown = visible(text)
    core = shown.strip(" ")
    before = len(shown) - len(shown.lstrip(" "))
    after = len(shown) - before - len(core)
    if core:
        shown = _code_point(" ") * before + core + _code_point(" ") * after
    else:
        shown = _code_point(" ") * len(shown)
    escaped = _EDGE_UNDERSCORE.sub(r"\\_", shown.translate(_MARKDOWN))
    return _BLOCK_START.sub(r"\1\\", escaped)


def neutralise(text: str) -> str:
    """``text`` so that no spreadsheet takes it for a formula, nor ends it at a NUL."""
    text = text.replace("\0", _code_point("\0"))
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def display_width(text: str) -> int:
    """Columns that ``text`` takes on a terminal; a wide character takes two."""
    if text.isascii():
        return len(text)
    return sum(_columns(mark) for mark in text)


def shorten(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, cut in the middle.

    Names of models and recordings often differ only at their ends, so both
    ends stay.
    """
    if display_width(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    room = width - 1
    head = _take(text, room - room // 2)
    tail = _take(text[::-1], room // 2)[::-1]
    return f"{head}…{tail}"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """``text`` filled up with blanks to ``width`` columns, flush right if asked."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def degrade(text: str, encoding: str | None) -> str:
    """``text`` with everything that ``encoding`` cannot carry replaced; never raises.

    Typographic characters become their ASCII twins, others their escapes. An
    encoding that is unknown or ``None`` counts as ASCII.
    """
    chosen = encoding if encoding is not None and _carries(encoding, "a") else "ascii"
    if _carries(chosen, text):
        return text
    return "".join(mark if _carries(chosen, mark) else _stand_in(mark) for mark in text)


def _hidden(mark: str) -> bool:
    return mark != " " and unicodedata.category(mark) in _INVISIBLE


def _code_point(mark: str) -> str:
    return f"<U+{ord(mark):04X}>"


def _columns(mark: str) -> int:
    if unicodedata.combining(mark):
        return 0
    return 2 if unicodedata.east_asian_width(mark) in _WIDE else 1


def _take(text: str, width: int) -> str:
    taken = 0
    for position, mark in enumerate(text):
        taken += _columns(mark)
        if taken > width:
            return text[:position]
    return text


def _carries(encoding: str, text: str) -> bool:
    # LookupError: no such text encoding; ValueError: a NUL in its name, or a character it lacks.
    try:
        return text.encode(encoding).decode(encoding) == text
    except (LookupError, ValueError):
        return False


def _stand_in(mark: str) -> str:
    twin = _PLAIN_TWINS.get(mark)
    return twin if twin is not None else mark.encode("ascii", errors="backslashreplace").decode("ascii")

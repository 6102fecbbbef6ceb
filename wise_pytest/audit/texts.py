"""What an output looks like from outside: whether it is empty, and whether it opens by talking about itself.

Appendix D of the paper; called by ``tallies``. The list of openings is data:
``openings.txt`` beside this module, or a file of the user's.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from wise_pytest.errors import OptionError
from wise_pytest.files import read_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_BUNDLED = "openings.txt"
_LARGEST_FILE = 1_000_000


@cache
def default_openings() -> tuple[str, ...]:
    """The openings that come with the package."""
    return _parsed(files("wise_pytest.audit").joinpath(_BUNDLED).read_text("utf-8"))


def read_openings(path: Path, *, option: str) -> tuple[str, ...]:
    """The openings of a user's file: one a line; blank lines and lines that begin with ``#`` are left out.

    Raises
    ------
    OptionError
        If the file cannot be read or names no opening.
    """
    try:
        openings = _parsed(read_limited(path, _LARGEST_FILE).decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise OptionError(f"{option}: {path}: cannot be read: {error}") from error
    if not openings:
        raise OptionError(f"{option}: {path} names no opening; write one a line, such as 'Here is'")
    return openings


def opening_finder(openings: Iterable[str]) -> Callable[[str], str | None]:
    """A function that gives the opening with which a text begins, the longest of several, or ``None``.

    Case, leading white space and leading marks do not count, and neither do
    different blanks between words; the opening must end where a word ends, and
    in "I can't" no word ends after "I can".
    """
    given = [opening for opening in openings if opening.strip()]
    if not given:
        return lambda _: None
    by_form = {_plain(opening): opening for opening in given}
    # The letters of an opening and those of its folded form, for ß is no other case of ss.
    spelled = sorted({*given, *by_form}, key=lambda form: (-len(form), form))
    match = re.compile(rf"[\W_]*({'|'.join(map(_pattern, spelled))})", re.IGNORECASE).match

    def find(text: str) -> str | None:
        found = match(text)
        return None if found is None else by_form.get(_plain(found[1]))

    return find


def _pattern(opening: str) -> str:
    words = r"\s+".join(map(re.escape, _plain_marks(opening).split())).replace("'", "['’]")
    # An opening that ends in a mark is at its end whatever follows.
    return words + (r"(?!['’_]*[^\W_])" if re.search(r"\w\s*$", opening) else "")


def _plain_marks(text: str) -> str:
    return text.replace("’", "'")


def _plain(text: str) -> str:
    return " ".join(_plain_marks(text).casefold().split())


def _parsed(content: str) -> tuple[str, ...]:
    lines = (" ".join(line.split()) for line in content.splitlines())
    named = (line for line in lines if re.search(r"\w", line) and not line.startswith("#"))
    return tuple(dict.fromkeys(named))

"""JSON read to the letter of RFC 8259. Called by the verifiers of JSON answers.

The whole text is the document: blanks, tabs and line breaks around it are
allowed, and nothing else, not even a byte-order mark. Choices that the grammar
leaves open: a number that a float cannot hold, such as ``1e999``, makes the
text unreadable, and so does nesting deeper than ``MAX_DEPTH``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 100
"""Objects and arrays inside each other. RFC 8259 (section 9) lets a parser set a limit, and a
fixed one keeps a verdict independent of how much of the interpreter's stack is in use."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is JSON."""

    value: Any
    has_duplicate: bool
    """Whether an object at any depth names a key twice; the last value is kept."""


def read_json(text: str, *, read_integer: Callable[[str], Any]) -> Document | None:
    """The document that ``text`` is; ``None`` where it is not JSON.

    Parameters
    ----------
    text
        Anything.
    read_integer
        What an integer becomes, from its digits; a ``ValueError`` refuses it.
        ``int`` is no good choice: it refuses some numbers that are JSON.
    """
    if _nests_too_deeply(text):
        return None
    parser = _Parser()
    try:
        value = parser.parse(text, read_integer)
    except (ValueError, RecursionError):
        return None
    return Document(value, has_duplicate=parser.found_duplicate)


def finite(literal: str) -> float:
    """The float that is nearest to a number; ``ValueError`` where that would be infinite."""
    number = float(literal)
    if math.isinf(number):
        raise ValueError("a number that no float can hold")
    return number


class _Parser:
    """The standard library's parser, made strict; remembers whether a key was repeated."""

    def __init__(self) -> None:
        self.found_duplicate = False

    def parse(self, text: str, read_integer: Callable[[str], Any]) -> Any:
        """Decode ``text``; ``ValueError`` where it is not JSON."""
        return json.loads(
            text,
            object_pairs_hook=self._object,
            parse_int=read_integer,
            parse_float=finite,
            parse_constant=_refuse_constant,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Noted rather than raised: what follows may still turn out not to be JSON at all.
        members = dict(pairs)
        self.found_duplicate |= len(members) < len(pairs)
        return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _nests_too_deeply(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif character in "]}":
            depth -= 1
    return False

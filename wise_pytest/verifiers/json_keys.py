"""One JSON object with exactly the asked keys and nothing else. Called through the registry.

The grammar is RFC 8259 over the whole output: blanks, tabs and line breaks
around the object are allowed, and nothing else, not even a byte-order mark.
Where several things are wrong, the first of these is reported: unparseable,
not_object, duplicate_key, then the key sets.

Choices that the grammar leaves open: an integer may have any number of digits;
a number that a float cannot hold, such as ``1e999``, is unparseable; so is
nesting deeper than ``MAX_DEPTH``. Key names are compared code point by code point.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

DIRECTIONS = (
    "ok",
    "unparseable",
    "not_object",
    "duplicate_key",
    "missing_keys",
    "extra_keys",
    "wrong_keys",
)

MAX_DEPTH = 100
"""Objects and arrays inside each other. RFC 8259 (section 9) lets a parser set a limit, and a
fixed one keeps a verdict independent of how much of the interpreter's stack is in use."""


def verify(text: str, target: tuple[str, ...]) -> Verdict:
    """Whether ``text`` is one JSON object whose keys are those of ``target``, in any order.

    ``observed`` is the number of different keys of the object, ``None`` where there is no object.
    """
    if _nests_too_deeply(text):
        return Verdict(compliant=False, direction="unparseable")
    parser = _Parser()
    try:
        value = parser.parse(text)
    except (ValueError, RecursionError):
        return Verdict(compliant=False, direction="unparseable")
    if not isinstance(value, dict):
        return Verdict(compliant=False, direction="not_object")
    direction = "duplicate_key" if parser.found_duplicate else _compare(value.keys(), frozenset(target))
    return Verdict(compliant=direction == "ok", direction=direction, observed=len(value))


def check_target(target: object) -> None:
    """Refuse anything but one or more different, non-empty key names.

    Raises
    ------
    PanelError
        If ``target`` is no such tuple.
    """
    if not isinstance(target, tuple) or not target or not all(isinstance(key, str) for key in target):
        raise PanelError(f"json_keys needs one or more key names as its target, not {target!r}")
    if not all(key.strip() for key in target):
        raise PanelError(f"json_keys needs key names that are not blank, not {target!r}")
    repeated = sorted({key for key in target if target.count(key) > 1})
    if repeated:
        raise PanelError(f"json_keys needs different key names; {repeated[0]!r} is there twice")


class _Parser:
    """The standard library's parser, made strict; remembers whether a key was repeated."""

    def __init__(self) -> None:
        self.found_duplicate = False

    def parse(self, text: str) -> Any:
        """Decode ``text``; ``ValueError`` where it is not JSON."""
        return json.loads(
            text,
            object_pairs_hook=self._object,
            parse_int=str,  # an integer is never computed with, and int() refuses more than 4,300 digits
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Noted rather than raised: what follows may still turn out not to be JSON at all.
        members = dict(pairs)
        self.found_duplicate |= len(members) < len(pairs)
        return members


def _finite(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise ValueError("a number that no float can hold")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _compare(present: Any, asked: frozenset[str]) -> str:
    missing = asked - present
    extra = present - asked
    if missing and extra:
        return "wrong_keys"
    if missing:
        return "missing_keys"
    return "extra_keys" if extra else "ok"


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

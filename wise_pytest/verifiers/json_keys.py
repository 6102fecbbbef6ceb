"""One JSON object with exactly the asked keys and nothing else. Called through the registry.

The grammar is that of ``strict_json``, over the whole output. Where several
things are wrong, the first of these is reported: unparseable, not_object,
duplicate_key, then the key sets.

An integer may have any number of digits. Key names are compared code point by
code point.
"""

from __future__ import annotations

from typing import Any

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers.strict_json import read_json

DIRECTIONS = (
    "ok",
    "unparseable",
    "not_object",
    "duplicate_key",
    "missing_keys",
    "extra_keys",
    "wrong_keys",
)


def verify(text: str, target: tuple[str, ...]) -> Verdict:
    """Whether ``text`` is one JSON object whose keys are those of ``target``, in any order.

    ``observed`` is the number of different keys of the object, ``None`` where there is no object.
    """
    # An integer is never computed with, and int() refuses more than 4,300 digits.
    document = read_json(text, read_integer=str)
    if document is None:
        return Verdict(compliant=False, direction="unparseable")
    if not isinstance(document.value, dict):
        return Verdict(compliant=False, direction="not_object")
    keys = document.value.keys()
    direction = "duplicate_key" if document.has_duplicate else _compare(keys, frozenset(target))
    return Verdict(compliant=direction == "ok", direction=direction, observed=len(keys))


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


def describe(target: tuple[str, ...]) -> str:
    """The requirement in words."""
    return f"is one JSON object with exactly the keys {', '.join(target)} and nothing else"


def _compare(present: Any, asked: frozenset[str]) -> str:
    missing = asked - present
    extra = present - asked
    if missing and extra:
        return "wrong_keys"
    if missing:
        return "missing_keys"
    return "extra_keys" if extra else "ok"

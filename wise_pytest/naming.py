"""Names: safe ones made from arbitrary ones, and help for those that do not exist.

``slug`` turns a model or item name into a portable file name or a part of a
test id; the cell planner and the cassette store call it. ``explain_unknown``
words the message for a name that is not in a table; every loader calls it.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAMED = 30
"""Names that a message lists."""
MAX_SLUG = 80
"""No slug is longer than this."""

_MAX_STEM = 60
_DIGEST_LENGTH = 12
_MARK = "--"
"""Stands between stem and digest; a name that holds it is never taken as it is."""

_PLAIN = re.compile(r"[a-z0-9_][a-z0-9._-]*")
_UNSAFE = re.compile(r"[^a-z0-9._]+")
_RESERVED_ON_WINDOWS = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)


def slug(name: str) -> str:
    """A portable, bounded name for ``name``; distinct names have distinct slugs.

    A name that is already portable stays as it is. Every other one becomes a
    readable stem, ``--``, and a digest of the whole name. Plain names hold no
    ``--``, so neither kind can be mistaken for the other.

    The result holds only ``[a-z0-9._-]``, is at most 80 characters long, does
    not start with ``.`` or ``-``, does not end with ``.``, and is no device
    name on Windows, also not with an extension added.
    """
    return name if _is_plain(name) else _digested(name)


def hyphenless_slug(name: str) -> str:
    """Like ``slug``, without ``-``, so that parts joined by ``-`` can be told apart; no file name."""
    # The hyphens become dots. A name with dots of its own must not meet one with hyphens.
    safe = _digested(name) if "." in name else slug(name)
    return safe.replace("-", ".")


def explain_unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One line that says what exists instead of ``name``, and which of it is close."""
    names = list(known)
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    exist = f"known: {', '.join(names[:MAX_NAMED])}{more}" if names else "there is none"
    lowered = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), lowered, n=1)
    hint = f"; did you mean {lowered[close[0]]!r}?" if close else ""
    return f"unknown {kind} {name!r} ({exist}){hint}"


def _is_plain(name: str) -> bool:
    return (
        len(name) <= _MAX_STEM
        and _PLAIN.fullmatch(name) is not None
        and _MARK not in name
        and not name.endswith(".")
        and not _is_reserved(name)
    )


def _is_reserved(name: str) -> bool:
    # Windows reserves the device names with any extension as well: "nul.jsonl" is the null device.
    return name.partition(".")[0] in _RESERVED_ON_WINDOWS


def _digested(name: str) -> str:
    stem = _UNSAFE.sub("-", name.lower())[:_MAX_STEM].strip(".-") or "x"
    if _is_reserved(stem):
        stem = stem.replace(".", "_")
    # Names come from command lines and may hold lone surrogates; two such names must differ as well.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem}{_MARK}{digest[:_DIGEST_LENGTH]}"

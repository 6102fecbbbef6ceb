"""What providers say when something is wrong, made fit to be quoted.

Protocols use this to word a reason; the transport uses it to tell an error
that may pass from one that will not. Providers put the same few facts in many
shapes: ``{"error": "text"}``, ``{"error": {"message": …, "code": …}}``,
``{"message": {"detail": [...]}}``, ``{"detail": …}``, each sometimes in a list.
"""

from __future__ import annotations

import json
import re
from typing import Any

SCRUBBED = "[scrubbed]"
"""Stands where a key, or a part of one, was."""
MAX_QUOTED = 300
"""Characters of a provider's message that a reason may quote."""

_KEY_LIKE = re.compile(r"\b(?:sk|pk|hf|org|proj)[-_][A-Za-z0-9_*.-]{6,}")
"""Providers quote a part of the key, or the organisation, in messages about them."""


def one_line(text: str) -> str:
    """``text`` as one printable line of at most ``MAX_QUOTED`` characters, without key fragments."""
    flat = _KEY_LIKE.sub(SCRUBBED, " ".join(text.split()))
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in flat)
    return shown if len(shown) <= MAX_QUOTED else f"{shown[: MAX_QUOTED - 1]}…"


def error_message(payload: Any) -> str | None:
    """The provider's own words in a decoded error body, or ``None`` if it holds none."""
    found = _find(payload)
    if found is None:
        return None
    if isinstance(found, str):
        return one_line(found) or None
    try:
        return one_line(json.dumps(found, ensure_ascii=False))
    except RecursionError:
        return "a deeply nested message"


def error_code(payload: Any) -> str | int | None:
    """The code of an error body, or its type where it has no code."""
    error = _error_object(payload)
    if error is None:
        return None
    for name in ("code", "type"):
        value = error.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return value
    return None


def _error_object(payload: Any) -> dict[str, Any] | None:
    if isinstance(payload, list) and len(payload) == 1:
        payload = payload[0]
    if not isinstance(payload, dict):
        return None
    error = payload.get("error")
    if isinstance(error, dict):
        return error
    return payload if payload.get("object") == "error" else None


def _find(payload: Any) -> Any:
    """The most telling value: down through ``error``, ``message`` and ``detail``."""
    if isinstance(payload, list) and len(payload) == 1:
        payload = payload[0]
    for name in ("error", "message", "detail"):
        if not isinstance(payload, dict):
            break
        if payload.get(name):
            payload = payload[name]
        elif name == "error" and not any(payload.get(other) for other in ("message", "detail")):
            return None
    return payload or None

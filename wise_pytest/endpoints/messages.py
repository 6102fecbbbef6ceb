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

from wise_pytest.quoting import defuse

SCRUBBED = "[scrubbed]"
"""Stands where a key, or a part of one, was."""
MAX_QUOTED = 300
"""Characters of a provider's message that a reason may quote."""
_MAX_READ = 20_000

_MODERATION = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed"})
"""What providers call it when they refuse a prompt with an HTTP error."""
_KEY_LIKE = re.compile(
    r"\b(?:"
    r"(?:ak|gsk|hf|org|pk|proj|sk|wrkspc)[-_][A-Za-z0-9_*.-]{6,}"
    r"|AIza[A-Za-z0-9_*.-]{6,}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # how Anthropic names an organisation
    r"|(?<=project )[0-9]{6,}|(?<=projects/)[0-9]{6,}|(?<=project_number:)[0-9]{6,}"  # and how Google does
    r")"
)
"""Providers quote a part of the key, or the organisation, in messages about them."""


def one_line(text: str) -> str:
    """``text`` as one printable line of at most ``MAX_QUOTED`` characters, without key fragments."""
    # What is far beyond the quotation is not looked at: a reply may have ten megabytes.
    flat = defuse(_KEY_LIKE.sub(SCRUBBED, " ".join(text[:_MAX_READ].split())))
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in flat)
    return shown if len(shown) <= MAX_QUOTED else f"{shown[: MAX_QUOTED - 1]}…"


def error_message(payload: Any) -> str | None:
    """The provider's own words in a decoded error body, fit to quote; ``None`` if it holds none."""
    return one_line(error_text(payload)) or None


def error_text(payload: Any) -> str:
    """The provider's own words as they came, to be searched; empty if there are none."""
    found = _find(payload)
    if found is None or isinstance(found, str):
        return found or ""
    try:
        return json.dumps(found, ensure_ascii=False)
    except RecursionError:
        return "a deeply nested message"


def error_codes(payload: Any) -> list[str | int]:
    """What an error body calls the error: its code, its type and its status, as far as it has them."""
    error = _error_object(payload)
    if error is None:
        return []
    values = (error.get(name) for name in ("code", "type", "status"))
    return [
        value
        for value in values
        if isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    ]


def is_moderation(payload: Any) -> bool:
    """Whether an error body says that the provider's moderation withheld the answer."""
    return not _MODERATION.isdisjoint(error_codes(payload))


def error_details(payload: Any) -> list[dict[str, Any]]:
    """The tables under ``details``, where Google says what quota is exhausted and when to come back."""
    error = _error_object(payload)
    details = None if error is None else error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


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

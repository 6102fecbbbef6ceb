"""What of an exchange may be written to disk.

Headers are kept only if they are named here. Bodies lose the fields that
identify an account or a single request; every other byte stays as it was, and
no Unicode is normalised. Keys that a provider has repeated in its reply are
gone before: the client takes them out for everybody (``transport.scrub``).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUEST_HEADERS = frozenset({"accept", "content-type", "anthropic-version"})
RESPONSE_HEADERS = frozenset({"content-type"})
TOP_LEVEL_FIELDS = frozenset({"id", "responseId", "request_id", "system_fingerprint"})
"""Removed from the outermost object of a reply: they identify one request or one deployment."""
DEEP_FIELDS = frozenset({"thoughtSignature", "encrypted_content", "organization", "organization_id"})
"""Removed at any depth."""


def keep_headers(headers: Mapping[str, str | Sequence[str]], allowed: frozenset[str]) -> dict[str, list[str]]:
    """The allowed headers, lower-case and sorted, each as a list of values."""
    kept: dict[str, list[str]] = {}
    for name in sorted(headers, key=str.lower):
        if name.lower() in allowed:
            value = headers[name]
            kept[name.lower()] = [value] if isinstance(value, str) else list(value)
    return kept


def scrub_url(url: str) -> str:
    """The URL without user information, query and fragment: keys can hide in each."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scrub_reply_body(body: bytes) -> bytes:
    """A reply's body without the fields that identify an account or a request.

    A body that is no JSON object, or has none of those fields, comes back
    byte for byte.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(document, dict):
        return body
    try:
        cleaned = _without_deep(
            {key: value for key, value in document.items() if key not in TOP_LEVEL_FIELDS}
        )
        if cleaned == document:
            return body
        return json.dumps(cleaned, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    except RecursionError:
        return body


def _without_deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_deep(part) for key, part in value.items() if key not in DEEP_FIELDS}
    if isinstance(value, list):
        return [_without_deep(part) for part in value]
    return value

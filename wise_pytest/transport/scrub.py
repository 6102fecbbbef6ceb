"""Keeping keys out of what people read; whoever words a message about a request uses this."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wise_pytest.endpoints.messages import SCRUBBED

if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_SECRET_LENGTH = 6
"""Shorter values are no keys, and would tear holes into ordinary words."""


def scrub(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every occurrence of every secret replaced by ``[scrubbed]``."""
    # Longest first: one secret may be the beginning of another.
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= MIN_SECRET_LENGTH:
            text = text.replace(secret, SCRUBBED)
    return text


def scrub_body(body: bytes, secrets: Iterable[str]) -> bytes:
    """A reply's body with every secret replaced, also where JSON has escaped it; all else byte for byte."""
    forms = [form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])]
    # surrogateescape carries bytes that are not UTF-8 through unharmed.
    return scrub(body.decode("utf-8", "surrogateescape"), forms).encode("utf-8", "surrogateescape")

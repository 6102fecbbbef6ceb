"""Keeping keys out of what people read; whoever words a message about a request uses this."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRUBBED = "[scrubbed]"
MIN_SECRET_LENGTH = 6
"""Shorter values are no keys, and would tear holes into ordinary words."""


def scrub(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every occurrence of every secret replaced by ``[scrubbed]``."""
    # Longest first: one secret may be the beginning of another.
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= MIN_SECRET_LENGTH:
            text = text.replace(secret, SCRUBBED)
    return text

"""What a provider's headers say of its rate limits. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from wise_pytest.transport.classify import duration_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS = ("requests", "tokens")
_NAMES = (
    ("x-ratelimit-remaining-{}", "x-ratelimit-reset-{}"),
    ("anthropic-ratelimit-{}-remaining", "anthropic-ratelimit-{}-reset"),
)


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a provider still takes, and when it takes more."""

    kind: str
    """``requests`` or ``tokens``."""
    amount: int
    reset_s: float
    """Seconds until it takes more."""


def remaining(headers: Mapping[str, str], now: float) -> Iterator[Remaining]:
    """What the headers say of each kind of limit; nothing of one that they do not name in full.

    Parameters
    ----------
    headers
        With names in lower case.
    now
        Seconds since the epoch.
    """
    for kind in _KINDS:
        for amount_name, reset_name in _NAMES:
            amount = headers.get(amount_name.format(kind), "").strip()
            reset_s = reset_in_s(headers.get(reset_name.format(kind), ""), now)
            if amount.isascii() and amount.isdigit() and len(amount) < 19 and reset_s is not None:  # noqa: PLR2004 - fits 64 bits
                yield Remaining(kind, int(amount), reset_s)


def reset_in_s(text: str, now: float) -> float | None:
    """Seconds from now: of a Go duration such as ``6m0s`` or ``76ms``, a number, or a time of RFC 3339."""
    text = text.strip()
    seconds = duration_s(text)
    if seconds is not None:
        return seconds
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text):
        return float(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if when.tzinfo is None else max(0.0, when.timestamp() - now)

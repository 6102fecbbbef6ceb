"""What a reply asks of the client: try again or not, and when. Pure.

Providers agree on HTTP's codes and differ in what they say beside them, so one
set of rules holds for all: a code decides, and a reply may say otherwise of itself.
"""

from __future__ import annotations

import json
import math
import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.messages import error_codes, error_details, error_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RETRYABLE = frozenset({408, 409, 429})
_TOO_MANY = 429
_BAD_REQUEST = 400
_PASSING_NAMES = frozenset(
    {
        *("api_error", "overloaded_error", "rate_limit_error", "timeout_error"),  # Anthropic
        *("rate_limit_exceeded", "server_error"),  # OpenAI
        *("DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"),  # Google
        *("engine_overloaded_error", "rate_limit_reached_error"),  # Kimi
    }
)
"""Errors that may pass, where an error comes with a success and no code of HTTP's."""
_EXHAUSTED = frozenset({"insufficient_quota", "exceeded_current_quota_error"})
"""Errors about money: a 429 that no patience mends."""
_REFUSED_KEY = frozenset({401, 402})
"""Not with this key, or not before somebody pays."""
_NOT_FOUND = 404
"""No such model, or nothing at this address; 403 may be about what one prompt says."""
_INVALID_KEY = "API_KEY_INVALID"
"""How Google says 401, with a 400."""
_QUOTA_OF_NOTHING = re.compile(r"\blimit: 0(?![0-9.]*[0-9])")
_ANSWERS = ("choices", "candidates", "content")
"""Fields that hold an answer, in one protocol or another."""
_LIMITS = ("requests", "tokens")
"""What OpenAI counts in its rate-limit headers."""
_DELAY_IN_WORDS = re.compile(r"\b(?:try again|retry) in ((?:[0-9.]+(?:h|ms|m|us|µs|ns|s))+)")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|m|us|µs|ns|s)")
_UNIT_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_LONGEST_ERROR_BYTES = 100_000


def is_retryable(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bool:
    """Whether the same request may fare better in a moment.

    True of 408, 409, 429 and 5xx, and of a success that is none: an empty body, or
    an error object with one of these codes. What the provider says of its reply
    goes before that: ``x-should-retry``, and a quota that is exhausted for good or
    for the day.

    Parameters
    ----------
    headers
        With names in lower case.
    """
    if 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        return _is_passing_failure(body)
    payload = _decode(body)
    if status == _TOO_MANY and _is_exhausted(payload):
        return False
    says = (headers or {}).get("x-should-retry", "").strip().lower()
    return says == "true" if says in ("true", "false") else _passes(status)


def is_refused(status: int, body: bytes, *, has_answered: bool) -> bool:
    """Whether a reply says of one request what holds for every other to its model as well.

    True of a key that is refused, of money or a quota that is used up, and, where the
    model has never answered, of one that is not there.
    """
    if status in _REFUSED_KEY or (status == _NOT_FOUND and not has_answered):
        return True
    if status == _TOO_MANY:
        return _is_exhausted(_decode(body))
    return status == _BAD_REQUEST and any(
        detail.get("reason") == _INVALID_KEY for detail in error_details(_decode(body))
    )


def delay_s(status: int, headers: Mapping[str, str], body: bytes, now: float) -> float | None:
    """Seconds that a reply asks to wait, or ``None`` if it asks for nothing sensible.

    Headers come first, then what the body says; those of a success mean nothing.

    Parameters
    ----------
    headers
        With names in lower case.
    now
        Seconds since the epoch.
    """
    if 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        return None
    asked = retry_after_s(headers, now)
    if asked is None:
        asked = max(_delays_in(_decode(body)), default=None)
    if asked is None and status == _TOO_MANY:
        asked = max(_resets(headers), default=None)
    return asked


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the moment that ``retry-after-ms``, or else ``retry-after``, names.

    The latter is a number of seconds or an HTTP date.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        when = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return max(0.0, when - now)


def duration_s(text: str) -> float | None:
    """Seconds of a duration as Go writes it, such as ``6m0s``, ``1.5s`` or ``76ms``."""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


def _is_passing_failure(body: bytes) -> bool:
    """Whether a success holds an error that may pass, or nothing at all."""
    if not body.strip():
        return True
    # Cheap first: nearly every reply is a good one, and is not decoded twice.
    if b'"error"' not in body:
        return False
    payload = _decode(body)
    if isinstance(payload, dict) and any(payload.get(name) for name in _ANSWERS):
        return False
    if _is_exhausted(payload):
        return False
    return any(_is_passing_code(code) for code in error_codes(payload))


def _is_passing_code(code: str | int) -> bool:
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:  # noqa: PLR2004
        code = int(code)
    return code in _PASSING_NAMES if isinstance(code, str) else _passes(code)


def _is_exhausted(payload: Any) -> bool:
    """Whether an error speaks of a quota that is used up for good, for the day, or was never there."""
    if not _EXHAUSTED.isdisjoint(error_codes(payload)):
        return True
    for detail in error_details(payload):
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else ():
            quota = violation.get("quotaId") if isinstance(violation, dict) else None
            if isinstance(quota, str) and "PerDay" in quota:
                return True
    return _QUOTA_OF_NOTHING.search(error_text(payload)) is not None


def _delays_in(payload: Any) -> Iterator[float]:
    """What an error's ``RetryInfo`` and its message say, in seconds."""
    for detail in error_details(payload):
        delay = detail.get("retryDelay")
        seconds = duration_s(delay) if isinstance(delay, str) else None
        if seconds is not None:
            yield seconds
    for words in _DELAY_IN_WORDS.findall(error_text(payload)):
        seconds = duration_s(words)
        if seconds is not None:
            yield seconds


def _resets(headers: Mapping[str, str]) -> Iterator[float]:
    """Seconds until each limit that is used up starts anew."""
    for limit in _LIMITS:
        if headers.get(f"x-ratelimit-remaining-{limit}", "").strip() == "0":
            seconds = duration_s(headers.get(f"x-ratelimit-reset-{limit}", "").strip())
            if seconds is not None:
                yield seconds


def _passes(status: int) -> bool:
    return status in _RETRYABLE or 500 <= status < 600  # noqa: PLR2004 - the server's own faults in HTTP


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _decode(body: bytes) -> Any:
    if len(body) > _LONGEST_ERROR_BYTES:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None

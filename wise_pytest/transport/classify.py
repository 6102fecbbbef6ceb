"""What a reply asks of the client: try again or not, and when. Pure."""

from __future__ import annotations

import json
import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.messages import error_code

if TYPE_CHECKING:
    from collections.abc import Mapping

_RETRYABLE = frozenset({408, 409, 429})
_TOO_MANY = 429
_LONGEST_ERROR_BYTES = 100_000


def is_retryable(status: int, body: bytes) -> bool:
    """Whether the same request may fare better in a moment.

    True of 408, 409, 429 and 5xx, and of a success that is none: an empty body, or
    an error object with one of these codes. A 429 that means an exhausted quota
    (``insufficient_quota``) stays as it is however often one asks.
    """
    if _passes(status):
        return status != _TOO_MANY or error_code(_decode(body)) != "insufficient_quota"
    if not 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        return False
    if not body.strip():
        return True
    # Cheap first: nearly every reply is a good one, and is not decoded twice.
    if b'"error"' not in body:
        return False
    payload = _decode(body)
    if not isinstance(payload, dict) or payload.get("choices"):
        return False
    code = error_code(payload)
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:  # noqa: PLR2004
        code = int(code)
    return isinstance(code, int) and _passes(code)


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a reply asks to wait, or ``None`` if it asks for nothing sensible.

    Parameters
    ----------
    headers
        With names in lower case. ``retry-after-ms`` goes before ``retry-after``,
        which is a number of seconds or an HTTP date.
    now
        Seconds since the epoch.
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

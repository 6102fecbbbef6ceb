"""Why a recording does not answer a request any more, field by field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wise_pytest.cassettes.scrub import scrub_url

if TYPE_CHECKING:
    from wise_pytest.cassettes.pack import Exchange
    from wise_pytest.endpoints.model import HttpRequest

MAX_VALUE_LENGTH = 200
CONTEXT_LENGTH = 40
"""How much of what two long values share is shown before their first difference."""
ABSENT = "(absent)"


def is_stale(recorded: Exchange, request: HttpRequest) -> bool:
    """Whether a recording was made for another request; headers aside, as the replay compares."""
    return (
        recorded.method != request.method
        or recorded.request_body != request.body
        or scrub_url(recorded.url) != scrub_url(request.url)
    )


def explain_difference(recorded: Exchange, *, method: str, url: str, body: bytes) -> str:
    """What differs between a recorded request and the one to be sent, in one line.

    URLs are compared as recordings keep them, so that nothing secret is shown.

    Returns
    -------
    str
        Such as ``temperature: recorded 0.2, now 0.7``; empty where nothing differs.
    """
    old = {"method": json.dumps(recorded.method), "URL": json.dumps(scrub_url(recorded.url))}
    new = {"method": json.dumps(method), "URL": json.dumps(scrub_url(url))}
    differences = _differences(old, new, list(old))
    if recorded.request_body != body:
        old, new = _flat(recorded.request_body), _flat(body)
        differences += _differences(old, new, sorted(old.keys() | new.keys())) or [
            "body: the same values, written differently"
        ]
    return "; ".join(differences)


def _differences(old: dict[str, str], new: dict[str, str], names: list[str]) -> list[str]:
    differences = []
    for name in names:
        before, now = old.get(name, ABSENT), new.get(name, ABSENT)
        if before != now:
            n_shared = _n_shared(before, now)
            differences.append(f"{name}: recorded {_shown(before, n_shared)}, now {_shown(now, n_shared)}")
    return differences


def _n_shared(before: str, now: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(before, now, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(before), len(now)))


def _flat(body: bytes) -> dict[str, str]:
    """The body's values as JSON, by path; the body itself where it is no JSON."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {"body": json.dumps(body.decode("utf-8", "backslashreplace"))}
    flat: dict[str, str] = {}
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and value:
            # Names are escaped as values are: the whole explanation is one line.
            names = {key: json.dumps(key)[1:-1] for key in value}
            pending += [(f"{path}.{names[key]}" if path else names[key], part) for key, part in value.items()]
        elif isinstance(value, list) and value:
            pending += [(f"{path}[{number}]", part) for number, part in enumerate(value)]
        else:
            flat[path or "body"] = json.dumps(value)
    return flat


def _shown(text: str, n_shared: int) -> str:
    """A value, cut where it is long to what surrounds its first difference."""
    if len(text) <= MAX_VALUE_LENGTH:
        return text
    start = max(0, n_shared - CONTEXT_LENGTH)
    end = start + MAX_VALUE_LENGTH
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"

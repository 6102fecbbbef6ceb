"""Why a recording does not answer a request any more, field by field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wise_pytest.cassettes.pack import Exchange

MAX_VALUE_LENGTH = 200
ABSENT = "(absent)"


def explain_difference(recorded: Exchange, *, method: str, url: str, body: bytes) -> str:
    """What differs between a recorded request and the one to be sent, in one line.

    Returns
    -------
    str
        Such as ``temperature: recorded 0.2, now 0.7``; empty where nothing differs.
    """
    differences = [
        f"{name}: recorded {_shown(old)}, now {_shown(new)}"
        for name, old, new in (("method", recorded.method, method), ("URL", recorded.url, url))
        if old != new
    ]
    if recorded.request_body != body:
        old_body, new_body = _flat(recorded.request_body), _flat(body)
        differences += [
            f"{name}: recorded {_shown(old_body.get(name, ABSENT))}, now {_shown(new_body.get(name, ABSENT))}"
            for name in sorted(old_body.keys() | new_body.keys())
            if old_body.get(name, ABSENT) != new_body.get(name, ABSENT)
        ] or ["body: the same values, written differently"]
    return "; ".join(differences)


def _flat(body: bytes) -> dict[str, Any]:
    """The body's values by path, or the body itself where it is no JSON object."""
    try:
        document = json.loads(body)
    except ValueError:
        return {"body": body.decode("utf-8", "replace")}
    flat: dict[str, Any] = {}
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{path}.{key}" if path else str(key), part) for key, part in value.items()]
        elif isinstance(value, list):
            pending += [(f"{path}[{number}]", part) for number, part in enumerate(value)]
        else:
            flat[path] = value
    return flat


def _shown(value: Any) -> str:
    text = value if value is ABSENT else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"

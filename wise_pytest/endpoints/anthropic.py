"""The Anthropic messages protocol.

``build_request`` and ``read_reply`` are pure; ``protocols.py`` lists them. A
refusal comes with HTTP status 200, and often with an empty list of content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.messages import error_message
from wise_pytest.endpoints.model import Part, Reply
from wise_pytest.endpoints.reading import (
    Endings,
    Message,
    Origin,
    complaint_reason,
    conclude,
    count,
    is_name,
    opened,
    shown,
    unusable,
)
from wise_pytest.endpoints.secret import Secret
from wise_pytest.endpoints.writing import post
from wise_pytest.records import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.endpoints.model import Endpoint, HttpRequest
    from wise_pytest.panels.model import Decoding

VERSION = "2023-06-01"
"""Of the protocol; sent with every request."""
RESERVED = frozenset({"max_tokens", "messages", "model", "stop_sequences", "stream", "system", "temperature"})
"""Body parameters that are decided elsewhere, or change what a reply is."""

_ENDINGS = Endings(
    finished={
        "end_turn": "ok",
        "stop_sequence": "ok",
        "max_tokens": "truncated",
        "model_context_window_exceeded": "truncated",
        "refusal": "refused",
    },
    failed={
        "tool_use": "the model asked for a tool, and none was offered",
        "pause_turn": "the model paused a long turn, and there is nobody to go on with it",
    },
)
_HIDDEN_BLOCKS = {"thinking": "thinking", "redacted_thinking": "data", "tool_use": "input"}
"""Content blocks that are no visible text, and the field that holds what they say."""


def build_request(prompt: str, endpoint: Endpoint, decoding: Decoding, key: str | None) -> HttpRequest:
    """Write the request for one generation."""
    body: dict[str, Any] = {
        **endpoint.extra,
        "model": endpoint.api_model,
        "messages": [{"role": "user", "content": prompt}],
        endpoint.cap_field: decoding.max_tokens,
    }
    if endpoint.temperature:
        body["temperature"] = decoding.temperature
    headers = {"anthropic-version": VERSION}
    if key is not None:
        headers["x-api-key"] = Secret(key)
    return post(f"{endpoint.base_url}/messages", body, headers)


def read_reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Read one reply; whatever the bytes, the answer is a ``Reply``.

    The status ``ok`` is only given to text of blocks of the type ``text`` in a
    reply that says it stopped normally.
    """
    payload = opened(status, headers, body)
    if isinstance(payload, Reply):
        return payload
    served = payload.get("model")
    origin = Origin(_usage(payload.get("usage")), served if is_name(served) else None)
    complaint = payload.get("error")
    if complaint:
        return unusable(complaint_reason(complaint), origin)
    content = payload.get("content")
    if not isinstance(content, list):
        said = error_message(payload) if content is None else shown(content)
        return unusable(
            f"the reply holds no list of content: {said}" if said else "the reply holds no content", origin
        )
    return conclude(payload.get("stop_reason"), _message(content), _ENDINGS, origin)


def _message(content: list[Any]) -> Message:
    found: list[Part] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            found.append(Part(kind="text", thought=False, text=block["text"]))
        elif isinstance(kind, str) and kind in _HIDDEN_BLOCKS:
            said = block.get(_HIDDEN_BLOCKS[kind])
            text = said if isinstance(said, str) else shown(said)
            found.append(Part(kind=kind, thought=kind != "tool_use", text=text))
        else:
            problem = f"the content holds a block that is not known: {shown(block)}"
            return Message(None, tuple(found), problem=problem)
    visible = "".join(part.text for part in found if part.kind == "text")
    return Message(visible, tuple(found))


def _usage(record: Any) -> Usage:
    if not isinstance(record, dict):
        return Usage()
    return Usage(count(record.get("input_tokens")), count(record.get("output_tokens")))

"""What each protocol makes of a reply that stopped normally and holds no text, and no thought either.

An empty field for text is an empty answer, which is scored; a field that is not there is no answer.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from wise_pytest.endpoints.protocols import PROTOCOLS


def openai(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


def google(**candidate: Any) -> dict[str, Any]:
    return {"candidates": [{**candidate, "finishReason": "STOP"}]}


@pytest.mark.parametrize(
    ("protocol", "payload", "status", "text"),
    [
        ("openai", openai(content=""), "ok", ""),
        ("openai", openai(content=None), "ok", ""),
        ("openai", openai(content=[]), "ok", ""),
        ("openai", openai(), "error", None),
        ("anthropic", {"content": [], "stop_reason": "end_turn"}, "ok", ""),
        ("anthropic", {"content": [{"type": "text", "text": ""}], "stop_reason": "end_turn"}, "ok", ""),
        ("anthropic", {"content": None, "stop_reason": "end_turn"}, "error", None),
        ("anthropic", {"stop_reason": "end_turn"}, "error", None),
        ("google", google(content={"parts": [{"text": ""}]}), "ok", ""),
        ("google", google(content={"parts": []}), "ok", ""),
        ("google", google(content={"role": "model"}), "ok", ""),
        ("google", google(content=None), "error", None),
        ("google", google(), "error", None),
    ],
)
def test_a_normal_stop_without_text(protocol: str, payload: dict[str, Any], status: str, text: str | None):
    reply = PROTOCOLS[protocol].read_reply(200, {}, json.dumps(payload).encode("ascii"))
    assert (reply.status, reply.text) == (status, text)
    assert (reply.reason is None) == (status == "ok")

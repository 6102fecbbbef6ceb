"""Anthropic's protocol: replies as the provider really sends them. Requests: test_thirteen_models.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wise_pytest.endpoints.anthropic import read_reply
from wise_pytest.endpoints.model import Endpoint, Part
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.panels.model import Decoding
from wise_pytest.records import Usage

JSON = {"content-type": "application/json"}
TEXT = {"type": "text", "text": "Four words are here"}


def thought(kind: str, text: str) -> Part:
    return Part(kind=kind, thought=True, text=text)


def shown(kind: str, text: str) -> Part:
    return Part(kind=kind, thought=False, text=text)


def reading(payload: Any, *, status: int = 200) -> Any:
    return read_reply(status, JSON, json.dumps(payload).encode())


def reply_of(content: Any, stop: Any = "end_turn", **top: Any) -> dict[str, Any]:
    return {"type": "message", "content": content, "stop_reason": stop, **top}


def test_a_good_reply_is_read_in_full():
    reply = reading(
        reply_of([TEXT], model="claude-haiku-4-5-20251001", usage={"input_tokens": 9, "output_tokens": 4})
    )
    assert (reply.status, reply.text, reply.finish_reason) == ("ok", "Four words are here", "end_turn")
    assert (reply.usage, reply.served_model) == (Usage(9, 4, None), "claude-haiku-4-5-20251001")
    assert (reply.flags, reply.reason, reply.parts) == ((), None, (shown("text", TEXT["text"]),))


@pytest.mark.parametrize(
    ("content", "stop", "status", "text"),
    [
        ([TEXT, {"type": "text", "text": "!"}], "end_turn", "ok", "Four words are here!"),
        ([TEXT], "stop_sequence", "ok", "Four words are here"),
        ([], "end_turn", "ok", ""),
        ([TEXT], "max_tokens", "truncated", "Four words are here"),
        ([], "max_tokens", "truncated", ""),
        ([TEXT], "model_context_window_exceeded", "truncated", "Four words are here"),
        ([], "refusal", "refused", ""),
        ([TEXT], "refusal", "refused", "Four words are here"),
        ([TEXT], "pause_turn", "error", "Four words are here"),
        ([{"type": "tool_use", "id": "t", "input": {}}], "tool_use", "error", ""),
        ([TEXT], "a_new_reason", "error", "Four words are here"),
        ([TEXT], None, "error", "Four words are here"),
        ([], None, "error", ""),
        ([TEXT], 3, "error", "Four words are here"),
        ([{"type": "a_new_block", "text": "x"}], "end_turn", "error", None),
        ([{"type": "text", "text": None}], "end_turn", "error", None),
        ([{"type": ["text"], "text": "x"}], "end_turn", "error", None),
        (["bare"], "end_turn", "error", None),
        ("Four words are here", "end_turn", "error", None),
        (None, "end_turn", "error", None),
    ],
)
def test_status_and_text(content: Any, stop: Any, status: str, text: str | None):
    reply = reading(reply_of(content, stop))
    assert (reply.status, reply.text) == (status, text)
    assert (reply.reason is not None) == (status == "error")


def test_thoughts_are_told_from_the_answer_and_kept():
    thoughts = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "redacted_thinking", "data": "eHg="},
    ]
    reply = reading(reply_of([*thoughts, TEXT]))
    assert (reply.status, reply.text, reply.flags) == ("ok", "Four words are here", ("thought_parts",))
    assert reply.parts[:2] == (thought("thinking", "hm"), thought("redacted_thinking", "eHg="))
    alone = reading(reply_of(thoughts))
    assert (alone.status, alone.text, alone.flags) == ("error", "", ("thought_parts", "reasoning_only"))
    capped = reading(reply_of(thoughts, "max_tokens"))
    assert (capped.status, capped.text) == ("truncated", "")


@pytest.mark.parametrize(
    ("status", "payload", "reason"),
    [
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "HTTP 529: Overloaded",
        ),
        (
            401,
            {"type": "error", "error": {"type": "authentication_error", "message": "bad"}},
            "HTTP 401: bad",
        ),
        (
            200,
            {"type": "error", "error": {"type": "api_error", "message": "late"}},
            "the provider reports an error: late",
        ),
        (200, {}, "the reply holds no content"),
        (200, {"type": "message", "message": "hm"}, "the reply holds no list of content: hm"),
    ],
)
def test_errors_in_words(status: int, payload: Any, reason: str):
    reply = reading(payload, status=status)
    assert (reply.status, reply.text, reply.reason) == ("error", None, reason)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ([], Usage()),
        ({}, Usage()),
        ({"input_tokens": True, "output_tokens": 2}, Usage(None, 2)),
    ],
)
def test_usage_is_taken_only_where_it_is_a_count(usage: Any, expected: Usage):
    assert reading(reply_of([TEXT], usage=usage)).usage == expected


def test_extra_parameters_never_replace_what_the_panel_decided():
    endpoint = Endpoint(
        name="m",
        provider="p",
        protocol="anthropic",
        api_model="m",
        base_url="http://h/v1",
        extra={"model": "other", "max_tokens": 1, "thinking": {"type": "disabled"}},
    )
    decoding = Decoding(max_tokens=120, temperature=0.2)
    body = json.loads(PROTOCOLS["anthropic"].build_request("é\ud83d", endpoint, decoding, None).body)
    assert body == {
        "model": "m",
        "max_tokens": 120,
        "temperature": 0.2,
        "thinking": {"type": "disabled"},
        "messages": [{"role": "user", "content": "é\ud83d"}],
    }

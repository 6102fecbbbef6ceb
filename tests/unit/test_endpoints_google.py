"""Google's protocol: replies as the provider really sends them. Requests: test_thirteen_models.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wise_pytest.endpoints.google import read_reply
from wise_pytest.endpoints.model import Endpoint, Part
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.panels.model import Decoding
from wise_pytest.records import Usage

JSON = {"content-type": "application/json"}
DECODING = Decoding(max_tokens=120, temperature=0.2)


def thought(kind: str, text: str) -> Part:
    return Part(kind=kind, thought=True, text=text)


def shown(kind: str, text: str) -> Part:
    return Part(kind=kind, thought=False, text=text)


def reading(payload: Any, *, status: int = 200) -> Any:
    return read_reply(status, JSON, json.dumps(payload).encode())


def reply_of(parts: Any, finish: Any = "STOP", **top: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}], **top}


def test_a_good_reply_is_read_in_full():
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "totalTokenCount": 16}
    parts = [{"text": "Four words "}, {"text": "are here", "thoughtSignature": "c2ln"}]
    reply = reading(reply_of(parts, usageMetadata=usage, modelVersion="models/gemini-2.5-flash"))
    assert (reply.status, reply.text, reply.finish_reason) == ("ok", "Four words are here", "STOP")
    # As other providers count them: what was thought is paid for as output.
    assert reply.usage == Usage(input_tokens=9, output_tokens=7, reasoning_tokens=3)
    assert (reply.served_model, reply.flags, reply.reason) == ("gemini-2.5-flash", (), None)


def test_thoughts_are_told_from_the_answer_and_kept():
    reply = reading(reply_of([{"text": "plan", "thought": True}, {"text": "B"}]))
    assert (reply.status, reply.text, reply.flags) == ("ok", "B", ("thought_parts",))
    assert reply.parts == (thought("thought", "plan"), shown("text", "B"))
    alone = reading(reply_of([{"text": "plan", "thought": True}]))
    assert (alone.status, alone.text, alone.flags) == ("error", "", ("thought_parts", "reasoning_only"))
    assert reading(reply_of([{"text": "plan", "thought": True}], "MAX_TOKENS")).status == "truncated"


@pytest.mark.parametrize(
    "finish", ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "OTHER"]
)
def test_what_the_provider_withholds_is_blocked(finish: str):
    bare = reading({"candidates": [{"finishReason": finish, "index": 0}]})
    assert (bare.status, bare.text, bare.finish_reason) == ("blocked", None, finish)
    assert bare.reason == f"the provider withheld the output (finish reason '{finish}')"
    assert reading(reply_of([{"text": "in part"}], finish)).status == "blocked"
    prompt = reading({"promptFeedback": {"blockReason": finish}, "usageMetadata": {"promptTokenCount": 9}})
    assert (prompt.status, prompt.text, prompt.finish_reason, prompt.usage) == (
        "blocked",
        None,
        finish,
        Usage(9),
    )


@pytest.mark.parametrize(
    ("candidate", "status", "text"),
    [
        ({"content": {"role": "model"}, "finishReason": "STOP"}, "ok", ""),
        ({"content": {"parts": []}, "finishReason": "STOP"}, "ok", ""),
        ({"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}, "ok", ""),
        ({"content": {"parts": [{"thoughtSignature": "x"}, {}]}, "finishReason": "STOP"}, "ok", ""),
        ({"content": {"parts": [{"text": "a", "thought": False}]}, "finishReason": "STOP"}, "ok", "a"),
        ({"content": {"parts": [{"text": "a", "thought": None}]}, "finishReason": "STOP"}, "ok", "a"),
        ({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}, "truncated", ""),
        ({"finishReason": "MAX_TOKENS"}, "truncated", ""),
        ({"finishReason": "STOP"}, "error", None),
        ({"content": {"parts": [{"text": "a"}]}}, "error", "a"),
        ({"content": {"parts": [{"text": "a"}]}, "finishReason": "NEW"}, "error", "a"),
        ({"content": {"parts": [{"text": "a"}]}, "finishReason": ["STOP"]}, "error", "a"),
        ({"content": {"parts": [{"text": "a"}]}, "finishReason": "FINISH_REASON_UNSPECIFIED"}, "error", "a"),
        ({"content": {"role": "model"}, "finishReason": "MALFORMED_FUNCTION_CALL"}, "error", ""),
        ({"content": {"parts": [{"functionCall": {}}]}, "finishReason": "STOP"}, "error", None),
        ({"content": {"parts": [{"text": "a", "thought": 1}]}, "finishReason": "STOP"}, "error", None),
        ({"content": {"parts": [{"text": "a", "thought": "no"}]}, "finishReason": "STOP"}, "error", None),
        ({"content": {"parts": [{"text": 5}]}, "finishReason": "STOP"}, "error", None),
        ({"content": {"parts": ["a"]}, "finishReason": "STOP"}, "error", None),
        ({"content": {"parts": "a"}, "finishReason": "STOP"}, "error", None),
        ({"content": {"parts": None}, "finishReason": "STOP"}, "error", None),
        ({"content": "a", "finishReason": "STOP"}, "error", None),
        ({"text": "a", "finishReason": "STOP"}, "error", None),
    ],
)
def test_status_and_text(candidate: dict[str, Any], status: str, text: str | None):
    reply = reading({"candidates": [candidate]})
    assert (reply.status, reply.text) == (status, text)
    assert (reply.reason is not None) == (status == "error")


@pytest.mark.parametrize(
    ("status", "payload", "reason"),
    [
        (503, {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, "HTTP 503: busy"),
        (400, [{"error": {"code": 400, "message": "API key not valid."}}], "HTTP 400: API key not valid."),
        (200, [{"error": {"code": 500, "message": "late"}}], "the provider reports an error: late"),
        (200, {"error": {"code": 500, "message": "late"}}, "the provider reports an error: late"),
        (200, {}, "the reply holds no candidates"),
        (200, {"candidates": []}, "the reply holds no candidates: []"),
        (200, {"candidates": "x"}, 'the reply holds no candidate: "x"'),
        (200, {"candidates": [None]}, "the reply holds no candidate: [null]"),
        (200, [1], "the reply is not a JSON object: [1]"),
    ],
)
def test_errors_in_words(status: int, payload: Any, reason: str):
    reply = reading(payload, status=status)
    assert (reply.status, reply.text) == ("error", None)
    assert reply.reason.startswith(reason.removesuffix(": []"))


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ("many", Usage()),
        ({}, Usage()),
        ({"promptTokenCount": 9}, Usage(9, None, None)),
        ({"promptTokenCount": 9, "thoughtsTokenCount": 118}, Usage(9, 118, 118)),
        ({"promptTokenCount": 9, "candidatesTokenCount": 2}, Usage(9, 2, None)),
        ({"promptTokenCount": -1, "candidatesTokenCount": 2.5, "thoughtsTokenCount": True}, Usage()),
    ],
)
def test_usage_is_taken_only_where_it_is_a_count(usage: Any, expected: Usage):
    assert reading(reply_of([{"text": "x"}], usageMetadata=usage)).usage == expected


@pytest.mark.parametrize("model", [None, "", 5, "models/"])
def test_a_served_model_that_is_no_name_is_unknown(model: Any):
    assert reading(reply_of([{"text": "x"}], modelVersion=model)).served_model is None


def endpoint_of(**fields: Any) -> Endpoint:
    return Endpoint(
        **{
            "name": "m",
            "provider": "p",
            "protocol": "google",
            "api_model": "m",
            "base_url": "http://h/v1beta",
            "cap_field": "maxOutputTokens",
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("api_model", "path"),
    [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("a/b?key=c#d", "models/a%2Fb%3Fkey%3Dc%23d"),
    ],
)
def test_the_model_is_part_of_the_path_and_of_nothing_else(api_model: str, path: str):
    request = PROTOCOLS["google"].build_request("x", endpoint_of(api_model=api_model), DECODING, None)
    assert request.url == f"http://h/v1beta/{path}:generateContent"


def test_extra_parameters_never_replace_what_the_panel_decided():
    extra = {
        "contents": [],
        "safetySettings": [],
        "generationConfig": {"topP": 0.5, "maxOutputTokens": 1, "temperature": 2},
    }
    request = PROTOCOLS["google"].build_request("é\ud83d", endpoint_of(extra=extra), DECODING, None)
    assert json.loads(request.body) == {
        "contents": [{"role": "user", "parts": [{"text": "é\ud83d"}]}],
        "safetySettings": [],
        "generationConfig": {"topP": 0.5, "maxOutputTokens": 120, "temperature": 0.2},
    }
    without = endpoint_of(temperature=False)
    body = json.loads(PROTOCOLS["google"].build_request("x", without, DECODING, None).body)
    assert body["generationConfig"] == {"maxOutputTokens": 120}

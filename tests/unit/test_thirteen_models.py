"""The models known by name: the exact request to each, and how each provider's replies are read."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from tests.loopback import LoopbackServer
from wise_pytest.endpoints.model import Price
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.registry import load_registry, resolve_models
from wise_pytest.panels.model import Decoding
from wise_pytest.records import Usage
from wise_pytest.transport.client import Client

REGISTRY = load_registry()
DECODING = Decoding(max_tokens=120, temperature=0.2)
PROMPT = "Why do cats purr? Answer using exactly 8 words."
KEY = "a-key-of-a-provider"

CHAT = [{"role": "user", "content": PROMPT}]
CONTENTS = [{"role": "user", "parts": [{"text": PROMPT}]}]
JSON = {"accept": "application/json", "content-type": "application/json"}
BEARER = {**JSON, "authorization": f"Bearer {KEY}"}
ANTHROPIC = {**JSON, "anthropic-version": "2023-06-01", "x-api-key": KEY}
GOOGLE = {**JSON, "x-goog-api-key": KEY}
MESSAGES = "https://api.anthropic.com/v1/messages"
OPENAI = "https://api.openai.com/v1/chat/completions"
GENERATE = "https://generativelanguage.googleapis.com/v1beta/models/{}:generateContent"
DEEPSEEK = "https://api.deepseek.com/chat/completions"
THINKING_OFF = {"thinking": {"type": "disabled"}}

REQUESTS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "claude-haiku-4-5": (
        MESSAGES,
        ANTHROPIC,
        {"model": "claude-haiku-4-5", "messages": CHAT, "max_tokens": 120, "temperature": 0.2},
    ),
    "claude-sonnet-4-6": (
        MESSAGES,
        ANTHROPIC,
        {"model": "claude-sonnet-4-6", "messages": CHAT, "max_tokens": 120, "temperature": 0.2},
    ),
    "claude-opus-4-8": (
        MESSAGES,
        ANTHROPIC,
        {"model": "claude-opus-4-8", "messages": CHAT, "max_tokens": 120},
    ),
    "gpt-4o-mini": (
        OPENAI,
        BEARER,
        {"model": "gpt-4o-mini", "messages": CHAT, "max_completion_tokens": 120, "temperature": 0.2},
    ),
    "gpt-4.1-mini": (
        OPENAI,
        BEARER,
        {"model": "gpt-4.1-mini", "messages": CHAT, "max_completion_tokens": 120, "temperature": 0.2},
    ),
    "gpt-5.5": (
        OPENAI,
        BEARER,
        {
            "model": "gpt-5.5-2026-04-23",
            "messages": CHAT,
            "max_completion_tokens": 120,
            "reasoning_effort": "none",
        },
    ),
    "gemini-2.5-flash": (
        GENERATE.format("gemini-2.5-flash"),
        GOOGLE,
        {
            "contents": CONTENTS,
            "generationConfig": {
                "maxOutputTokens": 120,
                "temperature": 0.2,
                "thinkingConfig": {"thinkingBudget": 0},
            },
        },
    ),
    "gemini-3.1-flash-lite": (
        GENERATE.format("gemini-3.1-flash-lite"),
        GOOGLE,
        {
            "contents": CONTENTS,
            "generationConfig": {
                "maxOutputTokens": 120,
                "temperature": 0.2,
                "thinkingConfig": {"thinkingLevel": "minimal"},
            },
        },
    ),
    "deepseek-chat": (
        DEEPSEEK,
        BEARER,
        {"model": "deepseek-chat", "messages": CHAT, "max_tokens": 120, "temperature": 0.2},
    ),
    "deepseek-v4-pro": (
        DEEPSEEK,
        BEARER,
        {
            "model": "deepseek-v4-pro",
            "messages": CHAT,
            "max_tokens": 120,
            "temperature": 0.2,
            **THINKING_OFF,
        },
    ),
    "mistral-small-latest": (
        "https://api.mistral.ai/v1/chat/completions",
        BEARER,
        {
            "model": "mistral-small-latest",
            "messages": CHAT,
            "max_tokens": 120,
            "temperature": 0.2,
            "reasoning_effort": "none",
        },
    ),
    "qwen3.6-35b-a3b": (
        "https://router.huggingface.co/v1/chat/completions",
        BEARER,
        {
            "model": "Qwen/Qwen3.6-35B-A3B:deepinfra",
            "messages": CHAT,
            "max_tokens": 120,
            "temperature": 0.2,
            "chat_template_kwargs": {"enable_thinking": False},
        },
    ),
    "kimi-k2.6": (
        "https://api.moonshot.ai/v1/chat/completions",
        BEARER,
        {"model": "kimi-k2.6", "messages": CHAT, "max_completion_tokens": 120, **THINKING_OFF},
    ),
}
"""The paper's thirteen."""
SUCCESSORS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "deepseek-flash": (
        DEEPSEEK,
        BEARER,
        {
            "model": "deepseek-flash",
            "messages": CHAT,
            "max_tokens": 120,
            "temperature": 0.2,
            **THINKING_OFF,
        },
    ),
    "gemini-3.5-flash-lite": (
        GENERATE.format("gemini-3.5-flash-lite"),
        GOOGLE,
        REQUESTS["gemini-3.1-flash-lite"][2],
    ),
}


# Requests


def test_there_are_thirteen_and_their_successors():
    assert len(REQUESTS) == 13
    hosted = {name for name, endpoint in REGISTRY.items() if not endpoint.bundled}
    assert hosted == REQUESTS.keys() | SUCCESSORS.keys()


@pytest.mark.parametrize("name", [*REQUESTS, *SUCCESSORS])
def test_the_request_is_exactly_this_one(name: str):
    url, headers, body = {**REQUESTS, **SUCCESSORS}[name]
    endpoint = REGISTRY[name]
    request = PROTOCOLS[endpoint.protocol].build_request(PROMPT, endpoint, DECODING, KEY)
    assert (request.method, request.url) == ("POST", url)
    assert dict(request.headers) == headers
    assert json.loads(request.body) == body
    # One spelling only: a recording is found by its bytes.
    assert request.body == json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii")


@pytest.mark.parametrize("name", [*REQUESTS, *SUCCESSORS])
def test_the_request_arrives_as_it_was_written_and_its_answer_is_read(name: str):
    _, headers, body = {**REQUESTS, **SUCCESSORS}[name]
    with LoopbackServer(["Because they are calm."]) as server, Client() as client:
        address = server.url(REGISTRY[name].protocol)
        (selected,) = resolve_models([f"{name}={address}"], REGISTRY)
        protocol = PROTOCOLS[selected.endpoint.protocol]
        request = protocol.build_request(PROMPT, selected.endpoint, DECODING, KEY)
        response = client.send(request)
    (received,) = server.requests
    assert received.json == body
    assert headers.items() <= received.headers.items()
    assert (received.prompt, received.key) == (PROMPT, KEY)
    assert KEY not in received.path
    reply = protocol.read_reply(response.status, response.headers, response.body)
    assert (reply.status, reply.text, reply.usage) == ("ok", "Because they are calm.", Usage(9, 4))
    assert selected.endpoint.is_served_by(str(reply.served_model))


def test_no_request_carries_a_key_that_is_not_there():
    for endpoint in REGISTRY.values():
        request = PROTOCOLS[endpoint.protocol].build_request(PROMPT, endpoint, DECODING, None)
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & request.headers.keys()


# What is known of each


@pytest.mark.parametrize(
    ("names", "provider", "key_env"),
    [
        (("claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8"), "Anthropic", ("ANTHROPIC_API_KEY",)),
        (("gpt-4o-mini", "gpt-4.1-mini", "gpt-5.5"), "OpenAI", ("OPENAI_API_KEY",)),
        (
            ("gemini-2.5-flash", "gemini-3.1-flash-lite", "gemini-3.5-flash-lite"),
            "Google",
            ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ),
        (("deepseek-chat", "deepseek-v4-pro", "deepseek-flash"), "DeepSeek", ("DEEPSEEK_API_KEY",)),
        (("mistral-small-latest",), "Mistral", ("MISTRAL_API_KEY",)),
        (("qwen3.6-35b-a3b",), "Qwen", ("HF_TOKEN",)),
        (("kimi-k2.6",), "Kimi", ("MOONSHOT_API_KEY",)),
    ],
)
def test_providers_and_their_keys(names: tuple[str, ...], provider: str, key_env: tuple[str, ...]):
    assert {(REGISTRY[name].provider, REGISTRY[name].key_env) for name in names} == {(provider, key_env)}


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("claude-haiku-4-5", Price(1.0, 5.0, date(2026, 7, 29))),
        ("claude-sonnet-4-6", Price(3.0, 15.0, date(2026, 7, 2))),
        ("claude-opus-4-8", Price(5.0, 25.0, date(2026, 7, 29))),
        ("gpt-4o-mini", Price(0.15, 0.60, date(2026, 7, 2))),
        ("gpt-4.1-mini", Price(0.40, 1.60, date(2026, 7, 2))),
        ("gpt-5.5", Price(5.0, 30.0, date(2026, 7, 2))),
        ("gemini-2.5-flash", Price(0.30, 2.50, date(2026, 7, 2))),
        ("gemini-3.1-flash-lite", Price(0.25, 1.50, date(2026, 5, 12))),
        ("gemini-3.5-flash-lite", None),
        ("deepseek-chat", None),
        ("deepseek-v4-pro", Price(0.66, 1.98, date(2026, 11, 15), peak_factor=2.0)),
        ("deepseek-flash", Price(0.15, 0.60, date(2026, 11, 15), peak_factor=2.0)),
        ("mistral-small-latest", Price(0.15, 0.60, date(2026, 7, 2))),
        ("qwen3.6-35b-a3b", Price(0.15, 0.95, date(2026, 7, 2))),
        ("kimi-k2.6", Price(0.95, 4.0, date(2026, 5, 22))),
    ],
)
def test_prices(name: str, price: Price | None):
    assert REGISTRY[name].price == price
    # DeepSeek's are its own; all others are from tables of third parties, and say so.
    says_so = any("price is from a third-party table" in remark for remark in REGISTRY[name].unverified)
    assert says_so == (price is not None and REGISTRY[name].provider != "DeepSeek")


@pytest.mark.parametrize(
    ("name", "day", "successor"),
    [
        ("deepseek-chat", date(2026, 7, 24), "deepseek-flash"),
        ("gemini-2.5-flash", date(2026, 12, 1), "gemini-3.5-flash-lite"),
        ("gpt-4o-mini", date(2027, 1, 14), None),
        ("gpt-4.1-mini", date(2027, 1, 14), None),
        ("gemini-3.1-flash-lite", date(2027, 5, 7), None),
    ],
)
def test_what_is_retired_and_when(name: str, day: date, successor: str | None):
    endpoint = REGISTRY[name]
    assert (endpoint.retires_on, endpoint.successor) == (day, successor)
    assert successor is None or successor in REGISTRY
    assert endpoint.retired(day)
    assert not endpoint.retired(date.fromordinal(day.toordinal() - 1))


def test_all_others_are_active_and_what_no_document_says_is_marked():
    retiring = {name for name, endpoint in REGISTRY.items() if endpoint.retires_on is not None}
    assert retiring == {
        "deepseek-chat",
        "gemini-2.5-flash",
        "gpt-4o-mini",
        "gpt-4.1-mini",
        "gemini-3.1-flash-lite",
    }
    assert all(REGISTRY[name].unverified for name in [*REQUESTS, *SUCCESSORS])
    assert not any(endpoint.unverified for endpoint in REGISTRY.values() if endpoint.bundled)


@pytest.mark.parametrize(
    ("name", "served", "same"),
    [
        (
            "qwen3.6-35b-a3b",
            "Qwen/Qwen3.6-35B-A3B",
            True,
        ),  # the host is not told by which suffix it was found
        ("qwen3.6-35b-a3b", "Qwen/Qwen3.6-35B-A3B:deepinfra", True),
        ("qwen3.6-35b-a3b", "Qwen/Qwen3.6-35B", False),
        ("gemini-2.5-flash", "gemini-3.5-flash-lite", False),
        ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", False),
        ("gpt-5.5", "gpt-5.5-2026-04-23", True),
        ("gpt-5.5", "gpt-5.5", False),
    ],
)
def test_whether_another_model_has_answered(name: str, served: str, same: bool):  # noqa: FBT001 - a table
    assert REGISTRY[name].is_served_by(served) is same


# Replies, as each provider sends them


def chat(content: Any, finish: str = "stop", *, model: str, **more: Any) -> dict[str, Any]:
    """An OpenAI-like reply of 9 tokens in and 5 out; ``more`` goes into the message."""
    message = {"role": "assistant", "content": content, **more}
    return {
        "id": "x",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }


def claude(content: list[Any], stop_reason: str, *, model: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 5, "cache_read_input_tokens": 0},
    }


def gemini(candidate: dict[str, Any] | None, *, model: str, **usage: int) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 14, **usage},
        "modelVersion": model,
        "responseId": "r1",
    }
    return reply if candidate is None else {"candidates": [candidate], **reply}


def said(text: str) -> dict[str, Any]:
    return {"parts": [{"text": text}], "role": "model"}


def replies_of(name: str) -> dict[str, tuple[int, Any]]:
    """Five replies of the provider of a model: (HTTP status, body) by kind."""
    endpoint = REGISTRY[name]
    model = endpoint.api_model
    text = "Cats purr because they feel safe"
    cut = "Cats purr because"
    if endpoint.provider == "Anthropic":
        block = [{"type": "text", "text": text}]
        kind = "invalid_request_error"
        error = {"type": "error", "error": {"type": kind, "message": "no"}, "request_id": "req_1"}
        return {
            "normal": (200, claude(block, "end_turn", model=model)),
            "truncated": (200, claude([{"type": "text", "text": cut}], "max_tokens", model=model)),
            "withheld": (200, claude([], "refusal", model=model)),
            "empty": (200, claude([], "end_turn", model=model)),
            "erroneous": (400, error),
        }
    if endpoint.provider == "Google":
        end = {"index": 0, "finishReason": "STOP"}
        return {
            "normal": (200, gemini({"content": said(text), **end}, model=model, candidatesTokenCount=5)),
            "truncated": (
                200,
                gemini(
                    {"content": said(cut), "finishReason": "MAX_TOKENS"}, model=model, candidatesTokenCount=5
                ),
            ),
            "withheld": (200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
            "empty": (200, gemini({"content": {"role": "model"}, **end}, model=model)),
            "erroneous": (400, [{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}]),
        }
    withheld: tuple[int, Any] = (200, chat("", "content_filter", model=model))
    error: Any = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": None}}
    if endpoint.provider == "OpenAI":
        withheld = (200, chat(None, model=model, refusal="I cannot."))
    if endpoint.provider == "Kimi":
        withheld = (400, {"error": {"type": "content_filter", "message": "high risk"}})
    if endpoint.provider == "Mistral":
        error = {"object": "error", "message": {"detail": [{"msg": "no"}]}, "type": "invalid_request_error"}
    if endpoint.provider == "Qwen":
        error = {"error": "no"}
    normal = chat(text, model=model)
    if endpoint.provider == "Mistral":
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
        normal = chat([thought, {"type": "text", "text": text}], model=model)
    if endpoint.provider in ("DeepSeek", "Kimi"):
        normal = chat(text, model=model, reasoning_content="hm")
    return {
        "normal": (200, normal),
        "truncated": (200, chat(cut, "length", model=model)),
        "withheld": withheld,
        "empty": (200, chat("", model=model)),
        "erroneous": (400, error),
    }


def read(name: str, kind: str) -> Any:
    status, body = replies_of(name)[kind]
    protocol = PROTOCOLS[REGISTRY[name].protocol]
    return protocol.read_reply(status, {"content-type": "application/json"}, json.dumps(body).encode())


@pytest.mark.parametrize("name", REQUESTS)
def test_a_normal_reply(name: str):
    reply = read(name, "normal")
    assert (reply.status, reply.text) == ("ok", "Cats purr because they feel safe")
    assert (
        reply.finish_reason
        == {"anthropic": "end_turn", "google": "STOP", "openai": "stop"}[REGISTRY[name].protocol]
    )
    assert reply.usage == Usage(9, 5)
    assert reply.served_model == REGISTRY[name].api_model
    thinks = REGISTRY[name].provider in ("DeepSeek", "Kimi", "Mistral")
    assert reply.flags == (("thought_parts",) if thinks else ())
    assert [part.text for part in reply.parts if part.thought] == (["hm"] if thinks else [])
    assert [part.text for part in reply.parts if not part.thought] == [reply.text]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_truncated_reply(name: str):
    reply = read(name, "truncated")
    assert (reply.status, reply.text, reply.reason) == ("truncated", "Cats purr because", None)
    assert reply.finish_reason in ("max_tokens", "MAX_TOKENS", "length")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_refused_or_blocked_reply(name: str):
    reply = read(name, "withheld")
    expected = {
        "Anthropic": ("refused", ""),
        "OpenAI": ("refused", "I cannot."),
        "Google": ("blocked", None),
        "Kimi": ("blocked", None),
    }.get(REGISTRY[name].provider, ("blocked", ""))
    assert (reply.status, reply.text) == expected
    assert (reply.reason is None) == (reply.status == "refused")


@pytest.mark.parametrize("name", REQUESTS)
def test_an_empty_reply_that_stopped_normally(name: str):
    reply = read(name, "empty")
    assert (reply.status, reply.text, reply.reason) == ("ok", "", None)


@pytest.mark.parametrize("name", REQUESTS)
def test_an_erroneous_reply(name: str):
    reply = read(name, "erroneous")
    assert (reply.status, reply.text) == ("error", None)
    assert reply.reason == ('HTTP 400: [{"msg": "no"}]' if name == "mistral-small-latest" else "HTTP 400: no")

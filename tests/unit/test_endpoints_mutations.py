"""Tens of thousands of damaged replies in each protocol: none raises, and none passes for an answer.

What is visible is found anew here, the slow and obvious way, and compared with
what the protocol says was the answer.
"""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.endpoints.protocols import PROTOCOLS

if TYPE_CHECKING:
    from wise_pytest.endpoints.model import Reply

HIDDEN = "HIDDEN"
N_SEEDED = 10_000
SHAPES: dict[str, list[Any]] = {
    "openai": [
        {
            "model": "m",
            "choices": [
                {
                    "message": {"role": "assistant", "content": "seen", "reasoning_content": HIDDEN},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        },
        {
            "choices": [
                {
                    "message": {
                        "content": [
                            {"type": "thinking", "thinking": HIDDEN},
                            {"type": "text", "text": "seen"},
                        ]
                    },
                    "finish_reason": "stop",
                }
            ]
        },
        {
            "choices": [
                {
                    "message": {"content": None, "refusal": "seen", "tool_calls": [{"name": HIDDEN}]},
                    "finish_reason": "stop",
                }
            ]
        },
        {
            "choices": [
                {"message": {"content": f"<think>{HIDDEN}</think>seen"}, "finish_reason": "stop"},
                {"message": {"content": HIDDEN}, "finish_reason": "stop"},
            ],
            "error": None,
        },
        {"choices": [{"message": {"content": "", "reasoning": HIDDEN}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": None, "reasoning": HIDDEN}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": "seen"}, "finish_reason": "length"}]},
        {"choices": [{"message": {"content": "seen"}, "finish_reason": "content_filter"}]},
    ],
    "anthropic": [
        {
            "type": "message",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": HIDDEN, "signature": HIDDEN},
                {"type": "text", "text": "se"},
                {"type": "text", "text": "en"},
            ],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 1},
        },
        {"content": [{"type": "text", "text": "seen"}], "stop_reason": "refusal", "id": HIDDEN},
        {
            "content": [{"type": "tool_use", "input": {"text": HIDDEN}}, {"type": "text", "text": "seen"}],
            "stop_reason": "end_turn",
        },
        {"content": [{"type": "text", "text": "seen"}], "stop_reason": "max_tokens"},
        {"content": [{"type": "thinking", "thinking": HIDDEN}], "stop_reason": "end_turn"},
        {"type": "error", "error": {"type": "overloaded_error", "message": HIDDEN}},
    ],
    "google": [
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": HIDDEN, "thought": True},
                            {"text": "se"},
                            {"text": "en", "thoughtSignature": HIDDEN},
                        ],
                    },
                    "finishReason": "STOP",
                },
                {"content": {"parts": [{"text": HIDDEN}]}, "finishReason": "STOP"},
            ],
            "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 3},
            "modelVersion": "m",
        },
        {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": HIDDEN}}]}, "finishReason": "STOP"}
            ]
        },
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [{"content": {"parts": [{"text": HIDDEN, "thought": True}]}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": [{"text": "seen"}]}, "finishReason": "MAX_TOKENS"}]},
    ],
}
NORMAL = {"openai": ("stop", None), "anthropic": ("end_turn", "stop_sequence"), "google": ("STOP",)}
WORDS = [
    *("stop", "length", "end_turn", "refusal", "max_tokens", "STOP", "SAFETY", "MAX_TOKENS"),
    *("text", "thinking", "tool_use", HIDDEN, "\ud83d", "", " ", "<think>", "429"),
]
NAMES = [
    *(
        "type",
        "text",
        "message",
        "content",
        "parts",
        "thought",
        "finish_reason",
        "stop_reason",
        "finishReason",
    ),
    *("error", "refusal", "reasoning", "choices", "candidates", "usage", "promptFeedback", "blockReason"),
]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be", "latin-1", "cp1252", "utf-7"]


# How a reply is damaged


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path, *(found for key in keys for found in paths(value[key], (*path, key)))]


def any_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(9 if depth < 3 else 6)
    if kind < 2:
        return rng.choice(WORDS)
    if kind < 6:
        return rng.choice([None, True, False, 0, -1, 1.5, 10**30, 429])
    if kind == 6:
        return [any_value(rng, depth + 1) for _ in range(rng.randrange(3))]
    return {rng.choice(NAMES): any_value(rng, depth + 1) for _ in range(rng.randrange(3))}


def damage(payload: Any, rng: random.Random) -> Any:
    """A copy with up to four fields dropped, nulled, retyped, nested, doubled or renamed."""
    payload = copy.deepcopy(payload)
    for _ in range(rng.randrange(5)):
        path = rng.choice(paths(payload))
        if path:
            parent = payload
            for key in path[:-1]:
                parent = parent[key]
            damage_field(parent, path[-1], rng)
        elif rng.random() < 0.1:
            payload = rng.choice([[payload], {"data": payload}, any_value(rng)])
    return payload


def damage_field(parent: Any, key: Any, rng: random.Random) -> None:
    old = parent[key]
    kind = rng.randrange(7)
    if kind == 0:
        del parent[key]
    elif kind < 6:
        parent[key] = [None, any_value(rng), [old], {rng.choice(NAMES): old}, json.dumps(old)][kind - 1]
    elif isinstance(parent, dict):
        parent[rng.choice(NAMES)] = old
    else:
        parent.append(old)


def written(payload: Any, rng: random.Random) -> bytes:
    """Its bytes, some of them cut, spoiled, doubled or in another encoding."""
    text = json.dumps(payload, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:
        text = json.dumps(text)
    body = text.encode(rng.choice(ENCODINGS) if rng.random() < 0.2 else "utf-8", "backslashreplace")
    match rng.randrange(12):
        case 0:
            body = body[: rng.randrange(len(body) + 1)]
        case 1:
            at = rng.randrange(len(body) + 1)
            body = body[:at] + rng.randbytes(rng.randrange(1, 4)) + body[at:]
        case 2:
            body = rng.choice([b"\n\n\n", b"data: ", b"\xef\xbb\xbf"]) + body
        case 3:
            body += rng.choice([b"\n", body, b"}", b"\0"])
    return body


# What may come of it


def visible(protocol: str, payload: Any) -> str | None:
    """What a user would see of a reply that ends normally; ``None`` if that cannot be told."""
    try:
        if protocol == "openai":
            content = payload["choices"][0]["message"].get("content", "")
            if isinstance(content, list):
                content = "".join(part["text"] for part in content if part["type"] == "text")
            content = "" if content is None else content
            head, opened, rest = content.partition("<think>")
            if opened and not head.strip():
                return str(rest.partition("</think>")[2])
            return str(content) if isinstance(content, str) else None
        if protocol == "anthropic":
            return "".join(block["text"] for block in payload["content"] if block["type"] == "text")
        parts = payload["candidates"][0]["content"].get("parts", [])
        return "".join(part["text"] for part in parts if "text" in part and part.get("thought") is not True)
    except (TypeError, KeyError, IndexError, AttributeError):
        return None


def finish_of(protocol: str, payload: Any) -> Any:
    if protocol == "anthropic":
        return payload.get("stop_reason")
    if protocol == "google":
        return payload["candidates"][0].get("finishReason")
    return payload["choices"][0].get("finish_reason")


def check(protocol: str, status: int, body: bytes) -> Reply:
    """Read a reply, and hold what was read against the bytes."""
    reply = PROTOCOLS[protocol].read_reply(status, {}, body)
    assert (reply.text is not None) or reply.status in ("error", "blocked")
    assert (reply.reason is not None) == (reply.status in ("error", "blocked"))
    assert reply.reason is None or (reply.reason.isprintable() and len(reply.reason) < 500)
    if reply.status == "ok":
        assert 200 <= status < 300
        payload = json.loads(body)
        assert reply.text == visible(protocol, payload)
        assert finish_of(protocol, payload) in NORMAL[protocol]
    return reply


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tens_of_thousands_of_damaged_replies(protocol: str):
    rng = random.Random(f"replies of {protocol}")
    seen = dict.fromkeys(("ok", "truncated", "refused", "blocked", "error"), 0)
    for n in range(N_SEEDED):
        shape = SHAPES[protocol][n % len(SHAPES[protocol])]
        body = written(damage(shape, rng), rng)
        status = 200 if rng.random() < 0.9 else rng.choice([201, 302, 400, 429, 529])
        try:
            reply = check(protocol, status, body)
        except Exception as problem:
            raise AssertionError(f"reply {n}: HTTP {status}: {body!r}") from problem
        seen[reply.status] += 1
    # Damage that leaves nothing to read would prove nothing.
    possible = {"openai": set(seen), "anthropic": set(seen) - {"blocked"}, "google": set(seen) - {"refused"}}
    assert {status for status, count in seen.items() if count > N_SEEDED / 1000} == possible[protocol]
    assert seen["ok"] > N_SEEDED / 20


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_these_shapes_hide_what_they_hide(protocol: str):
    """Undamaged, whatever is read from them is what was to be seen; so the tests above could fail."""
    texts = [check(protocol, 200, json.dumps(shape).encode()).text for shape in SHAPES[protocol]]
    assert "seen" in texts
    assert HIDDEN not in "".join(filter(None, texts))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: Any, protocol: str) -> Any:
    payload = copy.deepcopy(draw(st.sampled_from(SHAPES[protocol])))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths(payload)))
        if not path:
            continue
        parent = payload
        for key in path[:-1]:
            parent = parent[key]
        if draw(st.booleans()):
            del parent[path[-1]]
        else:
            parent[path[-1]] = draw(JSON_VALUES)
    return payload


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(data=st.data())
def test_a_damaged_reply_that_hypothesis_thinks_of(protocol: str, data: st.DataObject):
    payload = data.draw(damaged(protocol))
    check(protocol, 200, json.dumps(payload).encode())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(status=st.integers(100, 599), body=st.binary(max_size=200))
def test_arbitrary_bytes_are_an_error_in_words(protocol: str, status: int, body: bytes):
    assert check(protocol, status, body).status == "error"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"a":' * 50_000, b'{"choices":' + b"9" * 10_000 + b"}", b"null", b"0", b'""', b"NaN"],
)
def test_extreme_bodies(protocol: str, body: bytes):
    assert check(protocol, 200, body).status == "error"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_good_reply_is_good_in_every_encoding_that_json_has(protocol: str):
    shape = SHAPES[protocol][0]
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"):
        reply = check(protocol, 200, json.dumps(shape).encode(encoding))
        assert (reply.status, reply.text) == ("ok", "seen")

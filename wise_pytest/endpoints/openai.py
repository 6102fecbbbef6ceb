"""The OpenAI chat-completions protocol, as OpenAI and compatible servers speak it.

``build_request`` and ``read_reply`` are pure; ``protocols.py`` lists them. Compatible
servers differ most in what they send when something is wrong, so reading is a
chain of small steps that each accept exactly one known shape, and everything
else becomes the status ``error`` with the reason in words.
"""

from __future__ import annotations

import re
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
    from collections.abc import Iterator, Mapping

    from wise_pytest.endpoints.model import Endpoint, HttpRequest
    from wise_pytest.panels.model import Decoding

RESERVED = frozenset(
    {
        *("max_tokens", "max_completion_tokens", "temperature"),
        *("messages", "model", "n", "seed", "random_seed", "stream"),
    }
)
"""Body parameters that are decided elsewhere, or change what a reply is."""

_ENDINGS = Endings(
    finished={
        "stop": "ok",
        "length": "truncated",
        "model_length": "truncated",  # Mistral: the context window, not the cap, ended the text
        "content_filter": "blocked",
    },
    failed={
        "tool_calls": "the model asked for a tool, and none was offered",
        "function_call": "the model asked for a function, and none was offered",
        "insufficient_system_resource": "the provider ran out of resources while answering",
        "error": "the provider reports an error while answering",
    },
    may_be_missing=True,
)
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_HIDDEN_PARTS = _THOUGHTS | {"reference"}
"""Content parts that the user of a chat does not see as the answer."""
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_THINK_BLOCK = re.compile(r"\s*<think>(?P<thought>.*?)(?:</think>|\Z)", re.DOTALL)
"""A thought that no parser has taken out of the text; without an end, all of it is thought."""


def build_request(prompt: str, endpoint: Endpoint, decoding: Decoding, key: str | None) -> HttpRequest:
    """Write the request for one generation; no seed is sent: repetitions are meant to differ."""
    body: dict[str, Any] = {
        **endpoint.extra,
        "model": endpoint.api_model,
        "messages": [{"role": "user", "content": prompt}],
        endpoint.cap_field: decoding.max_tokens,
    }
    if endpoint.temperature:
        body["temperature"] = decoding.temperature
    headers = {} if key is None else {"authorization": Secret(f"Bearer {key}")}
    return post(f"{endpoint.base_url}/chat/completions", body, headers)


def read_reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Read one reply; whatever the bytes, the answer is a ``Reply``.

    The status ``ok`` is only given to text that stood in a field for visible
    text of a reply that says it stopped normally.
    """
    payload = opened(status, headers, body)
    if isinstance(payload, Reply):
        return payload
    served = payload.get("model")
    origin = Origin(_usage(payload.get("usage")), served if is_name(served) else None)
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    complaint = payload.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    if complaint:
        return unusable(complaint_reason(complaint), origin)
    if not isinstance(choices, list) or not choices:
        said = error_message(payload)
        return unusable(
            f"the reply holds no choices: {said}" if said else "the reply holds no choices", origin
        )
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return unusable(f"the first choice holds no message: {shown(choice)}", origin)
    return conclude(choice.get("finish_reason"), _message(message), _ENDINGS, origin)


def _message(message: dict[str, Any]) -> Message:
    refusal = message.get("refusal")
    refusal = refusal if is_name(refusal) else None
    thoughts = tuple(
        Part(kind=name, thought=True, text=value if isinstance(value, str) else shown(value))
        for name in _REASONING_FIELDS
        if (value := message.get(name))
    )
    content = message.get("content")
    if isinstance(content, list):
        return _of_parts(content, thoughts, refusal)
    if content is None:
        # A null is a field that holds nothing; a missing field is a shape not known to hold text.
        return Message("" if "content" in message else None, thoughts, refusal)
    if isinstance(content, str):
        return _of_text(content, thoughts, refusal)
    problem = f"the message's content is neither text nor a list of parts: {shown(content)}"
    return Message(None, thoughts, problem=problem)


def _of_text(content: str, thoughts: tuple[Part, ...], refusal: str | None) -> Message:
    block = _THINK_BLOCK.match(content)
    if block is not None:
        thoughts = (*thoughts, Part(kind="<think>", thought=True, text=block["thought"]))
    visible = content if block is None else content[block.end() :]
    parts = (*thoughts, Part(kind="content", thought=False, text=visible)) if visible else thoughts
    # Some chat templates open the thought in the prompt, so only its end shows.
    has_tag = block is not None or "</think>" in content
    return Message(visible, parts, refusal, flags=("think_tag",) if has_tag else ())


def _of_parts(parts: list[Any], thoughts: tuple[Part, ...], refusal: str | None) -> Message:
    found = list(thoughts)
    visible: list[str] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            visible.append(part["text"])
            found.append(Part(kind="text", thought=False, text=part["text"]))
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            refusal = refusal or part["refusal"] or None
        elif isinstance(kind, str) and kind in _HIDDEN_PARTS:
            text = "".join(_texts_in(part.get("thinking"))) or shown(part)
            found.append(Part(kind=kind, thought=kind in _THOUGHTS, text=text))
        else:
            problem = f"the message's content holds a part that is not known: {shown(part)}"
            return Message(None, tuple(found), problem=problem)
    return Message("".join(visible), tuple(found), refusal)


def _texts_in(thinking: Any) -> Iterator[str]:
    """What a part for thoughts says: a text, or text parts of its own."""
    if isinstance(thinking, str):
        yield thinking
    for part in thinking if isinstance(thinking, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def _usage(record: Any) -> Usage:
    if not isinstance(record, dict):
        return Usage()
    details = record.get("completion_tokens_details")
    return Usage(
        input_tokens=count(record.get("prompt_tokens")),
        output_tokens=count(record.get("completion_tokens")),
        reasoning_tokens=count(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
    )

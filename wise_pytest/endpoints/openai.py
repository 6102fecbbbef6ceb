"""The OpenAI chat-completions protocol, as OpenAI and compatible servers speak it.

``build_request`` and ``read_reply`` are pure; ``protocols.py`` lists them. Compatible
servers differ most in what they send when something is wrong, so reading is a
chain of small steps that each accept exactly one known shape, and everything
else becomes the status ``error`` with the reason in words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.messages import error_code, error_message, one_line
from wise_pytest.endpoints.model import HttpRequest, Reply
from wise_pytest.records import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.endpoints.model import Endpoint
    from wise_pytest.panels.model import Decoding
    from wise_pytest.records import Status

_FINISHED: Mapping[str, Status] = {
    "stop": "ok",
    "length": "truncated",
    "model_length": "truncated",  # Mistral: the context window, not the cap, ended the text
    "content_filter": "blocked",
}
_FAILED = {
    "tool_calls": "the model asked for a tool, and none was offered",
    "function_call": "the model asked for a function, and none was offered",
    "insufficient_system_resource": "the provider ran out of resources while answering",
    "error": "the provider reports an error while answering",
}
_HIDDEN_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reference"})
"""Content parts that the user of a chat does not see as the answer."""
_REASONING_FIELDS = ("reasoning_content", "reasoning")


def build_request(prompt: str, endpoint: Endpoint, decoding: Decoding, key: str | None) -> HttpRequest:
    """Write the request for one generation.

    No seed is sent: repetitions are meant to differ. The body is ASCII, so that
    a prompt with a lone surrogate can be sent and equal requests are equal bytes.
    """
    body: dict[str, Any] = {
        **endpoint.extra,
        "model": endpoint.api_model,
        "messages": [{"role": "user", "content": prompt}],
        endpoint.cap_field: decoding.max_tokens,
    }
    if endpoint.temperature:
        body["temperature"] = decoding.temperature
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    return HttpRequest(
        method="POST",
        url=f"{endpoint.base_url}/chat/completions",
        headers=headers,
        body=json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii"),
    )


def read_reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Read one reply; whatever the bytes, the answer is a ``Reply``.

    The status ``ok`` is only given to text that stood in a field for visible
    text of a reply that says it stopped normally.
    """
    payload = _decode(body)
    if not 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        return _http_error(status, headers, body, payload)
    if payload is None:
        return Reply(status="error", reason=_not_json(status, headers, body))
    if not isinstance(payload, dict):
        return Reply(status="error", reason=f"the reply is not a JSON object: {one_line(_text_of(body))}")
    served = payload.get("model")
    return _read_choice(
        payload, usage=_usage(payload.get("usage")), served_model=served if _is_name(served) else None
    )


@dataclass(frozen=True, slots=True)
class _Content:
    """The visible part of one message, or why it cannot be told."""

    text: str | None
    """``None`` where the message holds no visible text field at all."""
    refusal: str | None = None
    has_reasoning: bool = False
    problem: str | None = None


def _read_choice(payload: dict[str, Any], *, usage: Usage, served_model: str | None) -> Reply:
    problem: str | None = None
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    complaint = payload.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    if complaint:
        problem = (
            f"the provider reports an error: {error_message({'error': complaint}) or 'it does not say which'}"
        )
    elif not isinstance(choices, list) or not choices:
        said = error_message(payload)
        problem = f"the reply holds no choices: {said}" if said else "the reply holds no choices"
    elif not isinstance(message, dict):
        problem = f"the first choice holds no message: {one_line(_shown(choice))}"
    if problem is not None or not isinstance(choice, dict) or not isinstance(message, dict):
        return Reply(status="error", reason=problem, usage=usage, served_model=served_model)
    finish = choice.get("finish_reason")
    content = _content(message)
    status, reason = _outcome(finish, content)
    text = content.text if content.text or content.refusal is None else content.refusal
    if status not in ("error", "blocked"):
        text = text or ""
    return Reply(
        status=status,
        text=text,
        finish_reason=finish if isinstance(finish, str) else None,
        flags=_flags(text, finish=finish, content=content),
        usage=usage,
        served_model=served_model,
        reason=reason,
    )


def _outcome(finish: Any, content: _Content) -> tuple[Status, str | None]:
    """Status and reason of a message from why it ended and what it holds."""
    status: Status | None = _FINISHED.get(finish) if isinstance(finish, str) else None
    reason: str | None = None
    if content.problem is not None:
        status, reason = "error", content.problem
    elif finish is None and (content.text or content.refusal):
        status = "ok"  # Ollama may leave the reason out; the flag says so
    elif finish is None:
        status, reason = "error", "the reply holds neither text nor a finish reason"
    elif isinstance(finish, str) and finish in _FAILED:
        status, reason = "error", f"finish reason {finish!r}: {_FAILED[finish]}"
    elif status is None:
        status, reason = "error", f"unknown finish reason {one_line(_shown(finish))}"
    elif status == "blocked":
        reason = f"the provider withheld the output (finish reason {finish!r})"
    elif status == "ok" and content.text is None and content.refusal is None and not content.has_reasoning:
        status, reason = "error", "the message holds no content field"
    if content.refusal is not None and status in ("ok", "truncated"):
        status = "refused"
    return status, reason


def _content(message: dict[str, Any]) -> _Content:
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) and refusal else None
    has_reasoning = any(_is_name(message.get(name)) for name in _REASONING_FIELDS)
    content = message.get("content")
    if isinstance(content, list):
        return _content_of_parts(content, refusal=refusal, has_reasoning=has_reasoning)
    if content is None:
        # A null is a field that holds nothing; a missing field is a shape not known to hold text.
        text = "" if "content" in message else None
        return _Content(text=text, refusal=refusal, has_reasoning=has_reasoning)
    if isinstance(content, str):
        return _Content(text=content, refusal=refusal, has_reasoning=has_reasoning)
    problem = f"the message's content is neither text nor a list of parts: {one_line(_shown(content))}"
    return _Content(text=None, problem=problem)


def _content_of_parts(parts: list[Any], *, refusal: str | None, has_reasoning: bool) -> _Content:
    visible: list[str] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            visible.append(part["text"])
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            refusal = refusal or part["refusal"] or None
        elif isinstance(kind, str) and kind in _HIDDEN_PARTS:
            has_reasoning = has_reasoning or kind != "reference"
        else:
            problem = f"the message's content holds a part that is not known: {one_line(_shown(part))}"
            return _Content(text=None, problem=problem)
    return _Content(text="".join(visible), refusal=refusal, has_reasoning=has_reasoning)


def _flags(text: str | None, *, finish: Any, content: _Content) -> tuple[str, ...]:
    flags: list[str] = []
    if finish is None:
        flags.append("finish_reason_missing")
    if not text and content.has_reasoning:
        flags.append("reasoning_only")
    # Some chat templates open the thought in the prompt, so only its end shows.
    if text and (text.lstrip().startswith("<think>") or "</think>" in text):
        flags.append("think_tag")
    if text and not _is_unicode(text):
        flags.append("lone_surrogate")
    return tuple(flags)


def _usage(record: Any) -> Usage:
    if not isinstance(record, dict):
        return Usage()
    details = record.get("completion_tokens_details")
    return Usage(
        input_tokens=_count(record.get("prompt_tokens")),
        output_tokens=_count(record.get("completion_tokens")),
        reasoning_tokens=_count(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
    )


def _http_error(status: int, headers: Mapping[str, str], body: bytes, payload: Any) -> Reply:
    # A JSON body without any of the known fields is quoted as it stands.
    said = error_message(payload) or (
        one_line(_text_of(body)) if payload else _not_json(status, headers, body)
    )
    if error_code(payload) == "content_filter":
        # Moderation of the prompt comes as an HTTP error, yet it is the provider withholding an answer.
        return Reply(status="blocked", reason=f"HTTP {status}: {said}")
    return Reply(status="error", reason=f"HTTP {status}: {said}")


def _not_json(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """What to say of a body that says nothing in JSON."""
    text = one_line(_text_of(body))
    if not text:
        return f"empty body with HTTP status {status}"
    kind = one_line(headers.get("content-type", "no content type"))
    return f"the body is not readable JSON ({kind}): {text}"


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, an over-long integer, too deeply nested
        return None


def _text_of(body: bytes) -> str:
    return body[:4000].decode("utf-8", "replace")


def _shown(value: Any) -> str:
    try:
        return json.dumps(value)[:4000]
    except RecursionError:
        return "a deeply nested value"


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

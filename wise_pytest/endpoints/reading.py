"""What the protocols share in reading a reply: from bytes to an object, and from its parts to a status.

A protocol finds its own fields, puts what it found into a ``Message``, and lets
``conclude`` decide. So one rule says for all of them what a thought is, what an
empty answer is, and what is none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from wise_pytest.endpoints.messages import error_message, is_moderation, one_line
from wise_pytest.endpoints.model import Part, Reply
from wise_pytest.records import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.records import Status

_MAX_SHOWN = 4000


@dataclass(frozen=True, slots=True)
class Endings:
    """A protocol's finish reasons, and what they mean; any other is unknown, and an error."""

    finished: Mapping[str, Status]
    failed: Mapping[str, str]
    """Why a reply that ended so is no answer."""
    may_be_missing: bool = False
    """Whether a text without a finish reason counts as one that stopped normally."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a reply's message holds, as far as its protocol could tell."""

    text: str | None
    """What stood in fields for visible text; ``None`` where there is no such field."""
    parts: tuple[Part, ...] = ()
    refusal: str | None = None
    flags: tuple[str, ...] = ()
    problem: str | None = None
    """Why the content cannot be told."""

    @property
    def has_thought(self) -> bool:
        """Whether the model has thought aloud in a place of its own."""
        return any(part.thought and part.text.strip() for part in self.parts)

    @property
    def is_thought_only(self) -> bool:
        """Whether there is a thought, and nothing that a user would see."""
        return self.has_thought and not (self.text or "").strip() and self.refusal is None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a reply says of itself beside the message."""

    usage: Usage = field(default_factory=Usage)
    served_model: str | None = None


def opened(status: int, headers: Mapping[str, str], body: bytes) -> dict[str, Any] | Reply:
    """The decoded object of a success; the final reading of everything else."""
    payload = _decoded(body)
    if not 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        return _http_error(status, headers, body, payload)
    if payload is None:
        return Reply(status="error", reason=_not_json(status, headers, body))
    if isinstance(payload, dict):
        return payload
    if isinstance(payload, list) and len(payload) == 1 and isinstance(payload[0], dict):
        complaint = payload[0].get("error")
        if complaint:
            return Reply(status="error", reason=complaint_reason(complaint))
    return Reply(status="error", reason=f"the reply is not a JSON object: {one_line(_text_of(body))}")


def conclude(finish: Any, message: Message, endings: Endings, origin: Origin) -> Reply:
    """The reading of a message, from why it ended and what it holds."""
    status, reason = _outcome(finish, message, endings)
    text = message.text if message.text or message.refusal is None else message.refusal
    if status not in ("error", "blocked"):
        text = text or ""
    return Reply(
        status=status,
        text=text,
        finish_reason=finish if isinstance(finish, str) else None,
        flags=_flags(text, finish=finish, message=message),
        usage=origin.usage,
        served_model=origin.served_model,
        reason=reason,
        parts=message.parts,
    )


def unusable(reason: str, origin: Origin) -> Reply:
    """The reading of a reply that holds no message."""
    return Reply(status="error", reason=reason, usage=origin.usage, served_model=origin.served_model)


def complaint_reason(complaint: Any) -> str:
    """What to say of an error that came with a success."""
    return f"the provider reports an error: {error_message({'error': complaint}) or 'it does not say which'}"


def count(value: Any) -> int | None:
    """``value`` if it counts something."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def is_name(value: Any) -> TypeGuard[str]:
    """Whether ``value`` is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def shown(value: Any) -> str:
    """A decoded value in one line, for a reason."""
    try:
        return one_line(json.dumps(value)[:_MAX_SHOWN])
    except RecursionError:
        return "a deeply nested value"


def _outcome(finish: Any, message: Message, endings: Endings) -> tuple[Status, str | None]:
    """Status and reason of a message from why it ended and what it holds."""
    if message.problem is not None:
        return "error", message.problem
    if finish is None:
        status, reason = _without_finish(message, endings)
    elif not isinstance(finish, str) or finish not in endings.finished.keys() | endings.failed.keys():
        status, reason = "error", f"unknown finish reason {shown(finish)}"
    elif finish in endings.failed:
        status, reason = "error", f"finish reason {finish!r}: {endings.failed[finish]}"
    else:
        status, reason = _finished(endings.finished[finish], finish, message)
    if message.refusal is not None and status in ("ok", "truncated"):
        status = "refused"
    return status, reason


def _without_finish(message: Message, endings: Endings) -> tuple[Status, str | None]:
    if not message.text and not message.refusal:
        return "error", "the reply holds neither text nor a finish reason"
    if endings.may_be_missing:
        return "ok", None  # Ollama may leave the reason out; the flag says so
    return "error", "the reply holds no finish reason"


def _finished(status: Status, finish: str, message: Message) -> tuple[Status, str | None]:
    if status == "blocked":
        return status, f"the provider withheld the output (finish reason {finish!r})"
    if status == "ok" and message.is_thought_only:
        # Not an empty answer: the answer is where nobody looks, or was never given. That is a fault
        # of how the endpoint is set up, and must not count as one of the wording.
        return "error", (
            "the reply holds a thought and no answer; switch thinking off, or have the server "
            "tell thoughts from answers"
        )
    if status == "ok" and message.text is None and message.refusal is None:
        return "error", "the message holds no field for text"
    return status, None


def _flags(text: str | None, *, finish: Any, message: Message) -> tuple[str, ...]:
    flags = list(message.flags)
    if finish is None:
        flags.append("finish_reason_missing")
    if message.has_thought:
        flags.append("thought_parts")
    if message.is_thought_only:
        flags.append("reasoning_only")
    if text and not _is_unicode(text):
        flags.append("lone_surrogate")
    return tuple(flags)


def _http_error(status: int, headers: Mapping[str, str], body: bytes, payload: Any) -> Reply:
    # A JSON body without any of the known fields is quoted as it stands.
    said = error_message(payload) or (
        one_line(_text_of(body)) if payload else _not_json(status, headers, body)
    )
    # Moderation of the prompt comes as an HTTP error, yet it is the provider withholding an answer.
    withheld = is_moderation(payload)
    return Reply(status="blocked" if withheld else "error", reason=f"HTTP {status}: {said}")


def _not_json(status: int, headers: Mapping[str, str], body: bytes) -> str:
    """What to say of a body that says nothing in JSON."""
    text = one_line(_text_of(body))
    if not text:
        return f"empty body with HTTP status {status}"
    kind = one_line(headers.get("content-type", "no content type"))
    if body.lstrip()[:1] == b"<" and 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        return f"the server answered with a web page ({kind}); is the base URL that of an API? {text}"
    return f"the body is not readable JSON ({kind}): {text}"


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, an over-long integer, too deeply nested
        return None


def _text_of(body: bytes) -> str:
    return body[:_MAX_SHOWN].decode("utf-8", "replace")


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

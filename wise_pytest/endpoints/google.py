"""Google's generateContent protocol.

``build_request`` and ``read_reply`` are pure; ``protocols.py`` lists them. The
model is part of the path, and fields that are empty are left out of a reply: a
thought that used up the cap leaves a candidate without parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

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

CONFIG = "generationConfig"
RESERVED = frozenset(
    {
        *("contents", "systemInstruction"),
        *(f"{CONFIG}.{name}" for name in ("candidateCount", "maxOutputTokens", "seed", "temperature")),
        *(f"{CONFIG}.{name}" for name in ("responseMimeType", "responseSchema", "stopSequences")),
    }
)
"""Body parameters that are decided elsewhere, or change what a reply is."""

_ENDINGS = Endings(
    finished={
        "STOP": "ok",
        "MAX_TOKENS": "truncated",
        "SAFETY": "blocked",
        "RECITATION": "blocked",
        "LANGUAGE": "blocked",
        "BLOCKLIST": "blocked",
        "PROHIBITED_CONTENT": "blocked",
        "SPII": "blocked",
        "OTHER": "blocked",
    },
    failed={
        "MALFORMED_FUNCTION_CALL": "the model asked for a function, and none was offered",
        "UNEXPECTED_TOOL_CALL": "the model asked for a tool, and none was offered",
    },
)
_MARKS = frozenset({"thought", "thoughtSignature"})
"""Fields that may stand beside a part's content, or alone."""
_MODEL_PREFIX = "models/"


def build_request(prompt: str, endpoint: Endpoint, decoding: Decoding, key: str | None) -> HttpRequest:
    """Write the request for one generation; no seed is sent: repetitions are meant to differ.

    The key goes into a header, never into the query, which ends up in logs.
    """
    config: dict[str, Any] = {**endpoint.extra.get(CONFIG, {}), endpoint.cap_field: decoding.max_tokens}
    if endpoint.temperature:
        config["temperature"] = decoding.temperature
    body = {
        **endpoint.extra,
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        CONFIG: config,
    }
    headers = {} if key is None else {"x-goog-api-key": Secret(key)}
    model = quote(endpoint.api_model.removeprefix(_MODEL_PREFIX), safe="")
    return post(f"{endpoint.base_url}/{_MODEL_PREFIX}{model}:generateContent", body, headers)


def read_reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Read one reply; whatever the bytes, the answer is a ``Reply``.

    The status ``ok`` is only given to text of parts that are no thought, in a
    candidate that says it stopped normally.
    """
    payload = opened(status, headers, body)
    if isinstance(payload, Reply):
        return payload
    served = payload.get("modelVersion")
    name = served.removeprefix(_MODEL_PREFIX) if is_name(served) else None
    origin = Origin(_usage(payload.get("usageMetadata")), name or None)
    complaint = payload.get("error")
    if complaint:
        return unusable(complaint_reason(complaint), origin)
    candidates = payload.get("candidates")
    if not candidates:
        return _without_candidates(payload, origin)
    candidate = candidates[0] if isinstance(candidates, list) else None
    if not isinstance(candidate, dict):
        return unusable(f"the reply holds no candidate: {shown(candidates)}", origin)
    return conclude(candidate.get("finishReason"), _message(candidate), _ENDINGS, origin)


def _without_candidates(payload: dict[str, Any], origin: Origin) -> Reply:
    feedback = payload.get("promptFeedback")
    why = feedback.get("blockReason") if isinstance(feedback, dict) else None
    if not is_name(why):
        said = error_message(payload)
        return unusable(
            f"the reply holds no candidates: {said}" if said else "the reply holds no candidates", origin
        )
    return Reply(
        status="blocked",
        finish_reason=why,
        usage=origin.usage,
        served_model=origin.served_model,
        reason=f"the provider did not let the prompt through (block reason {shown(why)})",
    )


def _message(candidate: dict[str, Any]) -> Message:
    content = candidate.get("content")
    if content is None:
        return Message(None)
    parts = content.get("parts", []) if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return Message(None, problem=f"the candidate's content holds no list of parts: {shown(content)}")
    found: list[Part] = []
    for part in parts:
        thought = part.get("thought") if isinstance(part, dict) else None
        # A mark of another type may mean anything, and a thought must not pass for an answer.
        is_known = isinstance(part, dict) and (thought is None or isinstance(thought, bool))
        if is_known and isinstance(part.get("text"), str):
            kind = "thought" if thought else "text"
            found.append(Part(kind=kind, thought=bool(thought), text=part["text"]))
        elif not is_known or part.keys() - _MARKS:
            problem = f"the content holds a part that is not known: {shown(part)}"
            return Message(None, tuple(found), problem=problem)
    visible = "".join(part.text for part in found if not part.thought)
    return Message(visible, tuple(found))


def _usage(record: Any) -> Usage:
    """Tokens as other protocols count them: what was thought is part of the output.

    Google counts thoughts beside the output, and leaves out a count of none.
    """
    if not isinstance(record, dict):
        return Usage()
    answered = count(record.get("candidatesTokenCount"))
    thought = count(record.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=count(record.get("promptTokenCount")),
        output_tokens=None if answered is None and thought is None else (answered or 0) + (thought or 0),
        reasoning_tokens=thought,
    )

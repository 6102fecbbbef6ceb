"""Recordings made by hand, for tests that need some and have no server."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from wise_pytest.cassettes.pack import Exchange, Recording

if TYPE_CHECKING:
    from pathlib import Path

REQUEST_BODY = b'{"messages":[{"content":"Why? Use 5 words.","role":"user"}],"model":"m","temperature":0.2}'
REPLY_BODY = b'{"choices":[{"finish_reason":"stop","message":{"content":"a"}}]}'
AT = "2026-01-02T03:04:05.678Z"


def session(name: str = "s1") -> dict[str, Any]:
    """The description of a recording session."""
    return {"id": name, "software": {"vcrpy": "1"}}


def recording(
    item: str = "i1",
    form: str = "POS",
    repetition: int = 1,
    *,
    session: str = "s1",
    recorded_at: str = AT,
    url: str = "http://127.0.0.1:1/v1/chat/completions",
    request_body: bytes = REQUEST_BODY,
    reply_body: bytes = REPLY_BODY,
) -> Recording:
    return Recording(
        item=item,
        form=form,
        repetition=repetition,
        session=session,
        recorded_at=recorded_at,
        attempts=1,
        latency_s=0.25,
        exchange=Exchange(
            method="POST",
            url=url,
            request_headers={"content-type": ["application/json"]},
            request_body=request_body,
            status=200,
            message="OK",
            response_headers={"content-type": ["application/json"]},
            response_body=reply_body,
        ),
    )


def pack_bytes(*lines: bytes, **header: Any) -> bytes:
    """A pack as the format describes it, put together without the code that writes packs."""
    body = b"".join(lines)
    described = {
        "schema": "wise.cassette/1",
        "panel": "p",
        "model": "m",
        "recordings": len(lines),
        "sha256": None,
        "sessions": [session()],
        **header,
    }
    if "sha256" not in header:
        described["sha256"] = digest(described, body)
    return json.dumps(described).encode("ascii") + b"\n" + body


def digest(header: dict[str, Any], body: bytes) -> str:
    """What a header says of itself and of all after it: over the compact header whose own digest is null."""
    first = json.dumps({**header, "sha256": None}, separators=(",", ":")).encode("ascii") + b"\n"
    return hashlib.sha256(first + body).hexdigest()


def part_bytes(*lines: bytes, **header: Any) -> bytes:
    """A part: a header that neither counts nor digests, and what has been appended to it."""
    described = {"schema": "wise.cassette/1", "panel": "p", "model": "m", "sessions": [session()], **header}
    return json.dumps(described).encode("ascii") + b"\n" + b"".join(lines)


def write(path: Path, content: bytes) -> Path:
    """Write a file, its folder first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path

"""The packed cassette: all recordings of one model in one panel, one a line.

A pack is a text file of ASCII JSON lines. The first line is a header with the
full identity, the number of recordings and a SHA-256 over itself and all lines after it;
the others are recordings, sorted by item, form and repetition, so that a new
recording is a one-line difference in version control::

    {"schema":"wise.cassette/1","panel":…,"model":…,"recordings":1800,"sha256":…,"sessions":[…]}
    {"item":"i001","form":"AVOID1","repetition":1,"session":…,"recorded_at":…,"request":…,"response":…}

While recording, each process appends to a *part*: the same format with a
header that has no count and no digest, because it grows. A part whose last
line is cut was left by a crash; the cut line is dropped, the rest is whole.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.errors import CassetteError
from wise_pytest.files import read_limited, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

CASSETTE_SCHEMA = "wise.cassette/1"
MAX_PACK_BYTES = 1 << 30
"""A larger file is refused: some 500,000 recordings, where a panel has a few thousand."""
RESTORE = "restore it from version control, or delete it and record again"
UNREADABLE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What decoding a damaged line may raise: JSON can hold more than Python makes of it."""

RecordingKey: TypeAlias = tuple[str, str, int]
"""(item, form, repetition): unique in a pack."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request and its reply, scrubbed."""

    method: str
    url: str
    request_headers: Mapping[str, list[str]]
    request_body: bytes
    status: int
    message: str
    response_headers: Mapping[str, list[str]]
    response_body: bytes


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded cell: the exchange, and what is known of how it was made."""

    item: str
    form: str
    repetition: int
    session: str
    """Identifier of the recording session; the header describes it."""
    recorded_at: str
    attempts: int
    latency_s: float
    exchange: Exchange

    @property
    def key(self) -> RecordingKey:
        """The identity of this recording within its pack."""
        return (self.item, self.form, self.repetition)

    def to_line(self) -> bytes:
        """One line of ASCII JSON, with its line break."""
        exchange = self.exchange
        record = {
            # The key comes first, so that a pack can be indexed without decoding whole lines.
            "item": self.item,
            "form": self.form,
            "repetition": self.repetition,
            "session": self.session,
            "recorded_at": self.recorded_at,
            "attempts": self.attempts,
            "latency_s": round(self.latency_s, 6),
            "request": {
                "method": exchange.method,
                "uri": exchange.url,
                "headers": dict(exchange.request_headers),
                "body": _body_to_json(exchange.request_body),
            },
            "response": {
                "status": {"code": exchange.status, "message": exchange.message},
                "headers": dict(exchange.response_headers),
                "body": _body_to_json(exchange.response_body),
            },
        }
        return (json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n").encode("ascii")


@dataclass(frozen=True, slots=True)
class Contents:
    """What a pack or a part holds; lines stay encoded until they are asked for."""

    lines: Mapping[RecordingKey, bytes]
    sessions: tuple[Mapping[str, Any], ...]
    cut: bool = False
    """Whether the last line of a part was cut and dropped."""
    sha256: str | None = None
    """Of a pack: the digest that it carries, which was found to hold."""


def decode_line(line: bytes, *, where: str) -> Recording:
    """Build the recording that a line holds.

    Raises
    ------
    CassetteError
        If the line is not one that ``Recording.to_line`` writes.
    """
    try:
        record = json.loads(line)
        request, response = record["request"], record["response"]
        return Recording(
            item=_typed(record["item"], str),
            form=_typed(record["form"], str),
            repetition=_typed(record["repetition"], int),
            session=_typed(record["session"], str),
            recorded_at=_typed(record["recorded_at"], str),
            attempts=_typed(record["attempts"], int),
            latency_s=float(record["latency_s"]),
            exchange=Exchange(
                method=_typed(request["method"], str),
                url=_typed(request["uri"], str),
                request_headers=_headers(request["headers"]),
                request_body=_body_from_json(request["body"]),
                status=_typed(response["status"]["code"], int),
                message=_typed(response["status"]["message"], str),
                response_headers=_headers(response["headers"]),
                response_body=_body_from_json(response["body"]),
            ),
        )
    except UNREADABLE as error:
        raise CassetteError(
            f"{where}: not a recording ({type(error).__name__}: {error}); {RESTORE}"
        ) from error


def read_pack(path: Path, *, panel: str, model: str) -> Contents:
    """Read and check a packed cassette.

    Raises
    ------
    CassetteError
        If the file is cut, was changed after it was written, is from another
        version, or belongs to another panel or model.
    """
    header, body = _read(path)
    if header is None:
        raise CassetteError(f"{path}: is empty or cut in its first line; {RESTORE}")
    _check_identity(header, path, panel=panel, model=model)
    n_whole, expected = body.count(b"\n"), header.get("recordings")
    if n_whole != expected or not (body or b"\n").endswith(b"\n"):
        raise CassetteError(
            f"{path}: is cut or merged by hand: holds {n_whole} whole recordings, "
            f"and {expected} by its header; {RESTORE}"
        )
    if _digest(header, body) != header.get("sha256"):
        raise CassetteError(
            f"{path}: was changed after it was recorded (its SHA-256 does not match); {RESTORE}"
        )
    index: dict[RecordingKey, bytes] = {}
    for number, line in enumerate(_lines(body), start=2):
        key = _key_of(line, where=f"{path}:{number}")
        if key in index:
            raise CassetteError(f"{path}:{number}: a second recording of {key}; {RESTORE}")
        index[key] = line
    return Contents(index, _sessions(header, path), sha256=str(header["sha256"]))


def read_part(path: Path, *, panel: str, model: str) -> Contents:
    """Read what a recording process has written so far; a cut last line is dropped.

    Raises
    ------
    CassetteError
        If anything but the last line is damaged, or the part belongs elsewhere.
    """
    header, body = _read(path)
    if header is None:
        return Contents({}, (), cut=True)
    _check_identity(header, path, panel=panel, model=model)
    index: dict[RecordingKey, bytes] = {}
    cut = False
    for number, line in enumerate(_lines(body), start=2):
        if not line.endswith(b"\n"):
            cut = True
            break
        recording = decode_line(line, where=f"{path}:{number}")
        index[recording.key] = line
    return Contents(index, _sessions(header, path), cut)


def read_identity(path: Path) -> tuple[str, str] | None:
    """The panel and model that a pack or part says it belongs to; ``None`` where its first line is cut.

    Raises
    ------
    CassetteError
        If the file cannot be read, or its first line is no header of this version.
    """
    header, _ = _read(path)
    if header is None:
        return None
    try:
        return _typed(header["panel"], str), _typed(header["model"], str)
    except (KeyError, TypeError) as error:
        raise CassetteError(f"{path}: its header does not say whose it is; {RESTORE}") from error


def part_header(*, panel: str, model: str, session: Mapping[str, Any]) -> bytes:
    """The first line of a part."""
    return _line({"schema": CASSETTE_SCHEMA, "panel": panel, "model": model, "sessions": [session]})


def write_pack(
    path: Path,
    *,
    panel: str,
    model: str,
    lines: Mapping[RecordingKey, bytes],
    sessions: Iterable[Mapping[str, Any]],
    part_of: Mapping[str, Any] | None = None,
) -> None:
    """Write a packed cassette whole; sessions that no line refers to any more are left out.

    Parameters
    ----------
    part_of
        Of an excerpt: the pack that it was cut from. A pack that is written again is no excerpt any more.
    """
    ordered = [lines[key] for key in sorted(lines)]
    used = {_session_of(line, where=str(path)) for line in ordered}
    described = {str(session["id"]): session for session in sessions if session["id"] in used}
    body = b"".join(ordered)
    header = {
        "schema": CASSETTE_SCHEMA,
        "panel": panel,
        "model": model,
        "recordings": len(ordered),
        "sha256": None,
        "sessions": [described[name] for name in sorted(described)],
        **({} if part_of is None else {"part_of": dict(part_of)}),
    }
    header["sha256"] = _digest(header, body)
    write_whole(path, (_line(header) + body).decode("ascii"), error=CassetteError, durable=True)


def _digest(header: Mapping[str, Any], body: bytes) -> str:
    """SHA-256 over the header, its own digest as null, and all lines after it."""
    return hashlib.sha256(_line({**header, "sha256": None}) + body).hexdigest()


def _read(path: Path) -> tuple[Mapping[str, Any] | None, bytes]:
    """The header and all that follows; no header at all where the first line is cut."""
    try:
        content = read_limited(path, MAX_PACK_BYTES)
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror or error}") from error
    first, line_break, body = content.partition(b"\n")
    if not line_break:
        return None, b""
    if first.endswith(b"\r"):
        raise CassetteError(
            f"{path}: its line ends were converted to CRLF; mark it as '-text' in .gitattributes and check "
            f"it out again"
        )
    try:
        header = json.loads(first)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or "schema" not in header:
        raise CassetteError(f"{path}: its first line is no cassette header; {RESTORE}")
    if header["schema"] != CASSETTE_SCHEMA:
        raise CassetteError(
            f"{path}: is a cassette of the version {header['schema']!r}, this version reads "
            f"{CASSETTE_SCHEMA!r}; use the wise-pytest that wrote it, or record again"
        )
    return header, body


def _check_identity(header: Mapping[str, Any], path: Path, *, panel: str, model: str) -> None:
    for name, wanted in (("panel", panel), ("model", model)):
        if header.get(name) != wanted:
            raise CassetteError(
                f"{path}: belongs to the {name} {header.get(name)!r}, not {wanted!r}; {RESTORE}"
            )


def _sessions(header: Mapping[str, Any], path: Path) -> tuple[Mapping[str, Any], ...]:
    sessions = header.get("sessions")
    if not isinstance(sessions, list) or not all(
        isinstance(session, dict) and "id" in session for session in sessions
    ):
        raise CassetteError(f"{path}: its header does not say how it was recorded; {RESTORE}")
    return tuple(sessions)


def _key_of(line: bytes, *, where: str) -> RecordingKey:
    """The key of a line; the pack's digest vouches for the rest."""
    record = _beginning(line, before=b',"session":', where=where)
    try:
        return (
            _typed(record["item"], str),
            _typed(record["form"], str),
            _typed(record["repetition"], int),
        )
    except UNREADABLE as error:
        raise CassetteError(f"{where}: not a recording; {RESTORE}") from error


def _session_of(line: bytes, *, where: str) -> str:
    """The session that made a recording; of a line that is known to hold one."""
    return str(_beginning(line, before=b',"recorded_at":', where=where)["session"])


def _beginning(line: bytes, *, before: bytes, where: str) -> Any:
    """The first fields of a line, decoded alone: most of its length is in the others."""
    try:
        return json.loads(line[: line.index(before)] + b"}")
    except UNREADABLE as error:
        raise CassetteError(f"{where}: not a recording; {RESTORE}") from error


def _lines(body: bytes) -> Iterator[bytes]:
    """Lines with their ends, and none but line feeds end one; ``bytes.splitlines`` knows others."""
    return iter(io.BytesIO(body))


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n").encode("ascii")


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        # Without the value: it may be long, and it may be what a recording must not show.
        raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")
    return value


def _headers(value: Any) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = _typed(value, dict)
    for parts in headers.values():
        if not {str}.issuperset(map(type, _typed(parts, list))):
            raise TypeError("expected texts")
    return headers


def _body_to_json(body: bytes) -> str | dict[str, str]:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode("ascii")}


def _body_from_json(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    try:
        return base64.b64decode(_typed(value, dict)["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error

"""A real HTTP server on 127.0.0.1 that stands in for a provider in tests.

It speaks three protocols, each at the path where its provider has it, and
misbehaves on demand in any of them:

- OpenAI-compatible, on ``/v1/chat/completions`` (and ``/v1/models``);
- Anthropic messages, on ``/v1/messages``;
- Google generateContent, on ``/v1beta/models/NAME:generateContent``.

::

    with LoopbackServer() as server:                         # deterministic answers
        ask(server.base_url)
        assert server.count("What is rain?") == 1

    with LoopbackServer([Answer(status=429), completion("Fine.")]) as server: ...

    def script(request, n):                                  # n: earlier requests with this prompt
        return Answer(cut=10) if n == 0 else None            # None: the default answer
    with LoopbackServer(script) as server: ...

    with LoopbackServer(["Fine."]) as server: ...            # a text, in whichever protocol is asked

The default answer to a prompt is a text derived from it that begins with A the
first time, with B the second time, and so on: two repetitions never get the
same one.

As a program, ``python tests/loopback.py --port 0`` prints the port it listens
on and serves until it is ended.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import socket
import struct
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


ENDINGS = {
    "openai": "/chat/completions",
    "anthropic": "/messages",
    "google": ":generateContent",
}
"""How the path of a request ends, by protocol."""
VERSIONS = {"openai": "/v1", "anthropic": "/v1", "google": "/v1beta"}
"""The version path of each protocol's base URL."""


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded body, ``None`` if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def protocol(self) -> str | None:
        """Which protocol's path was asked, ``None`` for any other path."""
        path = urlsplit(self.path).path
        for protocol, ending in ENDINGS.items():
            if path.endswith(ending):
                return protocol
        return None

    @property
    def prompt(self) -> str | None:
        """The content of the last message of a chat request, in any protocol."""
        try:
            if self.protocol == "google":
                content = self.json["contents"][-1]["parts"][-1]["text"]
            else:
                content = self.json["messages"][-1]["content"]
        except (TypeError, KeyError, IndexError):
            return None
        return content if isinstance(content, str) else None

    @property
    def model(self) -> str:
        """The model that is asked for, in any protocol."""
        if self.protocol == "google":
            name = urlsplit(self.path).path.rpartition("/")[2].removesuffix(ENDINGS["google"])
            return unquote(name)
        return str((self.json or {}).get("model", "loopback"))

    @property
    def key(self) -> str | None:
        """The key that came in the protocol's own header."""
        header = {"anthropic": "x-api-key", "google": "x-goog-api-key"}.get(str(self.protocol))
        if header is not None:
            return self.headers.get(header)
        return (
            self.headers["authorization"].removeprefix("Bearer ") if "authorization" in self.headers else None
        )


@dataclass(frozen=True)
class Answer:
    """One scripted reply. ``body`` may be JSON-like (dict or list), text or bytes."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent as they are; a content type and a length are added unless given here."""
    delay_s: float = 0.0
    """Pause before anything is sent."""
    reset: bool = False
    """Reset the connection instead of answering."""
    cut: int | None = None
    """Close the connection after so many bytes of the body."""
    chunked: bool = False
    """Send the body in chunks of 7 bytes instead of giving its length."""
    drip_s: float = 0.0
    """Pause after every single byte of the body."""
    head_drip_s: float = 0.0
    """Pause after every single byte of the head."""


Reply: TypeAlias = "Answer | dict[str, Any] | str | None"
"""A dict is a JSON body with status 200, a text is said in the protocol asked; ``None`` is the default."""
Script: TypeAlias = "Callable[[Received, int], Reply] | Iterable[Reply]"
"""A function of the request and the number of earlier requests with its prompt, or replies to use in turn."""


def completion(text: str | None, finish_reason: str | None = "stop", **extra: Any) -> dict[str, Any]:
    """The body of a chat completion; ``extra`` adds or replaces top-level fields."""
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 1,
        "model": "loopback",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": len((text or "").split())},
        **extra,
    }


def message(text: str, stop_reason: str | None = "end_turn", **extra: Any) -> dict[str, Any]:
    """The body of a reply of Anthropic's; ``extra`` adds or replaces top-level fields."""
    return {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": "loopback",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": len(text.split())},
        **extra,
    }


def candidate(text: str, finish_reason: str | None = "STOP", **extra: Any) -> dict[str, Any]:
    """The body of a reply of Google's; ``extra`` adds or replaces top-level fields."""
    return {
        "candidates": [
            {
                "content": {"parts": [{"text": text}], "role": "model"},
                "finishReason": finish_reason,
                "index": 0,
            }
        ],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": len(text.split())},
        "modelVersion": "loopback",
        "responseId": "response-loopback",
        **extra,
    }


def saying(request: Received, text: str) -> dict[str, Any]:
    """A good reply with this text and the model asked for, in the protocol of the request."""
    n_in, n_out = len((request.prompt or "").split()), len(text.split())
    if request.protocol == "anthropic":
        return message(text, model=request.model, usage={"input_tokens": n_in, "output_tokens": n_out})
    if request.protocol == "google":
        usage = {"promptTokenCount": n_in, "candidatesTokenCount": n_out}
        return candidate(text, modelVersion=request.model, usageMetadata=usage)
    usage = {"prompt_tokens": n_in, "completion_tokens": n_out}
    return completion(text, model=request.model, usage=usage)


def error(message: str, **fields: Any) -> dict[str, Any]:
    """The body of an error in OpenAI's shape, such as ``error("slow down", code="rate_limit")``."""
    return {"error": {"message": message, **fields}}


def default_text(prompt: str, n: int) -> str:
    """The ``n``-th default answer (from 0) to ``prompt``: 4 to 12 words."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    letter = chr(ord("A") + n % 26) + ("" if n < 26 else str(n // 26))
    n_words = 4 + int(digest[:8], 16) % 9
    return " ".join([letter, *(digest[3 * i : 3 * i + 3] for i in range(1, n_words))])


class LoopbackServer:
    """A provider on 127.0.0.1, for use as a context manager.

    Parameters
    ----------
    script
        What to answer instead of, or before, the default; may be replaced while serving.
    port
        0 for any free one.
    delay_s
        Pause before every default answer.
    models
        What ``GET /v1/models`` lists.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        port: int = 0,
        delay_s: float = 0.0,
        models: Iterable[str] = ("loopback",),
    ) -> None:
        self.requests: list[Received] = []
        """Everything that arrived, in order."""
        self.problems: list[str] = []
        """Errors of this server itself; ``close`` raises if there are any."""
        self.delay_s = delay_s
        self.models = tuple(models)
        self.pages: dict[str, Answer] = {}
        """Answers to paths of their own; they come before everything else."""
        self.script = script
        self._lock = threading.Lock()
        self._counts: Counter[str | None] = Counter()
        self._n_defaults: Counter[str | None] = Counter()
        self._stopping = threading.Event()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self.port = int(self._http.server_address[1])
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, name="loopback"
        )

    @property
    def script(self) -> Script | None:
        return self._script

    @script.setter
    def script(self, script: Script | None) -> None:
        self._script = script
        self._queue: Iterator[Reply] = iter(()) if script is None or callable(script) else iter(script)

    @property
    def base_url(self) -> str:
        """What to give as ``--model NAME=BASE_URL``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def url(self, protocol: str) -> str:
        """The base URL of one of the three protocols."""
        return f"http://127.0.0.1:{self.port}{VERSIONS[protocol]}"

    @property
    def n_requests(self) -> int:
        """How many chat requests have arrived."""
        with self._lock:
            return sum(self._counts.values())

    def count(self, prompt: str) -> int:
        """How many chat requests with this prompt have arrived."""
        with self._lock:
            return self._counts[prompt]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop, end every connection, and wait for all threads."""
        self._stopping.set()
        self._http.shutdown()
        self._http.end_connections()
        self._http.server_close()
        self._thread.join()
        if self.problems:
            raise AssertionError(f"the loopback server failed: {self.problems}")

    def answer(self, request: Received) -> Answer:
        """Decide what to send back."""
        path = urlsplit(request.path).path
        if path in self.pages:
            with self._lock:
                self.requests.append(request)
            return self.pages[path]
        if request.method == "GET" and path.endswith("/models"):
            with self._lock:
                self.requests.append(request)
            return Answer(
                {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
            )
        with self._lock:
            self.requests.append(request)
            if request.protocol is None:
                return Answer(error(f"no such path: {path}"), status=404)
            prompt = request.prompt
            n = self._counts[prompt]
            self._counts[prompt] += 1
            scripted = None if callable(self._script) else next(self._queue, None)
        if callable(self._script):
            scripted = self._script(request, n)
        if scripted is None:
            with self._lock:
                text = default_text(prompt or "", self._n_defaults[prompt])
                self._n_defaults[prompt] += 1
            return Answer(saying(request, text), delay_s=self.delay_s)
        if isinstance(scripted, str):
            scripted = saying(request, scripted)
        return scripted if isinstance(scripted, Answer) else Answer(scripted)

    def pause(self, seconds: float) -> None:
        """Wait, but never longer than the server lives."""
        if seconds > 0:
            self._stopping.wait(seconds)


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for them, so that no socket outlives its test
    request_queue_size = 128
    owner: LoopbackServer

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        with self._open_lock:
            for connection in self._open:
                with contextlib.suppress(OSError):  # the other side was faster
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        problem = sys.exception()
        if not isinstance(problem, ConnectionError):  # a client that goes away is no fault of ours
            self.owner.problems.append(repr(problem))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = owner.answer(Received(self.command, self.path, headers, body))
        owner.pause(answer.delay_s)
        if answer.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        head, payload = _encode(answer)
        if answer.cut is not None:
            payload = payload[: answer.cut]
            self.close_connection = True
        self._write(head, answer.head_drip_s, rest=b"" if answer.drip_s else payload)
        if answer.drip_s:
            self._write(payload, answer.drip_s)

    def _write(self, data: bytes, drip_s: float, rest: bytes = b"") -> None:
        if drip_s:
            for i in range(len(data)):
                self.wfile.write(data[i : i + 1])
                self.server.owner.pause(drip_s)
            data = b""
        if data or rest:
            self.wfile.write(data + rest)


def _encode(answer: Answer) -> tuple[bytes, bytes]:
    """Head and body as bytes."""
    body = answer.body
    kind = "application/json"
    if isinstance(body, str):
        body, kind = body.encode("utf-8", "surrogatepass"), "text/html; charset=utf-8"
    elif not isinstance(body, bytes):
        body = json.dumps(body).encode("ascii")
    headers = {"content-type": kind, **{name.lower(): value for name, value in answer.headers.items()}}
    if answer.chunked:
        headers["transfer-encoding"] = "chunked"
        pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    else:
        headers.setdefault("content-length", str(len(body)))
    lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1"), body


def main() -> None:
    """Serve until ended; the first line of output is the port."""
    parser = argparse.ArgumentParser(description="A stand-in for a provider, on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every answer")
    options = parser.parse_args()
    with LoopbackServer(port=options.port, delay_s=options.delay) as server:
        print(server.port, flush=True)  # noqa: T201 - how the caller learns the port
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()

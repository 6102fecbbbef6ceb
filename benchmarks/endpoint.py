"""An endpoint for benchmarks, in a process of its own: OpenAI's protocol, a latency, and faults on demand.

It runs on one event loop, so that hundreds of requests may wait at once and its
own work per request stays far under a millisecond.

    python benchmarks/endpoint.py --delay 0.2 [--faults 0.2] [--seed 1]

The first line of output is the port. ``GET /count`` says how often each prompt
was asked, ``GET /models`` nothing that anybody needs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

KINDS = (
    "busy",
    "overloaded",
    "broken",
    "reset",
    "cut",
    "empty",
    "error in a success",
    "not JSON",
    "refused input",
)
"""Faults: those that may pass hit a request once or for ever, the last two are final."""
FINAL = frozenset({"not JSON", "refused input"})


class Endpoint:
    """What answers."""

    def __init__(self, *, delay_s: float, share: float, seed: int, same: bool) -> None:
        self.delay_s = delay_s
        self.share = share
        self.seed = seed
        self.same = same
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line[15:])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length:")
                    ),
                    0,
                )
                body = await reader.readexactly(length)
                path = head.split(b" ", 2)[1].decode("ascii")
                if not await self.answer(path, body, writer):
                    break
        writer.close()

    async def answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        if path.endswith("/count"):
            write(writer, 200, {"asked": self.asked, "answered": self.answered})
            return True
        if not path.endswith("/chat/completions"):
            write(writer, 404, {"error": "no such path"})
            return True
        request = json.loads(body)
        prompt = request["messages"][-1]["content"]
        n = self.asked[prompt]
        self.asked[prompt] += 1
        await asyncio.sleep(self.delay_s)
        fault = fault_of(prompt, n, share=self.share, seed=self.seed)
        if fault is not None:
            return misbehave(fault, writer)
        number = 0 if self.same else self.answered[prompt]
        write(writer, 200, completion(prompt, number, request["model"]))
        self.answered[prompt] += 1
        return True


def chance(*parts: object) -> float:
    """A number from 0 to 1 that depends on the parts alone."""
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def fault_of(prompt: str, n: int, *, share: float, seed: int) -> str | None:
    """The fault that the ``n``-th request with this prompt meets, if any."""
    if chance(seed, "hit", prompt, n) >= share:
        return None
    return KINDS[int(chance(seed, "kind", prompt, n) * len(KINDS))]


def completion(prompt: str, n: int, model: str) -> dict[str, Any]:
    """The ``n``-th answer to a prompt: 4 to 12 words."""
    n_prompt, n_words = len(prompt.split()), 4 + int(9 * chance("words", prompt))
    text = " ".join([f"answer{n}", *(f"word{i}" for i in range(1, n_words))])
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": n_prompt,
            "completion_tokens": n_words,
            "total_tokens": n_prompt + n_words,
        },
    }


def misbehave(fault: str, writer: asyncio.StreamWriter) -> bool:
    """Send what the fault is; whether the connection goes on."""
    if fault == "busy":
        write(writer, 429, {"error": {"message": "slow down"}}, "retry-after-ms: 50")
    elif fault == "overloaded":
        write(writer, 529, {"error": {"message": "overloaded"}})
    elif fault == "broken":
        write(writer, 500, {"error": {"message": "oops"}})
    elif fault == "reset":
        writer.transport.abort()
        return False
    elif fault == "cut":
        writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"choices":[')
        return False
    elif fault == "empty":
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\n\n")
    elif fault == "error in a success":
        write(writer, 200, {"choices": None, "error": {"code": 503, "message": "busy"}})
    elif fault == "not JSON":
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>")
    else:
        write(writer, 400, {"error": {"message": "no"}})
    return True


def write(writer: asyncio.StreamWriter, status: int, body: object, *headers: str) -> None:
    payload = json.dumps(body).encode("ascii")
    lines = (f"HTTP/1.1 {status} -", "content-type: application/json", f"content-length: {len(payload)}")
    writer.write("\r\n".join((*lines, *headers, "", "")).encode("ascii") + payload)


class Running:
    """The endpoint as a process, for use as a context manager."""

    def __init__(
        self, *, delay_s: float, faults: float = 0.0, seed: int = 1, port: int = 0, same: bool = False
    ) -> None:
        arguments = ["--port", str(port), "--delay", str(delay_s), "--faults", str(faults)]
        arguments += ["--seed", str(seed), *(["--same"] if same else [])]
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), *arguments], stdout=subprocess.PIPE, text=True
        )
        if self._process.stdout is None:
            raise SystemExit("the endpoint has no output")
        self.base_url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()

    def counts(self) -> dict[str, dict[str, int]]:
        """How often each prompt was asked, and answered well."""
        with urllib.request.urlopen(f"{self.base_url}/count") as reply:
            found: dict[str, dict[str, int]] = json.load(reply)
        return found


async def run(options: argparse.Namespace) -> None:
    endpoint = Endpoint(delay_s=options.delay, share=options.faults, seed=options.seed, same=options.same)
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", options.port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delay", type=float, default=0.2, help="seconds before every answer")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--same", action="store_true", help="give a prompt the same answer every time")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()

"""HTTP/1.1 over real sockets, byte by byte: framing, kept connections, compression, TLS, many addresses."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from typing import TYPE_CHECKING, Self

import pytest

from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.transport import connecting, direct
from wise_pytest.transport.policy import Policy
from wise_pytest.transport.wire import Wire, WireError, WireReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("little_to_collect")
ENOUGH = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Peer:
    """A server that reads requests and answers each with the next of some bytes, whatever they are.

    A reply that is ``None`` hangs up, and one that ends with ``HANG_UP`` hangs up after it.
    """

    HANG_UP = b"<hang up>"

    def __init__(self, *replies: bytes | None, trust: ssl.SSLContext | None = None) -> None:
        self._replies = list(replies)
        self._trust = trust
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.requests: list[tuple[int, bytes]] = []
        """The number of the connection, and what came over it."""
        self._threads: list[threading.Thread] = []
        self._streams: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                stream, _ = self._listening.accept()
            except OSError:
                return
            self._start(self._serve, stream, number)
            number += 1

    def _serve(self, stream: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            secured = stream if self._trust is None else self._trust.wrap_socket(stream, server_side=True)
            self._streams.append(secured)
            with secured:
                secured.settimeout(10)
                while request := _read_request(secured):
                    self.requests.append((number, request))
                    reply = self._replies.pop(0) if self._replies else ENOUGH
                    if reply is None:
                        return
                    secured.sendall(reply.removesuffix(self.HANG_UP))
                    if reply.endswith(self.HANG_UP):
                        return


def _read_request(stream: socket.socket) -> bytes:
    seen = b""
    while b"\r\n\r\n" not in seen or not seen.endswith(b"}"):
        piece = stream.recv(65536)
        if not piece:
            return b""
        seen += piece
    return seen


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire(Policy(timeout_s=10, max_body_bytes=1000))
    yield made
    made.close()
    gc.collect()  # what was not closed warns now, and warnings are errors


def ask(wire: Wire, port: int, *, host: str = "127.0.0.1", scheme: str = "http") -> WireReply:
    return wire.exchange(HttpRequest("POST", f"{scheme}://{host}:{port}/v1/x?y=1", {"a-b": "c"}, b"{}"))


def failure(wire: Wire, port: int, **where: str) -> WireError:
    with pytest.raises(WireError) as caught:
        ask(wire, port, **where)
    return caught.value


def test_a_request_says_where_it_goes_who_sends_it_and_how_long_it_is(wire: Wire):
    with Peer() as peer:
        ask(wire, peer.port)
        ((_, request),) = peer.requests
    head, _, body = request.partition(b"\r\n\r\n")
    first, *headers = head.split(b"\r\n")
    assert first == b"POST /v1/x?y=1 HTTP/1.1"
    sent = dict(header.lower().split(b": ", 1) for header in headers)
    assert len(sent) == len(headers)  # each once
    assert sent.pop(b"user-agent").startswith(b"wise-pytest/")
    assert sent == {
        b"host": b"127.0.0.1:%d" % peer.port,
        b"a-b": b"c",
        b"accept": b"*/*",
        b"accept-encoding": b"identity",
        b"connection": b"keep-alive",
        b"content-length": b"2",
    }
    assert body == b"{}"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(ENOUGH, id="length"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + ENOUGH, id="continue"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\nt: u\r\n\r\n",
            id="chunks with a trailer",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nok" + Peer.HANG_UP, id="until the end"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nok" + Peer.HANG_UP, id="HTTP/1.0"),
    ],
)
def test_a_body_ends_where_http_says(wire: Wire, reply: bytes):
    with Peer(reply) as peer:
        assert ask(wire, peer.port).body == b"ok"
        assert ask(wire, peer.port).body == b"ok"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok" + Peer.HANG_UP, "closed or broke the reply"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n" + Peer.HANG_UP,
            "closed or broke",
        ),
        (b"HTTP/1.1 20" + Peer.HANG_UP, "closed or broke the reply"),
        (b"SSH-2.0-x\r\n\r\n", "closed or broke the reply"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", "closed or broke the reply"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n", "closed or broke the reply"),
        (None, "it hung up without one"),
    ],
)
def test_a_reply_that_is_not_whole_is_none(wire: Wire, reply: bytes | None, says: str):
    with Peer(reply) as peer:
        error = failure(wire, peer.port)
        assert says in str(error)
        assert (error.may_pass, error.sent) == (True, True)
        assert ask(wire, peer.port).body == b"ok"
        assert [number for number, _ in peer.requests] == [0, 1]  # the first connection is of no more use


# Kept connections


def test_a_connection_is_used_again(wire: Wire):
    with Peer() as peer:
        for _ in range(3):
            ask(wire, peer.port)
        assert [number for number, _ in peer.requests] == [0, 0, 0]


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", id="announced"),
        pytest.param(ENOUGH + Peer.HANG_UP, id="unannounced"),
        pytest.param(ENOUGH + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake", id="a second reply"),
    ],
)
def test_a_connection_that_was_left_is_not(wire: Wire, last: bytes):
    with Peer(last) as peer:
        ask(wire, peer.port)
        time.sleep(0.2)  # that the other side has hung up is known by now
        assert ask(wire, peer.port).body == b"ok"
        assert [number for number, _ in peer.requests] == [0, 1]


def test_a_connection_is_not_kept_for_long(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(direct, "KEPT_S", 0.05)
    with Peer() as peer:
        ask(wire, peer.port)
        time.sleep(0.1)
        ask(wire, peer.port)
        assert [number for number, _ in peer.requests] == [0, 1]


def test_a_server_that_speaks_unasked_is_left(wire: Wire):
    with Peer() as peer:
        ask(wire, peer.port)
        peer._replies[:] = [ENOUGH + b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"]
        ask(wire, peer.port)
        assert ask(wire, peer.port).status == 200


# Compression, which was not asked for


def compressed(coding: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode("ascii") + body


GZIPPED = gzip.compress(b"ok", mtime=0)
RAW_DEFLATE = zlib.compressobj(wbits=-15)
RAW = RAW_DEFLATE.compress(b"ok") + RAW_DEFLATE.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", GZIPPED),
        ("GZip", GZIPPED),
        ("deflate", zlib.compress(b"ok")),
        ("deflate", RAW),
        ("identity", b"ok"),
        ("gzip", b""),
    ],
)
def test_what_is_compressed_is_read(wire: Wire, coding: str, body: bytes):
    with Peer(compressed(coding, body)) as peer:
        reply = ask(wire, peer.port)
    assert reply.body == (b"ok" if body else b"")
    assert reply.headers == ()  # how the bytes travelled is nobody's business any more


@pytest.mark.parametrize(
    ("coding", "body", "says", "may_pass"),
    [
        ("gzip", GZIPPED[:-6], "the compressed reply cannot be read (it is cut)", True),
        ("gzip", b"plain", "the compressed reply cannot be read", True),
        ("deflate", b"plain text", "the compressed reply cannot be read", True),
        ("br", b"ok", "compressed with 'br', though none was asked for", False),
        ("gzip", gzip.compress(bytes(10_000_000), mtime=0), "longer than 1000 bytes", False),
        ("deflate, gzip", gzip.compress(b"", mtime=0), "compressed several times over", False),
    ],
)
def test_what_cannot_be_decompressed_is_no_reply(
    wire: Wire,
    coding: str,
    body: bytes,
    says: str,
    may_pass: bool,  # noqa: FBT001 - a table
):
    with Peer(compressed(coding, body)) as peer:
        error = failure(wire, peer.port)
    assert says in str(error)
    assert error.may_pass is may_pass


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost")
    names = ("-addext", "subjectAltName=DNS:localhost")
    files = ("-keyout", folder / "both.pem", "-out", folder / "certificate.pem")
    subprocess.run(["openssl", *made, *names, *files], check=True, capture_output=True)
    with (folder / "both.pem").open("ab") as both:
        both.write((folder / "certificate.pem").read_bytes())
    return folder


@pytest.fixture
def secured(certificate: Path) -> Iterator[Peer]:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(certificate / "both.pem")
    with Peer(trust=trust) as peer:
        yield peer


def test_tls_is_spoken_with_a_server_whose_certificate_is_trusted(
    wire: Wire, secured: Peer, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
    for _ in range(2):
        assert ask(wire, secured.port, host="localhost", scheme="https").body == b"ok"
    assert [number for number, _ in secured.requests] == [0, 0]


def test_a_certificate_that_nobody_trusts_ends_it(wire: Wire, secured: Peer):
    error = failure(wire, secured.port, host="localhost", scheme="https")
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert (error.may_pass, error.sent) == (False, False)
    assert secured.requests == []


def test_a_certificate_for_another_name_ends_it(
    wire: Wire, secured: Peer, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
    error = failure(wire, secured.port, host="127.0.0.1", scheme="https")
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert secured.requests == []


# Hosts with several addresses


def resolving(monkeypatch: pytest.MonkeyPatch, addresses: Sequence[tuple[str, int]]) -> None:
    def getaddrinfo(_host: object, _port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def test_an_address_that_refuses_gives_way_to_the_next(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    with Peer() as peer:
        resolving(monkeypatch, [("127.0.0.1", free_port()), ("127.0.0.1", peer.port)])
        assert ask(wire, 1, host="two.localhost").body == b"ok"


def test_an_address_that_leads_nowhere_does_not_hold_up_the_next(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    held: list[object] = []
    original = connecting._connect

    async def connect(address: connecting.Address) -> socket.socket:
        if address[1][1] == 9:
            held.append(address)
            await asyncio.sleep(60)
        return await original(address)

    monkeypatch.setattr(connecting, "_connect", connect)
    with Peer() as peer:
        resolving(monkeypatch, [("127.0.0.1", 9), ("127.0.0.1", peer.port)])
        began = time.monotonic()
        assert ask(wire, 1, host="two.localhost").body == b"ok"
        took = time.monotonic() - began
    assert held
    assert connecting.NEXT_ADDRESS_S <= took < 8


def test_where_no_address_accepts_the_first_one_says_why(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    first, second = free_port(), free_port()
    resolving(monkeypatch, [("127.0.0.1", first), ("127.0.0.1", second)])
    error = failure(wire, 1, host="two.localhost")
    assert f"('127.0.0.1', {first})" in str(error)
    assert (error.may_pass, error.sent) == (True, False)

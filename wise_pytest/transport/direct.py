"""The way to a server without a proxy in between: HTTP/1.1 by h11, straight on the event loop.

A general client works several milliseconds on a call, and that bounds how many
can be in flight while tests run in the same process. Here a call is one write,
one or two reads, and h11 in between, which knows the protocol. A connection
that has carried a whole reply is kept for the next call to the same server.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import h11

from wise_pytest import __version__
from wise_pytest.transport.connecting import connect
from wise_pytest.transport.reply import (
    CONNECTION_HEADERS,
    WireError,
    WireReply,
    too_long,
    unpacked_twice,
    unreadable,
    unsendable,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.policy import Policy

KEPT_S = 5.0
"""How long an unused connection is kept: many servers close theirs after that."""
MAX_HEAD_BYTES = 100 * 1024
"""The longest status line and headers of a reply."""
PORTS = {"http": 80, "https": 443}
_OWN_HEADERS = (
    (b"user-agent", f"wise-pytest/{__version__}".encode("ascii")),
    (b"accept-encoding", b"identity"),
    (b"accept", b"*/*"),
    (b"connection", b"keep-alive"),
)
"""Sent with every request that does not say otherwise."""
_WBITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


@dataclass(frozen=True, slots=True)
class Server:
    """Where a connection leads."""

    scheme: str
    host: str
    port: int

    @property
    def header(self) -> str:
        """What the ``host`` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def split_url(url: str) -> tuple[Server, str]:
    """The server that a URL leads to, and what to ask there.

    Raises
    ------
    WireError
        If it leads to none.
    """
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise WireError(f"the URL cannot be used ({error})", may_pass=False, sent=False) from None
    if parts.scheme not in PORTS or not parts.hostname or "@" in parts.netloc or not url.isascii():
        raise WireError("the URL cannot be used", may_pass=False, sent=False)
    path = parts.path or "/"
    target = f"{path}?{parts.query}" if parts.query else path
    return Server(parts.scheme, parts.hostname, port or PORTS[parts.scheme]), target


class DirectConnections:
    """Connections to servers, kept open between exchanges; for the loop's thread.

    Parameters
    ----------
    trust
        Gives the certificates that are trusted.
    """

    def __init__(self, policy: Policy, trust: Callable[[], ssl.SSLContext]) -> None:
        self._policy = policy
        self._trust = trust
        self._unused: dict[Server, list[_Connection]] = {}

    async def read(self, server: Server, target: str, request: HttpRequest) -> WireReply:
        """Send one request and read the whole reply, however long that takes.

        Raises
        ------
        WireError
            If there is no complete reply.
        """
        head = _head(server, target, request)
        connection = self._kept(server) or await self._connected(server)
        try:
            reply = await connection.exchange(head, request.body)
        except BaseException:
            connection.abort()
            raise
        if connection.may_go_on():
            self._unused.setdefault(server, []).append(connection)
        else:
            connection.abort()
        return reply

    async def close(self) -> None:
        """Close all connections that nobody uses."""
        unused = [connection for kept in self._unused.values() for connection in kept]
        self._unused.clear()
        for connection in unused:
            connection.abort()
        # One turn of the loop closes a socket, and one more what TLS has put over it.
        for _ in range(2):
            await asyncio.sleep(0)

    def _kept(self, server: Server) -> _Connection | None:
        kept = self._unused.get(server, [])
        while kept:
            connection = kept.pop()
            if connection.is_open and time.monotonic() < connection.unused_since + KEPT_S:
                return connection
            connection.abort()
        return None

    async def _connected(self, server: Server) -> _Connection:
        limit = self._policy.max_body_bytes
        trust = self._trust() if server.scheme == "https" else None
        try:
            async with asyncio.timeout(self._policy.connect_timeout_s):
                stream = await connect(server.host, server.port)
                try:
                    _, connection = await asyncio.get_running_loop().create_connection(
                        lambda: _Connection(limit),
                        sock=stream,
                        ssl=trust,
                        server_hostname=server.host if trust else None,
                    )
                except BaseException:
                    stream.close()
                    raise
        except TimeoutError:
            raise WireError("no connection within the time limit", may_pass=True, sent=False) from None
        except RuntimeError as error:  # as of pytest-recording's --block-network
            raise WireError(str(error), may_pass=False, sent=False) from None
        except (OSError, ValueError) as error:  # ValueError: a name that no lookup takes
            detail = " ".join(str(error).split())
            # A certificate that does not fit is a connection error that no patience mends.
            may_pass = isinstance(error, OSError) and "CERTIFICATE_VERIFY_FAILED" not in detail
            raise WireError(f"no connection ({detail})", may_pass=may_pass, sent=False) from None
        return connection


class _Connection(asyncio.Protocol):
    """One connection, which carries one exchange at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[WireReply] | None = None
        self._response: h11.Response | None = None
        self._body = bytearray()
        self._decoders: list[_Decoder] = []
        self.unused_since = 0.0

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # of a stream, it is a Transport

    async def exchange(self, head: h11.Request, body: bytes) -> WireReply:
        """Send a request and wait for its reply."""
        transport = self._transport
        if transport is None:
            raise _broken("the server closed it")
        self._waiting = asyncio.get_running_loop().create_future()
        self._response, self._body, self._decoders = None, bytearray(), []
        sent = self._http.send(head)
        if body:
            sent += self._http.send(h11.Data(data=body))
        sent += self._http.send(h11.EndOfMessage())
        transport.write(sent)
        try:
            return await self._waiting
        finally:
            self._waiting = None
            self.unused_since = time.monotonic()

    def may_go_on(self) -> bool:
        """Make ready for the next exchange, if the server goes on with this connection."""
        http = self._http
        if not self.is_open or http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            return False
        if http.trailing_data[0]:
            return False  # whatever it is, it is no reply to what comes next
        http.start_next_cycle()
        return True

    def abort(self) -> None:
        """Close at once."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:
            self.abort()  # nobody has asked for it
            return
        self._receive(data)

    def eof_received(self) -> None:
        if self._waiting is not None:
            self._receive(b"")

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(_broken(_detail(exc)) if exc is not None else _cut("it ended early"))

    def _receive(self, data: bytes) -> None:
        """Take what has arrived, which may be any part of a reply."""
        waiting = self._waiting
        if waiting is None or waiting.done():
            return
        try:
            if not data and self._response is None:
                raise _cut("it hung up without one")
            self._http.receive_data(data)
            reply = self._next_events()
        except h11.RemoteProtocolError as error:
            waiting.set_exception(_cut(_detail(error)))
        except WireError as error:
            waiting.set_exception(error)
        except zlib.error as error:
            waiting.set_exception(
                WireError(f"the compressed reply cannot be read ({_detail(error)})", may_pass=True)
            )
        else:
            if reply is not None:
                waiting.set_result(reply)

    def _next_events(self) -> WireReply | None:
        """The reply, once it is complete."""
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Data):
                self._take(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return self._complete()
            elif isinstance(event, h11.Response):
                self._response = event
                self._decoders = _decoders(event.headers)
            elif isinstance(event, h11.InformationalResponse):
                pass  # the reply itself comes after it
            elif event is h11.NEED_DATA:
                return None
            else:  # the connection has ended, or is to speak another protocol
                raise _cut("no HTTP reply came")

    def _take(self, data: bytes) -> None:
        for decoder in self._decoders:
            data = decoder.decode(data, self._limit + 1)
        self._body += data
        if len(self._body) > self._limit:
            raise too_long(self._limit)

    def _complete(self) -> WireReply:
        response = self._response
        if response is None:
            raise _cut("no HTTP reply came")
        for decoder in self._decoders:
            decoder.end()
        return WireReply(
            status=response.status_code,
            headers=tuple(
                (name.decode("ascii"), value.decode("utf-8", "replace"))
                for name, value in response.headers
                if name.decode("ascii") not in CONNECTION_HEADERS
            ),
            body=bytes(self._body),
        )


class _Decoder:
    """Undoes one compression, piece by piece."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._stream = zlib.decompressobj(_WBITS[coding])
        self._is_first = True

    def decode(self, data: bytes, limit: int) -> bytes:
        """What comes of a piece; one that grows beyond the limit is an error."""
        try:
            plain = self._stream.decompress(data, limit)
        except zlib.error:
            if not self._is_first or self._coding != "deflate":
                raise
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # some send it without its frame
            plain = self._stream.decompress(data, limit)
        self._is_first = False
        if self._stream.unconsumed_tail:
            raise too_long(limit - 1)
        return plain

    def end(self) -> None:
        """Refuse a compressed reply that is cut."""
        if not self._is_first and not self._stream.eof:
            raise zlib.error("it is cut")


def _head(server: Server, target: str, request: HttpRequest) -> h11.Request:
    try:
        return h11.Request(
            method=request.method.encode("ascii"),
            target=target.encode("ascii"),
            headers=[
                (b"host", server.header.encode("ascii")),
                *_sent_headers(request.headers),
                *([(b"content-length", b"%d" % len(request.body))] if request.body else ()),
            ],
        )
    except (h11.LocalProtocolError, ValueError):
        raise unsendable() from None


def _sent_headers(given: Mapping[str, str]) -> Iterable[tuple[bytes, bytes]]:
    own = [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in given.items()]
    names = {name for name, _ in own}
    return [*own, *(header for header in _OWN_HEADERS if header[0] not in names)]


def _decoders(headers: Iterable[tuple[bytes, bytes]]) -> list[_Decoder]:
    """What undoes the compression that the headers name, the last one first."""
    codings = [
        coding.strip()
        for name, value in headers
        if name == b"content-encoding"
        for coding in value.decode("ascii", "replace").split(",")
    ]
    if len(codings) > 1:
        raise unpacked_twice()
    wanted = [coding for coding in codings if coding.lower() not in ("", "identity")]
    for coding in wanted:
        if coding.lower() not in _WBITS:
            raise unreadable(coding)
    return [_Decoder(coding.lower()) for coding in reversed(wanted)]


def _detail(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _broken(detail: str) -> WireError:
    return WireError(f"the connection broke ({detail})", may_pass=True)


def _cut(detail: str) -> WireError:
    return WireError(f"the server closed or broke the reply ({detail})", may_pass=True)

"""One exchange over a real socket: no retries, no recording, a deadline that holds.

``client.py`` sends generations through this, ``introspect.py`` asks local servers
through it::

    exchange (any thread, waits) ──► event loop in a thread of its own ──► httpx
    call_soon, read (in the loop's thread) ──────────┘

The loop is there for the deadline: httpx's own timeouts start anew with every
byte, and cancelling from outside is what stops a server that sends one byte
every few seconds. It also carries any number of exchanges at the same time, over
several clients: one of httpx's slows down with the number of its connections.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx

from wise_pytest import __version__
from wise_pytest.endpoints.urls import is_loopback
from wise_pytest.transport.quiet import THREAD_PREFIX, keep_quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.policy import Policy

_DESCRIPTIONS: tuple[tuple[type[Exception], str, bool], ...] = (
    # The first that fits: error, what it means, whether another try may help.
    (httpx.ConnectTimeout, "no connection within the time limit", True),
    (httpx.ConnectError, "no connection", True),
    (httpx.NetworkError, "the connection broke", True),
    (httpx.RemoteProtocolError, "the server closed or broke the reply", True),
    (httpx.DecodingError, "the compressed reply cannot be read", True),
    (httpx.ProxyError, "the proxy refused", False),
    (httpx.UnsupportedProtocol, "the URL cannot be used", False),
    (httpx.InvalidURL, "the URL cannot be used", False),
)
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RuntimeError, ExceptionGroup)
"""Beside httpx's own: the system's, headers that are not ASCII, and a network that is blocked."""
_CONNECTION_HEADERS = frozenset({"connection", "content-encoding", "content-length", "transfer-encoding"})
"""Headers about how the bytes travelled, which no longer hold for a body that has been read."""
_CODINGS = frozenset({"", "identity", "gzip", "deflate"})
"""What httpx decodes wherever it is installed; it would hand on any other as if it were plain."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
"""Errors before the request has left."""
MAX_CONNECTIONS = 4
"""Exchanges at a time over one of httpx's clients: beyond that each costs more than a client more does."""
LOOKUP_GRACE_S = 2.0
"""How long closing waits for threads that look up host names, which nothing can break off."""


class WireError(Exception):
    """One try brought no complete reply."""

    def __init__(self, message: str, *, may_pass: bool, sent: bool = True, timed_out: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass
        """Whether another try may help."""
        self.sent = sent
        """Whether the server may have received the request, and may charge for it."""
        self.timed_out = timed_out
        """Whether all of the time was used up."""


@dataclass(frozen=True, slots=True)
class WireReply:
    """One complete reply, decoded to plain bytes."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in the order of arrival, without those about the connection."""
    body: bytes


class Wire:
    """Connections to servers, kept open between exchanges; safe to use from several threads."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread, ThreadPoolExecutor] | None = None
        self._clients: dict[tuple[bool, bool], list[_Client]] = {}
        """By whether the host is this machine and whether TLS is used; touched by the loop only."""
        self._trust: dict[bool, ssl.SSLContext] = {}

    def exchange(self, request: HttpRequest) -> WireReply:
        """Send one request and wait for the whole reply.

        Raises
        ------
        WireError
            If no complete reply arrived within the policy's time.
        """
        waiting = None
        try:
            with self._lock:  # so that nothing is handed to a loop that is being closed
                loop = self._started_loop()
                waiting = asyncio.run_coroutine_threadsafe(self.read(request), loop)
            return waiting.result()
        except CancelledError:
            raise WireError("the connections were closed meanwhile", may_pass=False) from None
        finally:
            if waiting is not None:
                waiting.cancel()  # does nothing, unless Ctrl-C ended the waiting

    def call_soon(self, function: Callable[..., object], *arguments: object) -> None:
        """Have a function called in the loop's thread."""
        with self._lock:
            self._started_loop().call_soon_threadsafe(function, *arguments)

    def close(self) -> None:
        """Break off what is under way, close all connections and end the thread."""
        with self._lock:
            if self._running is None:
                return
            (loop, thread, lookups), self._running = self._running, None
            try:
                asyncio.run_coroutine_threadsafe(self._wind_up(), loop).result()
            finally:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
                loop.close()
                self._clients.clear()  # they belong to the loop that has ended
                ending = threading.Thread(
                    target=lookups.shutdown, kwargs={"cancel_futures": True}, daemon=True
                )
                ending.start()
                ending.join(LOOKUP_GRACE_S)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        if self._running is None:
            keep_quiet()
            loop = asyncio.new_event_loop()
            lookups = ThreadPoolExecutor(thread_name_prefix=f"{THREAD_PREFIX}lookup")
            loop.set_default_executor(lookups)
            thread = threading.Thread(target=loop.run_forever, name=f"{THREAD_PREFIX}wire", daemon=True)
            thread.start()
            self._running = loop, thread, lookups
        return self._running[0]

    async def _wind_up(self) -> None:
        # Again, for what a task that is ending has started: connecting starts one for each address.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        for clients in self._clients.values():
            for client in clients:
                await client.http.aclose()

    async def read(self, request: HttpRequest, *, timeout_s: float | None = None) -> WireReply:
        """Send one request and read the whole reply; to be awaited in the loop's thread.

        Raises
        ------
        WireError
            If no complete reply arrived within the time, which is the policy's unless given.
        """
        limit_s = self._policy.timeout_s if timeout_s is None else timeout_s
        try:
            with self._client(httpx.URL(request.url)) as client:
                async with asyncio.timeout(limit_s):
                    return await self._read(client, request)
        except TimeoutError:
            message = f"no complete reply within the time limit of {limit_s:g} s"
            raise WireError(message, may_pass=True, timed_out=True) from None
        except _FAILURES as error:
            raise _described(error) from None

    async def _read(self, client: httpx.AsyncClient, request: HttpRequest) -> WireReply:
        limit = self._policy.max_body_bytes
        body = bytearray()
        async with client.stream(
            request.method, request.url, headers=dict(request.headers), content=request.body
        ) as response:
            codings = response.headers.get("content-encoding", "").split(",")
            if len(codings) > 1:
                # One unpacks what has arrived to at most a thousand times its size; two, to a million.
                raise WireError("the reply is compressed several times over", may_pass=False)
            for coding in codings:
                if coding.strip().lower() not in _CODINGS:
                    raise WireError(
                        f"the reply is compressed with {coding.strip()!r}, though none was asked for",
                        may_pass=False,
                    )
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > limit:
                    raise WireError(f"the reply is longer than {limit} bytes", may_pass=False)
        headers = response.headers.multi_items()
        return WireReply(
            status=response.status_code,
            headers=tuple((name, value) for name, value in headers if name not in _CONNECTION_HEADERS),
            body=bytes(body),
        )

    @contextmanager
    def _client(self, url: httpx.URL) -> Iterator[httpx.AsyncClient]:
        """A client that has a connection to spare."""
        kind = is_loopback(url.host), url.scheme == "https"
        clients = self._clients.setdefault(kind, [])
        client = next((client for client in clients if client.n_busy < MAX_CONNECTIONS), None)
        if client is None:
            client = _Client(_open_client(self._policy, self._trusted(*kind), local=kind[0]))
            clients.append(client)
        client.n_busy += 1
        try:
            yield client.http
        finally:
            client.n_busy -= 1

    def _trusted(self, local: bool, tls: bool) -> ssl.SSLContext:  # noqa: FBT001 - a key of ``_clients``
        # Loading the certificates takes some 20 ms, which a local server need not cost. A context
        # without any trusts nobody: were it ever used for TLS, it would refuse every server.
        bare = local and not tls
        if bare not in self._trust:
            self._trust[bare] = (
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if bare else httpx.create_ssl_context()
            )
        return self._trust[bare]


@dataclass(slots=True)
class _Client:
    """One of httpx's clients, and how many exchanges it has under way."""

    http: httpx.AsyncClient
    n_busy: int = 0


def _open_client(policy: Policy, trust: ssl.SSLContext, *, local: bool) -> httpx.AsyncClient:
    """A client that is given only URLs of one kind, and asks this machine without a proxy."""
    try:
        return httpx.AsyncClient(
            headers={"user-agent": f"wise-pytest/{__version__}", "accept-encoding": "identity"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # a cell must not influence the next
            verify=trust,
            trust_env=not local,
            # The deadline of the exchange limits all the rest.
            timeout=httpx.Timeout(None, connect=policy.connect_timeout_s),
        )
    except ImportError as error:  # a SOCKS proxy needs a package more
        raise WireError(
            f"the environment's proxy cannot be used ({error})", may_pass=False, sent=False
        ) from None
    except (httpx.InvalidURL, ValueError):
        # What is wrong is not repeated: it may be part of the proxy's password.
        raise WireError(
            "the environment's proxy cannot be used; http_proxy, https_proxy and all_proxy must be "
            "like http://host:port, and no_proxy a list of host names",
            may_pass=False,
            sent=False,
        ) from None


def _described(error: Exception) -> WireError:
    if isinstance(error, ExceptionGroup):
        # Connecting tries the addresses of a host in a group of tasks. What it does not expect
        # comes out as a group, such as the RuntimeError of pytest-recording's --block-network.
        return _described(error.exceptions[0])
    if isinstance(error, RuntimeError):
        return WireError(str(error), may_pass=False, sent=False)
    if isinstance(error, httpx.LocalProtocolError):
        # httpx quotes the header that it cannot send, which may be the one with the key.
        return WireError(
            "the request cannot be sent; is there a line break in the key?", may_pass=False, sent=False
        )
    detail = " ".join(str(error).split())
    for kind, meaning, may_pass in _DESCRIPTIONS:
        if isinstance(error, kind):
            # A certificate that does not fit is a connection error that no patience mends.
            lasting = "CERTIFICATE_VERIFY_FAILED" in detail
            return WireError(
                f"{meaning} ({detail})" if detail else meaning,
                may_pass=may_pass and not lasting,
                sent=not isinstance(error, _NOT_SENT),
            )
    return WireError(f"{type(error).__name__} ({detail})", may_pass=False)

"""One exchange over a real socket: no retries, no recording, a deadline that holds.

``client.py`` sends generations through this, ``introspect.py`` asks local servers
through it, both from ordinary threads::

    exchange (any thread, waits) ──► event loop in a thread of its own ──► httpx

The loop is there for the deadline: httpx's own timeouts start anew with every
byte, and cancelling from outside is what stops a server that sends one byte
every few seconds. It also lets any number of threads wait at the same time.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx

from wise_pytest import __version__
from wise_pytest.endpoints.urls import is_loopback
from wise_pytest.transport.quiet import THREAD_PREFIX, keep_quiet

if TYPE_CHECKING:
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


class WireError(Exception):
    """One try brought no complete reply."""

    def __init__(self, message: str, *, may_pass: bool) -> None:
        super().__init__(message)
        self.may_pass = may_pass
        """Whether another try may help."""


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
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None
        self._clients: dict[tuple[bool, bool], httpx.AsyncClient] = {}
        """By whether the host is this machine and whether TLS is used; touched by the loop only."""

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
                waiting = asyncio.run_coroutine_threadsafe(self._exchange(request), loop)
            return waiting.result()
        except CancelledError:
            raise WireError("the connections were closed meanwhile", may_pass=False) from None
        finally:
            if waiting is not None:
                waiting.cancel()  # does nothing, unless Ctrl-C ended the waiting

    def close(self) -> None:
        """Break off what is under way, close all connections and end the thread."""
        with self._lock:
            if self._running is None:
                return
            (loop, thread), self._running = self._running, None
            try:
                asyncio.run_coroutine_threadsafe(self._wind_up(), loop).result()
            finally:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()
                loop.close()
                self._clients.clear()  # they belong to the loop that has ended

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        if self._running is None:
            keep_quiet()
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name=f"{THREAD_PREFIX}wire", daemon=True)
            thread.start()
            self._running = loop, thread
        return self._running[0]

    async def _wind_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for client in self._clients.values():
            await client.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()  # threads that looked up host names

    async def _exchange(self, request: HttpRequest) -> WireReply:
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                return await self._read(self._client(httpx.URL(request.url)), request)
        except TimeoutError:
            message = f"no complete reply within the time limit of {self._policy.timeout_s:g} s"
            raise WireError(message, may_pass=True) from None
        except _FAILURES as error:
            raise _described(error) from None

    async def _read(self, client: httpx.AsyncClient, request: HttpRequest) -> WireReply:
        limit = self._policy.max_body_bytes
        body = bytearray()
        async with client.stream(
            request.method, request.url, headers=dict(request.headers), content=request.body
        ) as response:
            for coding in response.headers.get("content-encoding", "").split(","):
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

    def _client(self, url: httpx.URL) -> httpx.AsyncClient:
        kind = is_loopback(url.host), url.scheme == "https"
        if kind not in self._clients:
            self._clients[kind] = _open_client(self._policy, local=kind[0], tls=kind[1])
        return self._clients[kind]


def _open_client(policy: Policy, *, local: bool, tls: bool) -> httpx.AsyncClient:
    """A client that is given only URLs of one kind, and asks this machine without a proxy."""
    # Loading the certificates takes some 20 ms, which a local server need not cost. A context
    # without any trusts nobody: were it ever used for TLS, it would refuse every server.
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local and not tls else httpx.create_ssl_context()
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
        raise WireError(f"the environment's proxy cannot be used ({error})", may_pass=False) from None
    except (httpx.InvalidURL, ValueError):
        # What is wrong is not repeated: it may be part of the proxy's password.
        raise WireError(
            "the environment's proxy cannot be used; http_proxy, https_proxy and all_proxy must be "
            "like http://host:port, and no_proxy a list of host names",
            may_pass=False,
        ) from None


def _described(error: Exception) -> WireError:
    if isinstance(error, ExceptionGroup):
        # Connecting tries the addresses of a host in a group of tasks. What it does not expect
        # comes out as a group, such as the RuntimeError of pytest-recording's --block-network.
        return _described(error.exceptions[0])
    if isinstance(error, RuntimeError):
        return WireError(str(error), may_pass=False)
    if isinstance(error, httpx.LocalProtocolError):
        # httpx quotes the header that it cannot send, which may be the one with the key.
        return WireError("the request cannot be sent; is there a line break in the key?", may_pass=False)
    detail = " ".join(str(error).split())
    for kind, meaning, may_pass in _DESCRIPTIONS:
        if isinstance(error, kind):
            # A certificate that does not fit is a connection error that no patience mends.
            lasting = "CERTIFICATE_VERIFY_FAILED" in detail
            return WireError(
                f"{meaning} ({detail})" if detail else meaning, may_pass=may_pass and not lasting
            )
    return WireError(f"{type(error).__name__} ({detail})", may_pass=False)

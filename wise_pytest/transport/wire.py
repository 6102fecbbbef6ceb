"""One exchange over a real socket: no retries, no recording, a deadline that holds.

Only ``client.py`` uses this. It speaks through httpcore, the layer below httpx,
for two reasons. VCR.py replaces methods of httpx's transports on the class, for
the whole process, while a cassette is in use; what is sent here has already
passed VCR.py once, and must not be recorded again. And httpcore lets a caller
supply the network streams, which is how a server that sends one byte every few
seconds still meets the deadline: httpx's timeouts start anew with every byte.
"""

from __future__ import annotations

import threading
import time
import urllib.request
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from wise_pytest import __version__
from wise_pytest.endpoints.urls import is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.policy import Policy

_DESCRIPTIONS: tuple[tuple[type[Exception], str, bool], ...] = (
    # The first that fits: error, what it means, whether another try may help.
    (httpcore.ConnectTimeout, "no connection within the time limit", True),
    (httpcore.PoolTimeout, "no free connection within the time limit", True),
    (httpcore.TimeoutException, "no complete reply within the time limit", True),
    (httpcore.ConnectError, "no connection", True),
    (httpcore.NetworkError, "the connection broke", True),
    (httpcore.RemoteProtocolError, "the server closed or broke the reply", True),
    (httpcore.ProxyError, "the proxy refused", False),
    (httpcore.UnsupportedProtocol, "the URL cannot be used", False),
    (httpcore.LocalProtocolError, "the request cannot be sent", False),
)
_FAILURES: tuple[type[Exception], ...] = (*(kind for kind, _, _ in _DESCRIPTIONS), OSError, ValueError)
"""Beside httpcore's own: the system's, and names that are no host names to it."""
_CONNECTION_HEADERS = frozenset({"connection", "content-encoding", "content-length", "transfer-encoding"})
"""Headers about how the bytes travelled, which no longer hold for a body that has been read."""
_CODINGS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


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
        self._backend = _DeadlineBackend()
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._pools: dict[tuple[bool, str | None], httpcore.ConnectionPool] = {}
        """By whether TLS may be needed, and the URL of the proxy, ``None`` for the direct way."""

    def exchange(self, request: HttpRequest) -> WireReply:
        """Send one request and read the whole reply.

        Raises
        ------
        WireError
            If no complete reply arrived within the policy's time.
        """
        self._backend.start(self._policy.timeout_s)
        try:
            pool = self._pool(request.url)
            return self._read(pool, request)
        except RuntimeError as error:
            # pytest-recording's --block-network makes connecting raise this.
            raise WireError(str(error), may_pass=False) from None
        except _FAILURES as error:
            raise _described(error) from None

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            pool.close()

    def _read(self, pool: httpcore.ConnectionPool, request: HttpRequest) -> WireReply:
        limit = self._policy.max_body_bytes
        seconds = self._policy.timeout_s
        timeouts = {
            "connect": min(self._policy.connect_timeout_s, seconds),
            "read": seconds,
            "write": seconds,
            "pool": seconds,
        }
        headers = [
            ("host", urlsplit(request.url).netloc),
            ("user-agent", f"wise-pytest/{__version__}"),
            ("accept-encoding", "identity"),
            ("content-length", str(len(request.body))),
            *request.headers.items(),
        ]
        body = bytearray()
        with pool.stream(
            request.method,
            request.url,
            headers=headers,
            content=request.body,
            extensions={"timeout": timeouts},
        ) as response:
            for chunk in response.iter_stream():
                body += chunk
                if len(body) > limit:
                    raise WireError(f"the reply is longer than {limit} bytes", may_pass=False)
        received = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers
        ]
        codings = ",".join(value for name, value in received if name == "content-encoding")
        return WireReply(
            status=response.status,
            headers=tuple((name, value) for name, value in received if name not in _CONNECTION_HEADERS),
            body=_decoded(bytes(body), codings, limit=limit),
        )

    def _pool(self, url: str) -> httpcore.ConnectionPool:
        proxy = _proxy_for(url)
        secure = url.startswith("https:") or (proxy is not None and proxy.startswith("https:"))
        with self._lock:
            pool = self._pools.get((secure, proxy))
            if pool is None:
                if secure and self._tls is None:
                    # Loading the certificates takes some 20 ms, which a local server need not cost.
                    self._tls = httpx.create_ssl_context()
                pool = _open_pool(proxy, tls=self._tls if secure else None, backend=self._backend)
                self._pools[secure, proxy] = pool
            return pool


class _DeadlineBackend(httpcore.NetworkBackend):
    """Opens streams whose every operation ends by the deadline of the exchange it is for.

    An exchange runs in one thread from start to end, so the deadline is the thread's.
    """

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()
        self._current = threading.local()

    def start(self, seconds: float) -> None:
        """Give this thread's exchange so many seconds from now."""
        self._current.deadline = time.monotonic() + seconds

    def remaining(self, timeout: float | None, error: type[Exception]) -> float:
        """Seconds that an operation may take, at most ``timeout``; raises ``error`` if none are left."""
        left: float = self._current.deadline - time.monotonic()
        if left <= 0:
            raise error("the deadline of the exchange has passed")
        return left if timeout is None else min(left, timeout)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        allowed = self.remaining(timeout, httpcore.ConnectTimeout)
        stream = self._inner.connect_tcp(
            host, port, timeout=allowed, local_address=local_address, socket_options=socket_options
        )
        return _DeadlineStream(stream, self)


class _DeadlineStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, backend: _DeadlineBackend) -> None:
        self._inner = inner
        self._backend = backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, timeout=self._backend.remaining(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout=self._backend.remaining(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        allowed = self._backend.remaining(timeout, httpcore.ConnectTimeout)
        stream = self._inner.start_tls(ssl_context, server_hostname=server_hostname, timeout=allowed)
        return _DeadlineStream(stream, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _open_pool(
    proxy: str | None, *, tls: ssl.SSLContext | None, backend: httpcore.NetworkBackend
) -> httpcore.ConnectionPool:
    if proxy is None:
        return httpcore.ConnectionPool(ssl_context=tls, network_backend=backend)
    parts = urlsplit(proxy)
    login: tuple[str, str] | None = None
    if parts.username is not None:
        login = (unquote(parts.username), unquote(parts.password or ""))
    return httpcore.ConnectionPool(
        ssl_context=tls,
        network_backend=backend,
        proxy=httpcore.Proxy(
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
            auth=login,
            ssl_context=tls if parts.scheme == "https" else None,
        ),
    )


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for ``url``; never one for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    scheme = proxy.partition("://")[0]
    if scheme not in ("http", "https"):
        raise WireError(
            f"the environment names a {scheme} proxy for {host}; only http and https proxies can be used",
            may_pass=False,
        )
    return proxy


def _described(error: Exception) -> WireError:
    detail = " ".join(str(error).split())
    for kind, meaning, may_pass in _DESCRIPTIONS:
        if isinstance(error, kind):
            # A certificate that does not fit is a connection error that no patience mends.
            lasting = "CERTIFICATE_VERIFY_FAILED" in detail
            return WireError(
                f"{meaning} ({detail})" if detail else meaning, may_pass=may_pass and not lasting
            )
    return WireError(f"{type(error).__name__} ({detail})", may_pass=False)


def _decoded(body: bytes, codings: str, *, limit: int) -> bytes:
    """``body`` as plain bytes; a server may compress although it was asked not to."""
    for coding in reversed([part.strip().lower() for part in codings.split(",")]):
        if coding in ("", "identity"):
            continue
        if coding not in _CODINGS:
            raise WireError(
                f"the reply is compressed with {coding!r}, though none was asked for", may_pass=False
            )
        decoder = zlib.decompressobj(_CODINGS[coding])
        try:
            body = decoder.decompress(body, limit + 1)
        except zlib.error as error:
            raise WireError(f"the compressed reply cannot be read ({error})", may_pass=True) from None
        if len(body) > limit:
            raise WireError(f"the reply is longer than {limit} bytes", may_pass=False)
        if not decoder.eof:
            raise WireError("the compressed reply is cut", may_pass=True)
    return body

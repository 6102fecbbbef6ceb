"""The way to a server through the proxy that the environment names: httpx, which knows them all.

``wire`` takes it only where there is a proxy; ``direct`` is several times as fast.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx

from wise_pytest import __version__
from wise_pytest.transport.quiet import keep_quiet
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
_CODINGS = frozenset({"", "identity", "gzip", "deflate"})
"""What httpx decodes wherever it is installed; it would hand on any other as if it were plain."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
"""Errors before the request has left."""
MAX_CONNECTIONS = 4
"""Exchanges at a time over one of httpx's clients: beyond that each costs more than a client more does."""


def create_trust() -> ssl.SSLContext:
    """The certificates that are trusted; those of the environment, if it names some."""
    return httpx.create_ssl_context()


class ProxiedConnections:
    """Connections through proxies, kept open between exchanges; for the loop's thread.

    Parameters
    ----------
    trust
        Gives the certificates that are trusted.
    """

    def __init__(self, policy: Policy, trust: Callable[[], ssl.SSLContext]) -> None:
        keep_quiet()
        self._policy = policy
        self._trust = trust
        self._clients: list[_Client] = []

    async def read(self, request: HttpRequest) -> WireReply:
        """Send one request and read the whole reply, however long that takes.

        Raises
        ------
        WireError
            If there is no complete reply.
        """
        try:
            with self._client() as client:
                return await self._read(client, request)
        except _FAILURES as error:
            raise _described(error) from None

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.http.aclose()

    async def _read(self, client: httpx.AsyncClient, request: HttpRequest) -> WireReply:
        limit = self._policy.max_body_bytes
        body = bytearray()
        async with client.stream(
            request.method, request.url, headers=dict(request.headers), content=request.body
        ) as response:
            codings = response.headers.get("content-encoding", "").split(",")
            if len(codings) > 1:
                raise unpacked_twice()
            for coding in codings:
                if coding.strip().lower() not in _CODINGS:
                    raise unreadable(coding.strip())
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > limit:
                    raise too_long(limit)
        headers = response.headers.multi_items()
        return WireReply(
            status=response.status_code,
            headers=tuple((name, value) for name, value in headers if name not in CONNECTION_HEADERS),
            body=bytes(body),
        )

    @contextmanager
    def _client(self) -> Iterator[httpx.AsyncClient]:
        """A client that has a connection to spare: one of httpx's slows down with their number."""
        client = next((client for client in self._clients if client.n_busy < MAX_CONNECTIONS), None)
        if client is None:
            client = _Client(_open_client(self._policy, self._trust()))
            self._clients.append(client)
        client.n_busy += 1
        try:
            yield client.http
        finally:
            client.n_busy -= 1


@dataclass(slots=True)
class _Client:
    """One of httpx's clients, and how many exchanges it has under way."""

    http: httpx.AsyncClient
    n_busy: int = 0


def _open_client(policy: Policy, trust: ssl.SSLContext) -> httpx.AsyncClient:
    """A client that asks through the environment's proxies."""
    try:
        return httpx.AsyncClient(
            headers={"user-agent": f"wise-pytest/{__version__}", "accept-encoding": "identity"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # a cell must not influence the next
            verify=trust,
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
        return unsendable()  # httpx quotes the header that it cannot send, which may be the one with the key
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

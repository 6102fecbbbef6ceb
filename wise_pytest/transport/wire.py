"""One exchange over a real socket: no retries, no recording, a deadline that holds.

``client.py`` sends generations through this, ``introspect.py`` asks local servers
through it::

    exchange (any thread, waits) ──► event loop in a thread of its own ──► direct, or proxied
    call_soon, read (in the loop's thread) ──────────┘

The loop is there for the deadline: cancelling from outside is what stops a server
that sends one byte every few seconds. It also carries any number of exchanges at
the same time.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.request import getproxies

from wise_pytest.endpoints.urls import is_loopback
from wise_pytest.transport.direct import DirectConnections, split_url
from wise_pytest.transport.quiet import THREAD_PREFIX
from wise_pytest.transport.reply import WireError, WireReply

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.policy import Policy
    from wise_pytest.transport.proxied import ProxiedConnections

__all__ = ["Wire", "WireError", "WireReply"]


LOOKUP_GRACE_S = 2.0
"""How long closing waits for threads that look up host names, which nothing can break off."""


class Wire:
    """Connections to servers, kept open between exchanges; safe to use from several threads."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread, ThreadPoolExecutor] | None = None
        # The rest is touched by the loop's thread only.
        self._direct = DirectConnections(policy, self._trusted)
        self._proxied: ProxiedConnections | None = None
        self._has_proxy: bool | None = None
        self._trust: ssl.SSLContext | None = None

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
                self._proxied = None  # its connections belong to the loop that has ended
                ending = threading.Thread(
                    target=lookups.shutdown, kwargs={"cancel_futures": True}, daemon=True
                )
                ending.start()
                ending.join(LOOKUP_GRACE_S)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        if self._running is None:
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
        await self._direct.close()
        if self._proxied is not None:
            await self._proxied.close()

    async def read(self, request: HttpRequest, *, timeout_s: float | None = None) -> WireReply:
        """Send one request and read the whole reply; to be awaited in the loop's thread.

        Raises
        ------
        WireError
            If no complete reply arrived within the time, which is the policy's unless given.
        """
        limit_s = self._policy.timeout_s if timeout_s is None else timeout_s
        server, target = split_url(request.url)
        try:
            async with asyncio.timeout(limit_s):
                if not is_loopback(server.host) and self._proxy_is_named():
                    return await self._through_proxies().read(request)
                return await self._direct.read(server, target, request)
        except TimeoutError:
            message = f"no complete reply within the time limit of {limit_s:g} s"
            raise WireError(message, may_pass=True, timed_out=True) from None

    def _proxy_is_named(self) -> bool:
        """Whether the environment names a proxy for anything; httpx knows for what."""
        if self._has_proxy is None:
            proxies = getproxies()
            self._has_proxy = any(proxies.get(scheme) for scheme in ("http", "https", "all"))
        return self._has_proxy

    def _through_proxies(self) -> ProxiedConnections:
        from wise_pytest.transport.proxied import ProxiedConnections  # here, because few need it

        if self._proxied is None:
            self._proxied = ProxiedConnections(self._policy, self._trusted)
        return self._proxied

    def _trusted(self) -> ssl.SSLContext:
        """The certificates that are trusted, loaded where TLS first needs them: that takes some 20 ms."""
        if self._trust is None:
            from wise_pytest.transport.proxied import create_trust  # here, because it takes a while

            self._trust = create_trust()
        return self._trust

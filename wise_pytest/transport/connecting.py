"""Opening a socket to a host that may have several addresses, of which some may lead nowhere.

asyncio can do that too, and then says nothing sensible of an error that is none of the system's,
such as that of pytest-recording's ``--block-network``.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any, TypeAlias

NEXT_ADDRESS_S = 0.25
"""How long an address has until the next one is tried beside it (RFC 8305, section 8)."""
Address: TypeAlias = tuple[int, Any]
"""Its family, and what ``socket.connect`` takes."""


async def connect(host: str, port: int) -> socket.socket:
    """A socket that is connected to the first of the host's addresses that accepts.

    Raises
    ------
    OSError
        If none does, or the name is unknown: what the first one has met.
    """
    addresses = await _addresses(host, port)
    if len(addresses) == 1:
        return await _connect(addresses[0])
    attempts: list[asyncio.Task[socket.socket]] = []
    winner: asyncio.Task[socket.socket] | None = None
    try:
        for address in addresses:
            attempts.append(asyncio.ensure_future(_connect(address)))
            winner = await _first_of(attempts, NEXT_ADDRESS_S)
            if winner is not None:
                return winner.result()
        while winner is None and not all(attempt.done() for attempt in attempts):
            winner = await _first_of(attempts, None)
        return (winner or attempts[0]).result()
    finally:
        for attempt in attempts:
            attempt.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
        for attempt in attempts:
            if attempt is not winner and not attempt.cancelled() and attempt.exception() is None:
                attempt.result().close()


async def _first_of(
    attempts: list[asyncio.Task[socket.socket]], wait_s: float | None
) -> asyncio.Task[socket.socket] | None:
    """An attempt that has a connection; ``None`` if the time is up, or one more has failed."""
    pending = [attempt for attempt in attempts if not attempt.done()]
    await asyncio.wait(pending, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
    return next((attempt for attempt in attempts if attempt.done() and attempt.exception() is None), None)


async def _connect(address: Address) -> socket.socket:
    family, where = address
    stream = socket.socket(family, socket.SOCK_STREAM)
    try:
        stream.setblocking(False)  # noqa: FBT003 - the standard library's signature
        await asyncio.get_running_loop().sock_connect(stream, where)
    except BaseException:
        stream.close()
        raise
    return stream


async def _addresses(host: str, port: int) -> list[Address]:
    """The addresses of a host, those of both families in turn."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        pass
    else:
        return [(socket.AF_INET6 if version == 6 else socket.AF_INET, (host, port))]  # noqa: PLR2004 - IPv6
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # The system has put them into its order of preference: its first one stays the first.
    by_family: dict[int, list[Address]] = {}
    for family, _, _, _, where in found:
        by_family.setdefault(family, []).append((family, where))
    queues = list(by_family.values())
    in_turn = [
        queue[n] for n in range(max(map(len, queues), default=0)) for queue in queues if n < len(queue)
    ]
    if not in_turn:
        raise OSError("the host has no address")
    return in_turn

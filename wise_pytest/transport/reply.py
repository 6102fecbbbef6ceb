"""What one try over a socket comes to: a complete reply, or why there is none.

Both ways to a server, ``direct`` and ``proxied``, give these.
"""

from __future__ import annotations

from dataclasses import dataclass

CONNECTION_HEADERS = frozenset({"connection", "content-encoding", "content-length", "transfer-encoding"})
"""Headers about how the bytes travelled, which no longer hold for a body that has been read."""


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


def unsendable() -> WireError:
    """The error of a request that HTTP has no form for; what is wrong may be the key, and is not repeated."""
    return WireError(
        "the request cannot be sent; is there a line break in the key?", may_pass=False, sent=False
    )


def too_long(limit: int) -> WireError:
    """The error of a reply that nobody waits for."""
    return WireError(f"the reply is longer than {limit} bytes", may_pass=False)


def unreadable(coding: str) -> WireError:
    """The error of a compression that was not asked for."""
    return WireError(f"the reply is compressed with {coding!r}, though none was asked for", may_pass=False)


def unpacked_twice() -> WireError:
    """The error of a reply in several codings: one unpacks to at most a thousand times, two to a million."""
    return WireError("the reply is compressed several times over", may_pass=False)

"""The one way that a generation is asked for, live or replayed.

The session opens one ``Client`` a process. Every request passes ``front.Front``,
which VCR.py replaces while a cassette is in use::

    send ──► front ──► VCR.py ──► replay: the recorded reply
                          └─────► live: retries ──► wire

So one ``send`` is one recorded interaction however many tries it took, what is
recorded is the final reply, and a replay never opens the wire at all.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from wise_pytest.errors import MissingRecording, TransportError
from wise_pytest.transport import front
from wise_pytest.transport.classify import delay_s, is_retryable
from wise_pytest.transport.policy import Policy
from wise_pytest.transport.scrub import clean, scrub, secrets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.wire import Wire, WireReply


@dataclass(frozen=True, slots=True)
class Response:
    """The final reply to one request, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header the last value."""
    body: bytes
    """Decoded to plain bytes."""
    attempts: int | None
    """Tries in all, ``None`` for a replay."""
    latency_s: float | None
    """Seconds from sending the last try to the end of its reply, ``None`` for a replay."""
    sent: bool
    """Whether anything went over the wire."""


class Client:
    """Sends requests, with retries, through a front that VCR.py can record and replay.

    Parameters
    ----------
    policy
        Limits and patience.
    needs_cassette
        Whether to refuse every exchange that no cassette would see.
    sleep, rng
        Replaced by tests. ``rng`` only spreads pauses; it never touches a result.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        needs_cassette: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._policy = policy or Policy()
        self._needs_cassette = needs_cassette
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - spreads pauses, protects nothing
        self._wire: Wire | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened; a later ``send`` opens it again."""
        with self._lock:
            wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def send(self, request: HttpRequest) -> Response:
        """The final reply to ``request``, replayed or live.

        A reply with an error status is returned like any other: what it means
        is the protocol's to say.

        Raises
        ------
        MissingRecording
            If a cassette is needed and none is in use.
        TransportError
            If no reply arrived after all tries. The message holds no header and no key.
        """
        if self._needs_cassette and not front.Front.recorded:
            raise MissingRecording("no cassette is in use, and a cell is not asked without one")
        return front.Front().exchange(request, self._live)

    def _live(self, request: HttpRequest) -> Response:
        """The real exchange; the only place that tries again."""
        from wise_pytest.transport.wire import WireError  # here, because a replay never needs it

        wire = self._opened_wire()
        secrets = secrets_of(request)
        attempt = 0
        while True:
            attempt += 1
            last = attempt >= self._policy.max_attempts
            began = time.monotonic()
            try:
                reply = wire.exchange(request)
            except WireError as error:
                if last or not error.may_pass:
                    raise TransportError(self._failure(request, error, attempt)) from None
                self._sleep(self._policy.pause_s(attempt, self._rng.random()))
                continue
            latency_s = time.monotonic() - began
            pause_s = None if last else self._pause_s(reply, attempt)
            if pause_s is None:
                return _finished(reply, secrets, attempts=attempt, latency_s=latency_s)
            self._sleep(pause_s)

    def _pause_s(self, reply: WireReply, attempt: int) -> float | None:
        """Seconds until the next try.

        ``None`` if the reply is final, or asks for more patience than there is.
        """
        headers = dict(reply.headers)
        if not is_retryable(reply.status, reply.body, headers):
            return None
        own = self._policy.pause_s(attempt, self._rng.random())
        asked = delay_s(reply.status, headers, reply.body, time.time())
        if asked is None:
            return own
        # A server that says "at once" still gets the pause that spreads workers out.
        return None if asked > self._policy.max_retry_after_s else max(asked, own)

    def _opened_wire(self) -> Wire:
        from wise_pytest.transport.wire import Wire  # here, for the same reason

        with self._lock:
            if self._wire is None:
                self._wire = Wire(self._policy)
            return self._wire

    @staticmethod
    def _failure(request: HttpRequest, error: Exception, attempts: int) -> str:
        tries = "1 try" if attempts == 1 else f"{attempts} tries"
        return f"{_shown(request)}: {scrub(str(error), secrets_of(request))}, after {tries}"


def _finished(reply: WireReply, secrets: Iterable[str], *, attempts: int, latency_s: float) -> Response:
    """The reply as everybody may see it: no recording, row or log has a key that it repeats."""
    headers, body = clean(reply.status, reply.headers, reply.body, secrets)
    return Response(
        status=reply.status, headers=headers, body=body, attempts=attempts, latency_s=latency_s, sent=True
    )


def _shown(request: HttpRequest) -> str:
    """Method and URL without a user name, password or query."""
    parts = urlsplit(request.url)
    return f"{request.method} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

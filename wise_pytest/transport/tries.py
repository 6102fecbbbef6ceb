"""One call from its first try to its final reply; the only place that tries again.

Runs in the event loop's thread. Before each try it waits for the provider to be
there, for its turn, and for money set aside; after each it tells the lane and
the books what came of it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wise_pytest.errors import BudgetReached, TransportError
from wise_pytest.transport.call import Response, is_success
from wise_pytest.transport.classify import delay_s, is_retryable
from wise_pytest.transport.lane import BUSY, MAX_REFUSALS
from wise_pytest.transport.scrub import clean, scrub, secrets_of
from wise_pytest.transport.wire import WireError

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Sequence

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.call import Call, Charge
    from wise_pytest.transport.lane import Lane, Permit, Standing
    from wise_pytest.transport.ledger import Ledger
    from wise_pytest.transport.policy import Policy
    from wise_pytest.transport.wire import Wire, WireReply

POLL_S = 0.02
"""How often to look whether another process has made room."""


@dataclass(slots=True)
class Tries:
    """The tries of one call."""

    call: Call
    lane: Lane[Any]
    wire: Wire
    ledger: Ledger
    policy: Policy
    sleep: Callable[[float], Awaitable[None]]
    rng: random.Random
    money: asyncio.Lock
    """Held by the call that is next to have money set aside, so that none overtakes it."""
    place: Callable[[], Awaitable[None]]
    """Waits for a place in the lane's window."""
    room: Callable[[], None]
    """Called when a place has become free."""
    goes_on: Callable[[], bool]
    """Whether anything may be sent any more."""
    request: HttpRequest = field(init=False)
    in_flight: bool = False
    """Whether a request is under way; else the call may be dropped without loss."""
    _has_place: bool = True
    """In the lane's window; whoever started the call has taken one for it."""
    _n: int = 0
    _n_silent: int = 0
    _n_probes: int = 0
    """Tries that failed while the provider was known to be down."""
    _began: float = 0.0
    _permit: Permit | None = None
    """To ask this provider now."""

    @property
    def was_sent(self) -> bool:
        """Whether anything has been sent for the call."""
        return self._n > 0

    async def final_reply(self) -> Response:
        """The final reply, recorded and paid for.

        Raises
        ------
        TransportError
            If no reply arrived after all tries, or nobody replies there any more. The message
            holds no header and no key.
        BudgetReached
            If the budget does not reach for another try.
        WiseError
            If the reply cannot be recorded.
        """
        self.request = self.call.request()
        try:
            return await self._final_reply(secrets_of(self.request))
        finally:
            self.lane.health.unprobed(self._permit)

    async def _final_reply(self, secrets: Sequence[str]) -> Response:
        while True:
            permit = await self._provider()
            if not await self._turn(permit):
                continue
            try:
                began = time.monotonic()
                outcome = await self._try_once(began)
            finally:
                self._leave_shared()
            now = time.monotonic()
            if isinstance(outcome, WireError):
                await self._after_failure(outcome, permit, began=began, now=now)
                continue
            # As everybody may see it: no recording, row or log has a key that a provider repeats.
            headers, body = clean(outcome.status, outcome.headers, outcome.body, secrets)
            self.lane.heard(outcome.status, headers, began=began, now=now, wall=time.time())
            pause_s = self._pause_after(outcome)
            response = Response(
                status=outcome.status,
                headers=headers,
                body=body,
                attempts=self._n,
                latency_s=now - began,
                sent=True,
                arrived_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            )
            if pause_s is None:
                self.lane.heard_final(self.call.model, outcome.status, body)
                # Recorded before its place is given on: a kill never costs more calls than have a place.
                return self._settled(response)
            # An empty body, or an error in a success, may have been charged for.
            self._settle(self.call.most if is_success(outcome.status) else None)
            if outcome.status in BUSY:
                self.lane.pause(pause_s, now)
            self.leave()
            await self.sleep(pause_s)

    def leave(self) -> None:
        """Give the place in the lane's window to others, if it is held."""
        if self._has_place:
            self._has_place = False
            self.lane.ended()
            self.room()

    async def _try_once(self, began: float) -> WireReply | WireError:
        self._n += 1
        if self._n == 1:
            self._began = began
        self.in_flight = True
        try:
            return await self.wire.read(self.request, timeout_s=self.call.timeout_s)
        except WireError as error:
            return error
        except asyncio.CancelledError:
            # The run has ended; the server may answer, and charge, all the same.
            self._settle(self.call.most)
            raise
        finally:
            self.in_flight = False

    async def _after_failure(self, error: WireError, permit: Permit, *, began: float, now: float) -> None:
        """Give up, or wait until it is worth another try."""
        self._settle(self.call.most if error.sent else None)
        self._n_silent += error.timed_out
        health = self.lane.health
        silent = not health.has_replied and self._n_silent >= self.policy.max_silent_tries
        # Who looks whether a provider is back does so for all, and it must not cost the call its tries.
        # A request that was sent is a try all the same: it may be charged for.
        self._n_probes += health.has_replied and health.is_probe(permit) and not error.sent
        exhausted = self._n - self._n_probes >= self.policy.max_attempts or not error.may_pass or silent
        health.failed(
            permit,
            began=self._began if exhausted else began,
            now=now,
            trouble=str(error),
            exhausted=exhausted,
        )
        if exhausted:
            raise TransportError(self._failure(str(error)))
        self.leave()
        await self.sleep(self.policy.pause_s(self._n, self.rng.random()))

    async def _provider(self) -> Permit:
        """Wait while the provider is down or has asked for a pause, and for a place in its window."""
        health = self.lane.health
        if self._is_refused():
            raise TransportError(
                f"{shown(self.request)}: not asked, since {MAX_REFUSALS} calls of this model in a row were "
                f"refused with HTTP {self._standing.status}"
            )
        while (permit := self._may_try(now := time.monotonic())) is None:
            if health.given_up(now):
                tried = "" if self._n == 0 else f", after {_times(self._n)}"
                raise TransportError(
                    f"{shown(self.request)}: not asked{' again' if self._n else ''}, since nothing replies "
                    f"there ({scrub(health.trouble, secrets_of(self.request))}){tried}"
                )
            self.leave()
            await asyncio.sleep(POLL_S)
        self._permit = permit
        if self._is_paused():
            self.leave()  # a new place comes when the pause is over, and in a window that may be smaller
        if not self._has_place:
            await self.place()
            self._has_place = True
        return permit

    def _is_refused(self) -> bool:
        """Whether the model was refused to others before this call was first sent."""
        return self._n == 0 and self._standing.is_refused

    @property
    def _standing(self) -> Standing:
        return self.lane.standings[self.call.model]

    def _may_try(self, now: float) -> Permit | None:
        """A permit that this call still holds, or a new one."""
        health = self.lane.health
        return self._permit if health.is_probe(self._permit) else health.may_try(now)

    def _is_paused(self) -> bool:
        return time.monotonic() < self.lane.paused_until

    async def _turn(self, permit: Permit) -> bool:
        """Wait for one of the places that processes share, for the turn, and for the money.

        Returns
        -------
        bool
            Whether to send now. Waiting may have taken long: if the provider has
            asked for a pause meanwhile, has gone down or refuses the model, all of it is given back.
        """
        call, limits = self.call, self.call.limits
        n_tokens = call.most.input_tokens + call.most.output_tokens
        # Another process makes room, and no event of this loop tells of it.
        while limits.shared_concurrency is not None and not self.ledger.enter(  # noqa: ASYNC110
            call.lane, limits.shared_concurrency
        ):
            await asyncio.sleep(POLL_S)
        try:
            turn_s = self.ledger.turn_s(
                call.lane,
                requests=limits.requests_per_minute,
                tokens=limits.tokens_per_minute,
                n_tokens=n_tokens,
            )
            if turn_s > 0:
                await asyncio.sleep(turn_s)
            async with self.money:
                while (answer := self.ledger.reserve(call.model, call.most)) == "wait":  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(POLL_S)
        except BaseException:
            self._leave_shared()
            raise
        if answer == "spent":
            self._leave_shared()
            raise BudgetReached("not asked: the budget of --wise-max-cost does not reach for it")
        if not self.goes_on():
            self._settle(None)
            self._leave_shared()
            raise closed()
        if self._is_paused() or not self.lane.health.holds(permit) or self._is_refused():
            self._settle(None)
            self._leave_shared()
            return False
        return True

    def _leave_shared(self) -> None:
        if self.call.limits.shared_concurrency is not None:
            self.ledger.leave(self.call.lane)

    def _settled(self, response: Response) -> Response:
        """Record the final reply, and put down what it cost; an error costs nothing."""
        charge: Charge | None = self.call.most
        try:
            charge, kept = self.call.arrived(self.request, response)
        finally:
            if not is_success(response.status):
                charge = None
            self.ledger.settle(self.call.model, self.call.most, charge)
        return dataclasses.replace(response, kept=True) if kept else response

    def _settle(self, charge: Charge | None) -> None:
        """Put down what a try that is not the last may have cost."""
        self.ledger.settle(self.call.model, self.call.most, charge)

    def _pause_after(self, reply: WireReply) -> float | None:
        """Seconds until the next try.

        ``None`` where this reply is final, or asks for more patience than there is.
        """
        headers = dict(reply.headers)
        if self._n - self._n_probes >= self.policy.max_attempts or not is_retryable(
            reply.status, reply.body, headers
        ):
            return None
        own = self.policy.pause_s(self._n, self.rng.random())
        asked = delay_s(reply.status, headers, reply.body, time.time())
        if asked is None:
            return own
        # A server that says "at once" still gets the pause that spreads callers out.
        return None if asked > self.policy.max_retry_after_s else max(asked, own)

    def _failure(self, trouble: str) -> str:
        return f"{shown(self.request)}: {scrub(trouble, secrets_of(self.request))}, after {_times(self._n)}"


def closed() -> TransportError:
    """The error of whoever waits for a call that is not to be sent any more."""
    return TransportError("the connections were closed meanwhile")


def shown(request: HttpRequest) -> str:
    """Method and URL without a user name, password or query."""
    with suppress(ValueError):
        parts = urlsplit(request.url)
        return f"{request.method} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return request.method


def _times(n: int) -> str:
    return "1 try" if n == 1 else f"{n} tries"

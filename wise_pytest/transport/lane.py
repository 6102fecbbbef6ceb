"""How much one provider is asked at a time: its window, its pauses, and whether it is there at all.

A lane is a provider at one address, so that a slow or dead one never holds up
another. It is touched by the event loop's thread only; what decides takes the
time as an argument.

The window is the number of requests in flight. A reply of 429 or 529 halves it,
once for all that were in flight together; each good reply widens it again by a
share, so that a full window of good replies is one more.

A lane is *down* when try after try brings no reply at all. Then nobody is sent
but one call at a time, at growing distances, and the others wait; one that had
replied before is waited for, one that never has is given up soon.

A model is *refused* when reply after reply says what any other would: a key that
is not taken, money that is used up. Then it is not asked any more, unless a call
that was under way brings an answer after all.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from wise_pytest.transport.call import is_success
from wise_pytest.transport.classify import is_refused
from wise_pytest.transport.rates import remaining

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from wise_pytest.transport.call import Call, Limits
    from wise_pytest.transport.policy import Policy

Waiting = TypeVar("Waiting")
"""How the client keeps a call that a test waits for."""
BUSY = frozenset({429, 529})
"""Replies by which a provider says that it is asked too much."""
MAX_FAILURES = 3
"""Tries in a row, of whatever calls, without a reply: then a provider that had replied counts as down."""
MAX_REFUSALS = 3
"""Replies in a row by which a model is refused to whoever asks: then nobody asks for it any more."""


class Permit:
    """Leave to try, which ``Health.may_try`` gives; of a provider that is down it is the probe's."""

    __slots__ = ()


_ANYBODY = Permit()
"""What everybody gets while the provider is there."""


@dataclass(slots=True)
class Health:
    """Whether a provider replies."""

    policy: Policy
    last_reply: float = -math.inf
    """When a complete reply arrived last; all times are of ``time.monotonic``."""
    failures: int = 0
    """Tries without a reply since then."""
    down_since: float | None = None
    trouble: str = ""
    """What the last try that failed has met."""
    next_probe: float = 0.0
    _probe_pause: float = 0.0
    _probe: Permit | None = None
    """The probe that is out; nobody else says anything new of a provider that is down."""

    @property
    def has_replied(self) -> bool:
        """Whether any reply has arrived so far."""
        return self.last_reply > -math.inf

    def replied(self, now: float) -> None:
        """Note a complete reply, whatever its status."""
        self.last_reply = now
        self.failures = 0
        self.down_since = None
        self._probe = None

    def failed(self, permit: Permit, *, began: float, now: float, trouble: str, exhausted: bool) -> None:
        """Note a try that brought no reply.

        Parameters
        ----------
        permit
            With which it was sent.
        began
            When the try, or with ``exhausted`` the first try of its call, was sent.
        exhausted
            Whether the call has no try left.
        """
        self.trouble = trouble
        if self.down_since is not None:
            if self.is_probe(permit):
                self._probe = None
                self._probe_pause = min(2 * self._probe_pause, self.policy.max_probe_pause_s)
                self.next_probe = now + self._probe_pause
            return  # who was sent before it was down has met the same outage
        if began < self.last_reply:
            return  # somebody else was served meanwhile
        self.failures += 1
        if exhausted or (self.has_replied and self.failures >= MAX_FAILURES):
            self.down_since = now
            self._probe_pause = self.policy.backoff_s
            self.next_probe = now + self._probe_pause

    def may_try(self, now: float) -> Permit | None:
        """Leave to send a try, or ``None``; of a provider that is down one at a time, when it is due.

        Whoever gets it tells ``failed`` or ``replied`` what came of it, else ``unprobed``.
        """
        if self.down_since is None:
            return _ANYBODY
        if self._probe is not None or now < self.next_probe:
            return None
        self._probe = Permit()
        return self._probe

    def is_probe(self, permit: Permit | None) -> bool:
        """Whether it is the permit of the probe that is out."""
        return permit is not None and permit is self._probe

    def holds(self, permit: Permit) -> bool:
        """Whether the permit still is one: it is not, once the provider has gone down."""
        return self.down_since is None or self.is_probe(permit)

    def given_up(self, now: float) -> bool:
        """Whether it is down for longer than anybody waits."""
        if self.down_since is None:
            return False
        patience_s = self.policy.outage_s if self.has_replied else 0.0
        return now >= self.down_since + patience_s

    def unprobed(self, permit: Permit | None) -> None:
        """Let another one probe, if it was a probe and has ended without telling anything."""
        if self.is_probe(permit):
            self._probe = None


@dataclass(slots=True)
class Standing:
    """How a provider has served one model so far."""

    has_answered: bool = False
    refusals: int = 0
    """Replies in a row that would be the same to any call."""
    status: int = 0
    """HTTP's code of the last of them."""

    def heard(self, status: int, body: bytes) -> None:
        """Learn from a final reply."""
        if is_success(status):
            self.has_answered, self.refusals = True, 0
        elif is_refused(status, body, has_answered=self.has_answered):
            self.refusals += 1
            self.status = status
        else:
            self.refusals = 0

    @property
    def is_refused(self) -> bool:
        """Whether asking again is of no use."""
        return self.refusals >= MAX_REFUSALS


@dataclass(slots=True)
class Lane(Generic[Waiting]):
    """One provider at one address, as this process asks it."""

    limits: Limits
    health: Health
    standings: defaultdict[str, Standing] = field(default_factory=lambda: defaultdict(Standing))
    """By model; two models at one address may have keys of their own."""
    returning: deque[asyncio.Future[None]] = field(default_factory=deque)
    """Calls that wait for their place to try again."""
    urgent: deque[Waiting] = field(default_factory=deque)
    """Calls that a test is waiting for."""
    coming: deque[Call] = field(default_factory=deque)
    """Calls of tests that are certain to come, in their order."""
    set_aside: list[Call] = field(default_factory=list)
    """Those to models that are refused, for the case that one answers after all."""
    n_open: int = 0
    """Calls that were started and have no end yet, those that pause between two tries included."""
    in_flight: int = 0
    window: float = 0.0
    paused_until: float = 0.0
    timer: asyncio.TimerHandle | None = None
    _paused_at: float = 0.0
    _narrowed_at: float = -math.inf
    _allowed: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By kind of limit: requests or tokens that may still be started, and when that no longer holds."""

    def __post_init__(self) -> None:
        self.window = float(self.limits.concurrency)

    def forget_coming(self) -> None:
        """Ask for nothing that no test waits for."""
        self.coming.clear()
        self.set_aside.clear()

    def unschedule(self) -> None:
        """Forget that somebody is to look at the lane again later."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def wait_s(self, now: float, *, is_new: bool = True, n_tokens: int = 0) -> float | None:
        """Seconds until another request may be started, or ``None`` until one has ended.

        Parameters
        ----------
        is_new
            Whether it is the first try of a call.
        n_tokens
            What it may use at most.
        """
        if self.in_flight >= max(1, int(self.window)):
            return None
        if is_new and self.n_open >= self.limits.concurrency:
            return None
        wait = self.paused_until - now
        for kind, (amount, until) in list(self._allowed.items()):
            if now >= until:
                del self._allowed[kind]
            elif amount < (n_tokens if kind == "tokens" else 1):
                wait = max(wait, until - now)
        return max(0.0, wait)

    def started(self, *, is_new: bool = True, n_tokens: int = 0) -> None:
        """Count a request that is about to be sent."""
        self.in_flight += 1
        self.n_open += is_new
        for kind, (amount, until) in self._allowed.items():
            self._allowed[kind] = (amount - (n_tokens if kind == "tokens" else 1), until)

    def ended(self) -> None:
        """Count a request that has its reply, or none."""
        self.in_flight -= 1

    def closed(self) -> None:
        """Count a call that has come to its end."""
        self.n_open -= 1

    def heard_final(self, model: str, status: int, body: bytes) -> None:
        """Learn from a call's final reply how its model is served."""
        standing = self.standings[model]
        was_refused = standing.is_refused
        standing.heard(status, body)
        if was_refused and not standing.is_refused:
            self.coming.extendleft(reversed([call for call in self.set_aside if call.model == model]))
            self.set_aside = [call for call in self.set_aside if call.model != model]

    def pause(self, seconds: float, now: float) -> None:
        """Start nothing for some time: the provider has asked for it."""
        self.paused_until = max(self.paused_until, now + seconds)
        self._paused_at = now

    def heard(
        self, status: int, headers: Mapping[str, str], *, began: float, now: float, wall: float
    ) -> None:
        """Learn from a complete reply.

        Parameters
        ----------
        began
            When its request was sent.
        wall
            Seconds since the epoch, for headers that name a time.
        """
        self.health.replied(now)
        if status in BUSY:
            if began >= self._narrowed_at:
                self.window = max(1.0, min(self.window, self.in_flight) / 2)
                self._narrowed_at = now
        else:
            if began > self._paused_at:
                self.paused_until = min(self.paused_until, now)
            self.window = min(float(self.limits.concurrency), self.window + 1.0 / self.window)
        for left in remaining(headers, wall):
            # Limits of a day are not waited for; a reply will say so.
            if left.reset_s <= self.health.policy.max_retry_after_s:
                self._allowed[left.kind] = (left.amount, now + left.reset_s)
            else:
                self._allowed.pop(left.kind, None)

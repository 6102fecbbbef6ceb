"""The one way that a generation is asked for, live or replayed.

The session opens one ``Client`` a process. Every request passes ``front.Front``,
which VCR.py replaces while a cassette is in use::

    send ──► front ──► VCR.py ──► replay: the recorded reply
                          └─────► live: the reply of the cell's own call

    expect ──► lanes ──► tries ──► wire          (in the event loop's thread)

So one ``send`` is one recorded interaction however many tries it took, what is
recorded is the final reply, and a replay never opens the wire at all. Calls that
are expected are asked ahead, as far as their lane's limits allow; a ``send``
takes the reply of its own call, whether that has arrived, is under way, or has
still to be asked.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from wise_pytest.errors import ConfigError, MissingRecording, TransportError, WiseError
from wise_pytest.transport import front
from wise_pytest.transport.call import FREE, Charge, Limits, Response, is_success
from wise_pytest.transport.lane import Health, Lane
from wise_pytest.transport.ledger import Ledger
from wise_pytest.transport.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
    from types import TracebackType

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.call import Call
    from wise_pytest.transport.tries import Tries
    from wise_pytest.transport.wire import Wire

__all__ = ["Client", "Response"]

UNWANTED_AT_ONCE = 200
"""Calls that need not be asked any more, and are passed over before other work gets its turn."""
WIND_DOWN_POLL_S = 0.02


class Client:
    """Sends requests, with retries, through a front that VCR.py can record and replay.

    Parameters
    ----------
    policy
        Patience.
    needs_cassette
        Whether to refuse every exchange that no cassette would see.
    ledger
        The run's books; of this client alone unless given.
    alive
        Whether the run goes on; asked before anything is sent.
    has_news, learn
        Whether other processes have recorded what is not known here, asked likewise, and what
        makes it known. That may take a while; it runs in a thread of its own, and until it is
        done nothing is asked ahead.
    sleep, rng
        Replaced by tests. ``rng`` only spreads pauses; it never touches a result.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        needs_cassette: bool = False,
        ledger: Ledger | None = None,
        alive: Callable[[], bool] = lambda: True,
        has_news: Callable[[], bool] = lambda: False,
        learn: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._policy = policy or Policy()
        self._needs_cassette = needs_cassette
        self.ledger = ledger or Ledger()
        self._alive = alive
        self._has_news = has_news
        self._learn = learn
        self._learning: asyncio.Task[None] | None = None
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - spreads pauses, protects nothing
        self._wire: Wire | None = None
        self._lock = threading.Lock()
        self._lanes: dict[str, Lane[_Begun]] = {}
        self._begun: dict[Hashable, _Begun] = {}
        """Calls that were started and not yet taken; one is added in the loop's thread only.

        Tests take finished ones from threads of their own. So taking, and looking at all of
        them, is done under ``_lock``.
        """
        self._asked: set[Hashable] = set()
        """Calls that are not to be started ahead any more, since a test has asked for them."""
        self._money = asyncio.Lock()
        self._has_replied = False
        self._stopped: BaseException | None = None
        """Why nothing is started any more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def n_in_flight(self) -> int:
        """Requests under way."""
        return sum(begun.in_flight for begun in self._all_begun())

    @property
    def has_replied(self) -> bool:
        """Whether any call has had a successful reply."""
        return self._has_replied

    def holds(self, key: Hashable) -> bool:
        """Whether the call was started ahead, and its reply not taken yet."""
        return key in self._begun

    def expect(self, calls: Iterable[Call]) -> None:
        """Ask these calls ahead, in their order, as far as the limits allow."""
        self._opened_wire().call_soon(self._expect, list(calls))

    def send(
        self,
        request: HttpRequest,
        call: Call | None = None,
        *,
        on_live: Callable[[], None] = lambda: None,
    ) -> Response:
        """The final reply to ``request``, replayed or live.

        A reply with an error status is returned like any other: what it means
        is the protocol's to say.

        Parameters
        ----------
        call
            Whose reply it is, if it may have been asked ahead. Without one the request stands alone.
        on_live
            Called once it is clear that no recording answers, before the reply is waited for.

        Raises
        ------
        MissingRecording
            If a cassette is needed and none is in use.
        TransportError
            If no reply arrived after all tries. The message holds no header and no key.
        BudgetReached
            If the run's budget does not reach for it.
        ConfigError
            If its reply, or an earlier one, cannot be recorded.
        """
        if self._needs_cassette and not front.Front.recorded:
            raise MissingRecording("no cassette is in use, and a cell is not asked without one")
        return front.Front().exchange(request, partial(self._live, call=call, on_live=on_live))

    def stop(self) -> None:
        """Send nothing more; what is under way goes on until it is closed."""
        if self._wire is not None:
            self._wire.call_soon(self._stop, _closed())

    def close(self, *, grace_s: float = 0.0) -> None:
        """Start nothing more, wait for replies that are under way, and close what was opened.

        A later ``send`` opens it again.

        Parameters
        ----------
        grace_s
            How long to wait. A reply that arrives in time is recorded and paid for like any other.
        """
        wire = self._wire
        if wire is None:
            return
        try:
            wire.call_soon(self._stop, _closed())
            if grace_s > 0 and self._begun:
                idle = threading.Event()
                wire.call_soon(self._wind_down, idle)
                idle.wait(grace_s)
        finally:
            wire.close()
            self._wire = self._stopped = None
            self._learning = None
            self._money = asyncio.Lock()  # it belonged to the loop that has ended
            self._begun.clear()
            self._lanes.clear()
            self._asked.clear()

    def _live(self, request: HttpRequest, *, call: Call | None, on_live: Callable[[], None]) -> Response:
        """The real exchange."""
        call = call or _Single(request)
        finished = self._take_finished(call.key)
        if finished is not None:
            on_live()
            return finished.done.result()
        waiting: Future[Response] = Future()
        self._opened_wire().call_soon(self._demand, call, waiting)
        on_live()
        try:
            return waiting.result()
        except KeyboardInterrupt:
            self.stop()  # at once: until the session has come to its end, much more could be asked
            raise

    def _take_finished(self, key: Hashable) -> _Begun | None:
        """The call of that key, if it has its reply; whoever takes it is the only one."""
        with self._lock:
            begun = self._begun.get(key)
            if begun is None or not begun.done.done():
                return None
            return self._begun.pop(key)

    def _all_begun(self) -> tuple[_Begun, ...]:
        with self._lock:
            return tuple(self._begun.values())

    def _add(self, call: Call) -> _Begun:
        begun = _Begun(call)
        with self._lock:
            self._begun[call.key] = begun
        return begun

    def _opened_wire(self) -> Wire:
        from wise_pytest.transport.wire import Wire  # here, because a replay never needs it

        with self._lock:
            if self._wire is None:
                self._wire = Wire(self._policy)
            return self._wire

    # From here on everything runs in the loop's thread.

    def _expect(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._lane(call).coming.append(call)
        for lane in tuple(self._lanes.values()):
            self._pump(lane)

    def _demand(self, call: Call, waiting: Future[Response]) -> None:
        """Give a test the reply of its call as soon as there is one."""
        begun = self._begun.get(call.key)
        if begun is None:
            if not self._goes_on():
                waiting.set_exception(self._stopped or _closed())
                return
            begun = self._add(call)
            self._asked.add(call.key)
            lane = self._lane(call)
            lane.urgent.append(begun)
            self._pump(lane)
        begun.is_awaited = True
        begun.done.add_done_callback(partial(self._hand_over, call.key, waiting))

    def _hand_over(self, key: Hashable, waiting: Future[Response], done: Future[Response]) -> None:
        with self._lock:
            self._begun.pop(key, None)
        error = done.exception()
        if error is not None:
            waiting.set_exception(error)
        else:
            waiting.set_result(done.result())

    def _lane(self, call: Call) -> Lane[_Begun]:
        lane = self._lanes.get(call.lane)
        if lane is None:
            lane = self._lanes[call.lane] = Lane(call.limits, Health(self._policy))
        return lane

    def _pump(self, lane: Lane[_Begun]) -> None:
        """Start what the lane's limits allow: who tries again, then what a test waits for, then the rest."""
        lane.unschedule()
        n_unwanted = 0
        while self._has_next(lane) and self._goes_on():
            returns = bool(lane.returning)
            wait_s = lane.wait_s(
                time.monotonic(), is_new=not returns, n_tokens=0 if returns else _tokens_of_next(lane)
            )
            if wait_s is None:
                return  # whatever ends starts the next
            if wait_s > 0:
                lane.timer = asyncio.get_running_loop().call_later(wait_s, self._pump, lane)
                return
            if returns:
                lane.started(is_new=False)
                lane.returning.popleft().set_result(None)
            elif lane.urgent:
                self._start(lane.urgent.popleft(), lane)
            elif not self._start_ahead(lane):
                n_unwanted += 1
                if n_unwanted >= UNWANTED_AT_ONCE:
                    asyncio.get_running_loop().call_soon(self._pump, lane)
                    return

    def _has_next(self, lane: Lane[_Begun]) -> bool:
        while lane.returning and lane.returning[0].done():
            lane.returning.popleft()  # its call was given up meanwhile
        # Of a provider that is down, nothing is asked that nobody waits for, nor what may be recorded.
        ahead = bool(lane.coming) and lane.health.down_since is None and not self._is_learning()
        return bool(lane.returning or lane.urgent) or ahead

    def _is_learning(self) -> bool:
        """Whether what others have recorded is still to become known."""
        if self._learning is None and self._has_news():
            self._learning = asyncio.get_running_loop().create_task(self._learn_apart())
        return self._learning is not None

    async def _learn_apart(self) -> None:
        """Learn in a thread of its own, so that no deadline waits for a disk."""
        try:
            await asyncio.to_thread(self._learn)
        except (WiseError, OSError):
            # The tests of what was to come meet the same, and say so.
            for lane in self._lanes.values():
                lane.forget_coming()
        finally:
            self._learning = None
        for lane in tuple(self._lanes.values()):
            self._pump(lane)

    def _start(self, begun: _Begun, lane: Lane[_Begun]) -> None:
        lane.started(n_tokens=_n_tokens(begun.call))
        begun.task = asyncio.get_running_loop().create_task(self._run(begun, lane))

    def _goes_on(self) -> bool:
        """Whether anything may be started or sent any more; once not, never again until it is closed."""
        if self._stopped is None and not self._alive():
            self._stop(_closed())
        return self._stopped is None

    def _start_ahead(self, lane: Lane[_Begun]) -> bool:
        """Start the next call of those to come; ``False`` if it need not be asked."""
        call = lane.coming.popleft()
        if lane.standings[call.model].is_refused:
            lane.set_aside.append(call)
            return False
        begun = self._next_ahead(call)
        if begun is None:
            return False
        self._start(begun, lane)
        return True

    def _next_ahead(self, call: Call) -> _Begun | None:
        """A call that nobody has asked for so far, if it still has to be asked."""
        if call.key in self._begun or call.key in self._asked or self._stopped is not None:
            return None
        try:
            if not call.wanted():
                return None
        except WiseError:
            return None  # its own test comes to the same, and says so
        return self._add(call)

    async def _run(self, begun: _Begun, lane: Lane[_Begun]) -> None:
        from wise_pytest.transport.tries import Tries

        begun.tries = tries = Tries(
            call=begun.call,
            lane=lane,
            wire=self._opened_wire(),
            ledger=self.ledger,
            policy=self._policy,
            sleep=self._sleep,
            rng=self._rng,
            money=self._money,
            place=partial(self._place, lane),
            room=partial(self._pump, lane),
            goes_on=self._goes_on,
        )
        try:
            response = await tries.final_reply()
            self._has_replied = self._has_replied or is_success(response.status)
            begun.done.set_result(response)
        except asyncio.CancelledError:
            begun.done.set_exception(_closed())
            raise
        except ConfigError as error:
            # What cannot be recorded is not asked for.
            self._stop(error)
            begun.done.set_exception(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the test that waits
            if tries.was_sent or begun.is_awaited or not lane.standings[begun.call.model].is_refused:
                begun.done.set_exception(error)
            else:  # as if it had not been started
                with self._lock:
                    self._begun.pop(begun.call.key, None)
                lane.set_aside.append(begun.call)
        finally:
            lane.closed()
            tries.leave()
            self._pump(lane)

    async def _place(self, lane: Lane[_Begun]) -> None:
        """Wait until a call may try again: the window may have become smaller meanwhile."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lane.returning.append(place)
        if self._goes_on():
            self._pump(lane)
        else:
            place.cancel()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                lane.ended()
            raise

    def _stop(self, reason: Exception) -> None:
        """Start nothing more."""
        if self._stopped is None:
            self._stopped = reason
        for lane in self._lanes.values():
            lane.forget_coming()
            while lane.urgent:
                lane.urgent.popleft().done.set_exception(self._stopped)
            while lane.returning:
                lane.returning.popleft().cancel()

    def _wind_down(self, idle: threading.Event) -> None:
        """Say when nothing is under way any more; calls that are between two tries are dropped."""
        all_begun = self._all_begun()
        under_way = [begun.task for begun in all_begun if begun.in_flight and begun.task]
        for begun in all_begun:
            if begun.task is not None and not begun.in_flight:
                begun.task.cancel()
        if under_way:
            asyncio.get_running_loop().call_later(WIND_DOWN_POLL_S, self._wind_down, idle)
        else:
            idle.set()


@dataclass(slots=True, eq=False)
class _Begun:
    """A call that a test waits for, or that was started ahead."""

    call: Call
    done: Future[Response] = field(default_factory=Future)
    is_awaited: bool = False
    """Whether a test has come to it."""
    tries: Tries | None = None
    task: asyncio.Task[None] | None = None

    @property
    def in_flight(self) -> bool:
        return self.tries is not None and self.tries.in_flight


@dataclass(frozen=True, slots=True, eq=False)
class _Single:
    """A request that stands alone, without a budget."""

    sent: HttpRequest
    limits: Limits = field(default_factory=Limits)
    most: Charge = FREE
    timeout_s: float | None = None

    @property
    def key(self) -> Hashable:
        return id(self)

    @property
    def lane(self) -> str:
        return urlsplit(self.sent.url).netloc

    @property
    def model(self) -> str:
        return self.lane

    def wanted(self) -> bool:
        return True

    def request(self) -> HttpRequest:
        return self.sent

    def arrived(self, request: HttpRequest, response: Response) -> tuple[Charge, bool]:
        del request, response
        return FREE, False


def _tokens_of_next(lane: Lane[_Begun]) -> int:
    """What the call that is next may use at most; one that returns was counted before."""
    return _n_tokens(lane.urgent[0].call if lane.urgent else lane.coming[0])


def _n_tokens(call: Call) -> int:
    most = call.most
    return most.input_tokens + most.output_tokens


def _closed() -> TransportError:
    return TransportError("the connections were closed meanwhile")

"""Calls that are asked before anybody waits for them, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.loopback import Answer, LoopbackServer, completion, error
from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.errors import BudgetReached, CassetteError, TransportError
from wise_pytest.transport.call import FREE, Charge, Limits, Response
from wise_pytest.transport.client import Client
from wise_pytest.transport.ledger import Ledger
from wise_pytest.transport.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAST = Policy(backoff_s=0.01, jitter=0.0, timeout_s=5.0)


@dataclass(eq=False)
class Ask:
    """One thing to ask."""

    key: str
    base_url: str
    limits: Limits = field(default_factory=lambda: Limits(concurrency=4))
    lane: str = "lane"
    model: str = "m"
    most: Charge = FREE
    costs: Charge = FREE
    timeout_s: float | None = None
    is_wanted: bool = True
    keep: Callable[[Response], None] = lambda _: None
    kept: list[Response] = field(default_factory=list)

    def wanted(self) -> bool:
        return self.is_wanted

    def request(self) -> HttpRequest:
        body = json.dumps({"messages": [{"role": "user", "content": self.key}]}).encode()
        return HttpRequest("POST", f"{self.base_url}/chat/completions", {"content-type": "a/b"}, body)

    def arrived(self, request: HttpRequest, response: Response) -> tuple[Charge, bool]:
        assert request.body == self.request().body
        self.keep(response)
        self.kept.append(response)
        return self.costs, True


class Crowd:
    """A script that knows how many requests wait at the same time."""

    def __init__(self, delay_s: float = 0.1, answer: Answer | None = None) -> None:
        self.delay_s = delay_s
        self.answer = answer
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, request: Any, n: int) -> Any:  # noqa: ARG002 - a script's signature
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.delay_s)
        with self._lock:
            self.now -= 1
        return self.answer or completion(f"to {request.prompt}")


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(FAST) as made:
        yield made


def text(response: Response) -> str:
    return str(json.loads(response.body)["choices"][0]["message"]["content"])


def take(client: Client, ask: Ask) -> Response:
    return client.send(ask.request(), ask)


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_each_is_asked_once_and_gets_its_own_reply(client: Client):
    crowd = Crowd()
    with LoopbackServer(crowd) as server:
        asks = [Ask(f"q{n}", server.base_url) for n in range(12)]
        client.expect(asks[1:])
        replies = [take(client, ask) for ask in asks]
        assert server.n_requests == 12
    assert [text(reply) for reply in replies] == [f"to q{n}" for n in range(12)]
    assert 1 < crowd.most <= 4
    assert all(reply.kept and reply.attempts == 1 for reply in replies)
    assert [len(ask.kept) for ask in asks] == [1] * 12


def test_twelve_at_four_a_time_go_in_three_rounds():
    """The server answers four that wait together, or, after long, is at fault."""
    four = threading.Barrier(4)

    def script(_request: Any, _n: int) -> None:
        four.wait(30)

    with LoopbackServer(script) as server, Client(Policy(timeout_s=60)) as client:
        asks = [Ask(f"q{n}", server.base_url) for n in range(12)]
        client.expect(asks)
        assert [take(client, ask).attempts for ask in asks] == [1] * 12


def test_replies_may_be_taken_in_any_order_and_by_no_one(client: Client):
    with LoopbackServer(Crowd(0.02)) as server:
        asks = [Ask(f"q{n}", server.base_url) for n in range(8)]
        client.expect(asks)
        for ask in (asks[7], asks[0], asks[3]):
            assert text(take(client, ask)) == f"to {ask.key}"
        wait_until(lambda: server.n_requests == 8 and client.n_in_flight == 0)
        assert [client.holds(ask.key) for ask in asks] == [False, True, True, False, True, True, True, False]
        assert all(len(ask.kept) == 1 for ask in asks)  # recorded, though nobody has come for it


def test_what_a_test_waits_for_goes_before_what_is_to_come(client: Client):
    with LoopbackServer(Crowd(0.05)) as server:
        one = Limits(concurrency=1)
        asks = [Ask(f"q{n}", server.base_url, one) for n in range(6)]
        client.expect(asks)
        wait_until(lambda: server.n_requests >= 1)
        take(client, asks[5])
        order = [request.prompt for request in server.requests]
    assert order.index("q5") <= 2


def test_a_call_that_is_not_wanted_any_more_is_not_asked_ahead(client: Client):
    with LoopbackServer() as server:
        asks = [Ask(f"q{n}", server.base_url, is_wanted=n == 0) for n in range(500)]
        client.expect(asks)
        assert take(client, asks[0]).status == 200
        wait_until(lambda: client.n_in_flight == 0)
        assert server.n_requests == 1


def test_a_slow_provider_does_not_hold_up_another(client: Client):
    served = threading.Event()

    def wait(_request: Any, _n: int) -> None:
        served.wait(30)

    with LoopbackServer(wait) as slow, LoopbackServer(Crowd(0.01)) as quick:
        client.expect([Ask(f"s{n}", slow.base_url, lane="slow") for n in range(20)])
        asks = [Ask(f"q{n}", quick.base_url, lane="quick") for n in range(20)]
        client.expect(asks)
        for ask in asks:
            take(client, ask)
        assert client.n_in_flight == 4  # all of the slow one's, of which none is answered
        served.set()


def test_nothing_is_asked_ahead_while_what_others_have_recorded_is_still_being_read():
    news, read, learning = [True], threading.Event(), threading.Event()

    def learn() -> None:
        learning.set()
        assert read.wait(10)
        asks[1].is_wanted = False  # another process has recorded it
        news[0] = False

    with (
        LoopbackServer() as server,
        Client(FAST, has_news=lambda: news[0], learn=learn) as client,
    ):
        asks = [Ask(f"q{n}", server.base_url) for n in range(3)]
        client.expect(asks[:2])
        assert learning.wait(10)
        assert take(client, asks[2]).status == 200  # the loop is not held up meanwhile
        assert server.n_requests == 1
        read.set()
        wait_until(lambda: client.holds("q0"))
        assert take(client, asks[0]).status == 200
        assert sorted(request.prompt or "" for request in server.requests) == ["q0", "q2"]


def test_what_cannot_be_learnt_is_left_to_the_tests_of_the_cells():
    def learn() -> None:
        raise CassetteError("damaged")

    with LoopbackServer() as server, Client(FAST, has_news=lambda: True, learn=learn) as client:
        asks = [Ask(f"q{n}", server.base_url) for n in range(3)]
        client.expect(asks)
        assert [take(client, ask).status for ask in asks] == [200] * 3
        assert server.n_requests == 3


def test_a_reply_that_was_asked_ahead_is_taken_once(client: Client):
    """Of threads that ask for one cell at the same time one gets it; another asks anew."""
    with LoopbackServer() as server:
        asks = [Ask(f"q{n}", server.base_url) for n in range(20)]
        client.expect(asks)
        wait_until(lambda: all(len(ask.kept) == 1 for ask in asks) and client.n_in_flight == 0)
        with ThreadPoolExecutor(4) as threads:
            taken = [text(reply) for reply in threads.map(lambda ask: take(client, ask), asks * 2)]
        assert len(set(taken)) == len(taken) == server.n_requests


def test_nothing_is_started_ahead_once_the_run_has_lost_its_parent():
    alive = [True]
    with LoopbackServer(Crowd(0.05)) as server, Client(FAST, alive=lambda: alive[0]) as client:
        client.expect([Ask(f"q{n}", server.base_url) for n in range(20)])
        wait_until(lambda: server.n_requests >= 4)
        alive[0] = False
        time.sleep(0.3)
        assert server.n_requests <= 8


# Trying again


def test_a_retry_belongs_to_its_call(client: Client):
    def script(request: Any, n: int) -> Any:
        return Answer(error("slow"), status=500) if n == 0 and request.prompt == "q1" else None

    with LoopbackServer(script) as server:
        asks = [Ask(f"q{n}", server.base_url) for n in range(3)]
        client.expect(asks)
        assert [take(client, ask).attempts for ask in asks] == [1, 2, 1]
        assert server.n_requests == 4


def test_a_busy_provider_is_asked_less_at_a_time(client: Client):
    def script(request: Any, n: int) -> Any:
        busy = crowd.now >= 2
        reply = crowd(request, n)
        return Answer(error("slow"), status=429) if busy else reply

    crowd = Crowd(0.05)
    with LoopbackServer(script) as server:
        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=16)) for n in range(24)]
        client.expect(asks)
        replies = [take(client, ask) for ask in asks]
        n_requests = server.n_requests
    # Sixteen at a time, each tried four times, would be far more than this.
    assert n_requests < 3 * 24
    assert sum(reply.status == 200 for reply in replies) >= 20


def test_a_pause_holds_back_calls_that_already_wait_for_their_turn(client: Client):
    """Four turns a quarter of a second apart, all within the second for which the first reply asks."""

    def script(_request: Any, _n: int) -> Any:
        nonlocal asked_until
        if not asked_until:
            asked_until = time.monotonic() + 1.0
        return Answer(error("slow"), status=429, headers=later) if time.monotonic() < asked_until else None

    asked_until, later = 0.0, {"retry-after": "1"}
    with LoopbackServer(script) as server:
        limits = Limits(concurrency=4, requests_per_minute=240)
        asks = [Ask(f"q{n}", server.base_url, limits) for n in range(4)]
        client.expect(asks)
        attempts = [take(client, ask).attempts for ask in asks]
    # One that was sent before the reply had come is possible; all four would be eight tries.
    assert sum(attempts) <= 4 + 2


@pytest.fixture
def dead() -> Iterator[str]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: nothing else can answer here
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"


def test_a_dead_endpoint_is_not_tried_in_full_for_every_call(client: Client, dead: str):
    asks = [Ask(f"q{n}", dead) for n in range(200)]
    client.expect(asks)
    said = []
    for ask in asks:
        with pytest.raises(TransportError) as caught:
            take(client, ask)
        said.append(str(caught.value))
    assert "no connection" in said[0]
    assert said[0].endswith("after 4 tries")
    assert sum("not asked, since nothing replies there (no connection" in line for line in said) > 150


def test_an_endpoint_that_never_answers_is_given_up_after_two_tries(client: Client):
    with LoopbackServer(lambda *_: Answer(b"{}", delay_s=30)) as server:
        asks = [Ask(f"q{n}", server.base_url, timeout_s=0.1) for n in range(50)]
        for ask in asks:
            with pytest.raises(TransportError, match=r"no complete reply within the time limit of 0\.1 s"):
                take(client, ask)
        assert server.n_requests <= 2 + 3


def test_looking_whether_a_provider_is_back_costs_no_call_its_tries():
    """A single call waits for longer than four tries take; each look is a try of its own, and it is told."""
    with Client(Policy(backoff_s=0.01, max_probe_pause_s=0.02, jitter=0.0)) as client:
        with LoopbackServer() as server:
            take(client, Ask("q0", server.base_url))
        ask, opened = Ask("q1", server.base_url), []

        def open_again() -> None:
            opened.append(LoopbackServer(port=server.port).__enter__())

        timer = threading.Timer(0.6, open_again)
        timer.start()
        try:
            reply = take(client, ask)
        finally:
            timer.join()
            opened[0].close()
    assert reply.status == 200
    assert reply.attempts > 4


def test_a_short_outage_costs_no_cell():
    """The server goes away for half a second in the middle: calls wait for it, and none is given up."""
    with Client(Policy(backoff_s=0.05, jitter=0.0, timeout_s=5.0)) as client:
        server = LoopbackServer(Crowd(0.02))
        with server:
            asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=8)) for n in range(60)]
            for ask in asks[:10]:
                take(client, ask)
        client.expect(asks[10:])
        time.sleep(0.5)
        with LoopbackServer(Crowd(0.02), port=server.port) as again:
            replies = [take(client, ask) for ask in asks[10:]]
            assert again.n_requests == 50
    assert [text(reply) for reply in replies] == [f"to q{n}" for n in range(10, 60)]


# A key that nobody takes


REFUSED = (
    (401, error("bad key")),
    (402, error("Insufficient Balance")),
    (404, error("no such model")),
    (429, b'{"error":{"message":"no money","code":"insufficient_quota"}}'),
    (429, b'{"error":{"code":429,"message":"limit: 0, model: x"}}'),
    (429, b'{"error":{"code":429,"details":[{"violations":[{"quotaId":"RequestsPerDayPerModel"}]}]}}'),
    (400, b'{"error":{"code":400,"message":"no","details":[{"reason":"API_KEY_INVALID"}]}}'),
)


@pytest.mark.parametrize(("status", "body"), REFUSED)
def test_a_model_that_is_refused_to_everybody_is_not_asked_again_and_again(status, body):
    with LoopbackServer(lambda *_: Answer(body, status=status)) as server, Client(FAST) as client:
        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=1)) for n in range(10)]
        assert [take(client, ask).status for ask in asks[:3]] == [status] * 3
        for ask in asks[3:]:
            with pytest.raises(
                TransportError, match=f"not asked, since 3 calls .* refused with HTTP {status}"
            ):
                take(client, ask)
        assert server.n_requests == 3
        # Another model there may have a key of its own.
        server.script = lambda *_: completion("yes")
        assert take(client, Ask("q", server.base_url, model="other")).status == 200


def test_what_was_under_way_when_a_key_is_refused_is_all_that_is_asked():
    with LoopbackServer(Crowd(0.05, Answer(error("bad key"), status=401))) as server, Client(FAST) as client:
        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=8)) for n in range(100)]
        client.expect(asks)
        outcomes = []
        for ask in asks:
            try:
                outcomes.append(take(client, ask).status)
            except TransportError:
                outcomes.append(0)
        assert server.n_requests == outcomes.count(401) <= 8 + 3
        assert outcomes.count(0) == 100 - outcomes.count(401)


@pytest.mark.parametrize(
    ("before", "status", "body", "n_asked"),
    [
        (1, 401, error("bad key"), 4),  # it was revoked meanwhile
        (0, 403, error("this prompt is flagged"), 10),
        (1, 404, error("no such file"), 10),
        (0, 400, error("this prompt is too long"), 10),
        (0, 422, error("this prompt is odd"), 10),
    ],
)
def test_what_may_be_about_one_request_keeps_no_other_from_being_asked(before, status, body, n_asked):
    script = [*[completion("yes")] * before, *[Answer(body, status=status)] * 10]
    with LoopbackServer(script) as server, Client(FAST) as client:
        for n in range(10):
            try:
                take(client, Ask(f"q{n}", server.base_url, Limits(concurrency=1)))
            except TransportError:
                assert n >= n_asked
        assert server.n_requests == n_asked


class Hiccup:
    """Three quick refusals; the others of the first eight, and all after, are good and take longer."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def __call__(self, request: Any, n: int) -> Any:  # noqa: ARG002 - a script's signature
        with self.lock:
            self.n += 1
            place = self.n
        if place <= 3:
            return Answer(error("bad key"), status=401)
        time.sleep(0.2)
        return completion("yes")


def test_what_is_refused_by_mistake_is_asked_when_the_model_answers_after_all():
    """Nothing is given up that no test has come to: an answer that was under way brings all of it back."""
    with LoopbackServer(Hiccup()) as server, Client(FAST) as client:
        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=8)) for n in range(60)]
        client.expect(asks)
        wait_until(lambda: server.n_requests == 60, seconds=30)
        statuses = [take(client, ask).status for ask in asks]
        assert server.n_requests == 60
    assert (statuses.count(401), statuses.count(200)) == (3, 57)


def test_what_waits_for_its_turn_is_not_sent_once_the_key_is_refused():
    limits = Limits(concurrency=32, requests_per_minute=600)  # a tenth of a second from one to the next
    with LoopbackServer(lambda *_: Answer(error("bad key"), status=401)) as server, Client(FAST) as client:
        asks = [Ask(f"q{n}", server.base_url, limits) for n in range(40)]
        client.expect(asks)
        for ask in asks:
            with suppress(TransportError):
                take(client, ask)
        assert 3 <= server.n_requests <= 5


def test_a_key_that_is_taken_again_is_used_again():
    refused = Answer(error("bad key"), status=401)
    script = [refused, refused, completion("yes"), refused, refused, completion("yes")]
    with LoopbackServer(script) as server, Client(FAST) as client:
        statuses = [take(client, Ask(f"q{n}", server.base_url)).status for n in range(6)]
    assert statuses == [401, 401, 200, 401, 401, 200]


# Money


def cost(nano: int, *, exact: bool = True) -> Charge:
    return Charge(input_tokens=1, output_tokens=1, nano_usd=nano, exact=exact)


def test_a_budget_is_never_exceeded_and_used_as_far_as_it_reaches():
    ledger = Ledger(max_nano_usd=100)
    with LoopbackServer(Crowd(0.02)) as server, Client(FAST, ledger=ledger) as client:
        asks = [Ask(f"q{n}", server.base_url, most=cost(20, exact=False), costs=cost(10)) for n in range(20)]
        client.expect(asks)
        outcomes = []
        for ask in asks:
            try:
                outcomes.append(text(take(client, ask)))
            except BudgetReached:
                outcomes.append("")
        # 9 × 10 leaves 10, and a call may cost 20.
        assert server.n_requests == 9
    assert sum(map(bool, outcomes)) == 9
    assert ledger.spent()["m"].nano_usd == 90


def test_tries_that_may_have_been_billed_are_counted_at_their_most():
    script = [Answer(completion("x"), cut=5), Answer(error("no"), status=500), Answer(b"\n"), completion("y")]
    ledger = Ledger()
    with LoopbackServer(script) as server, Client(FAST, ledger=ledger) as client:
        ask = Ask("q", server.base_url, most=cost(20, exact=False), costs=cost(10))
        assert take(client, ask).attempts == 4
    spent = ledger.spent()["m"]
    # The cut reply and the empty success at 20 each, the HTTP error at nothing, the good one at 10.
    assert (spent.calls, spent.nano_usd, spent.inexact) == (3, 50, 2)


def test_an_error_costs_nothing(dead: str):
    ledger = Ledger()
    most = cost(20, exact=False)
    with LoopbackServer([Answer(error("no"), status=400)]) as server, Client(FAST, ledger=ledger) as client:
        assert take(client, Ask("q", server.base_url, most=most)).status == 400
        with pytest.raises(TransportError):
            take(client, Ask("r", dead, most=most, lane="dead"))
    assert ledger.spent() == {}


def test_requests_a_minute_are_kept(client: Client):
    with LoopbackServer() as server:
        limits = Limits(concurrency=8, requests_per_minute=600)
        asks = [Ask(f"q{n}", server.base_url, limits) for n in range(6)]
        began = time.monotonic()
        client.expect(asks)
        for ask in asks:
            take(client, ask)
        assert time.monotonic() - began >= 0.5
        assert server.n_requests == 6


# Recording


def test_a_reply_that_cannot_be_recorded_ends_all_asking(client: Client):
    def keep(_: Response) -> None:
        raise CassetteError("the disk is full")

    with LoopbackServer(Crowd(0.02)) as server:
        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=2), keep=keep) for n in range(30)]
        client.expect(asks)
        for ask in asks:
            with pytest.raises(CassetteError, match="the disk is full"):
                take(client, ask)
        assert server.n_requests <= 4


# The end


def test_what_is_under_way_at_the_end_is_recorded_within_the_grace_time(client: Client):
    with LoopbackServer(Crowd(0.3)) as server:
        asks = [Ask(f"q{n}", server.base_url) for n in range(20)]
        client.expect(asks)
        wait_until(lambda: server.n_requests == 4)
        began = time.monotonic()
        client.close(grace_s=60.0)
        assert time.monotonic() - began < 60.0
        assert server.n_requests == 4
    assert [len(ask.kept) for ask in asks] == [1] * 4 + [0] * 16


def test_the_grace_time_has_an_end_and_a_call_between_two_tries_none(client: Client):
    with LoopbackServer(lambda *_: Answer(b"{}", delay_s=20)) as server:
        client.expect([Ask("q", server.base_url)])
        wait_until(lambda: client.n_in_flight == 1)
        began = time.monotonic()
        client.close(grace_s=0.2)
        assert 0.2 <= time.monotonic() - began < 20.0  # when the reply would have come
    waiting = Policy(backoff_s=300.0, max_backoff_s=300.0, timeout_s=60.0)
    with LoopbackServer(lambda *_: Answer(b"{}", status=500)) as server, Client(waiting) as patient:
        patient.expect([Ask("q", server.base_url)])
        wait_until(lambda: server.n_requests == 1 and patient.n_in_flight == 0)
        began = time.monotonic()
        patient.close(grace_s=60.0)
        assert time.monotonic() - began < 60.0


def test_closing_ends_the_waiting_for_a_call_that_was_not_started_yet(client: Client):
    said: list[str] = []

    def wait(ask: Ask) -> None:
        try:
            take(client, ask)
        except TransportError as problem:
            said.append(str(problem))

    with LoopbackServer(lambda *_: Answer(b"{}", delay_s=20)) as server:
        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=1)) for n in range(2)]
        threads = [threading.Thread(target=wait, args=(ask,)) for ask in asks]
        for thread in threads:
            thread.start()
        wait_until(lambda: server.n_requests == 1)
        time.sleep(0.05)
        client.close()
        for thread in threads:
            thread.join(5)
    assert said == ["the connections were closed meanwhile"] * 2


# Nothing more


def test_a_reply_is_recorded_before_the_next_request_is_sent(client: Client):
    """So that a kill costs no more calls than may be under way at a time."""
    seen: list[int] = []
    with LoopbackServer() as server:

        def keep(_: Response) -> None:
            time.sleep(0.05)
            seen.append(server.n_requests)

        asks = [Ask(f"q{n}", server.base_url, Limits(concurrency=1), keep=keep) for n in range(3)]
        client.expect(asks)
        assert all(take(client, ask).kept for ask in asks)
    assert seen == [1, 2, 3]


def test_after_a_stop_nothing_is_sent_and_what_is_under_way_arrives(client: Client):
    crowd = Crowd(0.3)
    with LoopbackServer(crowd) as server:
        asks = [Ask(f"q{n}", server.base_url) for n in range(12)]
        client.expect(asks)
        wait_until(lambda: server.n_requests == 4)
        client.stop()
        replies = [take(client, ask) for ask in asks[:4]]
        with pytest.raises(TransportError, match="closed meanwhile"):
            take(client, asks[4])
        assert [text(reply) for reply in replies] == [f"to q{n}" for n in range(4)]
        assert server.n_requests == 4


def test_a_stop_ends_calls_that_would_try_again_and_those_that_wait_for_their_turn():
    ledger = Ledger()
    limits = Limits(concurrency=4, requests_per_minute=60)
    with LoopbackServer([Answer(status=429)]) as server, Client(FAST, ledger=ledger) as client:
        asks = [Ask(f"q{n}", server.base_url, limits) for n in range(4)]
        client.expect(asks)
        wait_until(lambda: server.n_requests == 1)  # the others' turns come a second apart
        client.stop()
        for ask in asks:
            with pytest.raises(TransportError, match="closed meanwhile"):
                take(client, ask)
        time.sleep(1.2)
        assert server.n_requests == 1
    assert ledger.spent() == {}


def test_once_the_run_is_over_nothing_is_sent_to_whoever_waits():
    goes_on = True
    with LoopbackServer() as server, Client(FAST, alive=lambda: goes_on) as client:
        assert take(client, Ask("q0", server.base_url)).kept
        goes_on = False
        with pytest.raises(TransportError, match="closed meanwhile"):
            take(client, Ask("q1", server.base_url))
        assert server.n_requests == 1

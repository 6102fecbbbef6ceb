"""One exchange over real sockets: deadlines, threads, closing, and what may be tried again."""

from __future__ import annotations

import gc
import json
import signal
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.loopback import Answer, LoopbackServer, completion
from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.transport.policy import Policy
from wise_pytest.transport.wire import Wire, WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("little_to_collect")
GOOD = completion("Fine.")


def post(base_url: str, prompt: str = "hi", key: str = "sk-very-secret-key") -> HttpRequest:
    return HttpRequest(
        "POST",
        f"{base_url}/chat/completions",
        {"content-type": "application/json", "authorization": f"Bearer {key}"},
        json.dumps({"messages": [{"role": "user", "content": prompt}]}).encode(),
    )


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire(Policy(timeout_s=30))
    yield made
    made.close()
    gc.collect()  # what was not closed warns now, and warnings are errors


@pytest.fixture
def impatient() -> Iterator[Wire]:
    made = Wire(Policy(timeout_s=0.3, connect_timeout_s=0.2))
    yield made
    made.close()
    gc.collect()


def failure(wire: Wire, request: HttpRequest) -> WireError:
    with pytest.raises(WireError) as caught:
        wire.exchange(request)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    return caught.value


# Deadlines


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(Answer(GOOD, head_drip_s=0.02), id="dripping head"),
        pytest.param(Answer(GOOD, drip_s=0.02), id="dripping body"),
        pytest.param(Answer(GOOD, chunked=True, drip_s=0.02), id="dripping chunks"),
        pytest.param(Answer(GOOD, delay_s=5), id="silent"),
    ],
)
def test_a_server_that_never_quite_stops_meets_the_deadline(wire: Wire, impatient: Wire, slow: Answer):
    """Each would have come whole within some seconds, as httpx's own timeouts would have let it."""
    with LoopbackServer([slow, GOOD]) as server:
        began = time.monotonic()
        error = failure(impatient, post(server.base_url))
        took = time.monotonic() - began
        assert json.loads(wire.exchange(post(server.base_url)).body) == GOOD
    assert str(error) == "no complete reply within the time limit of 0.3 s"
    assert error.may_pass
    assert took >= 0.3


@pytest.fixture
def deaf() -> Iterator[str]:
    """The URL of a server whose queue is full: connecting to it takes for ever."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)  # noqa: FBT003 - the standard library's signature
            one.connect_ex(listening.getsockname())
            waiting.append(one)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        for one in waiting:
            one.close()


def test_connecting_has_a_limit_of_its_own(deaf: str):
    wire = Wire(Policy(timeout_s=30, connect_timeout_s=0.2))
    error = failure(wire, post(deaf))
    wire.close()
    assert (str(error), error.may_pass) == ("no connection within the time limit", True)


def test_the_deadline_includes_connecting(deaf: str):
    impatient = Wire(Policy(timeout_s=0.1, connect_timeout_s=10))
    try:
        assert str(failure(impatient, post(deaf))) == "no complete reply within the time limit of 0.1 s"
    finally:
        impatient.close()


# What may be tried again


@pytest.mark.parametrize(
    "broken",
    [
        Answer(reset=True),
        Answer(GOOD, cut=20),
        Answer(GOOD, chunked=True, cut=20),
        Answer(b"no gzip", headers={"content-encoding": "gzip"}),
    ],
)
def test_a_broken_reply_may_come_whole_another_time(wire: Wire, broken: Answer):
    with LoopbackServer([broken]) as server:
        assert failure(wire, post(server.base_url)).may_pass


def test_a_refused_connection_may_be_accepted_another_time(wire: Wire):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: nothing else can answer here
        assert failure(wire, post(f"http://127.0.0.1:{held.getsockname()[1]}/v1")).may_pass


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://127.0.0.1/v1", "the URL cannot be used"),
        ("http://127.0.0.1:port/v1", "the URL cannot be used"),
        ("http:///v1", "the URL cannot be used"),
    ],
)
def test_a_url_that_cannot_be_used_never_can(wire: Wire, url: str, says: str):
    error = failure(wire, post(url))
    assert says in str(error)
    assert not error.may_pass


@pytest.mark.parametrize("key", ["secret\nkey", "secret\u2019s key"])
def test_a_key_that_cannot_be_sent_is_not_shown(wire: Wire, key: str):
    with LoopbackServer() as server:
        assert not failure(wire, post(server.base_url, key=key)).may_pass
        assert server.n_requests == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_blocked_network_stays_blocked(wire: Wire, host: str):
    from pytest_recording import network

    with LoopbackServer() as server, network.blocking_context():
        error = failure(wire, post(f"http://{host}:{server.port}/v1"))
    assert str(error).startswith("Network is disabled")
    assert not error.may_pass


def test_a_reply_that_is_too_long_is_not_read_to_its_end():
    wire = Wire(Policy(timeout_s=5, max_body_bytes=1000))
    try:
        with LoopbackServer([Answer(b"x" * 2000, drip_s=0.0005), Answer(b"x" * 1000)]) as server:
            error = failure(wire, post(server.base_url))
            assert (str(error), error.may_pass) == ("the reply is longer than 1000 bytes", False)
            assert len(wire.exchange(post(server.base_url)).body) == 1000
    finally:
        wire.close()


# Threads


def test_sixteen_threads_exchange_at_once():
    all_there = threading.Barrier(16)

    def script(request: Any, _n: int) -> Answer:
        all_there.wait(30)  # breaks, and is a problem of the server's, unless all come before any is answered
        return Answer(completion(request.prompt))

    wire = Wire(Policy(timeout_s=60))
    try:
        with LoopbackServer(script) as server:
            prompts = [f"prompt {n}" for n in range(16)]
            with ThreadPoolExecutor(16) as threads:
                replies = list(threads.map(lambda text: wire.exchange(post(server.base_url, text)), prompts))
    finally:
        wire.close()
    texts = [json.loads(reply.body)["choices"][0]["message"]["content"] for reply in replies]
    assert texts == prompts


def test_closing_leaves_no_thread_and_can_be_repeated(wire: Wire):
    before = set(threading.enumerate())
    with LoopbackServer() as server:
        # A host name, so that there is a thread which has looked it up.
        wire.exchange(post(f"http://localhost:{server.port}/v1"))
        assert "wise-wire" in {thread.name for thread in threading.enumerate()}
        wire.close()
        # The server's own threads are still there; those of other tests were there before.
        left = {thread.name for thread in set(threading.enumerate()) - before}
        wire.close()
    assert not [name for name in left if name.startswith(("wise-", "asyncio"))]
    assert set(threading.enumerate()) <= before


def test_a_lookup_that_hangs_does_not_keep_closing_waiting(monkeypatch: pytest.MonkeyPatch):
    ends = threading.Event()

    def hang(*_: Any, **__: Any) -> None:
        ends.wait(60)
        raise OSError("no such name")

    monkeypatch.setattr("wise_pytest.transport.wire.LOOKUP_GRACE_S", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", hang)
    wire = Wire(Policy(timeout_s=0.2))
    rescue = threading.Timer(20, ends.set)
    rescue.start()
    assert failure(wire, post("http://no-such-name.test/v1")).timed_out
    wire.close()
    assert not ends.is_set()  # the lookup still hangs
    rescue.cancel()
    ends.set()


def test_a_wire_that_was_never_used_has_no_thread_and_closes():
    before = set(threading.enumerate())
    wire = Wire(Policy())
    assert set(threading.enumerate()) <= before
    wire.close()


def test_closing_ends_the_waiting_of_other_threads():
    wire = Wire(Policy(timeout_s=30))
    arrived = threading.Event()

    def script(*_: Any) -> Answer:
        arrived.set()
        return Answer(GOOD, delay_s=30)

    with LoopbackServer(script) as server, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(failure, wire, post(server.base_url))
        assert arrived.wait(5)
        wire.close()
        error = waiting.result(5)
    assert (str(error), error.may_pass) == ("the connections were closed meanwhile", False)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no way to interrupt one thread")
def test_ctrl_c_breaks_the_exchange_off():
    wire = Wire(Policy(timeout_s=30))
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:

        def interrupt_and_listen() -> bytes:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(5)
                while not connection.recv(65536).endswith(b"}"):
                    pass
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                return connection.recv(1)

        seen = threads.submit(interrupt_and_listen)
        began = time.monotonic()
        # A shell starts what runs in the background with SIGINT ignored, and that is inherited.
        inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                wire.exchange(post(f"http://127.0.0.1:{listening.getsockname()[1]}/v1"))
        finally:
            signal.signal(signal.SIGINT, inherited)
        assert seen.result(5) == b""  # the other side hung up, although nobody has closed the wire
        assert time.monotonic() - began < 5
    wire.close()


# Clients


def test_a_local_server_costs_no_certificates(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    def load(**_: Any) -> None:
        raise AssertionError("certificates were loaded")

    monkeypatch.setattr(ssl, "create_default_context", load)
    with LoopbackServer() as server:
        assert wire.exchange(post(server.base_url)).status == 200


def test_nothing_of_one_exchange_shows_in_the_next(wire: Wire):
    first = Answer(GOOD, status=302, headers={"set-cookie": "id=1; Path=/", "location": "/elsewhere"})
    with LoopbackServer([first]) as server:
        reply = wire.exchange(post(server.base_url))
        wire.exchange(post(server.base_url))
    assert reply.status == 302
    assert ("set-cookie", "id=1; Path=/") in reply.headers
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
    assert server.requests[0].headers == server.requests[1].headers

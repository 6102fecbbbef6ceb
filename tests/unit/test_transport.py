"""The client over real sockets: retries, deadlines, broken replies, VCR.py, proxies."""

from __future__ import annotations

import gzip
import json
import random
import socket
import subprocess
import sys
import time
import zlib
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import vcr

from tests.loopback import Answer, LoopbackServer, completion, default_text, error
from wise_pytest.cassettes.vcr import PATCHERS, RecordedFront
from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.errors import TransportError
from wise_pytest.transport import front
from wise_pytest.transport.classify import delay_s, duration_s, is_retryable, retry_after_s
from wise_pytest.transport.client import Client
from wise_pytest.transport.policy import Policy
from wise_pytest.transport.scrub import scrub

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-very-secret-key"
GOOD = completion("Fine.")


def post(base_url: str, prompt: str = "hi") -> HttpRequest:
    return HttpRequest(
        "POST",
        f"{base_url}/chat/completions",
        {"content-type": "application/json", "authorization": f"Bearer {KEY}"},
        json.dumps({"messages": [{"role": "user", "content": prompt}]}).encode(),
    )


class Patience:
    """A client whose pauses take no time and are kept for assertions."""

    def __init__(self, **policy: Any) -> None:
        self.pauses: list[float] = []
        self.client = Client(
            Policy(**{"jitter": 0.0, "timeout_s": 5.0, **policy}),
            sleep=self._pause,
            rng=random.Random(1),
        )

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def send(self, server: LoopbackServer, prompt: str = "hi") -> Any:
        return self.client.send(post(server.base_url, prompt))


@pytest.fixture
def patience() -> Iterator[Patience]:
    made = Patience()
    with made.client:
        yield made


# One exchange


def test_a_reply_comes_back_whole(patience: Patience):
    with LoopbackServer([Answer(GOOD, headers={"X-Thing": "a", "Set-Cookie": "id=1"})]) as server:
        response = patience.send(server)
        patience.send(server)
    assert response.status == 200
    assert json.loads(response.body) == GOOD
    assert response.headers["x-thing"] == "a"
    assert response.headers["content-type"] == "application/json"
    assert (response.attempts, response.sent) == (1, True)
    assert 0 < response.latency_s < 5
    first, second = server.requests
    assert first.headers["accept-encoding"] == "identity"
    assert first.headers["user-agent"].startswith("wise-pytest/")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert "cookie" not in second.headers
    assert first.headers == second.headers


def test_connections_are_kept_open(patience: Patience):
    with LoopbackServer() as server:
        opened = []
        accept = server._http.process_request
        server._http.process_request = lambda *given: (opened.append(1), accept(*given))
        bodies = [patience.send(server).body for _ in range(3)]
    assert len(opened) == 1
    texts = [json.loads(body)["choices"][0]["message"]["content"] for body in bodies]
    assert texts == [default_text("hi", n) for n in range(3)]
    assert [text[0] for text in texts] == ["A", "B", "C"]


def test_a_client_can_be_used_again_after_it_was_closed(patience: Patience):
    with LoopbackServer() as server:
        patience.send(server)
        patience.client.close()
        assert patience.send(server).status == 200


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_a_final_error_is_returned_and_not_tried_again(patience: Patience, status: int):
    with LoopbackServer([Answer(error("no"), status=status, headers={"location": "/elsewhere"})]) as server:
        response = patience.send(server)
    assert (response.status, response.attempts, server.n_requests) == (status, 1, 1)
    assert patience.pauses == []


def test_chunked_and_slow_replies_arrive(patience: Patience):
    script = [Answer(GOOD, chunked=True), Answer(GOOD, delay_s=0.05), Answer(GOOD, head_drip_s=0.0002)]
    with LoopbackServer(script) as server:
        for _ in script:
            assert json.loads(patience.send(server).body) == GOOD


# Trying again


def test_429_then_200(patience: Patience):
    with LoopbackServer([Answer(error("slow down"), status=429), GOOD]) as server:
        response = patience.send(server)
    assert (response.status, response.attempts, server.count("hi")) == (200, 2, 2)
    assert patience.pauses == [0.5]


def test_429_for_ever_is_returned_after_all_tries(patience: Patience):
    with LoopbackServer(lambda *_: Answer(error("slow down"), status=429)) as server:
        response = patience.send(server)
    assert (response.status, response.attempts, server.n_requests) == (429, 4, 4)
    assert json.loads(response.body) == error("slow down")
    assert patience.pauses == [0.5, 1.0, 2.0]


def test_an_exhausted_quota_is_not_asked_again(patience: Patience):
    body = error("pay", code="insufficient_quota")
    with LoopbackServer([Answer(body, status=429)]) as server:
        assert (patience.send(server).status, server.n_requests) == (429, 1)


QUOTA = {
    "error": {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota. " + "More about it. " * 40 + "\nPlease retry in 7.25s.",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "PerMinute"}],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"},
        ],
    }
}
"""As Google says it: when to come back stands in the body, twice."""


def test_the_delay_in_a_body_is_obeyed(patience: Patience):
    with LoopbackServer([Answer(QUOTA, status=429), GOOD]) as server:
        assert patience.send(server).attempts == 2
    assert patience.pauses == [7.25]


def test_a_limit_that_is_used_up_is_waited_for(patience: Patience):
    limits = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1.5s",
        "x-ratelimit-remaining-tokens": "150",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    with LoopbackServer([Answer(error("slow down"), status=429, headers=limits), GOOD]) as server:
        assert patience.send(server).attempts == 2
    assert patience.pauses == [1.5]


@pytest.mark.parametrize(
    ("says", "status", "n_tries"), [("false", 529, 1), ("true", 400, 2), ("maybe", 529, 2)]
)
def test_a_server_may_say_whether_to_try_again(patience: Patience, says: str, status: int, n_tries: int):
    with LoopbackServer(
        [Answer(error("no"), status=status, headers={"x-should-retry": says}), GOOD]
    ) as server:
        assert patience.send(server).attempts == n_tries


def test_a_pause_that_a_success_asks_for_means_nothing(patience: Patience):
    with LoopbackServer([Answer(b"\n", headers={"retry-after": "50"}), GOOD]) as server:
        patience.send(server)
    assert patience.pauses == [0.5]


def test_an_account_is_taken_out_of_errors_and_never_out_of_answers(patience: Patience):
    named = {"openai-organization": "acme-lab", "anthropic-organization-id": "other-lab"}
    bad = Answer(error("acme-lab has no credit, other-lab neither"), status=401, headers=named)
    with LoopbackServer([bad, Answer(completion("acme-lab wins"), headers=named)]) as server:
        refused, answered = patience.send(server), patience.send(server)
    assert json.loads(refused.body) == error("[scrubbed] has no credit, [scrubbed] neither")
    assert "lab" not in str(refused.headers)
    assert json.loads(answered.body) == completion("acme-lab wins")


def test_the_version_of_a_protocol_is_no_secret():
    version = {"anthropic-version": "2023-06-01", "x-api-key": KEY}
    with LoopbackServer([completion(f"Since 2023-06-01, {KEY}.")]) as server, Client() as client:
        response = client.send(HttpRequest("POST", f"{server.base_url}/messages", version, b"{}"))
    text = json.loads(response.body)["choices"][0]["message"]["content"]
    assert text == "Since 2023-06-01, [scrubbed]."


def test_an_empty_success_and_an_error_in_a_success_are_tried_again(patience: Patience):
    busy = {"choices": None, "error": {"code": 429, "message": "busy"}}
    with LoopbackServer([Answer(b"\n\n\n"), busy, GOOD]) as server:
        response = patience.send(server)
    assert (json.loads(response.body), response.attempts) == (GOOD, 3)


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5),
        ({"retry-after": "soon"}, 0.5),
        ({"retry-after": "0"}, 0.5),
    ],
)
def test_the_server_may_ask_for_patience(patience: Patience, headers: dict[str, str], pause: float):
    with LoopbackServer([Answer(b"{}", status=503, headers=headers), GOOD]) as server:
        assert patience.send(server).attempts == 2
    assert patience.pauses == [pause]


def test_a_date_to_come_back_at_is_obeyed(patience: Patience):
    date = formatdate(time.time() + 30, usegmt=True)
    with LoopbackServer([Answer(b"{}", status=503, headers={"retry-after": date}), GOOD]) as server:
        patience.send(server)
    assert 25 < patience.pauses[0] <= 30


def test_a_server_that_asks_for_too_much_patience_has_had_its_say(patience: Patience):
    with LoopbackServer([Answer(b"{}", status=429, headers={"retry-after": "3600"})]) as server:
        response = patience.send(server)
    assert (response.status, response.attempts, patience.pauses) == (429, 1, [])


def test_pauses_are_bounded_and_spread():
    policy = Policy(backoff_s=1.0, max_backoff_s=5.0, jitter=0.5)
    assert [policy.pause_s(attempt, 0.0) for attempt in (1, 2, 3, 4, 5000)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert policy.pause_s(3, 1.0) == 2.0


# Replies that break


@pytest.mark.parametrize(
    "broken",
    [
        Answer(reset=True),
        Answer(GOOD, cut=20),
        Answer(GOOD, cut=0),
        Answer(GOOD, chunked=True, cut=20),
        Answer(gzip.compress(json.dumps(GOOD).encode()), headers={"content-encoding": "gzip"}, cut=40),
        Answer(b"not gzip", headers={"content-encoding": "gzip"}),
    ],
)
def test_a_broken_reply_is_tried_again(patience: Patience, broken: Answer):
    with LoopbackServer([broken, GOOD]) as server:
        response = patience.send(server)
    assert (json.loads(response.body), response.attempts) == (GOOD, 2)


@pytest.mark.parametrize(
    ("broken", "says"),
    [(Answer(reset=True), "the connection broke"), (Answer(GOOD, cut=20), "closed or broke the reply")],
)
def test_broken_replies_for_ever_are_an_error_in_words(patience: Patience, broken: Answer, says: str):
    with LoopbackServer(lambda *_: broken) as server, pytest.raises(TransportError) as caught:
        patience.send(server)
    assert str(caught.value).startswith(f"POST {server.base_url}/chat/completions: ")
    assert says in str(caught.value)
    assert str(caught.value).endswith("after 4 tries")
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_refused_connection_is_an_error_in_words(patience: Patience):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: nothing else can answer here
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(TransportError, match=r"no connection \(.*\), after 4 tries"):
            patience.client.send(post(url))
    assert len(patience.pauses) == 3


def test_a_host_that_cannot_be_one_is_an_error_in_words(patience: Patience):
    with pytest.raises(TransportError, match=r"no connection \(.*\), after 1 try"):
        patience.client.send(post(f"http://{'a' * 70}.localhost/v1"))


@pytest.mark.parametrize(
    "slow",
    [
        Answer(GOOD, delay_s=5),
        Answer(GOOD, drip_s=0.02),
        Answer(GOOD, chunked=True, drip_s=0.02),
        Answer(GOOD, head_drip_s=0.02),
    ],
)
def test_the_deadline_holds_for_a_try_as_a_whole(slow: Answer):
    patience = Patience(timeout_s=0.2, max_attempts=2)
    with patience.client, LoopbackServer(lambda *_: slow) as server:
        began = time.monotonic()
        with pytest.raises(TransportError, match=r"within the time limit .* after 2 tries"):
            patience.send(server)
        took = time.monotonic() - began
    assert 0.4 <= took < 1.5


def test_the_next_exchange_has_its_own_deadline():
    patience = Patience(timeout_s=0.5)
    with patience.client, LoopbackServer() as server:
        patience.send(server)
        time.sleep(0.6)
        assert patience.send(server).attempts == 1


def test_a_reply_that_never_ends_is_cut_off():
    patience = Patience(max_body_bytes=1000)
    with patience.client, LoopbackServer([Answer(b"x" * 1000), Answer(b"x" * 1001)]) as server:
        assert len(patience.send(server).body) == 1000
        with pytest.raises(TransportError, match="longer than 1000 bytes, after 1 try"):
            patience.send(server)


# Compression that nobody asked for


@pytest.mark.parametrize(
    ("coding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_a_compressed_reply_is_decoded(patience: Patience, coding: str, compress: Any):
    body = compress(json.dumps(GOOD).encode())
    with LoopbackServer([Answer(body, headers={"content-encoding": coding})]) as server:
        response = patience.send(server)
    assert json.loads(response.body) == GOOD
    assert "content-encoding" not in response.headers


def test_a_compressed_flood_is_refused():
    patience = Patience(max_body_bytes=10_000)
    flood = Answer(gzip.compress(b"x" * 1_000_000), headers={"content-encoding": "gzip"})
    with (
        patience.client,
        LoopbackServer([flood]) as server,
        pytest.raises(TransportError, match="longer than 10000 bytes"),
    ):
        patience.send(server)


def test_an_unknown_compression_is_an_error_in_words(patience: Patience):
    with (
        LoopbackServer([Answer(b"?", headers={"content-encoding": "br"})]) as server,
        pytest.raises(TransportError, match="compressed with 'br'"),
    ):
        patience.send(server)


# VCR.py


def cassette(path: Path, mode: str = "once") -> Any:
    return vcr.VCR(serializer="json", record_mode=mode).use_cassette(
        str(path), skip_patchers=PATCHERS, custom_patches=((front, "Front", RecordedFront),)
    )


def test_one_send_is_one_recorded_interaction_and_a_replay_sends_nothing(tmp_path: Path, patience: Patience):
    path = tmp_path / "cell.json"
    with LoopbackServer([Answer(error("slow"), status=429), Answer(reset=True), GOOD]) as server:
        with cassette(path):
            live = patience.send(server)
        assert (live.attempts, live.sent, server.n_requests) == (3, True, 3)
        (recorded,) = json.loads(path.read_text())["interactions"]
        assert recorded["response"]["status"]["code"] == 200
        with Client() as fresh, cassette(path, "none"):
            replayed = fresh.send(post(server.base_url))
            assert fresh._wire is None
        assert server.n_requests == 3
    assert (replayed.status, replayed.body, replayed.headers) == (live.status, live.body, live.headers)
    assert (replayed.attempts, replayed.latency_s, replayed.sent) == (None, None, False)


def test_a_wire_that_was_opened_inside_a_cassette_still_reaches_the_server(tmp_path: Path):
    with LoopbackServer() as server:
        for n in range(3):  # nested and one after the other: none may record the inner exchange
            with Client() as client, cassette(tmp_path / f"{n}.json"):
                client.send(post(server.base_url))
                client.send(post(server.base_url, "other"))
            assert len(json.loads((tmp_path / f"{n}.json").read_text())["interactions"]) == 2
    assert server.n_requests == 6


def test_a_cassette_does_not_disturb_a_client_opened_before_it(tmp_path: Path, patience: Patience):
    with LoopbackServer() as server:
        patience.send(server)
        with cassette(tmp_path / "x.json"):
            patience.send(server)
        patience.send(server)
    assert server.n_requests == 3
    assert len(json.loads((tmp_path / "x.json").read_text())["interactions"]) == 1


def test_a_compressed_reply_is_recorded_as_plain_bytes(tmp_path: Path, patience: Patience):
    body = gzip.compress(json.dumps(GOOD).encode())
    with (
        LoopbackServer([Answer(body, headers={"content-encoding": "gzip"})]) as server,
        cassette(tmp_path / "x.json"),
    ):
        patience.send(server)
    (recorded,) = json.loads((tmp_path / "x.json").read_text())["interactions"]
    assert json.loads(recorded["response"]["body"]["string"]) == GOOD
    assert "content-encoding" not in recorded["response"]["headers"]


def test_a_blocked_network_is_an_error_in_words(patience: Patience):
    from pytest_recording import network

    with (
        LoopbackServer() as server,
        network.blocking_context(),
        pytest.raises(TransportError, match=r"Network is disabled( for host '127\.0\.0\.1')?, after 1 try"),
    ):
        patience.send(server)


# Proxies


def test_a_remote_host_is_asked_through_the_proxy_of_the_environment(patience: Patience, monkeypatch: Any):
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with LoopbackServer() as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        assert patience.client.send(post("http://models.invalid/v1")).status == 200
    (seen,) = proxy.requests
    assert seen.path == "http://models.invalid/v1/chat/completions"
    assert seen.headers["host"] == "models.invalid"
    assert seen.headers["proxy-authorization"].startswith("Basic ")


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/v1", "http://localhost:{port}/v1"])
def test_this_machine_is_never_asked_through_a_proxy(patience: Patience, monkeypatch: Any, url: str):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    with LoopbackServer() as server:
        assert patience.client.send(post(url.format(port=server.port))).attempts == 1


@pytest.mark.parametrize(
    "proxy",
    [
        "socks5://me:hunter2@127.0.0.1:9",
        "gopher://me:hunter2@127.0.0.1:9",
        "http://me:hunter2/x@127.0.0.1:9",  # the slash ends the host: the password is read as a port
    ],
)
def test_a_proxy_that_cannot_be_used_is_an_error_in_words(patience: Patience, monkeypatch: Any, proxy: str):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", proxy)
    monkeypatch.setitem(sys.modules, "socksio", None)  # what httpx would need for a SOCKS proxy
    with pytest.raises(
        TransportError, match=r"the environment's proxy cannot be used.*after 1 try"
    ) as caught:
        patience.client.send(post("http://models.invalid/v1"))
    assert "hunter2" not in str(caught.value)


# Pure parts


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (408, b"", True),
        (409, b"", True),
        (429, b"", True),
        (429, b'{"error":{"code":"rate_limit_exceeded"}}', True),
        (429, b'{"error":{"code":"insufficient_quota"}}', False),
        (429, b'{"error":{"type":"insufficient_quota","code":null}}', False),
        (500, b"", True),
        (529, b"<html>", True),
        (599, b"[" * 50_000, True),
        (600, b"", False),
        (400, b"", False),
        (403, b'{"error":{"code":429}}', False),
        (302, b"", False),
        (200, b"", True),
        (200, b" \n\n", True),
        (200, b'{"choices":null,"error":{"code":429}}', True),
        (200, b'{"error":{"code":"503"}}', True),
        (200, b'{"error":{"code":400}}', False),
        (200, b'{"error":{"code":true}}', False),
        (200, b'{"error":"Unexpected endpoint or method."}', False),
        (200, b'{"error":{"code":429},"choices":[{}]}', False),
        (200, b'{"choices":[{"message":{"content":"\\"error\\""}}]}', False),
        (200, b'"error"', False),
        (200, b'{"error":\xff}', False),
        (200, b"<html>", False),
        (402, b"", False),
        (413, b"", False),
        (422, b"", False),
        (500, b'{"error":{"code":"insufficient_quota"}}', True),
        (429, b'{"error":{"type":"exceeded_current_quota_error"}}', False),
        (429, b'{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}', True),
        (
            429,
            b'[{"error":{"code":429,"details":[{"violations":[{"quotaId":"RequestsPerDayPerModel"}]}]}}]',
            False,
        ),
        (429, b'{"error":{"code":429,"details":[{"violations":[{"quotaId":"RequestsPerMinute"}]}]}}', True),
        (429, b'{"error":{"code":429,"details":[{"violations":[7]},{"violations":7},7]}}', True),
        (429, b'{"error":{"message":"* Quota exceeded for metric: x, limit: 0, model: y"}}', False),
        (429, b'{"error":{"message":"x, limit: 0\\nPlease retry in 3s."}}', False),
        (429, b'{"error":{"message":"x, limit: 0.5, model: y"}}', True),
        (429, b'{"error":{"message":"x, limit: 05, model: y"}}', True),
        (429, b'{"error":{"message":"x, limit: 10, model: y"}}', True),
        (200, b'{"type":"error","error":{"type":"overloaded_error"}}', True),
        (200, b'{"type":"error","error":{"type":"invalid_request_error"}}', False),
        (200, b'[{"error":{"code":503,"status":"UNAVAILABLE"}}]', True),
        (200, b'{"error":{"code":"insufficient_quota","type":"rate_limit_error"}}', False),
        (200, b'{"candidates":[{}],"error":{"code":503}}', False),
        (200, b'{"content":[{"type":"text"}],"error":{"code":503}}', False),
    ],
)
def test_what_is_tried_again(status: int, body: bytes, expected: bool):  # noqa: FBT001 - a table
    assert is_retryable(status, body) is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 0.25 "}, 0.25),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "6m0s"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:20:00 GMT"}, 200.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 0.0),
        ({"retry-after": "Thu, 99 Jan 1970 00:00:10 GMT"}, None),
        ({"retry-after": "Thu, 01 Jan 999999 00:00:10 GMT"}, None),
    ],
)
def test_how_long_a_reply_asks_to_wait(headers: dict[str, str], expected: float | None):
    assert retry_after_s(headers, 1000.0) == expected


@pytest.mark.parametrize(
    ("status", "headers", "body", "expected"),
    [
        (429, {"retry-after": "3"}, b'{"error":{"message":"retry in 9s"}}', 3.0),
        (429, {"retry-after": "soon"}, b'{"error":{"message":"Please try again in 1m2.5s."}}', 62.5),
        (429, {}, b'{"error":{"message":"Rate limit reached. Please try again in 76ms. Visit x"}}', 0.076),
        (503, {}, b'{"error":{"details":[{"retryDelay":"34.07s"}]}}', 34.07),
        (503, {}, b'[{"error":{"details":[{"retryDelay":"2s"}],"message":"Please retry in 5s."}}]', 5.0),
        (429, {}, b'{"error":{"details":[{"retryDelay":5},{"retryDelay":"x"}]}}', None),
        (429, {}, b'{"error":{"message":"try again in a minute"}}', None),
        (429, {}, b"<html>", None),
        (429, {}, b"[" * 50_000, None),
        (429, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, b"", 360.0),
        (503, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, b"", None),
        (429, {"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, b"", None),
        (429, {"x-ratelimit-remaining-tokens": "0"}, b"", None),
        (200, {"retry-after": "3"}, b'{"error":{"message":"retry in 9s"}}', None),
    ],
)
def test_when_a_reply_says_to_come_back(
    status: int, headers: dict[str, str], body: bytes, expected: float | None
):
    assert delay_s(status, headers, body, 1000.0) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6m0s", 360.0),
        ("76ms", 0.076),
        ("1h2m3.5s", 3723.5),
        ("1.5s", 1.5),
        ("500µs", 0.0005),
        ("0s", 0.0),
        ("", None),
        ("5", None),
        ("5 s", None),
        ("s", None),
        ("5d", None),
        ("-5s", None),
        ("1.2.3s", None),
    ],
)
def test_durations_as_go_writes_them(text: str, expected: float | None):
    assert duration_s(text) == (None if expected is None else pytest.approx(expected))


def test_scrubbing():
    assert scrub("key sk-abcdef and sk-abcdefgh!", ["sk-abcdef", "sk-abcdefgh"]) == (
        "key [scrubbed] and [scrubbed]!"
    )
    assert scrub("a short word", ["short", ""]) == "a short word"
    assert scrub("nothing", []) == "nothing"


def test_a_replay_loads_no_network_library():
    program = (
        "import sys, httpx; from wise_pytest.transport.client import Client\n"
        "with Client(): pass\n"
        "print('httpcore' in sys.modules, 'vcr' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_registry_and_the_protocols_load_no_network_library():
    program = (
        "import sys, wise_pytest.endpoints.registry\n"
        "print([name for name in ('httpx', 'httpcore', 'vcr', 'numpy', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_loopback_server_runs_as_a_program():
    path = Path(__file__).parents[1] / "loopback.py"
    with (
        subprocess.Popen(
            [sys.executable, str(path), "--port", "0"], stdout=subprocess.PIPE, text=True
        ) as program,
        Client() as client,
    ):
        port = int(program.stdout.readline())
        assert client.send(post(f"http://127.0.0.1:{port}/v1")).status == 200
        program.terminate()

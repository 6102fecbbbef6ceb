"""VCR.py's part in recording: what it is told, and that it does it."""

import dataclasses
import json

import httpx
import pytest
import vcr

from tests.loopback import Answer, LoopbackServer, completion
from tests.recordings import pack_bytes, recording, session, write
from wise_pytest.cassettes.store import CassetteStore
from wise_pytest.cassettes.vcr import (
    MATCHER,
    CellPersister,
    CellRequest,
    NoRecording,
    RecordedFront,
    StagedRecording,
    drop_errors,
    marker_arguments,
    register,
    same_request,
)
from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.transport import front
from wise_pytest.transport.client import Client, Response

KEY = ("i1", "POS", 1)
OLD = recording()
MODES = ("none", "once", "new_episodes", "all")
LATER = "2026-02-02T00:00:00.000Z"


def request(body=None, **headers):
    exchange = OLD.exchange
    sent = {"content-type": "application/json", "authorization": "Bearer sk-secret", **headers}
    return HttpRequest(exchange.method, exchange.url, sent, exchange.request_body if body is None else body)


class Live:
    """The real exchange, counted."""

    def __init__(self, body=b'{"id":"x","new":1.0}', status=200):
        self.asked = []
        self._body = body
        self._status = status

    def __call__(self, sent):
        self.asked.append(sent)
        headers = {"content-type": "application/json", "x-request-id": "r1", "set-cookie": "id=1"}
        return Response(self._status, headers, self._body, attempts=2, latency_s=0.5, sent=True)


class Cell:
    """One cell of a folder with or without a recording, run as pytest-recording would run it."""

    def __init__(self, root, *, recorded, rewrite=False):
        self.root = root
        if recorded:
            write(root / "p" / "m.jsonl", pack_bytes(OLD.to_line()))
        self.store = CassetteStore(root)
        self.persister = CellPersister(self.store.pack("p", "m"), KEY, rewrite=rewrite)

    def use(self, mode):
        recorder = vcr.VCR(cassette_library_dir=str(self.root / "unused"), record_mode="all")
        register(recorder)
        return recorder.use_cassette("unused.yaml", **marker_arguments(self.persister, record_mode=mode))

    def run(self, mode, live, *, sent=None, staged=True):
        with self.use(mode):
            response = front.Front().exchange(sent or request(), live)
            if staged and response.sent:
                self.persister.stage(StagedRecording(session("s2"), "main", LATER, attempts=2, latency_s=0.5))
        self.store.close()
        return response

    @property
    def kept(self):
        """What the next process would replay."""
        return CassetteStore(self.root).pack("p", "m").get(KEY)

    @property
    def files(self):
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*.*"))


NEW = dataclasses.replace(
    OLD,
    session="s2",
    recorded_at=LATER,
    attempts=2,
    latency_s=0.5,
    exchange=dataclasses.replace(OLD.exchange, message="", response_body=b'{"new":1.0}'),
)
"""What ``Live`` leaves behind."""


# Replay


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes"])
def test_a_recorded_cell_is_replayed(tmp_path, mode):
    cell, live = Cell(tmp_path, recorded=True), Live()
    response = cell.run(mode, live)
    assert response == Response(
        200,
        {"content-type": "application/json"},
        OLD.exchange.response_body,
        attempts=None,
        latency_s=None,
        sent=False,
    )
    assert live.asked == []
    assert cell.persister.recording == OLD
    assert cell.files == ["p/m.jsonl"]
    assert cell.kept == OLD


def test_headers_play_no_part_in_finding_a_recording(tmp_path):
    live = Live()
    sent = request(authorization="Bearer another", accept="text/plain")
    assert not Cell(tmp_path, recorded=True).run("none", live, sent=sent).sent
    assert live.asked == []


@pytest.mark.parametrize(
    "change",
    [
        {"method": "GET"},
        {"url": OLD.exchange.url + "x"},
        {"url": OLD.exchange.url.replace("127.0.0.1", "127.0.0.2")},
        {"body": OLD.exchange.request_body + b" "},
    ],
    ids=["method", "path", "host", "body"],
)
@pytest.mark.parametrize("mode", ["none", "once"])
def test_any_other_request_is_refused_and_nothing_is_sent(tmp_path, mode, change):
    cell, live = Cell(tmp_path, recorded=True), Live()
    with pytest.raises(NoRecording):
        cell.run(mode, live, sent=dataclasses.replace(request(), **change))
    assert live.asked == []
    assert cell.kept == OLD


def test_what_was_never_recorded_is_refused_where_nothing_may_be_recorded(tmp_path):
    cell, live = Cell(tmp_path, recorded=False), Live()
    with pytest.raises(NoRecording):
        cell.run("none", live)
    assert live.asked == []
    assert cell.persister.recording is None
    assert cell.files == []


def test_a_recording_answers_one_request(tmp_path):
    live = Live()
    with Cell(tmp_path, recorded=True).use("none"):
        front.Front().exchange(request(), live)
        with pytest.raises(NoRecording):
            front.Front().exchange(request(), live)
    assert live.asked == []


# Recording


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
def test_a_cell_without_a_recording_is_recorded(tmp_path, mode):
    cell, live = Cell(tmp_path, recorded=False), Live()
    response = cell.run(mode, live)
    # What was sent, and what the run goes on with, are the real ones; only what is kept is scrubbed.
    assert live.asked == [request()]
    assert live.asked[0].headers == request().headers
    assert response.body == b'{"id":"x","new":1.0}'
    assert response.headers["set-cookie"] == "id=1"
    assert cell.kept == NEW
    assert cell.files == ["p/m.s2-main-1.part.jsonl"]
    assert b"sk-secret" not in (tmp_path / cell.files[0]).read_bytes()


@pytest.mark.parametrize(
    ("mode", "sent"),
    [("all", request()), ("all", request(b"changed")), ("new_episodes", request(b"changed"))],
)
def test_a_recorded_cell_is_recorded_again_where_the_mode_says_so(tmp_path, mode, sent):
    cell, live = Cell(tmp_path, recorded=True), Live()
    cell.run(mode, live, sent=sent)
    assert live.asked == [sent]
    exchange = dataclasses.replace(NEW.exchange, request_body=sent.body)
    assert cell.kept == dataclasses.replace(NEW, exchange=exchange)


def test_a_rewrite_does_not_look_at_what_is_recorded(tmp_path):
    cell, live = Cell(tmp_path, recorded=True, rewrite=True), Live()
    # pytest-recording turns the mode "rewrite" into this one.
    assert cell.run("new_episodes", live).sent
    assert cell.persister.recording is None
    assert cell.kept == NEW


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
def test_what_was_recorded_is_replayed_by_the_next_run(tmp_path, mode):
    first = Cell(tmp_path, recorded=False).run(mode, Live(b'{"choices":[1.0]}'))
    live = Live()
    again = Cell(tmp_path, recorded=False).run("none", live)
    assert (again.status, again.body, again.sent) == (first.status, first.body, False)
    assert live.asked == []


@pytest.mark.parametrize(
    ("mode", "recorded"),
    [("once", False), ("new_episodes", False), ("new_episodes", True), ("all", False), ("all", True)],
)
@pytest.mark.parametrize("status", [199, 300, 302, 400, 429, 500])
def test_an_error_is_never_recorded(tmp_path, mode, recorded, status):
    cell, live = Cell(tmp_path, recorded=recorded), Live(status=status)
    # Staged all the same, as a refusal that comes with an error status is.
    assert cell.run(mode, live, sent=request(b"changed")).status == status
    assert cell.kept == (OLD if recorded else None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("recorded", [False, True])
def test_nothing_is_recorded_that_the_cell_has_not_called_usable(tmp_path, mode, recorded):
    cell = Cell(tmp_path, recorded=recorded)
    if recorded or mode != "none":
        cell.run(mode, Live(), staged=False)
    assert cell.kept == (OLD if recorded else None)
    assert cell.files == (["p/m.jsonl"] if recorded else [])


def test_nothing_is_recorded_where_the_test_broke_before_it_called_the_reply_usable(tmp_path):
    cell = Cell(tmp_path, recorded=False)

    def broken():
        with cell.use("once"):
            front.Front().exchange(request(), Live())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert cell.kept is None


def test_a_reply_is_recorded_although_the_test_failed_after_it(tmp_path):
    cell = Cell(tmp_path, recorded=False)

    def failing():
        with cell.use("once"):
            front.Front().exchange(request(), Live())
            cell.persister.stage(StagedRecording(session("s2"), "main", LATER, attempts=2, latency_s=0.5))
            raise AssertionError

    with pytest.raises(AssertionError):
        failing()
    cell.store.close()
    assert cell.kept == NEW


def test_one_reply_is_saved_once(tmp_path):
    cell = Cell(tmp_path, recorded=False)
    cell.run("once", Live())
    saved = {"requests": [CellRequest("POST", OLD.exchange.url, b"", {})], "responses": [None]}
    cell.persister.save_cassette("unused", saved)
    assert cell.kept == NEW


def test_whatever_the_path_the_cell_is_what_is_loaded_and_saved(tmp_path):
    cell = Cell(tmp_path, recorded=True)
    for path in ("", "/no/such/folder/x.yaml", "x\0"):
        requests, responses = cell.persister.load_cassette(path, serializer=None)
        assert [each.body for each in requests] == [OLD.exchange.request_body]
        assert [each["body"]["string"] for each in responses] == [OLD.exchange.response_body]


# VCR.py's hold on everybody else


def test_only_our_own_front_is_replaced_and_only_while_a_cassette_is_in_use(tmp_path):
    transports = (httpx.HTTPTransport, httpx.AsyncHTTPTransport, httpx.MockTransport)
    before = [dict(vars(kind)) for kind in transports]
    own = front.Front
    with Cell(tmp_path, recorded=True).use("none"):
        assert issubclass(front.Front, RecordedFront)
        assert [dict(vars(kind)) for kind in transports] == before
    assert front.Front is own
    assert [dict(vars(kind)) for kind in transports] == before


def test_what_else_a_test_does_over_http_is_neither_blocked_nor_recorded(tmp_path):
    cell = Cell(tmp_path, recorded=True)
    with LoopbackServer([Answer({"free": True})] * 2) as server:
        url = f"{server.base_url}/chat/completions"
        with cell.use("none"):
            assert httpx.post(url, json={"messages": [{"content": "x"}]}, trust_env=False).json() == {
                "free": True
            }
            front.Front().exchange(request(), Live())
        with cell.use("all"):
            httpx.post(url, json={"messages": [{"content": "x"}]}, trust_env=False)
        assert len(server.requests) == 2
    assert cell.files == ["p/m.jsonl"]
    assert cell.kept == OLD


def test_the_real_client_is_recorded_over_a_real_socket_and_replayed_without_one(tmp_path):
    reply = completion("Fine.", usage={"prompt_tokens": 1.0}, system_fingerprint="fp", organization="org-1")
    body = b'{"messages":[{"content":"hi","role":"user"}]}'
    with LoopbackServer([Answer(reply)]) as server, Client() as client:
        sent = HttpRequest("POST", f"{server.base_url}/chat/completions", request().headers, body)
        cell = Cell(tmp_path, recorded=False)
        with cell.use("once"):
            live = client.send(sent)
            cell.persister.stage(StagedRecording(session("s2"), "main", LATER, attempts=1, latency_s=0.5))
        cell.store.close()
        with Cell(tmp_path, recorded=False).use("none"):
            replayed = client.send(sent)
        assert len(server.requests) == 1
    assert (live.sent, live.attempts, replayed.sent, replayed.attempts) == (True, 1, False, None)
    hidden = ("id", "system_fingerprint", "organization")
    assert json.loads(replayed.body) == {name: value for name, value in reply.items() if name not in hidden}
    assert cell.kept.exchange.url == sent.url
    assert set(cell.kept.exchange.request_headers) <= {"accept", "content-type"}
    assert set(cell.kept.exchange.response_headers) == {"content-type"}


def test_settings_of_the_recorder_that_could_change_a_cell_are_overruled(tmp_path):
    recorder = vcr.VCR(
        record_mode="all",
        match_on=["method"],
        filter_headers=["content-type"],
        filter_query_parameters=["a"],
        filter_post_data_parameters=["messages"],
        before_record_request=lambda _request: None,
        before_record_response=lambda _response: None,
        ignore_hosts=["127.0.0.1"],
        ignore_localhost=True,
        decode_compressed_response=True,
        drop_unused_requests=True,
    )
    register(recorder)
    cell, live = Cell(tmp_path, recorded=True), Live()
    with recorder.use_cassette("x", **marker_arguments(cell.persister, record_mode="none")):
        assert not front.Front().exchange(request(), live).sent
    assert live.asked == []
    assert cell.kept == OLD


def test_our_matcher_is_known_by_its_name_and_changes_no_other(tmp_path):
    recorder = vcr.VCR()
    before = dict(recorder.matchers)
    register(recorder)
    assert recorder.matchers == {**before, MATCHER: same_request}
    assert recorder.match_on == vcr.VCR().match_on
    persister = Cell(tmp_path, recorded=False).persister
    assert marker_arguments(persister, record_mode="once")["match_on"] == (MATCHER,)


# Small decisions


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("POST", "http://h/a", b"x"), ("POST", "http://h/a", b"x"), True),
        (("POST", "http://u:p@h/a?k=1#f", b"x"), ("POST", "http://h/a", b"x"), True),
        (("POST", "http://h/a", b"x"), ("GET", "http://h/a", b"x"), False),
        (("POST", "http://h/a", b"x"), ("POST", "http://h/a/", b"x"), False),
        (("POST", "http://h/a", b"x"), ("POST", "https://h/a", b"x"), False),
        (("POST", "http://h/a", b"x"), ("POST", "http://h:81/a", b"x"), False),
        (("POST", "http://h/a", b'{"a":1}'), ("POST", "http://h/a", b'{"a": 1}'), False),
    ],
)
def test_requests_are_the_same_to_the_byte_but_for_what_a_url_may_hide(one, other, same):
    made = [CellRequest(*parts, {"x": str(number)}) for number, parts in enumerate((one, other))]
    assert same_request(*made) is same
    assert same_request(*reversed(made)) is same


@pytest.mark.parametrize(
    ("status", "kept"), [(200, True), (299, True), (199, False), (300, False), (500, False)]
)
def test_only_success_is_kept(status, kept):
    response = {"status": {"code": status, "message": ""}}
    assert drop_errors(response) == (response if kept else None)

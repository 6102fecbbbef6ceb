"""The bridge to VCR.py: what pytest-recording needs to replay and record one cell.

Everything is handed to pytest-recording as arguments of the test's own ``vcr``
marker, which win over a user's ``vcr_config`` fixture. So a user's other VCR
tests keep their settings, and theirs cannot leak into a panel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.request import Request

from wise_pytest.cassettes.pack import Exchange, Recording
from wise_pytest.cassettes.scrub import (
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    keep_headers,
    scrub_reply_body,
    scrub_url,
)
from wise_pytest.transport import front
from wise_pytest.transport.call import Response
from wise_pytest.transport.front import Front

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vcr import VCR

    from wise_pytest.cassettes.pack import RecordingKey
    from wise_pytest.cassettes.store import Pack
    from wise_pytest.endpoints.model import HttpRequest

MATCHER = "wise_request"
PATCHERS = ("httplib", "requests", "boto3", "urllib3", "httplib2", "tornado", "aiohttp", "httpx", "httpx2")
"""Clients that VCR.py patches by itself. A cell uses none of them: it is recorded at the client's front."""


class CellRequest(Request):  # type: ignore[misc]  # VCR.py has no types
    """A request that nobody changes once it is built, so that a copy is the request itself.

    VCR.py copies a request before every comparison, which for its own class
    costs more than the comparison.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> CellRequest:
        return self


class RecordedReply(dict[str, Any]):
    """A loaded reply, which nobody changes either; VCR.py copies each one as it is loaded."""

    def __deepcopy__(self, memo: dict[int, Any]) -> RecordedReply:
        return self


class LiveReply(dict[str, Any]):
    """A reply that is about to be recorded; VCR.py logs it before anything is taken out of it."""

    def __repr__(self) -> str:
        return f"<a reply with status {self['status']['code']}>"


class NoRecording(Exception):  # noqa: N818 - what was found, for the cell to put into words
    """Nothing fits the request, and nothing may be recorded.

    VCR.py's own exception compares the request with the whole cassette before
    anybody has asked for the difference.
    """


class RecordedFront(Front):
    """What VCR.py puts in the place of the client's front: replay, or go live and record."""

    recorded = True
    cassette: Any = None
    """VCR.py derives a class from this one whose cassette is the one in use."""

    def exchange(self, request: HttpRequest, live: Callable[[HttpRequest], Response]) -> Response:
        """The recorded reply to ``request``, or where the record mode allows it a live one.

        Raises
        ------
        NoRecording
            If there is no recording of this very request, and none may be made.
        """
        cassette = self.cassette
        asked = CellRequest(request.method, request.url, request.body, _shown_headers(request))
        if cassette.can_play_response_for(asked):
            return _replayed(cassette.play_response(asked))
        if cassette.write_protected:
            raise NoRecording
        response = live(request)
        cassette.append(asked, _recordable(response))
        return response


class CellPersister:
    """VCR.py's persister for one cell, whatever path the cassette is given.

    The path that pytest-recording makes from the test's name is not used: the
    cell's identity decides what is loaded and where a recording goes.
    """

    def __init__(self, pack: Pack, key: RecordingKey, *, rewrite: bool) -> None:
        self._pack = pack
        self._key = key
        self._rewrite = rewrite
        self._staged: StagedRecording | None = None
        self.recording: Recording | None = None
        """What was loaded for this cell."""

    def stage(self, staged: StagedRecording) -> None:
        """Say what is known of the exchange that VCR.py will save when the test ends."""
        self._staged = staged

    def load_cassette(
        self, _path: str, serializer: object = None
    ) -> tuple[list[Request], list[dict[str, Any]]]:
        """The recorded exchange in VCR.py's terms.

        Raises
        ------
        CassetteNotFoundError
            If this cell has no recording, or is to be recorded anew.
        """
        del serializer
        recording = self.recording = None if self._rewrite else self._pack.get(self._key)
        if recording is None:
            raise CassetteNotFoundError
        exchange = recording.exchange
        request = CellRequest(exchange.method, exchange.url, exchange.request_body, {})
        reply = RecordedReply(
            status={"code": exchange.status, "message": exchange.message},
            headers=exchange.response_headers,
            body={"string": exchange.response_body},
        )
        return [request], [reply]

    def save_cassette(
        self, _path: str, cassette_dict: Mapping[str, Sequence[Any]], serializer: object = None
    ) -> None:
        """Append the newest exchange to the pack, if the cell has said that it is usable."""
        del serializer
        staged = self._staged
        if staged is None or not cassette_dict["requests"]:
            return
        self._staged = None
        request, response = cassette_dict["requests"][-1], cassette_dict["responses"][-1]
        if staged.kept_body is not None and staged.kept_body == response["body"]["string"]:
            return  # recorded as it arrived
        recording = _recording(
            self._key,
            _exchange(request, response),
            session=str(staged.session["id"]),
            recorded_at=staged.recorded_at,
            attempts=staged.attempts,
            latency_s=staged.latency_s,
        )
        self._pack.append(recording, session=staged.session, writer=staged.writer)


@dataclass(frozen=True, slots=True)
class StagedRecording:
    """What a recording says besides the exchange itself."""

    session: Mapping[str, Any]
    """How recordings of this run are made."""
    writer: str
    """The process, by its name within the run."""
    recorded_at: str
    attempts: int
    latency_s: float
    kept_body: bytes | None = None
    """The body of the reply, where it was recorded as it arrived."""


def recording_of(key: RecordingKey, request: HttpRequest, response: Response, *, session: str) -> Recording:
    """The recording of a live exchange, the same that a cassette would save."""
    return _recording(
        key,
        Exchange(
            method=request.method,
            url=scrub_url(request.url),
            request_headers=keep_headers(request.headers, REQUEST_HEADERS),
            request_body=request.body,
            status=response.status,
            message="",
            response_headers=keep_headers(response.headers, RESPONSE_HEADERS),
            response_body=scrub_reply_body(response.body),
        ),
        session=session,
        recorded_at=response.arrived_at or "",
        attempts=response.attempts or 1,
        # Rounded as a recording keeps it, so that a replay gives the same row.
        latency_s=round(response.latency_s or 0.0, 6),
    )


def marker_arguments(persister: CellPersister, *, record_mode: str) -> dict[str, Any]:
    """Arguments of the ``vcr`` marker for one cell; every setting that a user could have changed is here."""
    return {
        "persister": persister,
        # VCR.py does not know pytest-recording's "rewrite": the persister then loads nothing.
        "record_mode": "new_episodes" if record_mode == "rewrite" else record_mode,
        "match_on": (MATCHER,),
        "serializer": "yaml",
        "skip_patchers": PATCHERS,
        "filter_headers": (),
        "filter_query_parameters": (),
        "filter_post_data_parameters": (),
        "filter_sensitive_data": (),
        "ignore_hosts": (),
        "ignore_localhost": False,
        "before_record_request": None,
        "before_record_response": drop_errors,
        "before_save_interaction": None,
        "after_load_interaction": None,
        "additional_matchers": (),
        "custom_patches": ((front, "Front", RecordedFront),),
        "inject_cassette": False,
        "allow_playback_repeats": False,
        "drop_unused_requests": False,
        "decode_compressed_response": False,
        "record_on_exception": True,
    }


def register(vcr: VCR) -> None:
    """Make the matcher known to a VCR instance; other cassettes do not use it."""
    vcr.register_matcher(MATCHER, same_request)


def same_request(sent: Request, recorded: Request) -> bool:
    """Whether two requests are the same to the byte, headers aside.

    Requests are built in one way, so equal meaning gives equal bytes, and the
    comparison costs nothing; VCR.py's own body matcher parses both and builds
    a diff for each mismatch.
    """
    return bool(
        sent.method == recorded.method
        and sent.body == recorded.body
        and (sent.uri == recorded.uri or scrub_url(sent.uri) == scrub_url(recorded.uri))
    )


def drop_errors(response: dict[str, Any]) -> dict[str, Any] | None:
    """Keep a reply out of the cassette unless the provider reports success."""
    return response if 200 <= response["status"]["code"] < 300 else None  # noqa: PLR2004 - HTTP's classes


def _shown_headers(request: HttpRequest) -> dict[str, str]:
    """The headers that a recording may hold; the key never reaches VCR.py."""
    return {name: value for name, value in request.headers.items() if name.lower() in REQUEST_HEADERS}


def _replayed(response: Mapping[str, Any]) -> Response:
    return Response(
        status=response["status"]["code"],
        headers={name.lower(): ", ".join(values) for name, values in response["headers"].items()},
        body=response["body"]["string"],
        attempts=None,
        latency_s=None,
        sent=False,
    )


def _recordable(response: Response) -> LiveReply:
    return LiveReply(
        status={"code": response.status, "message": ""},
        headers={name: [value] for name, value in response.headers.items()},
        body={"string": response.body},
    )


def _recording(
    key: RecordingKey, exchange: Exchange, *, session: str, recorded_at: str, attempts: int, latency_s: float
) -> Recording:
    item, form, repetition = key
    return Recording(
        item=item,
        form=form,
        repetition=repetition,
        session=session,
        recorded_at=recorded_at,
        attempts=attempts,
        latency_s=latency_s,
        exchange=exchange,
    )


def _exchange(request: Request, response: Mapping[str, Any]) -> Exchange:
    """The exchange as it may be kept; the client has taken the key out of the reply already."""
    return Exchange(
        method=request.method,
        url=scrub_url(request.uri),
        request_headers=keep_headers(dict(request.headers), REQUEST_HEADERS),
        request_body=request.body,
        status=response["status"]["code"],
        message=response["status"]["message"],
        response_headers=keep_headers(response["headers"], RESPONSE_HEADERS),
        response_body=scrub_reply_body(response["body"]["string"]),
    )

"""The bridge to VCR.py: what pytest-recording needs to replay and record one cell.

Everything is handed to pytest-recording as arguments of the test's own ``vcr``
marker, which win over a user's ``vcr_config`` fixture. So a user's other VCR
tests keep their settings, and theirs cannot leak into a panel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.request import Request

from wise_pytest.cassettes.pack import Exchange, Recording
from wise_pytest.cassettes.scrub import (
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    keep_headers,
    scrub_reply_body,
    scrub_secrets,
    scrub_url,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vcr import VCR

    from wise_pytest.cassettes.pack import RecordingKey
    from wise_pytest.cassettes.store import Pack

MATCHER = "wise_request"
OTHER_PATCHERS = ("httplib", "requests", "boto3", "urllib3", "httplib2", "tornado", "aiohttp", "httpx2")
"""Clients that a cell never uses; not patching them saves most of VCR.py's time per test."""


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
        request = Request(
            exchange.method,
            exchange.url,
            exchange.request_body,
            {name: values[0] for name, values in exchange.request_headers.items()},
        )
        response = {
            "status": {"code": exchange.status, "message": exchange.message},
            "headers": dict(exchange.response_headers),
            "body": {"string": exchange.response_body},
        }
        return [request], [response]

    def save_cassette(
        self, _path: str, cassette_dict: Mapping[str, Sequence[Any]], serializer: object = None
    ) -> None:
        """Append the newest exchange to the pack, if the cell has said that it is usable."""
        del serializer
        staged = self._staged
        if staged is None or not cassette_dict["requests"]:
            return
        item, form, repetition = self._key
        recording = Recording(
            item=item,
            form=form,
            repetition=repetition,
            session=str(staged.session["id"]),
            recorded_at=staged.recorded_at,
            attempts=staged.attempts,
            latency_s=staged.latency_s,
            exchange=_exchange(cassette_dict["requests"][-1], cassette_dict["responses"][-1], staged.secrets),
        )
        self._pack.append(recording, session=staged.session, writer=staged.writer)
        self._staged = None


class StagedRecording:
    """What a recording says besides the exchange itself."""

    __slots__ = ("attempts", "latency_s", "recorded_at", "secrets", "session", "writer")

    def __init__(
        self,
        *,
        session: Mapping[str, Any],
        writer: str,
        recorded_at: str,
        attempts: int,
        latency_s: float,
        secrets: tuple[str, ...],
    ) -> None:
        self.session = session
        self.writer = writer
        self.recorded_at = recorded_at
        self.attempts = attempts
        self.latency_s = latency_s
        self.secrets = secrets


def marker_arguments(persister: CellPersister, *, record_mode: str) -> dict[str, Any]:
    """Arguments of the ``vcr`` marker for one cell; every setting that a user could have changed is here."""
    return {
        "persister": persister,
        "record_mode": record_mode,
        "match_on": (MATCHER,),
        "serializer": "yaml",
        "skip_patchers": OTHER_PATCHERS,
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
        "custom_patches": (),
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
        and scrub_url(sent.uri) == scrub_url(recorded.uri)
    )


def drop_errors(response: dict[str, Any]) -> dict[str, Any] | None:
    """Keep a reply out of the cassette unless the provider reports success."""
    return response if 200 <= response["status"]["code"] < 300 else None  # noqa: PLR2004 - HTTP's classes


def _exchange(request: Request, response: Mapping[str, Any], secrets: tuple[str, ...]) -> Exchange:
    body = scrub_reply_body(response["body"]["string"])
    return Exchange(
        method=request.method,
        url=scrub_secrets(scrub_url(request.uri), secrets),
        request_headers=keep_headers(dict(request.headers), REQUEST_HEADERS),
        request_body=request.body,
        status=response["status"]["code"],
        message=response["status"]["message"],
        response_headers=keep_headers(response["headers"], RESPONSE_HEADERS),
        response_body=_scrub_bytes(body, secrets),
    )


def _scrub_bytes(body: bytes, secrets: tuple[str, ...]) -> bytes:
    # surrogateescape carries bytes that are not UTF-8 through unharmed.
    text = body.decode("utf-8", "surrogateescape")
    return scrub_secrets(text, secrets).encode("utf-8", "surrogateescape")

"""One cell's test: ask the model once, score its answer once.

``CellRun`` is what a test gets as its ``wise`` fixture.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from wise_pytest.errors import MissingRecording, StaleRecording, TechnicalError, WiseError
from wise_pytest.manifest import utc_now
from wise_pytest.quoting import defuse
from wise_pytest.records import SCORED_STATUSES, Generation, build_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from wise_pytest.calling import CellCall
    from wise_pytest.cassettes.vcr import CellPersister
    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.records import Cell, Row, Verdict
    from wise_pytest.transport.client import Client, Response
    from wise_pytest.verifiers.registry import Verifier

RECORD_IT = "record what is missing or stale with --record-mode=new_episodes"


MAX_SHOWN = 2_000
"""Characters of an output that a failed test shows; the row has all of it."""


class NonCompliant(AssertionError):  # noqa: N818 - an outcome, not a fault
    """A generation missed its requirement, in a run that was asked to be strict."""


class CellRun:
    """Asks one model one prompt, and scores the complete visible output.

    Attributes
    ----------
    cell
        What is asked: model, panel, item, form, repetition, target, prompt.
    row
        The outcome, once there is one.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        run: str,
        call: CellCall,
        client: Client,
        persister: CellPersister | None,
        verifier: Verifier,
        strict: bool,
        on_live: Callable[[], None],
        answered: Generation | None = None,
    ) -> None:
        self.cell = cell
        self.row: Row | None = None
        self._run = run
        self._call = call
        self._client = client
        self._persister = persister
        self._verifier = verifier
        self._strict = strict
        self._on_live = on_live
        self.generation = answered
        """What ``ask`` has returned; of an earlier try of the same test, if there was one."""
        self._failure: TechnicalError | None = None
        self._asking = threading.Lock()
        self._request_digest: str | None = None

    def ask(self) -> Generation:
        """Call the endpoint, or replay this cell's recording; a second call gives the same again.

        Raises
        ------
        TechnicalError
            If there is no usable reply. The cell's row is kept with the status
            ``error``; it is never scored.
        BudgetReached
            If the run's budget does not reach for it. It has no row.
        """
        with self._asking:
            if self._failure is not None:
                raise self._failure
            if self.generation is None:
                try:
                    self.generation = self._usable()
                except TechnicalError as error:
                    self._failure = error
                    raise
            return self.generation

    def score(self, generation: Generation) -> Verdict | None:
        """Verify the complete visible output; ``None`` where the provider withheld it.

        A miss is data: it is kept in the row and does not fail the test, unless
        the run is strict.

        Parameters
        ----------
        generation
            What ``ask`` of this very cell has returned, untouched.

        Raises
        ------
        NonCompliant
            If the output misses the requirement and the run is strict.
        WiseError
            If it is anything else: a text that was stripped, repaired or made up
            is not what the model has said.
        """
        if generation is not self.generation:
            raise WiseError("score what wise.ask() of this test has returned, as it is")
        if generation.status not in SCORED_STATUSES or generation.text is None:
            return None
        verdict = self._verifier.verify(generation.text, self.cell.target)
        self._keep(generation, verdict)
        if self._strict and not verdict.compliant:
            shown = repr(generation.text[:MAX_SHOWN]) + ("…" if len(generation.text) > MAX_SHOWN else "")
            raise NonCompliant(defuse(f"{verdict.direction}: {self.cell.instruction} → {shown}"))
        return verdict

    def _usable(self) -> Generation:
        """The generation, unless it is none; then the row says why."""
        try:
            generation = self._ask()
        except TechnicalError as error:
            reason = f"{type(error).__name__}: {error}"
            failed = Generation(status="error", text=None, reason=reason, request_digest=self._request_digest)
            self._keep(failed, None)
            raise
        if generation.status not in SCORED_STATUSES:
            self._keep(generation, None)
        if generation.status == "error":
            raise TechnicalError(generation.reason or "no usable reply")
        return generation

    def _keep(self, generation: Generation, verdict: Verdict | None) -> None:
        """Build the cell's row; one that is already kept stays."""
        if self.row is None:
            self.row = build_row(self.cell, generation, verdict, run=self._run)

    def _ask(self) -> Generation:
        from wise_pytest.endpoints.protocols import PROTOCOLS

        endpoint = self._call.target.endpoint
        protocol = PROTOCOLS[endpoint.protocol]
        request = self._call.request()
        self._request_digest = request.digest
        response = self._send(request)
        reply = protocol.read_reply(response.status, response.headers, response.body)
        recorded_at, attempts, latency_s = self._circumstances(response)
        flags = reply.flags
        if reply.served_model is not None and not endpoint.is_served_by(reply.served_model):
            flags = (*flags, "served_model_differs")
        if response.sent and self._persister is not None and reply.status != "error":
            self._stage(response, recorded_at, attempts, latency_s)
        return Generation(
            status=reply.status,
            text=reply.text,
            finish_reason=reply.finish_reason,
            flags=flags,
            usage=reply.usage,
            served_model=reply.served_model,
            reason=reply.reason,
            request_digest=self._request_digest,
            recorded_at=recorded_at,
            latency_s=latency_s,
            attempts=attempts,
        )

    def _send(self, request: HttpRequest) -> Response:
        from wise_pytest.cassettes.vcr import NoRecording

        try:
            return self._client.send(request, self._call, on_live=self._on_live)
        except NoRecording:
            recording = None if self._persister is None else self._persister.recording
        if recording is None:
            raise MissingRecording(f"this cell was never recorded; {RECORD_IT}")
        from wise_pytest.cassettes.stale import explain_difference

        difference = explain_difference(
            recording.exchange, method=request.method, url=request.url, body=request.body
        )
        raise StaleRecording(
            f"this cell was recorded for another request ({defuse(difference)}); {RECORD_IT}"
        )

    def _circumstances(self, response: Response) -> tuple[str, int, float]:
        """When the answer was given, after how many tries, in how many seconds."""
        recording = None if self._persister is None else self._persister.recording
        if not response.sent and recording is not None:
            return recording.recorded_at, recording.attempts, recording.latency_s
        # Rounded as a recording keeps it, so that a replay gives the same row.
        recorded_at = response.arrived_at or utc_now("milliseconds")
        return recorded_at, response.attempts or 1, round(response.latency_s or 0.0, 6)

    def _stage(self, response: Response, recorded_at: str, attempts: int, latency_s: float) -> None:
        from wise_pytest.cassettes.vcr import StagedRecording

        if self._persister is not None:
            self._persister.stage(
                StagedRecording(
                    session=self._call.target.session,
                    writer=self._call.target.writer,
                    recorded_at=recorded_at,
                    attempts=attempts,
                    latency_s=latency_s,
                    kept_body=response.body if response.kept else None,
                )
            )

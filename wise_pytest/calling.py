"""A cell as the transport asks it: what to send, whether it is still wanted, and what to do with the reply.

``Session`` makes one ``CellCall`` of a cell, for its test or ahead of it. A reply
is recorded as it arrives, so that neither a kill nor a test that never runs can
lose what was paid for; the cell's cassette saves the same once more when its
test ends, and finds it kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.transport.call import Charge
from wise_pytest.transport.ledger import nano_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wise_pytest.cassettes.store import Pack
    from wise_pytest.endpoints.model import Endpoint, HttpRequest
    from wise_pytest.panels.model import Decoding
    from wise_pytest.records import Cell, CellKey, Usage
    from wise_pytest.transport.call import Limits, Response

TEMPLATE_TOKENS = 64
"""What a chat template may add to a prompt, at most."""


@dataclass(frozen=True, slots=True)
class Target:
    """What the cells of one model in one panel share."""

    endpoint: Endpoint
    decoding: Decoding
    key: Callable[[], str | None]
    """A closure, so that no traceback that shows local values can show the key."""
    pack: Pack | None
    """Where replies are recorded; ``None`` with ``--disable-recording``."""
    record_mode: str
    session: Mapping[str, Any]
    """How recordings of this run are made."""
    writer: str
    lane: str
    limits: Limits


class CellCall:
    """One cell's call."""

    __slots__ = ("_most", "cell", "target")

    def __init__(self, cell: Cell, target: Target) -> None:
        self.cell = cell
        self.target = target
        self._most: Charge | None = None

    @property
    def key(self) -> CellKey:
        """The cell's own."""
        return self.cell.key

    @property
    def lane(self) -> str:
        """The provider, at its address."""
        return self.target.lane

    @property
    def limits(self) -> Limits:
        """The lane's limits."""
        return self.target.limits

    @property
    def model(self) -> str:
        """The cell's model."""
        return self.cell.model

    @property
    def timeout_s(self) -> float | None:
        """The endpoint's own, if it has one."""
        return self.target.endpoint.timeout_s

    @property
    def most(self) -> Charge:
        """The most that one try can cost: no token is shorter than a byte, and the answer has its cap."""
        if self._most is None:
            n_bytes = len(self.cell.prompt.encode("utf-8", "surrogatepass"))
            self._most = charge(
                self.target.endpoint,
                input_tokens=n_bytes + TEMPLATE_TOKENS,
                output_tokens=self.target.decoding.max_tokens,
                exact=False,
            )
        return self._most

    def wanted(self) -> bool:
        """Whether the record mode sends this cell out, and it is not known to be recorded."""
        pack, mode = self.target.pack, self.target.record_mode
        if pack is None or mode in {"all", "rewrite"}:
            return True
        if not self.is_recorded():
            return True
        return mode == "new_episodes" and (pack.get(self._key_in_pack) is None or self.is_stale())

    @property
    def _key_in_pack(self) -> tuple[str, str, int]:
        return (self.cell.item, self.cell.form, self.cell.repetition)

    def is_recorded(self) -> bool:
        """Whether there is a recording of this cell, of whatever request."""
        return self.target.pack is not None and self._key_in_pack in self.target.pack

    def is_stale(self) -> bool:
        """Whether its recording is of another request."""
        pack = self.target.pack
        recording = None if pack is None or not self.is_recorded() else pack.get(self._key_in_pack)
        if recording is None:
            return False
        from wise_pytest.cassettes.stale import is_stale

        return is_stale(recording.exchange, self.request())

    def request(self) -> HttpRequest:
        """What to send."""
        from wise_pytest.endpoints.protocols import PROTOCOLS

        target = self.target
        protocol = PROTOCOLS[target.endpoint.protocol]
        return protocol.build_request(self.cell.prompt, target.endpoint, target.decoding, target.key())

    def arrived(self, request: HttpRequest, response: Response) -> tuple[Charge, bool]:
        """Record a usable reply, and tell what it cost.

        Raises
        ------
        CassetteError
            If it cannot be recorded.
        """
        from wise_pytest.endpoints.protocols import PROTOCOLS

        target = self.target
        reply = PROTOCOLS[target.endpoint.protocol].read_reply(
            response.status, response.headers, response.body
        )
        cost = self._cost(reply.usage)
        success = 200 <= response.status < 300  # noqa: PLR2004 - the success class of HTTP
        if target.pack is None or reply.status == "error" or not success:
            return cost, False
        from wise_pytest.cassettes.vcr import recording_of

        recording = recording_of(
            self._key_in_pack,
            request,
            response,
            session=str(target.session["id"]),
        )
        target.pack.append(recording, session=target.session, writer=target.writer)
        return cost, True

    def _cost(self, usage: Usage) -> Charge:
        if usage.input_tokens is None or usage.output_tokens is None:
            return self.most
        return charge(
            self.target.endpoint, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )


def charge(
    endpoint: Endpoint, *, input_tokens: int, output_tokens: int, exact: bool = True, at_peak: bool = True
) -> Charge:
    """What so many tokens cost at an endpoint; nothing at one without a price.

    Parameters
    ----------
    at_peak
        Whether to take a price that is higher at times at its highest: nobody
        here knows a provider's hours, and a budget must hold in all of them.
    """
    price = endpoint.price
    amount = 0
    if price is not None:
        factor = price.peak_factor if at_peak else 1.0
        amount = nano_usd(input_tokens, factor * price.input_usd)
        amount += nano_usd(output_tokens, factor * price.output_usd)
    return Charge(input_tokens=input_tokens, output_tokens=output_tokens, nano_usd=amount, exact=exact)

"""The values that pass between whoever asks and the transport: a call, its reply, what it cost.

The session makes a ``Call`` of each cell; the client keeps them apart by ``key``
alone, and never looks at what they ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from wise_pytest.endpoints.model import HttpRequest


@dataclass(frozen=True, slots=True)
class Response:
    """The final reply to one request, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header the last value."""
    body: bytes
    """Decoded to plain bytes."""
    attempts: int | None
    """Tries in all, ``None`` for a replay."""
    latency_s: float | None
    """Seconds from sending the last try to the end of its reply, ``None`` for a replay."""
    sent: bool
    """Whether anything went over the wire."""
    arrived_at: str | None = None
    """When it arrived, ISO 8601 in UTC, ``None`` for a replay."""
    kept: bool = False
    """Whether it was recorded as it arrived."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a provider is asked at most, by one process; ``None`` for no limit."""

    concurrency: int = 32
    """Requests in flight, from 1."""
    requests_per_minute: float | None = None
    """All processes of the run together."""
    tokens_per_minute: float | None = None
    """All processes of the run together, prompts and largest answers."""
    shared_concurrency: int | None = None
    """Requests in flight of all processes together, where there are more processes than that."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What one try cost, or costs at most."""

    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int = 0
    """Billionths of a US dollar: whole numbers add up without a rest."""
    exact: bool = True
    """Whether the provider said so; else it is the most that it can be."""


FREE = Charge()


def is_success(status: int) -> bool:
    """Whether a status is of HTTP's success class."""
    return 200 <= status < 300  # noqa: PLR2004 - that class


class Call(Protocol):
    """One thing to ask, once."""

    @property
    def key(self) -> Hashable:
        """The identity by which the call is taken; two calls never share one."""

    @property
    def lane(self) -> str:
        """Whose limits it falls under: a provider at one address."""

    @property
    def limits(self) -> Limits:
        """The limits of that lane."""

    @property
    def model(self) -> str:
        """Whom its cost is put down to."""

    @property
    def most(self) -> Charge:
        """The most that one try can cost."""

    @property
    def timeout_s(self) -> float | None:
        """Seconds for one try; ``None`` for the policy's."""

    def wanted(self) -> bool:
        """Whether it is still to be asked; called in the event loop's thread, just before it is."""

    def request(self) -> HttpRequest:
        """What to send."""

    def arrived(self, request: HttpRequest, response: Response) -> tuple[Charge, bool]:
        """Take note of the final reply; called in the event loop's thread, once.

        Returns
        -------
        tuple
            What it cost, and whether it is recorded now.
        """

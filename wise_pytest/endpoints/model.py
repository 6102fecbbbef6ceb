"""The values that endpoints are described, asked and read by.

The registry builds an ``Endpoint``; a protocol turns a prompt and an endpoint
into an ``HttpRequest`` and the bytes that come back into a ``Reply``; ``asking``
joins that with what the transport says into a ``records.Generation``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wise_pytest.records import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from wise_pytest.records import Status

CapField: TypeAlias = Literal["max_tokens", "max_completion_tokens", "maxOutputTokens"]


@dataclass(frozen=True, slots=True)
class Price:
    """What the provider asks for tokens, as published on one day."""

    input_usd: float
    """US dollars a million input tokens."""
    output_usd: float
    """US dollars a million output tokens."""
    as_of: date
    """When the price was read."""
    peak_factor: float = 1.0
    """What to multiply the price by in the provider's peak hours."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model as it is reached: where, how, and with which parameters."""

    name: str
    """What the user types, and what rows and recordings are kept under."""
    provider: str
    protocol: str
    """A key of ``protocols.PROTOCOLS``."""
    api_model: str
    """The identifier that is sent."""
    base_url: str
    """Without a trailing slash, with the version path such as ``/v1``."""
    base_url_env: str | None = None
    """The environment variable that replaces ``base_url`` where it is set."""
    key_env: tuple[str, ...] = ()
    """Environment variables that may hold the key, first wins; empty if none is needed."""
    cap_field: CapField = "max_tokens"
    """The body field that carries the cap on output tokens; one that the protocol knows."""
    temperature: bool = True
    """Whether the endpoint accepts a temperature."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further body parameters, sent as they stand."""
    local: bool = False
    """Whether the server runs on this machine or a private network."""
    bundled: bool = False
    """Whether recordings of this model come with the package."""
    weights: Mapping[str, str] | None = field(default=None, hash=False)
    """Of a bundled model: file, sha256, quantization, source and licence of what answered."""
    concurrency: int | None = None
    """Requests in flight at most; ``None`` for the default of local or remote servers."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Of prompts and largest answers together."""
    timeout_s: float | None = None
    """Seconds for one try, ``None`` for the transport's own limit."""
    price: Price | None = None
    retires_on: date | None = None
    """The day from which the provider no longer serves the model, or may not."""
    successor: str | None = None
    """What the provider names in its place."""
    unverified: tuple[str, ...] = ()
    """What this entry rests on without an official source, one remark each."""
    note: str | None = None

    def retired(self, today: date) -> bool:
        """Whether the day has come from which the provider no longer serves the model."""
        return self.retires_on is not None and self.retires_on <= today

    def is_served_by(self, model: str) -> bool:
        """Whether a reply that names ``model`` comes from the model that was asked for.

        A router is told the host to ask by a suffix, ``MODEL:HOST``, which the host does not know.
        """
        if model == self.api_model:
            return True
        return not self.local and model == self.api_model.partition(":")[0]  # locally, it is a tag of its own


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as a protocol wrote it, ready for any transport."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False, hash=False)
    """Names in lower case. Left out of ``repr`` and of the digest: they carry the key."""
    body: bytes

    @property
    def digest(self) -> str:
        """SHA-256 over method, URL and body, in hexadecimal."""
        head = f"{self.method}\n{self.url}\n".encode("utf-8", "surrogatepass")
        return hashlib.sha256(head + self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a reply's message."""

    kind: str
    """What the protocol calls it, or the field that it stood in."""
    thought: bool
    """Whether it is what the model thought, and no part of the answer."""
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a protocol read in the bytes that came back."""

    status: Status
    text: str | None = None
    """The complete visible output; ``None`` only with the status ``error`` or ``blocked``."""
    finish_reason: str | None = None
    """As the provider wrote it."""
    flags: tuple[str, ...] = ()
    """Remarks that do not change the status."""
    usage: Usage = field(default_factory=Usage)
    served_model: str | None = None
    """The model that the provider says has answered."""
    reason: str | None = None
    """Why the status is ``error`` or ``blocked``: one line, for people."""
    parts: tuple[Part, ...] = ()
    """What the message was made of, in its order; thoughts that have a field of their own come first."""

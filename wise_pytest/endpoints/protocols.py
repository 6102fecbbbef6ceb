"""The table of wire protocols: the only place that knows which there are.

A new protocol is one file with two pure functions, and one entry here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.endpoints import anthropic, google, openai

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wise_pytest.endpoints.model import CapField, Endpoint, HttpRequest, Reply
    from wise_pytest.panels.model import Decoding

BuildRequest: TypeAlias = "Callable[[str, Endpoint, Decoding, str | None], HttpRequest]"
"""(prompt, endpoint, decoding, key) → the request."""
ReadReply: TypeAlias = "Callable[[int, Mapping[str, str], bytes], Reply]"
"""(status, headers with names in lower case, decoded body) → what it says; never raises."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How to ask one family of endpoints, and how to read what it answers."""

    build_request: BuildRequest
    read_reply: ReadReply
    cap_fields: tuple[CapField, ...]
    """Names that the cap on output tokens may have; the first is the usual one."""
    reserved: frozenset[str]
    """Body parameters that no entry may set; ``a.b`` is the field ``b`` of the object ``a``."""
    version: str
    """The version path that base URLs end with, such as ``/v1``."""
    is_bare_in_environment: bool = False
    """Whether variables such as ``ANTHROPIC_BASE_URL`` hold the URL without the version, by custom."""


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "openai": Protocol(
            build_request=openai.build_request,
            read_reply=openai.read_reply,
            cap_fields=("max_tokens", "max_completion_tokens"),
            reserved=openai.RESERVED,
            version="/v1",
        ),
        "anthropic": Protocol(
            build_request=anthropic.build_request,
            read_reply=anthropic.read_reply,
            cap_fields=("max_tokens",),
            reserved=anthropic.RESERVED,
            version="/v1",
            is_bare_in_environment=True,
        ),
        "google": Protocol(
            build_request=google.build_request,
            read_reply=google.read_reply,
            cap_fields=("maxOutputTokens",),
            reserved=google.RESERVED,
            version="/v1beta",
            is_bare_in_environment=True,
        ),
    }
)

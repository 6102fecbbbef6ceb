"""The table of wire protocols: the only place that knows which there are.

A new protocol is one file with two pure functions, and one line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.endpoints import openai

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wise_pytest.endpoints.model import Endpoint, HttpRequest, Reply
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


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "openai": Protocol(build_request=openai.build_request, read_reply=openai.read_reply),
    }
)

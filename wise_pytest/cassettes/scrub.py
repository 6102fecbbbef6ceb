"""What of an exchange may be written to disk.

Headers are kept only if they are named here. Bodies lose the fields that
identify an account or a single request; every other byte stays as it was, and
no Unicode is normalised. Keys that a provider has repeated in its reply are
gone before: the client takes them out for everybody (``transport.scrub``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REQUEST_HEADERS = frozenset({"accept", "content-type", "anthropic-version"})
RESPONSE_HEADERS = frozenset({"content-type"})
TOP_LEVEL_FIELDS = frozenset({"id", "responseId", "request_id", "system_fingerprint"})
"""Removed from the outermost object of a reply: they identify one request or one deployment."""
DEEP_FIELDS = frozenset({"thoughtSignature", "encrypted_content", "organization", "organization_id"})
"""Removed at any depth."""


def keep_headers(headers: Mapping[str, str | Sequence[str]], allowed: frozenset[str]) -> dict[str, list[str]]:
    """The allowed headers, lower-case and sorted, each as a list of values."""
    kept: dict[str, list[str]] = {}
    for name in sorted(headers, key=str.lower):
        if name.lower() in allowed:
            value = headers[name]
            kept[name.lower()] = [value] if isinstance(value, str) else list(value)
    return kept


def scrub_url(url: str) -> str:
    """The URL without user information, query and fragment: keys can hide in each."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scrub_reply_body(body: bytes) -> bytes:
    """A reply's body without the fields that identify an account or a request.

    Fields are cut out of the text and nothing is written anew, so that a replay
    reads what the provider sent: numbers, escapes, blanks and repeated names stay.
    A body that is no JSON comes back byte for byte.
    """
    encoding = json.detect_encoding(body)
    try:
        text = body.decode(encoding, "surrogatepass")
        # Read only to know that it is JSON. Numbers stay text: Python refuses to read very long ones.
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return body
    kept = []
    position = 0
    for start, end in sorted(_unwanted_spans(text)):
        if start >= position:  # else it is inside a member that is cut already
            kept.append(text[position:start])
            position = end
    if not position:
        return body
    return "".join([*kept, text[position:]]).encode(encoding, "surrogatepass")


_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],]|[^\s"{}\[\],]+')
"""A string, one of JSON's marks, or whatever else is no blank."""


@dataclass(frozen=True, slots=True)
class _Member:
    """One name and value of an object, as a part of the text."""

    start: int
    end: int
    unwanted: bool


@dataclass(slots=True)
class _Container:
    """An object or array that the scan is in."""

    is_object: bool
    unwanted: frozenset[str]
    members: list[_Member] = field(default_factory=list)
    start: int | None = None
    """Where the member begins whose end is not reached yet."""
    is_unwanted: bool = False
    """Whether that member is one to cut."""

    def begin_member(self, start: int, name: str) -> None:
        self.start, self.is_unwanted = start, name in self.unwanted

    def end_member(self, end: int) -> None:
        if self.start is not None:
            self.members.append(_Member(self.start, end, self.is_unwanted))
            self.start = None


def _unwanted_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the members to cut are in valid JSON, each with one comma beside it."""
    opened: list[_Container] = []
    end = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in ("{", "["):
            is_outermost_object = mark == "{" and not opened
            names = TOP_LEVEL_FIELDS | DEEP_FIELDS if is_outermost_object else DEEP_FIELDS
            opened.append(_Container(mark == "{", names))
        elif mark in ("}", "]", ","):
            opened[-1].end_member(end)
            if mark != ",":
                yield from _spans_of(opened.pop().members)
        elif opened and opened[-1].is_object and opened[-1].start is None:
            opened[-1].begin_member(token.start(), json.loads(mark))
        end = token.end()


def _spans_of(members: Sequence[_Member]) -> Iterator[tuple[int, int]]:
    """The spans of the unwanted members of one object."""
    kept_before = False
    for number, member in enumerate(members):
        if not member.unwanted:
            kept_before = True
        elif kept_before:
            yield members[number - 1].end, member.end
        elif number + 1 < len(members):
            yield member.start, members[number + 1].start
        else:
            yield member.start, member.end

r"""Keeping keys out of what people read; whoever words a message about a request uses this.

A provider repeats a key in its own spelling: JSON may write any character in
several ways (``/``, ``\/``, ``\u002f``), a gateway may quote a whole JSON reply
in a string of its own, and messages show the two ends of a key around an
ellipsis. So keys are looked for in the text as it came and as it reads once its
escapes are undone, and what is found is cut out of the text as it came. That
needs no valid JSON, and leaves all else as it was.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_left, bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING

from wise_pytest.endpoints.messages import SCRUBBED
from wise_pytest.endpoints.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wise_pytest.endpoints.model import HttpRequest

OPEN_HEADERS = frozenset({"accept", "anthropic-version", "content-type", "user-agent"})
"""Request headers that hold no secret; whatever else a protocol sends might."""
ACCOUNT_HEADERS = frozenset(
    {
        *("openai-organization", "openai-project", "x-hf-bill-to"),
        *("anthropic-organization-id", "anthropic-workspace-id"),
    }
)
"""Headers of a reply that say whose account was used, which its message may say again."""
WITHHELD_HEADERS = ACCOUNT_HEADERS | {"set-cookie"}
"""Headers of a reply that are nobody's business."""
MIN_SECRET_LENGTH = 6
"""Shorter values are no keys, and would tear holes into ordinary words."""
MIN_FRAGMENT_LENGTH = 4
"""A shorter beginning or end of a key may stay beside an ellipsis."""
MAX_LAYERS = 4
"""How often escapes are undone: JSON in a string in JSON takes two; more is no provider's doing."""

_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<letter>.))", re.DOTALL)
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ELLIPSIS = re.compile(r"…+|\.{3,}|\*{3,}")


def secrets_of(request: HttpRequest) -> list[str]:
    """What must not come back: the values of headers that may hold a key."""
    return [
        Secret(value.removeprefix("Bearer "))
        for name, value in request.headers.items()
        if name.lower() not in OPEN_HEADERS
    ]


def shown_headers(request: HttpRequest) -> dict[str, str]:
    """A request's headers as people may see them."""
    return {
        name: value if name.lower() in OPEN_HEADERS else SCRUBBED for name, value in request.headers.items()
    }


def clean(
    status: int, headers: Iterable[tuple[str, str]], body: bytes, secrets: Iterable[str]
) -> tuple[dict[str, str], bytes]:
    """Headers and body of a reply without keys, cookies and the name of an account.

    An account is taken out of the body of errors only: its name may be a word of an answer.

    Parameters
    ----------
    headers
        With names in lower case; of a repeated one the last value stays.
    """
    headers = tuple(headers)
    if not 200 <= status < 300:  # noqa: PLR2004 - the success class of HTTP
        secrets = [*secrets, *(value for name, value in headers if name in ACCOUNT_HEADERS)]
    kept = {name: scrub(value, secrets) for name, value in headers if name not in WITHHELD_HEADERS}
    return kept, scrub_body(body, secrets)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret, however JSON spells it, replaced by ``[scrubbed]``.

    So is a part of a secret that ends before, or begins after, an ellipsis:
    ``…``, three dots or more, three stars or more.
    """
    wanted = {secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH}
    if not wanted:
        return text
    spans: list[tuple[int, int]] = []
    layer = text
    origin: Sequence[int] = range(len(text) + 1)
    for n_undone in range(MAX_LAYERS + 1):
        if n_undone:
            if "\\" not in layer:
                break
            layer, origin = _undo_escapes(layer, origin)
        if n_undone == 1:
            # Found in the text itself, a secret may begin or end within an escape, which is not to be torn.
            spans = [
                (origin[bisect_right(origin, start) - 1], origin[bisect_left(origin, end)])
                for start, end in spans
            ]
        spans += [(origin[start], origin[end]) for secret in wanted for start, end in _find(layer, secret)]
    return _replace(text, spans)


def scrub_body(body: bytes, secrets: Iterable[str]) -> bytes:
    """A reply's body, in whichever encoding JSON allows, scrubbed; all else byte for byte."""
    wanted = tuple(secrets)
    # surrogateescape carries bytes that are not UTF-8 through unharmed.
    body = _scrub_as(body, wanted, "utf-8", "surrogateescape")
    encoding = _encoding_of(body)
    if encoding != "utf-8":
        with suppress(UnicodeDecodeError):  # it only began like one
            body = _scrub_as(body, wanted, encoding, "surrogatepass")
    return body


def _scrub_as(body: bytes, secrets: Iterable[str], encoding: str, errors: str) -> bytes:
    return scrub(body.decode(encoding, errors), secrets).encode(encoding, errors)


def _undo_escapes(text: str, origin: Sequence[int]) -> tuple[str, Sequence[int]]:
    """``text`` without its escapes, and where each of its characters comes from, with the end as the last."""
    pieces: list[str] = []
    positions: list[int] = []
    end = 0
    for escape in _ESCAPE.finditer(text):
        start, letter = escape.start(), escape["letter"]
        char = chr(int(escape["code"], 16)) if letter is None else _SHORT_ESCAPES.get(letter, letter)
        pieces += text[end:start], char
        positions += origin[end : start + 1]
        end = escape.end()
    return "".join([*pieces, text[end:]]), [*positions, *origin[end:]]


def _find(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Where ``text`` holds the secret, or one of its ends beside an ellipsis."""
    start = text.find(secret)
    while start >= 0:
        yield start, start + len(secret)
        start = text.find(secret, start + len(secret))
    for ellipsis in _ELLIPSIS.finditer(text):
        start, end = ellipsis.span()
        before = text[max(start - MIN_FRAGMENT_LENGTH, 0) : start]
        lengths = (at + len(before) for at in _places(before, secret))
        n_before = max((n for n in lengths if text.endswith(secret[:n], 0, start)), default=0)
        if n_before:
            yield start - n_before, start
        after = text[end : end + MIN_FRAGMENT_LENGTH]
        n_after = max(
            (len(secret) - at for at in _places(after, secret) if text.startswith(secret[at:], end)),
            default=0,
        )
        if n_after:
            yield end, end + n_after


def _places(fragment: str, secret: str) -> Iterator[int]:
    """Where the secret holds the fragment, if that is long enough to tell anything."""
    if len(fragment) < MIN_FRAGMENT_LENGTH:
        return
    at = secret.find(fragment)
    while at >= 0:
        yield at
        at = secret.find(fragment, at + 1)


def _replace(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """``text`` with every span replaced, those that overlap as one."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            pieces += text[done:start], SCRUBBED
        done = max(done, end)
    return "".join([*pieces, text[done:]])


def _encoding_of(body: bytes) -> str:
    """How the body is encoded if it is JSON; a byte order mark is kept, as its first character."""
    encoding = json.detect_encoding(body)
    if encoding == "utf-8-sig":
        return "utf-8"
    if encoding in ("utf-16", "utf-32"):
        return f"{encoding}-{'le' if body.startswith(codecs.BOM_UTF16_LE) else 'be'}"
    return encoding

"""A second look at what is recorded: whether anything secret has got into a file after all.

``scrub`` keeps secrets out as recordings are made; this looks at the files as
they are, for ``wise cassettes check``. It tells what kind of thing it has found
and where, and never the thing itself.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from wise_pytest.cassettes.scrub import REQUEST_HEADERS, RESPONSE_HEADERS, scrub_reply_body
from wise_pytest.transport.scrub import scrub

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wise_pytest.cassettes.pack import Recording

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "a key that begins with sk-": re.compile(r"\bsk-[A-Za-z0-9_-]{20,}"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{20,}"),
    "a Google key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    "a GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    "an AWS key": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "a bearer token": re.compile(r"\b[Bb]earer\s+[A-Za-z0-9._~+/-]{16,}"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an organisation or project": re.compile(r"\b(?:org|proj)[-_][A-Za-z0-9]{16,}"),
}


def find_leaks(recording: Recording, keys: Iterable[str]) -> Iterator[str]:
    """What a recording holds that it must not, in words.

    Parameters
    ----------
    keys
        Keys that are in use here and now.
    """
    exchange = recording.exchange
    if "?" in exchange.url or "@" in exchange.url:
        yield "a URL with a query or a user name"
    for what, headers, allowed in (
        ("request", exchange.request_headers, REQUEST_HEADERS),
        ("reply", exchange.response_headers, RESPONSE_HEADERS),
    ):
        for name in sorted({name.lower() for name in headers} - allowed):
            yield f"the {what} header {name}"
    if scrub_reply_body(exchange.response_body) != exchange.response_body:
        yield "an identifier of the account or the request in the reply"
    bodies = [
        body.decode("utf-8", "surrogateescape") for body in (exchange.request_body, exchange.response_body)
    ]
    text = "\n".join((*bodies, json.dumps([exchange.url, dict(exchange.response_headers)])))
    for kind, pattern in _PATTERNS.items():
        if pattern.search(text):
            yield kind
    if scrub(text, keys) != text:
        yield "a key that is set in the environment"

"""Recordings as plain VCR.py cassettes: one YAML file a cell, which any program with VCR.py can replay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import yamlserializer

from wise_pytest.errors import CassetteError
from wise_pytest.files import write_whole
from wise_pytest.naming import slug

_UPPER_CASE_ID = re.compile(r"[A-Z0-9_]{1,60}")

if TYPE_CHECKING:
    from pathlib import Path

    from wise_pytest.cassettes.pack import Exchange
    from wise_pytest.cassettes.store import Pack


def export_pack(pack: Pack, folder: Path) -> int:
    """Write every recording of a pack below ``folder``; the number of files.

    A file is ``<panel>/<model>/<item>-<form>-r<repetition>.yaml``, its names made portable.

    Raises
    ------
    CassetteError
        If a recording is damaged, or a file cannot be written.
    """
    place = folder / slug(pack.panel) / slug(pack.model)
    n_files = 0
    for key in sorted(pack.keys()):
        recording = pack.get(key)
        if recording is not None:
            item, form, repetition = key
            # Form ids are upper-case by rule. One that is not must not meet its upper-case twin.
            form = form.lower() if _UPPER_CASE_ID.fullmatch(form) else f"{form}!"
            name = f"{slug(item)}-{slug(form)}-r{repetition}.yaml"
            write_whole(place / name, to_yaml(recording.exchange), error=CassetteError)
            n_files += 1
    return n_files


def to_yaml(exchange: Exchange) -> str:
    """One exchange as VCR.py writes it."""
    headers = {name: list(values) for name, values in exchange.request_headers.items()}
    request = Request(exchange.method, exchange.url, exchange.request_body, headers)
    response = {
        "status": {"code": exchange.status, "message": exchange.message},
        "headers": {name: list(values) for name, values in exchange.response_headers.items()},
        "body": {"string": exchange.response_body},
    }
    text: str = serialize({"requests": [request], "responses": [response]}, yamlserializer)
    return text

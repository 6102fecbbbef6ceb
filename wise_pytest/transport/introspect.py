"""What a local server says of itself, asked once before recording from it.

Hosted providers name the model that served each reply; a local server serves
whatever it was started with and answers to any name. So a recording keeps the
server's own words, and a bundled model is not recorded from another's server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.errors import ModelError
from wise_pytest.transport.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wise_pytest.endpoints.model import Endpoint
    from wise_pytest.transport.wire import Wire

POLICY = Policy(timeout_s=5.0, connect_timeout_s=2.0)
_OK = 200
_MOST_BUILD = 100
"""Characters that are kept of what a server says of its build."""
_MOST_NAME = 300
_MOST_NAMES = 200


def describe_servers(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """What the server of each local endpoint says of itself, by the endpoint's name.

    A server that does not answer, or says nothing, has no entry.

    Raises
    ------
    ModelError
        If the server of a bundled model names the models it serves, and that one is not among them.
    """
    local = [endpoint for endpoint in endpoints if endpoint.local]
    if not local:
        return {}
    from wise_pytest.transport.wire import Wire

    wire = Wire(POLICY)
    try:
        described = {endpoint.name: _describe(endpoint, wire) for endpoint in local}
    finally:
        wire.close()
    return {name: said for name, said in described.items() if said}


def _describe(endpoint: Endpoint, wire: Wire) -> dict[str, Any]:
    said: dict[str, Any] = {}
    models = _get(f"{endpoint.base_url}/models", wire)
    listed = models.get("data") if isinstance(models, dict) else None
    if isinstance(listed, list):
        names = sorted(
            str(entry["id"])[:_MOST_NAME] for entry in listed if isinstance(entry, dict) and "id" in entry
        )[:_MOST_NAMES]
        if names:
            said["models"] = names
        if endpoint.bundled and names and endpoint.api_model not in names:
            raise ModelError(
                f"{endpoint.name}: the server at {endpoint.base_url} serves {', '.join(names)}; "
                "start it with this model, or choose the one that it serves"
            )
    parts = urlsplit(endpoint.base_url)
    props = _get(f"{parts.scheme}://{parts.netloc}/props", wire)
    slots = props.get("total_slots") if isinstance(props, dict) else None
    if type(slots) is int and slots > 0:
        said["slots"] = slots  # llama.cpp's own server: requests that it works on at a time
    build = props.get("build_info") if isinstance(props, dict) else None
    if isinstance(build, str) and build:
        said["build"] = build[:_MOST_BUILD]  # that server's version: it has no openapi.json
    info = _get(f"{parts.scheme}://{parts.netloc}/openapi.json", wire)
    if isinstance(info, dict) and isinstance(info.get("info"), dict):
        said["title"] = str(info["info"].get("title"))[:_MOST_BUILD]
        said["version"] = str(info["info"].get("version"))[:_MOST_BUILD]
    return said


def _get(url: str, wire: Wire) -> Any:
    """The decoded JSON at ``url``; ``None`` where there is none."""
    from wise_pytest.transport.wire import WireError

    try:
        reply = wire.exchange(HttpRequest("GET", url, {"accept": "application/json"}, b""))
        return json.loads(reply.body) if reply.status == _OK else None
    except (WireError, ValueError, RecursionError):
        return None

"""``wise probe``: one real call to a model, shown as it was sent and as it was read."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from wise_pytest.commands.console import known_models, print_lines, utc_today
from wise_pytest.commands.models import lifecycle
from wise_pytest.errors import OptionError, TransportError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from wise_pytest.endpoints.model import Endpoint, HttpRequest, Price, Reply
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Cell
    from wise_pytest.transport.client import Response

EXIT_NO_ANSWER = 1
PANEL = "exact_count"
"""The panel whose first cell is asked."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    probe = commands.add_parser(
        "probe",
        help="ask a model once: what is sent, how its reply is read, what a run would cost",
        description=f"Send the first prompt of {PANEL} to a model, once and live, and show what comes "
        "of it. Nothing is kept. The exit code is 1 if there is no usable reply.",
    )
    probe.add_argument("model", metavar="NAME|NAME=BASE_URL", help="the model to ask")
    probe.set_defaults(run=_probe)


def _probe(parsed: argparse.Namespace) -> int:
    from wise_pytest.endpoints.protocols import PROTOCOLS
    from wise_pytest.endpoints.registry import require_key, resolve_models
    from wise_pytest.panels.catalog import bundled_panel
    from wise_pytest.panels.cells import plan_cells
    from wise_pytest.transport.client import Client
    from wise_pytest.transport.policy import Policy

    chosen = resolve_models([parsed.model], known_models())
    if len(chosen) != 1:
        names = ", ".join(selected.endpoint.name for selected in chosen)
        raise OptionError(f"{parsed.model!r} matches {len(chosen)} models, and one is asked: {names}")
    endpoint = chosen[0].endpoint
    key = require_key(endpoint, os.environ)
    panel = bundled_panel(PANEL)
    cell = next(iter(plan_cells(panel, model=endpoint.name, provider=endpoint.provider)))
    protocol = PROTOCOLS[endpoint.protocol]
    request = protocol.build_request(cell.prompt, endpoint, panel.decoding, key)
    print_lines(_sent(request, endpoint), sys.stdout)
    try:
        with Client(Policy(max_attempts=1)) as client:
            response = client.send(request)
    except TransportError as error:
        print_lines([f"no reply: {error}"], sys.stdout)
        return EXIT_NO_ANSWER
    reply = protocol.read_reply(response.status, response.headers, response.body)
    print_lines(_received(response, reply, endpoint), sys.stdout)
    if reply.status == "error":
        return EXIT_NO_ANSWER
    print_lines(_cost(endpoint, panel, cell, reply), sys.stdout)
    return 0


def _sent(request: HttpRequest, endpoint: Endpoint) -> Iterator[str]:
    from wise_pytest.transport.scrub import shown_headers

    if endpoint.retires_on is not None:
        yield f"{endpoint.name} {lifecycle(endpoint, utc_today())}"
    yield f"{request.method} {request.url}"
    yield from (f"  {name}: {value}" for name, value in shown_headers(request).items())
    yield from (f"  {line}" for line in json.dumps(json.loads(request.body), indent=2).splitlines())


def _received(response: Response, reply: Reply, endpoint: Endpoint) -> Iterator[str]:
    from wise_pytest.report.text import visible

    yield f"HTTP {response.status} after {response.latency_s or 0.0:.2f} s"
    yield f"  status: {reply.status}"
    if reply.reason is not None:
        yield f"  reason: {visible(reply.reason)}"
    if reply.text is not None:
        yield f"  text: {visible(reply.text)}"
    for part in reply.parts:
        kind = "thought" if part.thought else "visible"
        yield f"  part: {visible(part.kind)} ({kind}, {len(part.text)} characters)"
    if reply.finish_reason is not None:
        yield f"  finish reason: {visible(reply.finish_reason)}"
    if reply.flags:
        yield f"  flags: {', '.join(reply.flags)}"
    usage = reply.usage
    thought = "" if usage.reasoning_tokens is None else f", {usage.reasoning_tokens} of them for thoughts"
    yield f"  tokens: {_counted(usage.input_tokens)} in, {_counted(usage.output_tokens)} out{thought}"
    if reply.served_model is not None:
        remark = "" if endpoint.is_served_by(reply.served_model) else f", not {endpoint.api_model}"
        yield f"  served model: {visible(reply.served_model)}{remark}"


def _counted(tokens: int | None) -> str:
    return "an unknown number" if tokens is None else str(tokens)


def _cost(endpoint: Endpoint, panel: Panel, cell: Cell, reply: Reply) -> Iterator[str]:
    """What a whole run would take, if all replies were like this one."""
    n_cells = len(panel.items) * len(panel.forms) * panel.repetitions
    cap = panel.decoding.max_tokens
    n_in, n_out = reply.usage.input_tokens, reply.usage.output_tokens
    if n_in is None or n_out is None:
        yield f"a run of {cell.panel}: {n_cells:,} requests; the reply does not count its tokens"
        return
    yield (
        f"a run of {cell.panel} like this: {n_cells:,} requests, {n_in * n_cells:,} tokens in, "
        f"{n_out * n_cells:,} out (at most {cap * n_cells:,}: {cap} is the cap)"
    )
    if endpoint.price is None:
        yield "  its price is not known" if endpoint.key_env else "  it has no price"
    else:
        yield from _in_dollars(endpoint.price, n_cells * n_in, n_cells * n_out, n_cells * cap)


def _in_dollars(price: Price, n_in: int, n_out: int, n_most: int) -> Iterator[str]:
    from wise_pytest.endpoints.prices import cost_usd

    likely = cost_usd(price, input_tokens=n_in, output_tokens=n_out)
    most = cost_usd(price, input_tokens=n_in, output_tokens=n_most)
    yield f"  about ${likely:.2f}, at most ${most:.2f}, at the prices of {price.as_of.isoformat()}"
    if price.peak_factor != 1:
        yield f"  in peak hours {price.peak_factor:g} times that"

"""``wise models``: the models that are known by name, and what is known of each."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from wise_pytest.commands.console import known_models, print_lines, print_table, utc_today
from wise_pytest.errors import ModelError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from wise_pytest.endpoints.model import Endpoint, Price

HEADER = ("model", "provider", "protocol", "key", "USD/M in, out", "as of", "lifecycle", "unverified")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    models = commands.add_parser(
        "models",
        help="list the known models: keys, prices, and what is retired",
        description="List the models that are known by name, those of [tool.wise.models] in the "
        "pyproject.toml of this folder included.",
    )
    models.add_argument("model", nargs="*", metavar="NAME|GLOB", help="list only these")
    models.add_argument(
        "--unverified", action="store_true", help="list what rests on no official source, model by model"
    )
    models.set_defaults(run=_list_models)


def _list_models(parsed: argparse.Namespace) -> int:
    from wise_pytest.endpoints.registry import resolve_models

    registry = known_models()
    chosen = [selected.endpoint for selected in resolve_models(parsed.model or ["*"], registry)]
    if parsed.unverified:
        print_lines(_unverified(chosen), sys.stdout)
    else:
        print_table([HEADER, *(_row(endpoint, os.environ, utc_today()) for endpoint in chosen)], sys.stdout)
    return 0


def _row(endpoint: Endpoint, environ: Mapping[str, str], today: date) -> Sequence[str]:
    return (
        endpoint.name,
        endpoint.provider,
        endpoint.protocol,
        _key(endpoint, environ),
        "-" if endpoint.price is None else _price(endpoint.price),
        "-" if endpoint.price is None else endpoint.price.as_of.isoformat(),
        lifecycle(endpoint, today),
        str(len(endpoint.unverified) or "-"),
    )


def lifecycle(endpoint: Endpoint, today: date) -> str:
    """Whether a model is still served, and what comes after it."""
    if endpoint.retires_on is None:
        return "bundled" if endpoint.bundled else "active"
    verb = "retired on" if endpoint.retired(today) else "retires on"
    after = "" if endpoint.successor is None else f", then {endpoint.successor}"
    return f"{verb} {endpoint.retires_on.isoformat()}{after}"


def _key(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """Which variable may hold the key, and whether one does; never the key."""
    from wise_pytest.endpoints.registry import find_key

    if not endpoint.key_env:
        return "none needed"
    named = next((name for name in endpoint.key_env if environ.get(name)), endpoint.key_env[0])
    try:
        found = find_key(endpoint, environ) is not None
    except ModelError:
        return f"{named} cannot be sent"
    return f"{named} {'set' if found else 'not set'}"


def _price(price: Price) -> str:
    peak = "" if price.peak_factor == 1 else f" (peak ×{price.peak_factor:g})"
    return f"{price.input_usd:.2f}, {price.output_usd:.2f}{peak}"


def _unverified(endpoints: Sequence[Endpoint]) -> Iterator[str]:
    for endpoint in endpoints:
        if endpoint.unverified:
            yield f"{endpoint.name}:"
            yield from (f"  {remark}" for remark in endpoint.unverified)

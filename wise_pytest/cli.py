"""The command ``wise``: what can be done without pytest, before a session and after it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from wise_pytest import __version__
from wise_pytest.commands import (
    agreement,
    audit,
    baseline,
    cassettes,
    check_panel,
    compare,
    demo,
    effects,
    local,
    models,
    new_panel,
    power,
    probe,
    reference,
    report,
    review,
    sensitivity,
)
from wise_pytest.commands.console import print_lines
from wise_pytest.errors import WiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_USAGE = 2
COMMANDS = (
    demo,
    audit,
    report,
    compare,
    baseline,
    power,
    effects,
    sensitivity,
    cassettes,
    models,
    local,
    probe,
    reference,
    new_panel,
    check_panel,
    review,
    agreement,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 where all is well, 1 where the gate fails, 2 where the input cannot be used."""
    parsed = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        status: int = parsed.run(parsed)
    except WiseError as error:  # of what can be wrong with one cell, too: a verifier of the user's that fails
        print_lines([f"wise: error: {error}"], sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE
    return status


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """What a command line asks for; exits with 2 where it is none."""
    given = list(arguments)
    # argparse would take the first word after "--" for the model's name.
    cut = given.index("--") if given[:1] == ["local"] and "--" in given else len(given)
    parsed = _parser().parse_args(given[:cut])
    if cut < len(given):
        parsed.arguments = given[cut + 1 :]
    return parsed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wise", description="Wording robustness of language models.")
    parser.add_argument("--version", action="version", version=f"wise-pytest {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return parser

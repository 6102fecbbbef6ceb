"""What all commands share: printing, and the options that several of them take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wise_pytest.options import OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import TextIO

BOOTSTRAP_OPTIONS = ("seed", "replicates")


def add_shared(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Give a command some of pytest's options, without ``wise-`` and with the same help."""
    helps = {option.name: option for option in OPTIONS}
    for name in names:
        parser.add_argument(f"--{name}", metavar=helps[name].metavar, help=helps[name].help)


def help_of(name: str) -> str:
    """The help of one of pytest's options."""
    return next(option.help for option in OPTIONS if option.name == name)


def print_lines(lines: Iterable[str], stream: TextIO) -> None:
    """Print to a stream that may not carry every character."""
    from wise_pytest.report.text import degrade

    for line in lines:
        print(degrade(line, stream.encoding), file=stream)

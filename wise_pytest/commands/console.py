"""What several commands share: printing, options, and the models that are known where they run."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.options import OPTIONS
from wise_pytest.quoting import defuse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from typing import TextIO

    from wise_pytest.endpoints.model import Endpoint

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
        print(degrade(defuse(line), stream.encoding), file=stream)


def print_table(rows: Sequence[Sequence[str]], stream: TextIO, *, right: bool = False) -> None:
    """Print rows with their columns below one another; the first row is the header.

    Parameters
    ----------
    right
        Whether columns end below one another, as numbers do.
    """
    from wise_pytest.report.text import display_width, pad

    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(pad(cell, width, right=right) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    print_lines(lines, stream)


def known_models() -> Mapping[str, Endpoint]:
    """The bundled models and those of this folder's pyproject.toml, as this environment changes them.

    Raises
    ------
    ConfigError
        If the file or one of its entries cannot be used.
    """
    from wise_pytest.endpoints.registry import load_registry
    from wise_pytest.settings import read_tool_table

    table = read_tool_table(Path("pyproject.toml"))
    return load_registry(table.get("models"), environ=os.environ)


def utc_today() -> date:
    """The day on which a model is judged to be retired or not."""
    return datetime.now(UTC).date()

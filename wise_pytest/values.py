"""Texts that options give, turned into values: each names its option and what it takes where it cannot.

``settings`` reads a session's options through here, and the commands of ``wise`` theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.errors import OptionError
from wise_pytest.options import DEFAULT_REPLICATES, DEFAULT_SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_REPETITIONS = 10_000
MAX_SEED = 2**63 - 1
MAX_REPLICATES = 1_000_000
MAX_SHARDS = 99_999
MAX_AMOUNT = 1e9
"""No budget and no rate is larger."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a plan."""

    index: int
    """From 1."""
    of: int

    def __str__(self) -> str:
        return f"shard {self.index} of {self.of}"


def bootstrap_seed(text: str | None, name: str) -> int:
    """The seed that an option gives, or the default.

    Raises
    ------
    OptionError
        If it is no whole number, or out of range.
    """
    return _whole(text, name, default=DEFAULT_SEED, most=MAX_SEED)


def bootstrap_replicates(text: str | None, name: str) -> int:
    """The number of replicates that an option gives, or the default; 0 for no bootstrap.

    Raises
    ------
    OptionError
        If it is no whole number, or out of range.
    """
    return _whole(text, name, default=DEFAULT_REPLICATES, most=MAX_REPLICATES)


def positive(text: str | None, name: str, *, most: int) -> int | None:
    """A whole number from 1 to ``most``, which has five digits at the most; ``None`` where nothing is given.

    Raises
    ------
    OptionError
        If it is something else.
    """
    if text is None:
        return None
    if re.fullmatch(r"0*[1-9][0-9]{0,4}", text) is None or int(text) > most:
        raise OptionError(f"{name}: must be a whole number from 1 to {most}, not {text!r}")
    return int(text)


def _whole(text: str | None, name: str, *, default: int, most: int) -> int:
    if text is None:
        return default
    # The length is checked first: Python refuses to read very long numbers.
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(most)) or int(text) > most:
        raise OptionError(f"{name}: must be a whole number from 0 to {most}, not {text!r}")
    return int(text)


def over_zero(text: str, name: str, unit: str) -> float:
    """A number over 0.

    Raises
    ------
    OptionError
        If it is something else.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < MAX_AMOUNT:
        raise OptionError(f"{name}: must be a number over 0, in {unit}, not {text!r}")
    return number


def parse_models_map(texts: Sequence[str], name: str) -> dict[str, str]:
    """Read ``NEW=OLD``, each new model once.

    Raises
    ------
    OptionError
        If a text is something else.
    """
    mapped: dict[str, str] = {}
    for text in texts:
        new, equals, old = text.partition("=")
        if not new or not equals or not old or new in mapped:
            raise OptionError(f"{name}: must be NEW=OLD, each NEW once, not {text!r}")
        mapped[new] = old
    return mapped


def parse_shard(text: str | None, name: str) -> Shard | None:
    """Read ``I/N``.

    Raises
    ------
    OptionError
        If it is something else, or there is no such part.
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise OptionError(
            f"{name}: must be I/N with I from 1 to N and N at most {MAX_SHARDS}, such as 2/4, not {text!r}"
        )
    return Shard(int(found[1]), int(found[2]))

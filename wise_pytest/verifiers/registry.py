"""The table of verifiers. The panel loader checks targets by it, ``asking`` and ``audit.rows`` score by it.

A change that can alter a verdict is a new version of the verifier, with the
old one kept: rows carry the name that scored them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError
from wise_pytest.naming import explain_unknown
from wise_pytest.verifiers import (
    citation_once,
    json_keys,
    keyword_once,
    lower_case,
    ordered_parts,
    tool_call,
    word_count,
    word_range,
    words_and_keyword,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from wise_pytest.records import Target, Verdict

CELL_SEPARATOR = "|"
"""Stands between the names in a cell of a table that holds several."""

_WHOLE_NUMBER = re.compile(r"[0-9]{1,6}")


def _one_text(cell: str) -> Target:
    return cell


def _several_texts(cell: str) -> Target:
    return tuple(cell.split(CELL_SEPARATOR))


def _number(cell: str) -> Target:
    if not _WHOLE_NUMBER.fullmatch(cell):
        raise PanelError(f"expected a whole number from 1, not {cell!r}")
    return int(cell)


def _two_numbers(cell: str) -> Target:
    low, separator, high = cell.partition(CELL_SEPARATOR)
    if not (separator and _WHOLE_NUMBER.fullmatch(low) and _WHOLE_NUMBER.fullmatch(high)):
        raise PanelError(f"expected two whole numbers such as '8|12', not {cell!r}")
    return (int(low), int(high))


@dataclass(frozen=True, slots=True)
class Verifier:
    """One version of one verifier."""

    verifier_id: str
    version: int
    function: Callable[[str, Any], Verdict]
    """From the complete visible output and a checked target to the verdict. Pure, never raises."""
    directions: tuple[str, ...]
    """Every direction a verdict may have, in the order in which they are shown."""
    target_check: Callable[[object], None]
    requirement: Callable[[Any], str]
    """From a checked target to what it demands of an answer, after "The answer …"."""
    read_cell: Callable[[str], Target] = _one_text
    """From a cell of a table to a target, not yet checked; ``PanelError`` where it cannot be one."""
    parts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of several requirements in one: each by name, with the directions under which it is met."""

    @property
    def name(self) -> str:
        """Identifier and version, such as ``word_count/1``."""
        return f"{self.verifier_id}/{self.version}"

    def verify(self, text: str, target: Any) -> Verdict:
        """The verdict on one complete visible output."""
        return self.function(text, target)

    def check_target(self, target: object) -> None:
        """Refuse a target that this verifier cannot use.

        Raises
        ------
        PanelError
            If ``target`` has the wrong type, or no answer could ever meet it.
        """
        self.target_check(target)


VERIFIERS: tuple[Verifier, ...] = (
    Verifier(
        "word_count",
        1,
        word_count.verify,
        word_count.DIRECTIONS,
        word_count.check_target,
        word_count.describe,
        read_cell=_number,
    ),
    Verifier(
        "word_range",
        1,
        word_range.verify,
        word_range.DIRECTIONS,
        word_range.check_target,
        word_range.describe,
        read_cell=_two_numbers,
    ),
    Verifier(
        "keyword_once",
        1,
        keyword_once.verify,
        keyword_once.DIRECTIONS,
        keyword_once.check_target,
        keyword_once.describe,
    ),
    Verifier(
        "json_keys",
        1,
        json_keys.verify,
        json_keys.DIRECTIONS,
        json_keys.check_target,
        json_keys.describe,
        read_cell=_several_texts,
    ),
    Verifier(
        "ordered_parts",
        1,
        ordered_parts.verify,
        ordered_parts.DIRECTIONS,
        ordered_parts.check_target,
        ordered_parts.describe,
        read_cell=_several_texts,
    ),
    Verifier(
        "lower_case",
        1,
        lower_case.verify,
        lower_case.DIRECTIONS,
        lower_case.check_target,
        lower_case.describe,
    ),
    Verifier(
        "citation_once",
        1,
        citation_once.verify,
        citation_once.DIRECTIONS,
        citation_once.check_target,
        citation_once.describe,
    ),
    Verifier(
        "tool_call",
        1,
        tool_call.verify,
        tool_call.DIRECTIONS,
        tool_call.check_target,
        tool_call.describe,
    ),
    Verifier(
        "words_and_keyword",
        1,
        words_and_keyword.verify,
        words_and_keyword.DIRECTIONS,
        words_and_keyword.check_target,
        words_and_keyword.describe,
        parts=words_and_keyword.PARTS,
    ),
)


def get_verifier(name: str) -> Verifier:
    """The verifier called ``name``: ``word_count/1``, or ``word_count`` for its newest version.

    Raises
    ------
    PanelError
        If there is none; the message names those that exist.
    """
    same_id = [verifier for verifier in VERIFIERS if verifier.verifier_id == name]
    if same_id:
        return max(same_id, key=lambda verifier: verifier.version)
    for verifier in VERIFIERS:
        if verifier.name == name:
            return verifier
    raise PanelError(explain_unknown("verifier", name, [verifier.name for verifier in VERIFIERS]))

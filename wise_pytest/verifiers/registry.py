"""The table of verifiers. The panel loader checks targets by it, ``asking`` and ``audit.rows`` score by it.

A change that can alter a verdict is a new version of the verifier, with the
old one kept: rows carry the name that scored them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError
from wise_pytest.naming import explain_unknown
from wise_pytest.verifiers import json_keys, keyword_once, word_count, word_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from wise_pytest.records import Verdict


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
    Verifier("word_count", 1, word_count.verify, word_count.DIRECTIONS, word_count.check_target),
    Verifier("word_range", 1, word_range.verify, word_range.DIRECTIONS, word_range.check_target),
    Verifier("keyword_once", 1, keyword_once.verify, keyword_once.DIRECTIONS, keyword_once.check_target),
    Verifier("json_keys", 1, json_keys.verify, json_keys.DIRECTIONS, json_keys.check_target),
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

"""Under which conditions rows came about: what a comparison must hold against each other first.

The manifest writes and reads them, ``baseline`` keeps them with the rows. Light
to import: a session needs them before its first test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Pair: TypeAlias = tuple[str, str]
"""(panel, model)"""


@dataclass(frozen=True, slots=True)
class Condition:
    """How the cells of one panel and model were asked for; ``None`` where nobody wrote it down."""

    digest: str | None = None
    """Over the panel's items, forms and verifier."""
    decoding: Mapping[str, Any] | None = None
    """Cap, temperature and further parameters as they were sent."""


UNKNOWN = Condition()

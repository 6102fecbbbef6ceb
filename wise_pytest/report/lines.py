"""A line of the terminal; what ``terminal`` and ``comparison`` make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["plain", "green", "red", "yellow", "bold"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line and how it is shown."""

    text: str
    style: Style = "plain"

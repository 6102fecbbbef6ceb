"""From values to places: a linear scale with round ticks, drawn as an axis below a chart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.figures.drawing import SMALL, Drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from values to horizontal places."""

    low: float
    high: float
    left: float
    right: float

    def place(self, value: float) -> float:
        """Where a value is."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values, about evenly spread, at most ``most`` + 1 of them."""
        step = round_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]


def round_step(least: float) -> float:
    """The smallest round number that is not less than ``least``."""
    magnitude: float = 10 ** math.floor(math.log10(least))
    return next(step * magnitude for step in _STEPS if step * magnitude >= least * (1 - 1e-9))


def spanning(values: Iterable[float], *, left: float, right: float, least: float) -> Scale:
    """A scale with room around the values and 0, at least ``least`` wide."""
    known = [0.0, *values]
    low, high = min(known), max(known)
    span = max(high - low, least)
    middle = (low + high) / 2
    step = round_step(span / 8)
    low, high = min(low, middle - span / 2), max(high, middle + span / 2)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, left, right)


def draw_axis(
    sheet: Drawing, scale: Scale, *, top: float, bottom: float, label: str, shown: Callable[[float], str]
) -> None:
    """Rules at the ticks of a scale, their values below the chart, and what they are."""
    for tick in scale.ticks():
        x = scale.place(tick)
        sheet.line(x, top, x, bottom, "rule")
        sheet.text(x, bottom + 13, shown(tick), role="soft", size=SMALL, anchor="middle")
    sheet.text((scale.left + scale.right) / 2, bottom + 32, label, role="soft", size=SMALL, anchor="middle")


AXIS_HEIGHT = 46
"""What an axis takes below its chart."""

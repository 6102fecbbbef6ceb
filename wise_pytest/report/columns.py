"""What a column of a report is, and how each kind of value reads.

Called by ``tables`` to build tables and by the writers to show their cells.
Rates are 0..1 in the document and in CSV, percentage points for people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "text",
    "count",
    "rate",
    "difference",
    "decimal",
    "compact",
    "p_value",
    "tally",
    "rate_interval",
    "difference_interval",
    "decimal_interval",
    "compact_interval",
]

DASH = "–"
NO_WIDTH = "no width"
"""Beside every interval whose bounds are equal."""
MINUS = "−"
_POINTS = 100
_SMALLEST_P = 0.001


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that the document does not have, and why, where it says so."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A number whose kind depends on its row, as in a table of different metrics."""

    number: int | float
    kind: Kind
    beside: int | float | None = None
    """A number in the same row that this one must be told apart from."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A lower and an upper bound."""

    low: int | float
    high: int | float

    @property
    def has_width(self) -> bool:
        """Whether its bounds differ; where all replicates are alike they do not, and that is no certainty."""
        return self.low != self.high


Value: TypeAlias = str | int | float | Measured | Interval | Missing


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it is called, where its value lies, how it reads."""

    header: str
    """For people."""
    name: str
    """For programs; an interval becomes ``name_low`` and ``name_high``."""
    path: tuple[str, ...]
    """Keys from the row's record down to the value."""
    kind: Kind = "text"
    optional: bool = False
    """Left out of a table for people where no row has it."""
    bounds: tuple[str, str] | None = None
    """For an interval that lies in two fields of the object at ``path``: their keys."""

    @property
    def align(self) -> Literal["left", "right"]:
        """Texts are flush left, numbers flush right."""
        return "left" if self.kind == "text" else "right"

    @property
    def is_interval(self) -> bool:
        """Whether the value is an `Interval`."""
        return self.kind.endswith("_interval")

    def present(self, record: Mapping[str, Any]) -> bool:
        """Whether ``record`` has a field for this column, be it null."""
        path, keys = (self.path[:-1], self.path[-1:]) if self.bounds is None else (self.path, self.bounds)
        holder = _walk(record, path)
        return isinstance(holder, Mapping) and any(key in holder for key in keys)

    def value(self, record: Mapping[str, Any]) -> Value:
        """The value of this column in ``record``, or `Missing` with the reason beside it."""
        if self.bounds is not None:
            holder = _walk(record, self.path)
            low_key, high_key = self.bounds
            return _interval((_get(holder, low_key), _get(holder, high_key)), holder, low_key)
        holder, key = _walk(record, self.path[:-1]), self.path[-1]
        found = _get(holder, key)
        if self.is_interval:
            pair = found if isinstance(found, list | tuple) else (None, None)
            return _interval(tuple(pair), holder, key)
        # A missing name needs no footnote: the missing numbers of its row have it.
        return scalar(found, reason=None if self.kind == "text" else _reason_at(record, self.path))


def scalar(found: Any, *, reason: str | None = None) -> Value:
    """A JSON value as a cell; nothing, an empty list, NaN and the infinities are `Missing`."""
    if found is None or found in ([], {}) or (isinstance(found, float) and not math.isfinite(found)):
        return Missing(reason)
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, str | int | float | Measured | Missing):
        return found
    return words(found)


def number(found: Any) -> int | float | None:
    """``found`` if it is a finite number, else ``None``."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return found


def words(found: Any) -> str:
    """Any JSON value as one line of words."""
    if found is None:
        return DASH
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, Mapping):
        parts = ((key, words(part), isinstance(part, Mapping | list | tuple)) for key, part in found.items())
        return (
            ", ".join(f"{key} ({said})" if nested else f"{key} {said}" for key, said, nested in parts) or DASH
        )
    if isinstance(found, list | tuple):
        return ", ".join(words(part) for part in found) or DASH
    return str(found)


def thousands(found: Any) -> str:
    """A count as people read it, such as ``1,152``; anything else in words."""
    if isinstance(found, int) and not isinstance(found, bool):
        return _signless_zero(f"{found:,}")
    return _compact(found) if isinstance(found, float) else words(found)


def reason_beside(holder: Any, key: str) -> str | None:
    """Why ``holder[key]`` is null: ``KEY_reason``, the reason of its group, or ``reason``.

    A group is what the key begins with: ``ci_reason`` speaks for ``ci_low``.
    """
    if not isinstance(holder, Mapping):
        return None
    exact = holder.get(f"{key}_reason")
    if exact:
        return words(exact)
    for name, said in holder.items():
        group = str(name).removesuffix("_reason")
        if said and group != name and key.startswith(f"{group}_"):
            return words(said)
    said = holder.get("reason")
    return words(said) if said else None


def show(value: Value, kind: Kind) -> str:
    """``value`` as people read it; not yet escaped for any format."""
    if isinstance(value, Missing):
        return DASH
    if isinstance(value, str):
        return value
    if isinstance(value, Measured):
        if value.beside is not None:
            return show_pair(value.number, value.beside, value.kind)[0]
        return show(value.number, value.kind)
    if isinstance(value, Interval):
        one: Kind = _BOUND_KIND.get(kind, "compact")
        shown = f"[{show(value.low, one)}, {show(value.high, one)}]"
        return shown if value.has_width else f"{shown}, {NO_WIDTH}"
    return _SHOWN.get(kind, _compact)(value)


def show_pair(value: float, limit: float, kind: Kind) -> tuple[str, str]:
    """A value and its limit with as many decimals as it takes to tell them apart.

    Without this a gap of 20.04 would be reported as "20.0 > 20.0".
    """
    shown, bound = show(value, kind), show(limit, kind)
    scale = _POINTS if kind in {"rate", "difference"} else 1
    for decimals in range(2, 7):
        if shown != bound or value == limit:
            break
        shown = _signless_zero(f"{value * scale:.{decimals}f}")
        bound = _signless_zero(f"{limit * scale:.{decimals}f}")
    return shown, bound


def _reason_at(record: Any, path: tuple[str, ...]) -> str | None:
    """Why there is nothing at ``path``: beside the value, or beside the first object that is missing."""
    for key in path[:-1]:
        below = _get(record, key)
        if below is None:
            return reason_beside(record, key)
        record = below
    return reason_beside(record, path[-1])


def _walk(record: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        record = _get(record, key)
    return record


def _get(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, Mapping) else None


def _interval(pair: tuple[Any, ...], holder: Any, key: str) -> Value:
    bounds = [number(bound) for bound in pair]
    match bounds:
        case [int() | float() as low, int() | float() as high]:
            return Interval(low, high)
        case _:
            return Missing(reason_beside(holder, key))


def _signless_zero(text: str) -> str:
    """``text`` with a true minus sign, and without one where only zeros are left."""
    if not text.startswith("-"):
        return text
    digits = text[1:]
    return f"{MINUS}{digits}" if digits.strip("0.") else digits


def _rate(value: float) -> str:
    return _signless_zero(f"{value * _POINTS:.1f}")


def _difference(value: float) -> str:
    shown = _rate(value)
    return f"+{shown}" if value > 0 and shown.strip("0.") else shown


def _decimal(value: float) -> str:
    return _signless_zero(f"{value:.2f}")


def _compact(value: float) -> str:
    if isinstance(value, int):
        return _signless_zero(str(value))
    return _signless_zero(f"{value:.2f}".rstrip("0").rstrip("."))


def _p_value(value: float) -> str:
    return f"< {_SMALLEST_P}" if value < _SMALLEST_P else f"{value:.3f}"


def _tally(value: float) -> str:
    return thousands(value) if isinstance(value, int) else _rate(value)


_SHOWN: Mapping[Kind, Callable[[int | float], str]] = {
    "count": thousands,
    "rate": _rate,
    "difference": _difference,
    "decimal": _decimal,
    "compact": _compact,
    "p_value": _p_value,
    "tally": _tally,
}
_BOUND_KIND: Mapping[Kind, Kind] = {
    "rate_interval": "rate",
    "difference_interval": "difference",
    "decimal_interval": "decimal",
    "compact_interval": "compact",
}

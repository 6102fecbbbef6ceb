"""What the values of a column may be, checked for many rows at once.

Called by ``rows`` and ``parquet``. What passes here, ``Row.from_dict`` accepts
and gives the same values, which a test holds; the converse need not be. Where
a check is in doubt, the reader goes over its rows one by one with
``Row.from_dict``, which decides, and words the error.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.table import FIELDS, FLOAT_FIELDS, USAGE_FIELDS
from wise_pytest.records import SCORED_STATUSES, STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wise_pytest.records import Row

LARGEST_COUNT = 2**53
"""Counts beyond this are exact neither in JSON readers nor in 64-bit sums."""
ABSENT: Any = object()
"""Stands for a status that a record does not name."""

_TEXT_TYPES = frozenset({str})
_COUNT_TYPES = frozenset({int})
_NULL = frozenset({type(None)})
_REQUIRED_TEXTS = frozenset({"panel", "model", "provider", "item", "form"})
_LIMITED_COUNTS = frozenset(
    {"repetition", "observed", "error", "attempts", "target", *(f"usage.{name}" for name in USAGE_FIELDS)}
)
N_BOUNDS = 2


class InDoubtError(Exception):
    """A column holds something that has to be looked at row by row."""


def require(condition: object) -> None:
    """Be in doubt unless ``condition`` holds."""
    if not condition:
        raise InDoubtError


def checked(name: str, values: list[Any]) -> list[Any]:
    """The values of one field in the form in which a ``Row`` holds them; not those of ``status``.

    Raises
    ------
    InDoubtError
        If one may be a value that no row can have.
    """
    return _CHECKS[name](values)


def settled_statuses(statuses: Iterable[Any], compliant: Iterable[bool | None]) -> list[str]:
    """The status of each row, which follows from the verdict where it is ``ABSENT``.

    Raises
    ------
    InDoubtError
        If one is unknown, or contradicts the verdict.
    """
    pairs = list(zip(statuses, compliant, strict=True))
    require(_types(status for status, _ in pairs) <= {str, object})
    settled = {pair: _settled(*pair) for pair in {*pairs}}
    return [settled[pair] for pair in pairs]


def check_limits(row: Row, where: str, error: Callable[[str], Exception]) -> None:
    """Refuse counts that no later step can add up or write down again."""
    for name in sorted(_LIMITED_COUNTS):
        value = attrgetter(name)(row)
        if type(value) is int and not -LARGEST_COUNT <= value <= LARGEST_COUNT:
            raise error(f"{where}: {name!r} is beyond ±2^53, the largest count that is read")


def _settled(status: Any, verdict: bool | None) -> str:  # noqa: FBT001 - a value of a row, not a switch
    if status is ABSENT:
        return "ok" if verdict is not None else "error"
    require(status in STATUSES and (status in SCORED_STATUSES) == (verdict is not None))
    return str(status)


def _types(values: Iterable[Any]) -> set[type]:
    return set(map(type, values))


def _required_texts(values: list[Any]) -> list[Any]:
    require(_types(values) <= _TEXT_TYPES and "" not in values)
    return values


def _texts(values: list[Any]) -> list[Any]:
    require(_types(values) <= _TEXT_TYPES | _NULL)
    return values


def _limited_counts(values: list[Any]) -> list[Any]:
    require(_types(values) <= _COUNT_TYPES | _NULL)
    _require_limits(values)
    return values


def _require_limits(values: Iterable[Any]) -> None:
    whole: list[int] = [value for value in {*values} if type(value) is int]
    require(not whole or (min(whole) >= -LARGEST_COUNT and max(whole) <= LARGEST_COUNT))


def _repetitions(values: list[Any]) -> list[Any]:
    require(_types(values) <= _COUNT_TYPES and (not values or min(values) >= 1))
    return _limited_counts(values)


def _verdicts(values: list[Any]) -> list[Any]:
    require(_types(values) <= {bool} | _NULL)
    return values


def _seconds(values: list[Any]) -> list[Any]:
    require(_types(values) <= {float, int} | _NULL)
    numbers: list[float] = [value for value in values if value is not None]
    largest = sys.float_info.max
    require(all(-largest <= number <= largest for number in numbers))
    return [None if value is None else float(value) for value in values]


def _targets(values: list[Any]) -> list[Any]:
    kinds = _types(values)
    require(kinds <= {int, str, list} | _NULL)
    if list in kinds:
        values = [_target(value) if type(value) is list else value for value in values]
    _require_limits(values)
    return values


def _target(value: list[Any]) -> tuple[Any, ...]:
    kinds = _types(value)
    require(kinds == _TEXT_TYPES or (kinds == _COUNT_TYPES and len(value) == N_BOUNDS))
    return tuple(value)


def _flags(values: list[Any]) -> list[Any]:
    require(_types(values) <= {list} | _NULL)
    flags = [tuple(value) if value else () for value in values]
    require(all(_types(group) == _TEXT_TYPES for group in flags if group))
    return flags


def _check_of(name: str) -> Callable[[list[Any]], list[Any]]:
    special = {
        "compliant": _verdicts,
        "repetition": _repetitions,
        "target": _targets,
        "flags": _flags,
    }
    if name in special:
        return special[name]
    if name in _REQUIRED_TEXTS:
        return _required_texts
    if name in FLOAT_FIELDS:
        return _seconds
    return _limited_counts if name in _LIMITED_COUNTS else _texts


_CHECKS: Mapping[str, Callable[[list[Any]], list[Any]]] = {name: _check_of(name) for name in FIELDS}
CHECKED_FIELDS: Sequence[str] = tuple(name for name in FIELDS if name != "status")

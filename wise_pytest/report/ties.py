"""What is highest or lowest, where several may be: a tie is told as a tie.

Called by the pictures for their titles, by the tables for people, by the page and by the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import number
from wise_pytest.report.objects import mapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SAME = 1e-9
"""Rates of equal fractions may differ by rounding; others differ by far more."""
_PAIR = 2


def lowest(values: Mapping[str, float]) -> list[str]:
    """Every key that holds the smallest value, in the order given."""
    least = min(values.values(), default=0.0)
    return [key for key, value in values.items() if value - least < _SAME]


def highest(values: Mapping[str, float]) -> list[str]:
    """Every key that holds the largest value, in the order given."""
    return lowest({key: -value for key, value in values.items()})


def all_alike(values: Mapping[str, float]) -> bool:
    """Whether there are several values and no difference between them."""
    return len(values) > 1 and len(lowest(values)) == len(values)


def named(names: Sequence[str], joint: str = "and") -> str:
    """Such as ``A``, ``A and B`` and ``A and 3 others``."""
    if len(names) <= _PAIR:
        return f" {joint} ".join(names)
    return f"{names[0]} {joint} {len(names) - 1} others"


def verb(names: Sequence[str], one: str, many: str) -> str:
    """The verb that fits the number of names."""
    return one if len(names) == 1 else many


def forms_at(holder: Mapping[str, Any], end: str) -> list[str]:
    """The forms of a panel or model at its ``best`` or ``worst`` rate, the one that the document names first.

    The one that it names alone, where it has no rates by form.
    """
    chosen = mapping(holder, "summary").get(f"{end}_form")
    if chosen is None:
        return []
    rates = _rates(holder)
    found = [] if not rates else highest(rates) if end == "best" else lowest(rates)
    return [str(chosen), *(form for form in found if form != chosen)] if chosen in found else [str(chosen)]


def forms_said(holder: Mapping[str, Any], end: str) -> str:
    """The same in words; empty where the document names none."""
    found, rates = forms_at(holder, end), _rates(holder)
    is_all = all_alike(rates) and len(rates) == len(mapping(holder, "forms"))
    return "every form" if found and is_all else named(found)


def with_ties(record: Mapping[str, Any]) -> dict[str, Any]:
    """A panel's or model's record whose summary says every form that is its best or its worst, in words."""
    ends = {f"{end}_form": said for end in ("best", "worst") if (said := forms_said(record, end))}
    # A summary that is missing is left so: a table says why.
    return {**record, "summary": {**mapping(record, "summary"), **ends}} if ends else dict(record)


def _rates(holder: Mapping[str, Any]) -> dict[str, float]:
    return {
        str(form): float(rate)
        for form, result in mapping(holder, "forms").items()
        if (rate := number(mapping(result).get("compliance"))) is not None
    }

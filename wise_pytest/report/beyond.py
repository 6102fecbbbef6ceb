"""The effects of a factorial panel, and verifier sensitivity, as lines for a terminal.

Called by ``wise effects`` and ``wise sensitivity`` with a panel of the audit's
document; nothing is computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import DASH, Interval, show
from wise_pytest.report.counters import fate_name
from wise_pytest.report.factorial import effects_of, effects_table
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.text import display_width, pad
from wise_pytest.verifiers.alternatives import reading_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_GAP = "  "
_SIGNS = ("+", "−", "[")


def effects_lines(panel_id: str, panel: Mapping[str, Any]) -> Iterator[str]:
    """Pooled effects with intervals, then each model's own estimates."""
    effects = effects_of(panel)
    pooled = mapping(effects, "pooled")
    n_models = len(listed(pooled, "models"))
    yield (
        f"{panel_id}: {pooled['n']} scored generations of {n_models} model{'' if n_models == 1 else 's'}, "
        f"{pooled['n_items']} items"
    )
    for model, reason in mapping(panel, "excluded").items():
        yield f"not pooled: {model} ({reason})"
    table = effects_table(panel)
    kinds = [column.kind for column in table.columns]
    yield from _table(
        [column.header for column in table.columns],
        [[show(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in table.rows],
    )
    reasons = [effect["reason"] for effect in listed(pooled, "effects") if "reason" in effect]
    for reason in dict.fromkeys(reasons):
        yield f"no interval or estimate: {reason}"


def sensitivity_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Each panel's forms under every way to read the outputs: rate, difference, what becomes of it."""
    for name, panel in document.items():
        yield f"{name}: {panel['n']} outputs of {', '.join(panel['models']) or 'no model'}"
        yield f"  {panel['answer']}"
        if panel["n_without_text"]:
            yield f"  {panel['n_without_text']} scored rows hold no text, and are left out"
        rows = []
        for key, reading in panel["readings"].items():
            if reading["forms"] is None:
                yield f"  {reading_name(key)}: not available, {reading['reason']}"
                continue
            for form, found in reading["forms"].items():
                fate = fate_name(found.get("effect"))
                rows.append(
                    (reading_name(key), form, show(found["compliance"], "rate"), *_difference(found), fate)
                )
        yield from _table(("reading", "form", "rate", "diff", "95 % interval", "strict effect"), rows)
        for key, reading in panel["readings"].items():
            if key != "strict" and reading["forms"] is not None:
                yield (
                    f"  {reading_name(key)}: {reading['description']}; {reading['n_changed_text']} outputs "
                    f"read otherwise, {reading['n_gained']} comply only so, {reading['n_lost']} only strictly"
                )


def _difference(found: Mapping[str, Any]) -> tuple[str, str]:
    if "diff" not in found:
        return ("", "")
    return _points(found["diff"]), _between(found["ci_low"], found["ci_high"])


def _points(value: float | None) -> str:
    return DASH if value is None else show(value, "difference")


def _between(low: float | None, high: float | None) -> str:
    return DASH if low is None or high is None else show(Interval(low, high), "difference_interval")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns with two blanks between them; names flush left, figures flush right."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(display_width, column)) for column in columns]
    figures = [any(cell[:1].isdigit() or cell[:1] in _SIGNS for cell in column[1:]) for column in columns]
    for row in (header, *rows):
        cells = [
            pad(cell, width, right=is_figure)
            for cell, width, is_figure in zip(row, widths, figures, strict=True)
        ]
        yield "  " + _GAP.join(cells).rstrip()

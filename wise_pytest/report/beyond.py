"""The effects of a factorial panel, and verifier sensitivity, as lines for a terminal.

Called by ``wise effects`` and ``wise sensitivity`` with the documents of
``audit.factorial`` and ``audit.sensitivity``; nothing is computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import DASH, Interval, show
from wise_pytest.report.text import display_width, pad

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_GAP = "  "
_SIGNS = ("+", "−", "[")
_FATES = {
    "survives": "survives",
    "unclear": "no longer clear",
    "reversed": "turns round",
    "appears": "appears",
    "none": "none either way",
}


def effects_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Pooled effects with intervals, then each model's own estimates."""
    pooled = document["pooled"]
    models = document["by_model"]
    yield (
        f"{document['panel']}: {pooled['n']} scored generations of {len(pooled['models'])} models, "
        f"{pooled['n_items']} items"
    )
    header = ("effect", "points", f"{100 * document['confidence']:g} % interval", "p (Holm)", *models)
    rows = []
    for place, effect in enumerate(pooled["effects"]):
        own = [_points(result["effects"][place]["estimate"]) for result in models.values()]
        rows.append((effect_name(effect), *_estimate(effect), *own))
    yield from _table(header, rows)
    for reason in dict.fromkeys(effect["reason"] for effect in pooled["effects"] if "reason" in effect):
        yield f"no interval or estimate: {reason}"


def effect_name(effect: Mapping[str, Any]) -> str:
    """A main effect by its two levels, an interaction by the levels that meet."""
    contrast = effect["contrast"]
    if len(contrast) == 1:
        return f"{contrast[0]['level']} − {contrast[0]['against']}"
    return " × ".join(part["level"] for part in contrast)


def sensitivity_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Each panel's forms under every way to read the outputs: rate, difference, what becomes of it."""
    for name, panel in document.items():
        yield f"{name}: {panel['n']} outputs of {', '.join(panel['models'])}"
        if panel["n_without_text"]:
            yield f"  {panel['n_without_text']} scored rows hold no text, and are left out"
        rows = []
        for key, reading in panel["readings"].items():
            if reading["forms"] is None:
                yield f"  {key}: not available, {reading['reason']}"
                continue
            for form, found in reading["forms"].items():
                fate = _FATES.get(found.get("effect", ""), "")
                rows.append((key, form, show(found["compliance"], "rate"), *_difference(found), fate))
        yield from _table(("reading", "form", "rate", "diff", "95 % interval", "strict effect"), rows)
        for key, reading in panel["readings"].items():
            if key != "strict" and reading["forms"] is not None:
                yield (
                    f"  {key}: {reading['description']}; {reading['n_changed_text']} outputs read otherwise, "
                    f"{reading['n_gained']} comply only so, {reading['n_lost']} only strictly"
                )


def _estimate(effect: Mapping[str, Any]) -> tuple[str, str, str]:
    p = effect["p_holm"]
    return (
        _points(effect["estimate"]),
        _between(effect["ci_low"], effect["ci_high"]),
        DASH if p is None else show(p, "p_value"),
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

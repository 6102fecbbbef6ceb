"""The audit in a few lines at the end of a pytest run.

Called by ``finish``, whose lines the terminal summary writes each in its style,
and by ``wise audit``. They may hold any character; ``text.degrade`` fits them to
a stream.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from wise_pytest.report import facts
from wise_pytest.report.columns import number, scalar, show
from wise_pytest.report.comparison import comparison_lines
from wise_pytest.report.counters import counters_answer
from wise_pytest.report.lines import Line
from wise_pytest.report.objects import Document, mapping, panels_of, reference_of
from wise_pytest.report.text import display_width, pad, shorten, visible
from wise_pytest.report.ties import all_alike, forms_said, highest, lowest, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.report.lines import Style

_MAX_MODELS = 20
_MAX_SENTENCES = 3
_MIN_NAME = 32
_GAP = "  "
_HEADER = ("panel", "model", "POS", "mean", "worst (form)", "gap", "coverage")
_NAMES = 2
"""Columns that hold names and give way first where the terminal is narrow."""
_GATE_STYLE: Mapping[facts.GateStatus, Style] = {"pass": "green", "fail": "red", "not_evaluated": "yellow"}


def summary_lines(
    document: Document, *, width: int = 80, report_paths: Sequence[str | PathLike[str]] = ()
) -> list[Line]:
    """The short form of the audit, the gate's verdict last but for the places of the reports.

    Parameters
    ----------
    document
        The decoded ``audit.json``.
    width
        Columns of the terminal. The table keeps to it where it is at least 72;
        sentences may be longer, since a terminal wraps them.
    report_paths
        Where the reports were written, to be named.
    """
    paths = [visible(fspath(path)) for path in report_paths]
    lines = [
        *_table(document, width, paths),
        *_excluded(document),
        *_rankings(document),
        *_counters(document),
        *comparison_lines(document),
        *_trouble(document),
        *_gate(document),
    ]
    lines += [Line(f"report: {path}") for path in paths]
    return [Line(visible(line.text), line.style) for line in lines]


def _counters(document: Document) -> list[Line]:
    """Whether wording effects survive other counters, where that was asked."""
    answers = ((name, counters_answer(panel)) for name, panel in panels_of(document).items())
    return [Line(f"other counters: {name}: {said}") for name, said in answers if said]


def _table(document: Document, width: int, paths: list[str]) -> list[Line]:
    rows = [
        _model_row(panel_id, str(model), mapping(audit))
        for panel_id, panel in panels_of(document).items()
        for model, audit in mapping(panel, "by_model").items()
    ]
    if not rows:
        return [Line("no model was audited", "yellow")]
    all_pos = all(reference_of(panel) == "POS" for panel in panels_of(document).values())
    header = tuple("reference" if name == "POS" and not all_pos else name for name in _HEADER)
    grid = [header, *rows[:_MAX_MODELS]]
    widths = _fit(grid, width)
    lines = [Line(_joined(row, widths), "bold" if row is header else "plain") for row in grid]
    n_more = len(rows) - _MAX_MODELS
    if n_more > 0:
        lines.append(Line(f"… and {n_more} more in {paths[0] if paths else 'the report'}"))
    return lines


def _model_row(panel_id: str, model: str, audit: Mapping[str, Any]) -> tuple[str, ...]:
    summary = mapping(audit, "summary")
    worst, forms = _shown(summary.get("worst")), forms_said(audit, "worst")
    return (
        visible(panel_id),
        visible(model),
        _shown(summary.get("pos")),
        _shown(summary.get("mean")),
        f"{worst} ({visible(forms)})" if forms else worst,
        _shown(summary.get("gap")),
        _shown(audit.get("coverage")),
    )


def _shown(rate: Any) -> str:
    return show(scalar(rate), "rate")


def _fit(grid: list[tuple[str, ...]], width: int) -> list[int]:
    """Widths of columns with the names narrowed, the wider one first, until a row fits.

    Names that would come to look alike stay as wide as it takes to tell them
    apart: a line that wraps is better than two models under one name.
    """
    widths = [max(display_width(row[i]) for row in grid) for i in range(len(_HEADER))]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(range(_NAMES), key=widths.__getitem__)
        names = {row[widest] for row in grid}
        if widths[widest] <= _MIN_NAME or len({shorten(name, widths[widest] - 1) for name in names}) < len(
            names
        ):
            break
        widths[widest] -= 1
    return widths


def _joined(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        pad(shorten(cell, width), width, right=position >= _NAMES)
        for position, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return _GAP.join(cells).rstrip()


def _excluded(document: Document) -> list[Line]:
    return [
        Line(f"left out of the primary models of {panel_id}: {', '.join(excluded)}")
        for panel_id, panel in panels_of(document).items()
        if (excluded := facts.excluded_models(panel))
    ]


def _rankings(document: Document) -> list[Line]:
    lines = []
    for panel_id, panel in panels_of(document).items():
        models = panel.get("models")
        if isinstance(models, list | tuple) and len(models) > 1 and mapping(panel, "ranking"):
            lines.append(Line(f"ranking in {panel_id}: {_ranking(mapping(panel, 'ranking'))}"))
    return lines


def _ranking(ranking: Mapping[str, Any]) -> str:
    taus = {form: tau for form in ranking if (tau := number(mapping(ranking, form).get("tau_b"))) is not None}
    rates = {form: r for form in ranking if (r := number(mapping(ranking, form).get("reversal"))) is not None}
    parts = []
    if taus:
        forms = lowest(taus)
        parts.append(f"lowest tau_b {show(taus[forms[0]], 'decimal')} ({_at(forms, taus)})")
    if rates:
        forms = highest(rates)
        parts.append(f"highest reversal {show(rates[forms[0]], 'rate')} ({_at(forms, rates)})")
    if parts:
        return ", ".join(parts)
    reasons = dict.fromkeys(str(said) for form in ranking if (said := mapping(ranking, form).get("reason")))
    return f"not available ({'; '.join(reasons) or 'no reason is given'})"


def _at(forms: Sequence[str], values: Mapping[str, int | float]) -> str:
    """The forms, unless all have their value."""
    return "every form" if all_alike(values) else named(forms)


def _trouble(document: Document) -> list[Line]:
    lines = []
    trouble = facts.technical(document)
    if trouble.n_errors or trouble.n_blocked:
        lines.append(Line(facts.technical_counts(trouble), "yellow"))
        lines += _first(trouble.reasons)
    missing = facts.not_recorded(document, brief=True)
    if missing:
        lines.append(Line(f"not recorded: {'; '.join(missing)}", "yellow"))
        lines.append(Line(f"{_GAP}record with --record-mode=new_episodes", "yellow"))
    lines += [Line(served, "yellow") for served in facts.served_by_others(document)]
    partial = facts.partial_reason(document)
    if partial is not None and facts.gate_verdict(document).status == "fail":
        # Otherwise it is the gate's own reason, one line further down.
        lines.append(Line(f"partial: {partial}", "yellow"))
    return lines


def _gate(document: Document) -> list[Line]:
    verdict = facts.gate_verdict(document)
    lines = [Line(f"gate: {verdict.sentence}", _GATE_STYLE[verdict.status])]
    lines += [Line(f"{_GAP}{failed}", "red") for failed in facts.failed_checks(document)]
    if verdict.status != "pass":
        lines += _first(facts.unevaluated_checks(document))
    lines += _first(facts.inconclusive_checks(document))
    deferred = facts.deferred_limits(document)
    if deferred is not None:
        lines.append(Line(f"{_GAP}{deferred}", "yellow"))
    return lines + [Line(f"{_GAP}note: {note}", "yellow") for note in facts.gate_notes(document)]


def _first(sentences: Sequence[str]) -> list[Line]:
    """The first few of many, and how many more there are."""
    lines = [Line(f"{_GAP}{sentence}", "yellow") for sentence in sentences[:_MAX_SENTENCES]]
    n_more = len(sentences) - _MAX_SENTENCES
    return [*lines, Line(f"{_GAP}… and {n_more} more", "yellow")] if n_more > 0 else lines

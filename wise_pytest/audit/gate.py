"""The gate: whether the audit holds what the user asked for.

``settings`` parses thresholds here, so this module is light to import;
``finish`` and ``wise audit`` evaluate them. Comparisons are exact:
a gap of exactly the limit passes, whatever floating point makes of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from wise_pytest.audit.result import Audit, ModelAudit, PanelAudit, Ranking

CheckStatus: TypeAlias = Literal["pass", "fail", "not_evaluated"]
Metric: TypeAlias = Literal["coverage", "gap", "worst", "mean", "reversal", "tau_b", "max_rank_shift"]

_POINTS = 100
_PLAIN_NUMBER = re.compile(r"[+-]?(\d{1,12}(\.\d{0,12})?|\.\d{1,12})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What was asked of the gate, as its options write it; ``None`` where nothing was.

    Percentage points, except ``min_tau`` (-1..1) and ``max_rank_shift`` (ranks).
    """

    max_gap: Fraction | None = None
    min_worst: Fraction | None = None
    min_mean: Fraction | None = None
    max_reversal: Fraction | None = None
    min_tau: Fraction | None = None
    max_rank_shift: Fraction | None = None
    min_coverage: Fraction | None = Fraction(95)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How one metric is compared with its threshold."""

    threshold: str
    """Field of ``Thresholds``."""
    at_most: bool
    points: bool
    """Whether the threshold is in percentage points of a rate."""
    label: str


_RULES: dict[Metric, _Rule] = {
    "coverage": _Rule("min_coverage", at_most=False, points=True, label="coverage"),
    "gap": _Rule("max_gap", at_most=True, points=True, label="wording gap"),
    "worst": _Rule("min_worst", at_most=False, points=True, label="worst-form compliance"),
    "mean": _Rule("min_mean", at_most=False, points=True, label="mean compliance"),
    "reversal": _Rule("max_reversal", at_most=True, points=True, label="reversal rate"),
    "tau_b": _Rule("min_tau", at_most=False, points=False, label="tau-b"),
    "max_rank_shift": _Rule("max_rank_shift", at_most=True, points=False, label="largest rank shift"),
}
_MODEL_METRICS: tuple[Metric, ...] = ("coverage", "gap", "worst", "mean")
_RANKING_METRICS: tuple[Metric, ...] = ("reversal", "tau_b", "max_rank_shift")
_RANGES: dict[str, tuple[int, int | None]] = {"min_tau": (-1, 1), "max_rank_shift": (0, None)}
_MIN_MODELS = 2


@dataclass(frozen=True, slots=True)
class Check:
    """One threshold held against one value."""

    panel: str | None
    model: str | None
    """``None`` for a ranking, which is over all primary models."""
    form: str | None
    """The form that was ranked, or a model's worst form."""
    metric: Metric
    value: Fraction | float | None
    """A rate in 0..1, or tau, or ranks; ``None`` where it could not be computed."""
    limit: Fraction
    """In the unit of ``value``."""
    status: CheckStatus
    reason: str
    """The comparison in words, or why there is none."""


@dataclass(frozen=True, slots=True)
class Gate:
    """All checks and what they come to."""

    status: CheckStatus
    checks: tuple[Check, ...]
    reason: str | None
    """Why the gate does not pass; ``None`` where it does."""


def parse_threshold(text: str, name: str) -> Fraction:
    """Read the value of a gate option, exactly.

    Parameters
    ----------
    text
        A plain decimal number.
    name
        The option as the user writes it, such as ``--wise-max-gap`` or
        ``wise_max_gap``; it decides the range.

    Returns
    -------
    Fraction
        In the unit of the option: percentage points, tau or ranks.

    Raises
    ------
    OptionError
        If ``text`` is no plain number or lies outside the option's range.
    """
    option = name.strip("-").replace("-", "_").removeprefix("wise_")
    low, high = _RANGES.get(option, (0, _POINTS))
    expected = f"a number from {low}" if high is None else f"a number from {low} to {high}"
    stripped = text.strip()
    # No exponents: 1e999999999 is a number too, and takes for ever to become an exact one.
    if _PLAIN_NUMBER.fullmatch(stripped) is None:
        raise OptionError(f"{name}: must be {expected}, not {text!r}")
    value = Fraction(stripped)
    if value < low or (high is not None and value > high):
        raise OptionError(f"{name}: must be {expected}, not {text!r}")
    return value


def evaluate_gate(
    audit: Audit,
    thresholds: Thresholds,
    *,
    expected_models: Collection[str] = (),
    partial: str | None = None,
) -> Gate:
    """Hold every threshold that was asked for against the audit.

    Coverage, gap, worst and mean are checked for each panel and each model that
    the user did not exclude by name; the ranking for each panel and form, over
    the primary models. A model in the floor regime is no primary model, but it
    was not excluded by the user: only its gap is left out, so that a broken
    model cannot slip through by being too bad to rank.

    Parameters
    ----------
    audit
        What was measured.
    thresholds
        What was asked for.
    expected_models
        Models that the user named; one without a scored row is never passed over.
    partial
        Why the run is incomplete, such as ``partial: 3 of 8 cells``; such a
        run never passes.

    Returns
    -------
    Gate
        ``fail`` if any check failed; else ``not_evaluated`` if the run is
        partial, nothing was evaluated, or any check could not be; else ``pass``.
    """
    checks = (
        *_absent_models(audit, thresholds, expected_models),
        *(check for panel in audit.panels.values() for check in _model_checks(panel, thresholds)),
        *_ranking_checks(audit, thresholds),
    )
    n_failed = sum(check.status == "fail" for check in checks)
    n_open = sum(check.status == "not_evaluated" for check in checks)
    if n_failed:
        failed = _counted(n_failed, len(checks), "failed")
        return Gate("fail", checks, failed if partial is None else f"{failed}; {partial}")
    if partial is not None:
        return Gate("not_evaluated", checks, partial)
    if not checks:
        return Gate("not_evaluated", checks, "nothing was evaluated")
    if n_open:
        return Gate("not_evaluated", checks, _counted(n_open, len(checks), "could not be evaluated"))
    return Gate("pass", checks, None)


def limit_for(thresholds: Thresholds, metric: Metric) -> Fraction | None:
    """The limit of a metric in the unit of its value, or ``None`` where none was asked for."""
    rule = _RULES[metric]
    limit: Fraction | None = getattr(thresholds, rule.threshold)
    return limit / _POINTS if limit is not None and rule.points else limit


@dataclass(frozen=True, slots=True)
class _Question:
    """One thing to check, before its answer."""

    metric: Metric
    limit: Fraction
    panel: str | None = None
    model: str | None = None
    form: str | None = None

    def answer(self, value: Fraction | float) -> Check:
        """Compare ``value`` with the limit."""
        rule = _RULES[self.metric]
        # Tau is irrational in general: it is held against the float that the user's decimal stands for.
        limit = float(self.limit) if isinstance(value, float) else self.limit
        holds = value <= limit if rule.at_most else value >= limit
        shown, asked = _shown(value, self.limit, scale=_POINTS if rule.points else 1)
        where = "" if self.form is None else f" under {self.form}"
        return self._check(
            "pass" if holds else "fail",
            f"{rule.label}{where} {shown}, asked for at {'most' if rule.at_most else 'least'} {asked}",
            value,
        )

    def leave_open(self, reason: str) -> Check:
        """Say why there is nothing to compare."""
        return self._check("not_evaluated", reason, None)

    def _check(self, status: CheckStatus, reason: str, value: Fraction | float | None) -> Check:
        return Check(
            panel=self.panel,
            model=self.model,
            form=self.form,
            metric=self.metric,
            value=value,
            limit=self.limit,
            status=status,
            reason=reason,
        )


def _absent_models(audit: Audit, thresholds: Thresholds, expected: Collection[str]) -> Iterator[Check]:
    """Models that the user named and that nothing was scored of, unless their coverage says so already."""
    limit = limit_for(thresholds, "coverage") or Fraction(0)
    for name in sorted(set(expected).difference(audit.exclude)):
        found = [panel.by_model[name] for panel in audit.panels.values() if name in panel.by_model]
        if (found and limit) or any(model.coverage.n_scored for model in found):
            continue
        yield _Question("coverage", limit, model=name).leave_open(f"no panel has a scored row of {name}")


def _model_checks(panel: PanelAudit, thresholds: Thresholds) -> Iterator[Check]:
    for model in panel.by_model.values():
        if model.excluded_by_name:
            continue
        for metric in _MODEL_METRICS:
            limit = limit_for(thresholds, metric)
            if limit is not None:
                yield _model_check(model, _Question(metric, limit, panel=panel.panel, model=model.model))


def _model_check(model: ModelAudit, question: _Question) -> Check:
    if question.metric == "coverage":
        return question.answer(model.coverage.fraction)
    summary = model.results.summary
    reason = _why_no_summary(model, question.metric)
    if summary is None or reason is not None:
        return question.leave_open(str(reason))
    if question.metric == "worst":
        question = replace(question, form=summary.worst_form)
    values = {"gap": summary.gap, "worst": summary.worst, "mean": summary.mean}
    value = values[question.metric]
    return question.leave_open("a wording gap needs two forms") if value is None else question.answer(value)


def _why_no_summary(model: ModelAudit, metric: Metric) -> str | None:
    """Why a figure over the forms of a model would mislead, or ``None``."""
    summary = model.results.summary
    if summary is None:
        return "no scored rows"
    if summary.incomplete:
        return f"no scored rows under {', '.join(summary.incomplete)}"
    if metric == "gap" and model.floor.in_floor:
        return "the model is in the floor regime, where a wording gap means nothing"
    return None


def _ranking_checks(audit: Audit, thresholds: Thresholds) -> Iterator[Check]:
    limits = {metric: limit_for(thresholds, metric) for metric in _RANKING_METRICS}
    asked = [_Question(metric, limit) for metric, limit in limits.items() if limit is not None]
    if len(audit.models) < _MIN_MODELS:
        yield from (question.leave_open("a ranking needs two models") for question in asked)
        return
    for panel in audit.panels.values():
        reason = _why_unranked(panel)
        if reason is not None:
            yield from (replace(question, panel=panel.panel).leave_open(reason) for question in asked)
            continue
        for form, ranking in panel.ranking.items():
            for question in asked:
                yield _ranking_check(ranking, replace(question, panel=panel.panel, form=form))


def _why_unranked(panel: PanelAudit) -> str | None:
    """Why a whole panel has no ranking, or ``None``."""
    if len(panel.models) < _MIN_MODELS:
        return f"a ranking needs two primary models, and this panel has {len(panel.models)}"
    if panel.primary.summary is None or panel.primary.summary.reference is None:
        return f"no scored row of the reference form {panel.reference}"
    if not panel.ranking:
        return f"there is no form but the reference form {panel.reference}"
    return None


def _ranking_check(ranking: Ranking, question: _Question) -> Check:
    stability = ranking.stability
    if ranking.unranked:
        # The ranking of the others is reported, but it is not the one that was asked about.
        return question.leave_open(f"cannot be ranked: {', '.join(ranking.unranked)}")
    values: dict[Metric, Fraction | float | None] = {
        "reversal": None if stability.reversal is None else stability.reversal.fraction,
        "tau_b": stability.tau_b,
        "max_rank_shift": stability.max_rank_shift,
    }
    value = values[question.metric]
    return question.leave_open(str(stability.reason)) if value is None else question.answer(value)


def _shown(value: Fraction | float, limit: Fraction, *, scale: int) -> tuple[str, str]:
    """Value and limit with as many decimals as it takes to tell them apart."""
    shown = asked = ""
    for decimals in range(1, 7):
        shown, asked = (f"{float(number * scale):.{decimals}f}" for number in (value, limit))
        if shown != asked or value == limit:
            break
    return shown, asked


def _counted(n: int, total: int, what: str) -> str:
    return f"{n} of {total} checks {what}"

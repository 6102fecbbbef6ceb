"""The gate: whether the audit holds what the user asked for.

``finish`` and ``wise audit`` call it. ``rules`` says what was asked for, and
``judging`` compares one value with its limit; here is which values there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.audit.hints import overruled_limits, rules_without_rows, small_limits
from wise_pytest.audit.judging import RANKING_METRICS, Check, Metric, Question, question
from wise_pytest.audit.rules import EVERYWHERE, POINTS
from wise_pytest.stats.ranking import MIN_MODELS
from wise_pytest.stats.rates import Interval, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from wise_pytest.audit.comparison import Comparison, PairComparison
    from wise_pytest.audit.result import Audit, ModelAudit, PanelAudit, Pooled, Ranking
    from wise_pytest.audit.rules import GateMode, GateRules

GateStatus: TypeAlias = Literal["pass", "fail", "not_evaluated"]

_MODEL_METRICS: tuple[Metric, ...] = ("coverage", "gap", "worst", "mean")
_CHANGE_METRICS: tuple[Metric, ...] = ("gap_increase", "form_drop")


@dataclass(frozen=True, slots=True)
class Gate:
    """All checks and what they come to."""

    status: GateStatus
    checks: tuple[Check, ...]
    reason: str | None
    """Why the gate does not pass; ``None`` where it does."""
    mode: GateMode
    deferred: str | None = None
    """What was left to somebody else, and to whom: of a shard, always."""
    notes: tuple[str, ...] = ()
    """What of the rules may not be what their author means; no note changes the verdict."""


def evaluate_gate(
    audit: Audit,
    rules: GateRules,
    *,
    comparison: Comparison | None = None,
    why_no_comparison: str | None = None,
    expected_models: Collection[str] = (),
    partial: str | None = None,
    shard: str | None = None,
) -> Gate:
    """Hold every limit that was asked for against the audit.

    Coverage, gap, worst and mean are checked for each panel and each model that
    the user did not exclude by name; the ranking for each panel and form, over
    the primary models. A model in the floor regime is no primary model, but it
    was not excluded by the user: only its gap is left out, so that a broken
    model cannot slip through by being too bad to rank. Changes since a baseline
    are checked for each panel and model, and each form.

    Parameters
    ----------
    audit
        What was measured.
    rules
        What was asked for.
    comparison
        With the baseline; ``None`` without one.
    why_no_comparison
        Why there is none, for limits that need one.
    expected_models
        Models that the user named; one without a scored row is never passed over.
    partial
        Why the run is incomplete, such as ``partial: 3 of 8 cells``; such a
        run never passes.
    shard
        Which shard of a plan this is, such as ``shard 2 of 4``. One shard is
        judged by its coverage alone: all others are about the whole.

    Returns
    -------
    Gate
        ``fail`` if any check failed; else ``not_evaluated`` if the run is
        partial, nothing was evaluated, or any check could not be; else ``pass``.
        An inconclusive check is no failure.
    """
    checks = [
        *_absent_models(audit, rules, expected_models),
        *(check for panel in audit.panels.values() for check in _model_checks(panel, rules)),
        *_ranking_checks(audit, rules),
        *_change_checks(audit, rules, comparison, why_none=why_no_comparison or "no baseline was given"),
    ]
    notes = [*small_limits(rules)]
    deferred = None
    if shard is None:
        notes += [*overruled_limits(audit, rules), *rules_without_rows(audit, rules)]
    else:
        checks = [check for check in checks if check.metric == "coverage"]
        deferred = f"{shard}: its coverage alone is judged; wise audit judges all shards together"
    status, reason = _verdict(checks, partial)
    return Gate(status, tuple(checks), reason, rules.mode, deferred, tuple(notes))


def _verdict(checks: Collection[Check], partial: str | None) -> tuple[GateStatus, str | None]:
    n_failed = sum(check.status == "fail" for check in checks)
    n_open = sum(check.status == "not_evaluated" for check in checks)
    if n_failed:
        failed = _counted(n_failed, len(checks), "failed")
        return "fail", failed if partial is None else f"{failed}; {partial}"
    if partial is not None:
        return "not_evaluated", partial
    if not checks:
        return "not_evaluated", "nothing was evaluated"
    if n_open:
        return "not_evaluated", _counted(n_open, len(checks), "could not be evaluated")
    return "pass", None


def _absent_models(audit: Audit, rules: GateRules, expected: Collection[str]) -> Iterator[Check]:
    """Models that the user named and that nothing was scored of, unless their coverage says so already."""
    for name in sorted(set(expected).difference(audit.exclude)):
        asked = question(rules, "coverage", model=name)
        if asked is None:
            asked = Question("coverage", Fraction(0), "everywhere", rules.mode, model=name)
        found = [panel.by_model[name] for panel in audit.panels.values() if name in panel.by_model]
        if (found and asked.limit) or any(model.coverage.n_scored for model in found):
            continue
        yield asked.leave_open(f"no panel has a scored row of {name}")


def _model_checks(panel: PanelAudit, rules: GateRules) -> Iterator[Check]:
    for model in panel.by_model.values():
        if model.excluded_by_name:
            continue
        for metric in _MODEL_METRICS:
            asked = question(rules, metric, panel=panel.panel, model=model.model)
            if asked is not None:
                yield _model_check(model, asked)


def _model_check(model: ModelAudit, asked: Question) -> Check:
    if asked.metric == "coverage":
        return asked.answer(model.coverage.fraction)
    summary = model.results.summary
    reason = _why_no_summary(model, asked.metric)
    if summary is None or reason is not None:
        return asked.leave_open(str(reason))
    if asked.metric == "worst":
        asked = replace(asked, form=summary.worst_form)
    values = {"gap": summary.gap, "worst": summary.worst, "mean": summary.mean}
    value = values[asked.metric]
    if value is None:
        return asked.leave_open("a gap needs two forms")
    interval, why_none = _interval_of(model.results, asked.metric)
    return asked.answer(value, interval, why_none=why_none)


def _why_no_summary(model: ModelAudit, metric: Metric) -> str | None:
    """Why a figure over the forms of a model would mislead, or ``None``."""
    summary = model.results.summary
    if summary is None:
        return "no scored rows"
    if summary.incomplete:
        return f"no scored rows under {', '.join(summary.incomplete)}"
    if metric == "gap" and model.floor.in_floor:
        return "the model is in the floor regime, where a gap means nothing"
    return None


def _interval_of(results: Pooled, metric: Metric) -> tuple[Interval | None, str | None]:
    """What a model's figure is judged by, and why there is nothing to judge it by."""
    intervals = results.intervals
    if intervals is None:
        return None, "nothing was resampled"
    found: Interval | None = getattr(intervals, metric)
    if found is None:
        return None, intervals.reason or "not available"
    if metric == "mean":
        return found if found.low < found.high else _mean_of_wilson(results), None
    # The percentile interval, which the report shows, and bounds that hold whichever form is worst.
    bounds: Interval | None = None if results.bounds is None else getattr(results.bounds, metric)
    if bounds is None:
        return found, None
    return Interval(min(found.low, bounds.low), max(found.high, bounds.high)), None


def _mean_of_wilson(results: Pooled) -> Interval:
    """Where all or none comply under every form, resampling varies nothing, and that is not certainty."""
    rates = [wilson_interval(form.rate) for form in results.forms.values() if form.rate.n]
    return Interval(
        sum(rate.low for rate in rates) / len(rates), sum(rate.high for rate in rates) / len(rates)
    )


def _ranking_checks(audit: Audit, rules: GateRules) -> Iterator[Check]:
    if len(audit.models) < MIN_MODELS:
        scopes: tuple[str | None, ...] = (*audit.panels,) or (None,)
        every = [question(rules, metric, panel=panel) for panel in scopes for metric in RANKING_METRICS]
        yield from _left_open(filter(None, every), "a ranking needs two models")
        return
    for panel in audit.panels.values():
        asked = [
            found
            for metric in RANKING_METRICS
            if (found := question(rules, metric, panel=panel.panel)) is not None
        ]
        reason = _why_unranked(panel)
        if reason is not None:
            yield from (found.leave_open(reason) for found in asked)
            continue
        for form, ranking in panel.ranking.items():
            for found in asked:
                yield _ranking_check(ranking, replace(found, form=form))


def _why_unranked(panel: PanelAudit) -> str | None:
    """Why a whole panel has no ranking, or ``None``."""
    if len(panel.models) < MIN_MODELS:
        return f"a ranking needs two primary models, and this panel has {len(panel.models)}"
    if panel.primary.summary is None or panel.primary.summary.reference is None:
        return f"no scored row of the reference form {panel.reference}"
    if not panel.ranking:
        return f"there is no form but the reference form {panel.reference}"
    return None


def _ranking_check(ranking: Ranking, asked: Question) -> Check:
    stability = ranking.stability
    if ranking.unranked:
        # The ranking of the others is reported, but it is not the one that was asked about.
        return asked.leave_open(f"cannot be ranked: {', '.join(ranking.unranked)}")
    values: dict[Metric, Fraction | float | None] = {
        "reversal": None if stability.reversal is None else stability.reversal.fraction,
        "tau_b": stability.tau_b,
        "max_rank_shift": stability.max_rank_shift,
    }
    value = values[asked.metric]
    if value is None:
        return asked.leave_open(str(stability.reason))
    intervals = ranking.intervals
    interval: Interval | None = None if intervals is None else getattr(intervals, asked.metric)
    why_none = "nothing was resampled" if intervals is None else intervals.reason
    return asked.answer(value, interval, why_none=why_none)


def _change_checks(
    audit: Audit, rules: GateRules, comparison: Comparison | None, *, why_none: str
) -> Iterator[Check]:
    """How far each model may have fallen behind the baseline."""
    pairs = {} if comparison is None else {(pair.panel, pair.model): pair for pair in comparison.pairs}
    unpaired: list[Question] = []
    decided: set[tuple[Metric, str]] = set()
    for model, asked in _asked_of_changes(audit, rules):
        pair = pairs.get((str(asked.panel), model.model))
        if comparison is None:
            yield asked.leave_open(why_none)
        elif pair is not None:
            decided.add((asked.metric, asked.rule))
            lacking = _why_too_few(pair, rules)
            yield from _changes(pair, model, asked) if lacking is None else [asked.leave_open(lacking)]
        elif comparison.shared:
            unpaired.append(asked)
        else:
            yield asked.leave_open(f"the baseline has no row of {model.model} in {asked.panel}")
    # What one side alone has is no part of what they share; but a limit that decided nothing is open.
    yield from _left_open(
        (asked for asked in unpaired if (asked.metric, asked.rule) not in decided),
        "the baseline and this run have no model of a panel in common",
    )


def _left_open(questions: Iterable[Question], reason: str) -> Iterator[Check]:
    """Each question of a scoped rule, and each limit for everywhere once."""
    told: set[Question] = set()
    for asked in questions:
        once = replace(asked, panel=None, model=None) if asked.rule == EVERYWHERE else asked
        if once not in told:
            told.add(once)
            yield once.leave_open(reason)


def _why_too_few(pair: PairComparison, rules: GateRules) -> str | None:
    """Why so few cells are paired that no drop would show, or ``None``."""
    least = rules.limit("min_coverage", panel=pair.panel, model=pair.model)
    if pair.refused or least is None or not pair.n_comparable:
        return None
    share = Fraction(pair.n_paired, pair.n_comparable)
    if share * POINTS >= least.value:
        return None
    return (
        f"{pair.n_paired} of {pair.n_comparable} scored cells are paired with the baseline "
        f"({float(share * POINTS):.1f} %); min-coverage asks for at least {float(least.value):g} %"
    )


def _asked_of_changes(audit: Audit, rules: GateRules) -> Iterator[tuple[ModelAudit, Question]]:
    for panel in audit.panels.values():
        for model in panel.by_model.values():
            for metric in _CHANGE_METRICS:
                asked = question(rules, metric, panel=panel.panel, model=model.model)
                if asked is not None and not model.excluded_by_name:
                    yield model, asked


def _changes(pair: PairComparison, model: ModelAudit, asked: Question) -> Iterator[Check]:
    result = pair.result
    if pair.refused or result is None:
        yield asked.leave_open(f"the baseline cannot be compared: {'; '.join(pair.refused)}")
        return
    if asked.metric == "gap_increase":
        if model.floor.in_floor:
            yield asked.leave_open("the model is in the floor regime, where a gap means nothing")
        elif result.gap is None:
            yield asked.leave_open("a gap needs two forms")
        else:
            yield asked.answer(
                result.gap.diff, result.gap.interval, why_none=pair.why_no_intervals or "not available"
            )
        return
    for form, change in result.forms.items():
        about = replace(asked, form=form)
        if change.diff is None:
            yield about.leave_open(str(change.reason))
            continue
        wide = change.simultaneous
        interval = None if wide is None else Interval(-wide.high, -wide.low)
        yield about.answer(-change.diff, interval, why_none=pair.why_no_intervals or change.reason)


def _counted(n: int, total: int, what: str) -> str:
    return f"{n} of {total} checks {what}"

"""The audit as ``audit.json``: the one place where exact values become floating point.

``finish`` and ``wise audit`` call ``to_document`` and ``dump``; reports read the
result. Strict JSON: no NaN, and an object with a ``null``
says why in ``reason``.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.comparison_document import comparison_document
from wise_pytest.audit.diagnostics import (
    examples_document,
    reasoned,
    surface_document,
    target_document,
    targets_by_form_document,
)
from wise_pytest.audit.factorial import to_document as effects_document
from wise_pytest.audit.published import published_document
from wise_pytest.audit.sensitivity_document import sensitivity_document
from wise_pytest.stats.contrasts import CONFIDENCE
from wise_pytest.stats.ranking_bootstrap import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from wise_pytest.audit.comparison import Comparison
    from wise_pytest.audit.gate import Gate
    from wise_pytest.audit.judging import Check
    from wise_pytest.audit.result import (
        Audit,
        Bootstrap,
        Cross,
        CrossPanel,
        FormResult,
        ModelAudit,
        PanelAudit,
        Pooled,
        Ranking,
        SchemeResult,
    )
    from wise_pytest.stats.bootstrap import Units
    from wise_pytest.stats.contrasts import Contrast
    from wise_pytest.stats.floor import FloorRegime
    from wise_pytest.stats.rates import Interval
    from wise_pytest.stats.summary import FormSummary
    from wise_pytest.stats.summary_bootstrap import SummaryIntervals

AUDIT_SCHEMA = "wise.audit/1"


def to_document(
    audit: Audit, gate: Gate | None = None, comparison: Comparison | None = None
) -> dict[str, Any]:
    """The content of ``audit.json``.

    Parameters
    ----------
    audit
        The audit.
    gate
        Its evaluation; without one the document says that nothing was evaluated.
    comparison
        With a baseline, if there is one.

    Returns
    -------
    dict
        JSON values only. Equal audits give equal documents, key order included.
    """
    return {
        "schema": AUDIT_SCHEMA,
        "run": _run(audit),
        "panels": {name: _panel(panel) for name, panel in audit.panels.items()},
        "cross": _cross(audit.cross),
        **({} if comparison is None else {"comparison": comparison_document(comparison)}),
        "gate": _gate(gate),
    }


def dump(document: Mapping[str, Any]) -> str:
    """The text of ``audit.json``: strict, ASCII, ending in a line end."""
    return json.dumps(document, allow_nan=False, ensure_ascii=True, indent=1) + "\n"


def _run(audit: Audit) -> dict[str, Any]:
    run: dict[str, Any] = {
        **audit.provenance,
        "n_rows": audit.n_rows,
        "rows_sha256": audit.rows_sha256,
        "models": list(audit.models),
        "exclude": list(audit.exclude),
        "openings": list(audit.openings),
    }
    if audit.notes:
        run["notes"] = list(audit.notes)
    return run


def _panel(panel: PanelAudit) -> dict[str, Any]:
    every = panel.by_model.values()
    content: dict[str, Any] = {
        **({"title": panel.title} if panel.title else {}),
        **({"question": panel.question} if panel.question else {}),
        "reference": panel.reference,
        "verifiers": list(panel.verifiers),
        "models": list(panel.models),
        "excluded": dict(panel.excluded),
        "n_rows": panel.n_rows,
        "n_planned": panel.coverage.n_planned,
        "n_scored": panel.coverage.n_scored,
        "coverage": float(panel.coverage.fraction),
        **_pooled(
            panel.primary, panel.reference, "no scored rows" if panel.models else "every model is excluded"
        ),
        "ranking": {form: _ranking(ranking) for form, ranking in panel.ranking.items()},
        "ranks": {
            "order": list(panel.ranks.order),
            "by_model": {
                model: {form: float(rank) for form, rank in ranks.items() if rank is not None}
                for model, ranks in panel.ranks.by_model.items()
            },
        },
        "by_model": {audit.model: _model(audit, panel.reference) for audit in every},
        "all_models": _pooled(panel.all_models, panel.reference, "no scored rows"),
    }
    if panel.targets:
        content["targets"] = targets_by_form_document(panel.targets)
    if panel.examples is not None:
        content["examples"] = examples_document(panel.examples, panel.reference)
    if panel.effects is not None:
        content["effects"] = effects_document(panel.effects)
    if panel.sensitivity is not None:
        content["verifier_sensitivity"] = sensitivity_document(panel.sensitivity)
    if panel.bootstrap is not None:
        content["bootstrap"] = _bootstrap(panel.bootstrap)
    if panel.published:
        content["published"] = published_document(panel.published)
    if panel.notes:
        content["notes"] = list(panel.notes)
    return content


def _model(audit: ModelAudit, reference: str) -> dict[str, Any]:
    content: dict[str, Any] = {
        "provider": audit.provider,
        "excluded": audit.excluded or False,
        "n_rows": audit.n_rows,
        "n_planned": audit.coverage.n_planned,
        "n_scored": audit.coverage.n_scored,
        "coverage": float(audit.coverage.fraction),
        "statuses": dict(audit.statuses),
        **_directions(audit.total),
        # A planned model without any row has no provider either: one reason serves both.
        **_pooled(audit.results, reference, "no scored rows" if audit.n_rows else "no rows"),
        "floor": _floor(audit.floor),
    }
    if audit.targets:
        content["targets"] = [target_document(outcome) for outcome in audit.targets]
    return content


def _pooled(pooled: Pooled, reference: str, why_empty: str) -> dict[str, Any]:
    content: dict[str, Any] = {"summary": None, "reason": why_empty}
    if pooled.summary is not None:
        content = {"summary": _summary(pooled.summary, reference, pooled.intervals)}
        if pooled.bounds is not None:
            content["summary"] |= {
                "worst_bounds": _pair(pooled.bounds.worst),
                "gap_bounds": _pair(pooled.bounds.gap),
            }
    content["forms"] = {name: _form(result) for name, result in pooled.forms.items()}
    return content


def _summary(summary: FormSummary, reference: str, intervals: SummaryIntervals | None) -> dict[str, Any]:
    content: dict[str, Any] = {
        "pos": _number(summary.reference),
        "mean": float(summary.mean),
        "worst": float(summary.worst),
        "worst_form": summary.worst_form,
        "best": float(summary.best),
        "best_form": summary.best_form,
        "gap": _number(summary.gap),
        "n_forms": summary.n_forms,
    }
    reasons = []
    if summary.reference is None:
        reasons.append(f"pos: no scored row of the reference form {reference}")
    if summary.gap is None:
        reasons.append("gap: fewer than two forms have scored rows")
    if intervals is not None:
        content |= _summary_intervals(intervals)
        if intervals.reason is not None:
            reasons.append(f"intervals: {intervals.reason}")
    if reasons:
        content["reason"] = "; ".join(reasons)
    if summary.incomplete:
        content["incomplete"] = list(summary.incomplete)
    return content


def _summary_intervals(intervals: SummaryIntervals) -> dict[str, Any]:
    content: dict[str, Any] = {
        "pos_ci": _pair(intervals.reference),
        "mean_ci": _pair(intervals.mean),
        "worst_ci": _pair(intervals.worst),
        "gap_ci": _pair(intervals.gap),
        "degenerate_ci": ["pos" if name == "reference" else name for name in intervals.degenerate],
    }
    if intervals.reason is not None:
        content["ci_reason"] = intervals.reason
    return content


def _form(result: FormResult) -> dict[str, Any]:
    content: dict[str, Any] = {
        "compliance": result.rate.value,
        "n": result.rate.n,
        "n_compliant": result.rate.n_compliant,
    }
    if result.rate.n == 0:
        content["reason"] = "no scored rows" if result.n_rows else "no rows"
    elif result.diff is not None:
        content["diff"] = float(result.diff)
        content |= _contrast(result)
    if result.wilson is not None:
        content["degenerate"] = True
        content["wilson_low"] = result.wilson.low
        content["wilson_high"] = result.wilson.high
    if result.rate_interval is not None:
        content["compliance_ci"] = _pair(result.rate_interval.interval)
        if result.rate_interval.reason is not None:
            content["compliance_ci_reason"] = result.rate_interval.reason
    content |= _directions(result)
    if result.mean_abs_error is not None:
        content["mean_abs_error"] = float(result.mean_abs_error)
        content["n_errors"] = result.n_errors
    if result.rate.n:
        content["surface"] = surface_document(result.surface)
    content["n_rows"] = result.n_rows
    content["statuses"] = dict(result.statuses)
    return reasoned(content)


def _directions(result: FormResult) -> dict[str, Any]:
    if result.directions is None:
        return {}
    shares = {name: float(share) for name, share in result.directions.items()}
    return {"directions": shares, "n_directions": result.n_directions}


def _cross(cross: Cross) -> dict[str, Any]:
    content: dict[str, Any] = {
        "models": list(cross.models),
        "left_out": dict(cross.left_out),
        "panels": {name: _cross_panel(panel) for name, panel in cross.panels.items()},
    }
    if cross.reason is not None:
        content["reason"] = cross.reason
    return content


def _cross_panel(panel: CrossPanel) -> dict[str, Any]:
    return {
        "reference": panel.reference,
        **({} if panel.scheme is None else {"scheme": panel.scheme}),
        "roles": dict(panel.roles),
        **_pooled(panel.pooled, panel.reference, "no scored rows"),
    }


def _contrast(result: FormResult) -> dict[str, Any]:
    """Interval and p values of a difference; nothing where nothing was resampled."""
    contrast = result.contrast
    if contrast is None:
        return {}
    content = _interval(contrast)
    if result.tested:
        content["p_raw"] = contrast.p
        content["p_holm"] = result.p_holm
        if contrast.p is None and contrast.interval is not None:
            content["reason"] = f"p: {contrast.p_reason}"
    return content


def _interval(contrast: Contrast) -> dict[str, Any]:
    content: dict[str, Any] = dict(zip(("ci_low", "ci_high"), _bounds(contrast.interval), strict=True))
    if contrast.degenerate:
        content["ci_degenerate"] = True
    if contrast.interval_reason is not None:
        content["reason"] = contrast.interval_reason
    content["n_replicates"] = contrast.n_replicates
    return content


def _pair(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _bounds(interval: Interval | None) -> list[float | None]:
    return [None, None] if interval is None else [interval.low, interval.high]


def _bootstrap(bootstrap: Bootstrap) -> dict[str, Any]:
    return {
        "scheme": bootstrap.scheme,
        "replicates": bootstrap.replicates,
        "seed": bootstrap.seed,
        "confidence": CONFIDENCE,
        **_units(bootstrap.units),
        "family_size": bootstrap.family.size,
        "untestable": list(bootstrap.family.untestable),
        "cautions": list(bootstrap.cautions),
        "sensitivity": {scheme: _scheme(result) for scheme, result in bootstrap.sensitivity.items()},
    }


def _units(units: Units) -> dict[str, Any]:
    content: dict[str, Any] = {"n_units": dict(units.n_units)}
    if units.reason is not None:
        content["reason"] = units.reason
    return content


def _scheme(result: SchemeResult) -> dict[str, Any]:
    return {
        **_units(result.units),
        "forms": {
            form: {"diff": contrast.diff, **_interval(contrast)}
            for form, contrast in result.contrasts.items()
        },
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    stability = ranking.stability
    reversal = stability.reversal
    content: dict[str, Any] = {
        "tau_b": stability.tau_b,
        "reversal": None if reversal is None else reversal.value,
        "n_reversed": 0 if reversal is None else reversal.n_compliant,
        "n_pairs": 0 if reversal is None else reversal.n,
        "top3_jaccard": _number(stability.top3_jaccard),
        "max_rank_shift": _number(stability.max_rank_shift),
        "n_models": stability.n_models,
        "unranked": list(ranking.unranked),
    }
    intervals = ranking.intervals
    if intervals is not None:
        for name in MEASURES:
            found: Interval | None = getattr(intervals, name)
            content[f"{name}_ci"] = None if found is None else _bounds(found)
        content["degenerate_ci"] = list(intervals.degenerate)
        content["n_replicates"] = intervals.n_replicates
        if intervals.reason is not None:
            content["reason"] = intervals.reason
    if stability.reason is not None:
        content["reason"] = stability.reason
    return content


def _floor(floor: FloorRegime) -> dict[str, Any]:
    content: dict[str, Any] = {
        "assessable": floor.assessable,
        "in_floor": floor.in_floor,
        "change_words": _number(floor.change),
    }
    if floor.reason is not None:
        content["reason"] = floor.reason
    return content


def _gate(gate: Gate | None) -> dict[str, Any]:
    if gate is None:
        return {"status": "not_evaluated", "reason": "no gate was evaluated", "checks": []}
    content: dict[str, Any] = {"status": gate.status, "mode": gate.mode}
    if gate.reason is not None:
        content["reason"] = gate.reason
    if gate.deferred is not None:
        content["deferred"] = gate.deferred
    if gate.notes:
        content["notes"] = list(gate.notes)
    content["checks"] = [_check(check) for check in gate.checks]
    return content


def _check(check: Check) -> dict[str, Any]:
    return {
        "panel": check.panel,
        "model": check.model,
        "form": check.form,
        "metric": check.metric,
        "value": None if check.value is None else float(check.value),
        "limit": float(check.limit),
        **({} if check.interval is None else {"interval": _bounded(check.interval)}),
        "status": check.status,
        "rule": check.rule,
        "reason": check.reason,
    }


def _bounded(interval: Interval) -> list[float | None]:
    """An interval that was judged; a bound that nothing limits is no number."""
    return [bound if math.isfinite(bound) else None for bound in (interval.low, interval.high)]


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)

"""The comparison as ``audit.json`` and ``comparison.json`` hold it; reports read the result.

Called by ``document`` and by ``wise compare``. JSON values only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.stats.contrasts import CONFIDENCE

if TYPE_CHECKING:
    from wise_pytest.audit.comparison import Comparison, PairComparison, VerifierFlips
    from wise_pytest.stats.paired import Change, SummaryChange
    from wise_pytest.stats.rates import Interval


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Everything that was compared, with the same key order for equal comparisons."""
    content: dict[str, Any] = {
        "shared": comparison.shared,
        "bootstrap": {
            "unit": "item",
            "replicates": comparison.replicates,
            "seed": comparison.seed,
            "confidence": CONFIDENCE,
        },
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "only_before": [{"panel": panel, "model": model} for panel, model in comparison.only_before],
        "only_after": [{"panel": panel, "model": model} for panel, model in comparison.only_after],
    }
    if comparison.notes:
        content["notes"] = list(comparison.notes)
    return content


def _pair(pair: PairComparison) -> dict[str, Any]:
    content: dict[str, Any] = {
        "panel": pair.panel,
        "model": pair.model,
        "baseline_model": pair.baseline_model,
    }
    if pair.refused:
        content["refused"] = list(pair.refused)
    if pair.notes:
        content["notes"] = list(pair.notes)
    if pair.verifier_flips is not None:
        content["verifier_flips"] = _verifier_flips(pair.verifier_flips)
    result = pair.result
    if result is None:
        return content
    content |= {
        "n_paired": pair.n_paired,
        "n_only_before": pair.n_only_before,
        "n_only_after": pair.n_only_after,
        "n_items": result.n_items,
        "family_size": result.family_size,
        "summary": {
            name: _summary(change)
            for name, change in (("mean", result.mean), ("worst", result.worst), ("gap", result.gap))
            if change is not None
        },
        "forms": {form: _change(change) for form, change in result.forms.items()},
        "flips": [
            {"item": flip.item, "form": flip.form, "lost": list(flip.lost), "gained": list(flip.gained)}
            for flip in pair.flips
        ],
    }
    if pair.why_no_intervals is not None:
        content["reason"] = pair.why_no_intervals
    return content


def _change(change: Change) -> dict[str, Any]:
    content: dict[str, Any] = {
        "before": change.before.value,
        "after": change.after.value,
        "n": change.after.n,
        "diff": None if change.diff is None else float(change.diff),
        "ci_low": None if change.interval is None else change.interval.low,
        "ci_high": None if change.interval is None else change.interval.high,
        "simultaneous_ci": _bounds(change.simultaneous),
        "p_raw": change.p,
        "p_holm": change.p_holm,
        "n_items_changed": change.n_changed,
        "verdict": _verdict(change),
    }
    if change.reason is not None:
        content["reason"] = change.reason
    return content


def _verdict(change: Change) -> str:
    if change.p_holm is None:
        return "not tested"
    if not change.changed:
        return "no change found"
    return "worse" if change.worse else "better"


def _summary(change: SummaryChange) -> dict[str, Any]:
    return {
        "before": float(change.before),
        "after": float(change.after),
        "diff": float(change.diff),
        "diff_ci": _bounds(change.interval),
    }


def _verifier_flips(flips: VerifierFlips) -> dict[str, Any]:
    return {
        "n_before": flips.n_before,
        "n_after": flips.n_after,
        "versions": list(flips.versions),
        "examples": list(flips.examples),
    }


def _bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]

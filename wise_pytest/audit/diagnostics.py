"""Diagnostics of an audit as parts of ``audit.json``: surface, targets, examples. Called by ``document``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.audit.examples import RULE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.audit.result import Example, Examples, Surface
    from wise_pytest.stats.distribution import Spread
    from wise_pytest.stats.floor import TargetOutcome

_NO_TEXT = "no scored row holds its output"
_NO_ROWS = "no scored rows"


def surface_document(surface: Surface) -> dict[str, Any]:
    """What outputs of one form look like from outside; a reason beside every null."""
    content: dict[str, Any] = {
        "n_texts": surface.empty.n,
        "n_observed": surface.short.n,
        "count_error": None if surface.errors is None else _spread(surface.errors),
        "short_share": surface.short.value,
        "empty_share": surface.empty.value,
        "opening_share": surface.opening.value,
        "openings": dict(surface.openings),
        "truncated_share": surface.truncated.value,
        "refused_share": surface.refused.value,
    }
    reasons = {
        "count_error": "no scored row holds a count error",
        "short_share": "no scored row holds an observed count",
        "empty_share": _NO_TEXT,
        "opening_share": _NO_TEXT,
        "truncated_share": _NO_ROWS,
        "refused_share": _NO_ROWS,
    }
    missing = {f"{name}_reason": reason for name, reason in reasons.items() if content[name] is None}
    return reasoned(content | missing)


def target_document(outcome: TargetOutcome) -> dict[str, Any]:
    """What one model did at one target."""
    content = {
        "target": outcome.target,
        **_outcome(outcome),
        "empty_share": outcome.n_empty / outcome.n_texts if outcome.n_texts else None,
        "truncated_share": outcome.n_truncated / outcome.rate.n,
    }
    return content if outcome.n_texts else {**content, "reason": _NO_TEXT}


def reasoned(content: dict[str, Any]) -> dict[str, Any]:
    """``content`` with a ``reason`` where it holds a null: that of the null, or those of several."""
    if None not in content.values() or "reason" in content:
        return content
    said = dict.fromkeys(reason for name, reason in content.items() if name.endswith("_reason") and reason)
    return {**content, "reason": "; ".join(said)}


def targets_by_form_document(by_form: Mapping[str, Sequence[TargetOutcome]]) -> list[dict[str, Any]]:
    """Every target, ascending, with what each form came to at it."""
    targets = sorted({outcome.target for outcomes in by_form.values() for outcome in outcomes})
    return [
        {
            "target": target,
            "forms": {
                form: _outcome(outcome)
                for form, outcomes in by_form.items()
                for outcome in outcomes
                if outcome.target == target
            },
        }
        for target in targets
    ]


def examples_document(examples: Examples, reference: str) -> dict[str, Any]:
    """Matched failure examples, and how they were chosen."""
    return {
        "n_pairs": examples.n_pairs,
        "rule": RULE,
        "pairs": [_example(example, reference) for example in examples.pairs],
    }


def _example(example: Example, reference: str) -> dict[str, Any]:
    """What the two rows hold; a field that they lack is left out."""
    content = {
        "model": example.model,
        "form": example.form,
        "item": example.item,
        "target": list(example.target) if isinstance(example.target, tuple) else example.target,
        "repetition": example.repetition,
        "direction": example.direction,
        "reference": {
            "form": reference,
            "text": example.reference_text,
            "observed": example.reference_observed,
        },
        "contrast": {
            "text": example.text,
            "observed": example.observed,
            "error": example.error,
            "status": example.status,
        },
    }
    return _held(content)


def _held(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _held(value) if isinstance(value, dict) else value
        for name, value in content.items()
        if value is not None
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "n": spread.n,
        "min": spread.minimum,
        "whisker_low": float(spread.whisker_low),
        "q1": float(spread.q1),
        "median": float(spread.median),
        "q3": float(spread.q3),
        "whisker_high": float(spread.whisker_high),
        "max": spread.maximum,
        "mean": float(spread.mean),
    }


def _outcome(outcome: TargetOutcome) -> dict[str, Any]:
    """Counted rows there are: a target without any is no outcome."""
    mean = outcome.mean_observed
    content: dict[str, Any] = {
        "compliance": outcome.rate.value,
        "n": outcome.rate.n,
        "n_compliant": outcome.rate.n_compliant,
    }
    if mean is not None:
        content["mean_observed"] = float(mean)
        content["mean_error"] = float(mean - outcome.target)
        content["n_observed"] = outcome.n_observed
    return content

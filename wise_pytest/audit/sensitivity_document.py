"""Verifier sensitivity as JSON values, with a plain sentence that answers its question.

``document`` calls ``sensitivity_document`` for each panel that was read in other ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wise_pytest.audit.sensitivity import STRICT
from wise_pytest.verifiers.alternatives import reading_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.audit.result import FormResult, PanelAudit, Pooled
    from wise_pytest.audit.sensitivity import FormReading, PanelSensitivity, Reading
    from wise_pytest.stats.rates import Interval

GapFate: TypeAlias = Literal["survives", "other_worst_form", "unclear", "appears", "none", "untested"]
"""What becomes of a wording gap that is above 0: it stays with the same weakest form, or with another, or
its bounds now reach 0; there was none and now there is, or there is none either way. Where a counter reads
no output otherwise, nothing was tested."""
_POINTS = 100


def gap_fate(strict: Pooled, other: Pooled, n_changed: int) -> GapFate | None:
    """What becomes of a gap whose lower bound is above 0; ``None`` without bounds.

    ``n_changed`` is the number of outputs that the other counter reads otherwise.

    The bounds hold for all forms at once: a percentile interval of a gap never
    reaches 0, and could not tell whether there is a gap at all.
    """
    before, after = _gap_bounds(strict), _gap_bounds(other)
    if before is None or after is None or strict.summary is None or other.summary is None:
        return None
    if not n_changed:
        return "untested"
    if before.low <= 0:
        return "none" if after.low <= 0 else "appears"
    if after.low <= 0:
        return "unclear"
    return "survives" if strict.summary.worst_form == other.summary.worst_form else "other_worst_form"


def answer(strict: Pooled, others: Mapping[str, Pooled | None], n_changed: Mapping[str, int]) -> str:
    """Whether the wording effect survives the choice of counter, in plain sentences.

    Parameters
    ----------
    others
        By reading; ``None`` for one that cannot be had.
    n_changed
        By reading, the outputs that it reads otherwise; none for a reading that is missing.
    """
    summary, bounds = strict.summary, _gap_bounds(strict)
    if summary is None or summary.gap is None or bounds is None:
        return "Whether the wording effect survives another counter cannot be said: the gap has no bounds."
    by_fate: dict[GapFate, list[str]] = {}
    for name, other in others.items():
        fate = None if other is None else gap_fate(strict, other, n_changed.get(name, 0))
        if fate is not None:
            by_fate.setdefault(fate, []).append(name)
    low, high = (bound * _POINTS for bound in (bounds.low, bounds.high))
    gap = f"{float(summary.gap) * _POINTS:.1f} points ({low:.1f} to {high:.1f})"
    idle = by_fate.pop("untested", [])
    nothing_tested = (
        f"No output reads otherwise under any other counter ({len(idle)} of {len(idle)}), so that nothing "
        "was tested: whether the wording effect survives another counter cannot be said."
    )
    if idle and not by_fate:
        said = f"The gap is {gap} strictly. {nothing_tested}"
    elif not by_fate:
        said = f"The gap is {gap} strictly; under no other counter can it be judged."
    elif bounds.low <= 0:
        said = _of_no_effect(gap, by_fate.get("appears", []))
    else:
        said = _of_an_effect(gap, summary.worst_form, by_fate, others, some_idle=bool(idle))
    if idle and by_fate:
        said = f"{said} No output reads otherwise under {_listed(idle)}, which tests nothing."
    missing = [name for name, other in others.items() if other is None]
    return f"{said} Not available: {_listed(missing)}." if missing else said


def _of_no_effect(gap: str, appears: Sequence[str]) -> str:
    first = f"Strictly no wording effect is clear: the gap of {gap} may be none."
    return (
        f"{first} One is clear under {_listed(appears)}."
        if appears
        else f"{first} No other counter shows one."
    )


def _of_an_effect(
    gap: str,
    worst: str,
    by_fate: Mapping[GapFate, Sequence[str]],
    others: Mapping[str, Pooled | None],
    *,
    some_idle: bool,
) -> str:
    n_read = sum(map(len, by_fate.values()))
    moved = by_fate.get("other_worst_form", ())
    n_kept = len(by_fate.get("survives", ())) + len(moved)
    if n_kept == n_read and not moved:
        every = f"every other counter ({n_read} of {n_read})"
        if some_idle:
            every = f"{n_kept} of {_others(n_read, some_idle=True)}"
        return (
            f"The wording effect survives {every}: the gap, {gap} "
            f"strictly, stays above 0, and {worst} stays the worst form."
        )
    kept = f"The wording effect survives {n_kept} of {_others(n_read, some_idle=some_idle)}"
    sentences = [f"{kept}; strictly the gap is {gap}, and {worst} the worst form."]
    if unclear := by_fate.get("unclear"):
        sentences.append(f"It may be none under {_listed(unclear)}.")
    for name in moved:
        other = others[name]
        if other is not None and other.summary is not None:
            sentences.append(f"Under {reading_name(name)} {other.summary.worst_form} is the worst form.")
    return " ".join(sentences)


def _others(n: int, *, some_idle: bool) -> str:
    said = f"{n} other {'counter' if n == 1 else 'counters'}"
    return f"{said} that {'reads' if n == 1 else 'read'} any output otherwise" if some_idle else said


def _listed(names: Sequence[str]) -> str:
    said = [reading_name(name) for name in names]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _gap_bounds(pooled: Pooled) -> Interval | None:
    return None if pooled.bounds is None else pooled.bounds.gap


def sensitivity_document(sensitivity: PanelSensitivity) -> dict[str, Any]:
    """A panel's readings as JSON values, a reason beside every null."""
    audits = {name: reading.audit for name, reading in sensitivity.readings.items()}
    strict = audits.pop(STRICT)
    readings = {key: _reading_document(reading, strict) for key, reading in sensitivity.readings.items()}
    content: dict[str, Any] = {
        "models": list(sensitivity.models),
        "n": sensitivity.n,
        "n_without_text": sensitivity.n_without_text,
    }
    if strict is not None:
        others = {name: None if audit is None else audit.primary for name, audit in audits.items()}
        read = sensitivity.readings
        n_changed = {name: reading.n_changed_text for name, reading in read.items()}
        content["answer"] = answer(strict.primary, others, n_changed)
        content["answer_by_model"] = {
            model: answer(
                of_model.results,
                {
                    name: None if audit is None else audit.by_model[model].results
                    for name, audit in audits.items()
                },
                {name: reading.n_changed_by_model.get(model, 0) for name, reading in read.items()},
            )
            for model, of_model in strict.by_model.items()
        }
    return {**content, "readings": readings}


def _reading_document(reading: Reading, strict: PanelAudit | None) -> dict[str, Any]:
    audit = reading.audit
    if audit is None or strict is None:
        return {"description": reading.description, "forms": None, "reason": reading.reason}
    return {
        "description": reading.description,
        "n_changed_text": reading.n_changed_text,
        "n_gained": reading.n_gained,
        "n_lost": reading.n_lost,
        **_summary_document(
            audit.primary, None if audit is strict else strict.primary, reading.n_changed_text
        ),
        "forms": {
            form: {
                **_form_document(audit.primary.forms[form]),
                **_effect_of(found, reading),
            }
            for form, found in reading.forms.items()
        },
        "by_model": {
            model: {
                **_summary_document(
                    found.results,
                    None if audit is strict else strict.by_model[model].results,
                    reading.n_changed_by_model.get(model, 0),
                ),
                "forms": {form: _form_document(result) for form, result in found.results.forms.items()},
            }
            for model, found in audit.by_model.items()
        },
    }


def _effect_of(found: FormReading, reading: Reading) -> dict[str, str]:
    """What becomes of a form's effect, where that can be said."""
    if found.fate is None:
        return {}
    return {"effect": found.fate if reading.n_changed_text else "untested"}


def _summary_document(pooled: Pooled, strict: Pooled | None, n_changed: int) -> dict[str, Any]:
    """Worst form and gap; under another counter than the strict one also what becomes of the gap."""
    summary = pooled.summary
    if summary is None:
        return {"summary": None, "reason": "every model is excluded"}
    gap = None if summary.gap is None else float(summary.gap)
    content: dict[str, Any] = {
        "pos": None if summary.reference is None else float(summary.reference),
        "mean": float(summary.mean),
        "worst": float(summary.worst),
        "worst_form": summary.worst_form,
        "gap": gap,
    }
    if pooled.intervals is not None:
        ci, bounds = pooled.intervals.gap, _gap_bounds(pooled)
        content["gap_ci"] = None if ci is None else [ci.low, ci.high]
        content["gap_bounds"] = None if bounds is None else [bounds.low, bounds.high]
    reasons = []
    if summary.reference is None:
        reasons.append("pos: no scored row of the reference form")
    if gap is None:
        reasons.append("gap: fewer than two forms have scored rows")
    elif pooled.intervals is not None and pooled.intervals.reason is not None:
        reasons.append(f"intervals: {pooled.intervals.reason}")
    if reasons:
        content["reason"] = "; ".join(reasons)
    fate = None if strict is None else gap_fate(strict, pooled, n_changed)
    return {"summary": content, **({} if fate is None else {"effect": fate})}


def _form_document(found: FormResult) -> dict[str, Any]:
    content: dict[str, Any] = {
        "compliance": found.rate.value,
        "n": found.rate.n,
        "n_compliant": found.rate.n_compliant,
    }
    if not found.rate.n:
        content["reason"] = "no scored rows"
    elif found.diff is not None:
        content["diff"] = float(found.diff)
        contrast = found.contrast
        if contrast is not None:
            content["ci_low"] = None if contrast.interval is None else contrast.interval.low
            content["ci_high"] = None if contrast.interval is None else contrast.interval.high
            if contrast.degenerate:
                content["ci_degenerate"] = True
            if contrast.interval_reason is not None:
                content["reason"] = contrast.interval_reason
    return content

"""What the charts read from the document, and how they say numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import NO_WIDTH, Interval, number, show
from wise_pytest.report.objects import listed, mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMPLIANT = ("exact", "once", "within", "ok")
"""Directions of outputs that comply, of the verifiers that come with the package."""


def reference_of(panel: Mapping[str, Any]) -> str:
    """The form that the others are compared with."""
    found = panel.get("reference")
    return found if isinstance(found, str) else "POS"


def rates(holder: Mapping[str, Any]) -> dict[str, float]:
    """Compliance by form, of a panel or of a model; forms without scored rows are missing."""
    found = {form: number(mapping(result).get("compliance")) for form, result in forms_of(holder).items()}
    return {form: float(rate) for form, rate in found.items() if rate is not None}


def forms_of(holder: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The results by form, in the document's order."""
    return {str(form): mapping(result) for form, result in mapping(holder, "forms").items()}


def models_of(panel: Mapping[str, Any], *, every: bool = False) -> dict[str, Mapping[str, Any]]:
    """The primary models with their results, or every model, in the document's order."""
    primary = [str(model) for model in listed(panel, "models")]
    by_model = {str(model): mapping(result) for model, result in mapping(panel, "by_model").items()}
    if every:
        return by_model
    return {model: by_model[model] for model in primary if model in by_model}


def interval(holder: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """The two bounds at ``name``, if both are there."""
    pair = holder.get(name)
    bounds = [number(bound) for bound in pair] if isinstance(pair, list | tuple) else []
    match bounds:
        case [int() | float() as low, int() | float() as high]:
            return float(low), float(high)
        case _:
            return None


def bounds(holder: Mapping[str, Any], low: str, high: str) -> tuple[float, float] | None:
    """An interval that lies in two fields."""
    return interval({"pair": [holder.get(low), holder.get(high)]}, "pair")


def rate_interval(result: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval of a form's rate; where all or none comply, the one that heeds the boundary."""
    if result.get("degenerate"):
        return bounds(result, "wilson_low", "wilson_high")
    return interval(result, "compliance_ci")


def best_first(panel: Mapping[str, Any], models: Iterable[str]) -> list[str]:
    """Models by falling rate under the reference form; without one, last."""
    reference = reference_of(panel)
    by_model = mapping(panel, "by_model")
    known = {model: rates(mapping(by_model, model)).get(reference, -1.0) for model in models}
    return sorted(known, key=lambda model: (-known[model], model))


def percent(rate: float) -> str:
    """Such as ``49.5 %``."""
    return f"{show(rate, 'rate')} %"


def points(rate: float) -> str:
    """The size of a difference, such as ``20.5 points``."""
    return f"{show(abs(rate), 'rate')} points"


def plain_points(rate: float) -> str:
    """A tick of an axis in percentage points, without decimals where there are none."""
    shown = f"{rate * 100:.1f}".removesuffix(".0").replace("-", "−")
    return "0" if shown in {"−0", "0"} else shown


def upper_end(highest: float) -> float:
    """A round end for a scale of rates: all of it, or less where every rate is low."""
    return next((end for end in (0.05, 0.1, 0.2, 0.5) if highest <= end), 1.0)


def counted(n: int, noun: str) -> str:
    """Such as ``1 model`` and ``2 models``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def holds_after_holm(result: Mapping[str, Any], confidence: float | None) -> bool:
    """Whether a difference or an effect is told from 0 after Holm's correction."""
    p = number(result.get("p_holm"))
    # Not p < 1 - confidence, which is a little more than 0.05 for 0.95.
    return p is not None and confidence is not None and p + confidence < 1


def with_holm(seen: str, results: Iterable[Mapping[str, Any]], confidence: float | None, noun: str) -> str:
    """What is seen, and of how many differences or effects it can be told after Holm's correction.

    Those that could not be tested count: they are in the picture as well.
    """
    results = list(results)
    n_tested = sum(number(result.get("p_holm")) is not None for result in results)
    if not n_tested or confidence is None:
        return seen
    n_untested = len(results) - n_tested
    untested = f"; {n_untested} could not be tested" if n_untested else ""
    n_clear = sum(holds_after_holm(result, confidence) for result in results)
    if n_clear == 0:
        return f"{seen}, but no {noun} holds after Holm's correction{untested}"
    holds = "holds" if n_clear == 1 else "hold"
    return f"{seen}; {n_clear} of {counted(len(results), noun)} {holds} after Holm's correction{untested}"


def no_certainty(results: Iterable[Mapping[str, Any]]) -> str:
    """What an interval without width is not, where there is one."""
    pairs = (bounds(result, "ci_low", "ci_high") for result in results)
    if any(pair is not None and pair[0] == pair[1] for pair in pairs):
        return " An interval has no width where nothing varied between items: that is no certainty."
    return ""


def point_fill(result: Mapping[str, Any], low: str, high: str, confidence: float | None) -> str:
    """A point's colour: strong after Holm's correction, pale where its interval alone is off 0."""
    if holds_after_holm(result, confidence):
        return "accent"
    pair = bounds(result, low, high)
    off_zero = pair is not None and pair[0] != pair[1] and (pair[0] > 0 or pair[1] < 0)
    return "heat-4" if off_zero else "paper"


def interval_beside(low: float, high: float) -> str:
    """The interval of a difference that stands beside it; its bounds say no more, where it has no width."""
    return NO_WIDTH if low == high else show(Interval(low, high), "difference_interval")

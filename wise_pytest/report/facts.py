"""What both the terminal and the markdown say in sentences: the verdict, and what went wrong.

Everything is read from the document; the texts are plain and not yet escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from wise_pytest.report.columns import Measured, number, show, show_pair, words
from wise_pytest.report.objects import Document, listed, mapping, panels_of
from wise_pytest.report.tables import METRICS, Metric, judged_by
from wise_pytest.report.ties import named

_FEW = 3
"""So many panels or models are named in a line of the terminal."""
GateStatus: TypeAlias = Literal["pass", "fail", "not_evaluated"]


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The gate's decision in words."""

    status: GateStatus
    sentence: str
    """Such as ``FAIL: 2 of 5 checks``."""


@dataclass(frozen=True, slots=True)
class Technical:
    """Cells without a usable reply."""

    n_errors: int
    n_blocked: int
    reasons: tuple[str, ...]
    """In the order of the document, each once, such as ``2 × HTTP 429 after 5 tries``."""


def gate_verdict(document: Document) -> GateVerdict:
    """The verdict that the document states; one that states none was not evaluated."""
    gate = mapping(document, "gate")
    checks = listed(gate, "checks")
    status = gate.get("status")
    if status == "pass":
        return GateVerdict("pass", f"PASS{_what_passed(checks)}")
    if status == "fail":
        n_failed = len(_with_status(checks, "fail"))
        if n_failed:
            noun = "check" if len(checks) == 1 else "checks"
            return GateVerdict("fail", f"FAIL: {n_failed} of {len(checks)} {noun}")
        return GateVerdict("fail", _with_reason("FAIL", gate.get("reason")))
    if status == "not_evaluated":
        return GateVerdict("not_evaluated", f"NOT EVALUATED: {_why_not_evaluated(gate, checks)}")
    return GateVerdict("not_evaluated", "NOT EVALUATED: the audit states no verdict")


def failed_checks(document: Document) -> list[str]:
    """One sentence for each check that failed, in the document's order."""
    checks = listed(mapping(document, "gate"), "checks")
    return [check_sentence(check) for check in _with_status(checks, "fail")]


def unevaluated_checks(document: Document) -> list[str]:
    """One sentence for each check that could not be made, in the document's order."""
    checks = listed(mapping(document, "gate"), "checks")
    return [check_sentence(check) for check in _with_status(checks, "not_evaluated")]


def inconclusive_checks(document: Document) -> list[str]:
    """One sentence for each check whose interval lies on both sides of its limit, in the document's order."""
    checks = listed(mapping(document, "gate"), "checks")
    return [f"inconclusive: {check_sentence(check)}" for check in _with_status(checks, "inconclusive")]


def deferred_limits(document: Document) -> str | None:
    """What was left to somebody else, as by a shard, if anything was."""
    said = mapping(document, "gate").get("deferred")
    return None if said is None else words(said)


def gate_notes(document: Document) -> list[str]:
    """What of the rules may not be what their author means."""
    return [words(note) for note in listed(mapping(document, "gate"), "notes")]


def wider_bounds(document: Document) -> str | None:
    """That some checks were not judged by the intervals which tables show, where that is so."""
    gate = mapping(document, "gate")
    judged = {
        words(check.get("metric")) for check in map(mapping, listed(gate, "checks")) if check.get("interval")
    }
    if judged.isdisjoint({"gap", "worst"}):
        return None
    return (
        "In the mode confident gap and worst form are judged by wider bounds than the intervals shown in the "
        "tables of results, since those lean: a gap's upwards, a worst form's downwards."
    )


def check_sentence(check: Mapping[str, Any]) -> str:
    """Such as ``gap 23.4 > 20.0 for model M in exact_count``; the reason only where numbers are missing."""
    name = words(check.get("metric"))
    metric = METRICS.get(name, Metric(name, "compact"))
    sentence = f"{metric.label} {_comparison(check, metric)}"
    if check.get("model") is not None:
        sentence += f" for model {words(check['model'])}"
    if check.get("panel") is not None:
        sentence += f" in {words(check['panel'])}"
    if check.get("form") is not None:
        sentence += f", form {words(check['form'])}"
    rule = check.get("rule")
    if rule not in {None, "everywhere"}:
        sentence += f" (rule of {words(rule)})"
    measured = number(check.get("value")) is not None and number(check.get("limit")) is not None
    measured &= check.get("status") != "not_evaluated"  # as without an interval, where numbers decide nothing
    return sentence if measured else _with_reason(sentence, check.get("reason"))


def partial_reason(document: Document) -> str | None:
    """What of the run is missing, such as ``3 of 8 cells``, or ``None`` for a complete one."""
    said = mapping(document, "run").get("partial")
    if said is None or said is False:
        return None
    return "the run is incomplete" if said is True else words(said).removeprefix("partial: ")


def not_recorded(document: Document, *, brief: bool = False) -> list[str]:
    """Panels without recordings, such as ``keyword_once, length_range (MODEL)``.

    Models that lack the same panels share one entry.

    Parameters
    ----------
    brief
        Whether to name the first of many, and count the others.
    """
    lacking: dict[str, list[str]] = {}
    for entry in listed(mapping(document, "run"), "not_recorded"):
        pair = mapping(entry)
        if pair:
            panels = lacking.setdefault(words(pair.get("model")), [])
            panels.append(words(pair.get("panel")))
    models_of: dict[tuple[str, ...], list[str]] = {}
    for model, panels in lacking.items():
        models_of.setdefault(tuple(dict.fromkeys(panels)), []).append(model)
    joined = _first_of if brief else ", ".join
    return [f"{joined(panels)} ({joined(models)})" for panels, models in models_of.items()]


def _first_of(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _FEW else named(names)


def technical(document: Document) -> Technical:
    """How many cells have no usable reply, summed over panels and models, and the reasons given."""
    counts = {"error": 0, "blocked": 0}
    for panel in panels_of(document).values():
        for model in mapping(panel, "by_model").values():
            for status in counts:
                n = number(mapping(model, "statuses").get(status))
                counts[status] += int(n) if n is not None else 0
    reasons = [_error_reason(entry) for entry in listed(mapping(document, "run"), "errors")]
    return Technical(counts["error"], counts["blocked"], tuple(dict.fromkeys(reasons)))


def technical_counts(trouble: Technical) -> str:
    """Such as ``1 technical error, 2 blocked outputs``; what did not happen is left out."""
    counts = ((trouble.n_errors, "technical error"), (trouble.n_blocked, "blocked output"))
    return ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts if n)


def served_by_others(document: Document) -> list[str]:
    """Models that a provider answered with another model, such as ``M was served by X``."""
    served_models = mapping(document, "run", "served_model_differs")
    return [f"{words(asked)} was served by {words(served)}" for asked, served in served_models.items()]


def excluded_models(panel: Mapping[str, Any]) -> list[str]:
    """Models outside the primary set of a panel, such as ``M (floor regime)``."""
    return [f"{model} ({words(reason)})" for model, reason in mapping(panel, "excluded").items()]


def examples_rule(panel: Mapping[str, Any]) -> str:
    """How many matched failures there are, how many are shown, and how these were chosen."""
    examples = mapping(panel, "examples")
    n_shown = len(listed(examples, "pairs"))
    return f"{n_shown} of {words(examples.get('n_pairs'))}: {words(examples.get('rule'))}."


def openings_found(panel: Mapping[str, Any]) -> str:
    """Which of the listed openings outputs begin with, over all forms."""
    found: dict[str, int] = {}
    for form in mapping(panel, "forms").values():
        for opening, n in mapping(form, "surface", "openings").items():
            found[str(opening)] = found.get(str(opening), 0) + int(number(n) or 0)
    if not found:
        return "No output begins with a listed opening."
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return "Openings: " + ", ".join(f"{n} × {opening}" for opening, n in ordered) + "."


def resampling(panel: Mapping[str, Any]) -> list[str]:
    """How a panel's intervals and p values were made, and what is known against them; one sentence each."""
    bootstrap = mapping(panel, "bootstrap")
    if not bootstrap:
        return []
    units = ", ".join(
        f"{words(n)} {level.removesuffix('s') if n == 1 else level}"
        for level, n in mapping(bootstrap, "n_units").items()
    )
    how = f"{words(bootstrap.get('scheme'))}{f' ({units})' if units else ''}"
    drawn = f"{words(bootstrap.get('replicates'))} replicates, seed {words(bootstrap.get('seed'))}"
    sentences = [_with_reason(f"Bootstrap by {how}, {drawn}", bootstrap.get("reason"))]
    size = number(bootstrap.get("family_size"))
    if size:
        sentences.append(f"Holm's correction is over {size} contrast{'' if size == 1 else 's'}")
    untestable = listed(bootstrap, "untestable")
    if untestable:
        sentences.append(f"Untestable, and so not in the correction: {words(untestable)}")
    return sentences + [_capitalized(words(caution)) for caution in listed(bootstrap, "cautions")]


def _capitalized(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _with_status(checks: Iterable[Any], status: str) -> list[Mapping[str, Any]]:
    return [mapping(check) for check in checks if mapping(check).get("status") == status]


def _error_reason(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return words(entry)
    n = number(entry.get("n"))
    return words(entry.get("reason")) if n is None else f"{n} × {words(entry.get('reason'))}"


def _what_passed(checks: list[Any]) -> str:
    """How many checks of what: a pass says no more than was asked, nor more than could be told."""
    n_unclear = len(_with_status(checks, "inconclusive"))
    held = [check for check in checks if mapping(check).get("status") != "inconclusive"]
    metrics = dict.fromkeys(words(mapping(check).get("metric")) for check in held)
    labels = [METRICS[name].label if name in METRICS else name for name in metrics]
    noun = "check" if len(held) == 1 else "checks"
    unclear = f", {n_unclear} inconclusive" if n_unclear else ""
    return f": {len(held)} {noun} ({', '.join(labels)}){unclear}" if held else unclear.replace(",", ":", 1)


def _why_not_evaluated(gate: Mapping[str, Any], checks: list[Any]) -> str:
    if gate.get("reason"):
        return words(gate["reason"])
    reasons = [words(check["reason"]) for check in map(mapping, checks) if check.get("reason")]
    distinct = list(dict.fromkeys(reasons))
    if not distinct:
        return "no reason is given" if checks else "no check was made"
    more = f" (and {len(distinct) - 1} more)" if len(distinct) > 1 else ""
    return distinct[0] + more


def _comparison(check: Mapping[str, Any], metric: Metric) -> str:
    value, limit = number(check.get("value")), number(check.get("limit"))
    if value is not None and limit is not None:
        shown, bound = show_pair(value, limit, metric.kind)
        # The sign says how the two numbers stand, whatever the check made of it.
        sign = ">" if value > limit else "<" if value < limit else "="
        judged = judged_by(check, metric)
        return f"{shown}{f' {judged}' if judged else ''} {sign} {bound}"
    shown = "not available" if value is None else show(Measured(value, metric.kind), metric.kind)
    return shown if limit is None else f"{shown} (limit {show(Measured(limit, metric.kind), metric.kind)})"


def _with_reason(sentence: str, reason: Any) -> str:
    return f"{sentence}: {words(reason)}" if reason else sentence

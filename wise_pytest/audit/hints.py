"""What of the gate's rules may not be what their author means, in sentences.

Called by ``gate``; nothing here changes a verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wise_pytest.audit.rules import OF_RANKINGS, POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from wise_pytest.audit.result import Audit
    from wise_pytest.audit.rules import GateRules, Rule

_RATES = ("min_worst", "min_mean", "min_coverage")
"""Limits that ``audit.json`` shows as rates of 0..1, and that options take in percentage points."""


def small_limits(rules: GateRules) -> Iterator[str]:
    """Limits of less than one point, which may have been meant as rates."""
    for name in _RATES:
        value: Fraction | None = getattr(rules.everywhere, name)
        yield from _small(rules.given.get(name, f"{name} = {_number(value)}"), value)
        for rule in rules.scoped:
            found = rule.limits.get(name)
            yield from _small(f"{name} = {_number(found)} of {rule.label}", found)


def _small(written: str, value: Fraction | None) -> Iterator[str]:
    if value is not None and 0 < value < 1:
        yield f"{written} is {_number(value)} percentage points, not {_number(value * POINTS)}"


def overruled_limits(audit: Audit, rules: GateRules) -> Iterator[str]:
    """Options that decide nothing, since a rule of a panel or a model goes before them everywhere."""
    for name, written in rules.given.items():
        found = list(_first_rules(audit, rules, name))
        before = list({rule.label: rule for rule in found if rule is not None}.values())
        if not before or None in found:
            continue
        told = ", ".join(f"{rule.label} ({_number(rule.limits[name])})" for rule in before)
        yield (
            f"{written} decided nothing: "
            + (f"rule of {told} goes" if len(before) == 1 else f"rules of {told} go")
            + " before it"
        )


def _first_rules(audit: Audit, rules: GateRules, name: str) -> Iterator[Rule | None]:
    """Of each thing that is judged, the rule that goes before the limit for everywhere, or ``None``."""
    for panel in audit.panels.values():
        if name in OF_RANKINGS:
            yield rules.scoped_rule(name, panel=panel.panel, model=None)
            continue
        for model in panel.by_model.values():
            if not model.excluded_by_name:
                yield rules.scoped_rule(name, panel=panel.panel, model=model.model)


def rules_without_rows(audit: Audit, rules: GateRules) -> Iterator[str]:
    """Rules of panels and models that are not in the audit, in one sentence."""
    pairs = [(panel, model) for panel, found in audit.panels.items() for model in found.by_model]
    absent = [
        rule.label
        for rule in rules.scoped
        if any(limit is not None for limit in rule.limits.values())
        and not any(rule.panel in {None, panel} and rule.model in {None, model} for panel, model in pairs)
    ]
    if absent:
        one = len(absent) == 1
        yield f"rule{'' if one else 's'} of {'; '.join(absent)}: no rows of {'it' if one else 'them'}"


def _number(value: Fraction | None) -> str:
    return "no limit" if value is None else f"{float(value):g}"

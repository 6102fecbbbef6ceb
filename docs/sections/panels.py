"""What each bundled panel asks for, in its wordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.panels.model import field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wise_pytest.panels.model import Panel

COMPLIES: Mapping[str, str] = {
    "exact_count": "has exactly the target number of words",
    "avoidance_family": "has exactly the target number of words",
    "constructional_controls": "has exactly the target number of words",
    "keyword_once": "has the keyword exactly once, as a whole word in any case",
    "length_range": "has 8 to 12 words",
    "json_structure": "is one JSON object with exactly the named keys",
    "ordering": "consists of three parts that begin with the named labels, in the given order",
    "capitalization": "has no capital letter",
    "citation_format": "has exactly one citation of the given form, such as `[Surname, Year]`",
    "tool_call_schema": "is one JSON call of the given function, its arguments valid by its JSON Schema",
    "multi_constraint": "has exactly the target number of words, and the keyword exactly once",
    "factorial_count": "has exactly the target number of words",
    "exact_count_de": "the same as `exact_count`, in German",
    "exact_count_es": "the same as `exact_count`, in Spanish",
}
"""By panel: what it takes to comply."""


def overview() -> str:
    """All panels in one table."""
    if sorted(COMPLIES) != sorted(bundled_panels()):
        raise SystemExit("docs/sections/panels.py: COMPLIES does not name the panels that there are")
    rows = [
        (
            f"[`{name}`](#{name})",
            _forms(panel),
            COMPLIES[name],
            ", ".join(panel.scorer().directions),
            code(panel.verifier),
        )
        for name, panel in bundled_panels().items()
    ]
    return table(("Panel", "Forms", "Complies if the complete output", "Directions", "Verifier"), rows)


def every_panel() -> str:
    """Each panel with its wordings."""
    return "\n\n".join(_panel(name, panel) for name, panel in bundled_panels().items())


def _forms(panel: Panel) -> str:
    if panel.factors:
        crossed = (", ".join(level.upper() for level in factor.levels) for factor in panel.factors)
        return f"every combination of {' × '.join(crossed)}"
    return ", ".join(form.form_id for form in panel.forms)


def _panel(name: str, panel: Panel) -> str:
    item = panel.items[0]
    scorer = panel.scorer()
    demand, n_forms = scorer.requirement(panel.target(item)), len(panel.forms)
    n_items, each = len(panel.items), panel.repetitions
    columns = () if panel.target_from is None else panel.target_from
    columns = (columns,) if isinstance(columns, str) else columns
    fields = ", ".join(f"`{{{field_of(column)}}}` ({code(column)})" for column in columns)
    facts = [
        f"Complies: the answer {demand} (item `{item.item_id}`: *{item.task}*)",
        f"Target: {fields or 'one for all items'}",
        f"Verifier: [`{panel.verifier}`](#verifier-{scorer.verifier_id})",
        f"Language: {panel.language}",
        f"Bootstrap: `{panel.bootstrap}`",
        f"Plan: {n_items * n_forms * each:,} cells ({n_items} items, {n_forms} forms, {each} repetitions)",
        f"Decoding: at most {panel.decoding.max_tokens} tokens, temperature {panel.decoding.temperature}",
    ]
    wordings = table(("Form", "Wording"), [(code(form.form_id), code(form.template)) for form in panel.forms])
    return (
        f"### {name}\n\n{panel.title}. {panel.question}\n\n"
        + "\n".join(f"- {fact}" for fact in facts)
        + f"\n\n{wordings}"
    )


PARTS: Mapping[str, Callable[[], str]] = {"panels": overview, "wordings": every_panel}

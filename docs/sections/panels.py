"""What each bundled panel asks for, in its wordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.panels.model import field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wise_pytest.panels.model import Panel


def overview() -> str:
    """All panels in one table."""
    rows = [
        (
            f"[`{name}`](#{name})",
            _forms(panel),
            ", ".join(panel.scorer().directions),
            code(panel.verifier),
        )
        for name, panel in bundled_panels().items()
    ]
    return table(("Panel", "Forms", "Directions", "Verifier"), rows)


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

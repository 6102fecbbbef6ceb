"""The panels side by side, over the models that all of them share. Called by ``audit.build_audit``.

Figure 2 and Tables 13 and 14 of the paper: constraints can only be compared
over one set of models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wise_pytest.audit.panel import pooled_over
from wise_pytest.audit.result import Cross, CrossPanel
from wise_pytest.audit.uncertainty import pooled_with_uncertainty

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wise_pytest.audit.panel import PanelInput
    from wise_pytest.audit.result import PanelAudit
    from wise_pytest.audit.uncertainty import Resampling
    from wise_pytest.stats.bootstrap import ItemCounts

ROLES = ("POS", "NEG", "AVOID")
"""Wordings that the panels of the paper have in common."""
MIN_PANELS = 2


def cross_constraint(
    panels: Mapping[str, PanelAudit],
    sources: Mapping[str, PanelInput],
    counts: Mapping[str, ItemCounts],
    *,
    providers: Mapping[str, str],
    resampling: Resampling,
) -> Cross:
    """Pool every panel over the models that are primary in all of them.

    Parameters
    ----------
    panels
        The audit of each panel, in the order to be shown.
    sources
        What each rests on.
    counts
        Scored rows of each by model, item and form.
    providers
        The provider of each model.
    resampling
        As for the panels themselves, whose own schemes apply.
    """
    if len(panels) < MIN_PANELS:
        return Cross((), {}, {}, reason="fewer than two panels have rows")
    every = sorted({model for panel in panels.values() for model in panel.by_model})
    why = {model: _why_not(model, panels) for model in every}
    shared = tuple(model for model, reason in why.items() if reason is None)
    left_out = {model: reason for model, reason in why.items() if reason is not None}
    if not shared:
        return Cross((), left_out, {}, reason="no model is primary in every panel")
    return Cross(
        models=shared,
        left_out=left_out,
        panels={
            name: _panel(
                panel,
                sources[name],
                counts.get(name),
                models=shared,
                providers=providers,
                resampling=resampling,
            )
            for name, panel in panels.items()
        },
    )


def _why_not(model: str, panels: Mapping[str, PanelAudit]) -> str | None:
    for name, panel in panels.items():
        if model in panel.excluded:
            return f"{panel.excluded[model]} in {name}"
        if model not in panel.by_model or not panel.by_model[model].coverage.n_scored:
            return f"no scored rows in {name}"
    return None


def _panel(
    panel: PanelAudit,
    source: PanelInput,
    counts: ItemCounts | None,
    *,
    models: tuple[str, ...],
    providers: Mapping[str, str],
    resampling: Resampling,
) -> CrossPanel:
    pooled, scheme = pooled_with_uncertainty(
        pooled_over(source, models),
        counts,
        declared=source.declared,
        reference=panel.reference,
        models=models,
        providers=providers,
        resampling=resampling,
    )
    return CrossPanel(
        pooled=pooled, reference=panel.reference, scheme=scheme, roles=dict(_roles(pooled.forms))
    )


def _roles(forms: Iterable[str]) -> Iterable[tuple[str, str]]:
    """The form of each role: the one of that name, or the first of several that are numbered."""
    known = set(forms)
    for role in ROLES:
        for form in (role, f"{role}1"):
            if form in known:
                yield role, form
                break

"""The audit: from rows to every figure that is reported.

``finish`` and ``wise audit`` call ``build_audit``. It walks the rows once, to
make tallies; ``panel`` then adds up a few dozen of them for each panel, and
``uncertainty`` resamples its items, models and providers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.audit.panel import PanelInput, audit_panel
from wise_pytest.audit.result import Audit
from wise_pytest.audit.rows import located, merge_rows, rows_sha256
from wise_pytest.audit.tallies import tally_rows
from wise_pytest.audit.uncertainty import DEFAULT_REPLICATES, DEFAULT_SEED, Resampling, with_uncertainty
from wise_pytest.errors import RowsError
from wise_pytest.panels.loader import bundled_panels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Row


def build_audit(
    rows: Iterable[Row],
    *,
    exclude: Collection[str] = (),
    planned: Mapping[tuple[str, str], int] | None = None,
    provenance: Mapping[str, Any] | None = None,
    panels: Mapping[str, Panel] | None = None,
    seed: int = DEFAULT_SEED,
    replicates: int = DEFAULT_REPLICATES,
) -> Audit:
    """Audit the rows. The same rows give the same audit, in whatever order they come.

    Parameters
    ----------
    rows
        Of any number of panels and models.
    exclude
        Names of models that the user leaves out of the primary set.
    planned
        How many cells each (panel, model) answers for, those of its rows among
        them: where rows may be of cells that were not planned, this is the size
        of the union of both. For a pair that it lacks, and without it, the plan
        is the full grid seen in the rows: items × forms × repetitions that
        occur in the panel with any model. A model that lacks a form, or has
        fewer repetitions than another, then has a coverage below 1; a cell that
        no model has is not missed.
    provenance
        JSON values about the run, passed through to the document. They must be
        the same for equal rows if those are to give equal bytes.
    panels
        The user's own panels by name, for the order of their forms and for
        their reference form; bundled panels are known. The forms of a panel
        that is neither are ordered by name after the reference form, ``POS``,
        and its items are resampled jointly.
    seed
        Of the bootstrap, from 0.
    replicates
        Of the bootstrap. With 0 there are no intervals and no p values at all.

    Returns
    -------
    Audit
        Its panels in declared order, others by name; models sorted by name;
        forms in their panel's order.

    Raises
    ------
    RowsError
        If two rows with one key differ in more than ``run``, or rows name two
        providers for one model.
    """
    merged = merge_rows(located(rows))
    planned = planned or {}
    declared = {**bundled_panels(), **(panels or {})}
    tallies = tally_rows(merged, items=replicates > 0)
    providers = _providers(tallies.providers)
    cells, targets, grids = tallies.cells, tallies.targets, tallies.grids
    verifiers, items = tallies.verifiers, tallies.items
    resampling = Resampling(seed=seed, replicates=replicates)

    models_of: dict[str, set[str]] = {}
    for panel, model in [*((panel, model) for panel, model, _ in cells), *planned]:
        models_of.setdefault(panel, set()).add(model)
    known = sorted(set().union(*models_of.values()))

    return Audit(
        panels={
            name: with_uncertainty(
                audit_panel(
                    PanelInput(
                        panel=name,
                        declared=declared.get(name),
                        models=tuple(sorted(models)),
                        tallies={
                            (model, form): tally
                            for (panel, model, form), tally in cells.items()
                            if panel == name
                        },
                        targets={
                            model: tuple(found) for (panel, model), found in targets.items() if panel == name
                        },
                        planned={model: planned.get((name, model), grids.get(name, 0)) for model in models},
                        providers=providers,
                        verifiers=tuple(verifier for panel, verifier in verifiers if panel == name),
                        exclude=frozenset(exclude),
                    )
                ),
                items.get(name),
                declared=declared.get(name),
                providers=providers,
                resampling=resampling,
            )
            for name, models in ((name, models_of[name]) for name in _in_order(models_of, declared))
        },
        models=tuple(known),
        exclude=tuple(sorted(set(exclude))),
        n_rows=len(merged),
        rows_sha256=rows_sha256(merged),
        provenance=dict(provenance or {}),
        notes=tuple(
            f"{name} was to be excluded and is not among the models"
            for name in sorted(set(exclude).difference(known))
        ),
    )


def _in_order(names: Iterable[str], declared: Iterable[str]) -> list[str]:
    """``names`` in declared order, those that are not declared after them, sorted."""
    seen = set(names)
    known = [name for name in declared if name in seen]
    return [*known, *sorted(seen.difference(known))]


def _providers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The provider of each model, which has one only."""
    providers: dict[str, str] = {}
    for model, provider in pairs:
        first = providers.setdefault(model, provider)
        if first != provider:
            raise RowsError(
                f"rows of model {model!r} name two providers, {first!r} and {provider!r}; "
                "rename one of the models or mend the rows"
            )
    return providers

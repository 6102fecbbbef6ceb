"""The audit: from rows to every figure that is reported.

``finish`` and ``wise audit`` call ``build_audit``. It counts the rows once, to
make tallies; ``panel`` then adds up a few dozen of them for each panel,
``uncertainty`` resamples its items, models and providers, ``factorial`` estimates
effects of factors where a panel has some, ``sensitivity`` scores its outputs
again where that is asked for, ``examples`` picks pairs of outputs,
and ``cross`` sets the panels side by side.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.cross import cross_constraint
from wise_pytest.audit.examples import find_examples
from wise_pytest.audit.factorial import FactorialAudit, build_factorial
from wise_pytest.audit.merging import merged, rows_sha256
from wise_pytest.audit.panel import PanelInput, audit_panel
from wise_pytest.audit.published import published_of
from wise_pytest.audit.result import Audit
from wise_pytest.audit.sensitivity import PanelSensitivity, build_sensitivity
from wise_pytest.audit.table import RowTable, table_of
from wise_pytest.audit.tallies import tally_table
from wise_pytest.audit.texts import default_openings
from wise_pytest.audit.uncertainty import DEFAULT_REPLICATES, DEFAULT_SEED, Resampling, with_uncertainty
from wise_pytest.errors import RowsError
from wise_pytest.panels.catalog import bundled_panels, check_one_language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from wise_pytest.audit.result import PanelAudit
    from wise_pytest.audit.tallies import TallyKey
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Row
    from wise_pytest.stats.bootstrap import ItemCounts


def build_audit(
    rows: RowTable | Iterable[Row],
    *,
    exclude: Collection[str] = (),
    planned: Mapping[tuple[str, str], int] | None = None,
    provenance: Mapping[str, Any] | None = None,
    panels: Mapping[str, Panel] | None = None,
    seed: int = DEFAULT_SEED,
    replicates: int = DEFAULT_REPLICATES,
    openings: Sequence[str] | None = None,
    sensitivity: bool = False,
) -> Audit:
    """Audit the rows. The same rows give the same audit, in whatever order they come.

    Parameters
    ----------
    rows
        Of any number of panels and models; a table, as ``rows.read_table``
        returns it, or objects.
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
        All panels by name, for the order of their forms and for their reference
        form; without it, the bundled ones. The forms of a panel that is not
        among them are ordered by name after the reference form, ``POS``, and
        its items are resampled jointly.
    seed
        Of the bootstrap, from 0.
    replicates
        Of the bootstrap. With 0 there are no intervals and no p values at all, but
        those of effects of factors, which are not resampled.
    openings
        Beginnings of outputs to count; those of ``openings.txt`` where not given.
    sensitivity
        Whether the outputs are scored again under other counters, beside the
        strict score; it takes an object for every row.

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
    PanelError
        If the rows are of panels in several languages.
    """
    table = merged(rows if isinstance(rows, RowTable) else table_of(rows))
    planned = planned or {}
    declared = bundled_panels() if panels is None else panels
    openings = default_openings() if openings is None else tuple(openings)
    has_factors = any(declared[name].factors for name in table.coded("panel").values if name in declared)
    tallies = tally_table(table, openings=openings, items=replicates > 0 or has_factors)
    providers = _providers(tallies.providers)
    resampling = Resampling(seed=seed, replicates=replicates)

    models_of: dict[str, set[str]] = {}
    for panel, model in [*((panel, model) for panel, model, _ in tallies.cells), *planned]:
        models_of.setdefault(panel, set()).add(model)
    known = sorted(set().union(*models_of.values()))
    check_one_language(declared[name] for name in sorted(models_of) if name in declared)

    sources = {
        name: PanelInput(
            panel=name,
            declared=declared.get(name),
            models=tuple(sorted(models_of[name])),
            tallies=_of_panel(tallies.cells, name),
            targets=_of_panel(tallies.targets, name),
            planned={
                model: planned.get((name, model), tallies.grids.get(name, 0)) for model in models_of[name]
            },
            providers=providers,
            verifiers=tuple(verifier for panel, verifier in tallies.verifiers if panel == name),
            exclude=frozenset(exclude),
        )
        for name in _in_order(models_of, declared)
    }
    audits = {
        name: with_uncertainty(
            audit_panel(source),
            tallies.items.get(name),
            declared=source.declared,
            providers=providers,
            resampling=resampling,
        )
        for name, source in sources.items()
    }
    return Audit(
        panels={
            name: dataclasses.replace(
                audit,
                effects=_effects(tallies.items.get(name), sources[name].declared, audit.models),
                sensitivity=_sensitivity(table, audit, sources[name].declared, resampling)
                if sensitivity
                else None,
                examples=find_examples(
                    table,
                    name,
                    reference=audit.reference,
                    forms=sources[name].forms(),
                    directions=sources[name].directions(),
                    models=audit.models,
                ),
                published=published_of(name, audit.by_model),
            )
            for name, audit in audits.items()
        },
        models=tuple(known),
        exclude=tuple(sorted(set(exclude))),
        n_rows=len(table),
        rows_sha256=rows_sha256(table),
        provenance=dict(provenance or {}),
        openings=openings,
        cross=cross_constraint(audits, sources, tallies.items, providers=providers, resampling=resampling),
        notes=tuple(
            f"{name} was to be excluded and is not among the models"
            for name in sorted(set(exclude).difference(known))
        ),
    )


def _effects(counts: ItemCounts | None, panel: Panel | None, primary: Sequence[str]) -> FactorialAudit | None:
    if counts is None or panel is None or not panel.factors:
        return None
    return build_factorial(counts, panel, primary=primary)


def _sensitivity(
    table: RowTable, audit: PanelAudit, panel: Panel | None, resampling: Resampling
) -> PanelSensitivity | None:
    if panel is None:
        return None
    rows = table.take(table.coded("panel").among([audit.panel])).rows()
    return build_sensitivity(rows, panel, audit, resampling=resampling)


def _of_panel(tallies: Mapping[TallyKey, Any], name: str) -> dict[tuple[str, str], Any]:
    """What belongs to one panel, by model and form."""
    return {(model, form): content for (panel, model, form), content in tallies.items() if panel == name}


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

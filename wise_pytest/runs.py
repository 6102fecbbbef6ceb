"""What the manifests of several runs say together: one plan, one set of rules, one way to audit them.

``again`` and the commands that read rows ask here; shards of one plan add up, and
what the runs contradict each other in is an error that names both.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from wise_pytest.audit.conditions import Condition
from wise_pytest.audit.rules import GateRules
from wise_pytest.errors import RowsError
from wise_pytest.manifest import named_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from wise_pytest.audit.conditions import Pair
    from wise_pytest.manifest import PairKey, RunRecord


def missing_shards(records: Iterable[RunRecord]) -> str | None:
    """Which shards of a plan are not there; ``None`` where all are, or nobody has split anything.

    Raises
    ------
    RowsError
        If two runs did the same shard, or runs were split into different numbers of shards.
    """
    found: dict[int, RunRecord] = {}
    first: RunRecord | None = None
    for record in records:
        if record.shard is None:
            continue
        first = first or record
        if first.shard is not None and first.shard.of != record.shard.of:
            raise RowsError(
                f"{first.source} is {first.shard} and {record.source} is {record.shard}: "
                "they are of different splits; give the shards of one split"
            )
        other = found.setdefault(record.shard.index, record)
        if other.run != record.run or other.run is None:
            if other is record:
                continue
            raise RowsError(
                f"{other.source} and {record.source} are both {record.shard}; give each shard once"
            )
    if first is None or first.shard is None:
        return None
    of = first.shard.of
    missing = [str(index) for index in range(1, of + 1) if index not in found]
    if not missing:
        return None
    noun = "shard" if len(missing) == 1 else "shards"
    return f"{noun} {', '.join(missing)} of {of} missing"


def conditions_of_runs(records: Iterable[RunRecord]) -> dict[Pair, Condition]:
    """How the cells of several runs were asked for; where runs differ in it, nobody knows."""
    conditions: dict[Pair, Condition] = {}
    for record in records:
        for pair, condition in record.conditions.items():
            if conditions.setdefault(pair, condition) != condition:
                conditions[pair] = Condition()
    return conditions


def plans_of(records: Iterable[RunRecord]) -> dict[Pair, set[PairKey]]:
    """The union of the plans: shards of one plan add up, and the same run given twice counts once.

    Raises
    ------
    RowsError
        If two runs planned a panel of one name with other items, forms or verifier.
    """
    plans: dict[Pair, set[PairKey]] = {}
    versions: dict[str, tuple[str, str]] = {}
    for record in records:
        for panel, digest in record.digests.items():
            first, source = versions.setdefault(panel, (digest, record.source))
            if digest != first:
                raise RowsError(
                    f"{source} and {record.source} are of runs with different versions of the panel {panel}: "
                    "its items, forms or verifier differ; audit these runs apart"
                )
        for pair, cells in record.plan.items():
            plans.setdefault(pair, set()).update(cells)
    return plans


def panels_of_runs(
    records: Iterable[RunRecord], found: Mapping[Pair, AbstractSet[PairKey]]
) -> dict[str, Any]:
    """What the audits of the runs say of their panels, together: digests, and pairs without recordings.

    Parameters
    ----------
    found
        The cells that there are rows of. A panel with a cell that no run has planned gets no digest,
        since nobody knows which version of it that cell is of.

    Returns
    -------
    dict
        ``panels`` and ``not_recorded``, as in ``audit.json``; empty where no run has a manifest.
    """
    runs = tuple(records)
    if not runs:
        return {}
    plans: dict[Pair, set[PairKey]] = {}
    for run in runs:
        for pair, cells in run.plan.items():
            if pair[0] in run.digests:
                plans.setdefault(pair, set()).update(cells)
    unknown = {pair[0] for pair, cells in found.items() if cells - plans.get(pair, set())}
    digests = {panel: digest for run in runs for panel, digest in run.digests.items() if panel not in unknown}
    lacking = {pair for run in runs for pair in run.not_recorded} - plans.keys()
    return {"panels": dict(sorted(digests.items())), "not_recorded": named_pairs(lacking)}


def named_models(records: Iterable[RunRecord]) -> tuple[str, ...]:
    """The models that the user of any of the runs had named, sorted: none of them may be passed over."""
    return tuple(sorted({model for record in records for model in record.named}))


def rules_of_runs(records: Iterable[RunRecord]) -> GateRules:
    """What the gate of all runs was asked; the default rules without a run.

    Raises
    ------
    RowsError
        If runs were asked for different things, and neither can be taken for all of them.
    """
    first: RunRecord | None = None
    for record in records:
        first = first or record
        if record.rules != first.rules:
            raise RowsError(
                f"{first.source} and {record.source} were judged by different rules of the gate; "
                "judge their rows together with wise audit"
            )
    return GateRules() if first is None else first.rules


def agreed(records: Iterable[RunRecord], name: Literal["seed", "replicates", "openings"]) -> Any:
    """How the audits of all runs were made; ``None`` where no manifest says.

    Raises
    ------
    RowsError
        If the runs differ in it, and none can be taken for all of them.
    """
    values: dict[Any, str] = {}
    for record in records:
        value = getattr(record, name)
        if value is not None or name == "openings":  # no openings of one's own are those of the package
            values.setdefault(value, record.source)
    if len(values) > 1:
        told = ", ".join(f"{value} in {source}" for value, source in values.items())
        raise RowsError(f"the runs were audited with different {name} ({told}); choose one with --{name}")
    return next(iter(values), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """What there is of a plan. Cells are compared one by one, so that no surplus makes up for a lack."""

    n_cells: Mapping[Pair, int]
    """Cells that each planned pair answers for: the planned ones, and any others that its rows are of."""
    partial: str | None
    """Why the runs are incomplete; ``None`` where they are whole, or no plan is known."""


def progress(
    plans: Mapping[Pair, AbstractSet[PairKey]], found: Mapping[Pair, AbstractSet[PairKey]]
) -> Progress:
    """Hold the cells of which there are rows, of any status, against the plans of their runs."""
    n_planned = sum(len(planned) for planned in plans.values())
    n_found = sum(len(planned & found.get(pair, set())) for pair, planned in plans.items())
    return Progress(
        n_cells={pair: len(planned | found.get(pair, set())) for pair, planned in plans.items()},
        partial=partial_reason(n_found, n_planned) if plans else None,
    )


def partial_reason(n_rows: int, n_planned: int) -> str | None:
    """Why a run is incomplete, for people; ``None`` for a complete one.

    Parameters
    ----------
    n_rows
        Planned cells with a row; rows of other cells are not among them.
    n_planned
        Planned cells.
    """
    if n_planned == 0:
        return "nothing was run: no cell was selected, or none is recorded"
    return None if n_rows >= n_planned else f"partial: {n_rows} of {n_planned} cells"

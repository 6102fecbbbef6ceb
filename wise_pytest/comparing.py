"""A session's baseline: read before anything runs, and compared when all rows are there.

``running`` calls ``open_baseline``, so that a file that cannot be used costs
nothing; ``finish`` calls ``compare_with``. Commands read what they compare with
by ``baseline_at``, too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.errors import OptionError
from wise_pytest.records import AUDIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wise_pytest.audit.baseline import Baseline
    from wise_pytest.audit.comparison import Comparison
    from wise_pytest.audit.conditions import Pair
    from wise_pytest.audit.table import RowTable
    from wise_pytest.manifest import RunRecord
    from wise_pytest.settings import Settings
    from wise_pytest.xdist import Plan


def baseline_at(path: Path | str) -> Baseline:
    """What is there to compare with, under the conditions that the manifest of a run's folder tells.

    Raises
    ------
    RowsError
        If it or its manifest cannot be read.
    """
    from wise_pytest.audit.baseline import Side, read_baseline
    from wise_pytest.manifest import read_manifests
    from wise_pytest.runs import conditions_of_runs

    place = Path(path)
    # An audit that does not say which version of a panel it is of may lie beside the manifest that does.
    runs = read_manifests([place.parent if place.name == AUDIT else place])
    found = read_baseline(path, conditions_of_runs(runs))
    if isinstance(found, Side) and runs:
        return replace(found, lacking=_lacking(runs, found.table))
    return found


def _lacking(runs: Sequence[RunRecord], table: RowTable) -> dict[Pair, str]:
    """Of pairs of which planned cells have no row: how many there are, and which shards are not there."""
    from wise_pytest.audit.table import cells_by_pair
    from wise_pytest.runs import missing_shards, plans_of

    shards, cells = missing_shards(runs), cells_by_pair(table)
    lacking = {}
    for pair, planned in plans_of(runs).items():
        n_there = len(planned & cells.get(pair, set()))
        if n_there < len(planned):
            told = f"{n_there} of {len(planned)} planned cells"
            lacking[pair] = told if shards is None else f"{told}: {shards}"
    return lacking


def open_baseline(settings: Settings) -> Baseline | None:
    """What this run is to be compared with; ``None`` where it is to be compared with nothing.

    Raises
    ------
    RowsError
        If the file cannot be read.
    OptionError
        If it lacks a model that was named.
    """
    asked = settings.baseline
    if asked is None:
        return None
    baseline = baseline_at(asked.path)
    known = sorted({model for _, model in baseline.pairs()})
    for new, old in asked.models.items():
        if old not in known:
            raise OptionError(
                f"--wise-baseline-map {new}={old}: {asked.path} has no model {old!r}; "
                f"it has {', '.join(known) or 'none'}"
            )
    return baseline


def compare_with(baseline: Baseline, settings: Settings, plan: Plan, table: RowTable) -> Comparison:
    """Compare the rows of this session with its baseline."""
    from wise_pytest.audit.baseline import Side
    from wise_pytest.audit.comparison import Asked, compare
    from wise_pytest.manifest import conditions_of

    asked = settings.baseline
    present = {table.coded("model").values[code] for code in set(table.coded("model").codes.tolist())}
    return compare(
        baseline,
        Side(table, conditions_of(settings, plan), "this run"),
        Asked(
            replicates=settings.replicates,
            seed=settings.seed,
            models={} if asked is None else {n: o for n, o in asked.models.items() if n in present},
            shared=asked is not None and asked.shared,
            panels=settings.catalog,
            verifier_of=settings.catalog.verifier,
        ),
    )

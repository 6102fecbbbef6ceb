"""All that the audit counts, from the rows: by plain counting for a session's, by data frame for many.

Importing pandas takes longer than counting the rows of a panel, and a replay
waits for it; from some ten thousand rows on, the data frame is the faster way.
Both give the same, which a test holds; called by ``audit.build_audit``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.audit.frame import (
    Tally,
    distinct_pairs,
    grid_sizes,
    tally_cells,
    tally_items,
    tally_targets,
    to_frame,
)
from wise_pytest.stats.bootstrap import ItemCounts
from wise_pytest.stats.floor import TargetOutcome
from wise_pytest.stats.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.audit.frame import TallyKey
    from wise_pytest.records import Row

FRAME_FROM_ROWS = 20_000
"""Rows from which the data frame is the faster way, its import included."""


@dataclass(frozen=True, slots=True)
class Tallies:
    """What the rows come to, before anything is estimated."""

    cells: Mapping[TallyKey, Tally]
    targets: Mapping[tuple[str, str], Sequence[TargetOutcome]]
    """By panel and model, over all forms; numeric targets, ascending."""
    grids: Mapping[str, int]
    """By panel: items × forms × repetitions seen."""
    providers: Sequence[tuple[str, str]]
    """Pairs of model and provider, sorted."""
    verifiers: Sequence[tuple[str, str]]
    """Pairs of panel and verifier, sorted."""
    items: Mapping[str, ItemCounts]
    """By panel; empty where they were not asked for."""


def tally_rows(rows: Sequence[Row], *, items: bool) -> Tallies:
    """Count the rows, each once.

    Parameters
    ----------
    rows
        Without duplicates.
    items
        Whether counts by item are wanted, as a bootstrap needs them.
    """
    return _by_frame(rows, items=items) if len(rows) >= FRAME_FROM_ROWS else _by_hand(rows, items=items)


def _by_frame(rows: Sequence[Row], *, items: bool) -> Tallies:
    frame = to_frame(rows)
    return Tallies(
        cells=tally_cells(frame),
        targets=tally_targets(frame),
        grids=grid_sizes(frame),
        providers=distinct_pairs(frame, "model", "provider"),
        verifiers=distinct_pairs(frame, "panel", "verifier"),
        items=tally_items(frame) if items else {},
    )


class _Cell:
    """A tally while it grows."""

    __slots__ = ("directions", "n", "n_compliant", "n_errors", "n_rows", "statuses", "sum_abs_error")

    def __init__(self) -> None:
        self.n_rows = self.n = self.n_compliant = self.n_errors = self.sum_abs_error = 0
        self.statuses: Counter[str] = Counter()
        self.directions: Counter[str] = Counter()

    def take(self, row: Row) -> None:
        self.n_rows += 1
        self.statuses[row.status] += 1
        if not row.scored:
            return
        self.n += 1
        self.n_compliant += row.compliant is True
        if row.direction is not None:
            self.directions[row.direction] += 1
        if row.error is not None:
            self.n_errors += 1
            self.sum_abs_error += abs(row.error)

    def tally(self) -> Tally:
        return Tally(
            n_rows=self.n_rows,
            rate=Rate(self.n_compliant, self.n),
            statuses=self.statuses,
            directions=self.directions,
            n_errors=self.n_errors,
            sum_abs_error=self.sum_abs_error,
        )


def _by_hand(rows: Sequence[Row], *, items: bool) -> Tallies:
    cells: dict[TallyKey, _Cell] = {}
    seen: dict[str, tuple[set[str], set[str], set[int]]] = {}
    for row in rows:
        cells.setdefault((row.panel, row.model, row.form), _Cell()).take(row)
        in_panel = seen.setdefault(row.panel, (set(), set(), set()))
        in_panel[0].add(row.item)
        in_panel[1].add(row.form)
        in_panel[2].add(row.repetition)
    scored = [row for row in rows if row.scored]
    return Tallies(
        cells={key: cell.tally() for key, cell in cells.items()},
        targets=_targets(scored),
        grids={
            panel: len(in_items) * len(forms) * len(repetitions)
            for panel, (in_items, forms, repetitions) in seen.items()
        },
        providers=sorted({(row.model, row.provider) for row in rows}),
        verifiers=sorted({(row.panel, row.verifier) for row in rows if row.verifier is not None}),
        items=_items(scored) if items else {},
    )


def _targets(scored: Sequence[Row]) -> dict[tuple[str, str], list[TargetOutcome]]:
    counts: dict[tuple[str, str, int], list[int]] = {}
    for row in scored:
        if isinstance(row.target, int):
            count = counts.setdefault((row.panel, row.model, row.target), [0, 0, 0, 0])
            count[0] += row.compliant is True
            count[1] += 1
            if row.observed is not None:
                count[2] += 1
                count[3] += row.observed
    outcomes: dict[tuple[str, str], list[TargetOutcome]] = {}
    for (panel, model, target), (n_compliant, n, n_observed, sum_observed) in sorted(counts.items()):
        outcomes.setdefault((panel, model), []).append(
            TargetOutcome(target, Rate(n_compliant, n), n_observed=n_observed, sum_observed=sum_observed)
        )
    return outcomes


def _items(scored: Sequence[Row]) -> dict[str, ItemCounts]:
    import numpy as np

    by_panel: dict[str, list[Row]] = {}
    for row in scored:
        by_panel.setdefault(row.panel, []).append(row)
    counts: dict[str, ItemCounts] = {}
    for panel, rows in by_panel.items():
        names = [sorted({getattr(row, name) for row in rows}) for name in ("model", "item", "form")]
        models, items, forms = ({name: place for place, name in enumerate(axis)} for axis in names)
        n_compliant = np.zeros(tuple(map(len, names)), dtype=np.int64)
        n = np.zeros_like(n_compliant)
        for row in rows:
            place = models[row.model], items[row.item], forms[row.form]
            n[place] += 1
            n_compliant[place] += row.compliant is True
        counts[panel] = ItemCounts(
            models=tuple(names[0]),
            items=tuple(names[1]),
            forms=tuple(names[2]),
            n_compliant=n_compliant,
            n=n,
        )
    return counts

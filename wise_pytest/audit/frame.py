"""Rows as a data frame, and the tallies that every table of the audit adds up.

Called by ``audit.build_audit``. This is the only place that walks the rows one
by one, and the only one that knows pandas; it is imported when a frame is
built. A tally holds integers, so adding tallies is exact in any order.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.records import STATUSES
from wise_pytest.stats.bootstrap import ItemCounts
from wise_pytest.stats.floor import TargetOutcome
from wise_pytest.stats.rates import NO_ROWS, Rate, pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from wise_pytest.records import Row

TallyKey: TypeAlias = tuple[str, str, str]
"""(panel, model, form)"""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over a set of rows."""

    n_rows: int = 0
    rate: Rate = NO_ROWS
    statuses: Mapping[str, int] = field(default_factory=Counter)
    """Rows of each status, scored or not."""
    directions: Mapping[str, int] = field(default_factory=Counter)
    """Scored rows of each direction; rows that name none are in none."""
    n_errors: int = 0
    """Scored rows that hold a count error (observed minus target)."""
    sum_abs_error: int = 0


def pool_tallies(tallies: Iterable[Tally]) -> Tally:
    """The tally of the union of disjoint sets of rows."""
    parts = list(tallies)
    statuses: Counter[str] = Counter()
    directions: Counter[str] = Counter()
    for part in parts:
        statuses.update(part.statuses)
        directions.update(part.directions)
    return Tally(
        n_rows=sum(part.n_rows for part in parts),
        rate=pool(part.rate for part in parts),
        statuses=statuses,
        directions=directions,
        n_errors=sum(part.n_errors for part in parts),
        sum_abs_error=sum(part.sum_abs_error for part in parts),
    )


def to_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """One line a row, in the order given.

    Returns
    -------
    pandas.DataFrame
        Categories, sorted: ``panel``, ``model``, ``provider``, ``item``,
        ``form``, ``verifier`` and ``direction`` (missing where a row names none),
        and ``status`` (all of them, in their order). Integers: ``repetition``; ``target`` (only
        numeric ones), ``observed`` and ``error``, missing where a row has none.
        Truths: ``scored``, and ``compliant``, false where not scored.
    """
    import pandas as pd

    columns: dict[str, Any] = {
        name: _categories([getattr(row, name) for row in rows])
        for name in ("panel", "model", "provider", "item", "form", "verifier", "direction")
    }
    columns["status"] = _categories([row.status for row in rows], STATUSES)
    columns["repetition"] = pd.array([row.repetition for row in rows], dtype="Int64")
    columns["target"] = pd.array(
        [row.target if isinstance(row.target, int) else None for row in rows], dtype="Int64"
    )
    columns["observed"] = pd.array([row.observed for row in rows], dtype="Int64")
    columns["error"] = pd.array([row.error for row in rows], dtype="Int64")
    columns["scored"] = pd.array([row.scored for row in rows], dtype=bool)
    columns["compliant"] = pd.array([row.compliant is True for row in rows], dtype=bool)
    return pd.DataFrame(columns)


def tally_cells(frame: pd.DataFrame) -> dict[TallyKey, Tally]:
    """The tally of each panel, model and form that has rows."""
    keys = ["panel", "model", "form"]
    scored = frame[frame["scored"]]
    counts = (
        frame.assign(abs_error=frame["error"].abs().where(frame["scored"]))
        .groupby(keys, observed=True, sort=False)
        .agg(
            n_rows=("scored", "size"),
            n=("scored", "sum"),
            n_compliant=("compliant", "sum"),
            n_errors=("abs_error", "count"),
            sum_abs_error=("abs_error", "sum"),
        )
    )
    statuses = _nested_counts(frame, keys, "status")
    directions = _nested_counts(scored, keys, "direction")
    return {
        (panel, model, form): Tally(
            n_rows=int(n_rows),
            rate=Rate(int(n_compliant), int(n)),
            statuses=statuses.get((panel, model, form), {}),
            directions=directions.get((panel, model, form), {}),
            n_errors=int(n_errors),
            sum_abs_error=int(sum_abs_error),
        )
        for (panel, model, form), n_rows, n, n_compliant, n_errors, sum_abs_error in zip(
            counts.index, *(counts[name].tolist() for name in counts.columns), strict=True
        )
    }


def tally_targets(frame: pd.DataFrame) -> dict[tuple[str, str], list[TargetOutcome]]:
    """What each panel and model did at each numeric target, over all forms, targets ascending."""
    counts = (
        frame[frame["scored"] & frame["target"].notna()]
        .groupby(["panel", "model", "target"], observed=True, sort=True)
        .agg(
            n=("scored", "size"),
            n_compliant=("compliant", "sum"),
            n_observed=("observed", "count"),
            sum_observed=("observed", "sum"),
        )
    )
    outcomes: dict[tuple[str, str], list[TargetOutcome]] = {}
    for (panel, model, target), n, n_compliant, n_observed, sum_observed in zip(
        counts.index, *(counts[name].tolist() for name in counts.columns), strict=True
    ):
        outcomes.setdefault((panel, model), []).append(
            TargetOutcome(
                target=int(target),
                rate=Rate(int(n_compliant), int(n)),
                n_observed=int(n_observed),
                sum_observed=int(sum_observed),
            )
        )
    return outcomes


def tally_items(frame: pd.DataFrame) -> dict[str, ItemCounts]:
    """Scored and compliant rows of each model, item and form, for each panel that has scored rows.

    Models, items and forms are those with a scored row in the panel, sorted:
    draws that follow this order do not depend on that of the rows.
    """
    import numpy as np

    scored = frame[frame["scored"]]
    panel_codes = scored["panel"].cat.codes.to_numpy()
    compliant = scored["compliant"].to_numpy()
    codes = {name: scored[name].cat.codes.to_numpy() for name in ("model", "item", "form")}
    counts: dict[str, ItemCounts] = {}
    for panel_code in np.unique(panel_codes).tolist():
        here = panel_codes == panel_code
        names: list[tuple[str, ...]] = []
        places: list[Any] = []
        for name, code in codes.items():
            seen, place = np.unique(code[here], return_inverse=True)
            categories = scored[name].cat.categories
            names.append(tuple(categories[seen].tolist()))
            places.append(place)
        shape = tuple(map(len, names))
        cells = np.ravel_multi_index(tuple(places), shape)
        size = math.prod(shape)
        models, items, forms = names
        counts[scored["panel"].cat.categories[panel_code]] = ItemCounts(
            models=models,
            items=items,
            forms=forms,
            n_compliant=np.bincount(cells[compliant[here]], minlength=size).reshape(shape),
            n=np.bincount(cells, minlength=size).reshape(shape),
        )
    return counts


def distinct_pairs(frame: pd.DataFrame, first: str, second: str) -> list[tuple[str, str]]:
    """The pairs of values that two category columns have together, sorted; missing values are in none."""
    pairs = frame[[first, second]].dropna().drop_duplicates()
    return sorted(zip(pairs[first].tolist(), pairs[second].tolist(), strict=True))


def grid_sizes(frame: pd.DataFrame) -> dict[str, int]:
    """For each panel, the cells a model has in the full grid: items × forms × repetitions seen."""
    seen = frame.groupby("panel", observed=True, sort=True)[["item", "form", "repetition"]].nunique()
    return {
        str(panel): int(items) * int(forms) * int(repetitions)
        for panel, items, forms, repetitions in seen.itertuples()
    }


def _categories(values: Sequence[str | None], names: Sequence[str] | None = None) -> pd.Categorical:
    """``values`` as categories, ``names`` or all that occur, sorted.

    The categories are plain objects: pandas' own text type cannot hold the lone
    surrogates that a name read from JSON may have.
    """
    import pandas as pd

    known = sorted({value for value in values if value is not None}) if names is None else names
    code_of: dict[str | None, int] = {name: code for code, name in enumerate(known)}
    code_of[None] = -1
    codes = [code_of[value] for value in values]
    return pd.Categorical.from_codes(codes, categories=pd.Index(list(known), dtype=object))


def _nested_counts(frame: pd.DataFrame, keys: list[str], name: str) -> dict[TallyKey, dict[str, int]]:
    sizes = frame.groupby([*keys, name], observed=True, sort=False).size()
    nested: dict[TallyKey, dict[str, int]] = {}
    for (panel, model, form, value), size in zip(sizes.index, sizes.tolist(), strict=True):
        nested.setdefault((panel, model, form), {})[value] = int(size)
    return nested

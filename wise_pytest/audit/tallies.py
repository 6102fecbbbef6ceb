"""All that the audit counts, out of the table of rows.

Called by ``audit.build_audit``. This is the only place where rows are counted;
everything after it adds tallies up. A tally holds whole numbers, so adding
tallies is exact in any order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.audit.merging import combined
from wise_pytest.audit.table import Coded
from wise_pytest.audit.texts import opening_finder
from wise_pytest.records import SCORED_STATUSES
from wise_pytest.stats.bootstrap import ItemCounts
from wise_pytest.stats.floor import TargetOutcome
from wise_pytest.stats.rates import NO_ROWS, Rate, pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.audit.table import RowTable

    Ints: TypeAlias = NDArray[np.int64]
    Truths: TypeAlias = NDArray[np.bool_]

TallyKey: TypeAlias = tuple[str, str, str]
"""(panel, model, form)"""
SHORT_WORDS = 2
"""An output with at most this many words, keywords or whatever is counted is a short one (Appendix D)."""
_DENSE = 10_000_000
"""Cells of a table of counts up to which counting into it is faster than sorting."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over a set of rows."""

    n_rows: int = 0
    rate: Rate = NO_ROWS
    statuses: Mapping[str, int] = field(default_factory=Counter)
    """Rows of each status, scored or not."""
    directions: Mapping[str, int] = field(default_factory=Counter)
    """Scored rows of each direction; rows that name none are in none."""
    errors: Mapping[int, int] = field(default_factory=Counter)
    """Scored rows by count error (observed minus target); rows that hold none are in none."""
    observed: Mapping[int, int] = field(default_factory=Counter)
    """Scored rows by observed count, likewise."""
    n_texts: int = 0
    """Scored rows that hold their output."""
    n_empty: int = 0
    """Of these, with nothing but white space in it."""
    openings: Mapping[str, int] = field(default_factory=Counter)
    """Of these, by the listed opening with which they begin."""

    @property
    def n_errors(self) -> int:
        """Scored rows that hold a count error."""
        return sum(self.errors.values())

    @property
    def n_observed(self) -> int:
        """Scored rows that hold an observed count."""
        return sum(self.observed.values())


def pool_tallies(tallies: Iterable[Tally]) -> Tally:
    """The tally of the union of disjoint sets of rows."""
    parts = list(tallies)
    return Tally(
        n_rows=sum(part.n_rows for part in parts),
        rate=pool(part.rate for part in parts),
        n_texts=sum(part.n_texts for part in parts),
        n_empty=sum(part.n_empty for part in parts),
        **{name: _added(getattr(part, name) for part in parts) for name in _COUNTERS},
    )


_COUNTERS = ("statuses", "directions", "errors", "observed", "openings")


@dataclass(frozen=True, slots=True)
class Tallies:
    """What the rows come to, before anything is estimated."""

    cells: Mapping[TallyKey, Tally]
    targets: Mapping[TallyKey, Sequence[TargetOutcome]]
    """Numeric targets, ascending."""
    grids: Mapping[str, int]
    """By panel: items × forms × repetitions seen."""
    providers: Sequence[tuple[str, str]]
    """Pairs of model and provider, sorted."""
    verifiers: Sequence[tuple[str, str]]
    """Pairs of panel and verifier, sorted."""
    items: Mapping[str, ItemCounts]
    """By panel; empty where they were not asked for."""


def tally_table(table: RowTable, *, openings: Sequence[str], items: bool) -> Tallies:
    """Count the rows, each once.

    Parameters
    ----------
    table
        Without duplicates.
    openings
        Beginnings of outputs to count.
    items
        Whether counts by item are wanted, as a bootstrap needs them.
    """
    return _Counting(table, openings).tallies(items=items)


class _Counting:
    """The columns that are counted, as codes of sorted values."""

    def __init__(self, table: RowTable, openings: Sequence[str]) -> None:
        import numpy as np

        self._table = table
        self._panel, self._model, self._form, self._item = (
            table.coded(name).ordered() for name in ("panel", "model", "form", "item")
        )
        self._scored = table.coded("status").among(SCORED_STATUSES)
        self._compliant = table.coded("compliant").among([True]) & self._scored
        keys = combined([self._panel, self._model, self._form])
        first, cells = np.unique(keys, return_index=True, return_inverse=True)[1:]
        self._cells: Ints = cells
        self._names: list[TallyKey] = [
            (self._panel.get(row), self._model.get(row), self._form.get(row)) for row in first.tolist()
        ]
        self._empty, self._has_text, self._opening = _text_columns(table, self._scored, openings)

    def tallies(self, *, items: bool) -> Tallies:
        """Everything."""
        return Tallies(
            cells=dict(self._cell_tallies()),
            targets=self._targets(),
            grids=self._grids(),
            providers=_pairs(self._model, self._table.coded("provider")),
            verifiers=_pairs(self._panel, self._table.coded("verifier")),
            items=self._items() if items else {},
        )

    def _cell_tallies(self) -> Iterator[tuple[TallyKey, Tally]]:
        n_rows, n, n_compliant, n_texts, n_empty = (
            _counts(self._cells, rows, len(self._names))
            for rows in (
                None,
                self._scored,
                self._compliant,
                self._has_text,
                self._empty,
            )
        )
        coded = self._table.coded
        nested = {
            "statuses": _nested(self._cells, coded("status"), None),
            "directions": _nested(self._cells, coded("direction"), self._scored),
            "errors": _nested(self._cells, coded("error"), self._scored),
            "observed": _nested(self._cells, coded("observed"), self._scored),
            "openings": _nested(self._cells, self._opening, None),
        }
        for cell, name in enumerate(self._names):
            yield (
                name,
                Tally(
                    n_rows=n_rows[cell],
                    rate=Rate(n_compliant[cell], n[cell]),
                    n_texts=n_texts[cell],
                    n_empty=n_empty[cell],
                    **{counter: counts.get(cell, {}) for counter, counts in nested.items()},
                ),
            )

    def _targets(self) -> dict[TallyKey, list[TargetOutcome]]:
        """What each cell did at each numeric target."""
        import numpy as np

        target = self._table.coded("target")
        numeric = [code for code, value in enumerate(target.values) if isinstance(value, int)]
        numeric.sort(key=target.values.__getitem__)
        rank = np.full(len(target.values) + 1, -1, dtype=np.int64)
        rank[numeric] = np.arange(len(numeric))
        places = rank[target.codes]
        rows = self._scored & (places >= 0)
        n_places = max(len(numeric), 1)
        # Only pairs that occur: there may be as many targets as rows.
        found, keys = _compact(np.where(rows, self._cells * n_places + places, -1))
        size = len(found)
        truncated = self._table.coded("status").among(["truncated"])
        n, n_compliant, n_texts, n_empty, n_truncated = (
            _counts(keys, rows if chosen is None else rows & chosen, size)
            for chosen in (None, self._compliant, self._has_text, self._empty, truncated)
        )
        observed = _nested(keys, self._table.coded("observed"), rows)
        outcomes: dict[TallyKey, list[TargetOutcome]] = {}
        for key, pair in enumerate(found.tolist()):
            cell, place = divmod(pair, n_places)
            lengths = observed.get(key, {})
            outcomes.setdefault(self._names[cell], []).append(
                TargetOutcome(
                    target=target.values[numeric[place]],
                    rate=Rate(n_compliant[key], n[key]),
                    n_observed=sum(lengths.values()),
                    sum_observed=sum(length * count for length, count in lengths.items()),
                    n_texts=n_texts[key],
                    n_empty=n_empty[key],
                    n_truncated=n_truncated[key],
                )
            )
        return outcomes

    def _grids(self) -> dict[str, int]:
        import numpy as np

        repetition = self._table.coded("repetition")
        sizes = [1] * len(self._panel.values)
        for column in (self._item, self._form, repetition):
            pairs = np.unique(combined([self._panel, column])) // (len(column.values) + 1)
            seen = np.bincount(pairs, minlength=len(sizes) + 1)[1:].tolist()
            sizes = [size * count for size, count in zip(sizes, seen, strict=True)]
        return dict(zip(self._panel.values, sizes, strict=True))

    def _items(self) -> dict[str, ItemCounts]:
        """Scored and compliant rows of each model, item and form, for each panel that has scored rows.

        Models, items and forms are those with a scored row in the panel, sorted:
        draws that follow this order do not depend on that of the rows.
        """
        import numpy as np

        axes = (self._model, self._item, self._form)
        found: dict[str, ItemCounts] = {}
        for place, panel in enumerate(self._panel.values):
            here = np.flatnonzero(self._scored & (self._panel.codes == place))
            if not len(here):
                continue
            named, places = zip(*(_axis(axis, here) for axis in axes), strict=True)
            shape = tuple(map(len, named))
            cells = np.ravel_multi_index(places, shape)
            size = int(np.prod(shape))
            models, items, forms = named
            found[panel] = ItemCounts(
                models=models,
                items=items,
                forms=forms,
                n_compliant=np.bincount(cells[self._compliant[here]], minlength=size).reshape(shape),
                n=np.bincount(cells, minlength=size).reshape(shape),
            )
        return found


def _axis(column: Coded, rows: Ints) -> tuple[tuple[str, ...], Ints]:
    """The values that occur in ``rows``, sorted, and the place of each row among them."""
    import numpy as np

    seen, places = np.unique(column.codes[rows], return_inverse=True)
    return tuple(column.values[code] for code in seen.tolist()), places


def _compact(keys: Ints) -> tuple[Ints, Ints]:
    """The different keys from 0, ascending, and the place of each row's among them; -1 stays -1."""
    import numpy as np

    highest = int(keys.max(initial=-1))
    if highest < _DENSE:
        found = np.flatnonzero(np.bincount(keys + 1, minlength=1)[1:])
        places = np.full(highest + 2, -1, dtype=np.int64)
        places[found] = np.arange(len(found))
        return found, places[keys]
    found, inverse = np.unique(keys, return_inverse=True)
    n_without = int(found[0] < 0)
    return found[n_without:], inverse - n_without


def _counts(keys: Ints, rows: Truths | None, size: int) -> list[int]:
    import numpy as np

    found: list[int] = np.bincount(keys if rows is None else keys[rows], minlength=size).tolist()
    return found


def _nested(keys: Ints, column: Coded, rows: Truths | None) -> dict[int, dict[Any, int]]:
    """For each key, how many of its rows have each value; missing values are in none."""
    import numpy as np

    chosen = column.codes >= 0 if rows is None else rows & (column.codes >= 0)
    n_values = len(column.values)
    pairs = keys[chosen] * n_values + column.codes[chosen]
    if not len(pairs):
        return {}
    if int(pairs.max()) < _DENSE:
        every = np.bincount(pairs)
        found = np.flatnonzero(every)
        counts = every[found]
    else:
        found, counts = np.unique(pairs, return_counts=True)
    nested: dict[int, dict[Any, int]] = {}
    for pair, count in zip(found.tolist(), counts.tolist(), strict=True):
        key, code = divmod(pair, n_values)
        nested.setdefault(key, {})[column.values[code]] = count
    return nested


def _pairs(first: Coded, second: Coded) -> list[tuple[Any, Any]]:
    """The pairs of values that two columns have together, sorted; missing values are in none."""
    import numpy as np

    _, rows = np.unique(combined([first, second]), return_index=True)
    pairs = ((first.get(row), second.get(row)) for row in rows.tolist())
    return sorted(pair for pair in pairs if None not in pair)


def _text_columns(table: RowTable, scored: Truths, openings: Sequence[str]) -> tuple[Truths, Truths, Coded]:
    """Which scored rows have an empty output, which have one at all, and the opening of each."""
    import numpy as np

    texts = table.packed("text")
    has_text = texts.present & scored
    empty = np.zeros(len(table), dtype=bool)
    opening = np.full(len(table), -1, dtype=np.int64)
    if not has_text.any():
        return empty, has_text, Coded(opening, tuple(openings))
    find = opening_finder(openings)
    places = {name: place for place, name in enumerate(openings)}
    for row, (raw, wanted) in enumerate(zip(texts.raws(), has_text.tolist(), strict=True)):
        if wanted and raw is not None:
            text = raw.decode("utf-8", errors="surrogatepass")
            if not text.strip():
                empty[row] = True
            else:
                found = find(text)
                if found is not None:
                    opening[row] = places[found]
    return empty, has_text, Coded(opening, tuple(openings))


def _added(counters: Iterable[Mapping[Any, int]]) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for counter in counters:
        total.update(counter)
    return total

"""The cells that two runs share, row by row: what they asked for, and how their verdicts differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.audit.differences import Difference
from wise_pytest.audit.merging import combined, named
from wise_pytest.audit.table import Coded
from wise_pytest.records import SCORED_STATUSES
from wise_pytest.stats.paired import PairedCounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.audit.table import RowTable
    from wise_pytest.panels.model import Panel

    Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ItemFlips:
    """One item under one form, with the repetitions whose verdict has changed."""

    item: str
    form: str
    lost: tuple[int, ...]
    """Compliant before, not compliant now."""
    gained: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The cells that both sides have a row of."""

    old: RowTable
    new: RowTable
    rows_old: Ints
    """Of each such cell its row in ``old``."""
    rows_new: Ints

    @classmethod
    def of(cls, old: RowTable, new: RowTable) -> Joint:
        """Match the cells of two tables of one panel and model each."""
        import numpy as np

        pairs = [_same_codes(old.coded(name), new.coded(name)) for name in ("item", "form", "repetition")]
        n_old = len(old)
        # One table's keys after the other's, so that equal cells get equal keys.
        keys = combined([Coded(np.concatenate([a.codes, b.codes]), a.values) for a, b in pairs])
        _, rows_old, rows_new = np.intersect1d(
            keys[:n_old], keys[n_old:], assume_unique=True, return_indices=True
        )
        return cls(old, new, rows_old, rows_new)

    def only(self, cells: Any) -> Joint:
        """Some of the cells, chosen by truths."""
        return Joint(self.old, self.new, self.rows_old[cells], self.rows_new[cells])

    def scored(self) -> Any:
        """Which cells were scored on both sides."""
        return (
            self.old.coded("status").among(SCORED_STATUSES)[self.rows_old]
            & self.new.coded("status").among(SCORED_STATUSES)[self.rows_new]
        )

    @property
    def n_scored_after(self) -> int:
        """How many of the cells were scored in the later table."""
        return int(self.new.coded("status").among(SCORED_STATUSES)[self.rows_new].sum())

    def asked_alike(self) -> tuple[Any, list[Difference]]:
        """Which cells asked for the same, as far as rows say; and what others asked for."""
        import numpy as np

        alike = np.ones(len(self.rows_old), dtype=bool)
        for name in ("target", "prompt"):
            old, new = _same_codes(self.old.coded(name), self.new.coded(name))
            before, after = old.codes[self.rows_old], new.codes[self.rows_new]
            alike &= (before < 0) | (after < 0) | (before == after)
        n_others = int((~alike).sum())
        if not n_others:
            return alike, []
        example = self.new.row(int(self.rows_new[np.flatnonzero(~alike)[0]]))
        return alike, [
            Difference(
                f"other prompts or targets: {n_others} of {len(alike)} cells, "
                f"such as item {example.item}, form {example.form}"
            )
        ]

    def other_requests(self) -> Iterator[Difference]:
        """Whether the same prompts were sent in other requests; asked where the decoding is not known."""
        old, new = (table.packed("request_digest") for table in (self.old, self.new))
        for row_old, row_new in zip(self.rows_old.tolist(), self.rows_new.tolist(), strict=True):
            before, after = old.get(row_old), new.get(row_new)
            if before is not None and after is not None and before != after:
                yield Difference(
                    f"other requests for the same prompts, such as {named(self.new.row(row_new).key)} "
                    f"(digest {before[:12]} before, {after[:12]} now): "
                    "URL, model identifier or decoding settings have changed"
                )
                return

    def is_asked_known(self) -> bool:
        """Whether every cell's prompt and target are known on both sides."""
        return all(
            bool((side.coded(name).codes[rows] >= 0).all())
            for side, rows in ((self.old, self.rows_old), (self.new, self.rows_new))
            for name in ("target", "prompt")
        )

    def counts(self, panel: Panel | None) -> PairedCounts:
        """Compliant cells of both sides by item and form."""
        import numpy as np

        items, forms = self._column("item"), self._column("form")
        known = [form.form_id for form in panel.forms] if panel is not None else []
        present = set(forms.values)
        ordered = [form for form in known if form in present]
        ordered += [form for form in forms.values if form not in set(ordered)]
        places = np.array([ordered.index(form) for form in forms.values], dtype=np.int64)
        shape = (len(items.values), len(ordered))
        cells = items.codes.astype(np.int64) * shape[1] + places[forms.codes]
        before, after = self._compliant()
        size = shape[0] * shape[1]
        return PairedCounts(
            items=items.values,
            forms=tuple(ordered),
            before=np.bincount(cells[before], minlength=size).reshape(shape),
            after=np.bincount(cells[after], minlength=size).reshape(shape),
            n=np.bincount(cells, minlength=size).reshape(shape),
        )

    def flips(self, forms: Sequence[str]) -> tuple[ItemFlips, ...]:
        """Items under a form whose verdict has changed in any repetition."""
        import numpy as np

        before, after = self._compliant()
        found: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        item, form, repetition = (self.new.coded(name) for name in ("item", "form", "repetition"))
        for place in np.flatnonzero(before != after).tolist():
            row = int(self.rows_new[place])
            key = (item.get(row), forms.index(form.get(row)))
            lost, gained = found.setdefault(key, ([], []))
            (gained if after[place] else lost).append(repetition.get(row))
        return tuple(
            ItemFlips(name, forms[place], tuple(sorted(lost)), tuple(sorted(gained)))
            for (name, place), (lost, gained) in sorted(found.items())
        )

    def _column(self, name: str) -> Coded:
        return self.new.coded(name).take(self.rows_new).ordered()

    def _compliant(self) -> tuple[Any, Any]:
        return (
            self.old.coded("compliant").among([True])[self.rows_old],
            self.new.coded("compliant").among([True])[self.rows_new],
        )


def _same_codes(old: Coded, new: Coded) -> tuple[Coded, Coded]:
    """Two columns with codes of one set of values."""
    import numpy as np

    values = tuple(dict.fromkeys((*old.values, *new.values)))
    places = {value: place for place, value in enumerate(values)}
    return (
        Coded(np.array([*(places[value] for value in old.values), -1], dtype=np.int64)[old.codes], values),
        Coded(np.array([*(places[value] for value in new.values), -1], dtype=np.int64)[new.codes], values),
    )

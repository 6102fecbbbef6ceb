"""What has changed between two runs: form by form, and verdict by verdict.

``finish`` and ``wise compare`` call ``compare``. Cells are paired by panel,
model, item, form and repetition. What was asked for, how, and who scored it
must agree; where it does not, the pair is refused and the difference told, or
compared on what both sides share if that was asked for.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.audit.baseline import AuditSide, Side
from wise_pytest.audit.merging import combined, named
from wise_pytest.audit.rows import rescore
from wise_pytest.audit.table import Coded, table_of
from wise_pytest.errors import OptionError
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import SCORED_STATUSES
from wise_pytest.stats.paired import Change, PairedCounts, PairedResult, compare_paired, summary_changes
from wise_pytest.stats.rates import Rate
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.audit.baseline import Baseline
    from wise_pytest.audit.conditions import Pair
    from wise_pytest.audit.table import RowTable
    from wise_pytest.panels.model import Panel
    from wise_pytest.verifiers.registry import Verifier

    Ints: TypeAlias = NDArray[np.int64]

MAX_NAMED = 5
"""Items or cells that one sentence names."""
NO_CELLS = "the baseline is an audit, which holds no single cells: no pairing, no intervals, no flips"


@dataclass(frozen=True, slots=True)
class ItemFlips:
    """One item under one form, with the repetitions whose verdict has changed."""

    item: str
    form: str
    lost: tuple[int, ...]
    """Compliant before, not compliant now."""
    gained: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VerifierFlips:
    """Verdicts that scoring the same text again has changed: the verifier's doing, not the model's."""

    n_before: int
    """Among the earlier rows."""
    n_after: int
    versions: tuple[str, ...]
    """Old and new names of the verifier, such as ``word_count/1 → word_count/2``."""
    examples: tuple[str, ...]
    """The first few, in words."""


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One model in one panel, before and after."""

    panel: str
    model: str
    """As the later run names it."""
    baseline_model: str
    refused: tuple[str, ...] = ()
    """Why nothing was compared: one difference each."""
    notes: tuple[str, ...] = ()
    """What was left out, and what is not known."""
    result: PairedResult | None = None
    """``None`` where nothing was compared."""
    n_paired: int = 0
    """Cells that were scored in both runs."""
    n_comparable: int = 0
    """Scored cells of the later run whose item, form and repetition the earlier one has, too, and that
    asked for the same; 0 where there are no pairs of cells."""
    n_only_before: int = 0
    """Cells that were scored in the earlier run only."""
    n_only_after: int = 0
    flips: tuple[ItemFlips, ...] = ()
    """Sorted by item, then in the panel's order of forms."""
    verifier_flips: VerifierFlips | None = None
    """Where rows were scored again."""
    why_no_intervals: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that was compared."""

    pairs: tuple[PairComparison, ...]
    """In the order of panels, then models."""
    only_before: tuple[Pair, ...]
    """Pairs of which the later run has no row."""
    only_after: tuple[Pair, ...]
    shared: bool
    """Whether what both sides share was enough."""
    replicates: int
    seed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """How to compare."""

    replicates: int
    seed: int
    models: Mapping[str, str] = field(default_factory=dict)
    """Names of the later run to names of the earlier one; others keep their name."""
    shared: bool = False
    """Compare what both sides share, where they differ."""
    rescore: bool = False
    """Score the rows of both sides again, with the newest version of their verifiers."""
    panels: Mapping[str, Panel] | None = None
    """All panels, for the order of their forms; the bundled ones where not given."""
    verifier_of: Callable[[str], Verifier] = get_verifier
    """The verifier of a name; ``PanelError`` where there is none."""


def compare(before: Baseline, after: Side, asked: Asked) -> Comparison:
    """Compare two runs.

    Raises
    ------
    OptionError
        If a model that is to be mapped is on neither side.
    RowsError
        If rows that are to be scored again name an unknown verifier.
    """
    earlier, later = before.pairs(), after.pairs()
    _check_names(asked.models, earlier, later)
    declared = bundled_panels() if asked.panels is None else asked.panels
    wanted = {(panel, model): (panel, asked.models.get(model, model)) for panel, model in later}
    order = {name: place for place, name in enumerate(declared)}
    matched = [pair for pair in later if wanted[pair] in earlier]
    matched.sort(key=lambda pair: (order.get(pair[0], len(order)), pair))
    pairs = [
        _pair(before, after, pair, old_model=wanted[pair][1], asked=asked, panel=declared.get(pair[0]))
        for pair in matched
    ]
    used = {wanted[pair] for pair in matched}
    return Comparison(
        pairs=tuple(pairs),
        only_before=tuple(pair for pair in earlier if pair not in used),
        only_after=tuple(pair for pair in later if pair not in matched),
        shared=asked.shared,
        replicates=asked.replicates,
        seed=asked.seed,
        notes=() if isinstance(before, Side) else (NO_CELLS,),
    )


def _check_names(models: Mapping[str, str], earlier: Iterable[Pair], later: Iterable[Pair]) -> None:
    old, new = ({model for _, model in pairs} for pairs in (earlier, later))
    for name, earlier_name in models.items():
        if name not in new:
            raise OptionError(
                f"no model {name!r} in the later run; it has {', '.join(sorted(new)) or 'none'}"
            )
        if earlier_name not in old:
            raise OptionError(
                f"no model {earlier_name!r} in the baseline; it has {', '.join(sorted(old)) or 'none'}"
            )


def _pair(
    before: Baseline, after: Side, pair: Pair, *, old_model: str, asked: Asked, panel: Panel | None
) -> PairComparison:
    blank = PairComparison(panel=pair[0], model=pair[1], baseline_model=old_model)
    versions, decodings = (
        _version_difference(before, after, blank),
        _decoding_difference(before, after, blank),
    )
    if isinstance(before, AuditSide):
        return _of_audit(before, after, blank, asked=asked, differences=[*versions, *decodings], panel=panel)
    old, new = _cells(before.table, (pair[0], old_model)), _cells(after.table, pair)
    flips = None
    if asked.rescore or (asked.shared and _verifiers(old) != _verifiers(new)):
        old, new, flips = _scored_again(old, new, asked)
    blank = dataclasses.replace(blank, verifier_flips=flips)
    joint = _Joint.of(old, new)
    alike, prompts = joint.asked_alike()
    if flips is not None and flips.versions and not prompts:
        versions = []  # a digest is over the verifier too, and that is one now
    if joint.is_asked_known() and _verifiers(old) and _verifiers(new):
        # The rows themselves tell what a digest is over.
        versions = [found for found in versions if not found.unknown]
    differences = [
        *versions,
        *decodings,
        *_verifier_difference(old, new),
        *_incompleteness(before, (pair[0], old_model)),
        *_grid_differences(old, new),
        *prompts,
    ]
    decoding_known = all(
        side.condition(pair[0], model).decoding is not None
        for side, model in ((before, old_model), (after, pair[1]))
    )
    if old_model == pair[1] and not decoding_known and not prompts:
        differences += _request_difference(joint)
    blank, refused = _settled(blank, differences, asked)
    if refused:
        return blank
    blank = dataclasses.replace(blank, n_comparable=_n_known_to(old, new) - joint.only(~alike).n_scored_after)
    return _compared(blank, joint.only(alike), asked, panel, n_scored=(_n_scored(old), _n_scored(new)))


@dataclass(frozen=True, slots=True)
class _Difference:
    """One thing in which the two sides do not agree."""

    sentence: str
    shareable: bool = True
    """Whether something is left to compare."""
    of_a_model: bool = False
    """Whether two models may differ in it."""
    unknown: bool = False
    """Whether it is only that nobody can tell; that is said, and refuses nothing."""


def _settled(
    blank: PairComparison, differences: Sequence[_Difference], asked: Asked
) -> tuple[PairComparison, bool]:
    """The pair with what its differences come to, and whether it is refused for them."""
    other_model = blank.model != blank.baseline_model
    grave = [
        found
        for found in differences
        if not found.unknown
        and not (asked.shared and found.shareable)
        and not (other_model and found.of_a_model)
    ]
    told = tuple(found.sentence for found in differences)
    if grave:
        return dataclasses.replace(blank, refused=told), True
    return dataclasses.replace(blank, notes=told), False


def _version_difference(before: Baseline, after: Side, pair: PairComparison) -> list[_Difference]:
    old = before.condition(pair.panel, pair.baseline_model).digest
    new = after.condition(pair.panel, pair.model).digest
    if old is None or new is None:
        silent = [name for name, digest in (("the baseline", old), ("this run", new)) if digest is None]
        said = f"{' and '.join(silent)} {'has' if len(silent) == 1 else 'have'} no digest of it"
        return [_Difference(f"the panel's version could not be checked: {said}", unknown=True)]
    if old == new:
        return []
    return [
        _Difference(
            "another version of the panel: its items, forms or verifier have changed "
            f"(digest {old[:12]} before, {new[:12]} now)"
        )
    ]


def _decoding_difference(before: Baseline, after: Side, pair: PairComparison) -> list[_Difference]:
    old = before.condition(pair.panel, pair.baseline_model).decoding
    new = after.condition(pair.panel, pair.model).decoding
    if old is None or new is None or old == new:
        return []
    changed = [
        f"{name} {_value(old, name)} before, {_value(new, name)} now"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
    return [_Difference(f"other decoding settings: {'; '.join(changed)}", shareable=False, of_a_model=True)]


def _value(decoding: Mapping[str, Any], name: str) -> str:
    value = decoding.get(name)
    return "not sent" if value is None else str(value)


def _cells(table: RowTable, pair: Pair) -> RowTable:
    """The rows of one panel and model."""
    panel, model = pair
    return table.take(table.coded("panel").among([panel]) & table.coded("model").among([model]))


def _names(table: RowTable, field_name: str) -> set[Any]:
    """The values that a field takes; rows without one are passed over."""
    column = table.coded(field_name)
    return {column.values[code] for code in set(column.codes.tolist()) if code >= 0}


def _verifiers(table: RowTable) -> tuple[str, ...]:
    return tuple(sorted(_names(table, "verifier")))


def _n_scored(table: RowTable) -> int:
    return int(table.coded("status").among(SCORED_STATUSES).sum())


def _scored_again(old: RowTable, new: RowTable, asked: Asked) -> tuple[RowTable, RowTable, VerifierFlips]:
    """Both sides with the verdicts of the newest verifiers, and which verdicts that has changed."""
    again = [rescore(side.rows(), newest=True, verifier_of=asked.verifier_of) for side in (old, new)]
    flips = VerifierFlips(
        n_before=len(again[0].flips),
        n_after=len(again[1].flips),
        versions=tuple(sorted(set().union(*(done.versions for done in again)))),
        examples=tuple(str(flip) for done in again for flip in done.flips[:MAX_NAMED]),
    )
    return table_of(again[0].rows), table_of(again[1].rows), flips


def _verifier_difference(old: RowTable, new: RowTable) -> Iterator[_Difference]:
    before, after = _verifiers(old), _verifiers(new)
    if before and after and before != after:
        yield _Difference(
            f"other verifiers: {', '.join(before)} before, {', '.join(after)} now", shareable=False
        )


def _grid_differences(old: RowTable, new: RowTable) -> Iterator[_Difference]:
    """Items, forms and repetitions that one side alone has."""
    for field_name in ("item", "form", "repetition"):
        before, after = _names(old, field_name), _names(new, field_name)
        parts = [
            f"{len(names)} only {where} ({_first(names)})"
            for names, where in ((before - after, "in the baseline"), (after - before, "in this run"))
            if names
        ]
        if parts:
            yield _Difference(f"other {field_name}s: {', '.join(parts)}")


def _incompleteness(before: Side, pair: Pair) -> Iterator[_Difference]:
    """Whether the earlier run lacks cells that it had planned."""
    lacking = before.lacking.get(pair)
    if lacking is not None:
        yield _Difference(f"the baseline is incomplete: {lacking}")


def _n_known_to(old: RowTable, new: RowTable) -> int:
    """Scored cells of ``new`` whose item, form and repetition ``old`` has, though perhaps not in one cell."""
    known = new.coded("status").among(SCORED_STATUSES)
    for name in ("item", "form", "repetition"):
        known &= new.coded(name).among(_names(old, name))
    return int(known.sum())


def _first(names: Collection[Any]) -> str:
    ordered = [str(name) for name in sorted(names)]
    return ", ".join(ordered[:MAX_NAMED]) + (", …" if len(ordered) > MAX_NAMED else "")


def _request_difference(joint: _Joint) -> Iterator[_Difference]:
    """Whether the same prompts were sent in other requests; asked where the decoding is not known."""
    old, new = (table.packed("request_digest") for table in (joint.old, joint.new))
    for row_old, row_new in zip(joint.rows_old.tolist(), joint.rows_new.tolist(), strict=True):
        before, after = old.get(row_old), new.get(row_new)
        if before is not None and after is not None and before != after:
            yield _Difference(
                f"other requests for the same prompts, such as {named(joint.new.row(row_new).key)} "
                f"(digest {before[:12]} before, {after[:12]} now): "
                "URL, model identifier or decoding settings have changed"
            )
            return


def _compared(
    blank: PairComparison, joint: _Joint, asked: Asked, panel: Panel | None, *, n_scored: tuple[int, int]
) -> PairComparison:
    import numpy as np

    both = joint.only(joint.scored())
    n_paired = len(both.rows_old)
    if not n_paired:
        return dataclasses.replace(blank, refused=("no cell was scored in both runs", *blank.notes), notes=())
    counts = both.counts(panel)
    return dataclasses.replace(
        blank,
        result=compare_paired(
            counts,
            replicates=asked.replicates,
            rng=np.random.default_rng(asked.seed) if asked.replicates else None,
        ),
        n_paired=n_paired,
        n_only_before=n_scored[0] - n_paired,
        n_only_after=n_scored[1] - n_paired,
        flips=both.flips(counts.forms),
        why_no_intervals=None if asked.replicates else "nothing was resampled",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """The cells that both sides have a row of."""

    old: RowTable
    new: RowTable
    rows_old: Ints
    """Of each such cell its row in ``old``."""
    rows_new: Ints

    @classmethod
    def of(cls, old: RowTable, new: RowTable) -> _Joint:
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

    def only(self, cells: Any) -> _Joint:
        """Some of the cells, chosen by truths."""
        return _Joint(self.old, self.new, self.rows_old[cells], self.rows_new[cells])

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

    def asked_alike(self) -> tuple[Any, list[_Difference]]:
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
            _Difference(
                f"other prompts or targets: {n_others} of {len(alike)} cells, "
                f"such as item {example.item}, form {example.form}"
            )
        ]

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


def _of_audit(
    before: AuditSide,
    after: Side,
    blank: PairComparison,
    *,
    asked: Asked,
    differences: list[_Difference],
    panel: Panel | None,
) -> PairComparison:
    """Counts of an earlier audit against those of these rows, form by form."""
    forms: Mapping[str, Any] = before.document["panels"][blank.panel]["by_model"][blank.baseline_model][
        "forms"
    ]
    old = {form: Rate(found["n_compliant"], found["n"]) for form, found in forms.items()}
    new = _rates(_cells(after.table, (blank.panel, blank.model)))
    parts = [
        f"{len(names)} only {where} ({_first(names)})"
        for names, where in (
            (old.keys() - new.keys(), "in the baseline"),
            (new.keys() - old.keys(), "in this run"),
        )
        if names
    ]
    if parts:
        differences.append(_Difference(f"other forms: {', '.join(parts)}"))
    sizes = [form for form in old if form in new and old[form].n != new[form].n]
    if sizes:
        differences.append(
            _Difference(
                f"another number of scored cells: form {sizes[0]} has {old[sizes[0]].n} before, "
                f"{new[sizes[0]].n} now",
                shareable=False,
            )
        )
    blank, refused = _settled(blank, differences, asked)
    if refused:
        return blank
    known = [form.form_id for form in panel.forms] if panel is not None else []
    shared = sorted(old.keys() & new.keys(), key=lambda form: (form not in known, form))
    ordered = [*(form for form in known if form in shared), *(form for form in shared if form not in known)]
    changes = {form: _unpaired(old[form], new[form]) for form in ordered}
    summaries = summary_changes({form: (old[form], new[form]) for form in ordered})
    return dataclasses.replace(
        blank,
        result=PairedResult(forms=changes, n_items=0, family_size=0, **summaries),
        why_no_intervals=NO_CELLS,
    )


def _rates(table: RowTable) -> dict[str, Rate]:
    form = table.coded("form")
    scored = table.coded("status").among(SCORED_STATUSES)
    compliant = table.coded("compliant").among([True]) & scored
    return {
        value: Rate(int((compliant & (form.codes == code)).sum()), int((scored & (form.codes == code)).sum()))
        for code, value in enumerate(form.values)
        if (form.codes == code).any()
    }


def _unpaired(before: Rate, after: Rate) -> Change:
    known = before.fraction is not None and after.fraction is not None
    return Change(
        before=before,
        after=after,
        diff=after.fraction - before.fraction if known else None,  # type: ignore[operator]
        interval=None,
        simultaneous=None,
        p=None,
        p_holm=None,
        n_changed=0,
        reason=NO_CELLS,
    )

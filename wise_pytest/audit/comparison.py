"""What has changed between two runs: form by form, and verdict by verdict.

``finish`` and ``wise compare`` call ``compare``. Cells are paired by panel,
model, item, form and repetition. What was asked for, how, and who scored it
must agree; where it does not, the pair is refused and the difference told, or
compared on what both sides share if that was asked for.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.baseline import AuditSide, Side
from wise_pytest.audit.differences import (
    MAX_NAMED,
    Difference,
    decoding_difference,
    grid_differences,
    incompleteness,
    names_of,
    one_sided,
    verifier_difference,
    verifiers_of,
    version_difference,
)
from wise_pytest.audit.joint import Joint
from wise_pytest.audit.rows import rescore
from wise_pytest.audit.table import table_of
from wise_pytest.errors import OptionError
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import SCORED_STATUSES
from wise_pytest.stats.paired import Change, PairedResult, compare_paired, summary_changes
from wise_pytest.stats.rates import Rate
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wise_pytest.audit.baseline import Baseline
    from wise_pytest.audit.conditions import Pair
    from wise_pytest.audit.joint import ItemFlips
    from wise_pytest.audit.table import RowTable
    from wise_pytest.panels.model import Panel
    from wise_pytest.verifiers.registry import Verifier

NO_CELLS = "the baseline is an audit, which holds no single cells: no pairing, no intervals, no flips"


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
    conditions = before.condition(pair[0], old_model), after.condition(*pair)
    versions, decodings = version_difference(*conditions), decoding_difference(*conditions)
    if isinstance(before, AuditSide):
        return _of_audit(before, after, blank, asked=asked, differences=[*versions, *decodings], panel=panel)
    old, new = _cells(before.table, (pair[0], old_model)), _cells(after.table, pair)
    flips = None
    if asked.rescore or (asked.shared and verifiers_of(old) != verifiers_of(new)):
        old, new, flips = _scored_again(old, new, asked)
    blank = dataclasses.replace(blank, verifier_flips=flips)
    joint = Joint.of(old, new)
    alike, prompts = joint.asked_alike()
    if flips is not None and flips.versions and not prompts:
        versions = []  # a digest is over the verifier too, and that is one now
    if joint.is_asked_known() and verifiers_of(old) and verifiers_of(new):
        # The rows themselves tell what a digest is over.
        versions = [found for found in versions if not found.unknown]
    differences = [
        *versions,
        *decodings,
        *verifier_difference(old, new),
        *incompleteness(before, (pair[0], old_model)),
        *grid_differences(old, new),
        *prompts,
    ]
    decoding_known = all(condition.decoding is not None for condition in conditions)
    if old_model == pair[1] and not decoding_known and not prompts:
        differences += joint.other_requests()
    blank, refused = _settled(blank, differences, asked)
    if refused:
        return blank
    blank = dataclasses.replace(blank, n_comparable=_n_known_to(old, new) - joint.only(~alike).n_scored_after)
    return _compared(blank, joint.only(alike), asked, panel, n_scored=(_n_scored(old), _n_scored(new)))


def _settled(
    blank: PairComparison, differences: Sequence[Difference], asked: Asked
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


def _cells(table: RowTable, pair: Pair) -> RowTable:
    """The rows of one panel and model."""
    panel, model = pair
    return table.take(table.coded("panel").among([panel]) & table.coded("model").among([model]))


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


def _n_known_to(old: RowTable, new: RowTable) -> int:
    """Scored cells of ``new`` whose item, form and repetition ``old`` has, though perhaps not in one cell."""
    known = new.coded("status").among(SCORED_STATUSES)
    for name in ("item", "form", "repetition"):
        known &= new.coded(name).among(names_of(old, name))
    return int(known.sum())


def _compared(
    blank: PairComparison, joint: Joint, asked: Asked, panel: Panel | None, *, n_scored: tuple[int, int]
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


def _of_audit(
    before: AuditSide,
    after: Side,
    blank: PairComparison,
    *,
    asked: Asked,
    differences: list[Difference],
    panel: Panel | None,
) -> PairComparison:
    """Counts of an earlier audit against those of these rows, form by form."""
    forms: Mapping[str, Any] = before.document["panels"][blank.panel]["by_model"][blank.baseline_model][
        "forms"
    ]
    old = {form: Rate(found["n_compliant"], found["n"]) for form, found in forms.items()}
    new = _rates(_cells(after.table, (blank.panel, blank.model)))
    differences += one_sided("form", old.keys(), new.keys())
    sizes = [form for form in old if form in new and old[form].n != new[form].n]
    if sizes:
        differences.append(
            Difference(
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

"""What has changed between two runs of the same cells: paired differences, resampled by item.

Called by the audit's ``comparison`` and by ``power``. Every cell that was scored
in both runs is one pair; an item keeps all its forms and repetitions, so
whatever they share is never taken for evidence twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import exp, lgamma, log
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.stats.bootstrap import MIN_UNITS, item_weights
from wise_pytest.stats.contrasts import CONFIDENCE, percentile_interval, too_many_undefined, two_sided_p
from wise_pytest.stats.multiplicity import holm
from wise_pytest.stats.rates import Interval, Rate, wilson_interval
from wise_pytest.stats.summary import summarize_forms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Truths: TypeAlias = NDArray[np.bool_]

ALPHA = 0.05
"""A corrected p value below this is taken for a change. Not 1 - CONFIDENCE, which is a little more."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedCounts:
    """Cells that were scored in both runs, by item and form.

    Raises
    ------
    ValueError
        If shapes do not fit the names, or the counts are not between none and all.
    """

    items: tuple[str, ...]
    forms: tuple[str, ...]
    before: Ints
    """Compliant cells of the earlier run, shape ``(n_items, n_forms)``."""
    after: Ints
    """Compliant cells of the later run, same shape."""
    n: Ints
    """Pairs, same shape; repetitions of a cell are added up."""

    def __post_init__(self) -> None:
        shape = (len(self.items), len(self.forms))
        for counts in (self.before, self.after):
            if counts.shape != shape or self.n.shape != shape:
                raise ValueError(f"counts of shape {counts.shape} and {self.n.shape} for {shape} names")
            if ((counts < 0) | (counts > self.n)).any():
                raise ValueError("compliant cells must be between none and all pairs")


@dataclass(frozen=True, slots=True)
class Change:
    """One form in the earlier and in the later run."""

    before: Rate
    after: Rate
    """Over the same cells."""
    diff: Fraction | None
    """Later minus earlier, -1..1; ``None`` without a pair."""
    interval: Interval | None
    """95 % percentile interval of ``diff``; by Wilson's bound where all items changed alike, or none."""
    simultaneous: Interval | None
    """The same at a level that holds for all forms together, by Bonferroni's correction."""
    p: float | None
    """Two-sided, raw."""
    p_holm: float | None
    """Corrected over the forms."""
    n_changed: int
    """Items with more or fewer compliant cells than before."""
    reason: str | None
    """Why there is no interval or no p value."""

    @property
    def changed(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return self.p_holm is not None and self.p_holm < ALPHA and bool(self.diff)

    @property
    def worse(self) -> bool:
        """Whether the form has become worse, beyond what chance explains."""
        return self.changed and self.diff is not None and self.diff < 0


@dataclass(frozen=True, slots=True)
class SummaryChange:
    """A figure over all forms in the earlier and in the later run: mean, worst form or wording gap."""

    before: Fraction
    after: Fraction
    interval: Interval | None
    """95 % interval of later minus earlier, as that of a form."""

    @property
    def diff(self) -> Fraction:
        """Later minus earlier."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class PairedResult:
    """Everything that two runs of one model in one panel come to."""

    forms: Mapping[str, Change]
    mean: SummaryChange | None
    """``None`` where no form has a pair."""
    worst: SummaryChange | None
    gap: SummaryChange | None
    """``None`` with fewer than two forms that have pairs, too."""
    n_items: int
    family_size: int
    """Forms whose p values were corrected together."""


def compare_paired(counts: PairedCounts, *, replicates: int, rng: np.random.Generator | None) -> PairedResult:
    r"""Compare two runs form by form.

    Parameters
    ----------
    counts
        Pairs of one model in one panel; a form or item without pairs is missing, not failed.
    replicates
        Bootstrap replicates; with 0 there are no intervals and no p values.
    rng
        The source of all draws; one draw of items serves all forms.

    Returns
    -------
    PairedResult
        Forms in the order of ``counts``.

    Notes
    -----
    Items are drawn with replacement. A replicate's difference of a form is
    :math:`\sum_i w_i (a_i - b_i) / \sum_i w_i n_i` with the weights :math:`w`
    of the items drawn, so both rates come from the same items.

    The p value is the larger of two: that of ``contrasts.two_sided_p``, and that
    of ``sign_flip_p``. The first is about the mean over items and a little too
    small where few items have changed; the second is exact if a change could as
    well have gone the other way, however few there are.
    Holm's correction and the simultaneous intervals are over all forms with a pair.

    Where all items changed alike, or none did, resampling varies nothing, and
    that is not certainty. Wilson's bound on the share of items that do as all
    :math:`n` did, :math:`l = n / (n + z^2)`, stands in: a change by :math:`x`
    has the interval from :math:`x l` to :math:`x`, and no change that of
    :math:`\pm (1 - l)`, since an item changes by at most 1. A gap, which two
    forms make, has twice that.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their
    application, sections 4.3 (permutation) and 4.4 (bootstrap tests);
    S. Holm (1979), Scandinavian Journal of Statistics 6, 65-70.
    """
    before, after, n = (part.sum(axis=0).tolist() for part in (counts.before, counts.after, counts.n))
    rates = {
        form: (Rate(before[place], n[place]), Rate(after[place], n[place]))
        for place, form in enumerate(counts.forms)
    }
    paired = [place for place, form in enumerate(counts.forms) if n[place]]
    n_items = int((counts.n.sum(axis=1) > 0).sum())
    net = counts.after - counts.before
    n_changed = (net != 0).sum(axis=0).tolist()
    draws: _Draws | None = None
    if replicates and rng is not None and n_items >= MIN_UNITS:
        draws = _draw(counts, replicates, rng)
    raw: dict[str, float | None] = {
        counts.forms[place]: None
        if draws is None
        else max(two_sided_p(draws.differences(place)), sign_flip_p(net[:, place].tolist()))
        for place in paired
    }
    family = holm(raw)
    level = 1 - ALPHA / max(len(paired), 1)
    forms: dict[str, Change] = {}
    for place, form in enumerate(counts.forms):
        old, new = rates[form]
        n_paired = int((counts.n[:, place] > 0).sum())
        interval, simultaneous, reason = _intervals(
            draws, place, rates[form], n_items=n_items, n_paired=n_paired, level=level
        )
        forms[form] = Change(
            before=old,
            after=new,
            diff=None if old.fraction is None or new.fraction is None else new.fraction - old.fraction,
            interval=interval,
            simultaneous=simultaneous,
            p=raw.get(form),
            p_holm=family.adjusted.get(form),
            n_changed=n_changed[place],
            reason=reason,
        )
    return PairedResult(
        forms=forms,
        **summary_changes(rates, _summary_intervals(paired, draws, n_items=n_items)),
        n_items=n_items,
        family_size=family.size,
    )


def sign_flip_p(net: Sequence[int]) -> float:
    r"""How rarely the items' net changes add up to so much, if each could as well have had the other sign.

    .. math:: p = 2^{-k}\, \#\{s \in \{-1, 1\}^k : |\sum_i s_i c_i| \ge |\sum_i c_i|\}

    over the :math:`k` items with a net change :math:`c_i` that is not zero.
    Items whose change has one size add up to that size times a binomial count,
    so the sums of a few sizes are what is convolved.

    Parameters
    ----------
    net
        Compliant cells of an item now, minus those before.

    Returns
    -------
    float
        In (0, 1]; 1 where nothing has changed.

    References
    ----------
    A. C. Davison and D. V. Hinkley (1997), Bootstrap methods and their
    application, section 4.3.
    """
    import numpy as np

    sizes = Counter(abs(change) for change in net if change)
    reach = sum(size * count for size, count in sizes.items())
    shares = np.ones(1)
    for size, count in sizes.items():
        own = np.zeros(2 * size * count + 1)
        own[:: 2 * size] = [_coins(count, heads) for heads in range(count + 1)]
        shares = np.convolve(shares, own)
    sums = np.abs(np.arange(-reach, reach + 1))
    return min(1.0, float(shares[sums >= abs(sum(net))].sum()))


def _coins(count: int, heads: int) -> float:
    """How likely so many of ``count`` fair coins show heads."""
    return exp(lgamma(count + 1) - lgamma(heads + 1) - lgamma(count - heads + 1) - count * log(2))


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """Rates of both runs in every replicate, shape ``(n_replicates, n_forms)``."""

    before: Floats
    after: Floats
    scored: Truths

    def differences(self, place: int) -> Floats:
        """Later minus earlier of one form, where the replicate drew pairs of it."""
        kept = self.scored[:, place]
        differences: Floats = self.after[kept, place] - self.before[kept, place]
        return differences


def _draw(counts: PairedCounts, replicates: int, rng: np.random.Generator) -> _Draws:
    import numpy as np

    present = counts.n.sum(axis=1) > 0
    n_forms = len(counts.forms)
    table = np.concatenate([counts.before, counts.after, counts.n], axis=1)[present].astype(np.float64)
    sums = np.concatenate(
        [weights @ table for weights in item_weights(len(table), replicates=replicates, rng=rng)]
    )
    before, after, n = sums[:, :n_forms], sums[:, n_forms : 2 * n_forms], sums[:, 2 * n_forms :]
    at_least_one = np.maximum(n, 1)
    # Whole numbers: equal counts divide to equal rates, so a difference of zero is exactly zero.
    return _Draws(before / at_least_one, after / at_least_one, n > 0)


def _intervals(
    draws: _Draws | None,
    place: int,
    rates: tuple[Rate, Rate],
    *,
    n_items: int,
    n_paired: int,
    level: float,
) -> tuple[Interval | None, Interval | None, str | None]:
    """The 95 % interval of a form's difference, the simultaneous one, and why there are none."""
    if not rates[0].n:
        return None, None, "no cell was scored in both runs"
    if draws is None:
        return (
            None,
            None,
            "fewer than two items to resample" if n_items < MIN_UNITS else "nothing was resampled",
        )
    kept = draws.differences(place)
    reason = too_many_undefined(len(kept), len(draws.scored), "draw no pair of this form")
    if reason is not None:
        return None, None, reason
    return _interval(kept, n_paired), _interval(kept, n_paired, confidence=level), None


def _interval(
    differences: Floats, n_items: int, *, confidence: float = CONFIDENCE, reach: float = 1.0
) -> Interval:
    """The percentile interval; where no replicate differs from another, what Wilson's bound says.

    Parameters
    ----------
    differences
        Later minus earlier, one a replicate.
    n_items
        Items that were resampled and have a pair.
    reach
        How far the figure changes at most if every item does.
    """
    size = float(differences[0])
    if float(differences.min()) < float(differences.max()):
        return percentile_interval(differences, confidence=confidence)
    alike = wilson_interval(Rate(n_items, n_items), confidence=confidence).low
    if size:
        return Interval(min(size, size * alike), max(size, size * alike))
    most = min(1.0, reach * (1 - alike))
    return Interval(-most, most)


def summary_changes(
    rates: Mapping[str, tuple[Rate, Rate]], intervals: Mapping[str, Interval] | None = None
) -> dict[str, SummaryChange | None]:
    """Changes of the mean, the worst form and the wording gap, over the forms that both sides have.

    Parameters
    ----------
    rates
        By form, its rate in the earlier and in the later run.
    intervals
        By figure; those that there are.
    """
    paired = {form: pair for form, pair in rates.items() if pair[0].n and pair[1].n}
    old, new = (
        summarize_forms({form: pair[side] for form, pair in paired.items()}, reference="") for side in (0, 1)
    )
    if old is None or new is None:
        return {"mean": None, "worst": None, "gap": None}
    figures = {"mean": (old.mean, new.mean), "worst": (old.worst, new.worst), "gap": (old.gap, new.gap)}
    return {
        name: None
        if before is None or after is None
        else SummaryChange(before=before, after=after, interval=(intervals or {}).get(name))
        for name, (before, after) in figures.items()
    }


def _summary_intervals(paired: Sequence[int], draws: _Draws | None, *, n_items: int) -> dict[str, Interval]:
    """By figure; none where nothing was resampled, or too few replicates draw pairs of every form."""
    import numpy as np

    intervals: dict[str, Interval] = {}
    if draws is not None and paired:
        complete: Truths = np.all(draws.scored[:, paired], axis=1)
        if too_many_undefined(int(complete.sum()), len(complete), "") is None:
            old, new = (
                np.ascontiguousarray(side[complete][:, paired]) for side in (draws.before, draws.after)
            )
            intervals = {
                "mean": _interval(new.mean(axis=1) - old.mean(axis=1), n_items),
                "worst": _interval(new.min(axis=1) - old.min(axis=1), n_items),
                "gap": _interval(
                    (new.max(axis=1) - new.min(axis=1)) - (old.max(axis=1) - old.min(axis=1)),
                    n_items,
                    reach=2.0,
                ),
            }
    return intervals

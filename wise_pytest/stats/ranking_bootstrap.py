"""How firmly the items hold a ranking of the models: intervals of the stability measures.

Called by the audit's ``uncertainty``. Items are resampled jointly for all
models, as the paper does for Table 5; models are not, for a ranking is about
the models at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.stats.bootstrap import MIN_UNITS, joint_sums
from wise_pytest.stats.contrasts import percentile_intervals, too_many_undefined
from wise_pytest.stats.ranking import (
    MIN_MODELS,
    doubled_ranks,
    ordered_pairs,
    pairwise_order,
    reversals,
    top_set,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.stats.bootstrap import ItemCounts
    from wise_pytest.stats.rates import Interval

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Truths: TypeAlias = NDArray[np.bool_]

MEASURES = ("tau_b", "reversal", "top3_jaccard", "max_rank_shift")
_CHUNK_PAIRS = 2**18
"""Pairs of models compared at a time (2 MB); no result depends on it."""


@dataclass(frozen=True, slots=True)
class RankingIntervals:
    """95 % item-bootstrap intervals of one form's ranking stability.

    The four are available together or not at all; ``reason`` says why not.
    """

    tau_b: Interval | None
    reversal: Interval | None
    top3_jaccard: Interval | None
    max_rank_shift: Interval | None
    degenerate: tuple[str, ...]
    """Measures that are equal in all replicates, whose interval therefore has no width."""
    n_replicates: int
    """Replicates in which the measures are defined; the intervals rest on these."""
    reason: str | None = None

    @classmethod
    def unavailable(cls, reason: str, *, n_replicates: int = 0) -> RankingIntervals:
        """No interval of any measure."""
        return cls(
            tau_b=None,
            reversal=None,
            top3_jaccard=None,
            max_rank_shift=None,
            degenerate=(),
            n_replicates=n_replicates,
            reason=reason,
        )


def ranking_intervals(
    counts: ItemCounts, *, reference: str, replicates: int, rng: np.random.Generator
) -> dict[str, RankingIntervals]:
    """Resample the items and compare each form's ranking with that of the reference form.

    Parameters
    ----------
    counts
        One panel, the models to rank.
    reference
        One of ``counts.forms``.
    replicates
        Number of replicates, from 1.
    rng
        The source of all draws; one draw of items serves all forms.

    Returns
    -------
    dict
        Every form but the reference. A form ranks the models that have scored
        rows under it and under the reference form, as
        ``ranking.ranking_stability`` does. A replicate that leaves one of them
        without rows, or ties all of them under either form, ranks nothing: it
        is left out, and where that is 1 % of them or more there is no interval.
    """
    import numpy as np

    n_items = counts.n.shape[1]
    place = counts.forms.index(reference)
    others = {form: index for index, form in enumerate(counts.forms) if index != place}
    if n_items < MIN_UNITS:
        return dict.fromkeys(others, RankingIntervals.unavailable("fewer than two items to resample"))
    sums = np.stack(joint_sums(counts, replicates=replicates, rng=rng), axis=2)
    has_rows = counts.n.sum(axis=1) > 0  # (n_models, n_forms)
    return {
        form: _intervals(sums[:, has_rows[:, place] & has_rows[:, index]][..., [place, index]])
        for form, index in others.items()
    }


def _intervals(sums: Ints) -> RankingIntervals:
    """Intervals out of counts ``(replicates, models to rank, (compliant, scored), (reference, form))``."""
    import numpy as np

    replicates, n_models = sums.shape[:2]
    if n_models < MIN_MODELS:
        return RankingIntervals.unavailable(
            "a ranking needs two models with scored generations under both forms"
        )
    step = max(1, _CHUNK_PAIRS // n_models**2)
    parts = [_measures(sums[start : start + step]) for start in range(0, replicates, step)]
    measured, defined = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    kept = measured[defined]
    reason = too_many_undefined(
        len(kept), replicates, "tie all models under one of the two forms, or draw no row of one of them"
    )
    if reason is not None:
        return RankingIntervals.unavailable(reason, n_replicates=len(kept))
    tau_b, reversal, top3_jaccard, max_rank_shift = percentile_intervals(kept)
    return RankingIntervals(
        tau_b=tau_b,
        reversal=reversal,
        top3_jaccard=top3_jaccard,
        max_rank_shift=max_rank_shift,
        degenerate=tuple(
            name for name, values in zip(MEASURES, kept.T, strict=True) if (values == values[0]).all()
        ),
        n_replicates=len(kept),
    )


def _measures(sums: Ints) -> tuple[Floats, Truths]:
    """The four measures of each replicate, ``(n, 4)``, and whether they are defined, ``(n,)``."""
    import numpy as np

    before, after = (pairwise_order(sums[:, :, 0, form], sums[:, :, 1, form]) for form in (0, 1))
    n_reversed, n_pairs = reversals(before, after)
    n_ordered = ordered_pairs(before) * ordered_pairs(after)
    scored = sums[:, :, 1, :].all(axis=(1, 2))
    # Two rankings that both order something order some pair in common, so the one test covers all.
    defined: Truths = scored & (n_ordered > 0)
    top_before, top_after = top_set(before), top_set(after)
    shift = np.abs(doubled_ranks(before) - doubled_ranks(after)).max(axis=1)
    # Where undefined the denominators may be zero; one in their place keeps the line harmless.
    return np.stack(
        [
            (n_pairs - 2 * n_reversed) / np.sqrt(np.where(defined, n_ordered, 1)),
            n_reversed / np.where(n_pairs > 0, n_pairs, 1),
            (top_before & top_after).sum(axis=1) / (top_before | top_after).sum(axis=1),
            shift / 2,
        ],
        axis=1,
    ), defined

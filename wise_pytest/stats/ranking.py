"""Ranking stability: how far another wording orders the models differently.

Called by the audit with one rate a model under the reference form and under
another. Everything is derived from one table, the sign of each pairwise
difference, which is taken from integer products and is therefore exact. The
helpers accept leading axes, so a bootstrap can pass all its replicates at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.stats.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]

MIN_MODELS = 2
TOP = 3


@dataclass(frozen=True, slots=True)
class RankingStability:
    """How far a form keeps the order of the models that the reference form gives.

    The four measures are defined together or not at all; ``reason`` says why not.
    """

    tau_b: float | None
    """Kendall's tau-b, -1..1."""
    reversal: Rate | None
    """Of the pairs strictly ordered under both forms, those whose order is reversed."""
    top3_jaccard: Fraction | None
    """Overlap of the two top-three sets, 0..1."""
    max_rank_shift: Fraction | None
    """Largest absolute difference in average rank, in ranks."""
    n_models: int
    reason: str | None = None


def ranking_stability(reference: Sequence[Rate], form: Sequence[Rate]) -> RankingStability:
    r"""Compare the order of models under a form with that under the reference form.

    Parameters
    ----------
    reference, form
        One rate a model, the same models in the same order; every rate has at
        least one generation.

    Returns
    -------
    RankingStability
        Without measures, and with a reason, where there are fewer than two
        models or where one of the two forms ties all of them: such a form
        orders nothing, so nothing can agree or disagree with it.

    Raises
    ------
    ValueError
        If the lengths differ or a rate is undefined.

    Notes
    -----
    With :math:`S` the pairs ordered alike minus those ordered in reverse, and
    :math:`n_r`, :math:`n_f` the pairs strictly ordered under either form,
    :math:`\tau_b = S / \sqrt{n_r n_f}`. This is ``scipy.stats.kendalltau`` with
    ``variant="b"``, against which the tests compare it; one square root of the
    product, where scipy divides by two roots in turn, makes equal orders with
    ties exactly 1, and a replay session is spared the import.

    Reversal: equation 10 of the paper. A top-three set holds every model whose
    competition rank (1, 2, 2, 4) is at most three. Average ranks share the mean
    of the places that tied models take.

    References
    ----------
    M. G. Kendall (1945), The treatment of ties in ranking problems, Biometrika
    33, 239-251.
    """
    if len(reference) != len(form):
        raise ValueError(f"{len(reference)} reference rates for {len(form)} rates of the form")
    if any(rate.n == 0 for rate in (*reference, *form)):
        raise ValueError("a model without scored generations cannot be ranked")
    n_models = len(reference)
    if n_models < MIN_MODELS:
        return _undefined(n_models, "a ranking needs two models with scored generations under both forms")
    before, after = _order_of(reference), _order_of(form)
    tied = [name for name, order in (("the reference form", before), ("this form", after)) if not order.any()]
    if tied:
        return _undefined(n_models, f"all models are tied under {' and '.join(tied)}")
    n_reversed, n_pairs = (int(count) for count in reversals(before, after))
    agreement = n_pairs - 2 * n_reversed
    n_ordered = ordered_pairs(before) * ordered_pairs(after)
    top_before, top_after = top_set(before), top_set(after)
    shift = abs(doubled_ranks(before) - doubled_ranks(after)).max()
    return RankingStability(
        tau_b=agreement / sqrt(int(n_ordered)),
        reversal=Rate(n_reversed, n_pairs),
        top3_jaccard=Fraction(int((top_before & top_after).sum()), int((top_before | top_after).sum())),
        max_rank_shift=Fraction(int(shift), 2),
        n_models=n_models,
    )


def average_ranks(rates: Sequence[Rate]) -> tuple[Fraction, ...]:
    """The rank of each model among all, 1 the best; models with equal rates share the mean of their ranks.

    Parameters
    ----------
    rates
        One a model, each with a scored generation; compared as exact fractions.

    Returns
    -------
    tuple of Fraction
        Whole or half numbers, in the order given.
    """
    if not rates:
        return ()
    return tuple(Fraction(doubled, 2) for doubled in doubled_ranks(_order_of(rates)).tolist())


def pairwise_order(n_compliant: Ints, n: Ints) -> Ints:
    """Sign of each difference of two rates, compared as exact fractions.

    Parameters
    ----------
    n_compliant, n
        Counts, shape ``(..., n_models)``, ``n`` positive; products of two
        counts must fit 63 bits.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., n_models, n_models)``: 1 where the row's model is the
        better one, -1 where the column's is, 0 for equal rates.
    """
    import numpy as np

    left = n_compliant[..., :, None] * n[..., None, :]
    right = n_compliant[..., None, :] * n[..., :, None]
    signs: Ints = np.sign(left - right)
    return signs


def reversals(before: Ints, after: Ints) -> tuple[Ints, Ints]:
    """Reversed pairs and pairs strictly ordered under both, each of shape ``(...)``."""
    product = before * after
    # Both triangles hold every pair once, so each count is halved.
    n_reversed: Ints = (product < 0).sum(axis=(-2, -1)) // 2
    n_pairs: Ints = (product != 0).sum(axis=(-2, -1)) // 2
    return n_reversed, n_pairs


def ordered_pairs(order: Ints) -> Ints:
    """Pairs of models with different rates, shape ``(...)``."""
    n_pairs: Ints = (order != 0).sum(axis=(-2, -1)) // 2
    return n_pairs


def doubled_ranks(order: Ints) -> Ints:
    """Twice the average rank of each model (an integer), rank 1 the best; shape ``(..., n_models)``."""
    n_better = (order < 0).sum(axis=-1)
    n_equal = (order == 0).sum(axis=-1)  # counts the model itself
    ranks: Ints = 2 * n_better + n_equal + 1
    return ranks


def top_set(order: Ints, *, size: int = TOP) -> NDArray[np.bool_]:
    """Models whose competition rank is at most ``size``; shape ``(..., n_models)``."""
    top: NDArray[np.bool_] = (order < 0).sum(axis=-1) < size
    return top


def _order_of(rates: Sequence[Rate]) -> Ints:
    import numpy as np

    n_compliant = np.array([rate.n_compliant for rate in rates], dtype=np.int64)
    return pairwise_order(n_compliant, np.array([rate.n for rate in rates], dtype=np.int64))


def _undefined(n_models: int, reason: str) -> RankingStability:
    return RankingStability(
        tau_b=None, reversal=None, top3_jaccard=None, max_rank_shift=None, n_models=n_models, reason=reason
    )

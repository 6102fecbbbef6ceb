"""Agreement between annotators: Fleiss' kappa, ICC(2,k), and intervals over items.

Called by ``audit.agreement``. The estimates come from statsmodels and
pingouin; the replicates of the bootstrap come from the same formulas as
matrix products over all of them at once, in exact integers up to one division.
Both libraries load when they are used.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.stats.contrasts import CONFIDENCE, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.stats.rates import Interval

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Terms: TypeAlias = tuple[Floats, Floats]

Statistic: TypeAlias = Literal["fleiss_kappa", "icc_2k"]

MIN_ITEMS = 2
MIN_ANNOTATORS = 2
MAX_UNDEFINED = 1 - CONFIDENCE
"""Undefined replicates beyond this share outnumber those that the interval leaves outside.

More than a contrast may have: where annotators are nearly unanimous, some sets
of items on which all of them agree are to be expected."""

MISSING_STATSMODELS = "Fleiss' kappa needs statsmodels: pip install 'wise-pytest[agreement]'"
MISSING_PINGOUIN = "ICC(2,k) needs pingouin: pip install 'wise-pytest[agreement]'"
UNKNOWN_PINGOUIN = "this pingouin does not name ICC(2,k): pip install --upgrade 'wise-pytest[agreement]'"

_PINGOUIN_NAMES = ("ICC(A,k)", "ICC2k")
"""What pingouin calls ICC(2,k), since 0.6 and before."""
_PINGOUIN_MIN_RATINGS = 5
_MATRIX = 2


@dataclass(frozen=True, slots=True)
class Agreement:
    """One agreement statistic with its interval; what is ``None`` has its reason beside it."""

    statistic: Statistic
    value: float | None
    """At most 1; 0 is the agreement of chance (kappa) or no reliability (ICC), below is worse."""
    reason: str | None
    """Why there is no value, and so no interval either."""
    interval: Interval | None
    """Percentile interval at 95 %, over the replicates with a value."""
    interval_reason: str | None
    """Why there is a value and no interval."""
    n_items: int
    n_annotators: int
    n_replicates: int
    n_defined: int
    """Replicates with a value."""

    @property
    def degenerate(self) -> bool:
        """Whether the interval has no width, and so says nothing of the uncertainty."""
        return self.interval is not None and self.interval.low == self.interval.high


def draw_items(n_items: int, *, n_replicates: int, rng: np.random.Generator) -> Ints:
    """How often each replicate holds each item; an item keeps all its annotators.

    Parameters
    ----------
    n_items
        Items of the sample, and of each replicate.
    n_replicates
        From 0.
    rng
        The only source of randomness.

    Returns
    -------
    numpy.ndarray
        Shape ``(n_replicates, n_items)``; each row sums to ``n_items``. Drawing
        with replacement and counting is one multinomial draw.
    """
    import numpy as np

    draws: Ints = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=n_replicates)
    return draws


def fleiss_kappa(counts: Ints, draws: Ints) -> Agreement:
    r"""Agreement beyond chance of annotators who put every item into one category.

    Parameters
    ----------
    counts
        Shape ``(n_items, n_categories)``: how many annotators chose each
        category. Every row sums to the number of annotators, at least 2; at
        least 2 items.
    draws
        Shape ``(n_replicates, n_items)``, as ``draw_items`` returns it.

    Returns
    -------
    Agreement
        Without a value, and with the reason, where statsmodels is not installed;
        undefined where all judgments are one category: chance then agrees always,
        and kappa is 0/0. Annotators who agree on every item, and use two
        categories or more, have kappa 1.

    Raises
    ------
    ValueError
        If the shapes do not fit, or the rows have different sums.

    Notes
    -----
    .. math:: \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}

    with :math:`\bar P` the mean share of agreeing pairs of annotators and
    :math:`\bar P_e` the sum of squared shares of the categories. Estimated by
    ``statsmodels.stats.inter_rater.fleiss_kappa``. Where nearly all judgments
    are alike, :math:`\bar P_e` is close to 1 and kappa is low however well
    annotators agree; read it beside the rates.

    References
    ----------
    J. L. Fleiss (1971), Measuring nominal scale agreement among many raters,
    Psychological Bulletin 76, 378-382. Its example (30 subjects) gives 0.430.
    """
    _check(counts, draws)
    n_annotators = int(counts[0].sum())
    if n_annotators < MIN_ANNOTATORS or (counts.sum(axis=1) != n_annotators).any() or (counts < 0).any():
        raise ValueError("every item needs the judgments of the same two or more annotators")

    def estimate() -> float | str:
        try:
            from statsmodels.stats.inter_rater import fleiss_kappa as from_statsmodels
        except ImportError:
            return MISSING_STATSMODELS
        return float(from_statsmodels(counts))

    return _agreement(
        "fleiss_kappa",
        lambda weights: kappa_terms(counts, weights),
        estimate,
        draws,
        n_annotators=n_annotators,
        why_undefined="all judgments are the same, and chance alone would agree as well",
    )


def icc_2k(ratings: Ints, draws: Ints) -> Agreement:
    r"""Reliability of the mean of the annotators' ratings: ICC(2,k).

    Parameters
    ----------
    ratings
        Shape ``(n_items, n_annotators)``, whole numbers, at least 2 of each.
    draws
        Shape ``(n_replicates, n_items)``, as ``draw_items`` returns it.

    Returns
    -------
    Agreement
        Without a value, and with the reason, where pingouin is not installed or
        there are fewer ratings than the five it needs (two items, two
        annotators); undefined where the estimated variance of a mean rating (the
        denominator) is not positive: every rating is the same, or items and
        annotators each have equal means and only their combination varies.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Notes
    -----
    Two-way random effects, absolute agreement, average of k annotators, with n
    items and the mean squares of items, annotators (J) and residual (E):

    .. math:: \frac{MS_I - MS_E}{MS_I + (MS_J - MS_E)/n}

    Estimated by ``pingouin.intraclass_corr``.

    References
    ----------
    P. E. Shrout and J. L. Fleiss (1979), Intraclass correlations: uses in
    assessing rater reliability, Psychological Bulletin 86, 420-428. Its
    example gives ICC(2,4) = 0.62.
    """
    _check(ratings, draws)
    n_annotators = ratings.shape[1]
    if n_annotators < MIN_ANNOTATORS:
        raise ValueError("reliability needs at least two annotators")
    constant = bool(ratings.min() == ratings.max())
    return _agreement(
        "icc_2k",
        lambda weights: icc_terms(ratings, weights),
        lambda: _icc_of_pingouin(ratings),
        draws,
        n_annotators=n_annotators,
        why_undefined="every rating is the same"
        if constant
        else "the estimated variance of a mean rating is not positive",
    )


def kappa_terms(counts: Ints, weights: Ints) -> Terms:
    """Numerator and denominator of Fleiss' kappa for each replicate.

    Parameters
    ----------
    counts
        Shape ``(n_items, n_categories)``, as for ``fleiss_kappa``.
    weights
        Shape ``(n_replicates, n_items)``, each row summing to ``n_items``.

    Returns
    -------
    tuple of numpy.ndarray
        Two of shape ``(n_replicates,)``; the denominator is 0 where kappa is
        undefined, and positive elsewhere.
    """
    n = counts.shape[0]
    k = int(counts[0].sum())
    squares = weights @ (counts * counts).sum(axis=1)
    totals = weights @ counts
    expected = (k - 1) * (totals * totals).sum(axis=1)
    # The formula times n²k²(k-1), which makes both parts whole.
    numerator = n * k * (squares - n * k) - expected
    denominator = (k - 1) * (n * k) ** 2 - expected
    return numerator.astype(float), denominator.astype(float)


def icc_terms(ratings: Ints, weights: Ints) -> Terms:
    """Numerator and denominator of ICC(2,k) for each replicate.

    Parameters
    ----------
    ratings
        Shape ``(n_items, n_annotators)``, as for ``icc_2k``.
    weights
        Shape ``(n_replicates, n_items)``, each row summing to ``n_items``.

    Returns
    -------
    tuple of numpy.ndarray
        Two of shape ``(n_replicates,)``; the coefficient is undefined where the
        denominator is not positive.
    """
    n, k = ratings.shape
    of_items = ratings.sum(axis=1)
    of_annotators = weights @ ratings
    corrected = (weights @ of_items) ** 2
    # Sums of squares of the two-way layout, times n k: whole numbers, so that none depends on an
    # order of summation and no variation is exactly 0.
    items = n * (weights @ (of_items * of_items)) - corrected
    annotators = k * (of_annotators * of_annotators).sum(axis=1) - corrected
    total = n * k * (weights @ (ratings * ratings).sum(axis=1)) - corrected
    residual = total - items - annotators
    numerator = ((k - 1) * items - residual) * float(n)
    denominator = (k - 1) * items * float(n) + (n - 1) * annotators - residual
    return numerator, denominator


def _check(table: Ints, draws: Ints) -> None:
    if table.ndim != _MATRIX or draws.ndim != _MATRIX or draws.shape[1] != table.shape[0]:
        raise ValueError(f"a table of shape {table.shape} and draws of shape {draws.shape} do not fit")
    if table.shape[0] < MIN_ITEMS:
        raise ValueError("agreement needs at least two items")


def _agreement(
    statistic: Statistic,
    terms: Callable[[Ints], Terms],
    estimate: Callable[[], float | str],
    draws: Ints,
    *,
    n_annotators: int,
    why_undefined: str,
) -> Agreement:
    import numpy as np

    n_replicates, n_items = draws.shape
    _, denominator = terms(np.ones((1, n_items), dtype=np.int64))
    found = estimate() if denominator[0] > 0 else why_undefined
    value, reason = (None, found) if isinstance(found, str) else (found, None)
    interval, interval_reason, n_defined = None, None, 0
    if value is not None:
        numerators, denominators = terms(draws)
        defined = denominators > 0
        n_defined = int(defined.sum())
        interval_reason = _why_no_interval(n_defined, n_replicates)
        if interval_reason is None:
            interval = percentile_interval(numerators[defined] / denominators[defined])
    return Agreement(
        statistic=statistic,
        value=value,
        reason=reason,
        interval=interval,
        interval_reason=interval_reason,
        n_items=n_items,
        n_annotators=n_annotators,
        n_replicates=n_replicates,
        n_defined=n_defined,
    )


def _why_no_interval(n_defined: int, n_replicates: int) -> str | None:
    if n_replicates == 0:
        return "no bootstrap replicates were asked for"
    n_without = n_replicates - n_defined
    if n_without > MAX_UNDEFINED * n_replicates:
        return (
            f"{n_without} of {n_replicates} resampled sets of items have no value, "
            "more than a 95 % interval leaves outside"
        )
    return None


def _icc_of_pingouin(ratings: Ints) -> float | str:
    """The estimate, or why there is none."""
    import numpy as np
    import pandas as pd

    n_items, n_annotators = ratings.shape
    if ratings.size < _PINGOUIN_MIN_RATINGS:
        return f"pingouin needs at least {_PINGOUIN_MIN_RATINGS} ratings"
    # An order of annotators that their ratings alone decide: their names must not move the last digit.
    columns = ratings[:, np.lexsort(ratings)]
    long = pd.DataFrame(
        {
            "item": np.repeat(np.arange(n_items), n_annotators),
            "annotator": np.tile(np.arange(n_annotators), n_items),
            "rating": columns.ravel(),
        }
    )
    # What pingouin is warned of by its own libraries, and its divisions by a residual of zero in
    # columns that nobody reads here, are no news to a user.
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            from pingouin import intraclass_corr
        except ImportError:
            return MISSING_PINGOUIN
        table = intraclass_corr(data=long, targets="item", raters="annotator", ratings="rating")
    found = table.loc[table["Type"].isin(_PINGOUIN_NAMES), "ICC"]
    return float(found.item()) if len(found) == 1 else UNKNOWN_PINGOUIN

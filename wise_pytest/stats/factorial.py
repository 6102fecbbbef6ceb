"""Effects of the factors of a full factorial on compliance, with intervals over items.

Called by ``audit.factorial``. statsmodels fits the model; it loads when it is
used, since nothing else in an audit needs it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.stats.contrasts import CONFIDENCE
from wise_pytest.stats.rates import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]

MIN_CLUSTERS = 2
MISSING_STATSMODELS = "effects of factors need statsmodels: pip install 'wise-pytest[factorial]'"
_TOLERANCE = 1e-8
"""Of rates, below which a difference is rounding."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A level of one factor, or of each of two, against their first levels."""

    factors: tuple[int, ...]
    """One factor for a main effect, two for an interaction, by place."""
    levels: tuple[int, ...]
    """The level of each, by place, from 1; level 0 is what it is compared with."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one contrast comes to; what is ``None`` has its reason beside it."""

    contrast: Contrast
    estimate: float | None
    """Difference of rates, -1..1; of an interaction the difference of two such differences, -2..2."""
    standard_error: float | None
    interval: Interval | None
    """At ``CONFIDENCE``, by the t distribution with one degree of freedom fewer than items."""
    p: float | None
    """Two-sided."""
    reason: str | None
    """Why there is no estimate, or no interval."""


@dataclass(frozen=True, slots=True)
class TermTest:
    """Whether a factor, or a pair of factors, moves compliance at all: its contrasts tested together."""

    factors: tuple[int, ...]
    statistic: float | None
    """F, from 0."""
    df: tuple[int, int] | None
    """Degrees of freedom: contrasts, and items less one."""
    p: float | None
    reason: str | None
    """Why there is no test."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Every main effect and every two-way interaction of one set of rows."""

    effects: tuple[Effect, ...]
    """In the order of ``contrasts_of``."""
    terms: tuple[TermTest, ...]
    """Each factor, then each pair."""
    n: int
    """Rows."""
    n_clusters: int
    """Items."""


def contrasts_of(n_levels: Sequence[int]) -> tuple[Contrast, ...]:
    """All contrasts of a design: main effects by factor, then interactions by pair of factors.

    Parameters
    ----------
    n_levels
        Levels of each factor, from 2.
    """
    mains = [Contrast((factor,), (level,)) for factor, n in enumerate(n_levels) for level in range(1, n)]
    pairs = [
        Contrast((first, second), (a, b))
        for first, second in itertools.combinations(range(len(n_levels)), 2)
        for a in range(1, n_levels[first])
        for b in range(1, n_levels[second])
    ]
    return (*mains, *pairs)


def factorial_effects(
    compliant: Ints, levels: Ints, *, n_levels: Sequence[int], clusters: Ints, blocks: Ints
) -> Effects:
    r"""Estimate how much each factor, and each pair of factors, moves compliance.

    Parameters
    ----------
    compliant
        Shape ``(n,)``, 0 or 1: one a generation.
    levels
        Shape ``(n, n_factors)``: the level of each factor, from 0.
    n_levels
        Levels of each factor, from 2.
    clusters
        Shape ``(n,)``: the item of each row. Rows of one item may depend on
        each other in any way, over models, forms and repetitions.
    blocks
        Shape ``(n,)``: the model of each row, from 0, each with a level of its own.

    Returns
    -------
    Effects
        Unavailable, and with the reason, where statsmodels is not installed,
        there are fewer than two items, or the rows do not tell a contrast from others.

    Raises
    ------
    ValueError
        If shapes or levels do not fit.

    Notes
    -----
    A linear probability model with main effects, two-way interactions and one
    intercept a block, fitted by least squares:

    .. math:: y = \alpha_{b} + \sum_f \beta_{f, l_f} + \sum_{f < g} \gamma_{fg, l_f l_g} + \varepsilon

    An effect is a difference of mean fitted rates over the cells of the
    design, each cell weighing the same: of level :math:`a` of factor
    :math:`f`, the mean over all cells with :math:`a` minus that over all with
    level 0; of an interaction, the difference between two differences,
    averaged over the other factors. On a complete grid these are differences
    of the observed rates. They are differences in compliance, not odds ratios,
    and add up as such; a rate near 0 or 1 leaves an effect little room.

    The covariance is clustered by item, with the small-sample factor
    :math:`\frac{G}{G-1}\frac{N-1}{N-K}`, and intervals use the t distribution
    with :math:`G - 1` degrees of freedom, for :math:`G` items.

    References
    ----------
    K.-Y. Liang and S. L. Zeger (1986), Longitudinal data analysis using
    generalized linear models, Biometrika 73, 13-22.
    A. C. Cameron and D. L. Miller (2015), A practitioner's guide to
    cluster-robust inference, Journal of Human Resources 50, 317-372.
    """
    import numpy as np

    _check(compliant, levels, n_levels, clusters, blocks)
    wanted = contrasts_of(n_levels)
    n_clusters = len(np.unique(clusters))

    def without_tests(effects: Iterable[Effect], reason: str) -> Effects:
        terms = tuple(TermTest(term, None, None, None, reason) for term in _terms(wanted))
        return Effects(tuple(effects), terms, n=len(compliant), n_clusters=n_clusters)

    def unavailable(reason: str) -> Effects:
        return without_tests((Effect(each, None, None, None, None, reason) for each in wanted), reason)

    if not len(compliant):
        return unavailable("no scored rows")
    try:
        from statsmodels.regression.linear_model import OLS
    except ImportError:
        return unavailable(MISSING_STATSMODELS)
    matrix = np.concatenate([_intercepts(blocks), _design(levels, n_levels)], axis=1)
    weights = _weights(wanted, n_levels, width=matrix.shape[1])
    # Where a combination of levels is missing, columns say the same twice. The model is fitted in as
    # many directions as the rows span, and a contrast outside of them has no one answer.
    spanned = _spanned(matrix)
    inside = weights @ spanned
    determined = np.abs(weights - inside @ spanned.T).max(axis=1) < _TOLERANCE
    weights = inside
    model = OLS(compliant.astype(float), matrix @ spanned)
    if n_clusters < MIN_CLUSTERS:
        values = weights @ model.fit().params
        reason = "fewer than two items"
        return without_tests(
            (
                Effect(each, float(value), None, None, None, reason) if known else _undetermined(each)
                for each, value, known in zip(wanted, values, determined, strict=True)
            ),
            reason,
        )
    fitted = model.fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    test = fitted.t_test(weights)
    bounds = test.conf_int(alpha=1 - CONFIDENCE)
    values = zip(test.effect, np.ravel(test.sd), bounds[:, 0], bounds[:, 1], test.pvalue, strict=True)
    effects = tuple(
        _effect(each, *map(float, value)) if known else _undetermined(each)
        for each, value, known in zip(wanted, values, determined, strict=True)
    )
    covariance = fitted.cov_params(r_matrix=weights)
    terms = tuple(_term_test(term, effects, covariance, n_clusters - 1) for term in _terms(wanted))
    return Effects(effects, terms, n=len(compliant), n_clusters=n_clusters)


def _effect(  # noqa: PLR0917 - one row of a table
    contrast: Contrast, estimate: float, standard_error: float, low: float, high: float, p: float
) -> Effect:
    if not standard_error > _TOLERANCE:
        reason = "every item shows the same difference, so they do not vary"
        return Effect(contrast, estimate, None, None, None, reason)
    return Effect(contrast, estimate, standard_error, Interval(low=low, high=high), p, None)


def _undetermined(contrast: Contrast) -> Effect:
    reason = "the combinations of levels that were scored do not tell this effect from others"
    return Effect(contrast, None, None, None, None, reason)


def _terms(contrasts: Iterable[Contrast]) -> tuple[tuple[int, ...], ...]:
    return tuple(dict.fromkeys(contrast.factors for contrast in contrasts))


def _term_test(
    term: tuple[int, ...], effects: Sequence[Effect], covariance: Floats, df_items: int
) -> TermTest:
    """Wald's test of all contrasts of a term, as an F statistic."""
    import numpy as np
    from scipy import stats

    rows = [place for place, effect in enumerate(effects) if effect.contrast.factors == term]
    for row in rows:
        if effects[row].p is None:
            return TermTest(term, None, None, None, effects[row].reason)
    within = covariance[np.ix_(rows, rows)]
    if df_items < len(rows) or np.linalg.matrix_rank(within, hermitian=True) < len(rows):
        return TermTest(term, None, None, None, f"too few items to test {len(rows)} differences together")
    estimates = np.array([effects[row].estimate for row in rows], dtype=float)
    statistic = float(estimates @ np.linalg.solve(within, estimates)) / len(rows)
    df = (len(rows), df_items)
    return TermTest(term, statistic, df, float(stats.f.sf(statistic, *df)), None)


def _spanned(matrix: Floats) -> Floats:
    """An orthonormal basis of the space of the rows of a matrix, a direction a column."""
    import numpy as np

    sizes, directions = np.linalg.eigh(matrix.T @ matrix)
    basis: Floats = directions[:, sizes > sizes.max() * _TOLERANCE]
    return basis


def _intercepts(blocks: Ints) -> Floats:
    """One column for each block that has a row."""
    import numpy as np

    columns: Floats = (blocks[:, None] == np.unique(blocks)).astype(float)
    return columns


def _design(levels: Ints, n_levels: Sequence[int]) -> Floats:
    """One column for each contrast of ``contrasts_of``: 1 where a row has its level, or both its levels."""
    import numpy as np

    columns = [
        np.logical_and.reduce([levels[:, f] == level for f, level in zip(c.factors, c.levels, strict=True)])
        for c in contrasts_of(n_levels)
    ]
    return np.stack(columns, axis=1).astype(float)


def _weights(wanted: Sequence[Contrast], n_levels: Sequence[int], *, width: int) -> Floats:
    """Each contrast as weights on the last columns of a matrix, those of ``_design``.

    All cells weigh the same.
    """
    import numpy as np

    cells = np.array(list(itertools.product(*map(range, n_levels))), dtype=np.int64)
    design = _design(cells, n_levels)
    rows = []
    for contrast in wanted:
        row = np.zeros(width)
        for sign, levels in _corners(contrast):
            chosen = np.logical_and.reduce(
                [cells[:, f] == level for f, level in zip(contrast.factors, levels, strict=True)]
            )
            row[-design.shape[1] :] += sign * design[chosen].mean(axis=0)
        rows.append(row)
    return np.stack(rows)


def _corners(contrast: Contrast) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The combinations of levels that a contrast compares, with the sign of each."""
    for chosen in itertools.product((True, False), repeat=len(contrast.factors)):
        levels = tuple(level if kept else 0 for level, kept in zip(contrast.levels, chosen, strict=True))
        yield (-1) ** chosen.count(False), levels


def _check(compliant: Ints, levels: Ints, n_levels: Sequence[int], clusters: Ints, blocks: Ints) -> None:
    n = len(compliant)
    if levels.shape != (n, len(n_levels)) or clusters.shape != (n,) or blocks.shape != (n,):
        raise ValueError(f"{n} rows with levels of shape {levels.shape} and {len(n_levels)} factors")
    if any(count < 2 for count in n_levels):  # noqa: PLR2004 - one level is no factor
        raise ValueError("a factor needs at least two levels")
    if n and ((levels < 0) | (levels >= list(n_levels))).any():
        raise ValueError("a level is out of the range of its factor")
    if n and not ((compliant == 0) | (compliant == 1)).all():
        raise ValueError("compliance must be 0 or 1")
    if n and (blocks < 0).any():
        raise ValueError("blocks count from 0")

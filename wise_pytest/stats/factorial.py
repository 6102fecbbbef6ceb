"""Effects of the factors of a full factorial on compliance, with intervals over items.

Called by ``audit.factorial``. The estimates are least squares, so that every
session can make them: a library for them would take longer to load than an
audit takes to be made. A test holds them against statsmodels.
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
    n_compliant: Ints, n: Ints, levels: Ints, *, n_levels: Sequence[int], clusters: Ints, blocks: Ints
) -> Effects:
    r"""Estimate how much each factor, and each pair of factors, moves compliance.

    Parameters
    ----------
    n_compliant
        Shape ``(n_groups,)``: generations that comply, of one item, model and form each.
    n
        Same shape: all generations of the group; groups of none are left out.
    levels
        Shape ``(n_groups, n_factors)``: the level of each factor, from 0.
    n_levels
        Levels of each factor, from 2.
    clusters
        Shape ``(n_groups,)``: the item of each group, from 0. Generations of one item may
        depend on each other in any way, over models, forms and repetitions.
    blocks
        Shape ``(n_groups,)``: the model of each group, from 0, each with a level of its own.

    Returns
    -------
    Effects
        Unavailable, and with the reason, where there are fewer than two items,
        or the generations do not tell a contrast from others.

    Raises
    ------
    ValueError
        If shapes, counts or levels do not fit.

    Notes
    -----
    A linear probability model with main effects, two-way interactions and one
    intercept a block, fitted by least squares to the single generations (of
    which the counts are sufficient statistics):

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

    _check(n_compliant, n, levels, n_levels, clusters, blocks)
    n_compliant, levels, clusters, blocks = (
        array[n > 0] for array in (n_compliant, levels, clusters, blocks)
    )
    n = n[n > 0]
    wanted = contrasts_of(n_levels)
    n_clusters = len(np.unique(clusters))

    def without_tests(effects: Iterable[Effect], reason: str) -> Effects:
        terms = tuple(TermTest(term, None, None, None, reason) for term in _terms(wanted))
        return Effects(tuple(effects), terms, n=int(n.sum()), n_clusters=n_clusters)

    if not len(n):
        reason = "no scored rows"
        return without_tests((Effect(each, None, None, None, None, reason) for each in wanted), reason)
    matrix = np.concatenate([_intercepts(blocks), _design(levels, n_levels)], axis=1)
    weights = _weights(wanted, n_levels, width=matrix.shape[1])
    # Where a combination of levels is missing, columns say the same twice. The model is fitted in as
    # many directions as the rows span, and a contrast outside of them has no one answer.
    spanned = _spanned(matrix, n)
    inside = weights @ spanned
    determined = np.abs(weights - inside @ spanned.T).max(axis=1) < _TOLERANCE
    fit = _fit(n_compliant, n, matrix @ spanned, clusters)
    estimates = (inside @ fit.parameters).tolist()
    if fit.covariance is None:
        reason = "fewer than two items" if n_clusters < MIN_CLUSTERS else "too few generations"
        return without_tests(
            (
                Effect(each, value, None, None, None, reason) if known else _undetermined(each)
                for each, value, known in zip(wanted, estimates, determined, strict=True)
            ),
            reason,
        )
    covariance = inside @ fit.covariance @ inside.T
    # Rounding can leave a variance of zero a little below it.
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist()
    effects = tuple(
        _effect(each, estimate, error, n_clusters - 1) if known else _undetermined(each)
        for each, estimate, error, known in zip(wanted, estimates, errors, determined, strict=True)
    )
    terms = tuple(_term_test(term, effects, covariance, n_clusters - 1) for term in _terms(wanted))
    return Effects(effects, terms, n=int(n.sum()), n_clusters=n_clusters)


@dataclass(frozen=True, slots=True)
class _Fit:
    """Least squares of single generations."""

    parameters: Floats
    covariance: Floats | None
    """Clustered; ``None`` with one cluster, or no more generations than parameters."""


def _fit(n_compliant: Ints, n: Ints, matrix: Floats, clusters: Ints) -> _Fit:
    """Fit a matrix of full rank, a group a row.

    A generation's row of the matrix is that of its group. Sums over the
    generations of a group therefore need its counts only: of the normal
    equations, and of the scores, whose outer products over items are the
    middle of the clustered covariance.
    """
    import numpy as np

    bread = np.linalg.inv(matrix.T @ (n[:, None] * matrix))
    parameters = bread @ (matrix.T @ n_compliant)
    n_rows, n_parameters = int(n.sum()), matrix.shape[1]
    _, places = np.unique(clusters, return_inverse=True)
    n_clusters = int(places.max()) + 1
    if n_clusters < MIN_CLUSTERS or n_rows <= n_parameters:
        return _Fit(parameters, None)
    residuals = n_compliant - n * (matrix @ parameters)
    scores = np.zeros((n_clusters, n_parameters))
    np.add.at(scores, places, matrix * residuals[:, None])
    small = n_clusters / (n_clusters - 1) * (n_rows - 1) / (n_rows - n_parameters)
    return _Fit(parameters, small * bread @ (scores.T @ scores) @ bread)


def _effect(contrast: Contrast, estimate: float, standard_error: float, df: int) -> Effect:
    from scipy.special import stdtr, stdtrit

    if not standard_error > _TOLERANCE:
        reason = "every item shows the same difference, so they do not vary"
        return Effect(contrast, estimate, None, None, None, reason)
    width = float(stdtrit(df, (1 + CONFIDENCE) / 2)) * standard_error
    return Effect(
        contrast=contrast,
        estimate=estimate,
        standard_error=standard_error,
        interval=Interval(low=estimate - width, high=estimate + width),
        p=2 * float(stdtr(df, -abs(estimate) / standard_error)),
        reason=None,
    )


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
    from scipy.special import fdtrc

    rows = [place for place, effect in enumerate(effects) if effect.contrast.factors == term]
    for row in rows:
        if effects[row].p is None:
            return TermTest(term, None, None, None, effects[row].reason)
    within = covariance[np.ix_(rows, rows)]
    if df_items < len(rows):
        return TermTest(term, None, None, None, f"too few items to test {len(rows)} differences together")
    # Of items that show the same, rounding leaves a little more than nothing.
    if np.linalg.matrix_rank(within, tol=_TOLERANCE * np.trace(within)) < len(rows):
        return TermTest(term, None, None, None, f"the items do not tell {len(rows)} differences apart")
    estimates = np.array([effects[row].estimate for row in rows], dtype=float)
    statistic = float(estimates @ np.linalg.solve(within, estimates)) / len(rows)
    df = (len(rows), df_items)
    return TermTest(term, statistic, df, float(fdtrc(*df, statistic)), None)


def _spanned(matrix: Floats, n: Ints) -> Floats:
    """An orthonormal basis of the space of the rows of a matrix, each ``n`` times, a direction a column."""
    import numpy as np

    sizes, directions = np.linalg.eigh(matrix.T @ (n[:, None] * matrix))
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


def _check(  # noqa: PLR0917 - all that is given
    n_compliant: Ints, n: Ints, levels: Ints, n_levels: Sequence[int], clusters: Ints, blocks: Ints
) -> None:
    n_groups = len(n)
    if levels.shape != (n_groups, len(n_levels)) or any(
        array.shape != (n_groups,) for array in (n_compliant, clusters, blocks)
    ):
        raise ValueError(f"{n_groups} groups with levels of shape {levels.shape} and {len(n_levels)} factors")
    if any(count < 2 for count in n_levels):  # noqa: PLR2004 - one level is no factor
        raise ValueError("a factor needs at least two levels")
    if ((levels < 0) | (levels >= list(n_levels))).any():
        raise ValueError("a level is out of the range of its factor")
    if ((n_compliant < 0) | (n_compliant > n)).any():
        raise ValueError("compliant generations must be between none and all")
    if (blocks < 0).any():
        raise ValueError("blocks count from 0")

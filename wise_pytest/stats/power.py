"""How many items and repetitions it takes to see a gap or a drop: simulated from rates that were recorded.

Called by ``wise plan-power``. A simulated run goes through the very tests that a
real one goes through, so that what is promised is what will be found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.stats.bootstrap import ItemCounts, Scheme, contrast_points, draw_contrasts
from wise_pytest.stats.contrasts import summarize_contrasts
from wise_pytest.stats.multiplicity import holm
from wise_pytest.stats.paired import ALPHA, PairedCounts, compare_paired
from wise_pytest.stats.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]

Effect: TypeAlias = Literal["drop", "gap"]
_SCHEME: Scheme = "item-cluster"
"""Of a run of one model; it asks for no providers."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What is known of a model in a panel before the planned run."""

    forms: tuple[str, ...]
    rates: Floats
    """Each item's rate of each form, less the noise of few repetitions; shape ``(n_items, n_forms)``."""
    alike: tuple[str, ...]
    """Forms whose items cannot be told apart by what was recorded: all get the mean rate."""

    @property
    def means(self) -> dict[str, float]:
        """The mean rate of each form."""
        return dict(zip(self.forms, self.rates.mean(axis=0).tolist(), strict=True))


def shrunken_rates(forms: Sequence[str], n_compliant: Ints, n: Ints) -> Recorded:
    r"""Item rates with the variance that items have, not that of a few repetitions.

    .. math:: \tilde p_i = m + s\,(\hat p_i - m), \qquad
              s^2 = \max\left(0, \frac{V - \bar w}{V}\right)

    with :math:`V` the variance of the observed rates over items, and
    :math:`\bar w` the mean of :math:`\hat p_i (1 - \hat p_i) / (r_i - 1)`, which
    estimates how much of it is binomial noise of :math:`r_i` repetitions. With
    one repetition an item nothing can be told apart: :math:`s = 0`, which makes
    repetitions as noisy as they can be and a plan cautious.

    Parameters
    ----------
    forms
        Names of the last axis.
    n_compliant, n
        Compliant and scored rows, shape ``(n_items, n_forms)``. Items that lack
        a form are left out.

    Raises
    ------
    ValueError
        If no item has rows of all forms.
    """
    import numpy as np

    complete = (n > 0).all(axis=1)
    if not complete.any():
        raise ValueError("no item has scored rows of every form")
    n, observed = n[complete], n_compliant[complete] / n[complete]
    mean = observed.mean(axis=0)
    total = observed.var(axis=0, ddof=1) if len(observed) > 1 else np.zeros(len(forms))
    noise = np.where(n > 1, observed * (1 - observed) / np.maximum(n - 1, 1), np.inf).mean(axis=0)
    share = np.divide(np.maximum(total - noise, 0), total, out=np.zeros_like(total), where=total > 0)
    # A share is at most 1, so each rate lies between the observed one and the mean, and in 0..1.
    return Recorded(
        forms=tuple(forms),
        rates=mean + np.sqrt(share) * (observed - mean),
        alike=tuple(form for form, kept in zip(forms, share.tolist(), strict=True) if kept == 0),
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What a planned run is to find."""

    effect: Effect
    """A drop of one form below an earlier run, or a gap between one form and the reference form."""
    size: float
    """In (0, 1]: how far the form's mean rate falls, or lies below that of the reference form."""
    form: str
    reference: str
    """The form whose rates a gap is measured from; a drop is measured from the form's own."""


def simulate_power(
    recorded: Recorded,
    question: Question,
    *,
    n_items: int,
    repetitions: int,
    simulations: int,
    replicates: int,
    rng: np.random.Generator,
) -> Rate:
    """How often a run of this size finds what is there.

    Parameters
    ----------
    recorded
        From ``shrunken_rates``.
    question
        What is there to be found.
    n_items, repetitions
        Size of the run; items are drawn with replacement from the recorded ones.
    simulations
        Runs, or pairs of runs, to simulate.
    replicates
        Bootstrap replicates of each.
    rng
        The source of all draws.

    Returns
    -------
    Rate
        Simulations in which the form is found below the other side with a
        Holm-corrected p value under 0.05, of all.

    Raises
    ------
    ValueError
        If the rate that falls is smaller than the fall.

    Notes
    -----
    The mean rate :math:`m` falls by :math:`x` when each item's rate is
    multiplied by :math:`(m - x) / m`: no rate leaves 0..1, and items keep their order.
    """
    place = recorded.forms.index(question.form)
    source = place if question.effect == "drop" else recorded.forms.index(question.reference)
    mean = float(recorded.rates[:, source].mean())
    if question.size > mean:
        raise ValueError(f"a rate of {mean:.3f} cannot fall by {question.size:.3f}")
    lowered = recorded.rates.copy()
    lowered[:, place] = recorded.rates[:, source] * (mean - question.size) / mean
    n_found = 0
    for _ in range(simulations):
        items = rng.integers(len(lowered), size=n_items)
        after = rng.binomial(repetitions, lowered[items])
        if question.effect == "drop":
            before = rng.binomial(repetitions, recorded.rates[items])
            n_found += _found_drop(recorded.forms, question.form, before, after, repetitions, replicates, rng)
        else:
            n_found += _found_gap(recorded.forms, question, after, repetitions, replicates, rng)
    return Rate(n_found, simulations)


def _found_drop(  # noqa: PLR0917 - numbers of one simulation, in their order
    forms: tuple[str, ...],
    form: str,
    before: Ints,
    after: Ints,
    repetitions: int,
    replicates: int,
    rng: np.random.Generator,
) -> bool:
    import numpy as np

    items = tuple(map(str, range(len(before))))
    counts = PairedCounts(items, forms, before, after, np.full(before.shape, repetitions))
    return compare_paired(counts, replicates=replicates, rng=rng).forms[form].worse


def _found_gap(  # noqa: PLR0917
    forms: tuple[str, ...],
    question: Question,
    counts: Ints,
    repetitions: int,
    replicates: int,
    rng: np.random.Generator,
) -> bool:
    import numpy as np

    items = tuple(map(str, range(len(counts))))
    run = ItemCounts(("m",), items, forms, counts[None], np.full((1, *counts.shape), repetitions))
    points = contrast_points(run, _SCHEME, reference=question.reference)
    draws = draw_contrasts(
        run, _SCHEME, reference=question.reference, providers={}, replicates=replicates, rng=rng
    )
    found = dict(zip(forms, summarize_contrasts(points, draws), strict=True))
    # The reference form never differs from itself, so it has no p value and is not in the family.
    family = holm({form: contrast.p for form, contrast in found.items()})
    p, diff = family.adjusted[question.form], found[question.form].diff
    return p is not None and p < ALPHA and diff is not None and diff < 0

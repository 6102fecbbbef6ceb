"""Bootstrap schemes: what an interval lets vary, as counts of how often each unit was drawn.

Called by the audit's ``uncertainty`` and by ``ranking_bootstrap``. A replicate
is never a list of rows: drawing units with replacement gives each a multinomial
weight, and the replicate's counts are that weight vector times the panel's
counts. All replicates together are one matrix product, and since weights and
counts are integers it is exact: no result depends on an order of summation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Truths: TypeAlias = NDArray[np.bool_]

Scheme: TypeAlias = Literal["provider-model-item", "model-item", "item-cluster", "equal-model-item"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
MIN_UNITS = 2
ROUNDING = 1e-12
"""A mean of rate differences nearer to zero than this is zero: what is left is floating point."""
_CHUNK_CELLS = 2**15
"""Weights held at a time: few enough to stay in the processor's cache. No result depends on it."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemCounts:
    """Scored rows of one panel by model, item and form.

    A form or item that a model lacks has zero counts; it is missing, not failed.

    Raises
    ------
    ValueError
        If shapes do not fit the names, or the counts are not
        ``0 <= n_compliant <= n``.
    """

    models: tuple[str, ...]
    items: tuple[str, ...]
    forms: tuple[str, ...]
    n_compliant: Ints
    """Shape ``(n_models, n_items, n_forms)``."""
    n: Ints
    """Same shape; repetitions of a cell are added up."""

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.items), len(self.forms))
        if self.n.shape != shape or self.n_compliant.shape != shape:
            raise ValueError(f"counts of shape {self.n_compliant.shape} and {self.n.shape} for {shape} names")
        if ((self.n_compliant < 0) | (self.n_compliant > self.n)).any():
            raise ValueError("compliant rows must be between none and all scored rows")

    def of_models(self, models: Sequence[str]) -> ItemCounts:
        """The counts of those of ``models`` that are here, in the order of this object.

        Items without a row of any of them are left out: they are no units.
        """
        wanted = set(models)
        rows = [place for place, model in enumerate(self.models) if model in wanted]
        n = self.n[rows]
        seen = n.sum(axis=(0, 2)) > 0
        return ItemCounts(
            models=tuple(self.models[place] for place in rows),
            items=tuple(item for item, kept in zip(self.items, seen.tolist(), strict=True) if kept),
            forms=self.forms,
            n_compliant=self.n_compliant[rows][:, seen],
            n=n[:, seen],
        )


@dataclass(frozen=True, slots=True)
class Units:
    """What a scheme finds to draw from."""

    n_units: Mapping[str, int]
    """Distinct units of each resampled level, outermost first."""
    reason: str | None
    """Why nothing can vary; ``None`` where at least one level has two units to draw from."""


@dataclass(frozen=True, slots=True, eq=False)
class ContrastDraws:
    """Each form's difference to the reference form, in every replicate.

    Both rates of a difference come from the same draw of units.
    """

    differences: Floats
    """Shape ``(n_replicates, n_forms)``, -1..1; meaningless where not ``defined``."""
    defined: Truths
    """Same shape: whether the replicate drew rows of the form and of the reference form."""


@dataclass(frozen=True, slots=True, eq=False)
class PanelDraws:
    """Rates and differences of every form, in every replicate."""

    contrasts: ContrastDraws
    rates: Floats
    """Shape ``(n_replicates, n_forms)``, 0..1; meaningless where not ``scored``."""
    scored: Truths
    """Same shape: whether the replicate drew rows of the form."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelDraws:
    """Rates of every model and form, in every replicate of the items."""

    rates: Floats
    """Shape ``(n_replicates, n_models, n_forms)``, 0..1; meaningless where not ``scored``."""
    scored: Truths
    """Same shape: whether the replicate drew rows of the model and form."""

    def of_model(self, place: int, reference: int | None) -> PanelDraws:
        """The draws of one model, with its differences to the form at ``reference``, if it is there."""
        rates, scored = self.rates[:, place], self.scored[:, place]
        if reference is None:
            return PanelDraws(_no_contrasts(rates), rates, scored)
        differences = rates - rates[:, [reference]]
        return PanelDraws(ContrastDraws(differences, scored & scored[:, [reference]]), rates, scored)


def resampled_units(counts: ItemCounts, scheme: Scheme, *, providers: Mapping[str, str]) -> Units:
    """Count the units of each level that ``scheme`` resamples.

    Parameters
    ----------
    counts
        One panel, the models to analyse, at least one; every model has a scored row.
    scheme
        One of ``SCHEMES``.
    providers
        The provider of each model.

    Returns
    -------
    Units
        With a reason where every resampled level offers a single unit only.
    """
    own = [providers[model] for model in counts.models]
    levels = {"providers": len(set(own)), "models": len(own), "items": len(counts.items)}
    n_units = {name: levels[name] for name in _LEVELS[scheme]}
    choices = dict(n_units)
    if scheme != "item-cluster":  # the items are those of each model, not those of all
        choices["items"] = int(_owned(counts).sum(axis=1).max())
    varies = max(choices.values()) >= MIN_UNITS
    return Units(n_units, None if varies else f"fewer than two {' and '.join(n_units)} to resample")


_LEVELS: dict[Scheme, tuple[str, ...]] = {
    "provider-model-item": ("providers", "models", "items"),
    "model-item": ("models", "items"),
    "item-cluster": ("items",),
    "equal-model-item": ("items",),
}


def contrast_points(counts: ItemCounts, scheme: Scheme, *, reference: str) -> tuple[float | None, ...]:
    """Each form's difference to the reference form in the rows themselves.

    Parameters
    ----------
    counts
        One panel, the models to analyse.
    scheme
        All schemes but ``equal-model-item`` pool the rows; that one averages
        the models' own differences.
    reference
        One of ``counts.forms``.

    Returns
    -------
    tuple
        One number in -1..1 a form; ``None`` where one of the two forms has no
        row, for ``equal-model-item`` no model with rows of both.
    """
    import numpy as np

    place = counts.forms.index(reference)
    if scheme == "equal-model-item":
        own = _Sums(counts.n_compliant.sum(axis=1), counts.n.sum(axis=1))
        usable = _usable(own.n, place)
        n_models = usable.sum(axis=0)
        means = settled(_mean_where(_to_reference(own, place), usable, n_models))
        return tuple(mean if n else None for mean, n in zip(means.tolist(), n_models.tolist(), strict=True))
    totals = np.stack([counts.n_compliant.sum(axis=(0, 1)), counts.n.sum(axis=(0, 1))], axis=1).tolist()
    return tuple(_difference(own, totals[place]) for own in totals)


def draw_contrasts(
    counts: ItemCounts,
    scheme: Scheme,
    *,
    reference: str,
    providers: Mapping[str, str],
    replicates: int,
    rng: np.random.Generator,
) -> ContrastDraws:
    """The differences of ``draw_panel`` alone."""
    return draw_panel(
        counts, scheme, reference=reference, providers=providers, replicates=replicates, rng=rng
    ).contrasts


def draw_panel(
    counts: ItemCounts,
    scheme: Scheme,
    *,
    reference: str,
    providers: Mapping[str, str],
    replicates: int,
    rng: np.random.Generator,
) -> PanelDraws:
    r"""Resample a panel; take each form's rate and its difference to the reference form.

    Parameters
    ----------
    counts
        One panel, the models to analyse; every model has a scored row. The
        draws follow the order of its models and items, so that order must not
        be that of the rows.
    scheme
        ``provider-model-item``
            :math:`P` of the :math:`P` providers; for each one drawn, as many of
            its models as it has; for each model drawn, as many of its items.
        ``model-item``
            As many models as there are; items within each model drawn.
        ``item-cluster``
            Items, the same ones for every model.
        ``equal-model-item``
            Items within each model; no model is resampled.
    reference
        The form to compare with; where ``counts`` lacks it, no difference is defined.
    providers
        The provider of each model.
    replicates
        Number of replicates, from 1.
    rng
        The source of all draws.

    Returns
    -------
    PanelDraws
        Per form. The first three schemes pool the rows they drew, so that a
        provider with three models weighs three: :math:`\sum w c / \sum w n`.
        ``equal-model-item`` averages the models' own rates, over the models that
        have rows of the form, and their own differences, over those that have
        rows of both forms.

    Notes
    -----
    An item keeps all its forms and repetitions. A model drawn :math:`k` times,
    with :math:`I` items, draws :math:`k I` items, so its item weights are
    multinomial with :math:`k I` trials and probabilities :math:`1/I`. They are
    obtained by counting :math:`k I` uniform draws, which is four times faster
    than ``Generator.multinomial`` with its hundred binomials and has the same
    distribution. A model lacking an item has one unit fewer to draw from.

    References
    ----------
    Section 4 and Appendix P of the paper; A. C. Davison and D. V. Hinkley
    (1997), Bootstrap methods and their application, section 3.8, for
    resampling at several levels.
    """
    place = counts.forms.index(reference) if reference in counts.forms else None
    if scheme == "item-cluster":
        joint = ItemCounts(
            ("all",),
            counts.items,
            counts.forms,
            counts.n_compliant.sum(axis=0, keepdims=True),
            counts.n.sum(axis=0, keepdims=True),
        )
        sums = _resampled_sums(joint, _once(replicates, 1), rng=rng, pooled=True)
        return _pooled_draws(sums, place)
    if scheme == "equal-model-item":
        sums = _resampled_sums(counts, _once(replicates, len(counts.models)), rng=rng, pooled=False)
        return _equal_draws(counts, sums, place)
    if scheme == "model-item":
        multiplicity = _even_draws(len(counts.models), replicates, rng)
    else:
        multiplicity = _nested_draws([providers[model] for model in counts.models], replicates, rng)
    return _pooled_draws(_resampled_sums(counts, multiplicity, rng=rng, pooled=True), place)


def draw_models(counts: ItemCounts, *, replicates: int, rng: np.random.Generator) -> ModelDraws:
    """Resample the items, the same ones for every model, and take each model's rate of each form.

    Parameters
    ----------
    counts
        One panel, any models.
    replicates
        Number of replicates, from 1.
    rng
        The source of all draws.
    """
    n_compliant, n = joint_sums(counts, replicates=replicates, rng=rng)
    sums = _Sums(n_compliant, n)
    return ModelDraws(rates=_rates(sums), scored=n > 0)


def joint_sums(counts: ItemCounts, *, replicates: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Compliant and scored rows of each model and form under items that are drawn for all models jointly.

    Returns
    -------
    tuple of numpy.ndarray
        Two of shape ``(replicates, n_models, n_forms)``; whole numbers.
    """
    import numpy as np

    n_models, n_items, n_forms = counts.n.shape
    # (n_items, n_models * 2 * n_forms), so that one product gives every count of every model.
    both = np.stack([counts.n_compliant, counts.n], axis=2).astype(np.float64)
    table = both.transpose(1, 0, 2, 3).reshape(n_items, -1)
    sums = np.concatenate(
        [weights @ table for weights in item_weights(n_items, replicates=replicates, rng=rng)]
    ).astype(np.int64)
    sums = sums.reshape(replicates, n_models, 2, n_forms)
    return sums[:, :, 0], sums[:, :, 1]


def item_weights(n_items: int, *, replicates: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Weights of items that are drawn for all models jointly.

    Yields
    ------
    numpy.ndarray
        Shape ``(n, n_items)``, whole numbers; each line adds up to ``n_items``.
        The lines of all parts together are ``replicates``.
    """
    import numpy as np

    sizes = np.array([n_items], dtype=np.int64)
    for weights in _weights(_once(replicates, 1), sizes, rng):
        yield weights.squeeze(axis=1)


def settled(differences: Floats) -> Floats:
    """``differences`` with zeros where only rounding keeps them from being zero."""
    import numpy as np

    zeroed: Floats = np.where(np.abs(differences) < ROUNDING, 0.0, differences)
    return zeroed


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Counts of what the replicates drew, shape ``(n_replicates, ..., n_forms)``."""

    n_compliant: Ints
    n: Ints


def _owned(counts: ItemCounts) -> Truths:
    """Which items each model has rows of, under any form; shape ``(n_models, n_items)``."""
    owned: Truths = counts.n.sum(axis=2) > 0
    return owned


def _once(replicates: int, n_models: int) -> Ints:
    import numpy as np

    return np.ones((replicates, n_models), dtype=np.int64)


def _even_draws(n_units: int, replicates: int, rng: np.random.Generator) -> Ints:
    """How often each of ``n_units`` comes up in as many draws; shape ``(replicates, n_units)``."""
    import numpy as np

    return rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=replicates)


def _nested_draws(providers: Sequence[str], replicates: int, rng: np.random.Generator) -> Ints:
    """How often each model is drawn when its provider is drawn first; shape ``(replicates, n_models)``."""
    import numpy as np

    code_of = {name: code for code, name in enumerate(sorted(set(providers)))}
    provider_of = np.array([code_of[name] for name in providers])
    sizes = np.bincount(provider_of)
    drawn = _even_draws(len(sizes), replicates, rng) * sizes
    # One row a provider, filled up in front: numpy gives the last entry whatever is left over,
    # so a filler there could win a draw by rounding.
    slots = np.arange(sizes.max()) >= sizes.max() - sizes[:, None]
    within = rng.multinomial(drawn, np.where(slots, 1 / sizes[:, None], 0.0))
    multiplicity = np.empty((replicates, len(providers)), dtype=np.int64)
    multiplicity[:, np.argsort(provider_of, kind="stable")] = within[:, slots]
    return multiplicity


def _resampled_sums(
    counts: ItemCounts, multiplicity: Ints, *, rng: np.random.Generator, pooled: bool
) -> _Sums:
    """Add up what each replicate drew, over all models or (``pooled`` false) for each."""
    import numpy as np

    n_models, _, n_forms = counts.n.shape
    sizes = _owned(counts).sum(axis=1)
    packed = _packed(counts)
    parts: list[Floats] = []
    for weights in _weights(multiplicity, sizes, rng):
        if pooled:
            parts.append(weights.reshape(len(weights), -1) @ packed.reshape(-1, 2 * n_forms))
        else:
            parts.append(np.matmul(weights.transpose(1, 0, 2), packed).transpose(1, 0, 2))
    sums = np.concatenate(parts).astype(np.int64)  # whole numbers below 2^53: exact
    shape = (len(multiplicity), *(() if pooled else (n_models,)), 2, n_forms)
    sums = sums.reshape(shape)
    return _Sums(n_compliant=sums[..., 0, :], n=sums[..., 1, :])


def _packed(counts: ItemCounts) -> Floats:
    """Both counts side by side, each model's own items first; shape ``(n_models, most_items, 2 n_forms)``."""
    import numpy as np

    owned = _owned(counts)
    most = int(owned.sum(axis=1).max())
    both = np.concatenate([counts.n_compliant, counts.n], axis=2).astype(np.float64)
    own_first = np.argsort(~owned, axis=1, kind="stable")[:, :most]
    packed: Floats = np.take_along_axis(both, own_first[:, :, None], axis=1)
    return packed


def _weights(multiplicity: Ints, sizes: Ints, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each item of each model is drawn, some replicates at a time.

    Parameters
    ----------
    multiplicity
        How often each replicate has drawn each model, ``(replicates, n_models)``.
    sizes
        Items of each model, from 1.
    rng
        The source of all draws.

    Yields
    ------
    numpy.ndarray
        Shape ``(n, n_models, most_items)``; zero beyond a model's own items.
    """
    import numpy as np

    replicates, n_models = multiplicity.shape
    most = int(sizes.max())
    even = bool((sizes == most).all())
    step = max(1, _CHUNK_CELLS // (n_models * most))
    for start in range(0, replicates, step):
        trials = (multiplicity[start : start + step] * sizes).ravel()
        firsts = np.repeat(np.arange(len(trials), dtype=np.int64) * most, trials)
        if even:
            drawn = rng.integers(0, most, size=len(firsts), dtype=np.uint32)
        else:
            highs = np.repeat(np.resize(sizes, len(trials)), trials)
            drawn = rng.integers(0, highs, dtype=np.uint32)
        firsts += drawn
        weights = np.bincount(firsts, minlength=len(trials) * most).astype(np.float64)
        yield weights.reshape(-1, n_models, most)


def _pooled_draws(sums: _Sums, reference: int | None) -> PanelDraws:
    rates, scored = _rates(sums), sums.n > 0
    if reference is None:
        return PanelDraws(_no_contrasts(rates), rates, scored)
    # Equal fractions divide to equal numbers, so a difference of zero is exactly zero.
    contrasts = ContrastDraws(differences=_to_reference(sums, reference), defined=_usable(sums.n, reference))
    return PanelDraws(contrasts, rates, scored)


def _equal_draws(counts: ItemCounts, sums: _Sums, reference: int | None) -> PanelDraws:
    own = counts.n.sum(axis=1)
    rates, scored = _equal_means(_rates(sums), sums.n > 0, own > 0)
    if reference is None:
        return PanelDraws(_no_contrasts(rates), rates, scored)
    differences, defined = _equal_means(
        _to_reference(sums, reference), _usable(sums.n, reference), _usable(own, reference)
    )
    return PanelDraws(ContrastDraws(settled(differences), defined), rates, scored)


def _no_contrasts(rates: Floats) -> ContrastDraws:
    import numpy as np

    return ContrastDraws(np.zeros_like(rates), np.zeros(rates.shape, dtype=bool))


def _equal_means(values: Floats, drawn: Truths, usable: Truths) -> tuple[Floats, Truths]:
    """Means over the models that have rows at all, and whether all of these have been drawn."""
    import numpy as np

    n_models = usable.sum(axis=0)
    # Every model that counts must have drawn rows, or the mean would be over others.
    complete = (drawn | ~usable).all(axis=1)
    return _mean_where(values, usable, n_models), np.logical_and(complete, n_models > 0)


def _usable(n: Ints, reference: int) -> Truths:
    """Whether there are rows of the form and of the reference form; shape of ``n``."""
    scored = n > 0
    usable: Truths = scored & scored[..., [reference]]
    return usable


def _to_reference(sums: _Sums, reference: int) -> Floats:
    """Rates minus the reference form's; a form without rows has a rate of zero, which ``_usable`` tells."""
    rates = _rates(sums)
    differences: Floats = rates - rates[..., [reference]]
    return differences


def _rates(sums: _Sums) -> Floats:
    """Compliant by scored rows, zero without any."""
    import numpy as np

    rates: Floats = np.divide(
        sums.n_compliant, sums.n, out=np.zeros(sums.n.shape, dtype=np.float64), where=sums.n > 0
    )
    return rates


def _mean_where(differences: Floats, usable: Truths, n_models: Ints) -> Floats:
    """Mean over the models, the second axis from the end, that are usable."""
    import numpy as np

    mean: Floats = np.where(usable, differences, 0.0).sum(axis=-2) / np.maximum(n_models, 1)
    return mean


def _difference(own: Sequence[int], reference: Sequence[int]) -> float | None:
    """One rate minus another, each as compliant and scored rows, rounded once."""
    if not own[1] or not reference[1]:
        return None
    return float(Fraction(*own) - Fraction(*reference))

"""Intervals and p values for the audit of a panel.

Called by ``audit.build_audit``, ``cross`` and ``sensitivity``.

Every estimate starts a generator of its own from the one seed, so that no
figure depends on which others were computed, or on which panels there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from wise_pytest.audit.result import Bootstrap, SchemeResult
from wise_pytest.stats.bootstrap import (
    Units,
    contrast_points,
    draw_models,
    draw_panel,
    resampled_units,
)
from wise_pytest.stats.contrasts import Contrast, summarize_contrasts
from wise_pytest.stats.multiplicity import Family, holm
from wise_pytest.stats.ranking_bootstrap import RankingIntervals, ranking_intervals
from wise_pytest.stats.simultaneous import range_bounds
from wise_pytest.stats.summary_bootstrap import (
    RateInterval,
    SummaryIntervals,
    rate_intervals,
    summary_intervals,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from wise_pytest.audit.result import ModelAudit, PanelAudit, Pooled, Ranking
    from wise_pytest.panels.model import Panel
    from wise_pytest.stats.bootstrap import ItemCounts, PanelDraws, Scheme
    from wise_pytest.stats.rates import Rate
    from wise_pytest.stats.simultaneous import RangeBounds

DEFAULT_SCHEME: Scheme = "item-cluster"
"""For a panel known from its rows only: items are the one level that every panel samples."""
SENSITIVITY: tuple[Scheme, ...] = ("provider-model-item", "model-item", "equal-model-item")
"""The schemes that Appendix P of the paper sets side by side."""


FEW_UNITS = 10
"""With fewer providers or models than this a percentile interval is known to be too narrow."""
FEW_PROVIDERS_COVERAGE = 0.929
"""Measured by the coverage test for the six providers of the exact-count panel and their eleven models."""
FEW_MODELS_COVERAGE = 0.890
"""Measured by the coverage test for six models."""
_FEW: Mapping[Scheme, tuple[str, float]] = {
    "provider-model-item": ("providers", FEW_PROVIDERS_COVERAGE),
    "model-item": ("models", FEW_MODELS_COVERAGE),
}
DEFAULT_SEED = 0
DEFAULT_REPLICATES = 2000


@dataclass(frozen=True, slots=True)
class Resampling:
    """How the bootstrap is to run."""

    seed: int
    replicates: int
    """0: not at all."""


def with_uncertainty(
    audit: PanelAudit,
    counts: ItemCounts | None,
    *,
    declared: Panel | None,
    providers: Mapping[str, str],
    resampling: Resampling,
) -> PanelAudit:
    """Add to a panel's audit what resampling its rows says.

    Parameters
    ----------
    audit
        The point estimates.
    counts
        The panel's scored rows by model, item and form; ``None`` without any.
    declared
        The panel, for its default scheme.
    providers
        The provider of each model.
    resampling
        Seed and replicates; with 0 replicates the audit comes back as it is.

    Returns
    -------
    PanelAudit
        With intervals and p values for the primary contrasts, intervals alone
        for those over all models, which no hypothesis is about, and intervals
        of ranking stability.
    """
    if not resampling.replicates:
        return audit
    scheme = _scheme(declared)
    source = _Source(counts, audit.reference, providers, resampling)
    main = source.estimate(scheme, audit.primary, models=audit.models)
    family = holm({form: contrast.p for form, contrast in main.result.contrasts.items()})
    every = main
    if set(audit.by_model) != set(audit.models):
        every = source.estimate(scheme, audit.all_models, models=tuple(audit.by_model))
    return replace(
        audit,
        primary=_with(audit.primary, main, family),
        all_models=_with(audit.all_models, every, None),
        by_model=source.by_model(audit.by_model),
        ranking=source.ranking(audit.ranking, models=audit.models),
        bootstrap=Bootstrap(
            scheme=scheme,
            replicates=resampling.replicates,
            seed=resampling.seed,
            units=main.result.units,
            family=family,
            sensitivity={
                name: main.result
                if name == scheme
                else source.estimate(name, audit.primary, models=audit.models).result
                for name in SENSITIVITY
                if main.result.contrasts
            },
            cautions=tuple(_cautions(scheme, main.result.units)),
        ),
    )


def with_intervals(
    audit: PanelAudit,
    counts: ItemCounts | None,
    *,
    declared: Panel | None,
    providers: Mapping[str, str],
    resampling: Resampling,
) -> PanelAudit:
    """Add to a panel's audit the intervals of ``with_uncertainty`` for the primary models and for each model.

    The draws are the same, so that the figures are; nothing is tested, ranked or
    set beside other schemes.
    """
    if not resampling.replicates:
        return audit
    source = _Source(counts, audit.reference, providers, resampling)
    main = source.estimate(_scheme(declared), audit.primary, models=audit.models)
    return replace(audit, primary=_with(audit.primary, main, None), by_model=source.by_model(audit.by_model))


def pooled_with_uncertainty(
    pooled: Pooled,
    counts: ItemCounts | None,
    *,
    declared: Panel | None,
    reference: str,
    models: Collection[str],
    providers: Mapping[str, str],
    resampling: Resampling,
) -> tuple[Pooled, Scheme | None]:
    """Add to rates that are pooled over some of a panel's models what resampling these says.

    Parameters
    ----------
    pooled
        The point estimates over ``models``.
    counts, declared, providers, resampling
        As for ``with_uncertainty``.
    reference
        The form that the others are compared with.
    models
        Models with scored rows.

    Returns
    -------
    tuple
        The same with intervals, and the scheme; no p values.
    """
    if not resampling.replicates:
        return pooled, None
    scheme = _scheme(declared)
    source = _Source(counts, reference, providers, resampling)
    return _with(pooled, source.estimate(scheme, pooled, models=models), None), scheme


def _scheme(declared: Panel | None) -> Scheme:
    return DEFAULT_SCHEME if declared is None else cast("Scheme", declared.bootstrap)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What one scheme says of one set of models."""

    result: SchemeResult
    rates: Mapping[str, RateInterval]
    """By form."""
    summary: SummaryIntervals | None
    bounds: RangeBounds | None = None


@dataclass(frozen=True, slots=True)
class _Source:
    """What all estimates of one panel are drawn from."""

    counts: ItemCounts | None
    reference: str
    providers: Mapping[str, str]
    resampling: Resampling

    def estimate(self, scheme: Scheme, pooled: Pooled, *, models: Collection[str]) -> _Estimate:
        """Contrasts and intervals of ``pooled``, which is over ``models``."""
        import numpy as np

        counts = None if self.counts is None else self.counts.of_models(tuple(models))
        if counts is None or not counts.models:
            return _Estimate(SchemeResult(units=_no_units(scheme), contrasts={}), {}, None)
        units = resampled_units(counts, scheme, providers=self.providers)
        if units.reason is not None:
            return self._without(counts, scheme, units, units.reason, _contrasted(pooled))
        draws = draw_panel(
            counts,
            scheme,
            reference=self.reference,
            providers=self.providers,
            replicates=self.resampling.replicates,
            rng=np.random.default_rng(self.resampling.seed),
        )
        return self._from(draws, counts, scheme, units, pooled)

    def _from(
        self, draws: PanelDraws, counts: ItemCounts, scheme: Scheme, units: Units, pooled: Pooled
    ) -> _Estimate:
        rates = {form: pooled.forms[form].rate for form in counts.forms}
        forms = _contrasted(pooled)
        contrasts: dict[str, Contrast] = {}
        if forms:
            points = contrast_points(counts, scheme, reference=self.reference)
            found = dict(zip(counts.forms, summarize_contrasts(points, draws.contrasts), strict=True))
            contrasts = {form: found[form] for form in forms}
        summary = summary_intervals(draws, rates, reference=self.reference)
        return _Estimate(
            SchemeResult(units=units, contrasts=contrasts),
            dict(zip(rates, rate_intervals(draws, tuple(rates.values())), strict=True)),
            summary,
            _bounds(draws, rates) if summary.reason is None else None,
        )

    def _without(
        self, counts: ItemCounts, scheme: Scheme, units: Units, reason: str, forms: Collection[str]
    ) -> _Estimate:
        """Nothing can vary: point estimates alone, and why."""
        contrasts: dict[str, Contrast] = {}
        if forms:
            points = dict(
                zip(counts.forms, contrast_points(counts, scheme, reference=self.reference), strict=True)
            )
            contrasts = {form: Contrast.unavailable(reason, diff=points[form]) for form in forms}
        return _Estimate(
            SchemeResult(units=units, contrasts=contrasts),
            dict.fromkeys(counts.forms, RateInterval(None, reason)),
            SummaryIntervals.unavailable(reason),
        )

    def by_model(self, audits: Mapping[str, ModelAudit]) -> dict[str, ModelAudit]:
        """Each model with intervals over its own items."""
        import numpy as np

        if self.counts is None:
            return dict(audits)
        draws = draw_models(
            self.counts,
            replicates=self.resampling.replicates,
            rng=np.random.default_rng(self.resampling.seed),
        )
        place = self.counts.forms.index(self.reference) if self.reference in self.counts.forms else None
        found = dict(audits)
        for number, model in enumerate(self.counts.models):
            counts = self.counts.of_models((model,))
            units = resampled_units(counts, "item-cluster", providers=self.providers)
            results = audits[model].results
            estimate = (
                self._from(draws.of_model(number, place), counts, "item-cluster", units, results)
                if units.reason is None
                else self._without(counts, "item-cluster", units, units.reason, _contrasted(results))
            )
            found[model] = replace(audits[model], results=_with(results, estimate, None))
        return found

    def ranking(self, rankings: Mapping[str, Ranking], *, models: Collection[str]) -> dict[str, Ranking]:
        """The rankings with their intervals."""
        import numpy as np

        if not rankings or self.counts is None:
            return dict(rankings)
        intervals = ranking_intervals(
            self.counts.of_models(tuple(models)),
            reference=self.reference,
            replicates=self.resampling.replicates,
            rng=np.random.default_rng(self.resampling.seed),
        )
        nothing = RankingIntervals.unavailable("no scored rows of this form")
        return {
            form: replace(ranking, intervals=intervals.get(form, nothing))
            for form, ranking in rankings.items()
        }


def _no_units(scheme: Scheme) -> Units:
    return Units(n_units={}, reason=f"no scored rows to resample by {scheme}")


def _contrasted(pooled: Pooled) -> tuple[str, ...]:
    """The forms that have a difference to the reference form."""
    return tuple(form for form, result in pooled.forms.items() if result.diff is not None)


def _with(pooled: Pooled, estimate: _Estimate, family: Family | None) -> Pooled:
    contrasts = estimate.result.contrasts
    return replace(
        pooled,
        forms={
            form: replace(
                result,
                rate_interval=estimate.rates.get(form),
                contrast=contrasts.get(form),
                p_holm=family.adjusted[form] if family is not None and form in contrasts else None,
                tested=family is not None and form in contrasts,
            )
            for form, result in pooled.forms.items()
        },
        intervals=estimate.summary,
        bounds=estimate.bounds,
    )


def _bounds(draws: PanelDraws, rates: Mapping[str, Rate]) -> RangeBounds:
    """Bounds over the forms with scored rows, from the replicates that have rows of all of them."""
    import numpy as np

    places = [place for place, rate in enumerate(rates.values()) if rate.n]
    complete = np.all(draws.scored[:, places], axis=1)
    return range_bounds([rate for rate in rates.values() if rate.n], draws.rates[complete][:, places])


def _cautions(scheme: Scheme, units: Units) -> Iterator[str]:
    """What is known against the intervals."""
    level, coverage = _FEW.get(scheme, ("", 0.0))
    n = units.n_units.get(level, 0)
    if n == 1:
        yield f"there is one {level.removesuffix('s')} only: the intervals do not say how others would differ"
    elif 0 < n < FEW_UNITS:
        yield (
            f"intervals resample {n} {level}, and few units make them too narrow: on simulated panels with "
            f"six {level}, 95 % intervals held the true effect in {100 * coverage:.1f} % of cases"
        )

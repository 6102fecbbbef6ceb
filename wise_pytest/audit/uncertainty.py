"""Intervals and p values for the audit of a panel. Called by ``audit.build_audit`` only.

Every estimate starts a generator of its own from the one seed, so that no
figure depends on which others were computed, or on which panels there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from wise_pytest.audit.result import Bootstrap, SchemeResult
from wise_pytest.stats.bootstrap import Units, contrast_points, draw_contrasts, resampled_units
from wise_pytest.stats.contrasts import Contrast, summarize_contrasts
from wise_pytest.stats.multiplicity import Family, holm
from wise_pytest.stats.ranking_bootstrap import RankingIntervals, ranking_intervals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from wise_pytest.audit.result import PanelAudit, Pooled, Ranking
    from wise_pytest.panels.model import Panel
    from wise_pytest.stats.bootstrap import ItemCounts, Scheme

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
    scheme = DEFAULT_SCHEME if declared is None else cast("Scheme", declared.bootstrap)
    source = _Source(counts, audit.reference, providers, resampling)
    wanted = dict.fromkeys((scheme, *SENSITIVITY) if _contrasted(audit.primary) else (scheme,))
    by_scheme = {
        name: source.contrasts(name, models=audit.models, forms=_contrasted(audit.primary)) for name in wanted
    }
    main = by_scheme[scheme]
    family = holm({form: contrast.p for form, contrast in main.contrasts.items()})
    every = main
    if set(audit.by_model) != set(audit.models):
        every = source.contrasts(scheme, models=tuple(audit.by_model), forms=_contrasted(audit.all_models))
    return replace(
        audit,
        primary=_with_contrasts(audit.primary, main.contrasts, family),
        all_models=_with_contrasts(audit.all_models, every.contrasts, None),
        ranking=source.ranking(audit.ranking, models=audit.models),
        bootstrap=Bootstrap(
            scheme=scheme,
            replicates=resampling.replicates,
            seed=resampling.seed,
            units=main.units,
            family=family,
            sensitivity={
                name: by_scheme[name] for name in SENSITIVITY if name in by_scheme and main.contrasts
            },
            cautions=tuple(_cautions(scheme, main.units)),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """What all estimates of one panel are drawn from."""

    counts: ItemCounts | None
    reference: str
    providers: Mapping[str, str]
    resampling: Resampling

    def contrasts(self, scheme: Scheme, *, models: Collection[str], forms: Collection[str]) -> SchemeResult:
        """The contrasts of ``forms`` over ``models``; every one of them has a difference."""
        import numpy as np

        counts = None if self.counts is None else self.counts.of_models(tuple(models))
        if counts is None or not counts.models:
            return SchemeResult(units=_no_units(scheme), contrasts={})
        units = resampled_units(counts, scheme, providers=self.providers)
        if not forms:
            return SchemeResult(units=units, contrasts={})
        points = contrast_points(counts, scheme, reference=self.reference)
        if units.reason is not None:
            found = tuple(Contrast.unavailable(units.reason, diff=point) for point in points)
        else:
            draws = draw_contrasts(
                counts,
                scheme,
                reference=self.reference,
                providers=self.providers,
                replicates=self.resampling.replicates,
                rng=np.random.default_rng(self.resampling.seed),
            )
            found = summarize_contrasts(points, draws)
        by_form = dict(zip(counts.forms, found, strict=True))
        return SchemeResult(units=units, contrasts={form: by_form[form] for form in forms})

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


def _with_contrasts(pooled: Pooled, contrasts: Mapping[str, Contrast], family: Family | None) -> Pooled:
    return replace(
        pooled,
        forms={
            form: replace(
                result,
                contrast=contrasts[form],
                p_holm=None if family is None else family.adjusted[form],
                tested=family is not None,
            )
            if form in contrasts
            else result
            for form, result in pooled.forms.items()
        },
    )


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

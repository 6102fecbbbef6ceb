"""How often the 95 % intervals hold the true effect, on simulated panels where it is known.

Slow: run with ``-m slow -s`` to see the figures. The cautions of the audit quote
what this prints, and the test holds them to it.
"""

from __future__ import annotations

import numpy as np
import pytest

from wise_pytest.audit.uncertainty import FEW_MODELS_COVERAGE, FEW_PROVIDERS_COVERAGE
from wise_pytest.stats.bootstrap import ItemCounts, contrast_points, draw_contrasts
from wise_pytest.stats.contrasts import summarize_contrasts

N_PANELS = 800
REPLICATES = 500
EFFECT = -0.10
N_ITEMS, N_REPETITIONS = 100, 3
PAPER_PROVIDERS = (3, 3, 2, 1, 1, 1)
"""Models of each of the six providers of the exact-count panel."""


def uniform(rng, spread, size):
    """Bounded effects of mean zero, so that rates stay in 0..1 and the true effect is exact."""
    return rng.uniform(-spread, spread, size)


def simulated(rng, sizes):
    """Counts of one panel of two forms, and the mean effect over its own models.

    Providers, models within them and items within each model differ in how they
    comply and in how much the second form costs them: what each scheme assumes.
    """
    provider_of = np.repeat(np.arange(len(sizes)), sizes)
    n_models = len(provider_of)
    effects = EFFECT + uniform(rng, 0.10, len(sizes))[provider_of] + uniform(rng, 0.15, n_models)
    base = 0.6 + uniform(rng, 0.10, n_models)
    of_item = uniform(rng, 0.05, (n_models, N_ITEMS))
    cost = uniform(rng, 0.05, (n_models, N_ITEMS))
    reference = base[:, None] + of_item
    rates = np.stack([reference, reference + effects[:, None] + cost], axis=2)
    compliant = rng.binomial(N_REPETITIONS, rates)
    counts = ItemCounts(
        models=tuple(f"m{number:03}" for number in range(n_models)),
        items=tuple(f"i{number:03}" for number in range(N_ITEMS)),
        forms=("POS", "NEG"),
        n_compliant=compliant,
        n=np.full_like(compliant, N_REPETITIONS),
    )
    providers = {model: f"p{code}" for model, code in zip(counts.models, provider_of.tolist(), strict=True)}
    return counts, providers, float(effects.mean())


def coverage(scheme, sizes, *, of_these_models=False):
    """Share of the panels whose interval holds the effect, of the population or of the models at hand."""
    rng = np.random.default_rng(20240607)
    n_held = 0
    for _ in range(N_PANELS):
        counts, providers, own_effect = simulated(rng, sizes)
        draws = draw_contrasts(
            counts, scheme, reference="POS", providers=providers, replicates=REPLICATES, rng=rng
        )
        interval = summarize_contrasts(contrast_points(counts, scheme, reference="POS"), draws)[1].interval
        truth = own_effect if of_these_models else EFFECT
        n_held += interval.low <= truth <= interval.high
    share = n_held / N_PANELS
    print(f"coverage of {scheme}, models of each provider {sizes}: {100 * share:.1f} % of {N_PANELS} panels")  # noqa: T201 - what the run is for
    return share


@pytest.mark.slow
def test_model_item():
    # One model a provider: then the scheme's assumption, models drawn independently, is true.
    assert 0.92 <= coverage("model-item", (1,) * 20) <= 0.98


@pytest.mark.slow
def test_equal_model_item():
    assert 0.92 <= coverage("equal-model-item", (1,) * 11, of_these_models=True) <= 0.98


@pytest.mark.slow
def test_six_models_are_few():
    assert coverage("model-item", (1,) * 6) == pytest.approx(FEW_MODELS_COVERAGE, abs=0.005)


@pytest.mark.slow
def test_six_providers_are_few():
    assert coverage("provider-model-item", PAPER_PROVIDERS) == pytest.approx(
        FEW_PROVIDERS_COVERAGE, abs=0.005
    )

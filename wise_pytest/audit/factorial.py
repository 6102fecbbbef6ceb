"""The audit of a factorial panel: what each property of a wording does to compliance.

``audit.build_audit`` calls ``build_factorial`` for each panel that declares
factors, and ``document`` writes down what it says with ``to_document``. Rates stay exact
until then; effects come from ``stats.factorial``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.stats.contrasts import CONFIDENCE
from wise_pytest.stats.factorial import Effects, factorial_effects
from wise_pytest.stats.multiplicity import holm
from wise_pytest.stats.rates import Rate, pool

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wise_pytest.panels.model import Panel
    from wise_pytest.stats.bootstrap import ItemCounts
    from wise_pytest.stats.factorial import Contrast, Effect


NO_ROWS = "no scored rows"
_DECIMALS = 10
_FIGURES = 8


@dataclass(frozen=True, slots=True)
class FactorialResult:
    """Effects over one set of models."""

    models: tuple[str, ...]
    """Those with a scored row."""
    levels: Mapping[str, Mapping[str, Rate]]
    """By factor and level: pooled over everything else."""
    effects: Effects
    p_holm: tuple[float | None, ...]
    """Of each effect: corrected over all that were tested in this set."""


@dataclass(frozen=True, slots=True)
class FactorialAudit:
    """A factorial panel."""

    panel: Panel
    pooled: FactorialResult
    """Over the primary models."""
    by_model: Mapping[str, FactorialResult]
    """Every model with a scored row, sorted."""
    n_rows: int
    """Scored rows of the panel's own forms."""


def build_factorial(counts: ItemCounts, panel: Panel, *, primary: Collection[str]) -> FactorialAudit:
    """Estimate the effects of the panel's factors, for each model and pooled.

    Parameters
    ----------
    counts
        The panel's scored rows by model, item and form. Forms that it does not
        declare are in none of the figures.
    panel
        One that declares factors.
    primary
        The models to pool.

    Raises
    ------
    ValueError
        If the panel declares no factors.
    """
    if not panel.factors:
        raise ValueError(f"panel {panel.panel_id} declares no factors")
    by_model = {
        model: found
        for model in counts.models
        if (found := _result(counts.of_models((model,)), panel)).effects.n
    }
    return FactorialAudit(
        panel=panel,
        pooled=_result(counts.of_models(tuple(primary)), panel),
        by_model=by_model,
        n_rows=sum(found.effects.n for found in by_model.values()),
    )


def to_document(audit: FactorialAudit) -> dict[str, Any]:
    """The audit as JSON values, a reason beside every null.

    ``factors`` names the levels, the first of each being what the others are
    compared with; ``pooled`` and each of ``by_model`` hold ``levels`` (rates),
    ``effects`` and ``terms``. Estimates are differences of rates, -1..1.
    """
    panel = audit.panel
    why_empty = "every model is excluded" if audit.by_model else NO_ROWS
    return {
        "factors": {factor.name: list(factor.levels) for factor in panel.factors},
        "scheme": "items, with all their models, forms and repetitions",
        "confidence": CONFIDENCE,
        "n_rows": audit.n_rows,
        "pooled": _document(audit.pooled, panel, why_empty),
        "by_model": {model: _document(result, panel, NO_ROWS) for model, result in audit.by_model.items()},
    }


def _result(counts: ItemCounts, panel: Panel) -> FactorialResult:
    import numpy as np

    factors = panel.factors
    levels_of = {form.form_id: form.levels for form in panel.forms}
    forms = [place for place, form in enumerate(counts.forms) if form in levels_of]
    n, n_compliant = counts.n[:, :, forms], counts.n_compliant[:, :, forms]
    names = [counts.forms[place] for place in forms]
    codes = np.array(
        [
            [factor.levels.index(level) for factor, level in zip(factors, levels_of[form], strict=True)]
            for form in names
        ],
        dtype=np.int64,
    ).reshape(len(names), len(factors))
    models, items, places = (axis.ravel() for axis in np.indices(n.shape))
    effects = factorial_effects(
        n_compliant.ravel(),
        n.ravel(),
        codes[places],
        n_levels=[len(factor.levels) for factor in factors],
        clusters=items,
        blocks=models,
    )
    rates = {
        form: Rate(int(n_compliant[:, :, place].sum()), int(n[:, :, place].sum()))
        for place, form in enumerate(names)
    }
    corrected = holm({str(place): effect.p for place, effect in enumerate(effects.effects)}).adjusted
    seen = n.sum(axis=(1, 2)).tolist()
    return FactorialResult(
        models=tuple(model for model, count in zip(counts.models, seen, strict=True) if count),
        levels={
            factor.name: {
                level: pool(rate for form, rate in rates.items() if levels_of[form][place] == level)
                for level in factor.levels
            }
            for place, factor in enumerate(factors)
        },
        effects=effects,
        p_holm=tuple(corrected[str(place)] for place in range(len(effects.effects))),
    )


def _document(result: FactorialResult, panel: Panel, why_empty: str) -> dict[str, Any]:
    why = why_empty if not result.models else None
    return {
        **({} if why is None else {"reason": why}),
        "models": list(result.models),
        "n": result.effects.n,
        "n_items": result.effects.n_clusters,
        "levels": {
            factor: {level: _rate(rate, why) for level, rate in rates.items()}
            for factor, rates in result.levels.items()
        },
        "effects": [
            _effect(effect, p_holm, panel, why)
            for effect, p_holm in zip(result.effects.effects, result.p_holm, strict=True)
        ],
        "terms": [
            {
                "factors": [panel.factors[place].name for place in term.factors],
                "f": _figures(term.statistic),
                "df": None if term.df is None else list(term.df),
                "p": _figures(term.p),
                **({} if term.reason is None else {"reason": why or term.reason}),
            }
            for term in result.effects.terms
        ],
    }


def _effect(effect: Effect, p_holm: float | None, panel: Panel, why: str | None) -> dict[str, Any]:
    content: dict[str, Any] = {
        "factors": [panel.factors[place].name for place in effect.contrast.factors],
        "contrast": _named(effect.contrast, panel),
        "estimate": _settled(effect.estimate),
        "ci_low": None if effect.interval is None else _settled(effect.interval.low),
        "ci_high": None if effect.interval is None else _settled(effect.interval.high),
        "standard_error": _settled(effect.standard_error),
        "p_raw": _figures(effect.p),
        "p_holm": _figures(p_holm),
    }
    if effect.reason is not None:
        content["reason"] = why or effect.reason
    return content


def _settled(value: float | None) -> float | None:
    """A difference without what processors differ in: a library's last digits depend on the machine."""
    return None if value is None else round(value, _DECIMALS) + 0.0  # no negative zero


def _figures(value: float | None) -> float | None:
    """The same for what may be very small."""
    return None if value is None else float(f"{value:.{_FIGURES}g}")


def _named(contrast: Contrast, panel: Panel) -> list[dict[str, str]]:
    """Each factor of a contrast, with its level and the one that it is compared with."""
    factors = [panel.factors[place] for place in contrast.factors]
    return [
        {"factor": factor.name, "level": factor.levels[level], "against": factor.levels[0]}
        for factor, level in zip(factors, contrast.levels, strict=True)
    ]


def _rate(rate: Rate, why: str | None) -> dict[str, Any]:
    content: dict[str, Any] = {"compliance": rate.value, "n": rate.n, "n_compliant": rate.n_compliant}
    if not rate.n:
        content["reason"] = why or NO_ROWS
    return content

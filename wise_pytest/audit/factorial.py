"""The audit of a factorial panel: what each property of a wording does to compliance.

Whoever has rows of such a panel calls ``build_factorial`` and ``to_document``; a
panel is one where it declares factors. Rates stay exact until the document
writes them down; effects come from ``stats.factorial``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.stats.contrasts import CONFIDENCE
from wise_pytest.stats.factorial import Effects, factorial_effects
from wise_pytest.stats.multiplicity import holm
from wise_pytest.stats.rates import Rate, pool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Row
    from wise_pytest.stats.factorial import Contrast, Effect


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
    by_model: Mapping[str, FactorialResult]
    """Every model with a scored row, sorted."""
    n_rows: int
    """Scored rows of the panel's own forms."""


def build_factorial(
    rows: Iterable[Row], panel: Panel, *, primary: Collection[str] | None = None
) -> FactorialAudit:
    """Estimate the effects of the panel's factors, for each model and pooled.

    Parameters
    ----------
    rows
        Of any panels and statuses, without duplicates; only scored rows of this
        panel, and of forms that it declares, count.
    panel
        One that declares factors.
    primary
        The models to pool; ``None`` pools all.

    Raises
    ------
    ValueError
        If the panel declares no factors.
    """
    if not panel.factors:
        raise ValueError(f"panel {panel.panel_id} declares no factors")
    levels_of = {form.form_id: form.levels for form in panel.forms}
    scored = [row for row in rows if row.panel == panel.panel_id and row.scored and row.form in levels_of]
    models = sorted({row.model for row in scored})
    pooled = [row for row in scored if primary is None or row.model in primary]
    return FactorialAudit(
        panel=panel,
        pooled=_result(pooled, panel, levels_of),
        by_model={
            model: _result([row for row in scored if row.model == model], panel, levels_of)
            for model in models
        },
        n_rows=len(scored),
    )


def to_document(audit: FactorialAudit) -> dict[str, Any]:
    """The audit as JSON values, a reason beside every null.

    ``factors`` names the levels, the first of each being what the others are
    compared with; ``pooled`` and each of ``by_model`` hold ``levels`` (rates),
    ``effects`` and ``terms``. Estimates are differences of rates, -1..1.
    """
    panel = audit.panel
    return {
        "panel": panel.panel_id,
        "factors": {factor.name: list(factor.levels) for factor in panel.factors},
        "scheme": "items, with all their models, forms and repetitions",
        "confidence": CONFIDENCE,
        "n_rows": audit.n_rows,
        "pooled": _document(audit.pooled, panel),
        "by_model": {model: _document(result, panel) for model, result in audit.by_model.items()},
    }


def _result(rows: Sequence[Row], panel: Panel, levels_of: Mapping[str, tuple[str, ...]]) -> FactorialResult:
    import numpy as np

    models, items = sorted({row.model for row in rows}), sorted({row.item for row in rows})
    place_of_model = {model: place for place, model in enumerate(models)}
    place_of_item = {item: place for place, item in enumerate(items)}
    factors = panel.factors
    places = [{level: place for place, level in enumerate(factor.levels)} for factor in factors]
    rates = {form: _rate_of(row for row in rows if row.form == form) for form in levels_of}
    # Sorted, so that the same rows give the same figures to the last digit, in whatever order they come.
    ordered = sorted(rows, key=lambda row: row.key)
    effects = factorial_effects(
        np.array([row.compliant is True for row in ordered], dtype=np.int64),
        np.array(
            [
                [place[level] for place, level in zip(places, levels_of[row.form], strict=True)]
                for row in ordered
            ],
            dtype=np.int64,
        ).reshape(len(ordered), len(factors)),
        n_levels=[len(factor.levels) for factor in factors],
        clusters=np.array([place_of_item[row.item] for row in ordered], dtype=np.int64),
        blocks=np.array([place_of_model[row.model] for row in ordered], dtype=np.int64),
    )
    corrected = holm({str(place): effect.p for place, effect in enumerate(effects.effects)}).adjusted
    return FactorialResult(
        models=tuple(models),
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


def _rate_of(rows: Iterable[Row]) -> Rate:
    compliant = [row.compliant is True for row in rows]
    return Rate(sum(compliant), len(compliant))


def _document(result: FactorialResult, panel: Panel) -> dict[str, Any]:
    return {
        "models": list(result.models),
        "n": result.effects.n,
        "n_items": result.effects.n_clusters,
        "levels": {
            factor: {level: _rate(rate) for level, rate in rates.items()}
            for factor, rates in result.levels.items()
        },
        "effects": [
            _effect(effect, p_holm, panel)
            for effect, p_holm in zip(result.effects.effects, result.p_holm, strict=True)
        ],
        "terms": [
            {
                "factors": [panel.factors[place].name for place in term.factors],
                "f": term.statistic,
                "df": None if term.df is None else list(term.df),
                "p": term.p,
                **({} if term.reason is None else {"reason": term.reason}),
            }
            for term in result.effects.terms
        ],
    }


def _effect(effect: Effect, p_holm: float | None, panel: Panel) -> dict[str, Any]:
    content: dict[str, Any] = {
        "factors": [panel.factors[place].name for place in effect.contrast.factors],
        "contrast": _named(effect.contrast, panel),
        "estimate": effect.estimate,
        "ci_low": None if effect.interval is None else effect.interval.low,
        "ci_high": None if effect.interval is None else effect.interval.high,
        "standard_error": effect.standard_error,
        "p_raw": effect.p,
        "p_holm": p_holm,
    }
    if effect.reason is not None:
        content["reason"] = effect.reason
    return content


def _named(contrast: Contrast, panel: Panel) -> list[dict[str, str]]:
    """Each factor of a contrast, with its level and the one that it is compared with."""
    factors = [panel.factors[place] for place in contrast.factors]
    return [
        {"factor": factor.name, "level": factor.levels[level], "against": factor.levels[0]}
        for factor, level in zip(factors, contrast.levels, strict=True)
    ]


def _rate(rate: Rate) -> dict[str, Any]:
    content: dict[str, Any] = {"compliance": rate.value, "n": rate.n, "n_compliant": rate.n_compliant}
    if not rate.n:
        content["reason"] = "no scored rows"
    return content

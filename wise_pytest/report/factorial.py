"""Effects of the factors of a panel, as tables and sentences.

Called by ``markdown``, ``csvfiles``, the page and ``wise effects`` with a panel
of the document; other panels have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import Column, number, thousands
from wise_pytest.report.objects import listed, mapping, panels_of
from wise_pytest.report.tables import MODEL, PANEL, REASON, Tidy, every_panel, made_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wise_pytest.report.objects import Document, Record
    from wise_pytest.report.tables import Table

EFFECT = Column("Effect", "effect", ("effect",))
ESTIMATE = (
    Column("Points", "estimate", ("estimate",), "difference"),
    Column("Interval", "ci", (), "difference_interval", bounds=("ci_low", "ci_high")),
)
P_VALUE = Column("p (Holm)", "p_holm", ("p_holm",), "p_value")
TERM = Column("Factors", "factors", ("factors",))
TEST = (
    Column("F", "f", ("f",), "decimal"),
    Column("Degrees of freedom", "df", ("df",)),
    Column("p", "p", ("p",), "p_value"),
)
_OF = (Column("Of", "level", ("level",)), MODEL)
_SIZE = (Column("n", "n", ("n",), "count"), Column("Items", "n_items", ("n_items",), "count"))


def effects_of(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a panel's factors do; empty where it has none."""
    return mapping(panel, "effects")


def has_effects(document: Document) -> bool:
    """Whether any panel has factors."""
    return any(map(effects_of, panels_of(document).values()))


def effect_name(effect: Mapping[str, Any]) -> str:
    """A main effect by its two levels, an interaction by the levels that meet."""
    contrast = [mapping(part) for part in listed(effect, "contrast")]
    if len(contrast) == 1:
        return f"{contrast[0].get('level')} − {contrast[0].get('against')}"
    return " × ".join(str(part.get("level")) for part in contrast)


def models_beside(panel: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The models with estimates of their own, where these are not the pooled ones again."""
    effects = effects_of(panel)
    models = {str(model): mapping(found) for model, found in mapping(effects, "by_model").items()}
    return {} if listed(mapping(effects, "pooled"), "models") == list(models) and len(models) == 1 else models


def effects_table(panel: Mapping[str, Any]) -> Table:
    """One row an effect: pooled with its interval, and each model's own estimate."""
    models = models_beside(panel)
    own = (Column(model, model, ("by_model", model, "estimate"), "difference") for model in models)
    records = [
        {
            **effect,
            "effect": effect_name(effect),
            "by_model": {
                model: mapping(listed(found, "effects")[place])
                for model, found in models.items()
                if place < len(listed(found, "effects"))
            },
        }
        for place, effect in enumerate(map(mapping, listed(mapping(effects_of(panel), "pooled"), "effects")))
    ]
    columns = (EFFECT, *ESTIMATE, P_VALUE, *own)
    return made_table("Effects of the properties of a wording", columns, records)


def terms_table(panel: Mapping[str, Any]) -> Table:
    """One row a factor or pair of factors: whether it moves compliance at all, pooled."""
    records = [_tested(mapping(term)) for term in listed(mapping(effects_of(panel), "pooled"), "terms")]
    return made_table("Factors and pairs of factors, tested as a whole", (TERM, *TEST), records)


def effects_sentence(panel: Mapping[str, Any]) -> str:
    """How the effects were estimated, and what they are."""
    effects = effects_of(panel)
    pooled = mapping(effects, "pooled")
    confidence = number(effects.get("confidence"))
    level = "" if confidence is None else f"{100 * confidence:g} % "
    n_models = len(listed(pooled, "models"))
    return (
        f"Changes in compliance, in percentage points, from {thousands(pooled.get('n'))} generations of "
        f"{n_models} model{'' if n_models == 1 else 's'}: of a level against the first of its factor, "
        "averaged over all other factors, and of two levels that meet, beyond what each does alone. Least "
        "squares with "
        f"{level}intervals by the t distribution over {pooled.get('n_items')} items, whose generations may "
        "depend on each other."
    )


def tidy_effects() -> tuple[Tidy, ...]:
    """The tables that are written as CSV, each under its name."""
    return (
        Tidy(
            "effects",
            (
                PANEL,
                *_OF,
                TERM,
                EFFECT,
                *ESTIMATE,
                Column("Standard error", "standard_error", ("standard_error",), "decimal"),
                Column("p", "p_raw", ("p_raw",), "p_value"),
                P_VALUE,
                *_SIZE,
                REASON,
            ),
            every_panel(_every_effect),
        ),
        Tidy("effect_tests", (PANEL, *_OF, TERM, *TEST, *_SIZE, REASON), every_panel(_every_term)),
    )


def _results(panel: Mapping[str, Any]) -> Iterator[tuple[Record, Mapping[str, Any]]]:
    """The pooled result and each model's, with what names it and its size."""
    effects = effects_of(panel)
    found = [("pooled", "", mapping(effects, "pooled"))]
    found += [("model", str(model), mapping(r)) for model, r in mapping(effects, "by_model").items()]
    for level, model, result in found:
        yield (
            {"level": level, "model": model, "n": result.get("n"), "n_items": result.get("n_items")},
            result,
        )


def _every_effect(panel: Mapping[str, Any]) -> Iterator[Record]:
    for shared, result in _results(panel):
        for effect in map(mapping, listed(result, "effects")):
            factors = " × ".join(map(str, listed(effect, "factors")))
            yield {**effect, **shared, "effect": effect_name(effect), "factors": factors}


def _every_term(panel: Mapping[str, Any]) -> Iterator[Record]:
    for shared, result in _results(panel):
        for term in listed(result, "terms"):
            yield {**_tested(mapping(term)), **shared}


def _tested(term: Mapping[str, Any]) -> Record:
    df = listed(term, "df")
    return {
        **term,
        "factors": " × ".join(map(str, listed(term, "factors"))),
        "df": ", ".join(map(str, df)) or None,
    }

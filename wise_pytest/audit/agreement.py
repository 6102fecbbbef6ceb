"""What annotators make of the wording forms: from ratings to ``agreement.json``.

``wise agreement`` calls ``build_agreement`` and ``to_document``. Rates and
means stay exact until the document writes them down.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from wise_pytest.audit.ratings import SCALES
from wise_pytest.audit.uncertainty import DEFAULT_REPLICATES, DEFAULT_SEED
from wise_pytest.stats.agreement import draw_items, fleiss_kappa, icc_2k
from wise_pytest.stats.rates import Rate, pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wise_pytest.audit.ratings import Ratings
    from wise_pytest.stats.agreement import Agreement

AGREEMENT_SCHEMA = "wise.agreement/1"

_REFERENCE = "POS"


@dataclass(frozen=True, slots=True)
class FormRatings:
    """What the annotators said of one form."""

    targets: tuple[int, ...]
    """Of its items, ascending, each once."""
    exact_n: Rate
    """Judgments that the item requires exactly its number of words, of all annotators."""
    by_annotator: Mapping[str, Rate]
    means: Mapping[str, Fraction]
    """Mean rating of each scale, 1..5, over the judgments that `exact_n` counts."""


@dataclass(frozen=True, slots=True)
class AgreementAudit:
    """Every form, and how far the annotators agree over all items."""

    forms: Mapping[str, FormRatings]
    """The reference form first, the others by name."""
    agreement: Mapping[str, Agreement]
    """``exact_n`` and each scale."""
    annotators: tuple[str, ...]
    n_items: int
    n_ratings: int
    """Of each scale: items times annotators."""
    ratings_sha256: str
    seed: int
    n_replicates: int
    provenance: Mapping[str, Any]


def build_agreement(
    ratings: Ratings,
    *,
    seed: int = DEFAULT_SEED,
    replicates: int = DEFAULT_REPLICATES,
    provenance: Mapping[str, Any] | None = None,
) -> AgreementAudit:
    """Audit the ratings. Equal ratings give an equal audit, in whatever order their lines came.

    Parameters
    ----------
    ratings
        A complete table.
    seed
        Of the one generator; all statistics see the same replicates, so that
        none depends on which others could be had.
    replicates
        Of the bootstrap over items; 0 leaves out the intervals.
    provenance
        JSON values about the run, passed through to the document.
    """
    import numpy as np

    draws = draw_items(len(ratings.items), n_replicates=replicates, rng=np.random.default_rng(seed))
    n_exact = np.array(ratings.exact_n, dtype=np.int64).sum(axis=1)
    counts = np.stack([len(ratings.annotators) - n_exact, n_exact], axis=1)
    names = sorted({item.form for item in ratings.items}, key=lambda form: (form != _REFERENCE, form))
    return AgreementAudit(
        forms={form: _form(ratings, form) for form in names},
        agreement={
            "exact_n": fleiss_kappa(counts, draws),
            **{scale: icc_2k(np.array(ratings.scales[scale], dtype=np.int64), draws) for scale in SCALES},
        },
        annotators=ratings.annotators,
        n_items=len(ratings.items),
        n_ratings=len(ratings.items) * len(ratings.annotators),
        ratings_sha256=ratings.sha256,
        seed=seed,
        n_replicates=replicates,
        provenance=dict(provenance or {}),
    )


def to_document(audit: AgreementAudit) -> dict[str, Any]:
    """The content of ``agreement.json``: JSON values only, and a reason beside every null."""
    return {
        "schema": AGREEMENT_SCHEMA,
        "run": {
            **audit.provenance,
            "n_items": audit.n_items,
            "n_annotators": len(audit.annotators),
            "n_ratings": audit.n_ratings,
            "annotators": list(audit.annotators),
            "ratings_sha256": audit.ratings_sha256,
            "scheme": "items, each with all its annotators",
            "n_replicates": audit.n_replicates,
            "seed": audit.seed,
        },
        "forms": {form: _form_document(result) for form, result in audit.forms.items()},
        "agreement": {measure: _agreement(result) for measure, result in audit.agreement.items()},
    }


def _form(ratings: Ratings, form: str) -> FormRatings:
    positions = [position for position, item in enumerate(ratings.items) if item.form == form]
    by_annotator = {
        annotator: Rate(sum(ratings.exact_n[position][column] for position in positions), len(positions))
        for column, annotator in enumerate(ratings.annotators)
    }
    return FormRatings(
        targets=tuple(sorted({ratings.items[position].target for position in positions})),
        exact_n=pool(by_annotator.values()),
        by_annotator=by_annotator,
        means={scale: _mean([ratings.scales[scale][position] for position in positions]) for scale in SCALES},
    )


def _mean(table: Sequence[Sequence[int]]) -> Fraction:
    return Fraction(sum(map(sum, table)), sum(map(len, table)))


def _form_document(result: FormRatings) -> dict[str, Any]:
    return {
        "targets": list(result.targets),
        "exact_n": {
            **_rate(result.exact_n),
            "by_annotator": {annotator: _rate(rate) for annotator, rate in result.by_annotator.items()},
        },
        "ratings": {
            scale: {"mean": float(mean), "n": result.exact_n.n} for scale, mean in result.means.items()
        },
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {"rate": rate.value, "n": rate.n, "n_exact": rate.n_compliant}


def _agreement(result: Agreement) -> dict[str, Any]:
    content: dict[str, Any] = {
        "statistic": result.statistic,
        "value": result.value,
        "ci_low": None if result.interval is None else result.interval.low,
        "ci_high": None if result.interval is None else result.interval.high,
        "n_items": result.n_items,
        "n_annotators": result.n_annotators,
        "n_replicates": result.n_replicates,
        "n_defined": result.n_defined,
    }
    if result.reason is not None:
        content["reason"] = result.reason
    if result.interval_reason is not None:
        content["ci_reason"] = result.interval_reason
    if result.degenerate:
        content["degenerate"] = True
    return content

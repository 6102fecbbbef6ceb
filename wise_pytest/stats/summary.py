"""Mean, worst form and wording gap of one set of form rates (equations 6 to 8 of the paper).

Called by the audit, for a panel's pooled rates and for each model's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.stats.rates import Rate

MIN_FORMS_FOR_GAP = 2


@dataclass(frozen=True, slots=True)
class FormSummary:
    """How compliance varies over the forms of a panel; exact, in 0..1."""

    reference: Fraction | None
    """The rate of the reference form, ``None`` where it has no scored generation."""
    mean: Fraction
    """Unweighted mean of the form rates."""
    worst: Fraction
    worst_form: str
    best: Fraction
    best_form: str
    gap: Fraction | None
    """Best minus worst, ``None`` with fewer than two forms: one wording has no gap."""
    n_forms: int
    """Forms with at least one scored generation."""
    incomplete: tuple[str, ...]
    """Forms without a scored generation; they are in none of the figures above."""


def summarize_forms(rates: Mapping[str, Rate], *, reference: str) -> FormSummary | None:
    """Summarise the rates of a panel's forms, unrounded.

    Parameters
    ----------
    rates
        Form to rate, in the order in which ties are settled: of several worst
        (or best) forms the first is named.
    reference
        The form that the others are compared with; it need not have a rate.

    Returns
    -------
    FormSummary or None
        ``None`` where no form has a scored generation.

    Notes
    -----
    Formulas: equations 6 (mean), 7 (worst) and 8 (gap) of the paper.
    """
    fractions = {form: rate.fraction for form, rate in rates.items()}
    scored = {form: value for form, value in fractions.items() if value is not None}
    if not scored:
        return None
    worst_form = min(scored, key=scored.__getitem__)
    best_form = max(scored, key=scored.__getitem__)
    worst, best = scored[worst_form], scored[best_form]
    return FormSummary(
        reference=scored.get(reference),
        mean=sum(scored.values(), Fraction(0)) / len(scored),
        worst=worst,
        worst_form=worst_form,
        best=best,
        best_form=best_form,
        gap=best - worst if len(scored) >= MIN_FORMS_FOR_GAP else None,
        n_forms=len(scored),
        incomplete=tuple(form for form, value in fractions.items() if value is None),
    )

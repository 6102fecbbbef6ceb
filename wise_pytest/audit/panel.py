"""The audit of one panel, out of its tallies. Called by ``audit.build_audit`` only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from wise_pytest.audit.result import (
    EXCLUDED_BY_NAME,
    EXCLUDED_FLOOR,
    Coverage,
    FormResult,
    ModelAudit,
    PanelAudit,
    Pooled,
    Ranking,
    Ranks,
    Surface,
)
from wise_pytest.audit.tallies import SHORT_WORDS, Tally, pool_tallies
from wise_pytest.errors import PanelError
from wise_pytest.records import STATUSES
from wise_pytest.stats.distribution import spread
from wise_pytest.stats.floor import floor_regime, pool_outcomes
from wise_pytest.stats.ranking import average_ranks, ranking_stability
from wise_pytest.stats.rates import Rate, wilson_interval
from wise_pytest.stats.summary import summarize_forms
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wise_pytest.panels.model import Panel
    from wise_pytest.stats.floor import TargetOutcome
    from wise_pytest.verifiers.registry import Verifier

DEFAULT_REFERENCE = "POS"
"""The form that the others of an unknown panel are compared with."""


@dataclass(frozen=True, slots=True)
class PanelInput:
    """Everything that the audit of one panel rests on."""

    panel: str
    declared: Panel | None
    """``None`` for a panel known from its rows only."""
    models: tuple[str, ...]
    """With a row or a plan, sorted."""
    tallies: Mapping[tuple[str, str], Tally]
    """By model and form; a pair without rows is missing."""
    targets: Mapping[tuple[str, str], Sequence[TargetOutcome]]
    """By model and form; numeric targets only."""
    planned: Mapping[str, int]
    """Cells of each model."""
    providers: Mapping[str, str]
    verifiers: tuple[str, ...]
    """Named by the rows."""
    exclude: frozenset[str]

    @property
    def reference(self) -> str:
        """The form that the others are compared with."""
        return DEFAULT_REFERENCE if self.declared is None else self.declared.reference

    def forms(self) -> tuple[str, ...]:
        """Every form with a row: in declared order, others after them by name.

        Never in order of appearance, so that the order of rows cannot matter.
        """
        seen = {form for _, form in self.tallies}
        first = [self.reference] if self.declared is None else [form.form_id for form in self.declared.forms]
        known = [form for form in first if form in seen]
        return (*known, *sorted(seen.difference(known)))

    def directions(self) -> tuple[str, ...]:
        """Every direction of the verifiers named, in their order; then others that occur, by name."""
        ordered: dict[str, None] = {}
        for name in self.verifiers:
            try:
                ordered.update(dict.fromkeys(self._verifier(name).directions))
            except PanelError:
                continue  # rows of another version: what they hold is still counted, by name
        seen = {direction for tally in self.tallies.values() for direction in tally.directions}
        return (*ordered, *sorted(seen.difference(ordered)))

    def _verifier(self, name: str) -> Verifier:
        own = None if self.declared is None else self.declared.own_verifier
        return own if own is not None and own.name == name else get_verifier(name)


def audit_panel(source: PanelInput) -> PanelAudit:
    """Audit one panel: its models, then pooled, then the ranking."""
    forms = source.forms()
    by_model = {model: _audit_model(source, model, forms=forms) for model in source.models}
    primary = tuple(model for model, audit in by_model.items() if audit.excluded is None)
    pooled = pooled_over(source, primary)
    return PanelAudit(
        panel=source.panel,
        reference=source.reference,
        models=primary,
        excluded={model: audit.excluded for model, audit in by_model.items() if audit.excluded is not None},
        coverage=_total_coverage(audit for audit in by_model.values() if not audit.excluded_by_name),
        n_rows=sum(audit.n_rows for audit in by_model.values()),
        primary=pooled,
        ranking=_rankings(source, forms, primary) if _has_reference(pooled) else {},
        by_model=by_model,
        all_models=pooled_over(source, source.models),
        notes=tuple(_notes(source, pooled, by_model)),
        targets=_targets_by_form(source, forms, primary),
        ranks=_ranks(source, forms, primary),
        verifiers=source.verifiers,
        title=None if source.declared is None else source.declared.title,
        question=None if source.declared is None else source.declared.question,
    )


def pooled_over(source: PanelInput, models: Sequence[str]) -> Pooled:
    """The panel's forms and their summary over some of its models."""
    if not models:
        return Pooled(forms={}, summary=None)
    tallies = {
        form: pool_tallies(source.tallies.get((model, form), Tally()) for model in models)
        for form in source.forms()
    }
    return _pooled(tallies, reference=source.reference, directions=source.directions())


def _targets_by_form(
    source: PanelInput, forms: Sequence[str], models: Sequence[str]
) -> dict[str, tuple[TargetOutcome, ...]]:
    by_form = {
        form: pool_outcomes(outcome for model in models for outcome in source.targets.get((model, form), ()))
        for form in forms
    }
    return {form: outcomes for form, outcomes in by_form.items() if outcomes}


def _ranks(source: PanelInput, forms: Sequence[str], models: Sequence[str]) -> Ranks:
    by_form: dict[str, dict[str, Fraction]] = {}
    for form in forms:
        rates = {model: source.tallies.get((model, form), Tally()).rate for model in models}
        ranked = {model: rate for model, rate in rates.items() if rate.n}
        by_form[form] = dict(zip(ranked, average_ranks(tuple(ranked.values())), strict=True))
    under_reference = by_form.get(source.reference, {})
    order = sorted(models, key=lambda model: (under_reference.get(model, len(models) + 1), model))
    return Ranks(
        order=tuple(order),
        by_model={model: {form: by_form[form].get(model) for form in forms} for model in order},
    )


def _audit_model(source: PanelInput, model: str, *, forms: Sequence[str]) -> ModelAudit:
    total = pool_tallies(source.tallies.get((model, form), Tally()) for form in forms)
    targets = pool_outcomes(outcome for form in forms for outcome in source.targets.get((model, form), ()))
    floor = floor_regime(targets)
    excluded = EXCLUDED_FLOOR if floor.in_floor else None
    return ModelAudit(
        model=model,
        provider=source.providers.get(model),
        excluded=EXCLUDED_BY_NAME if model in source.exclude else excluded,
        results=pooled_over(source, [model]),
        # A plan smaller than what ran is no plan: coverage must not pass 1 and hide a hole elsewhere.
        coverage=Coverage(n_scored=total.rate.n, n_planned=max(source.planned[model], total.n_rows)),
        n_rows=total.n_rows,
        statuses=_statuses(total),
        floor=floor,
        targets=targets,
        total=_form_result(total, is_reference=True, baseline=None, directions=source.directions()),
    )


def _pooled(tallies: Mapping[str, Tally], *, reference: str, directions: Sequence[str]) -> Pooled:
    baseline = tallies[reference].rate.fraction if reference in tallies else None
    return Pooled(
        forms={
            form: _form_result(
                tally, is_reference=form == reference, baseline=baseline, directions=directions
            )
            for form, tally in tallies.items()
        },
        summary=summarize_forms({form: tally.rate for form, tally in tallies.items()}, reference=reference),
    )


def _form_result(
    tally: Tally, *, is_reference: bool, baseline: Fraction | None, directions: Sequence[str]
) -> FormResult:
    own = tally.rate.fraction
    n_directions = sum(tally.directions.values())
    sum_abs_error = sum(abs(error) * count for error, count in tally.errors.items())
    return FormResult(
        rate=tally.rate,
        n_rows=tally.n_rows,
        diff=None if is_reference or own is None or baseline is None else own - baseline,
        directions={name: Fraction(tally.directions.get(name, 0), n_directions) for name in directions}
        if n_directions
        else None,
        n_directions=n_directions,
        mean_abs_error=Fraction(sum_abs_error, tally.n_errors) if tally.n_errors else None,
        n_errors=tally.n_errors,
        statuses=_statuses(tally),
        wilson=wilson_interval(tally.rate) if tally.rate.degenerate else None,
        surface=_surface(tally),
    )


def _surface(tally: Tally) -> Surface:
    n_short = sum(count for observed, count in tally.observed.items() if observed <= SHORT_WORDS)
    by_frequency = sorted(tally.openings.items(), key=lambda pair: (-pair[1], pair[0]))
    return Surface(
        errors=spread(tally.errors),
        short=Rate(n_short, tally.n_observed),
        empty=Rate(tally.n_empty, tally.n_texts),
        opening=Rate(sum(tally.openings.values()), tally.n_texts),
        openings=dict(by_frequency),
        truncated=Rate(tally.statuses.get("truncated", 0), tally.rate.n),
        refused=Rate(tally.statuses.get("refused", 0), tally.rate.n),
    )


def _rankings(source: PanelInput, forms: Sequence[str], primary: Sequence[str]) -> dict[str, Ranking]:
    def ranking(form: str) -> Ranking:
        pairs = {
            model: [source.tallies.get((model, name), Tally()).rate for name in (source.reference, form)]
            for model in primary
        }
        ranked = {model: rates for model, rates in pairs.items() if all(rate.n for rate in rates)}
        return Ranking(
            stability=ranking_stability(
                [before for before, _ in ranked.values()], [after for _, after in ranked.values()]
            ),
            unranked=tuple(model for model in primary if model not in ranked),
        )

    return {form: ranking(form) for form in forms if form != source.reference}


def _has_reference(pooled: Pooled) -> bool:
    return pooled.summary is not None and pooled.summary.reference is not None


def _total_coverage(audits: Iterable[ModelAudit]) -> Coverage:
    parts = [audit.coverage for audit in audits]
    return Coverage(
        n_scored=sum(part.n_scored for part in parts), n_planned=sum(part.n_planned for part in parts)
    )


def _statuses(tally: Tally) -> dict[str, int]:
    return {status: tally.statuses.get(status, 0) for status in STATUSES}


def _notes(source: PanelInput, pooled: Pooled, by_model: Mapping[str, ModelAudit]) -> Iterable[str]:
    """What a reader of the tables would otherwise miss."""
    if pooled.summary is not None and not _has_reference(pooled):
        yield (
            f"no primary model has a scored row of the reference form {source.reference}: "
            "contrasts and ranking are left out"
        )
    total = pool_tallies(source.tallies.values())
    n_named = sum(total.directions.values())
    if total.rate.n and not n_named:
        yield "directions are left out: no scored row names one"
        if not total.n_errors:
            yield "mean_abs_error is left out: no scored row holds an error"
        if not any(audit.floor.assessable for audit in by_model.values()):
            yield "the floor regime is not assessed: scored rows hold no numeric targets and observed counts"
    elif n_named < total.rate.n:
        yield (
            f"{total.rate.n - n_named} of {total.rate.n} scored rows name no direction: "
            "the shares are over the others"
        )

"""What an audit is: frozen results, exact until ``document`` writes them down.

``audit.build_audit`` makes these; ``gate`` and ``document`` read them. Rates
and what is derived from them are fractions in 0..1. Where a value can be
``None``, the field beside it says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.audit.factorial import FactorialAudit
    from wise_pytest.audit.published import PublishedModel
    from wise_pytest.audit.sensitivity import PanelSensitivity
    from wise_pytest.records import Target
    from wise_pytest.stats.bootstrap import Scheme, Units
    from wise_pytest.stats.contrasts import Contrast
    from wise_pytest.stats.distribution import Spread
    from wise_pytest.stats.floor import FloorRegime, TargetOutcome
    from wise_pytest.stats.multiplicity import Family
    from wise_pytest.stats.ranking import RankingStability
    from wise_pytest.stats.ranking_bootstrap import RankingIntervals
    from wise_pytest.stats.rates import Interval, Rate
    from wise_pytest.stats.simultaneous import RangeBounds
    from wise_pytest.stats.summary import FormSummary
    from wise_pytest.stats.summary_bootstrap import RateInterval, SummaryIntervals

EXCLUDED_BY_NAME = "excluded by name"
EXCLUDED_FLOOR = "floor regime"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Scored cells of the planned ones."""

    n_scored: int
    n_planned: int

    @property
    def fraction(self) -> Fraction:
        """Exact, 0..1; nothing planned is nothing covered."""
        return Fraction(self.n_scored, self.n_planned) if self.n_planned else Fraction(0)


@dataclass(frozen=True, slots=True)
class Surface:
    """What outputs look like from outside (Appendix D of the paper)."""

    errors: Spread | None
    """Of observed minus target; ``None`` where no scored row holds an error."""
    short: Rate
    """Outputs whose observed count is at most two, of those that hold a count."""
    empty: Rate
    """Outputs with nothing but white space, of those that are known."""
    opening: Rate
    """Outputs that begin with a listed opening, of those that are known."""
    openings: Mapping[str, int]
    """Which openings these are, the most frequent first."""
    truncated: Rate
    """Outputs that the token cap has stopped, of all scored ones."""
    refused: Rate
    """Outputs in which the model declined, of all scored ones."""


@dataclass(frozen=True, slots=True)
class FormResult:
    """One form, for one model or pooled over several."""

    rate: Rate
    n_rows: int
    """Rows of any status."""
    diff: Fraction | None
    """Rate minus that of the reference form; ``None`` for the reference itself or without one of the two."""
    directions: Mapping[str, Fraction] | None
    """Share of each direction, in the verifier's order; ``None`` where no scored row names one."""
    n_directions: int
    """Scored rows that name a direction: the denominator of the shares."""
    mean_abs_error: Fraction | None
    """In counts; ``None`` where no scored row holds an error."""
    n_errors: int
    """Scored rows that hold an error: the denominator of the mean."""
    statuses: Mapping[str, int]
    wilson: Interval | None
    """Only for a degenerate rate, whose bootstrap interval would have no width."""
    surface: Surface
    rate_interval: RateInterval | None = None
    """``None`` where nothing was resampled."""
    contrast: Contrast | None = None
    """Interval and p value of ``diff``; ``None`` where there is no difference or nothing was resampled."""
    p_holm: float | None = None
    """Corrected within the panel's family; ``None`` for an untestable contrast."""
    tested: bool = False
    """Whether the contrast was to be in the family: those of the primary set are."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """Forms and their summary over one set of models."""

    forms: Mapping[str, FormResult]
    """In the panel's order."""
    summary: FormSummary | None
    """``None`` where no form has a scored row."""
    intervals: SummaryIntervals | None = None
    """Of the summary; ``None`` where nothing was resampled."""
    bounds: RangeBounds | None = None
    """What the gate judges worst form and gap by; ``None`` where there are no intervals."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranking stability of one form, and the models it had to leave out."""

    stability: RankingStability
    unranked: tuple[str, ...]
    """Primary models without a scored row under the form or the reference form."""
    intervals: RankingIntervals | None = None
    """``None`` where nothing was resampled."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranking of the primary models under every form (Figure 3 of the paper)."""

    order: tuple[str, ...]
    """The models, best first under the reference form, ties by name; unranked ones last."""
    by_model: Mapping[str, Mapping[str, Fraction | None]]
    """Average rank under each form, among the models with a scored row of that form."""


@dataclass(frozen=True, slots=True)
class Example:
    """One cell that complies under the reference form and its twin that does not under another."""

    model: str
    form: str
    item: str
    repetition: int
    target: Target | None
    direction: str | None
    """Of the row that does not comply."""
    reference_text: str
    reference_observed: int | None
    text: str
    observed: int | None
    error: int | None
    status: str


@dataclass(frozen=True, slots=True)
class Examples:
    """Matched failure examples (Appendices B and C of the paper)."""

    n_pairs: int
    """Pairs that there are among the primary models, of which the examples are a few."""
    pairs: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class ModelAudit:
    """One model in one panel."""

    model: str
    provider: str | None
    """``None`` where the model was planned and has no row at all."""
    excluded: str | None
    """Why the model is not primary; ``None`` where it is."""
    results: Pooled
    coverage: Coverage
    n_rows: int
    statuses: Mapping[str, int]
    floor: FloorRegime
    targets: tuple[TargetOutcome, ...]
    """Over all forms, ascending; empty where the targets are no numbers."""
    total: FormResult
    """Over all forms: directions and surface of the model as a whole."""

    @property
    def excluded_by_name(self) -> bool:
        """Whether the user left this model out."""
        return self.excluded == EXCLUDED_BY_NAME


@dataclass(frozen=True, slots=True)
class SchemeResult:
    """All contrasts of a panel under one bootstrap scheme."""

    units: Units
    contrasts: Mapping[str, Contrast]
    """Every form that has a difference to the reference form."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """What the intervals of a panel rest on, and what other schemes would say."""

    scheme: Scheme
    replicates: int
    seed: int
    units: Units
    """Of the primary set under ``scheme``."""
    family: Family
    sensitivity: Mapping[Scheme, SchemeResult]
    """Appendix P of the paper; empty where there are no contrasts."""
    cautions: tuple[str, ...]
    """What is known against the intervals of this scheme."""


@dataclass(frozen=True, slots=True)
class PanelAudit:
    """One panel."""

    panel: str
    reference: str
    models: tuple[str, ...]
    """The primary models, sorted."""
    excluded: Mapping[str, str]
    """Every other model, and why."""
    coverage: Coverage
    """Over the models that are not excluded by name."""
    n_rows: int
    """Of all models, whatever their status."""
    primary: Pooled
    ranking: Mapping[str, Ranking]
    """Every form but the reference; empty without a scored row of the reference form."""
    by_model: Mapping[str, ModelAudit]
    all_models: Pooled
    notes: tuple[str, ...]
    """What was left out, and why."""
    targets: Mapping[str, tuple[TargetOutcome, ...]]
    """By form, over the primary models; empty where the targets are no numbers."""
    ranks: Ranks
    verifiers: tuple[str, ...]
    """Named by the rows, sorted."""
    title: str | None = None
    """As the panel is declared."""
    question: str | None = None
    examples: Examples | None = None
    """``None`` where the rows hold no texts."""
    bootstrap: Bootstrap | None = None
    """``None`` where nothing was resampled."""
    published: tuple[PublishedModel, ...] = ()
    """What the paper has published of these models in this panel: context, and no result of the rows."""
    effects: FactorialAudit | None = None
    """``None`` for a panel that declares no factors, or without a scored row."""
    sensitivity: PanelSensitivity | None = None
    """``None`` where it was not asked for, the panel is not known, or no row holds a text."""


@dataclass(frozen=True, slots=True)
class CrossPanel:
    """One panel over the models that all panels share."""

    pooled: Pooled
    reference: str
    scheme: Scheme | None
    """``None`` where nothing was resampled."""
    roles: Mapping[str, str]
    """Which form is the panel's POS, NEG and AVOID, as far as it has them."""


@dataclass(frozen=True, slots=True)
class Cross:
    """The panels side by side, over the models that are primary in every one (Figure 2 of the paper)."""

    models: tuple[str, ...]
    left_out: Mapping[str, str]
    """Every other model, and why."""
    panels: Mapping[str, CrossPanel]
    reason: str | None = None
    """Why there is no such view."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Every panel, and what the rows were."""

    panels: Mapping[str, PanelAudit]
    models: tuple[str, ...]
    """Every model with a row or a plan, sorted."""
    exclude: tuple[str, ...]
    """As asked for, sorted."""
    n_rows: int
    rows_sha256: str
    provenance: Mapping[str, Any]
    """As the caller gave it; JSON values."""
    openings: tuple[str, ...]
    """Beginnings of outputs that were counted."""
    cross: Cross
    notes: tuple[str, ...]

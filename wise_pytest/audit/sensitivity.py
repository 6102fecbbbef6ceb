"""Verifier sensitivity: whether the effect of a wording survives another way to read the outputs.

``audit.build_audit`` calls ``build_sensitivity`` where it is asked for, and
``sensitivity_document`` writes down what it says. Every output is scored again
under the alternatives that suit its verifier, and each of them is audited as
the strict score is, from the same draws of the bootstrap. The strict score is
the row's own, and nothing here takes its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.audit.panel import PanelInput, audit_panel
from wise_pytest.audit.tallies import Tally
from wise_pytest.audit.uncertainty import with_intervals
from wise_pytest.stats.bootstrap import ItemCounts
from wise_pytest.stats.rates import Rate
from wise_pytest.verifiers.alternatives import EXTRA, alternatives_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wise_pytest.audit.result import PanelAudit
    from wise_pytest.audit.uncertainty import Resampling
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Row
    from wise_pytest.stats.contrasts import Contrast
    from wise_pytest.verifiers.alternatives import Alternative

Fate: TypeAlias = Literal["survives", "unclear", "reversed", "appears", "none"]
"""What becomes of a form's effect: it stays, its interval now holds 0, it turns round; there was none and
now there is, or there is none either way."""

MAX_READ_AGAIN = 20_000
"""Characters: a longer output is read as it stands, since some readings take the square of its length."""
STRICT = "strict"


@dataclass(frozen=True, slots=True)
class FormReading:
    """One form under one way to read the outputs, pooled over the primary models."""

    rate: Rate
    contrast: Contrast | None
    """Against the reference form; ``None`` for the reference form itself."""
    fate: Fate | None
    """Of the strict effect; ``None`` under the strict reading, and where an interval is not available."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A panel under one way to read the outputs."""

    description: str
    audit: PanelAudit | None
    """As the strict score is audited; ``None`` where the alternative cannot be had."""
    forms: Mapping[str, FormReading]
    """Empty where the alternative cannot be had, or no model is primary."""
    n_changed_text: int
    """Outputs of primary models that it reads as another text."""
    n_changed_by_model: Mapping[str, int]
    """The same of each model, primary or not; models without one are missing."""
    n_gained: int
    """Of these, outputs that comply only so."""
    n_lost: int
    """Of these, outputs that comply only strictly."""
    reason: str | None
    """Why it cannot be had."""


@dataclass(frozen=True, slots=True)
class PanelSensitivity:
    """One panel under every way to read its outputs."""

    panel: str
    models: tuple[str, ...]
    """The primary ones."""
    n: int
    """Outputs of primary models that were read: scored rows that hold their text and target."""
    n_without_text: int
    """Scored rows of primary models that hold none."""
    readings: Mapping[str, Reading]
    """The strict one first."""


def build_sensitivity(
    rows: Iterable[Row], panel: Panel, audit: PanelAudit, *, resampling: Resampling
) -> PanelSensitivity | None:
    """Score the outputs of a panel under the alternatives of its verifier.

    Parameters
    ----------
    rows
        Of the panel, without duplicates; scored ones with text and target count. Equal rows
        give equal results in whatever order they come.
    panel
        The panel as it is declared.
    audit
        The strict audit, which says which models are primary.
    resampling
        As the strict audit was.

    Returns
    -------
    PanelSensitivity or None
        ``None`` where no row can be read.
    """
    scored = [row for row in rows if row.scored]
    usable = sorted(
        (row for row in scored if row.text is not None and row.target is not None), key=lambda row: row.key
    )
    if not usable:
        return None
    again = _Again(panel, audit, usable, resampling)
    strict = [row.compliant is True for row in usable]
    stands = again.audited(strict)
    forms = {
        form: FormReading(found.rate, found.contrast, None) for form, found in stands.primary.forms.items()
    }
    readings = {
        STRICT: Reading("the complete visible output, as it is scored", stands, forms, 0, {}, 0, 0, None)
    }
    for alternative in alternatives_for(panel.scorer().verifier_id):
        readings[alternative.alternative_id] = _read(again, strict, alternative, forms)
    n_primary = sum(again.primary)
    n_scored = sum(row.model in audit.models for row in scored)
    return PanelSensitivity(
        panel=panel.panel_id,
        models=audit.models,
        n=n_primary,
        n_without_text=n_scored - n_primary,
        readings=readings,
    )


class _Again:
    """Audits verdicts of one panel's rows: the same rows and draws for every reading."""

    def __init__(self, panel: Panel, audit: PanelAudit, rows: Sequence[Row], resampling: Resampling) -> None:
        self.panel = panel
        self.rows = rows
        self.primary = [row.model in audit.models for row in rows]
        self._excluded = frozenset(audit.excluded)
        self._providers = {row.model: row.provider for row in rows}
        self._resampling = resampling
        self._axes = [sorted({getattr(row, name) for row in rows}) for name in ("model", "item", "form")]
        models, items, forms = ({name: n for n, name in enumerate(names)} for names in self._axes)
        self._places = [(models[row.model], items[row.item], forms[row.form]) for row in rows]

    def audited(self, compliant: Sequence[bool]) -> PanelAudit:
        """The audit of these verdicts, with intervals of rates, contrasts, worst form and gap."""
        counts = self._counts(compliant)
        n, n_compliant = counts.n.sum(axis=1), counts.n_compliant.sum(axis=1)
        tallies = {
            (model, form): Tally(
                n_rows=int(n[row, column]), rate=Rate(int(n_compliant[row, column]), int(n[row, column]))
            )
            for row, model in enumerate(counts.models)
            for column, form in enumerate(counts.forms)
        }
        audit = audit_panel(
            PanelInput(
                panel=self.panel.panel_id,
                declared=self.panel,
                models=counts.models,
                tallies=tallies,
                targets={},
                planned={
                    model: int(total) for model, total in zip(counts.models, n.sum(axis=1), strict=True)
                },
                providers=self._providers,
                verifiers=(),
                exclude=self._excluded,
            )
        )
        return with_intervals(
            audit, counts, declared=self.panel, providers=self._providers, resampling=self._resampling
        )

    def _counts(self, compliant: Sequence[bool]) -> ItemCounts:
        import numpy as np

        models, items, forms = map(tuple, self._axes)
        shape = (len(models), len(items), len(forms))
        n, n_compliant = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for place, met in zip(self._places, compliant, strict=True):
            n[place] += 1
            n_compliant[place] += met
        return ItemCounts(models, items, forms, n_compliant=n_compliant, n=n)


def _read(
    again: _Again, strict: Sequence[bool], alternative: Alternative, strict_forms: Mapping[str, FormReading]
) -> Reading:
    scorer = again.panel.scorer()
    try:
        texts = [
            alternative.read(text) if len(text) <= MAX_READ_AGAIN else text
            for text in (str(row.text) for row in again.rows)
        ]
    except ImportError as error:
        reason = f"needs {error.name or error}: {EXTRA}"
        return Reading(alternative.description, None, {}, 0, {}, 0, 0, reason)
    changed = [text != row.text for text, row in zip(texts, again.rows, strict=True)]
    # An output that is read as it stands keeps its strict verdict, whatever version gave it.
    compliant = [
        scorer.verify(text, row.target).compliant if differs else met
        for text, row, differs, met in zip(texts, again.rows, changed, strict, strict=True)
    ]
    audit = again.audited(compliant)
    told = list(zip(again.primary, changed, compliant, strict, strict=True))
    return Reading(
        description=alternative.description,
        audit=audit,
        forms={
            form: FormReading(found.rate, found.contrast, _fate(strict_forms[form].contrast, found.contrast))
            for form, found in audit.primary.forms.items()
        },
        n_changed_text=sum(primary and differs for primary, differs, _, _ in told),
        n_changed_by_model=Counter(
            row.model for row, differs in zip(again.rows, changed, strict=True) if differs
        ),
        n_gained=sum(primary and now and not before for primary, _, now, before in told),
        n_lost=sum(primary and before and not now for primary, _, now, before in told),
        reason=None,
    )


def _fate(strict: Contrast | None, other: Contrast | None) -> Fate | None:
    """What becomes of an effect whose interval does not hold 0."""
    before, after = _sign(strict), _sign(other)
    if before is None or after is None:
        return None
    if before == 0:
        return "none" if after == 0 else "appears"
    if after == 0:
        return "unclear"
    return "survives" if before == after else "reversed"


def _sign(contrast: Contrast | None) -> int | None:
    """The side of 0 on which the whole interval lies; 0 where it holds 0, ``None`` without one."""
    if contrast is None or contrast.interval is None:
        return None
    return (contrast.interval.low > 0) - (contrast.interval.high < 0)

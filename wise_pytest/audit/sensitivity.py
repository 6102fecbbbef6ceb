"""Verifier sensitivity: whether the effect of a wording survives another way to read the outputs.

Whoever has rows with their texts calls ``build_sensitivity`` and
``to_document``. Every output is scored again under the alternatives that suit
its verifier, from the same draws of the bootstrap as the strict score. The
strict score is the row's own, and nothing here takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from wise_pytest.audit.uncertainty import DEFAULT_REPLICATES, DEFAULT_SEED
from wise_pytest.stats.bootstrap import (
    ItemCounts,
    contrast_points,
    draw_contrasts,
    resampled_units,
)
from wise_pytest.stats.contrasts import Contrast, summarize_contrasts
from wise_pytest.stats.rates import Rate
from wise_pytest.verifiers.alternatives import EXTRA, alternatives_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Row
    from wise_pytest.stats.bootstrap import Scheme
    from wise_pytest.verifiers.alternatives import Alternative

Fate: TypeAlias = Literal["survives", "unclear", "reversed", "appears", "none"]
"""What becomes of a form's effect: it stays, its interval now holds 0, it turns round; there was none and
now there is, or there is none either way."""

STRICT = "strict"


@dataclass(frozen=True, slots=True)
class FormReading:
    """One form under one way to read the outputs."""

    rate: Rate
    contrast: Contrast | None
    """Against the reference form; ``None`` for the reference form itself."""
    fate: Fate | None
    """Of the strict effect; ``None`` under the strict reading, and where an interval is not available."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All forms of a panel under one way to read the outputs."""

    description: str
    forms: Mapping[str, FormReading]
    """Empty where the alternative cannot be had."""
    n_changed_text: int
    """Outputs that it reads as another text."""
    n_gained: int
    """Outputs that comply only so."""
    n_lost: int
    """Outputs that comply only strictly."""
    reason: str | None
    """Why it cannot be had."""


@dataclass(frozen=True, slots=True)
class PanelSensitivity:
    """One panel under every way to read its outputs."""

    panel: str
    scheme: Scheme
    models: tuple[str, ...]
    n: int
    """Outputs that were read: scored rows that hold their text and target."""
    n_without_text: int
    """Scored rows that hold none."""
    readings: Mapping[str, Reading]
    """The strict one first."""


def build_sensitivity(
    rows: Iterable[Row],
    panels: Mapping[str, Panel],
    *,
    primary: Mapping[str, Collection[str]] | None = None,
    seed: int = DEFAULT_SEED,
    replicates: int = DEFAULT_REPLICATES,
) -> dict[str, PanelSensitivity]:
    """Score the outputs of every known panel under the alternatives of its verifier.

    Parameters
    ----------
    rows
        Without duplicates; scored ones with text and target count. Equal rows
        give equal results in whatever order they come.
    panels
        The panels by id; rows of others are left out.
    primary
        By panel, the models to pool; ``None`` pools all.
    seed, replicates
        Of the bootstrap, by each panel's own scheme; with 0 replicates there
        are no intervals.

    Returns
    -------
    dict
        By panel, in the order of ``panels``; those without a usable row are not there.
    """
    by_panel: dict[str, list[Row]] = {}
    for row in rows:
        if row.scored and row.panel in panels:
            by_panel.setdefault(row.panel, []).append(row)
    found = {}
    for name in panels:
        of_panel = by_panel.get(name, [])
        chosen = [row for row in of_panel if primary is None or row.model in primary.get(name, ())]
        usable = sorted(
            (row for row in chosen if row.text is not None and row.target is not None),
            key=lambda row: row.key,
        )
        if usable:
            bootstrap = _Bootstrap(panels[name], usable, seed=seed, replicates=replicates)
            found[name] = _panel(panels[name], usable, bootstrap, n_without_text=len(chosen) - len(usable))
    return found


def to_document(sensitivity: Mapping[str, PanelSensitivity]) -> dict[str, Any]:
    """The panels as JSON values, a reason beside every null."""
    return {
        name: {
            "scheme": panel.scheme,
            "models": list(panel.models),
            "n": panel.n,
            "n_without_text": panel.n_without_text,
            "readings": {key: _reading_document(reading) for key, reading in panel.readings.items()},
        }
        for name, panel in sensitivity.items()
    }


class _Bootstrap:
    """Counts the verdicts of one panel's rows, and resamples them: the same draws for every reading."""

    def __init__(self, panel: Panel, rows: Sequence[Row], *, seed: int, replicates: int) -> None:
        self.panel = panel
        self.scheme = cast("Scheme", panel.bootstrap)
        self._seed = seed
        self._replicates = replicates
        self.models = tuple(sorted({row.model for row in rows}))
        self._items = tuple(sorted({row.item for row in rows}))
        seen = {row.form for row in rows}
        declared = [form.form_id for form in panel.forms if form.form_id in seen]
        self.forms = (*declared, *sorted(seen.difference(declared)))
        self._providers = {row.model: row.provider for row in rows}
        models, items = ({name: n for n, name in enumerate(names)} for names in (self.models, self._items))
        forms = {name: n for n, name in enumerate(self.forms)}
        self._places = [(models[row.model], items[row.item], forms[row.form]) for row in rows]

    def rates_and_contrasts(self, compliant: Sequence[bool]) -> tuple[list[Rate], list[Contrast | None]]:
        """Of each form, pooled over the models; contrasts are ``None`` without a reference form or draws."""
        import numpy as np

        shape = (len(self.models), len(self._items), len(self.forms))
        n, n_compliant = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for place, met in zip(self._places, compliant, strict=True):
            n[place] += 1
            n_compliant[place] += met
        rates = [
            Rate(int(n_compliant[:, :, place].sum()), int(n[:, :, place].sum()))
            for place in range(len(self.forms))
        ]
        reference = self.panel.reference
        if reference not in self.forms or not self._replicates:
            return rates, [None] * len(rates)
        counts = ItemCounts(self.models, self._items, self.forms, n_compliant=n_compliant, n=n)
        points = contrast_points(counts, self.scheme, reference=reference)
        units = resampled_units(counts, self.scheme, providers=self._providers)
        if units.reason is not None:
            return rates, [Contrast.unavailable(units.reason, diff=point) for point in points]
        draws = draw_contrasts(
            counts,
            self.scheme,
            reference=reference,
            providers=self._providers,
            replicates=self._replicates,
            rng=np.random.default_rng(self._seed),
        )
        return rates, list(summarize_contrasts(points, draws))


def _panel(
    panel: Panel, rows: Sequence[Row], bootstrap: _Bootstrap, *, n_without_text: int
) -> PanelSensitivity:
    strict = [row.compliant is True for row in rows]
    rates, contrasts = bootstrap.rates_and_contrasts(strict)
    forms = {
        form: FormReading(rate, None if form == panel.reference else contrast, None)
        for form, rate, contrast in zip(bootstrap.forms, rates, contrasts, strict=True)
    }
    readings = {STRICT: Reading("the complete visible output, as it is scored", forms, 0, 0, 0, None)}
    for alternative in alternatives_for(panel.scorer().verifier_id):
        readings[alternative.alternative_id] = _read(panel, rows, strict, alternative, bootstrap, forms)
    return PanelSensitivity(
        panel=panel.panel_id,
        scheme=bootstrap.scheme,
        models=bootstrap.models,
        n=len(rows),
        n_without_text=n_without_text,
        readings=readings,
    )


def _read(  # noqa: PLR0917 - called here only
    panel: Panel,
    rows: Sequence[Row],
    strict: Sequence[bool],
    alternative: Alternative,
    bootstrap: _Bootstrap,
    strict_forms: Mapping[str, FormReading],
) -> Reading:
    scorer = panel.scorer()
    try:
        texts = [alternative.read(str(row.text)) for row in rows]
    except ImportError as error:
        reason = f"needs {error.name or error}: {EXTRA}"
        return Reading(alternative.description, {}, 0, 0, 0, reason)
    changed = [text != row.text for text, row in zip(texts, rows, strict=True)]
    # An output that is read as it stands keeps its strict verdict, whatever version gave it.
    compliant = [
        scorer.verify(text, row.target).compliant if differs else met
        for text, row, differs, met in zip(texts, rows, changed, strict, strict=True)
    ]
    rates, contrasts = bootstrap.rates_and_contrasts(compliant)
    return Reading(
        description=alternative.description,
        forms={
            form: FormReading(
                rate,
                None if form == panel.reference else contrast,
                _fate(strict_forms[form].contrast, None if form == panel.reference else contrast),
            )
            for form, rate, contrast in zip(bootstrap.forms, rates, contrasts, strict=True)
        },
        n_changed_text=sum(changed),
        n_gained=sum(now and not before for now, before in zip(compliant, strict, strict=True)),
        n_lost=sum(before and not now for now, before in zip(compliant, strict, strict=True)),
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


def _reading_document(reading: Reading) -> dict[str, Any]:
    if reading.reason is not None:
        return {"description": reading.description, "forms": None, "reason": reading.reason}
    return {
        "description": reading.description,
        "n_changed_text": reading.n_changed_text,
        "n_gained": reading.n_gained,
        "n_lost": reading.n_lost,
        "forms": {form: _form_document(found) for form, found in reading.forms.items()},
    }


def _form_document(found: FormReading) -> dict[str, Any]:
    content: dict[str, Any] = {
        "compliance": found.rate.value,
        "n": found.rate.n,
        "n_compliant": found.rate.n_compliant,
    }
    contrast = found.contrast
    if contrast is not None:
        content["diff"] = contrast.diff
        content["ci_low"] = None if contrast.interval is None else contrast.interval.low
        content["ci_high"] = None if contrast.interval is None else contrast.interval.high
        if contrast.interval_reason is not None:
            content["reason"] = contrast.interval_reason
    if found.fate is not None:
        content["effect"] = found.fate
    return content

"""The same outputs under other counters, beside the strict score, as tables and sentences.

Called by ``markdown``, ``csvfiles``, the page and ``wise sensitivity`` with
what a panel of the document says of them; a run that was not asked has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import Column, words
from wise_pytest.report.objects import forms_of, keyed, mapping, panels_of
from wise_pytest.report.tables import (
    DIFFERENCE,
    FORM,
    MODEL,
    PANEL,
    RATES,
    REASON,
    Tidy,
    every_panel,
    made_table,
)
from wise_pytest.report.ties import with_ties
from wise_pytest.verifiers.alternatives import reading_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wise_pytest.report.objects import Document, Record
    from wise_pytest.report.tables import Table

COUNTER = Column("Counter", "counter", ("counter",))
EFFECT = Column("Strict effect", "effect", ("effect",), optional=True)
GAP = (
    Column("Mean", "mean", ("summary", "mean"), "rate"),
    Column("Worst", "worst", ("summary", "worst"), "rate"),
    Column("Worst form", "worst_form", ("summary", "worst_form")),
    Column("Gap", "gap", ("summary", "gap"), "rate"),
    Column("Interval of gap", "gap_ci", ("summary", "gap_ci"), "rate_interval", optional=True),
    Column("Bounds for all forms", "gap_bounds", ("summary", "gap_bounds"), "rate_interval", optional=True),
)
CHANGED = (
    Column("Read otherwise", "n_changed_text", ("n_changed_text",), "count"),
    Column("Comply only so", "n_gained", ("n_gained",), "count"),
    Column("Only strictly", "n_lost", ("n_lost",), "count"),
)
_STRICT = "strict"
_FATES = {
    "survives": "survives",
    "other_worst_form": "survives, other worst form",
    "unclear": "no longer clear",
    "reversed": "turns round",
    "appears": "appears",
    "none": "none either way",
    "untested": "not tested",
}
_LEVEL = Column("Of", "level", ("level",))


def counters_of(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """What other counters say of a panel; empty where nobody asked."""
    return mapping(panel, "verifier_sensitivity")


def _name(record: Record) -> str:
    return reading_name(str(record["counter"]))


def fate_name(effect: Any) -> str:
    """What becomes of an effect, in words; empty where nothing is said of it."""
    return _FATES.get(str(effect), "")


def gaps_table(panel: Mapping[str, Any]) -> Table:
    """One row a counter: worst form and gap over the primary models, and what becomes of the strict gap."""
    records = [{**with_ties(record), **_told(record)} for record in _readings(panel)]
    return made_table("The same outputs under other counters", (COUNTER, *GAP, EFFECT, *CHANGED), records)


def counter_forms_table(panel: Mapping[str, Any]) -> Table:
    """One row a form, one column a counter: compliance over the primary models."""
    readings = [record for record in _readings(panel) if mapping(record, "forms")]
    forms = dict.fromkeys(str(form) for record in readings for form in mapping(record, "forms"))
    columns = [
        Column(_name(record), record["counter"], (record["counter"], "compliance"), "rate")
        for record in readings
    ]
    records = [
        {"form": form, **{record["counter"]: mapping(record, "forms", form) for record in readings}}
        for form in forms
    ]
    return made_table("Compliance under other counters", (FORM, *columns), records)


def counter_models_table(panel: Mapping[str, Any]) -> Table:
    """One row a model and counter, where there are several models."""
    records = [{**with_ties(record), **_told(record)} for record in _model_readings(panel)]
    several = len({record["model"] for record in records}) > 1
    title = "Model by model under other counters"
    return made_table(title, (MODEL, COUNTER, *GAP, EFFECT), records if several else [])


def counters_answer(panel: Mapping[str, Any]) -> str:
    """Whether the wording effect survives the choice of counter."""
    said = counters_of(panel).get("answer")
    return "" if said is None else words(said)


def counters_sentences(panel: Mapping[str, Any]) -> Iterator[str]:
    """The answer, what the counters are, and what they cannot change."""
    found = counters_of(panel)
    if not found:
        return
    yield counters_answer(panel)
    yield (
        "No other counter takes the place of the strict score, which every other figure rests on. A gap is "
        "clear where its bounds, which hold for all forms at once, are above 0."
    )
    for record in _readings(panel):
        if record["counter"] != _STRICT:
            yield f"{_name(record)}: {words(record.get('description'))}."
    if found.get("n_without_text"):
        yield f"{words(found['n_without_text'])} scored generations hold no text, and are left out here."


def has_counters(document: Document) -> bool:
    """Whether any panel was read in other ways."""
    return any(map(counters_of, panels_of(document).values()))


def tidy_counters() -> tuple[Tidy, ...]:
    """The tables that are written as CSV, each under its name."""
    shared = (PANEL, _LEVEL, MODEL, COUNTER)
    effect = Column("Strict effect", "effect", ("effect",))
    return (
        Tidy(
            "verifier_sensitivity",
            (*shared, FORM, *RATES, *DIFFERENCE[:2], effect, REASON),
            every_panel(_every_form),
        ),
        Tidy("verifier_sensitivity_gaps", (*shared, *GAP, effect, *CHANGED, REASON), every_panel(_every_gap)),
    )


def _readings(panel: Mapping[str, Any]) -> Iterator[Record]:
    return keyed(mapping(counters_of(panel), "readings"), "counter")


def _model_readings(panel: Mapping[str, Any]) -> Iterator[Record]:
    readings = list(_readings(panel))
    models = dict.fromkeys(str(model) for reading in readings for model in mapping(reading, "by_model"))
    for model in models:
        for reading in readings:
            found = mapping(reading, "by_model", model)
            if found:
                yield {**found, "counter": reading["counter"], "model": model}


def _told(record: Record) -> Record:
    """The counter in words, and the effect, where there is one."""
    effect = {"effect": fate_name(record["effect"])} if "effect" in record else {}
    return {"counter": _name(record), **effect}


def _every_reading(panel: Mapping[str, Any]) -> Iterator[Record]:
    for reading in _readings(panel):
        yield {**reading, "level": "pooled", "model": ""}
    for reading in _model_readings(panel):
        yield {**reading, "level": "model"}


def _every_form(panel: Mapping[str, Any]) -> Iterator[Record]:
    for reading in _every_reading(panel):
        shared = {key: reading[key] for key in ("level", "model", "counter")}
        for form in forms_of(reading):
            yield {**form, **shared}


def _every_gap(panel: Mapping[str, Any]) -> Iterator[Record]:
    for reading in _every_reading(panel):
        yield {**reading, "reason": reading.get("reason") or mapping(reading, "summary").get("reason")}

"""The tables of an audit's diagnostics: what lies behind the rates.

Called by ``markdown`` and ``csvfiles``, like ``tables``, whose columns these
extend: count errors and openings, targets and the floor regime, directions of
each model, ranks, matched examples, and the panels side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import DASH, Column, number, show
from wise_pytest.report.objects import each_once, forms_of, keyed, listed, mapping, models_of, panels_of
from wise_pytest.report.tables import (
    DIFFERENCE,
    FORM,
    LEFT_OUT,
    MODEL,
    N_DIRECTIONS,
    PANEL,
    RATE_INTERVAL,
    RATES,
    REASON,
    SHARE,
    Tidy,
    every_panel,
    key_columns,
    made_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wise_pytest.report.objects import Document, Record
    from wise_pytest.report.tables import Table

_SPREAD = ("surface", "count_error")
ERROR_SPREAD = (
    Column("n", "n_errors", (*_SPREAD, "n"), "count"),
    Column("Smallest", "min", (*_SPREAD, "min"), "compact"),
    Column("Lower whisker", "whisker_low", (*_SPREAD, "whisker_low"), "compact"),
    Column("Quartile 1", "q1", (*_SPREAD, "q1"), "compact"),
    Column("Median", "median", (*_SPREAD, "median"), "compact"),
    Column("Quartile 3", "q3", (*_SPREAD, "q3"), "compact"),
    Column("Upper whisker", "whisker_high", (*_SPREAD, "whisker_high"), "compact"),
    Column("Largest", "max", (*_SPREAD, "max"), "compact"),
    Column("Mean", "mean_error", (*_SPREAD, "mean"), "decimal"),
)
SHORT = Column("At most two words", "short_share", ("surface", "short_share"), "rate")
N_OBSERVED = Column("n of the count", "n_observed", ("surface", "n_observed"), "count")
SURFACE = (
    Column("Outputs", "n_texts", ("surface", "n_texts"), "count"),
    Column("Empty", "empty_share", ("surface", "empty_share"), "rate"),
    Column("Opening", "opening_share", ("surface", "opening_share"), "rate"),
    Column("Truncated", "truncated_share", ("surface", "truncated_share"), "rate"),
    Column("Refused", "refused_share", ("surface", "refused_share"), "rate"),
)
TARGET = Column("Target", "target", ("target",), "count")
OUTCOME = (
    Column("Exact", "compliance", ("compliance",), "rate"),
    Column("n", "n", ("n",), "count"),
    Column("Mean count", "mean_observed", ("mean_observed",), "decimal"),
    Column("Mean error", "mean_error", ("mean_error",), "decimal"),
)
FLOOR = (
    *OUTCOME,
    Column("Empty", "empty_share", ("empty_share",), "rate"),
    Column("Truncated", "truncated_share", ("truncated_share",), "rate"),
)
IN_FLOOR = Column("Floor regime", "in_floor", ("in_floor",))
EXAMPLE = (
    MODEL,
    FORM,
    Column("Item", "item", ("item",)),
    Column("Repetition", "repetition", ("repetition",), "count"),
    Column("Target", "target", ("target",)),
)
_SHOWN_CHARACTERS = 160
"""Of an output in a table for people; ``audit.json`` and the rows have it whole."""


def errors_table(panel: Mapping[str, Any]) -> Table:
    """One row a form: how the observed counts spread about the target."""
    records = [record for record in forms_of(panel) if mapping(record, *_SPREAD)]
    return made_table("Count errors (observed minus target)", (FORM, *ERROR_SPREAD, SHORT), records)


def surface_table(panel: Mapping[str, Any]) -> Table:
    """One row a form: outputs that are empty, open by talking about themselves, or were broken off."""
    records = [record for record in forms_of(panel) if number(mapping(record, "surface").get("n_texts"))]
    return made_table("Outputs from outside", (FORM, *SURFACE), records)


def targets_table(panel: Mapping[str, Any]) -> Table:
    """One row a form, one column a target: compliance over the primary models."""
    targets = [mapping(entry) for entry in listed(panel, "targets")]
    columns = [
        Column(f"{entry.get('target')}", f"target_{entry.get('target')}", (str(place), "compliance"), "rate")
        for place, entry in enumerate(targets)
    ]
    forms = each_once(str(form) for entry in targets for form in mapping(entry, "forms"))
    records = [
        {"form": form, **{str(place): mapping(entry, "forms", form) for place, entry in enumerate(targets)}}
        for form in forms
    ]
    return made_table("Compliance by target", (FORM, *columns), records)


def floor_table(panel: Mapping[str, Any]) -> Table:
    """One row a model and target, over all forms: what the floor regime is told by."""
    columns = (MODEL, TARGET, *FLOOR, IN_FLOOR)
    return made_table("Models by target, over all forms", columns, _model_targets(panel))


def model_directions_table(panel: Mapping[str, Any]) -> Table:
    """One row a model, one column a direction, over all forms."""
    records = [record for record in models_of(panel) if mapping(record, "directions")]
    columns = (MODEL, N_DIRECTIONS, *key_columns(records, "directions"))
    return made_table("Model directions, over all forms", columns, records)


def ranks_table(panel: Mapping[str, Any]) -> Table:
    """One row a model, best first under the reference form: average rank and compliance under each form."""
    order = [str(model) for model in listed(mapping(panel, "ranks"), "order")]
    forms = list(mapping(panel, "forms"))
    columns = (MODEL, *(Column(form, form, (form,)) for form in forms))
    records = [
        {"model": model, **{form: _rank_and_rate(panel, model, form) for form in forms}} for model in order
    ]
    return made_table("Ranks, with compliance", columns, records if len(order) > 1 else [])


def examples_table(panel: Mapping[str, Any]) -> Table:
    """One row a pair: the output that complies, and the one under another wording that does not."""
    reference = str(panel.get("reference", "POS"))
    columns = (
        *EXAMPLE,
        Column(f"Output under {reference}", "reference_text", ("reference_text",)),
        Column("Output under the form", "text", ("text",)),
        Column("Missed by", "missed", ("missed",)),
    )
    return made_table("Matched failures", columns, _shortened(panel))


def cross_table(document: Document) -> Table:
    """One row a panel and role: the wordings that panels have in common, over the models that all share."""
    columns = (PANEL, ROLE, FORM, *RATES[:2], *DIFFERENCE)
    return made_table("Across constraints", columns, [r for r in _cross(document) if r["role"]])


ROLE = Column("Wording", "role", ("role",))


def tidy_diagnostics() -> tuple[Tidy, ...]:
    """The tables that are written as CSV, each under its name."""
    return (
        Tidy(
            "surface",
            (PANEL, FORM, *ERROR_SPREAD, SHORT, N_OBSERVED, *SURFACE, SURFACE_REASON),
            every_panel(_surfaces),
        ),
        Tidy("openings", (PANEL, FORM, OPENING, N_OPENING), every_panel(_openings)),
        Tidy("targets", (PANEL, FORM, TARGET, *OUTCOME), every_panel(_form_targets)),
        Tidy(
            "floor", (PANEL, MODEL, LEFT_OUT, TARGET, *FLOOR, IN_FLOOR, REASON), every_panel(_model_targets)
        ),
        Tidy("model_directions", (PANEL, MODEL, FORM, DIRECTION, SHARE), every_panel(_model_directions)),
        Tidy("ranks", (PANEL, MODEL, FORM, RANK, *RATES[:2]), every_panel(_ranks)),
        Tidy("examples", (PANEL, *EXAMPLE, *EXAMPLE_OUTPUTS), every_panel(_examples)),
        Tidy("cross", (PANEL, ROLE, FORM, *RATES, RATE_INTERVAL, *DIFFERENCE, REASON), _cross),
    )


SURFACE_REASON = Column("Reason", "reason", ("surface", "reason"))
OPENING = Column("Opening", "opening", ("opening",))
N_OPENING = Column("Outputs", "n", ("n",), "count")
DIRECTION = Column("Direction", "direction", ("key",))
RANK = Column("Average rank", "rank", ("rank",), "compact")
EXAMPLE_OUTPUTS = (
    Column("Direction", "direction", ("direction",)),
    Column("Status", "status", ("contrast", "status")),
    Column("Reference output", "reference_text", ("reference", "text")),
    Column("Reference count", "reference_observed", ("reference", "observed"), "count"),
    Column("Output", "text", ("contrast", "text")),
    Column("Count", "observed", ("contrast", "observed"), "count"),
    Column("Error", "error", ("contrast", "error"), "count"),
)


def _surfaces(panel: Mapping[str, Any]) -> Iterator[Record]:
    return (record for record in forms_of(panel) if mapping(record, "surface"))


def _openings(panel: Mapping[str, Any]) -> Iterator[Record]:
    for record in forms_of(panel):
        for opening, n in mapping(record, "surface", "openings").items():
            yield {"form": record["form"], "opening": str(opening), "n": n}


def _form_targets(panel: Mapping[str, Any]) -> Iterator[Record]:
    for entry in listed(panel, "targets"):
        for record in keyed(mapping(entry, "forms"), "form"):
            yield {**record, "target": mapping(entry).get("target")}


def _model_targets(panel: Mapping[str, Any]) -> Iterator[Record]:
    for model in models_of(panel):
        floor = mapping(model, "floor")
        in_floor = "not assessed" if not floor.get("assessable", True) else floor.get("in_floor")
        for entry in listed(model, "targets"):
            shared = {"model": model["model"], "excluded": model["excluded"], "in_floor": in_floor}
            yield {**mapping(entry), **shared}


def _model_directions(panel: Mapping[str, Any]) -> Iterator[Record]:
    for model in models_of(panel):
        for form in forms_of(model):
            for key, value in mapping(form, "directions").items():
                yield {"model": model["model"], "form": form["form"], "key": str(key), "value": value}


def _ranks(panel: Mapping[str, Any]) -> Iterator[Record]:
    for model in listed(mapping(panel, "ranks"), "order"):
        for form, rank in mapping(panel, "ranks", "by_model", str(model)).items():
            rate = mapping(panel, "by_model", str(model), "forms", str(form))
            yield {**rate, "model": str(model), "form": str(form), "rank": rank}


def _rank_and_rate(panel: Mapping[str, Any], model: str, form: str) -> str:
    """Such as ``1.5 (82.3)``."""
    rank = number(mapping(panel, "ranks", "by_model", model).get(form))
    rate = number(mapping(panel, "by_model", model, "forms", form).get("compliance"))
    if rank is None or rate is None:
        return DASH
    return f"{show(rank, 'compact')} ({show(rate, 'rate')})"


def _examples(panel: Mapping[str, Any]) -> Iterator[Record]:
    for entry in listed(mapping(panel, "examples"), "pairs"):
        yield mapping(entry)


def _shortened(panel: Mapping[str, Any]) -> Iterable[Record]:
    for record in _examples(panel):
        good, bad = mapping(record, "reference"), mapping(record, "contrast")
        error = number(bad.get("error"))
        missed = str(record.get("direction") or "")
        yield {
            **record,
            "reference_text": _cut(good.get("text")),
            "text": _cut(bad.get("text")),
            "missed": missed if error is None else f"{missed}, {_signed(error)}",
        }


def _signed(error: float) -> str:
    return f"{'+' if error > 0 else ''}{show(error, 'compact')}"


def _cut(text: Any) -> str:
    told = str(text or "").replace("\n", " ⏎ ")
    return told if len(told) <= _SHOWN_CHARACTERS else f"{told[:_SHOWN_CHARACTERS]}…"


def _cross(document: Document) -> Iterator[Record]:
    for panel_id, panel in panels_of(mapping(document, "cross")).items():
        role_of = {str(form): str(role) for role, form in mapping(panel, "roles").items()}
        for record in forms_of(panel):
            yield {**record, "panel": panel_id, "role": role_of.get(record["form"], "")}

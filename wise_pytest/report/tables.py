"""Every table of the reports, declared as lists of columns, and built from the document.

Called by the writers. A table for people belongs to one panel; the tidy
tables for programs (``tidy_tables``) hold all panels, one observation a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import Column, Kind, Measured, Value, number, show
from wise_pytest.report.objects import (
    Document,
    Record,
    each_once,
    forms_of,
    keyed,
    listed,
    mapping,
    models_of,
    panels_of,
    reference_of,
    why,
)
from wise_pytest.report.ties import with_ties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and raw values; how they are shown is the writer's affair."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a gate checks: its name in a sentence, and how its numbers read."""

    label: str
    kind: Kind


METRICS: Mapping[str, Metric] = {
    "gap": Metric("gap", "rate"),
    "worst": Metric("worst form", "rate"),
    "mean": Metric("mean", "rate"),
    "coverage": Metric("coverage", "rate"),
    "reversal": Metric("reversal", "rate"),
    "tau_b": Metric("tau_b", "decimal"),
    "max_rank_shift": Metric("rank shift", "compact"),
    "gap_increase": Metric("gap increase", "rate"),
    "form_drop": Metric("drop", "rate"),
}

PANEL = Column("Panel", "panel", ("panel",))
FORM = Column("Form", "form", ("form",))
MODEL = Column("Model", "model", ("model",))
PROVIDER = Column("Provider", "provider", ("provider",))
REASON = Column("Reason", "reason", ("reason",))

SUMMARY = (
    Column("POS", "pos", ("summary", "pos"), "rate"),
    Column("Mean", "mean", ("summary", "mean"), "rate"),
    Column("Worst", "worst", ("summary", "worst"), "rate"),
    Column("Worst form", "worst_form", ("summary", "worst_form")),
    Column("Gap", "gap", ("summary", "gap"), "rate"),
    Column("Best form", "best_form", ("summary", "best_form"), optional=True),
)
SUMMARY_INTERVALS = tuple(
    Column(f"Interval of {label}", f"{name}_ci", ("summary", f"{name}_ci"), "rate_interval", optional=True)
    for name, label in (("pos", "POS"), ("mean", "mean"), ("worst", "worst"), ("gap", "gap"))
)
NO_WIDTH = Column("Without width", "degenerate_ci", ("summary", "degenerate_ci"), optional=True)
SUMMARY_REASON = Column("Reason", "reason", ("why",))
SIZE = (
    Column("Models", "n_models", ("n_models",), "count"),
    Column("Rows", "n_rows", ("n_rows",), "count"),
    Column("Coverage", "coverage", ("coverage",), "rate"),
)
RATES = (
    Column("Compliance", "compliance", ("compliance",), "rate"),
    Column("n", "n", ("n",), "count"),
    Column("Compliant", "n_compliant", ("n_compliant",), "count", optional=True),
)
RATE_INTERVAL = Column(
    "Interval of compliance", "compliance_ci", ("compliance_ci",), "rate_interval", optional=True
)
DEGENERATE = (
    Column(
        "Wilson interval",
        "wilson",
        (),
        "rate_interval",
        optional=True,
        bounds=("wilson_low", "wilson_high"),
    ),
)
DIFFERENCE = (
    Column("Δ", "diff", ("diff",), "difference"),
    Column("Interval of Δ", "ci", (), "difference_interval", optional=True, bounds=("ci_low", "ci_high")),
    Column("Without width", "ci_degenerate", ("ci_degenerate",), optional=True),
)
CONTRASTS = (
    *DIFFERENCE,
    Column("p", "p_raw", ("p_raw",), "p_value", optional=True),
    Column("p (Holm)", "p_holm", ("p_holm",), "p_value", optional=True),
)
ERRORS = (Column("Mean abs. error", "mean_abs_error", ("mean_abs_error",), "decimal", optional=True),)
N_DIRECTIONS = Column("n", "n_directions", ("n_directions",), "count", optional=True)
N_ERRORS = Column("n of the error", "n_errors", ("n_errors",), "count", optional=True)
RANKING = (
    Column("τ_b", "tau_b", ("tau_b",), "decimal"),
    Column("Interval of τ_b", "tau_b_ci", ("tau_b_ci",), "decimal_interval", optional=True),
    Column("Reversal", "reversal", ("reversal",), "rate"),
    Column("Interval of reversal", "reversal_ci", ("reversal_ci",), "rate_interval", optional=True),
    Column("Pairs", "n_pairs", ("n_pairs",), "count"),
    Column("Top-3 Jaccard", "top3_jaccard", ("top3_jaccard",), "decimal"),
    Column("Interval of Jaccard", "top3_jaccard_ci", ("top3_jaccard_ci",), "decimal_interval", optional=True),
    Column("Max. rank shift", "max_rank_shift", ("max_rank_shift",), "compact"),
    Column(
        "Interval of shift", "max_rank_shift_ci", ("max_rank_shift_ci",), "compact_interval", optional=True
    ),
    Column("Without width", "degenerate_ci", ("degenerate_ci",), optional=True),
    Column("Unranked", "unranked", ("unranked",), optional=True),
)
COVERAGE = (
    Column("Planned", "n_planned", ("n_planned",), "count"),
    Column("Scored", "n_scored", ("n_scored",), "count"),
    Column("Coverage", "coverage", ("coverage",), "rate"),
)
MIN_RANKED = 2
_MANY_FORMS = 8
_LISTS = frozenset({"unranked", "degenerate_ci"})
"""Fields of a ranking that are empty where there is nothing to say."""
SHARE = Column("Share", "share", ("value",), "rate")
N_ROWS = Column("Rows", "n", ("value",), "count")
LEFT_OUT = Column("Left out", "excluded", ("excluded",))
CHECKS = (
    PANEL,
    MODEL,
    Column("Form", "form", ("form",), optional=True),
    Column("Metric", "metric", ("metric",)),
    Column("Value", "value", ("value",), "compact"),
    Column("Judged by", "judged_by", ("judged_by",), optional=True),
    Column("Limit", "limit", ("limit",), "compact"),
    Column("Status", "status", ("status",)),
    Column("Rule", "rule", ("rule",), optional=True),
)


def summary_table(document: Document) -> Table:
    """One row a panel: POS, mean, worst form and gap over the primary models."""
    return made_table(
        "Summary",
        for_references((PANEL, *SUMMARY, *SIZE), panels_of(document).values()),
        map(with_ties, _summaries(document)),
    )


def intervals_table(document: Document) -> Table:
    """One row a panel: the intervals of its summary, where anything was resampled."""
    records = [
        record
        for record in _summaries(document)
        if any(column.present(record) for column in SUMMARY_INTERVALS)
    ]
    widthless = (
        [NO_WIDTH] if any(mapping(record, "summary").get("degenerate_ci") for record in records) else []
    )
    return made_table(
        "Intervals of the summary",
        for_references((PANEL, *SUMMARY_INTERVALS, *widthless), panels_of(document).values()),
        records,
    )


def for_references(columns: Iterable[Column], panels: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The columns with POS in their heads only where it is the reference form of every panel."""
    if all(reference_of(panel) == "POS" for panel in panels):
        return tuple(columns)
    return tuple(replace(column, header=column.header.replace("POS", "Reference")) for column in columns)


def all_models_table(document: Document) -> Table:
    """The same over all models, for the panels that leave some out of their primary set."""
    records = [with_ties(record) for record in _all_models(document) if record["left_out"]]
    return made_table(
        "Summary over all models", for_references((PANEL, *SUMMARY), panels_of(document).values()), records
    )


def forms_table(panel: Mapping[str, Any]) -> Table:
    """One row a form: its compliance over the primary models and its difference to the reference."""
    columns = (FORM, *RATES, RATE_INTERVAL, *DEGENERATE, *DIFFERENCE[:2], *CONTRASTS[3:], *ERRORS)
    return made_table(f"Forms, with differences to {reference_of(panel)}", columns, forms_of(panel))


def directions_table(panel: Mapping[str, Any]) -> Table:
    """One row a form, one column a direction, in the order the document names them."""
    records = [record for record in forms_of(panel) if mapping(record, "directions")]
    return made_table("Directions", (FORM, N_DIRECTIONS, *key_columns(records, "directions")), records)


def statuses_table(panel: Mapping[str, Any]) -> Table:
    """One row a form, one column a status."""
    records = [record for record in forms_of(panel) if mapping(record, "statuses")]
    return made_table("Statuses", (FORM, *key_columns(records, "statuses")), records)


def models_table(panel: Mapping[str, Any]) -> Table:
    """One row a model: its compliance under each form, its gap and its worst form."""
    records = list(models_of(panel))
    forms = each_once([*mapping(panel, "forms"), *(f for r in records for f in mapping(r, "forms"))])
    columns = (
        MODEL,
        *(Column(form, form, ("forms", form, "compliance"), "rate") for form in forms),
        Column("n per form", "n_form", ("n_form",), "count"),
        Column("Gap", "gap", ("summary", "gap"), "rate"),
        Column("Interval of gap", "gap_ci", ("summary", "gap_ci"), "rate_interval", optional=True),
        Column("Worst form", "worst_form", ("summary", "worst_form")),
        *([LEFT_OUT] if any(record["excluded"] for record in records) else []),
    )
    shown = [{**with_ties(record), "n_form": _n_range(record)} for record in records]
    return made_table("Models", columns, shown)


def many_forms(panel: Mapping[str, Any]) -> bool:
    """Whether a table with a column a form would be too wide to read."""
    return len(mapping(panel, "forms")) > _MANY_FORMS


def models_by_form_table(panel: Mapping[str, Any]) -> Table:
    """One row a form, one column a model: its compliance."""
    by_model = {str(record["model"]): mapping(record, "forms") for record in models_of(panel)}
    forms = each_once([*mapping(panel, "forms"), *(form for found in by_model.values() for form in found)])
    columns = (FORM, *(Column(model, model, (model, "compliance"), "rate") for model in by_model))
    records = [{"form": form, **{m: mapping(found, form) for m, found in by_model.items()}} for form in forms]
    return made_table("Models", columns, records)


def gaps_table(panel: Mapping[str, Any]) -> Table:
    """One row a model: its gap and its worst form."""
    table = models_table(panel)
    forms = set(mapping(panel, "forms"))
    kept = [place for place, column in enumerate(table.columns) if column.name not in forms]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return Table("Gap of each model", tuple(table.columns[place] for place in kept), rows)


def coverage_table(panel: Mapping[str, Any]) -> Table:
    """One row a model: planned and scored cells, and their statuses."""
    records = list(models_of(panel))
    columns = (MODEL, PROVIDER, *COVERAGE, *key_columns(records, "statuses"))
    return made_table("Coverage", columns, records)


def ranking_table(panel: Mapping[str, Any]) -> Table:
    """One row a form: how far it ranks the models as the reference form does; none with a single model."""
    records = list(_rankings(panel))
    # One model makes no ranking, and a table of dashes would say no more than that.
    compared = [record for record in records if (number(record.get("n_models")) or 0) >= MIN_RANKED]
    title = f"Ranking against {reference_of(panel)}"
    return made_table(title, (FORM, *RANKING), records if compared else [])


def sensitivity_table(panel: Mapping[str, Any]) -> Table:
    """One row a form: its difference and interval under each bootstrap scheme, side by side."""
    by_scheme = {
        str(scheme): mapping(result, "forms")
        for scheme, result in mapping(panel, "bootstrap", "sensitivity").items()
    }
    columns = (
        column
        for scheme in by_scheme
        for column in (
            Column(f"Δ, {scheme}", scheme, (scheme, "diff"), "difference"),
            Column(
                "Interval", f"{scheme}_ci", (scheme,), "difference_interval", bounds=("ci_low", "ci_high")
            ),
        )
    )
    records = [
        {"form": form, **{scheme: mapping(forms, form) for scheme, forms in by_scheme.items()}}
        for form in each_once(form for forms in by_scheme.values() for form in forms)
    ]
    return made_table("Sensitivity to the bootstrap scheme", (FORM, *columns), records)


def gate_table(document: Document) -> Table:
    """One row a check of the gate."""
    return made_table("Checks", CHECKS, _checks(document))


@dataclass(frozen=True, slots=True)
class Tidy:
    """One table for programs: all panels, every column always there."""

    name: str
    columns: tuple[Column, ...]
    records: Callable[[Document], Iterable[Record]]

    def table(self, document: Document) -> Table:
        """The table of ``document``, with values as they stand in it."""
        rows = (tuple(column.value(record) for column in self.columns) for record in self.records(document))
        return Table(self.name, self.columns, tuple(rows))


def tidy_tables() -> tuple[Tidy, ...]:
    """The tables that are written as CSV, each under its name."""
    return (
        Tidy("summary", (PANEL, *SUMMARY, *SUMMARY_INTERVALS, NO_WIDTH, *SIZE, SUMMARY_REASON), _summaries),
        Tidy("summary_all_models", (PANEL, *SUMMARY, *SUMMARY_INTERVALS, SUMMARY_REASON), _all_models),
        Tidy(
            "forms",
            (PANEL, FORM, *RATES, RATE_INTERVAL, *DEGENERATE, *CONTRASTS, *ERRORS, N_ERRORS, REASON),
            every_panel(forms_of),
        ),
        Tidy(
            "forms_all_models",
            (PANEL, FORM, *RATES, RATE_INTERVAL, *DEGENERATE, *DIFFERENCE, REASON),
            every_panel(_forms_of_all_models),
        ),
        Tidy("directions", (PANEL, FORM, Column("Direction", "direction", ("key",)), SHARE), _directions),
        Tidy(
            "statuses",
            (
                PANEL,
                Column("Of a", "level", ("level",)),
                FORM,
                MODEL,
                Column("Status", "status", ("key",)),
                N_ROWS,
            ),
            _statuses,
        ),
        Tidy(
            "models",
            (PANEL, MODEL, PROVIDER, LEFT_OUT, *SUMMARY, *SUMMARY_INTERVALS, *COVERAGE, SUMMARY_REASON),
            every_panel(models_of),
        ),
        Tidy(
            "model_forms",
            (PANEL, MODEL, PROVIDER, LEFT_OUT, FORM, *RATES, RATE_INTERVAL, *DEGENERATE, *DIFFERENCE, REASON),
            _model_forms,
        ),
        Tidy(
            "ranking",
            (PANEL, FORM, *RANKING, REASON),
            every_panel(_rankings),
        ),
        Tidy(
            "sensitivity",
            (PANEL, Column("Scheme", "scheme", ("scheme",)), FORM, *DIFFERENCE, REASON),
            every_panel(_sensitivities),
        ),
        Tidy("gate", (*CHECKS, REASON), _checks),
    )


def made_table(title: str, columns: Iterable[Column], records: Iterable[Record]) -> Table:
    """A table of the records; an optional column is left out where no record has it."""
    records = list(records)
    kept = tuple(column for column in columns if not column.optional or any(map(column.present, records)))
    return Table(title, kept, tuple(tuple(column.value(record) for column in kept) for record in records))


def _summaries(document: Document) -> Iterator[Record]:
    for panel_id, panel in panels_of(document).items():
        models = panel.get("models")
        n_models = len(models) if isinstance(models, list | tuple) else None
        yield {**panel, "panel": panel_id, "n_models": n_models, "why": why(panel)}


def _all_models(document: Document) -> Iterator[Record]:
    for panel_id, panel in panels_of(document).items():
        every = mapping(panel, "all_models")
        if every:
            left_out = bool(mapping(panel, "excluded"))
            yield {**every, "panel": panel_id, "left_out": left_out, "why": why(every)}


def _forms_of_all_models(panel: Mapping[str, Any]) -> Iterator[Record]:
    return keyed(mapping(panel, "all_models", "forms"), "form")


def _rankings(panel: Mapping[str, Any]) -> Iterator[Record]:
    for record in keyed(mapping(panel, "ranking"), "form"):
        # A column of empty lists would say nothing.
        yield {key: value for key, value in record.items() if key not in _LISTS or value}


def _sensitivities(panel: Mapping[str, Any]) -> Iterator[Record]:
    for scheme, result in mapping(panel, "bootstrap", "sensitivity").items():
        for record in keyed(mapping(result, "forms"), "form"):
            yield {**record, "scheme": str(scheme)}


def _model_forms(document: Document) -> Iterator[Record]:
    for panel_id, panel in panels_of(document).items():
        for model in models_of(panel):
            shared = {key: model.get(key) for key in ("model", "provider", "excluded")}
            for form in forms_of(model):
                yield {**form, **shared, "panel": panel_id}


def _directions(document: Document) -> Iterator[Record]:
    for panel_id, panel in panels_of(document).items():
        for form in forms_of(panel):
            for key, value in mapping(form, "directions").items():
                yield {"panel": panel_id, "form": form["form"], "key": str(key), "value": value}


def _statuses(document: Document) -> Iterator[Record]:
    for panel_id, panel in panels_of(document).items():
        for level, records in (("form", forms_of(panel)), ("model", models_of(panel))):
            for record in records:
                for key, value in mapping(record, "statuses").items():
                    name = {level: record[level]}
                    yield {"panel": panel_id, "level": level, **name, "key": str(key), "value": value}


def _checks(document: Document) -> Iterator[Record]:
    for check in listed(mapping(document, "gate"), "checks"):
        record = dict(mapping(check))
        metric = METRICS.get(str(record.get("metric")))
        value, limit = number(record.get("value")), number(record.get("limit"))
        if metric is not None and value is not None:
            record["value"] = Measured(value, metric.kind, limit)
        if metric is not None and limit is not None:
            record["limit"] = Measured(limit, metric.kind, value)
        judged = None if metric is None else judged_by(record, metric)
        if judged:
            record["judged_by"] = judged
        yield record


def judged_by(check: Mapping[str, Any], metric: Metric) -> str | None:
    """The interval that a check was judged by, as people read it; ``None`` where its value was."""
    bounds = listed(check, "interval")
    if not bounds:
        return None
    shown = [
        "∞" if number(bound) is None else show(Measured(bound, metric.kind), metric.kind) for bound in bounds
    ]
    return f"[{', '.join(shown)}]"


def every_panel(
    records: Callable[[Mapping[str, Any]], Iterable[Record]],
) -> Callable[[Document], Iterator[Record]]:
    """Records of one panel, made into records of all panels."""

    def of_all(document: Document) -> Iterator[Record]:
        for panel_id, panel in panels_of(document).items():
            for record in records(panel):
                yield {**record, "panel": panel_id}

    return of_all


def key_columns(records: Iterable[Record], group: str) -> Iterator[Column]:
    """A column for each key that an object at ``group`` has in any record."""
    for key in each_once(key for record in records for key in mapping(record, group)):
        yield Column(key, key, (group, key), "tally")


def _n_range(record: Record) -> int | str | None:
    """How many scored rows stand behind each of a model's rates: one number, or the range."""
    sizes = [form.get("n") for form in forms_of(record)]
    known = sorted({n for n in sizes if isinstance(n, int) and not isinstance(n, bool)})
    if not known:
        return None
    return known[0] if len(known) == 1 else f"{known[0]}–{known[-1]}"

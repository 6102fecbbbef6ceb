"""The files that are tables, column by column, and the schemas by which a file says what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest.audit.agreement import AGREEMENT_SCHEMA
from wise_pytest.audit.document import AUDIT_SCHEMA
from wise_pytest.audit.parquet import TARGET_JSON
from wise_pytest.audit.rows import BASELINE_SCHEMA
from wise_pytest.audit.table import FIELDS
from wise_pytest.cassettes.pack import CASSETTE_SCHEMA
from wise_pytest.manifest import MANIFEST_SCHEMA
from wise_pytest.panels.loader import PANEL_SCHEMA
from wise_pytest.records import ROW_SCHEMA
from wise_pytest.report.comparison import tidy_comparison
from wise_pytest.report.counters import tidy_counters
from wise_pytest.report.diagnostics import tidy_diagnostics
from wise_pytest.report.factorial import tidy_effects
from wise_pytest.report.published import tidy_published
from wise_pytest.report.tables import tidy_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wise_pytest.report.tables import Tidy

ONE_ROW_A: Mapping[str, str] = {
    "summary": "panel: POS, mean, worst form and gap over the primary models",
    "summary_all_models": "panel: the same over all models",
    "forms": "panel and form, over the primary models",
    "forms_all_models": "panel and form, over all models",
    "directions": "panel, form and direction",
    "statuses": "panel, form or model, and status",
    "models": "panel and model",
    "model_forms": "panel, model and form",
    "ranking": "panel and form: the ranking against that under POS",
    "sensitivity": "panel, bootstrap scheme and form",
    "gate": "check of the gate",
    "surface": "panel and form: count errors, empty, short, broken-off and refused outputs",
    "openings": "panel, form and opening that outputs begin with",
    "targets": "panel, target and form",
    "floor": "panel, model and target, over all forms",
    "model_directions": "panel, model, form and direction",
    "ranks": "panel, model and form: average rank and compliance",
    "examples": "matched failure: both outputs whole",
    "cross": "panel and form, over the models that all panels share",
    "changes": "panel, model and form; with a baseline",
    "summary_changes": "panel, model and figure; with a baseline",
    "flips": "item and form with verdicts that have changed; with a baseline",
    "effects": "panel with factors, set of models, and effect",
    "effect_tests": "panel with factors, set of models, and factor or pair of them, tested as a whole",
    "verifier_sensitivity": "panel, set of models, counter and form; where other counters were asked for",
    "verifier_sensitivity_gaps": "panel, set of models and counter; where other counters were asked for",
    "published": "panel, model and form, where the paper has published rates of the run's own",
}
"""By table: what one row of it is."""
SCHEMAS: Mapping[str, str] = {
    ROW_SCHEMA: "a row of `generations.jsonl`",
    AUDIT_SCHEMA: "`audit.json`",
    MANIFEST_SCHEMA: "`manifest.json`",
    CASSETTE_SCHEMA: "a pack of recordings, in its first line",
    PANEL_SCHEMA: "a panel's TOML file",
    BASELINE_SCHEMA: "what `wise baseline save` writes, in its first line",
    "wise.comparison/1": "`comparison.json`, which `wise compare --out` writes",
    AGREEMENT_SCHEMA: "`agreement.json`, which `wise agreement --out` writes",
}


def csv_tables() -> str:
    """Every table that is written as CSV."""
    kinds = (
        *tidy_tables(),
        *tidy_diagnostics(),
        *tidy_effects(),
        *tidy_counters(),
        *tidy_comparison(),
        tidy_published(),
    )
    if sorted(ONE_ROW_A) != sorted(tidy.name for tidy in kinds):
        raise SystemExit("docs/sections/files.py: ONE_ROW_A does not name the tables that there are")
    rows = [
        (code(f"{tidy.name}.csv"), ONE_ROW_A[tidy.name], ", ".join(map(code, _columns(tidy))))
        for tidy in kinds
    ]
    return table(("File", "One row a", "Columns"), rows)


def schemas() -> str:
    """Every schema."""
    return table(("Schema", "Is"), [(code(schema), what) for schema, what in SCHEMAS.items()])


def parquet_columns() -> str:
    """The columns of rows in Parquet."""
    return ", ".join(map(code, ("schema", *(TARGET_JSON if name == "target" else name for name in FIELDS))))


def _columns(tidy: Tidy) -> Iterator[str]:
    for column in tidy.columns:
        yield from (f"{column.name}_low", f"{column.name}_high") if column.is_interval else (column.name,)


PARTS: Mapping[str, Callable[[], str]] = {
    "tables": csv_tables,
    "schemas": schemas,
    "parquet": parquet_columns,
}

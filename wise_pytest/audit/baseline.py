"""One side of a comparison: the rows of an earlier run, and under which conditions they came about.

``finish``, ``wise compare`` and ``wise baseline`` read sides here: a run's
folder, a rows file, a file that ``wise baseline save`` has written, or an
``audit.json``, which knows rates and no single cell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wise_pytest.audit.conditions import UNKNOWN, Condition
from wise_pytest.audit.document import AUDIT_SCHEMA
from wise_pytest.audit.merging import rows_sha256
from wise_pytest.audit.parquet import PARQUET_SUFFIXES
from wise_pytest.audit.rows import BASELINE_SCHEMA, read_table
from wise_pytest.audit.table import table_of
from wise_pytest.errors import RowsError
from wise_pytest.files import MAX_DOCUMENT_BYTES, read_document, write_whole
from wise_pytest.records import Row
from wise_pytest.stats.rates import Rate

if TYPE_CHECKING:
    from wise_pytest.audit.conditions import Pair
    from wise_pytest.audit.table import RowTable

KEPT = (
    "panel",
    "model",
    "provider",
    "item",
    "form",
    "repetition",
    "target",
    "prompt",
    "status",
    "text",
    "compliant",
    "observed",
    "error",
    "direction",
    "request_digest",
    "verifier",
    "reason",
)
"""Fields of a row that a baseline keeps: what was asked, what came of it, and who scored it."""
_MAX_HEADER = 1_000_000
_OPENING_BYTES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Rows of one run or several."""

    table: RowTable
    conditions: Mapping[Pair, Condition]
    source: str
    """For people: the file."""
    lacking: Mapping[Pair, str] = field(default_factory=dict)
    """Of pairs of which planned cells have no row: how many there are."""

    def condition(self, panel: str, model: str) -> Condition:
        """How the cells of a panel and model were asked for."""
        return self.conditions.get((panel, model), UNKNOWN)

    def only(self, model: str) -> Side:
        """The rows of one model."""
        return replace(self, table=self.table.take(self.table.coded("model").among([model])))

    def pairs(self) -> tuple[Pair, ...]:
        """The (panel, model) that have rows, sorted."""
        panel, model = self.table.coded("panel"), self.table.coded("model")
        seen = set(zip(panel.codes.tolist(), model.codes.tolist(), strict=True))
        return tuple(sorted((panel.values[p], model.values[m]) for p, m in seen))


@dataclass(frozen=True, slots=True)
class AuditSide:
    """An ``audit.json``: counts of each form, and no cell."""

    document: Mapping[str, Any]
    source: str
    model: str | None = None
    """The only model to look at; ``None`` for all."""
    conditions: Mapping[Pair, Condition] = field(default_factory=dict)
    """What the manifest beside it says."""

    def only(self, model: str) -> AuditSide:
        """The counts of one model."""
        return replace(self, model=model)

    def pairs(self) -> tuple[Pair, ...]:
        """The (panel, model) that it has."""
        return tuple(
            sorted(
                (str(panel), str(model))
                for panel, content in self.document["panels"].items()
                for model in content["by_model"]
                if self.model in {None, model}
            )
        )

    def condition(self, panel: str, model: str) -> Condition:
        """The panel's digest; how models were decoded an audit does not say."""
        run = self.document.get("run")
        panels = run.get("panels") if isinstance(run, Mapping) else None
        digest = panels.get(panel) if isinstance(panels, Mapping) else None
        if isinstance(digest, str):
            return Condition(digest=digest)
        return Condition(digest=self.conditions.get((panel, model), UNKNOWN).digest)


Baseline: TypeAlias = Side | AuditSide


def read_baseline(path: Path | str, conditions: Mapping[Pair, Condition]) -> Baseline:
    """Read a side of a comparison.

    Parameters
    ----------
    path
        A run's folder, a rows file, a saved baseline or an ``audit.json``.
    conditions
        What the manifest beside the rows says; a saved baseline has its own.

    Raises
    ------
    RowsError
        If it is none of these, or cannot be read.
    """
    place = Path(path)
    if place.is_dir() or place.suffix.lower() in PARQUET_SUFFIXES:
        return Side(read_table([place]), conditions, str(path))
    if _is_document(place):
        return AuditSide(_audit(place), str(path), conditions=conditions)
    header = _header(place)
    table = read_table([place])
    if header is None:
        return Side(table, conditions, str(path))
    if header.get("n_rows") != len(table) or header.get("rows_sha256") != rows_sha256(table):
        raise RowsError(
            f"{path}: is not what was saved: {len(table)} rows, and their digest differs; "
            "restore the file, or save the baseline again"
        )
    return Side(table, _conditions(header, place), str(path))


def save_baseline(side: Side, path: Path) -> int:
    """Write rows with their conditions to one file, sorted, a line a cell; returns how many.

    Raises
    ------
    RowsError
        If the file cannot be written.
    """
    rows = sorted(side.table.rows(), key=lambda row: row.key)
    lines = [_line(row) for row in rows]
    kept = table_of(Row.from_dict(json.loads(line), where=str(path)) for line in lines)
    header = {
        "schema": BASELINE_SCHEMA,
        "n_rows": len(rows),
        "rows_sha256": rows_sha256(kept),
        "conditions": [
            {
                "panel": panel,
                "model": model,
                "digest": side.condition(panel, model).digest,
                "decoding": side.condition(panel, model).decoding,
            }
            for panel, model in side.pairs()
        ],
    }
    write_whole(path, "\n".join([_dump(header), *lines]) + "\n", error=RowsError)
    return len(rows)


def _line(row: Row) -> str:
    record = json.loads(row.to_json())
    return _dump({"schema": record["schema"], **{name: record[name] for name in KEPT}})


def _dump(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _is_document(path: Path) -> bool:
    """Whether a file is an ``audit.json``, however it is laid out, and no rows: each row is a whole line."""
    try:
        with path.open("rb") as stream:
            line = stream.read(_OPENING_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
            if not line.startswith(b"{"):
                return False
            if b"\n" not in line:
                line += stream.readline(MAX_DOCUMENT_BYTES)
    except OSError as error:
        raise RowsError(f"{path}: cannot be read: {error.strerror or error}") from error
    line = line.partition(b"\n")[0]
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        # Not whole: a document over several lines, or a row that is damaged.
        return not line[1:].strip() or AUDIT_SCHEMA.encode("ascii") in line
    return isinstance(first, dict) and first.get("schema") == AUDIT_SCHEMA


def _header(path: Path) -> Mapping[str, Any] | None:
    """The first line, where it is the header of a saved baseline."""
    with path.open("rb") as stream:
        line = stream.readline(_MAX_HEADER)
    if BASELINE_SCHEMA.encode("ascii") not in line:
        return None
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path}:1: is no header of a baseline: {error}; save the baseline again") from error
    return header if isinstance(header, dict) and header.get("schema") == BASELINE_SCHEMA else None


def _conditions(header: Mapping[str, Any], path: Path) -> dict[Pair, Condition]:
    try:
        return {
            (str(entry["panel"]), str(entry["model"])): Condition(entry["digest"], entry["decoding"])
            for entry in header["conditions"]
        }
    except (KeyError, TypeError) as error:
        raise RowsError(f"{path}:1: is no header that this version reads; save the baseline again") from error


def _audit(path: Path) -> Mapping[str, Any]:
    document = read_document(
        path, AUDIT_SCHEMA, hint="give a run's folder, a rows file, a saved baseline or an audit.json"
    )
    try:
        for panel in ({} if document is None else document)["panels"].values():
            for model in panel["by_model"].values():
                for form in model["forms"].values():
                    Rate(form["n_compliant"], form["n"])  # refuses what is no rate
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RowsError(
            f"{path}: is no audit that this version reads: {type(error).__name__}: {error}"
        ) from error
    return document or {}

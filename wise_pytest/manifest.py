"""A run's manifest: how it was made, and what it had planned.

Written when the first row is kept and again when the run ends, so that rows of
a killed run can still be told from complete ones. ``wise audit`` reads back the
plan and the models that were named: what a run answers for cannot be seen from
its rows alone.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import reprlib
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wise_pytest import __version__
from wise_pytest.errors import RowsError
from wise_pytest.files import write_whole
from wise_pytest.settings import MAX_REPETITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from wise_pytest.records import Row
    from wise_pytest.settings import Settings
    from wise_pytest.xdist import Plan, RunIdentity

MANIFEST = "manifest.json"
MANIFEST_SCHEMA = "wise.manifest/1"
_DISTRIBUTIONS = ("pytest", "pytest-recording", "vcrpy", "httpx", "pandas", "numpy", "scipy")

Pair: TypeAlias = tuple[str, str]
"""(panel, model)"""
PairKey: TypeAlias = tuple[str, str, int]
"""(item, form, repetition): a cell within its pair."""


def utc_now(precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """The time, ISO 8601 in UTC, ending in ``Z``."""
    return datetime.now(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def write_manifest(
    folder: Path, settings: Settings, identity: RunIdentity, plan: Plan, *, outcome: Mapping[str, Any] | None
) -> None:
    """Write the manifest of a run into its folder.

    Parameters
    ----------
    outcome
        What came of the run; ``None`` while it goes on.

    Raises
    ------
    ReportError
        If it cannot be written.
    """
    expected = plan.expected()
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "run": identity.run,
        "started_at": identity.started_at,
        "finished_at": None if outcome is None else utc_now(),
        "record_mode": settings.record_mode,
        "disable_recording": settings.disable_recording,
        "software": {
            "wise-pytest": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            **{name: version(name) for name in _DISTRIBUTIONS},
        },
        "servers": dict(identity.servers),
        "models": [
            {
                "name": selected.endpoint.name,
                "explicit": selected.explicit,
                "provider": selected.endpoint.provider,
                "protocol": selected.endpoint.protocol,
                "api_model": selected.endpoint.api_model,
                "base_url": selected.endpoint.base_url,
                "weights": dict(selected.endpoint.weights or {}),
            }
            for selected in settings.models
        ],
        "plan": [
            {"panel": panel, "model": model, "n_cells": n_cells, **dataclasses.asdict(plan.panels[panel])}
            for (panel, model), n_cells in sorted(expected.items())
        ],
        "exclude": settings.exclude,
        "bootstrap": {"seed": settings.seed, "replicates": settings.replicates},
        "thresholds": {
            name: None if value is None else str(value)
            for name, value in dataclasses.asdict(settings.thresholds).items()
        },
        "notes": dict(settings.notes),
        "outcome": None if outcome is None else dict(outcome),
    }
    write_whole(folder / MANIFEST, json.dumps(manifest, ensure_ascii=True, indent=2) + "\n")


def read_plans(paths: Iterable[Path | str]) -> dict[Pair, set[PairKey]]:
    """The cells that the runs had planned together, by (panel, model).

    Parameters
    ----------
    paths
        Run folders or their ``generations.jsonl``; one without a manifest adds nothing.

    Returns
    -------
    dict
        The union of the plans: shards of one plan add up, and the same run
        given twice counts once.

    Raises
    ------
    RowsError
        If a manifest is there and cannot be read.
    """
    plans: dict[Pair, set[PairKey]] = {}
    for record in _records(paths):
        for entry in record["plan"]:
            plans.setdefault((entry["panel"], entry["model"]), set()).update(
                (item, form, repetition)
                for item in entry["items"]
                for form in entry["forms"]
                for repetition in range(1, entry["repetitions"] + 1)
            )
    return plans


def read_expected_models(paths: Iterable[Path | str]) -> tuple[str, ...]:
    """The models that the user of any of the runs had named, sorted: none of them may be passed over.

    Parameters
    ----------
    paths
        As for ``read_plans``.

    Raises
    ------
    RowsError
        If a manifest is there and cannot be read.
    """
    return tuple(
        sorted(
            {entry["name"] for record in _records(paths) for entry in record["models"] if entry["explicit"]}
        )
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """What there is of a plan. Cells are compared one by one, so that no surplus makes up for a lack."""

    n_cells: Mapping[Pair, int]
    """Cells that each planned pair answers for: the planned ones, and any others that its rows are of."""
    partial: str | None
    """Why the runs are incomplete; ``None`` where they are whole, or no plan is known."""


def progress(plans: Mapping[Pair, AbstractSet[PairKey]], rows: Iterable[Row]) -> Progress:
    """Hold rows of any status against the plans of their runs."""
    found: dict[Pair, set[PairKey]] = {}
    for row in rows:
        found.setdefault((row.panel, row.model), set()).add((row.item, row.form, row.repetition))
    n_planned = sum(len(planned) for planned in plans.values())
    n_found = sum(len(planned & found.get(pair, set())) for pair, planned in plans.items())
    return Progress(
        n_cells={pair: len(planned | found.get(pair, set())) for pair, planned in plans.items()},
        partial=partial_reason(n_found, n_planned) if plans else None,
    )


def partial_reason(n_rows: int, n_planned: int) -> str | None:
    """Why a run is incomplete, for people; ``None`` for a complete one.

    Parameters
    ----------
    n_rows
        Planned cells with a row; rows of other cells are not among them.
    n_planned
        Planned cells.
    """
    if n_planned == 0:
        return "nothing was run: no cell was selected, or none is recorded"
    return None if n_rows >= n_planned else f"partial: {n_rows} of {n_planned} cells"


def _records(paths: Iterable[Path | str]) -> Iterator[dict[str, Any]]:
    """What is read back of the manifests beside ``paths``, checked."""
    for given in paths:
        path = Path(given)
        manifest = (path if path.is_dir() else path.parent) / MANIFEST
        try:
            record = json.loads(manifest.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            raise RowsError(
                f"{manifest}: cannot be read: {error}; delete it to audit the rows alone"
            ) from error
        schema = record.get("schema") if isinstance(record, dict) else None
        if schema != MANIFEST_SCHEMA:
            raise RowsError(
                f"{manifest}: schema {reprlib.repr(schema)} is not {MANIFEST_SCHEMA!r}; "
                "delete it to audit the rows alone"
            )
        try:
            yield {
                "plan": [_plan_entry(entry) for entry in record["plan"]],
                "models": [_model_entry(entry) for entry in record["models"]],
            }
        except (KeyError, TypeError, ValueError) as error:
            raise RowsError(
                f"{manifest}: is no manifest that this version reads ({type(error).__name__}: {error}); "
                "delete it to audit the rows alone"
            ) from error


def _plan_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    repetitions = entry["repetitions"]
    if type(repetitions) is not int or not 1 <= repetitions <= MAX_REPETITIONS:
        raise ValueError(
            f"'repetitions' must be an integer from 1 to {MAX_REPETITIONS}, not {reprlib.repr(repetitions)}"
        )
    return {
        "panel": _text(entry, "panel"),
        "model": _text(entry, "model"),
        "items": _texts(entry, "items"),
        "forms": _texts(entry, "forms"),
        "repetitions": repetitions,
    }


def _model_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    explicit = entry["explicit"]
    if type(explicit) is not bool:
        raise ValueError(f"'explicit' must be true or false, not {reprlib.repr(explicit)}")
    return {"name": _text(entry, "name"), "explicit": explicit}


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry[name]
    if not isinstance(value, str):
        raise TypeError(f"{name!r} must be a text, not {reprlib.repr(value)}")
    return value


def _texts(entry: Mapping[str, Any], name: str) -> list[str]:
    value = entry[name]
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise TypeError(f"{name!r} must be a list of texts, not {reprlib.repr(value)}")
    return value

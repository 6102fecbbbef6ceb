"""A run's manifest: how it was made, and what it had planned.

Written when the first row is kept and again when the run ends, so that rows of
a killed run can still be told from complete ones. ``wise audit`` reads the plan
back: what a run answers for cannot be seen from its rows alone.
"""

from __future__ import annotations

import dataclasses
import json
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wise_pytest import __version__
from wise_pytest.errors import RowsError
from wise_pytest.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wise_pytest.settings import Settings
    from wise_pytest.xdist import Plan, RunIdentity

MANIFEST = "manifest.json"
MANIFEST_SCHEMA = "wise.manifest/1"
_DISTRIBUTIONS = ("pytest", "pytest-recording", "vcrpy", "httpx", "pandas", "numpy", "scipy")


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


def read_plans(paths: Iterable[Path | str]) -> dict[tuple[str, str], int]:
    """The cells that the runs had planned together, by (panel, model).

    Parameters
    ----------
    paths
        Run folders or their ``generations.jsonl``; one without a manifest adds nothing.

    Returns
    -------
    dict
        The size of the union of the plans: shards of one plan add up, and the
        same run given twice counts once.

    Raises
    ------
    RowsError
        If a manifest is there and cannot be read.
    """
    cells: dict[tuple[str, str], set[tuple[str, str, int]]] = {}
    for given in paths:
        path = Path(given)
        manifest = (path if path.is_dir() else path.parent) / MANIFEST
        for entry in _plan_of(manifest):
            planned = cells.setdefault((entry["panel"], entry["model"]), set())
            planned.update(
                (item, form, repetition)
                for item in entry["items"]
                for form in entry["forms"]
                for repetition in range(1, entry["repetitions"] + 1)
            )
    return {pair: len(planned) for pair, planned in cells.items()}


def partial_reason(n_rows: int, n_planned: int) -> str | None:
    """Why a run is incomplete, for people; ``None`` for a complete one."""
    if n_planned == 0:
        return "nothing was run: no cell was selected, or none is recorded"
    return None if n_rows >= n_planned else f"partial: {n_rows} of {n_planned} cells"


def _plan_of(manifest: Path) -> list[dict[str, Any]]:
    try:
        record = json.loads(manifest.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RowsError(f"{manifest}: cannot be read: {error}; delete it to audit the rows alone") from error
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != MANIFEST_SCHEMA:
        raise RowsError(
            f"{manifest}: schema {schema!r} is not {MANIFEST_SCHEMA!r}; delete it to audit the rows alone"
        )
    try:
        return [
            {
                "panel": str(entry["panel"]),
                "model": str(entry["model"]),
                "items": [str(item) for item in entry["items"]],
                "forms": [str(form) for form in entry["forms"]],
                "repetitions": int(entry["repetitions"]),
            }
            for entry in record["plan"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(
            f"{manifest}: is no manifest that this version reads ({type(error).__name__}: {error}); "
            "delete it to audit the rows alone"
        ) from error

"""A run's manifest: how it was made, and what it had planned.

Written when the first row is kept and again when the run ends, so that rows of
a killed run can still be told from complete ones. ``wise audit`` reads back what
cannot be seen from the rows alone: the plan and the models that were named, for
which the run answers, and how its audit was made. ``runs`` puts several together.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import re
import reprlib
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wise_pytest import __version__
from wise_pytest.audit.conditions import Condition, Pair
from wise_pytest.audit.rules import THRESHOLDS, GateRules, Rule, Thresholds, parse_mode
from wise_pytest.errors import OptionError, RowsError
from wise_pytest.files import read_document, write_whole
from wise_pytest.records import JOURNAL
from wise_pytest.values import MAX_REPETITIONS, MAX_REPLICATES, MAX_SEED, Shard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from wise_pytest.settings import Settings
    from wise_pytest.xdist import Plan, RunIdentity

MANIFEST = "manifest.json"
MANIFEST_SCHEMA = "wise.manifest/1"
_LIMIT = re.compile(r"-?[0-9]{1,40}(/0*[1-9][0-9]{0,39}|\.[0-9]{1,40})?")
_HINT = "delete it to audit the rows alone"
_DISTRIBUTIONS = ("pytest", "pytest-recording", "vcrpy", "h11", "httpx", "pandas", "numpy", "scipy")

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
    conditions = conditions_of(settings, plan)
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
            {
                "panel": panel,
                "model": model,
                "n_cells": n_cells,
                **dataclasses.asdict(plan.panels[panel]),
                "decoding": conditions[panel, model].decoding,
            }
            for (panel, model), n_cells in sorted(expected.items())
        ],
        "panels": panel_digests(plan),
        "not_recorded": not_recorded_of(plan),
        "exclude": list(settings.exclude),
        "bootstrap": {"seed": settings.seed, "replicates": settings.replicates},
        "openings": None if settings.openings is None else list(settings.openings),
        "sensitivity": settings.sensitivity,
        "thresholds": _limits(dataclasses.asdict(settings.gate.everywhere)),
        "gate": {
            "mode": settings.gate.mode,
            "rules": [
                {"panel": rule.panel, "model": rule.model, **_limits(rule.limits)}
                for rule in settings.gate.scoped
            ],
        },
        "shard": None if settings.shard is None else dataclasses.asdict(settings.shard),
        "notes": dict(settings.notes),
        "outcome": None if outcome is None else dict(outcome),
    }
    write_whole(folder / MANIFEST, json.dumps(manifest, ensure_ascii=True, indent=2) + "\n")


def panel_digests(plan: Plan) -> dict[str, str]:
    """The digests of all planned panels, over their items, forms and verifiers."""
    return {name: panel.digest for name, panel in sorted(plan.panels.items())}


def not_recorded_of(plan: Plan) -> list[dict[str, str]]:
    """What an audit says of the pairs without any recording, sorted."""
    return named_pairs(plan.not_recorded)


def named_pairs(pairs: Iterable[Pair]) -> list[dict[str, str]]:
    """Pairs as a document lists them, sorted and each once."""
    return [{"panel": panel, "model": model} for panel, model in sorted(set(pairs))]


def conditions_of(settings: Settings, plan: Plan) -> dict[Pair, Condition]:
    """How the cells of each planned panel and model are asked for."""
    endpoints = {selected.endpoint.name: selected.endpoint for selected in settings.models}
    conditions: dict[Pair, Condition] = {}
    for panel, model in plan.expected():
        planned, endpoint = plan.panels[panel], endpoints.get(model)
        decoding = None
        if endpoint is not None and planned.decoding is not None:
            decoding = {**planned.decoding, **endpoint.extra}
            if not endpoint.temperature:
                decoding["temperature"] = None
        conditions[panel, model] = Condition(digest=planned.digest, decoding=decoding)
    return conditions


def _limits(limits: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: None if value is None else str(value) for name, value in limits.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class RunRecord:
    """What is read back of one manifest."""

    source: str
    plan: Mapping[Pair, AbstractSet[PairKey]]
    """The cells that the run had planned."""
    named: tuple[str, ...]
    """The models that its user had named."""
    exclude: tuple[str, ...]
    """Models that its user had left out of the primary results."""
    seed: int | None
    """``None`` where the manifest does not say."""
    replicates: int | None
    openings: tuple[str, ...] | None
    """Beginnings of outputs that were counted; ``None`` for those of the package."""
    digests: Mapping[str, str]
    """By panel, over its items, forms and verifier; a panel whose plan names none is missing."""
    not_recorded: tuple[Pair, ...] = ()
    """Planned pairs without any recording, in a run that only replayed."""
    run: str | None = None
    shard: Shard | None = None
    """Which part of its plan the run had to do; ``None`` for all of it."""
    conditions: Mapping[Pair, Condition] = dataclasses.field(default_factory=dict)
    """How the cells of each planned panel and model were asked for."""
    rules: GateRules = dataclasses.field(default_factory=GateRules)
    """What its gate was asked; the default ones where the manifest does not say."""
    sensitivity: bool = False
    """Whether its outputs were scored under other counters as well."""


def run_folder(path: Path | str) -> Path | None:
    """The run's folder that rows are of, given as such or by its journal; ``None`` for other files.

    The journal may have been written again as Parquet, under its name.
    """
    place = Path(path)
    if place.is_dir():
        return place
    return place.parent if place.stem == Path(JOURNAL).stem else None


def read_manifests(paths: Iterable[Path | str]) -> tuple[RunRecord, ...]:
    """The manifests of runs, each once.

    Parameters
    ----------
    paths
        Run folders or their ``generations.jsonl``; one without a manifest adds nothing.
        Rows in any other file are of no run: a manifest beside them may be of something else.

    Raises
    ------
    RowsError
        If a manifest is there and cannot be read.
    """
    places = [place for place in map(run_folder, paths) if place is not None]
    # A link to a run, as reports/latest is, is that run.
    manifests = {(place / MANIFEST).resolve(): place / MANIFEST for place in places}
    return tuple(record for record in map(_record, manifests.values()) if record is not None)


def _record(manifest: Path) -> RunRecord | None:
    record = read_document(manifest, MANIFEST_SCHEMA, hint=_HINT)
    if record is None:
        return None
    try:
        return _checked(record, source=str(manifest))
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(
            f"{manifest}: is no manifest that this version reads ({type(error).__name__}: {error}); {_HINT}"
        ) from error


def _checked(record: Mapping[str, Any], *, source: str) -> RunRecord:
    plan: dict[Pair, set[PairKey]] = {}
    digests: dict[str, str] = {}
    for entry in map(_plan_entry, record["plan"]):
        digest = entry["digest"]
        if digest is not None and digests.setdefault(entry["panel"], digest) != digest:
            raise ValueError(f"two digests for the panel {entry['panel']}")
        plan.setdefault((entry["panel"], entry["model"]), set()).update(
            (item, form, repetition)
            for item in entry["items"]
            for form in entry["forms"]
            for repetition in range(1, entry["repetitions"] + 1)
        )
    for panel in (planned := _object(record, "panels")):
        # All that were planned: the plan above leaves out what was deselected as a whole.
        if digests.setdefault(panel, digest := _text(planned, panel)) != digest:
            raise ValueError(f"two digests for the panel {panel}")
    models = [_model_entry(entry) for entry in record["models"]]
    bootstrap = _object(record, "bootstrap")
    for name, most in (("seed", MAX_SEED), ("replicates", MAX_REPLICATES)):
        value = bootstrap.get(name, 0)
        if type(value) is not int or not 0 <= value <= most:
            raise ValueError(f"{name!r} must be an integer from 0 to {most}, not {reprlib.repr(value)}")
    return RunRecord(
        source=source,
        plan=plan,
        named=tuple(entry["name"] for entry in models if entry["explicit"]),
        exclude=tuple(_texts(record, "exclude")) if "exclude" in record else (),
        seed=bootstrap.get("seed"),
        replicates=bootstrap.get("replicates"),
        openings=None if record.get("openings") is None else tuple(_texts(record, "openings")),
        digests=digests,
        not_recorded=tuple(
            (_text(entry, "panel"), _text(entry, "model")) for entry in record.get("not_recorded", [])
        ),
        run=_text(record, "run") if "run" in record else None,
        shard=_shard(record.get("shard")),
        conditions={
            (entry["panel"], entry["model"]): Condition(entry.get("digest"), entry.get("decoding"))
            for entry in record["plan"]
        },
        rules=_rules(record),
        sensitivity=record.get("sensitivity") is True,
    )


def _rules(record: Mapping[str, Any]) -> GateRules:
    gate = _object(record, "gate")
    rules = gate.get("rules", [])
    if not isinstance(rules, list):
        raise TypeError(f"'rules' must be a list, not {reprlib.repr(rules)}")
    mode = gate.get("mode", "point")
    try:
        return GateRules(
            everywhere=Thresholds(**_kept_limits(_object(record, "thresholds"))),
            scoped=tuple(map(_rule, rules)),
            mode=parse_mode(mode if isinstance(mode, str) else reprlib.repr(mode), "'mode'"),
        )
    except OptionError as error:
        raise ValueError(str(error)) from error


def _rule(entry: Any) -> Rule:
    if not isinstance(entry, dict):
        raise TypeError(f"a rule of the gate must be an object, not {reprlib.repr(entry)}")
    panel, model = (None if entry.get(name) is None else _text(entry, name) for name in ("panel", "model"))
    if panel is None and model is None:
        raise ValueError("a rule of the gate must name a panel or a model")
    return Rule(panel, model, _kept_limits(entry))


def _kept_limits(entry: Mapping[str, Any]) -> dict[str, Fraction | None]:
    """Limits as they were written, such as ``25/2``; ``None`` for one that was lifted."""
    limits: dict[str, Fraction | None] = {}
    for name in THRESHOLDS:
        if name in entry:
            kept = entry[name]
            # No exponents: 1e999999999 is a number too, and takes for ever to become an exact one.
            if kept is not None and (not isinstance(kept, str) or _LIMIT.fullmatch(kept) is None):
                raise ValueError(
                    f"{name!r} must be a number as a text, such as '25/2', not {reprlib.repr(kept)}"
                )
            limits[name] = None if kept is None else Fraction(kept)
    return limits


def _object(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object that manifests of earlier versions may lack."""
    value = record.get(name, {})
    if not isinstance(value, dict):
        raise TypeError(f"{name!r} must be an object, not {reprlib.repr(value)}")
    return value


def _shard(entry: Mapping[str, Any] | None) -> Shard | None:
    if entry is None:
        return None
    index, of = entry["index"], entry["of"]
    if type(index) is not int or type(of) is not int or not 1 <= index <= of:
        raise ValueError(f"'shard' must be a part from 1 to all, not {reprlib.repr(entry)}")
    return Shard(index, of)


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
        "digest": _text(entry, "digest") if "digest" in entry else None,
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

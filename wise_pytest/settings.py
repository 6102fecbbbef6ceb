"""What a session was asked to do: every option and setting, read and checked.

``read_settings`` is called once in every process that takes part, before
anything runs, so that what is wrong is said in one line and costs nothing.
"""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.registry import MAX_CONCURRENCY
from wise_pytest.errors import OptionError, PanelError
from wise_pytest.files import read_limited
from wise_pytest.options import (
    DEFAULT_CASSETTES,
    DEFAULT_OUT,
    GATE_OPTIONS,
    OPTIONS,
    option_value,
)
from wise_pytest.values import (
    MAX_REPETITIONS,
    bootstrap_replicates,
    bootstrap_seed,
    over_zero,
    parse_models_map,
    parse_shard,
    positive,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from wise_pytest.audit.rules import GateRules, GateTable
    from wise_pytest.endpoints.registry import Selected
    from wise_pytest.options import Option
    from wise_pytest.panels.catalog import Catalog
    from wise_pytest.report.kinds import ReportKind
    from wise_pytest.values import Shard

WEIGHTS_NOTE = "weights_sha256"
"""The note that says which file a local server was started with."""
PLACES = frozenset({"out", "cassettes", "report", "note", "concurrency", "rpm", "max-cost"})
"""Options that say where, with what remark and how fast, and ask for nothing."""
SETTINGS_KEYS = ("default_models", "models", "gate", "panels")
"""What ``[tool.wise]`` may hold."""
MAX_SETTINGS_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class BaselineSettings:
    """What this run is to be compared with."""

    path: Path
    models: Mapping[str, str]
    """Names of this run to names of the baseline."""
    shared: bool
    """Whether what both share is enough."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a session was asked to do, checked."""

    models: tuple[Selected, ...]
    catalog: Catalog
    """The panels that there are."""
    panels: tuple[str, ...] | None
    """``None``: every panel that a test names."""
    forms: tuple[str, ...] | None
    items: str | None
    repetitions: int | None
    out: Path
    cassettes: Path
    reports: tuple[ReportKind, ...]
    exclude: tuple[str, ...]
    seed: int
    replicates: int
    openings: tuple[str, ...] | None
    """Beginnings of outputs to count; ``None`` for those of the package."""
    sensitivity: bool
    """Whether the outputs are scored under other counters as well."""
    strict: bool
    notes: Mapping[str, str]
    gate: GateRules
    baseline: BaselineSettings | None
    shard: Shard | None
    """``None`` for the whole plan."""
    concurrency: int | None
    """Requests in flight to one provider; ``None`` for each endpoint's own default."""
    requests_per_minute: Mapping[str, float]
    """By provider; of the empty name for all others."""
    max_cost_usd: float | None
    plan_only: bool
    record_mode: str
    disable_recording: bool
    asked: bool
    """Whether the command line asks for an audit: to find nothing to audit is then no pass."""

    @property
    def replays_only(self) -> bool:
        """Whether no cell may call out."""
        return self.record_mode == "none" and not self.disable_recording and not self.plan_only

    @property
    def is_live(self) -> bool:
        """Whether this session may call out."""
        return not self.replays_only and not self.plan_only

    @property
    def records(self) -> bool:
        """Whether this session may write recordings."""
        return self.record_mode != "none" and not self.disable_recording and not self.plan_only


def read_settings(config: pytest.Config) -> Settings | None:
    """Check all options and build the settings; ``None`` where nothing of this package is asked for.

    Raises
    ------
    ConfigError
        For the first thing that is wrong, in one line.
    """
    table = read_tool_table(config.rootpath / "pyproject.toml")
    values = {option.name: _value(config, option) for option in OPTIONS}
    patterns = values["model"] or table.get("default_models", [])
    asked = any(value for name, value in values.items() if name != "model")
    if not patterns and not asked:
        return None
    return _build(config, values, patterns, table)


def _build(
    config: pytest.Config, values: Mapping[str, Any], patterns: Sequence[str], table: Mapping[str, Any]
) -> Settings:
    from wise_pytest.endpoints.registry import load_registry, resolve_models
    from wise_pytest.panels.catalog import read_catalog

    if not hasattr(config.option, "record_mode"):
        raise OptionError(
            "pytest-recording is not loaded, and nothing is asked or replayed without it; "
            "leave out -p no:recording, or load it with -p pytest_recording.plugin"
        )
    registry = load_registry(table.get("models"), environ=os.environ)
    models = resolve_models(patterns, registry) if patterns else ()
    catalog = read_catalog(config.rootpath, table.get("panels"))
    panels = _checked_panels(values["panel"], catalog)
    forms = _checked_forms(values["form"], panels, catalog)
    _check_items(values["items"], panels, catalog)
    return Settings(
        models=tuple(models),
        catalog=catalog,
        panels=panels,
        forms=forms,
        items=values["items"],
        repetitions=positive(values["repetitions"], "--wise-repetitions", most=MAX_REPETITIONS),
        out=_place(config, "out", values["out"]) or config.rootpath / DEFAULT_OUT,
        cassettes=_recordings(config, values["cassettes"]),
        reports=_reports(config, values["report"]),
        exclude=_excluded(values["exclude"], [selected.endpoint.name for selected in models]),
        seed=bootstrap_seed(values["seed"], "--wise-seed"),
        replicates=bootstrap_replicates(values["replicates"], "--wise-replicates"),
        openings=_openings(config, values["openings"]),
        sensitivity=bool(values["sensitivity"]),
        strict=bool(values["strict"]),
        notes=_notes(values["note"], models),
        gate=_gate(
            config,
            values,
            table,
            catalog=catalog,
            known_models=[*registry, *(s.endpoint.name for s in models)],
        ),
        baseline=_baseline(config, values, [selected.endpoint.name for selected in models]),
        shard=parse_shard(values["shard"], "--wise-shard"),
        concurrency=positive(values["concurrency"], "--wise-concurrency", most=MAX_CONCURRENCY),
        requests_per_minute=_rates(values["rpm"], models),
        max_cost_usd=_max_cost(values["max-cost"], models),
        plan_only=bool(values["plan"]),
        record_mode=_record_mode(config, plan_only=bool(values["plan"])),
        disable_recording=bool(config.getoption("--disable-recording", default=False)),
        asked=any(
            config.getoption(option.dest, default=None) for option in OPTIONS if option.name not in PLACES
        ),
    )


def read_tool_table(path: Path) -> Mapping[str, Any]:
    """The ``[tool.wise]`` table of a pyproject.toml; empty where there is none.

    Raises
    ------
    OptionError
        If the file cannot be read, or the table holds something unknown.
    """
    try:
        table = tomllib.loads(read_limited(path, MAX_SETTINGS_BYTES).decode()).get("tool", {}).get("wise", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise OptionError(f"{path}: cannot be read: {error}") from error
    for key in table:
        if key not in SETTINGS_KEYS:
            raise OptionError(
                f"{path}: [tool.wise] has no setting {key!r}; it takes {', '.join(SETTINGS_KEYS)}"
            )
    models = table.get("default_models", [])
    if not isinstance(models, list) or not all(isinstance(name, str) for name in models):
        raise OptionError(f"{path}: [tool.wise] default_models must be a list of names, not {models!r}")
    return table  # type: ignore[no-any-return]


def catalog_of(folder: Path) -> Catalog:
    """The panels that a project knows: the bundled ones, and its own by its pyproject.toml.

    Raises
    ------
    ConfigError
        If the settings cannot be read, or lead to no panel.
    """
    from wise_pytest.panels.catalog import read_catalog

    return read_catalog(folder, read_tool_table(folder / "pyproject.toml").get("panels"))


def _value(config: pytest.Config, option: Option) -> Any:
    value = option_value(config, option)
    if option.kind != "list":
        return value
    # A comma may be part of a base URL or a path, but not of these names.
    separate = option.name in {"panel", "form", "exclude"}
    parts = [part for text in value for part in (text.split(",") if separate else [text])]
    return [part.strip() for part in parts if part.strip()]


def _checked_panels(names: Sequence[str], catalog: Catalog) -> tuple[str, ...] | None:
    if not names:
        return None
    for name in names:
        catalog.panel(name)
    return tuple(dict.fromkeys(names))


def _checked_forms(
    names: Sequence[str], panels: Sequence[str] | None, catalog: Catalog
) -> tuple[str, ...] | None:
    """The forms asked for; each must belong to at least one panel that may run."""
    if not names:
        return None

    def forms_of(panel: str) -> list[str]:
        return [form.form_id for form in catalog.panel(panel).forms]

    for name in names:
        # One after the other: a panel is read only where those before it have no such form.
        if not any(name in forms_of(panel) for panel in panels or catalog):
            known = {panel: forms_of(panel) for panel in panels or catalog}
            listed = "; ".join(f"{panel}: {', '.join(forms)}" for panel, forms in known.items())
            raise OptionError(f"--wise-form: no panel has a form {name!r}; there are {listed}")
    return tuple(dict.fromkeys(names))


def _check_items(text: str | None, panels: Sequence[str] | None, catalog: Catalog) -> None:
    """Each panel that was named must have the items; of the others it is said when they are collected."""
    if text is None:
        return
    from wise_pytest.panels.selection import select_items

    try:
        for panel in panels or ():
            select_items(catalog.panel(panel).items, text)
        if panels is None and not catalog.own:
            select_items(catalog.shared_items(), text)
    except PanelError as error:
        raise OptionError(f"--wise-items: {error}") from error


def _openings(config: pytest.Config, text: str | None) -> tuple[str, ...] | None:
    path = _place(config, "openings", text)
    if path is None:
        return None
    from wise_pytest.audit.texts import read_openings

    return read_openings(path, option="--wise-openings")


def _place(config: pytest.Config, name: str, text: str | None) -> Path | None:
    """A path that an option names, from where that was written.

    On the command line it is relative to where pytest was called, in the ini
    file to the root folder.

    Raises
    ------
    OptionError
        If it starts with the home of nobody.
    """
    if text is None:
        return None
    try:
        return _base(config, name) / Path(text).expanduser()
    except RuntimeError as error:
        raise OptionError(f"--wise-{name} {text!r}: {error}; write the path out") from error


def _recordings(config: pytest.Config, text: str | None) -> Path:
    """The folder of the recordings, which need not be there yet.

    Raises
    ------
    OptionError
        If it is a file.
    """
    place = _place(config, "cassettes", text) or config.rootpath / DEFAULT_CASSETTES
    if place.exists() and not place.is_dir():
        raise OptionError(f"--wise-cassettes: {place} is a file; name the folder of the recordings")
    return place


def _base(config: pytest.Config, name: str) -> Path:
    """What the relative paths of an option are relative to."""
    in_ini = config.getoption(f"wise_{name}", default=None) is None
    return config.rootpath if in_ini else config.invocation_params.dir


def _reports(config: pytest.Config, texts: Sequence[str]) -> tuple[ReportKind, ...]:
    if not texts:
        return ()
    from wise_pytest.report.kinds import parse_report_option

    base = _base(config, "report")
    if base == config.invocation_params.dir:
        base = Path()  # paths stay as they were written, and are shown so
    kinds = map(parse_report_option, texts)
    return tuple(kind if kind.path is None else replace(kind, path=base / kind.path) for kind in kinds)


def _excluded(names: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in models:
            raise OptionError(
                f"--wise-exclude: {name!r} is not among the models of this run: {', '.join(models) or 'none'}"
            )
    return tuple(dict.fromkeys(names))


def _notes(texts: Sequence[str], models: Sequence[Selected]) -> dict[str, str]:
    """What to keep with the recordings; a digest of weights must be the bundled model's own, if it is one."""
    notes: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise OptionError(f"--wise-note: must be KEY=VALUE, not {text!r}")
        notes[key] = value
    given = notes.get(WEIGHTS_NOTE)
    for endpoint in (selected.endpoint for selected in models):
        known = (endpoint.weights or {}).get("sha256")
        if given is not None and known is not None and given != known:
            raise OptionError(
                f"--wise-note: {WEIGHTS_NOTE}={given} is not the file of {endpoint.name}, which has {known}"
            )
    return notes


def _record_mode(config: pytest.Config, *, plan_only: bool) -> str:
    """The mode that was given; a plan without one is of what would have to be recorded."""
    given = config.getoption("--record-mode", None)
    return str(given or ("once" if plan_only else "none"))


def _rates(texts: Sequence[str], models: Sequence[Selected]) -> dict[str, float]:
    """Requests a minute by provider; under the empty name those of every other one."""
    providers = {selected.endpoint.provider for selected in models}
    rates: dict[str, float] = {}
    for text in texts:
        provider, _, number = text.rpartition("=")
        if provider and provider not in providers:
            raise OptionError(
                f"--wise-rpm: no model of this run is from {provider!r}, only from "
                f"{', '.join(sorted(providers)) or 'nobody'}"
            )
        rates[provider] = over_zero(number, "--wise-rpm", "requests a minute")
    return rates


def _max_cost(text: str | None, models: Sequence[Selected]) -> float | None:
    """The budget; every model that costs anything must have a price."""
    if text is None:
        return None
    budget = over_zero(text, "--wise-max-cost", "US dollars")
    for endpoint in (selected.endpoint for selected in models):
        if endpoint.price is None and not endpoint.local:
            raise OptionError(
                f"--wise-max-cost: the price of {endpoint.name} is not known; give it one in "
                f"[tool.wise.models.{json.dumps(endpoint.name)}] of pyproject.toml, such as "
                "price = { input_usd = 0.4, output_usd = 1.6, as_of = 2026-07-02 }"
            )
    return budget


def gate_rules(
    values: Mapping[str, str | None], table: GateTable, *, prefix: str, baseline: bool
) -> GateRules:
    """Everything that is asked of the gate: options first, then the table of settings, which is less direct.

    Parameters
    ----------
    values
        Texts of the gate's options and of ``gate``, by name; ``None`` where not given.
    table
        What ``[tool.wise.gate]`` says.
    prefix
        Of the options, for messages.
    baseline
        Whether there is a baseline.

    Raises
    ------
    OptionError
        If a text is no number, or out of range, or a limit needs a baseline and there is none.
    """
    from wise_pytest.audit.rules import GateRules, Thresholds, parse_mode, parse_threshold

    limits = dict(table.everywhere)
    for name in GATE_OPTIONS:
        text = values[name]
        if text is not None:
            limits[name.replace("-", "_")] = parse_threshold(text, f"--{prefix}{name}")
    mode = values["gate"]
    rules = GateRules(
        everywhere=Thresholds(**limits),
        scoped=table.scoped,
        mode=(table.mode or "point") if mode is None else parse_mode(mode, f"--{prefix}gate"),
        given={
            n.replace("-", "_"): f"--{prefix}{n} {values[n]}" for n in GATE_OPTIONS if values[n] is not None
        },
    )
    if rules.compares and not baseline:
        raise OptionError(
            f"--{prefix}max-gap-increase and --{prefix}max-form-drop are limits of a comparison: "
            f"name an earlier run with --{prefix}baseline FILE"
        )
    return rules


def _gate(
    config: pytest.Config,
    values: Mapping[str, Any],
    table: Mapping[str, Any],
    *,
    catalog: Catalog,
    known_models: Sequence[str],
) -> GateRules:
    from wise_pytest.audit.rules import NO_TABLE, read_gate_table

    where = str(config.rootpath / "pyproject.toml")
    found = NO_TABLE
    if "gate" in table:
        found = read_gate_table(table["gate"], where=where, panels=[*catalog], models=known_models)
    return gate_rules(values, found, prefix="wise-", baseline=values["baseline"] is not None)


def _baseline(
    config: pytest.Config, values: Mapping[str, Any], models: Sequence[str]
) -> BaselineSettings | None:
    mapped = parse_models_map(values["baseline-map"], "--wise-baseline-map")
    for name in mapped:
        if name not in models:
            raise OptionError(
                f"--wise-baseline-map: {name!r} is not among the models of this run: "
                f"{', '.join(models) or 'none'}"
            )
    path = _place(config, "baseline", values["baseline"])
    if path is None:
        if mapped or values["baseline-shared"]:
            raise OptionError("--wise-baseline-map and --wise-baseline-shared need --wise-baseline FILE")
        return None
    return BaselineSettings(path=path, models=mapped, shared=bool(values["baseline-shared"]))

"""What a session was asked to do: every option and setting, read and checked.

``read_settings`` is called once in every process that takes part, before
anything runs, so that what is wrong is said in one line and costs nothing.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import OptionError, PanelError
from wise_pytest.options import (
    DEFAULT_CASSETTES,
    DEFAULT_OUT,
    DEFAULT_REPLICATES,
    DEFAULT_SEED,
    GATE_OPTIONS,
    OPTIONS,
    option_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from wise_pytest.audit.gate import Thresholds
    from wise_pytest.endpoints.registry import Selected
    from wise_pytest.options import Option
    from wise_pytest.panels.catalog import Catalog
    from wise_pytest.report.kinds import ReportKind

WEIGHTS_NOTE = "weights_sha256"
"""The note that says which file a local server was started with."""
PLACES = frozenset({"out", "cassettes", "report", "note"})
"""Options that say where and with what remark, and ask for nothing."""
MAX_REPETITIONS = 10_000
SETTINGS_KEYS = ("default_models", "models", "panels")
"""What ``[tool.wise]`` may hold."""
MAX_SEED = 2**63 - 1
MAX_REPLICATES = 1_000_000


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
    strict: bool
    notes: Mapping[str, str]
    thresholds: Thresholds
    record_mode: str
    disable_recording: bool
    asked: bool
    """Whether the command line asks for an audit: to find nothing to audit is then no pass."""

    @property
    def replays_only(self) -> bool:
        """Whether no cell may call out."""
        return self.record_mode == "none" and not self.disable_recording

    @property
    def records(self) -> bool:
        """Whether this session may write recordings."""
        return self.record_mode != "none" and not self.disable_recording


def read_settings(config: pytest.Config) -> Settings | None:
    """Check all options and build the settings; ``None`` where no model is chosen.

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
        repetitions=_positive(values["repetitions"], "--wise-repetitions"),
        out=_folder(config, values["out"], DEFAULT_OUT),
        cassettes=_folder(config, values["cassettes"], DEFAULT_CASSETTES),
        reports=_reports(values["report"]),
        exclude=_excluded(values["exclude"], [selected.endpoint.name for selected in models]),
        seed=bootstrap_seed(values["seed"], "--wise-seed"),
        replicates=bootstrap_replicates(values["replicates"], "--wise-replicates"),
        openings=_openings(config, values["openings"]),
        strict=bool(values["strict"]),
        notes=_notes(values["note"], models),
        thresholds=thresholds(values, prefix="wise-"),
        record_mode=config.getoption("--record-mode", None) or "none",
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
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("wise", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
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
    known = {panel: [form.form_id for form in catalog.panel(panel).forms] for panel in panels or catalog}
    for name in names:
        if not any(name in forms for forms in known.values()):
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


def _positive(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if re.fullmatch(r"0*[1-9][0-9]{0,4}", text) is None or int(text) > MAX_REPETITIONS:
        raise OptionError(f"{name}: must be a whole number from 1 to {MAX_REPETITIONS}, not {text!r}")
    return int(text)


def _openings(config: pytest.Config, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    from wise_pytest.audit.texts import read_openings

    return read_openings(config.invocation_params.dir / text, option="--wise-openings")


def bootstrap_seed(text: str | None, name: str) -> int:
    """The seed that an option gives, or the default.

    Raises
    ------
    OptionError
        If it is no whole number, or out of range.
    """
    return _whole(text, name, default=DEFAULT_SEED, most=MAX_SEED)


def bootstrap_replicates(text: str | None, name: str) -> int:
    """The number of replicates that an option gives, or the default; 0 for no bootstrap.

    Raises
    ------
    OptionError
        If it is no whole number, or out of range.
    """
    return _whole(text, name, default=DEFAULT_REPLICATES, most=MAX_REPLICATES)


def _whole(text: str | None, name: str, *, default: int, most: int) -> int:
    if text is None:
        return default
    # The length is checked first: Python refuses to read very long numbers.
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(most)) or int(text) > most:
        raise OptionError(f"{name}: must be a whole number from 0 to {most}, not {text!r}")
    return int(text)


def _folder(config: pytest.Config, text: str | None, default: str) -> Path:
    """An explicit folder is relative to where pytest was called, a default one to the root folder."""
    if text is None:
        return config.rootpath / default
    return config.invocation_params.dir / Path(text).expanduser()


def _reports(texts: Sequence[str]) -> tuple[ReportKind, ...]:
    if not texts:
        return ()
    from wise_pytest.report.kinds import parse_report_option

    return tuple(parse_report_option(text) for text in texts)


def _excluded(names: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in models:
            raise OptionError(
                f"--wise-exclude: {name!r} is not among the models of this run: {', '.join(models) or 'none'}"
            )
    return tuple(dict.fromkeys(names))


def _notes(texts: Sequence[str], models: Sequence[Selected]) -> dict[str, str]:
    """What to keep with the recordings; a digest of weights must be the bundled model's own."""
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


def thresholds(values: Mapping[str, str | None], *, prefix: str) -> Thresholds:
    """The gate's limits out of the texts given for them, by option name.

    Raises
    ------
    OptionError
        If a text is no number, or out of range.
    """
    from wise_pytest.audit.gate import Thresholds, parse_threshold

    return Thresholds(
        **{
            name.replace("-", "_"): parse_threshold(text, f"--{prefix}{name}")
            for name in GATE_OPTIONS
            if (text := values[name]) is not None
        }
    )

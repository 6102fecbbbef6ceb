"""The gate of ``wise audit``: its rules, and an earlier run to compare with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.options import GATE_OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping

    from wise_pytest.audit.comparison import Comparison
    from wise_pytest.audit.conditions import Condition, Pair
    from wise_pytest.audit.rules import GateRules
    from wise_pytest.audit.table import RowTable

SETTINGS_FILE = "pyproject.toml"


def rules_of(parsed: argparse.Namespace, *, panels: Collection[str], models: Collection[str]) -> GateRules:
    """The rules that a command line asks for, over those of a file of settings.

    Parameters
    ----------
    parsed
        With the gate's options, ``gate``, ``baseline`` and ``config``.
    panels, models
        What the rows are of; rules may also be about others that are known.

    Raises
    ------
    OptionError
        If an option or a rule cannot be used.
    """
    from wise_pytest.audit.rules import NO_TABLE, read_gate_table
    from wise_pytest.endpoints.registry import load_registry
    from wise_pytest.errors import OptionError
    from wise_pytest.panels.catalog import read_catalog
    from wise_pytest.settings import gate_rules, read_tool_table

    file: Path = parsed.config or Path(SETTINGS_FILE)
    if parsed.config is not None and not file.is_file():
        raise OptionError(f"--config: there is no file {file}")
    settings: Mapping[str, Any] = read_tool_table(file)
    table = NO_TABLE
    if "gate" in settings:
        registry = load_registry(settings.get("models"), environ=os.environ)
        table = read_gate_table(
            settings["gate"],
            where=str(file),
            panels=[*read_catalog(file.parent, settings.get("panels")), *panels],
            models=[*registry, *models],
        )
    values = {name: getattr(parsed, name.replace("-", "_")) for name in (*GATE_OPTIONS, "gate")}
    return gate_rules(values, table, prefix="", baseline=parsed.baseline is not None)


def compare_again(
    parsed: argparse.Namespace,
    table: RowTable,
    conditions: Mapping[Pair, Condition],
    *,
    seed: int,
    replicates: int,
) -> Comparison | None:
    """Compare rows with the baseline that the command line names; ``None`` where it names none.

    Raises
    ------
    OptionError
        If models cannot be mapped.
    RowsError
        If the baseline cannot be read.
    """
    from wise_pytest.audit.baseline import Side
    from wise_pytest.audit.comparison import Asked, compare
    from wise_pytest.comparing import baseline_at
    from wise_pytest.errors import OptionError
    from wise_pytest.settings import catalog_of
    from wise_pytest.values import parse_models_map

    models = parse_models_map(parsed.baseline_map, "--baseline-map")
    if parsed.baseline is None:
        if models or parsed.baseline_shared:
            raise OptionError("--baseline-map and --baseline-shared need --baseline FILE")
        return None
    catalog = catalog_of(Path.cwd())
    return compare(
        baseline_at(parsed.baseline),
        Side(table, conditions, "these rows"),
        Asked(
            replicates=replicates,
            seed=seed,
            models=models,
            shared=parsed.baseline_shared,
            panels=catalog,
            verifier_of=catalog.verifier,
        ),
    )

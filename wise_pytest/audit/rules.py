"""What is asked of the gate: limits for all, for a panel, for a model; and how strictly they are judged.

``settings`` and ``wise audit`` read them out of options and of ``[tool.wise.gate]``,
so this module is light to import; ``gate`` holds them against the audit.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from wise_pytest.errors import OptionError
from wise_pytest.naming import explain_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

GateMode: TypeAlias = Literal["point", "confident"]
GATE_MODES: tuple[GateMode, ...] = get_args(GateMode)
POINTS = 100
TABLE = "[tool.wise.gate]"
EVERYWHERE = "everywhere"
"""The name of the rule that no panel and no model has of its own."""

_PLAIN_NUMBER = re.compile(r"[+-]?(\d{1,12}(\.\d{0,12})?|\.\d{1,12})", re.ASCII)
_RANGES: Mapping[str, tuple[int, int | None]] = {"min_tau": (-1, 1), "max_rank_shift": (0, None)}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits as their options write them; ``None`` where nothing was asked for.

    Percentage points, except ``min_tau`` (-1..1) and ``max_rank_shift`` (ranks).
    """

    max_gap: Fraction | None = None
    min_worst: Fraction | None = None
    min_mean: Fraction | None = None
    max_reversal: Fraction | None = None
    min_tau: Fraction | None = None
    max_rank_shift: Fraction | None = None
    min_coverage: Fraction | None = Fraction(95)
    max_gap_increase: Fraction | None = None
    max_form_drop: Fraction | None = None


THRESHOLDS = tuple(field.name for field in dataclasses.fields(Thresholds))
OF_RANKINGS = frozenset({"max_reversal", "min_tau", "max_rank_shift"})
"""Limits on what all models of a panel come to together; no rule of one model can hold them."""
OF_COMPARISONS = frozenset({"max_gap_increase", "max_form_drop"})
"""Limits on what has changed since a baseline."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Limits of one panel, of one model, or of one model in one panel."""

    panel: str | None
    model: str | None
    limits: Mapping[str, Fraction | None]
    """By field of ``Thresholds``; ``None`` lifts a limit that a less specific rule sets."""

    @property
    def label(self) -> str:
        """Whom it is about, for a report."""
        parts = (("model", self.model), ("panel", self.panel))
        return ", ".join(f"{kind} {name}" for kind, name in parts if name is not None)


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, and the rule that decided it."""

    value: Fraction
    """In the unit of its option."""
    rule: str


@dataclass(frozen=True, slots=True)
class GateRules:
    """Everything that is asked of the gate."""

    everywhere: Thresholds = dataclasses.field(default_factory=Thresholds)
    scoped: tuple[Rule, ...] = ()
    mode: GateMode = "point"
    given: Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)
    """Limits for everywhere that options gave, as they were written, such as ``--wise-max-gap 5``."""

    def scoped_rule(self, name: str, *, panel: str | None, model: str | None) -> Rule | None:
        """The rule that goes before the limit for everywhere; ``None`` where none does."""
        for scope in ((panel, model), (None, model), (panel, None)):
            for rule in self.scoped:
                if (rule.panel, rule.model) == scope and name in rule.limits:
                    return rule
        return None

    def limit(self, name: str, *, panel: str | None = None, model: str | None = None) -> Limit | None:
        """The limit that the most specific rule sets: of model and panel, of the model, of the panel, of all.

        Parameters
        ----------
        name
            A field of ``Thresholds``.
        panel, model
            What is to be judged; ``None`` for all.
        """
        rule = self.scoped_rule(name, panel=panel, model=model)
        if rule is not None:
            found = rule.limits[name]
            return None if found is None else Limit(found, rule.label)
        value: Fraction | None = getattr(self.everywhere, name)
        return None if value is None else Limit(value, EVERYWHERE)

    @property
    def compares(self) -> bool:
        """Whether any limit is about what has changed since a baseline."""
        return any(
            limit is not None
            for name in OF_COMPARISONS
            for limit in (getattr(self.everywhere, name), *(rule.limits.get(name) for rule in self.scoped))
        )


def parse_threshold(text: str, name: str) -> Fraction:
    """Read the value of a gate option, exactly.

    Parameters
    ----------
    text
        A plain decimal number.
    name
        The option as the user writes it, such as ``--wise-max-gap`` or
        ``wise_max_gap``, perhaps after its place; how it ends decides the range.

    Returns
    -------
    Fraction
        In the unit of the option: percentage points, tau or ranks.

    Raises
    ------
    OptionError
        If ``text`` is no plain number or lies outside the option's range.
    """
    written = name.replace("-", "_")
    low, high = next((found for option, found in _RANGES.items() if written.endswith(option)), (0, POINTS))
    expected = f"a number from {low}" if high is None else f"a number from {low} to {high}"
    stripped = text.strip()
    # No exponents: 1e999999999 is a number too, and takes for ever to become an exact one.
    if _PLAIN_NUMBER.fullmatch(stripped) is None:
        raise OptionError(f"{name}: must be {expected}, not {text!r}")
    value = Fraction(stripped)
    if value < low or (high is not None and value > high):
        raise OptionError(f"{name}: must be {expected}, not {text!r}")
    return value


def parse_mode(text: str, name: str) -> GateMode:
    """Read how strictly the gate judges.

    Raises
    ------
    OptionError
        If there is no such way.
    """
    for mode in GATE_MODES:
        if text == mode:
            return mode
    raise OptionError(f"{name}: must be {' or '.join(GATE_MODES)}, not {text!r}")


@dataclass(frozen=True, slots=True)
class GateTable:
    """What ``[tool.wise.gate]`` says."""

    everywhere: Mapping[str, Fraction | None]
    scoped: tuple[Rule, ...]
    mode: GateMode | None


NO_TABLE = GateTable({}, (), None)


def read_gate_table(table: Any, *, where: str, panels: Collection[str], models: Collection[str]) -> GateTable:
    """Check ``[tool.wise.gate]``.

    Parameters
    ----------
    table
        The decoded table: limits by name with underscores (a number, or
        ``false`` for none), ``mode``, and the tables ``panels`` and ``models``,
        each by name; a model's table may have ``panels`` of its own.
    where
        The file, for messages.
    panels, models
        Every name that there is.

    Raises
    ------
    OptionError
        For the first thing that is wrong; the message names the table and the key.
    """
    everywhere = _limits(table, f"{where}: {TABLE}", takes=(*THRESHOLDS, "mode", "panels", "models"))
    mode: GateMode | None = None
    rules: list[Rule] = []
    if "mode" in table:
        mode = parse_mode(str(table["mode"]), f"{where}: {TABLE} mode")
    rules += _of_panels(table, f"{where}: {TABLE}", model=None, panels=panels, takes=THRESHOLDS)
    of_a_model = tuple(name for name in THRESHOLDS if name not in OF_RANKINGS)
    for model, part in _tables(table, "models", f"{where}: {TABLE}"):
        if model not in models:
            raise OptionError(
                f"{where}: {TABLE} models: {explain_unknown('model', model, models)}; "
                "describe it in [tool.wise.models] if it has a name of your own"
            )
        place = f"{where}: [tool.wise.gate.models.{model}]"
        limits = _limits(part, place, takes=(*of_a_model, "panels"))
        rules.append(Rule(None, model, limits))
        rules += _of_panels(part, place, model=model, panels=panels, takes=of_a_model)
    return GateTable(everywhere, tuple(rules), mode)


def _of_panels(
    table: Mapping[str, Any],
    where: str,
    *,
    model: str | None,
    panels: Collection[str],
    takes: Collection[str],
) -> Iterator[Rule]:
    for panel, part in _tables(table, "panels", where):
        if panel not in panels:
            raise OptionError(f"{where} panels: {explain_unknown('panel', panel, panels)}")
        yield Rule(panel, model, _limits(part, f"{where} panels.{panel}", takes=takes))


def _tables(table: Mapping[str, Any], key: str, where: str) -> Iterator[tuple[str, Any]]:
    part = table.get(key, {})
    if not isinstance(part, Mapping):
        raise OptionError(f"{where} {key}: must be a table of {key} by name, not {part!r}")
    yield from part.items()


def _limits(table: Any, where: str, *, takes: Collection[str]) -> dict[str, Fraction | None]:
    if not isinstance(table, Mapping):
        raise OptionError(f"{where}: must be a table, not {table!r}")
    limits: dict[str, Fraction | None] = {}
    for key, value in table.items():
        if key not in takes:
            raise OptionError(f"{where}: there is no {key!r}; it takes {', '.join(takes)}")
        if key not in THRESHOLDS:
            continue
        if value is False:
            limits[key] = None
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            # The shortest text of a float is the decimal that was written.
            limits[key] = parse_threshold(str(value), f"{where} {key}")
        else:
            raise OptionError(f"{where} {key}: must be a number, or false for no limit, not {value!r}")
    return limits

"""The values that flow through a run, from a planned cell to a scored row.

Each step of a run takes one of these and returns the next::

    Cell ──► Generation ──► Verdict ──► Row

All are frozen. ``Row`` is what is kept: one JSON object a line in
``generations.jsonl``, and everything the audit knows.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

from wise_pytest.errors import RowsError

if TYPE_CHECKING:
    from collections.abc import Mapping

ROW_SCHEMA = "wise.row/1"
JOURNAL = "generations.jsonl"
"""What a run's folder calls its rows."""
AUDIT = "audit.json"
"""What it calls their audit."""

Status: TypeAlias = Literal["ok", "truncated", "refused", "blocked", "error"]
STATUSES: tuple[Status, ...] = ("ok", "truncated", "refused", "blocked", "error")
SCORED_STATUSES: frozenset[Status] = frozenset({"ok", "truncated", "refused"})
"""Statuses whose generations are in the denominator of every rate."""

Target: TypeAlias = int | str | tuple[int, int] | tuple[int, str] | tuple[str, ...]
"""What the verifier demands: a word count, a keyword, inclusive bounds, a count with a keyword, or names."""

CellKey: TypeAlias = tuple[str, str, str, str, int]
"""(model, panel, item, form, repetition): unique in a run."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One planned generation: model × panel × item × form × repetition."""

    model: str
    """The name the user chose the model by."""
    provider: str
    panel: str
    item: str
    form: str
    repetition: int
    """From 1."""
    target: Target
    instruction: str
    """The form's template, filled in."""
    prompt: str
    """What is sent: the task, one blank, the instruction."""
    verifier: str
    """Identifier and version, such as ``word_count/1``."""

    @property
    def key(self) -> CellKey:
        """The identity of this cell within a run."""
        return (self.model, self.panel, self.item, self.form, self.repetition)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; ``None`` where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """One finished reply, or the reason why there is none."""

    status: Status
    text: str | None
    """The complete visible output; ``None`` only with the status ``error`` or ``blocked``."""
    finish_reason: str | None = None
    """As the provider wrote it."""
    flags: tuple[str, ...] = ()
    """Remarks that do not change the status, such as ``served_model_differs``."""
    usage: Usage = field(default_factory=Usage)
    served_model: str | None = None
    reason: str | None = None
    """Why the status is ``error`` or ``blocked``, in words, without secrets."""
    request_digest: str | None = None
    """SHA-256 over method, URL and body of the request, in hexadecimal."""
    recorded_at: str | None = None
    """When the provider answered, ISO 8601 in UTC."""
    latency_s: float | None = None
    """Seconds from sending the last try to the end of its reply."""
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier says of one complete visible output."""

    compliant: bool
    direction: str
    """The verifier's own word for what happened, such as ``under``, ``exact`` or ``over``."""
    observed: int | None = None
    """The count the verifier made, where it counts."""
    error: int | None = None
    """Observed minus target, where the target is one number."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cell with its outcome, as kept in ``generations.jsonl``."""

    panel: str
    model: str
    provider: str
    item: str
    form: str
    repetition: int
    compliant: bool | None
    """``None`` where the status keeps the cell out of the denominator."""
    status: Status = "ok"
    run: str | None = None
    target: Target | None = None
    instruction: str | None = None
    prompt: str | None = None
    finish_reason: str | None = None
    text: str | None = None
    observed: int | None = None
    error: int | None = None
    direction: str | None = None
    flags: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    latency_s: float | None = None
    attempts: int | None = None
    served_model: str | None = None
    request_digest: str | None = None
    recorded_at: str | None = None
    verifier: str | None = None
    reason: str | None = None

    @property
    def key(self) -> CellKey:
        """The identity of this row within a run."""
        return (self.model, self.panel, self.item, self.form, self.repetition)

    @property
    def scored(self) -> bool:
        """Whether this row is in the denominator of its rates."""
        return self.status in SCORED_STATUSES

    def to_json(self) -> str:
        """One line of ASCII JSON without a line break."""
        record: dict[str, Any] = {"schema": ROW_SCHEMA}
        for name in _ROW_FIELDS:
            record[name] = getattr(self, name)
        record["usage"] = {name: getattr(self.usage, name) for name in _USAGE_FIELDS}
        return json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], *, where: str) -> Row:
        """Check one decoded line and build its row.

        Parameters
        ----------
        record
            The decoded JSON object. Only ``panel, model, provider, item, form,
            repetition, compliant`` are required.
        where
            File and line, for messages.

        Raises
        ------
        RowsError
            If the schema is unknown, a required field is missing, or a value
            has the wrong type or contradicts the status.
        """
        return _row_from_dict(record, where=where)


_ROW_FIELDS = (
    "run",
    "panel",
    "model",
    "provider",
    "item",
    "form",
    "repetition",
    "target",
    "instruction",
    "prompt",
    "status",
    "finish_reason",
    "text",
    "compliant",
    "observed",
    "error",
    "direction",
    "flags",
    "usage",
    "latency_s",
    "attempts",
    "served_model",
    "request_digest",
    "recorded_at",
    "verifier",
    "reason",
)
_USAGE_FIELDS = tuple(f.name for f in dataclasses.fields(Usage))
_REQUIRED_TEXT = ("panel", "model", "provider", "item", "form")
_OPTIONAL_TEXT = (
    "run",
    "instruction",
    "prompt",
    "finish_reason",
    "text",
    "direction",
    "served_model",
    "request_digest",
    "recorded_at",
    "verifier",
    "reason",
)
_OPTIONAL_COUNTS = ("observed", "error", "attempts")
_MAX_SHOWN = 200
"""Characters of a faulty value that a message shows."""


def build_row(cell: Cell, generation: Generation, verdict: Verdict | None, *, run: str) -> Row:
    """Join a cell, its generation and the verdict on it into the row that is kept.

    ``verdict`` is ``None`` exactly where the generation's status keeps it out
    of the denominator.
    """
    return Row(
        panel=cell.panel,
        model=cell.model,
        provider=cell.provider,
        item=cell.item,
        form=cell.form,
        repetition=cell.repetition,
        compliant=None if verdict is None else verdict.compliant,
        status=generation.status,
        run=run,
        target=cell.target,
        instruction=cell.instruction,
        prompt=cell.prompt,
        finish_reason=generation.finish_reason,
        text=generation.text,
        observed=None if verdict is None else verdict.observed,
        error=None if verdict is None else verdict.error,
        direction=None if verdict is None else verdict.direction,
        flags=generation.flags,
        usage=generation.usage,
        latency_s=generation.latency_s,
        attempts=generation.attempts,
        served_model=generation.served_model,
        request_digest=generation.request_digest,
        recorded_at=generation.recorded_at,
        verifier=cell.verifier,
        reason=generation.reason,
    )


def error_row(cell: Cell, reason: str, *, run: str) -> Row:
    """The row of a cell that ended without a usable reply."""
    return build_row(cell, Generation(status="error", text=None, reason=reason), None, run=run)


def _row_from_dict(record: Mapping[str, Any], *, where: str) -> Row:
    schema = record.get("schema", ROW_SCHEMA)
    if schema != ROW_SCHEMA:
        raise RowsError(
            f"{where}: schema {cut_value(schema)} is not {ROW_SCHEMA!r}, the one this version reads"
        )
    values: dict[str, Any] = {}
    for name in _REQUIRED_TEXT:
        values[name] = _text(record, name, where=where, required=True)
    for name in _OPTIONAL_TEXT:
        values[name] = _text(record, name, where=where, required=False)
    for name in _OPTIONAL_COUNTS:
        values[name] = _count(record, name, where=where)
    repetition = record.get("repetition")
    if not _is_int(repetition) or repetition < 1:
        raise RowsError(
            f"{where}: 'repetition' must be a whole number from 1, not {_shown(record, 'repetition')}"
        )
    values["repetition"] = repetition
    values["compliant"], values["status"] = _outcome(record, where=where)
    values["latency_s"] = _seconds(record, where=where)
    values["target"] = _target(record.get("target"), where=where)
    values["flags"] = _flags(record, where=where)
    values["usage"] = _usage(record.get("usage"), where=where)
    return Row(**values)


def _text(record: Mapping[str, Any], name: str, *, where: str, required: bool) -> str | None:
    value = record.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str) or (required and not value):
        expected = "a non-empty text" if required else "a text or null"
        raise RowsError(f"{where}: {name!r} must be {expected}, not {_shown(record, name)}")
    return value


def _count(record: Mapping[str, Any], name: str, *, where: str) -> int | None:
    value = record.get(name)
    if value is None or _is_int(value):
        return value
    raise RowsError(f"{where}: {name!r} must be a whole number or null, not {_shown(record, name)}")


def _seconds(record: Mapping[str, Any], *, where: str) -> float | None:
    value = record.get("latency_s")
    if value is None:
        return None
    # NaN compares as false; JSON can hold whole numbers that no float can.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and -sys.float_info.max <= value <= sys.float_info.max:
        return float(value)
    raise RowsError(
        f"{where}: 'latency_s' must be a finite number of seconds or null, not {_shown(record, 'latency_s')}"
    )


def _flags(record: Mapping[str, Any], *, where: str) -> tuple[str, ...]:
    value = record.get("flags")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(flag, str) for flag in value):
        raise RowsError(f"{where}: 'flags' must be a list of texts or null, not {_shown(record, 'flags')}")
    return tuple(value)


def _outcome(record: Mapping[str, Any], *, where: str) -> tuple[bool | None, Status]:
    compliant = record.get("compliant")
    if compliant is not None and not isinstance(compliant, bool):
        # 0 and 1 are not accepted: a rate or a count in this field must not pass as a verdict.
        raise RowsError(
            f"{where}: 'compliant' must be true, false or null, not {_shown(record, 'compliant')}"
        )
    if "compliant" not in record:
        raise RowsError(f"{where}: 'compliant' is missing")
    status = record.get("status", "ok" if compliant is not None else "error")
    if status not in STATUSES:
        raise RowsError(f"{where}: 'status' must be one of {', '.join(STATUSES)}, not {cut_value(status)}")
    if (status in SCORED_STATUSES) != (compliant is not None):
        raise RowsError(
            f"{where}: 'compliant' is {json.dumps(compliant)}, which contradicts the status {status!r}"
        )
    return compliant, status


def _target(value: Any, *, where: str) -> Target | None:
    if value is None or isinstance(value, str) or _is_int(value):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return tuple(value)
    if isinstance(value, list) and len(value) == 2:  # noqa: PLR2004
        first, second = value
        if _is_int(first) and _is_int(second):
            return (first, second)
        if _is_int(first) and isinstance(second, str):
            return (first, second)
    expected = "a whole number, a text, two whole numbers, a number and a text, or a list of texts"
    raise RowsError(f"{where}: 'target' must be {expected}, not {cut_value(value)}")


def _usage(value: Any, *, where: str) -> Usage:
    if value is None:
        return Usage()
    if not isinstance(value, dict) or any(
        value.get(name) is not None and not _is_int(value.get(name)) for name in _USAGE_FIELDS
    ):
        raise RowsError(f"{where}: 'usage' must be an object of token counts, not {cut_value(value)}")
    return Usage(**{name: value.get(name) for name in _USAGE_FIELDS})


def _is_int(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(record: Mapping[str, Any], name: str) -> str:
    return cut_value(record[name]) if name in record else "missing"


def cut_value(value: Any) -> str:
    """A value for a message of one line, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"

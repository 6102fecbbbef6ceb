"""The rows of a run, packed for the page: columns of JSON, compressed, in characters that need no escape.

Called by ``page``. The page unpacks them with the browser's own decompressor.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wise_pytest.records import CellKey, Row

_LEVEL = 6
_MARK = "\ue000"
"""Stands in a recorded reply for the output within it; private to this format."""
_NOTHING_SAVED = 0.5

_COLUMNS: Mapping[str, Callable[[Row], Any]] = {
    "panel": lambda row: row.panel,
    "model": lambda row: row.model,
    "provider": lambda row: row.provider,
    "item": lambda row: row.item,
    "form": lambda row: row.form,
    "repetition": lambda row: row.repetition,
    "target": lambda row: row.target,
    "instruction": lambda row: row.instruction,
    "prompt": lambda row: row.prompt,
    "status": lambda row: row.status,
    "finish_reason": lambda row: row.finish_reason,
    "text": lambda row: row.text,
    "compliant": lambda row: row.compliant,
    "observed": lambda row: row.observed,
    "error": lambda row: row.error,
    "direction": lambda row: row.direction,
    "flags": lambda row: list(row.flags) or None,
    "input_tokens": lambda row: row.usage.input_tokens,
    "output_tokens": lambda row: row.usage.output_tokens,
    "reasoning_tokens": lambda row: row.usage.reasoning_tokens,
    "latency_s": lambda row: row.latency_s,
    "attempts": lambda row: row.attempts,
    "served_model": lambda row: row.served_model,
    "request_digest": lambda row: row.request_digest,
    "recorded_at": lambda row: row.recorded_at,
    "verifier": lambda row: row.verifier,
    "reason": lambda row: row.reason,
}
"""All that a row says but its run, so that equal rows give an equal page."""


MAX_BYTES = 12 * 1024 * 1024
"""Of the packed rows: a page beyond some 15 MB is a burden to whoever opens it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The rows as they go into a page."""

    content: str
    """Empty where there are none."""
    note: str
    """What was left out, in a sentence, or nothing."""


def pack_to_fit(
    rows: Sequence[Row],
    *,
    form_order: Mapping[str, Sequence[str]],
    replies: Mapping[CellKey, str],
    max_bytes: int = MAX_BYTES,
) -> Packed:
    """The rows in at most ``max_bytes``: first without the recorded replies, then those of fewer items.

    An item keeps all its rows, so that answers to one task can still be set
    side by side.
    """
    if not rows:
        return Packed("", "")
    content = pack_rows(rows, form_order=form_order, replies=replies)
    note = ""
    if len(content) > max_bytes and replies:
        content = pack_rows(rows, form_order=form_order, replies={})
        note = "The recorded replies are left out to keep this page small."
    items = sorted({row.item for row in rows})
    n_items = len(items)
    while len(content) > max_bytes and n_items > 1:
        n_items = max(1, min(n_items - 1, n_items * max_bytes // len(content)))
        chosen = set(items[:n_items])
        kept = [row for row in rows if row.item in chosen]
        content = pack_rows(kept, form_order=form_order, replies={})
        note = (
            f"To keep this page small it has the {len(kept):,} generations of {n_items:,} of {len(items):,} "
            f"items, without the recorded replies; all {len(rows):,} are in generations.jsonl."
        )
    return Packed(content, note)


def pack_rows(
    rows: Sequence[Row], *, form_order: Mapping[str, Sequence[str]], replies: Mapping[CellKey, str]
) -> str:
    """The rows as base64 of gzip of JSON.

    Parameters
    ----------
    rows
        In any order.
    form_order
        By panel, its forms as the audit orders them.
    replies
        Recorded bodies of replies, by the key of their row.

    Returns
    -------
    str
        ASCII letters, digits, ``+``, ``/`` and ``=`` only.
    """
    ordered = sorted(rows, key=lambda row: _place(row, form_order))
    columns = {name: _column([read(row) for row in ordered]) for name, read in _COLUMNS.items()}
    if replies:
        columns["reply"] = _column([_marked(replies.get(row.key), row.text) for row in ordered])
    kept = {name: column for name, column in columns.items() if column["values"] != [None]}
    content = json.dumps({"n": len(ordered), "columns": kept}, ensure_ascii=True, separators=(",", ":"))
    # A time within would make each page a different one.
    return base64.b64encode(gzip.compress(content.encode("ascii"), _LEVEL, mtime=0)).decode("ascii")


def unpack_rows(packed: str) -> list[dict[str, Any]]:
    """What ``pack_rows`` has packed, one mapping a row; for whoever has a page and no rows file."""
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    lists = {
        name: [column["values"][index] for index in column["indices"]]
        if "indices" in column
        else column["values"]
        for name, column in data["columns"].items()
    }
    return [{name: values[position] for name, values in lists.items()} for position in range(data["n"])]


def _place(row: Row, form_order: Mapping[str, Sequence[str]]) -> tuple[Any, ...]:
    forms = form_order.get(row.panel, ())
    position = forms.index(row.form) if row.form in forms else len(forms)
    return (row.panel, row.model, row.item, position, row.form, row.repetition)


def _column(values: list[Any]) -> dict[str, Any]:
    """A column whose repeated values are written once; as it is where few repeat."""
    # With its type, for 1, 1.0 and true are equal and not the same.
    keys = [(type(value), tuple(value) if isinstance(value, list) else value) for value in values]
    distinct = {key: position for position, key in enumerate(dict.fromkeys(keys))}
    if len(distinct) > max(len(values) * _NOTHING_SAVED, 1):
        return {"values": values}
    return {"values": [value for _, value in distinct], "indices": [distinct[key] for key in keys]}


def _marked(reply: str | None, text: str | None) -> str | None:
    """A reply with the output in it left out where the page can put it back exactly: it is there already."""
    if reply is None or not text or _MARK in reply:
        return reply
    for letter, ascii_only in (("a", True), ("u", False)):
        written = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        if reply.count(f'"{written}"') == 1:
            return reply.replace(f'"{written}"', f'"{_MARK}{letter}"')
    return reply

"""The objects of a document as its reports read them: whatever is missing or odd there is empty here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Document: TypeAlias = Mapping[str, Any]
Record: TypeAlias = Mapping[str, Any]


def mapping(holder: Any, *path: str) -> Mapping[str, Any]:
    """The object at ``path`` below ``holder``, empty where there is none."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder if isinstance(holder, Mapping) else {}


def listed(holder: Any, key: str) -> list[Any]:
    """The list at ``key`` of ``holder``, empty where there is none."""
    found = holder.get(key) if isinstance(holder, Mapping) else None
    return list(found) if isinstance(found, list | tuple) else []


def panels_of(document: Document) -> dict[str, Mapping[str, Any]]:
    """The panels of a document by their id, in its order."""
    return {str(panel_id): mapping(panel) for panel_id, panel in mapping(document, "panels").items()}


def keyed(objects: Mapping[str, Any], name: str) -> Iterator[Record]:
    """The members of an object as records that hold their own key under ``name``."""
    for key, member in objects.items():
        yield {**mapping(member), name: str(key)}


def forms_of(panel: Mapping[str, Any]) -> Iterator[Record]:
    """The forms of a panel or model, each with its name."""
    return keyed(mapping(panel, "forms"), "form")


def models_of(panel: Mapping[str, Any]) -> Iterator[Record]:
    """The models of a panel, each with its name and with why it is not primary."""
    reasons = mapping(panel, "excluded")
    for record in keyed(mapping(panel, "by_model"), "model"):
        own = record.get("excluded")
        yield {**record, "excluded": reasons.get(record["model"]) or own or "", "why": why(record)}


def reference_of(panel: Mapping[str, Any]) -> str:
    """The form that the others of a panel are compared with."""
    found = panel.get("reference")
    return found if isinstance(found, str) else "POS"


def why(audit: Mapping[str, Any]) -> Any:
    """Why the summary, or a part of it, is missing."""
    return mapping(audit, "summary").get("reason") or audit.get("reason")


def each_once(keys: Iterable[str]) -> list[str]:
    """Each key once, in the order of its first appearance."""
    return list(dict.fromkeys(keys))

"""Tables and sentences about the outputs themselves: their surface, their directions, the floor regime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report import objects, tables
from wise_pytest.report.columns import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SURFACE = (
    tables.FORM,
    Column("Texts", "n_texts", ("surface", "n_texts"), "count"),
    Column("At most two words", "short_share", ("surface", "short_share"), "rate"),
    Column("Empty", "empty_share", ("surface", "empty_share"), "rate"),
    Column("Opens with a set phrase", "opening_share", ("surface", "opening_share"), "rate"),
    Column("Truncated", "truncated_share", ("surface", "truncated_share"), "rate"),
    Column("Refused", "refused_share", ("surface", "refused_share"), "rate"),
)


def surface_table(panel: Mapping[str, Any]) -> tables.Table:
    """One row a form: shares of short, empty, truncated and refused outputs."""
    records = [
        {**objects.mapping(result), "form": form}
        for form, result in objects.mapping(panel, "forms").items()
        if objects.mapping(result, "surface")
    ]
    return _table("What the outputs look like", _SURFACE, records)


def model_directions_table(panel: Mapping[str, Any]) -> tables.Table:
    """One row a model, one column a direction, over all forms."""
    records = [
        {**objects.mapping(result), "model": model}
        for model, result in objects.mapping(panel, "by_model").items()
        if objects.mapping(result, "directions")
    ]
    keys = dict.fromkeys(str(key) for record in records for key in record["directions"])
    shares = (Column(key, key, ("directions", key), "rate") for key in keys)
    columns = (tables.MODEL, Column("n", "n_directions", ("n_directions",), "count"), *shares)
    return _table("Directions by model, over all wordings", columns, records)


def floor_sentences(panel: Mapping[str, Any]) -> Iterator[str]:
    """What it means that a model is in the floor regime, for each that is."""
    for model, result in objects.mapping(panel, "by_model").items():
        if objects.mapping(result, "floor").get("in_floor") is True:
            yield (
                f"{model} is in the floor regime: at most 1 % compliance above the smallest target, and "
                "outputs that hardly grow with it. It says nothing about wording, and is left out of the "
                "pooled results."
            )


def _table(title: str, columns: tuple[Column, ...], records: list[dict[str, Any]]) -> tables.Table:
    return tables.Table(
        title, columns, tuple(tuple(column.value(record) for column in columns) for record in records)
    )

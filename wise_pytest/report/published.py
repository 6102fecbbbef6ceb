"""What the paper has published of a run's own models and panels: context, told apart from every result.

Called by the writers for ``audit.md``, the page and the CSV files, with what
``audit.json`` holds under ``published``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import Column, words
from wise_pytest.report.objects import each_once, listed, mapping, panels_of
from wise_pytest.report.tables import FORM, MODEL, PANEL, Table, Tidy, every_panel, made_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wise_pytest.report.objects import Document, Record

TITLE = "Published rates of the same models"
_HERE = Column("Here", "here", ("here",), "rate")
_PUBLISHED = Column("Published", "published", ("published",), "rate")
_FIGURES = (("mean", "mean"), ("worst", "worst form"), ("gap", "gap"))


def published_table(panel: Mapping[str, Any]) -> Table:
    """One row a model and form, then what we derive from them; empty where nothing is published."""
    return made_table(TITLE, (MODEL, FORM, _HERE, _PUBLISHED), _of_panel(panel))


def published_sentences(panel: Mapping[str, Any]) -> list[str]:
    """What has to be said beside published rates; nothing where there are none."""
    published = mapping(panel, "published")
    if not published:
        return []
    models = {str(name): mapping(model) for name, model in mapping(published, "by_model").items()}
    called = "; ".join(
        f"{name} is {words(model.get('name'))} ({words(model.get('identifier'))}), "
        f"asked on {words(model.get('accessed'))}"
        for name, model in models.items()
    )
    tables = " and ".join(each_once(words(model.get("table")) for model in models.values()))
    remarks = each_once(words(remark) for model in models.values() for remark in listed(model, "remarks"))
    return [
        words(published.get("warning")),
        f"Source: {tables} of {words(published.get('title'))}; {called}; {words(published.get('decoding'))}.",
        words(published.get("derived")),
        *remarks,
    ]


def tidy_published() -> Tidy:
    """The published rates as a table for programs, without what is derived from them."""
    columns = (
        PANEL,
        MODEL,
        FORM,
        _HERE,
        _PUBLISHED,
        Column("Source", "source", ("source",)),
        Column("Accessed", "accessed", ("accessed",)),
    )
    return Tidy("published", columns, every_panel(_rates))


def holds_published(document: Document) -> bool:
    """Whether anything is published of what was run."""
    return any(mapping(panel, "published") for panel in panels_of(document).values())


def _of_panel(panel: Mapping[str, Any]) -> Iterator[Record]:
    rates = list(_rates(panel))
    for name, model in mapping(panel, "published", "by_model").items():
        yield from (rate for rate in rates if rate["model"] == name)
        here = mapping(panel, "by_model", name, "summary")
        derived = mapping(model, "derived")
        for key, label in _FIGURES:
            record = {"model": name, "form": f"{label} (derived)", "published": derived.get(key)}
            yield {**record, "here": here.get(key)}


def _rates(panel: Mapping[str, Any]) -> Iterator[Record]:
    for name, model in mapping(panel, "published", "by_model").items():
        forms = mapping(panel, "by_model", name, "forms")
        for form, rate in mapping(model, "forms").items():
            yield {
                "model": name,
                "form": form,
                "here": mapping(forms, form).get("compliance"),
                "published": rate,
                "source": mapping(model).get("table"),
                "accessed": mapping(model).get("accessed"),
            }

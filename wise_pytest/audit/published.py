"""The rates that the paper has published, for context beside a user's own.

``wise reference`` prints them, and ``document`` puts those of a run's own panels
and models into ``audit.json``. The rates are data, in ``published.csv``, and what
is known of them stands in ``published.toml``. Nothing here reaches the gate.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.registry import load_registry
from wise_pytest.stats.rates import Rate
from wise_pytest.stats.summary import summarize_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from wise_pytest.stats.summary import FormSummary

REFERENCE = "POS"
DERIVED = (
    "Mean, worst form and gap are derived here, from the whole numbers of 300 generations that round to "
    "the published rates."
)


@dataclass(frozen=True, slots=True)
class Source:
    """What all published rates have in common."""

    title: str
    authors: str
    generations: int
    """That each rate was taken over."""
    decoding: str
    warning: str


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """One model in one panel, as published."""

    panel: str
    model: str
    """The name under which this package knows it."""
    name: str
    """What the paper calls it."""
    identifier: str
    """What the paper sent to the provider."""
    accessed: date
    table: str
    rates: Mapping[str, Fraction]
    """Compliance by form as it is printed, 0 to 1, in the paper's order."""
    derived: FormSummary
    """Not published: see `DERIVED`."""
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """Every published rate."""

    source: Source
    by_panel: Mapping[str, Mapping[str, PublishedModel]]
    """By panel, then by the name under which this package knows the model."""


@cache
def published() -> Published:
    """The rates that come with the package, their models under the names of the bundled registry."""
    folder = files("wise_pytest.audit")
    about: dict[str, Any] = tomllib.loads(folder.joinpath("published.toml").read_text("utf-8"))
    n = int(about["generations"])
    percents: dict[str, dict[str, dict[str, Fraction]]] = {}
    for line in csv.DictReader(folder.joinpath("published.csv").read_text("utf-8").splitlines()):
        of_panel = percents.setdefault(line["panel"], {})
        of_panel.setdefault(line["model"], {})[line["form"]] = Fraction(line["percent"])
    names = _registered(about["models"])
    by_panel = {
        panel: {
            names[name]: _model(panel, names[name], name, rates, about=about, n=n)
            for name, rates in models.items()
        }
        for panel, models in percents.items()
    }
    source = Source(
        title=about["title"],
        authors=about["authors"],
        generations=n,
        decoding=about["decoding"],
        warning=about["warning"],
    )
    return Published(source, by_panel)


def published_of(panel: str, models: Iterable[str]) -> tuple[PublishedModel, ...]:
    """What is published of these models in this panel, in the order given."""
    known = published().by_panel.get(panel, {})
    return tuple(known[model] for model in models if model in known)


def published_document(models: Iterable[PublishedModel]) -> dict[str, Any]:
    """Published models of one panel as a part of ``audit.json``; empty where there are none."""
    found = {model.model: _model_document(model) for model in models}
    if not found:
        return {}
    source = published().source
    return {
        "title": source.title,
        "authors": source.authors,
        "generations_per_rate": source.generations,
        "decoding": source.decoding,
        "warning": source.warning,
        "derived": DERIVED,
        "by_model": found,
    }


def _model_document(model: PublishedModel) -> dict[str, Any]:
    derived = model.derived
    return {
        "name": model.name,
        "identifier": model.identifier,
        "accessed": model.accessed.isoformat(),
        "table": model.table,
        "forms": {form: float(rate) for form, rate in model.rates.items()},
        "derived": {
            "mean": float(derived.mean),
            "worst": float(derived.worst),
            "worst_form": derived.worst_form,
            "gap": float(derived.best - derived.worst),
        },
        "remarks": list(model.remarks),
    }


def _registered(models: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The registry's name for each of the paper's, by the identifier that is sent."""
    registry = load_registry()
    names: dict[str, str] = {}
    for name, about in models.items():
        identifier = about["identifier"]
        (names[name],) = (known.name for known in registry.values() if known.is_served_by(identifier))
    return names


def _model(
    panel: str, model: str, name: str, percents: Mapping[str, Fraction], *, about: Mapping[str, Any], n: int
) -> PublishedModel:
    of_panel, of_model = about["panels"][panel], about["models"][name]
    # A rate of n generations is a whole number of them, and one decimal leaves no choice of which.
    counts = {form: Rate(round(percent * n / 100), n) for form, percent in percents.items()}
    derived = summarize_forms(counts, reference=REFERENCE)
    if derived is None:
        raise ValueError(f"published.csv has no rate of {name} in {panel}")
    return PublishedModel(
        panel=panel,
        model=model,
        name=name,
        identifier=of_model["identifier"],
        accessed=of_model["accessed"],
        table=of_panel["table"],
        rates={form: percent / 100 for form, percent in percents.items()},
        derived=derived,
        remarks=tuple(part["remark"] for part in (of_panel, of_model) if "remark" in part),
    )

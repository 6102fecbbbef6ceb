"""``wise reference``: the rates that the paper has published, for context beside a run of one's own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from wise_pytest.commands.console import print_lines, print_table
from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from wise_pytest.audit.published import PublishedModel

_DERIVED = ("mean*", "worst* (form)", "gap*")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    reference = commands.add_parser(
        "reference",
        help="print the rates that the paper has published, model by model",
        description="Print the compliance rates that the paper has published, for context: they are of other "
        "items and of another date, and not directly comparable with a run of yours.",
    )
    reference.add_argument(
        "--panel", action="append", default=[], metavar="ID", help="only this panel, repeatable"
    )
    reference.add_argument(
        "--model", action="append", default=[], metavar="NAME", help="only this model, repeatable"
    )
    reference.add_argument("--json", action="store_true", help="print JSON, rates from 0 to 1")
    reference.set_defaults(run=_reference)


def _reference(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.published import published_document

    chosen = _chosen(parsed.panel, parsed.model)
    if parsed.json:
        document = {panel: published_document(models) for panel, models in chosen.items()}
        print_lines([json.dumps(document, indent=1)], sys.stdout)
        return 0
    print_lines(_opening(), sys.stdout)
    for panel, models in chosen.items():
        print_lines(["", f"{panel} ({models[0].table})"], sys.stdout)
        header = ("model", *models[0].rates, *_DERIVED, "asked on")
        print_table([header, *map(_row, models)], sys.stdout)
        print_lines(_remarks(models), sys.stdout)
    return 0


def _chosen(panels: Sequence[str], names: Sequence[str]) -> dict[str, list[PublishedModel]]:
    """What is asked for, by panel.

    Raises
    ------
    OptionError
        If nothing is published of a panel or model.
    """
    from wise_pytest.audit.published import published
    from wise_pytest.endpoints.registry import load_registry, resolve_models
    from wise_pytest.naming import explain_unknown

    by_panel = published().by_panel
    for panel in panels:
        if panel not in by_panel:
            raise OptionError(f"--panel: nothing is published: {explain_unknown('panel', panel, by_panel)}")
    registry = load_registry()
    models = {chosen.endpoint.name for chosen in resolve_models(names, registry)} if names else set(registry)
    found = {
        panel: [model for name, model in by_panel[panel].items() if name in models]
        for panel in (panels or by_panel)
    }
    found = {panel: models for panel, models in found.items() if models}
    if not found:
        raise OptionError(
            f"--model: nothing is published of {', '.join(names)} in {', '.join(panels or by_panel)}"
        )
    return found


def _opening() -> Iterator[str]:
    from wise_pytest.audit.published import DERIVED, published

    source = published().source
    yield f"Published rates in per cent, from: {source.title}"
    yield source.warning
    yield f"A rate is of {source.generations} generations; {source.decoding}."
    yield f"* {DERIVED}"


def _row(model: PublishedModel) -> tuple[str, ...]:
    derived = model.derived
    return (
        model.model,
        *(_percent(rate) for rate in model.rates.values()),
        _percent(derived.mean),
        f"{_percent(derived.worst)} ({derived.worst_form})",
        _percent(derived.best - derived.worst),
        model.accessed.isoformat(),
    )


def _remarks(models: Sequence[PublishedModel]) -> Iterator[str]:
    """What holds of all models that are shown, once, and then what holds of some, with their names."""
    shared = [remark for remark in models[0].remarks if all(remark in model.remarks for model in models)]
    yield from shared
    for model in models:
        yield from (f"{model.model}: {remark}" for remark in model.remarks if remark not in shared)


def _percent(rate: Fraction) -> str:
    return f"{float(rate * 100):.1f}"

"""Instructions for annotators to judge: blinded, in random order. Called by ``wise review``.

A sheet shows what was written and what the verifier demands, and no form's
name. The same seed gives the same codes, so the key can be made again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wise_pytest.panels.model import Panel


@dataclass(frozen=True, slots=True)
class SheetLine:
    """One instruction for one annotator."""

    annotator: str
    item: str
    """A code that shows nothing."""
    instruction: str
    requirement: str
    """What the verifier demands of an answer, in words."""
    target: int
    """The number of words asked for; 1 where the requirement is no number."""
    form: str
    """A code that stands for the form; the key says which."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is to be judged, and how to read it afterwards."""

    lines: tuple[SheetLine, ...]
    """Annotator by annotator, each in an order of its own."""
    key: dict[str, str]
    """From the code of a form to its name, sorted by code."""


def build_sheet(panels: Sequence[Panel], *, n_items: int, n_annotators: int, seed: int) -> Sheet:
    """Every different instruction of the first items of each panel, for each annotator.

    Parameters
    ----------
    panels
        At least one. With several, a form is named ``PANEL.FORM`` in the key.
    n_items
        Items of each panel to fill the wordings in for, from 1; a panel that has fewer gives all.
    n_annotators
        From 1; they are called A1, A2 and so on.
    seed
        Of all codes and orders.
    """
    found: dict[tuple[str, str], tuple[str, str, int]] = {}
    for panel in panels:
        for item in panel.items[:n_items]:
            target = panel.target(item)
            for form in panel.forms:
                name = f"{panel.panel_id}.{form.form_id}" if len(panels) > 1 else form.form_id
                instruction = panel.instruction(item, form)
                requirement = _requirement(panel, target)
                number = target if isinstance(target, int) else 1
                found.setdefault((name, instruction), (instruction, requirement, number))
    # random.Random takes a text as its seed in the same way on every platform.
    order = random.Random(f"{seed}:codes")  # noqa: S311 - an order, not a secret
    names = sorted({name for name, _ in found})
    order.shuffle(names)
    codes = {name: f"F{place:02}" for place, name in enumerate(names, start=1)}
    entries = sorted(found)
    order.shuffle(entries)
    width = len(str(len(entries)))
    lines: list[SheetLine] = []
    for annotator in (f"A{place}" for place in range(1, n_annotators + 1)):
        numbered = list(enumerate(entries, start=1))
        random.Random(f"{seed}:{annotator}").shuffle(numbered)  # noqa: S311
        for place, entry in numbered:
            instruction, requirement, number = found[entry]
            lines.append(
                SheetLine(annotator, f"R{place:0{width}}", instruction, requirement, number, codes[entry[0]])
            )
    return Sheet(tuple(lines), {code: name for name, code in sorted(codes.items(), key=lambda pair: pair[1])})


def _requirement(panel: Panel, target: object) -> str:
    """What an answer has to meet; of a verifier of the user's own only the panel's question can say it."""
    if panel.own_verifier is not None:
        return f"{panel.question.rstrip()} ({_named(target)})"
    return f"The answer {panel.scorer().requirement(target)}."


def _named(target: object) -> str:
    parts = target if isinstance(target, tuple) else (target,)
    return ", ".join(str(part) for part in parts)

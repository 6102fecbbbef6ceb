"""What a run would ask and cost, as a table for ``--wise-plan``. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.progress import money
from wise_pytest.report.text import display_width, pad, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = ("panel", "model", "cells", "to ask", "tokens in", "tokens out", "price", "at most", "tokens are")
_LEFT = frozenset({0, 1, 8})
"""Columns that hold words."""
_GAP = "  "


@dataclass(frozen=True, slots=True)
class PlannedCost:
    """What one model in one panel would ask."""

    panel: str
    model: str
    n_cells: int
    n_requests: int
    """Cells that are not replayed."""
    input_tokens: int
    output_tokens: int
    basis: str
    """What the tokens rest on."""
    usd: float | None
    """``None`` of a model without a price."""
    most_usd: float | None
    """Should every answer use all of its cap, and every byte of a prompt be a token."""
    n_stale: int = 0
    """Cells whose recording is of another request."""
    n_missing: int = 0
    """Cells without a recording."""


def plan_lines(
    costs: Sequence[PlannedCost], *, max_usd: float | None = None, mode: str = "once"
) -> list[str]:
    """The table, the sum below it where there is more than one line, and what is stale.

    Parameters
    ----------
    costs
        Of each panel and model.
    max_usd
        The budget; ``None`` for none.
    mode
        The record mode that the plan is of.
    """
    if not costs:
        return ["no cell is selected: nothing would be asked"]
    rows = [_HEADER, *map(_row, costs)]
    if len(costs) > 1:
        rows.append(_row(_sum(costs)))
    widths = [max(display_width(row[i]) for row in rows) for i in range(len(_HEADER))]
    lines = [
        _GAP.join(pad(cell, widths[i], right=i not in _LEFT) for i, cell in enumerate(row)).rstrip()
        for row in rows
    ]
    unpriced = sorted({cost.model for cost in costs if cost.usd is None and cost.n_requests})
    if unpriced:
        lines.append(f"without a known price: {', '.join(map(visible, unpriced))}")
    most = sum(cost.most_usd or 0.0 for cost in costs)
    if max_usd is not None and most > max_usd:
        lines.append(f"--wise-max-cost {money(max_usd)} may end the run before all is asked")
    lines += [*_nothing_asked(costs, mode), *_stale(costs, mode)]
    lines.append("nothing was asked: this is a plan")
    return lines


def _nothing_asked(costs: Sequence[PlannedCost], mode: str) -> list[str]:
    n_missing = sum(cost.n_missing for cost in costs)
    if mode != "none" or not n_missing:
        return []
    return [f"--record-mode=none asks nothing: {_cells(n_missing)} without a recording"]


def _stale(costs: Sequence[PlannedCost], mode: str) -> list[str]:
    """What becomes of recordings that are of another request, a line for each panel and model."""
    comes_of_it = (
        f"an error with --record-mode={mode}; new_episodes asks again"
        if mode in {"none", "once"}
        else f"asked again with --record-mode={mode}"
    )
    return [
        f"stale: {_cells(cost.n_stale)} of {visible(cost.panel)}, {visible(cost.model)}, of another "
        f"request: {comes_of_it}"
        for cost in costs
        if cost.n_stale
    ]


def _cells(n: int) -> str:
    return "1 cell" if n == 1 else f"{n:,} cells"


def _row(cost: PlannedCost) -> tuple[str, ...]:
    return (
        visible(cost.panel),
        visible(cost.model),
        f"{cost.n_cells:,}",
        f"{cost.n_requests:,}",
        f"{cost.input_tokens:,}",
        f"{cost.output_tokens:,}",
        "–" if cost.usd is None else money(cost.usd),
        "–" if cost.most_usd is None else money(cost.most_usd),
        cost.basis,
    )


def _sum(costs: Sequence[PlannedCost]) -> PlannedCost:
    likely = [cost.usd for cost in costs if cost.usd is not None]
    most = [cost.most_usd for cost in costs if cost.most_usd is not None]
    return PlannedCost(
        panel="all",
        model="",
        n_cells=sum(cost.n_cells for cost in costs),
        n_requests=sum(cost.n_requests for cost in costs),
        input_tokens=sum(cost.input_tokens for cost in costs),
        output_tokens=sum(cost.output_tokens for cost in costs),
        basis="",
        usd=sum(likely) if likely else None,
        most_usd=sum(most) if most else None,
    )

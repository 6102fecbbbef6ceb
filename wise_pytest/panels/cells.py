"""Plans a panel's generations for one model. Called by the session at collection.

All workers of a run plan for themselves and must come to the same cells in the
same order, so the plan depends on its arguments alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wise_pytest.errors import PanelError
from wise_pytest.naming import hyphenless_slug, slug
from wise_pytest.panels.selection import items_of_ids, select_forms
from wise_pytest.records import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wise_pytest.panels.model import Form, Item, Panel

_UPPER_CASE_ID = re.compile(r"[A-Z0-9_]{1,60}")


def plan_cells(
    panel: Panel,
    *,
    model: str,
    provider: str,
    forms: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    repetitions: int | None = None,
) -> Iterator[Cell]:
    """The cells of ``panel`` for one model, ordered by item, then form, then repetition.

    Parameters
    ----------
    panel
        What is asked.
    model, provider
        Whom, by the names that rows carry.
    forms, items
        Ids to keep, in any order; ``None`` keeps all, an empty sequence none.
    repetitions
        Generations of each prompt, from 1; ``None`` takes the panel's number.

    Raises
    ------
    PanelError
        If a form or item is unknown or ``repetitions`` is less than 1. Raised
        by this call, not when the first cell is taken.
    """
    n_repetitions = panel.repetitions if repetitions is None else repetitions
    if n_repetitions < 1:
        raise PanelError(f"panel {panel.panel_id}: expected repetitions from 1, not {n_repetitions}")
    return _cells(
        panel,
        model=model,
        provider=provider,
        forms=panel.forms if forms is None else select_forms(panel, forms),
        items=panel.items if items is None else items_of_ids(panel.items, items),
        n_repetitions=n_repetitions,
    )


def cell_id(cell: Cell) -> str:
    """A pytest id, ``panel-model-item-form-rN``, made of ``[a-z0-9._-]``; distinct cells have distinct ids.

    It is for people and ``-k``. Nothing reads it back: rows are keyed by the cell itself.
    """
    # Only the model's part may hold a hyphen, and it stands between parts that hold none,
    # so no two cells can come to the same id by a hyphen that moved from one part to the next.
    form = cell.form
    # Form ids are upper-case by rule. One that is not must not meet its upper-case twin.
    form = form.lower() if _UPPER_CASE_ID.fullmatch(form) else hyphenless_slug(f"{form}!")
    return "-".join(
        (
            hyphenless_slug(cell.panel),
            slug(cell.model),
            hyphenless_slug(cell.item),
            form,
            f"r{cell.repetition}",
        )
    )


def _cells(
    panel: Panel,
    *,
    model: str,
    provider: str,
    forms: Sequence[Form],
    items: Sequence[Item],
    n_repetitions: int,
) -> Iterator[Cell]:
    for item in items:
        target = panel.target(item)
        for form in forms:
            instruction = panel.instruction(item, form)
            prompt = panel.prompt(item, form)
            for repetition in range(1, n_repetitions + 1):
                yield Cell(
                    model=model,
                    provider=provider,
                    panel=panel.panel_id,
                    item=item.item_id,
                    form=form.form_id,
                    repetition=repetition,
                    target=target,
                    instruction=instruction,
                    prompt=prompt,
                    verifier=panel.verifier,
                )

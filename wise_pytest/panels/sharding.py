"""Splits the cells of one panel and model into equal parts. Called by the session.

Every machine plans all cells and takes its own part, so the parts depend on
the plan and on nothing else: not on the order of test files, other panels or
other models.
"""

from __future__ import annotations

from itertools import groupby
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wise_pytest.records import Cell


def take_shard(cells: Sequence[Cell], index: int, of: int) -> list[Cell]:
    """The cells of one shard, in their order.

    Cells go round the shards one by one, so that no two shards differ by more
    than one cell. Where an item has as many cells as there are shards, or a
    multiple, that alone would give each shard the same forms of every item;
    the round therefore begins one shard later once it has come full circle.

    Parameters
    ----------
    cells
        All of one panel and model, item after item.
    index
        Which shard, from 1.
    of
        How many there are.
    """
    per_item = max((sum(1 for _ in group) for _, group in groupby(cells, lambda cell: cell.item)), default=1)
    circle = lcm(per_item, of)
    return [cell for place, cell in enumerate(cells) if (place + place // circle) % of == index - 1]

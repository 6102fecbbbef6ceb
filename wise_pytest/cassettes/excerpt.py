"""A few recordings of a pack as a pack of their own, for the command ``wise cassettes excerpt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wise_pytest.cassettes.pack import write_pack
from wise_pytest.errors import CassetteError
from wise_pytest.panels.selection import select_items

if TYPE_CHECKING:
    from pathlib import Path

    from wise_pytest.cassettes.store import Pack
    from wise_pytest.panels.model import Panel


def excerpt_pack(pack: Pack, path: Path, panel: Panel, *, items: str, repetitions: int | None) -> int:
    """Copy recordings of ``pack`` to ``path``, line by line as they are; the number of recordings.

    Parameters
    ----------
    panel
        Whose items are meant.
    items
        A count or ids, as ``select_items`` reads them.
    repetitions
        The first so many, from 1; ``None`` for all.

    Raises
    ------
    PanelError
        If the panel has no such items.
    CassetteError
        If nothing is recorded of them, or the pack is not packed, or the file cannot be written.
    """
    if pack.sha256 is None or pack.parts:
        raise CassetteError(
            f"{pack.path}: a run has left recordings unpacked; wise cassettes prune --yes packs them"
        )
    wanted = {item.item_id for item in select_items(panel.items, items)}
    lines = {
        (item, form, repetition): line
        for (item, form, repetition), line in pack.lines()
        if item in wanted and (repetitions is None or repetition <= repetitions)
    }
    if not lines:
        raise CassetteError(f"{pack.path}: holds no recording of these items")
    write_pack(
        path,
        panel=pack.panel,
        model=pack.model,
        lines=lines,
        sessions=pack.sessions,
        part_of={"recordings": len(pack), "sha256": pack.sha256},
    )
    return len(lines)

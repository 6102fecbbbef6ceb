"""What a page shows beside the audit: the run's manifest, and the replies as they were recorded.

Called at the end of a run and by ``wise report``. Nothing here is needed for
an audit: what cannot be found or read is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.errors import CassetteError, RowsError
from wise_pytest.files import read_document
from wise_pytest.manifest import MANIFEST, MANIFEST_SCHEMA
from wise_pytest.report.writer import Generations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from wise_pytest.cassettes.store import Pack
    from wise_pytest.records import CellKey, Row


def generations_of(rows: Iterable[Row], *, folder: Path | None, cassettes: Path | None) -> Generations:
    """The rows with everything about them that is at hand.

    Parameters
    ----------
    folder
        The run's folder, if they are of one run.
    cassettes
        The folder of recordings, if there is one.
    """
    kept = list(rows)
    return Generations(
        rows=kept,
        manifest=None if folder is None else manifest_in(folder),
        replies={} if cassettes is None else recorded_replies(kept, cassettes),
    )


def manifest_in(folder: Path) -> Mapping[str, Any] | None:
    """The manifest in a run's folder; ``None`` where there is none that can be read."""
    try:
        return read_document(folder / MANIFEST, MANIFEST_SCHEMA, hint="")
    except RowsError:
        return None


def recorded_replies(rows: Iterable[Row], cassettes: Path) -> dict[CellKey, str]:
    """The body of each row's reply, from its recording.

    A recording counts as the row's own where both name the same time: one that
    was made again since is another reply. A body that is no UTF-8 has
    replacement characters.
    """
    if not cassettes.is_dir():
        return {}
    from wise_pytest.cassettes.store import CassetteStore

    store = CassetteStore(cassettes)
    packs: dict[tuple[str, str], Pack | None] = {}
    replies: dict[CellKey, str] = {}
    for row in rows:
        if row.recorded_at is None:
            continue
        pair = (row.panel, row.model)
        if pair not in packs:
            try:
                packs[pair] = store.pack(*pair)
            except CassetteError:
                packs[pair] = None
        pack = packs[pair]
        recording = None if pack is None else pack.get((row.item, row.form, row.repetition))
        if recording is not None and recording.recorded_at == row.recorded_at:
            replies[row.key] = recording.exchange.response_body.decode("utf-8", errors="replace")
    return replies

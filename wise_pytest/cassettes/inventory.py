"""What is recorded, beside what the panels plan; for the command that lists recordings.

A renamed form or a shortened manifest leaves recordings that no cell asks for
any more, and cells without one. Nothing here changes a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.cassettes.pack import RESTORE, read_identity
from wise_pytest.cassettes.store import PACK_SUFFIX, PART_SUFFIX, CassetteStore, pack_of
from wise_pytest.errors import CassetteError
from wise_pytest.panels.cells import plan_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from wise_pytest.cassettes.pack import RecordingKey
    from wise_pytest.cassettes.store import Pack
    from wise_pytest.panels.model import Panel


@dataclass(frozen=True, slots=True)
class PackInventory:
    """The recordings of one model in one panel, and how they fit the panel as it is now."""

    panel: str
    model: str
    path: Path
    """The pack; it does not exist yet where all recordings are still in parts."""
    recorded: tuple[RecordingKey, ...]
    """Sorted."""
    n_planned: int | None
    """Cells of the whole panel; ``None`` for a panel that is not known."""
    missing: tuple[RecordingKey, ...]
    """Planned and not recorded, sorted."""
    orphaned: tuple[RecordingKey, ...]
    """Recorded and not planned, sorted; of an unknown panel all."""
    sessions: tuple[Mapping[str, Any], ...]
    """How the recordings were made."""
    parts: tuple[Path, ...]
    """Files of runs that have not packed their recordings."""
    cut_parts: tuple[Path, ...]
    """Parts that a killed run left with a cut last line; that one recording is lost."""
    sha256: str | None = None
    """The digest of the pack's file; ``None`` where there is none, or parts lie over it."""

    @property
    def n_recorded(self) -> int:
        """Cells that are recorded."""
        return len(self.recorded)


def take_inventory(
    root: Path, panels: Mapping[str, Panel], *, repetitions: int | None = None
) -> tuple[PackInventory, ...]:
    """Every pack below ``root``, with its parts laid over it, sorted by panel and model.

    Parameters
    ----------
    root
        The folder of cassettes; one that does not exist holds none.
    panels
        The panels that exist, by id.
    repetitions
        Generations of each prompt that are planned, from 1; ``None`` takes each
        panel's number. Recordings of a later repetition count as orphaned.

    Raises
    ------
    CassetteError
        If a pack or part is damaged, or lies where nothing would ever look for it.
    PanelError
        If ``repetitions`` is less than 1.
    """
    store = CassetteStore(root)
    found = (pack_identity(path, store) for path in sorted(root.glob(f"*/*{PACK_SUFFIX}")))
    # A pack and its parts are one entry.
    identities = {identity for identity in found if identity is not None}
    return tuple(
        inventory_of(store.pack(panel, model), panels.get(panel), repetitions)
        for panel, model in sorted(identities)
    )


def unplayed(
    recorded_keys: Iterable[RecordingKey], played_keys: Iterable[RecordingKey]
) -> tuple[RecordingKey, ...]:
    """Recordings of one pack that a run has not used, sorted."""
    return tuple(sorted(set(recorded_keys) - set(played_keys)))


def pack_identity(path: Path, store: CassetteStore) -> tuple[str, str] | None:
    """The panel and model of a file of recordings; ``None`` for a part that was cut in its first line.

    Raises
    ------
    CassetteError
        If the file is no pack or part, or lies where nothing would ever look for it.
    """
    is_part = path.name.endswith(PART_SUFFIX)
    identity = read_identity(path)
    if identity is None:
        if is_part:
            return None
        raise CassetteError(f"{path}: is empty or cut in its first line; {RESTORE}")
    panel, model = identity
    place = store.path(panel, model)
    if place != (pack_of(path) if is_part else path):
        raise CassetteError(
            f"{path}: holds recordings of {model!r} in {panel!r}, and those are only looked for in {place}; "
            "move the file there, or delete it"
        )
    return identity


def inventory_of(pack: Pack, panel: Panel | None, repetitions: int | None) -> PackInventory:
    """What one pack holds, beside what its panel plans; ``None`` for a panel that is not known."""
    recorded = set(pack.keys())
    planned: set[RecordingKey] = set()
    if panel is not None:
        # The provider has no part in a cell's identity.
        cells = plan_cells(panel, model=pack.model, provider="", repetitions=repetitions)
        planned = {(cell.item, cell.form, cell.repetition) for cell in cells}
    return PackInventory(
        panel=pack.panel,
        model=pack.model,
        path=pack.path,
        recorded=tuple(sorted(recorded)),
        n_planned=None if panel is None else len(planned),
        missing=tuple(sorted(planned - recorded)),
        orphaned=tuple(sorted(recorded - planned)),
        sessions=pack.sessions,
        parts=pack.parts,
        cut_parts=pack.cut_parts,
        sha256=pack.sha256,
    )

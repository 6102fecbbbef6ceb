"""What is wrong with the recordings of a folder, and what of them could go; for ``wise cassettes``.

Every file is looked at by itself, so that one that is damaged does not hide what
is wrong with the others. Nothing here changes a file but ``prune``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wise_pytest.cassettes.inventory import inventory_of, pack_identity
from wise_pytest.cassettes.leaks import find_leaks
from wise_pytest.cassettes.pack import write_pack
from wise_pytest.cassettes.stale import explain_difference, is_stale
from wise_pytest.cassettes.store import PACK_SUFFIX, CassetteStore
from wise_pytest.endpoints.model import Endpoint
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.errors import CassetteError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from wise_pytest.cassettes.inventory import PackInventory
    from wise_pytest.cassettes.pack import Recording, RecordingKey
    from wise_pytest.cassettes.store import Pack
    from wise_pytest.panels.model import Panel


@dataclass(frozen=True, slots=True)
class CheckedPack:
    """The recordings of one model in one panel, and what is wrong with them."""

    inventory: PackInventory
    stale: Mapping[RecordingKey, str]
    """Recordings of cells whose request has changed since, with the difference."""
    leaks: Mapping[RecordingKey, tuple[str, ...]]
    """Recordings that hold something secret, and what kind of thing."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A folder of recordings."""

    packs: tuple[CheckedPack, ...]
    """Those that can be read, by panel and model."""
    damaged: tuple[str, ...]
    """What is wrong with the files that cannot."""


def check_folder(
    root: Path,
    panels: Mapping[str, Panel],
    endpoint_of: Callable[[str], Endpoint | None],
    *,
    keys: Collection[str] = (),
    repetitions: int | None = None,
) -> Checked:
    """Look at every recording below ``root``.

    Parameters
    ----------
    panels
        The panels that exist, by id.
    endpoint_of
        The endpoint that a model would be asked at now; ``None`` for a model that
        is not known by name, whose recordings are held against their own address.
    keys
        Keys in use, to be looked for.
    repetitions
        Generations of each prompt that are planned; ``None`` takes each panel's number.
    """
    store = CassetteStore(root)
    damaged: list[str] = []
    identities: set[tuple[str, str]] = set()
    for path in sorted(root.glob(f"*/*{PACK_SUFFIX}")):
        try:
            identity = pack_identity(path, store)
        except CassetteError as error:
            damaged.append(str(error))
            continue
        if identity is not None:
            identities.add(identity)
    packs: list[CheckedPack] = []
    for panel_id, model in sorted(identities):
        try:
            pack = store.pack(panel_id, model)
            inventory = inventory_of(pack, panels.get(panel_id), repetitions)
            packs.append(_checked(pack, inventory, panels.get(panel_id), endpoint_of(model), keys))
        except CassetteError as error:
            damaged.append(str(error))
    return Checked(tuple(packs), tuple(dict.fromkeys(damaged)))


def prune(root: Path, unwanted: Mapping[tuple[str, str], Collection[RecordingKey]]) -> None:
    """Take recordings out of their packs; a pack without any is deleted.

    The caller holds the folder's lock, and all parts are packed.

    Parameters
    ----------
    unwanted
        Recordings by (panel, model).

    Raises
    ------
    CassetteError
        If a pack cannot be read or written; what was written before stays so.
    """
    store = CassetteStore(root)
    for (panel, model), keys in unwanted.items():
        pack = store.pack(panel, model)
        kept = {key: line for key, line in pack.lines() if key not in keys}
        if kept:
            write_pack(pack.path, panel=panel, model=model, lines=kept, sessions=pack.sessions)
        else:
            pack.path.unlink()


def _checked(
    pack: Pack,
    inventory: PackInventory,
    panel: Panel | None,
    endpoint: Endpoint | None,
    keys: Collection[str],
) -> CheckedPack:
    stale: dict[RecordingKey, str] = {}
    leaks: dict[RecordingKey, tuple[str, ...]] = {}
    orphaned = set(inventory.orphaned)
    sessions = {str(session["id"]): session for session in pack.sessions}
    for key in inventory.recorded:
        recording = pack.get(key)
        if recording is None:
            continue
        found = tuple(find_leaks(recording, keys))
        if found:
            leaks[key] = found
        if panel is not None and key not in orphaned:
            at = endpoint or _endpoint_of(pack.model, recording, sessions.get(recording.session, {}))
            difference = None if at is None else _difference(recording, panel, at)
            if difference is not None:
                stale[key] = difference
    return CheckedPack(inventory, stale, leaks)


def _difference(recording: Recording, panel: Panel, endpoint: Endpoint) -> str | None:
    """What the request for a cell would differ in now; ``None`` where it is the recorded one."""
    item = next(item for item in panel.items if item.item_id == recording.item)
    form = next(form for form in panel.forms if form.form_id == recording.form)
    protocol = PROTOCOLS[endpoint.protocol]
    request = protocol.build_request(panel.prompt(item, form), endpoint, panel.decoding, None)
    if not is_stale(recording.exchange, request):
        return None
    return explain_difference(recording.exchange, method=request.method, url=request.url, body=request.body)


def _endpoint_of(model: str, recording: Recording, session: Mapping[str, Any]) -> Endpoint | None:
    """The endpoint that a recording says it was made at; ``None`` where it does not say."""
    try:
        decoding = dict(session["decoding"])
        decoding.pop("max_tokens")
        temperature = decoding.pop("temperature")
        protocol = str(session["protocol"])
        if protocol not in PROTOCOLS:
            return None
        endpoint = Endpoint(
            name=model,
            provider=str(session["provider"]),
            protocol=protocol,
            api_model=str(session["api_model"]),
            base_url=str(session["base_url"]),
            temperature=temperature is not None,
            extra=decoding,
        )
    except (KeyError, TypeError, ValueError):
        return None
    # The header does not name the field of the cap; the body has it.
    if b'"max_completion_tokens":' in recording.exchange.request_body:
        return dataclasses.replace(endpoint, cap_field="max_completion_tokens")
    return endpoint

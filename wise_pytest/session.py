"""What a process that runs tests knows: which cells there are, and what running one takes.

Every process of a session has one ``Session``, xdist's workers included. The
hooks in ``running`` call it and hold no logic of their own.
"""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from wise_pytest import __version__
from wise_pytest.errors import ModelError, OptionError
from wise_pytest.manifest import utc_now
from wise_pytest.records import error_row
from wise_pytest.xdist import Plan, PlannedPanel, RunIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wise_pytest.asking import CellRun
    from wise_pytest.cassettes.store import CassetteStore
    from wise_pytest.cassettes.vcr import CellPersister
    from wise_pytest.endpoints.model import Endpoint
    from wise_pytest.endpoints.secret import Secret
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Cell, CellKey, Generation, Row
    from wise_pytest.settings import Settings
    from wise_pytest.transport.client import Client


def new_run_id() -> str:
    """A name for a run that sorts by time and that no two runs share."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def start_run(settings: Settings, *, live: bool) -> RunIdentity:
    """Name a new run; if it is to record, ask local servers what they are.

    Parameters
    ----------
    live
        Whether tests will run; a session that only collects asks nobody.

    Raises
    ------
    ModelError
        If a server serves other models than a bundled one that is to be recorded.
    """
    servers: dict[str, Any] = {}
    if live and settings.records:
        from wise_pytest.transport.introspect import describe_servers

        servers = describe_servers([selected.endpoint for selected in settings.models])
    return RunIdentity(run=new_run_id(), started_at=utc_now(), servers=servers)


class Session:
    """One process's part in a run: which cells there are, and what running one takes."""

    def __init__(self, settings: Settings, identity: RunIdentity, *, writer: str) -> None:
        self.settings = settings
        self.identity = identity
        self.plan = Plan()
        self._writer = writer
        self._endpoints: dict[str, Endpoint] = {
            selected.endpoint.name: selected.endpoint for selected in settings.models
        }
        self._keys: dict[str, Secret | None] = {}
        self._store: CassetteStore | None = None
        self._client: Client | None = None

    @property
    def store(self) -> CassetteStore:
        """The recordings, opened when they are first needed."""
        if self._store is None:
            from wise_pytest.cassettes.store import CassetteStore

            self._store = CassetteStore(self.settings.cassettes)
        return self._store

    def panel(self, panel_id: str) -> Panel:
        """The panel of that id.

        Raises
        ------
        PanelError
            If there is none.
        """
        return self.settings.catalog.panel(panel_id)

    def check_recordings(self) -> None:
        """Read every pack that this session may replay, so that damage is said before anything runs.

        Raises
        ------
        CassetteError
            For the first damaged one.
        """
        for panel_id in self.settings.panels or self.settings.catalog:
            for name in self._endpoints:
                self.store.pack(panel_id, name)

    def plan_panel(self, panel_id: str) -> list[tuple[str, list[Cell]]]:
        """The cells of a panel by model, in the session's order; a model without recordings has none.

        Raises
        ------
        PanelError
            If the panel, or an item that was asked for, does not exist.
        """
        panel = self.panel(panel_id)
        settings = self.settings
        if settings.panels is not None and panel_id not in settings.panels:
            return []
        from wise_pytest.panels.cells import plan_cells
        from wise_pytest.panels.loader import manifest_digest
        from wise_pytest.panels.selection import select_items

        forms = None
        if settings.forms is not None:
            forms = [form.form_id for form in panel.forms if form.form_id in settings.forms]
        items = None
        if settings.items is not None:
            items = [item.item_id for item in select_items(panel.items, settings.items)]
        planned: list[tuple[str, list[Cell]]] = []
        for name, endpoint in self._endpoints.items():
            if settings.replays_only and not len(self.store.pack(panel_id, name)):
                if (panel_id, name) not in self.plan.not_recorded:
                    self.plan.not_recorded.append((panel_id, name))
                planned.append((name, []))
                continue
            cells = list(
                plan_cells(
                    panel,
                    model=name,
                    provider=endpoint.provider,
                    forms=forms,
                    items=items,
                    repetitions=settings.repetitions,
                )
            )
            if cells:
                self.plan.planned[panel_id, name] = len(cells)
                self.plan.panels[panel_id] = PlannedPanel(
                    digest=manifest_digest(panel),
                    forms=tuple(dict.fromkeys(cell.form for cell in cells)),
                    items=tuple(dict.fromkeys(cell.item for cell in cells)),
                    repetitions=max(cell.repetition for cell in cells),
                )
                planned.append((name, cells))
        return planned

    def note_selected(self, cells: Iterable[Cell], *, live: bool) -> None:
        """Count what is left to run, and refuse a cell that two tests share.

        Parameters
        ----------
        live
            Whether these cells will run; a session that only collects calls nobody.

        Raises
        ------
        OptionError
            If two tests would ask the same model for the same cell.
        ModelError
            If a model would have to be called and its key is missing.
        PanelError
            If panels of several languages would come into one audit.
        """
        from wise_pytest.panels.catalog import check_one_language

        check_one_language(self.panel(panel_id) for panel_id in self.plan.panels)
        cells = list(cells)
        seen: set[CellKey] = set()
        self.plan.selected.clear()
        for cell in cells:
            if cell.key in seen:
                raise OptionError(
                    f"two tests ask for the same cells ({cell.panel}, {cell.model}); a cell is asked once: "
                    "collect one test a panel, without further parameters"
                )
            seen.add(cell.key)
            pair = (cell.panel, cell.model)
            self.plan.selected[pair] = self.plan.selected.get(pair, 0) + 1
        if live:
            self._need_keys(cells)

    def persister(self, cell: Cell) -> CellPersister | None:
        """What VCR.py loads this cell from and saves it to; ``None`` with ``--disable-recording``."""
        if self.settings.disable_recording:
            return None
        from wise_pytest.cassettes.vcr import CellPersister

        pack = self.store.pack(cell.panel, cell.model)
        return CellPersister(
            pack,
            (cell.item, cell.form, cell.repetition),
            rewrite=self.settings.record_mode == "rewrite",
        )

    def cell_run(
        self, cell: Cell, persister: CellPersister | None, *, answered: Generation | None = None
    ) -> CellRun:
        """What the test of a cell is given.

        Parameters
        ----------
        answered
            The answer that an earlier try of the test has had. It stays the
            answer: another try must not turn a miss into a pass, nor pay twice.
        """
        from wise_pytest.asking import CellRun

        endpoint = self._endpoints[cell.model]
        panel = self.panel(cell.panel)
        return CellRun(
            cell,
            run=self.identity.run,
            endpoint=endpoint,
            decoding=panel.decoding,
            key=self._key(endpoint),
            client=self._open_client(),
            persister=persister,
            verifier=panel.scorer(),
            describe_recording=lambda: self._recording_session(endpoint, panel),
            writer=self._writer,
            strict=self.settings.strict,
            answered=answered,
        )

    def failed_row(self, cell: Cell, reason: str) -> Row:
        """The row of a cell whose test ended without an answer."""
        return error_row(cell, reason, run=self.identity.run)

    def close(self) -> None:
        """Close connections and recordings."""
        if self._client is not None:
            self._client.close()
        if self._store is not None:
            self._store.close()

    def _open_client(self) -> Client:
        if self._client is None:
            from wise_pytest.transport.client import Client

            self._client = Client(needs_cassette=not self.settings.disable_recording)
        return self._client

    def _key(self, endpoint: Endpoint) -> Secret | None:
        """The endpoint's key, ``None`` if it cannot be used; a session that only replays looks for none."""
        if self.settings.replays_only or not endpoint.key_env:
            return None
        if endpoint.name not in self._keys:
            from wise_pytest.endpoints.registry import find_key

            try:
                self._keys[endpoint.name] = find_key(endpoint, os.environ)
            except ModelError:
                self._keys[endpoint.name] = None  # what is wrong with it is said before a call would need it
        return self._keys[endpoint.name]

    def _need_keys(self, cells: Iterable[Cell]) -> None:
        """Refuse to start a run that would fail at its first live call for want of a key."""
        if self.settings.replays_only:
            return
        from wise_pytest.endpoints.registry import require_key

        wanting = {
            name for name, endpoint in self._endpoints.items() if endpoint.key_env and not self._key(endpoint)
        }
        for cell in cells:
            if cell.model in wanting and self._would_call(cell):
                require_key(self._endpoints[cell.model], os.environ)

    def _would_call(self, cell: Cell) -> bool:
        """Whether this cell cannot be answered by a recording."""
        settings = self.settings
        if settings.disable_recording or settings.record_mode not in {"once", "new_episodes"}:
            return True
        recording = self.store.pack(cell.panel, cell.model).get((cell.item, cell.form, cell.repetition))
        if recording is None:
            return True
        if settings.record_mode == "once":
            return False
        from wise_pytest.cassettes.stale import explain_difference
        from wise_pytest.endpoints.protocols import PROTOCOLS

        endpoint = self._endpoints[cell.model]
        protocol = PROTOCOLS[endpoint.protocol]
        request = protocol.build_request(cell.prompt, endpoint, self.panel(cell.panel).decoding, None)
        return bool(
            explain_difference(recording.exchange, method=request.method, url=request.url, body=request.body)
        )

    def _recording_session(self, endpoint: Endpoint, panel: Panel) -> Mapping[str, Any]:
        """How recordings of this run are made; kept once in the header of each pack."""
        return {
            "id": self.identity.run,
            "started_at": self.identity.started_at,
            "software": {"wise-pytest": __version__, "vcrpy": version("vcrpy"), "httpx": version("httpx")},
            "provider": endpoint.provider,
            "protocol": endpoint.protocol,
            "api_model": endpoint.api_model,
            "base_url": endpoint.base_url,
            "decoding": {
                "max_tokens": panel.decoding.max_tokens,
                "temperature": panel.decoding.temperature if endpoint.temperature else None,
                **endpoint.extra,
            },
            "server": self.identity.servers.get(endpoint.name),
            "notes": dict(self.settings.notes),
        }

"""What a process that runs tests knows: which cells there are, and what running one takes.

Every process of a session has one ``Session``, xdist's workers included. The
hooks in ``running`` call it and hold no logic of their own.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import threading
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wise_pytest import __version__
from wise_pytest.errors import ModelError, OptionError
from wise_pytest.manifest import utc_now
from wise_pytest.options import DEFAULT_CONCURRENCY
from wise_pytest.records import error_row
from wise_pytest.workers import count_deaths, count_present, is_stopped, note_left, note_present, note_stop
from wise_pytest.xdist import Plan, PlannedPanel, RunIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from wise_pytest.ahead import Ahead
    from wise_pytest.asking import CellRun
    from wise_pytest.calling import CellCall, Target
    from wise_pytest.cassettes.store import CassetteStore
    from wise_pytest.cassettes.vcr import CellPersister
    from wise_pytest.endpoints.model import Endpoint
    from wise_pytest.endpoints.secret import Secret
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Cell, CellKey, Generation, Row
    from wise_pytest.report.plan import PlannedCost
    from wise_pytest.report.progress import ModelSpent
    from wise_pytest.settings import Settings
    from wise_pytest.transport.call import Limits
    from wise_pytest.transport.client import Client
    from wise_pytest.transport.ledger import Ledger


POLL_S = 0.02
"""How often to look whether workers have come to their end."""


def new_run_id() -> str:
    """A name for a run that sorts by time and that no two runs share."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def start_run(
    settings: Settings, *, live: bool, steals: bool = False, books: Path | None = None
) -> RunIdentity:
    """Name a new run; if it is to record, ask local servers what they are.

    Parameters
    ----------
    live
        Whether tests will run; a session that only collects asks nobody.
    steals
        Whether xdist may take tests back from a worker.
    books
        A folder for the books, where there will be several processes.

    Raises
    ------
    ModelError
        If a server serves other models than a bundled one that is to be recorded.
    """
    servers: dict[str, Any] = {}
    if live and settings.records:
        from wise_pytest.transport.introspect import describe_servers

        servers = describe_servers([selected.endpoint for selected in settings.models])
    return RunIdentity(
        run=new_run_id(),
        started_at=utc_now(),
        servers=servers,
        steals=steals,
        books=None if books is None else str(books),
    )


def open_books(settings: Settings, identity: RunIdentity, *, owner: str) -> Ledger:
    """The books of a run: a file where several processes share them."""
    from wise_pytest.transport.ledger import NANO, Ledger, SharedLedger

    budget = None if settings.max_cost_usd is None else round(settings.max_cost_usd * NANO)
    if identity.books is None:
        return Ledger(max_nano_usd=budget, owner=owner)
    return SharedLedger(Path(identity.books), max_nano_usd=budget, owner=owner)


class Session:
    """One process's part in a run: which cells there are, and what running one takes."""

    def __init__(
        self,
        settings: Settings,
        identity: RunIdentity,
        *,
        writer: str,
        place: tuple[int, int] = (0, 1),
        has_controller: bool = False,
    ) -> None:
        self.settings = settings
        self.identity = identity
        self.plan = Plan()
        self._writer = writer
        self._place = place
        self._endpoints: dict[str, Endpoint] = {
            selected.endpoint.name: selected.endpoint for selected in settings.models
        }
        self._keys: dict[str, Secret | None] = {}
        self._store: CassetteStore | None = None
        self._client: Client | None = None
        self._targets: dict[tuple[str, str], Target] = {}
        self._ledger: Ledger | None = None
        self._n_deaths = 0
        self._learning = threading.Lock()
        # A worker that has lost its controller asks nothing more. Whoever has started the other
        # processes may well be gone, as after "nohup pytest &" and the end of the shell.
        self._controller = os.getppid() if has_controller else None
        if has_controller and identity.books is not None:
            note_present(identity.books, writer)

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
        from wise_pytest.panels.sharding import take_shard

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
            own = (
                cells
                if settings.shard is None
                else take_shard(cells, settings.shard.index, settings.shard.of)
            )
            if cells:
                self.plan.planned[panel_id, name] = len(own)
                self.plan.panels[panel_id] = PlannedPanel(
                    digest=manifest_digest(panel),
                    forms=tuple(dict.fromkeys(cell.form for cell in cells)),
                    items=tuple(dict.fromkeys(cell.item for cell in cells)),
                    repetitions=max(cell.repetition for cell in cells),
                    decoding=dataclasses.asdict(panel.decoding),
                )
            if own:
                planned.append((name, own))
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

        self.learn_of_deaths()
        pack = self.store.pack(cell.panel, cell.model)
        # What was recorded ahead of this very test is not replayed to it: it takes its own reply.
        is_new = self._client is not None and self._client.holds(cell.key)
        return CellPersister(
            pack,
            (cell.item, cell.form, cell.repetition),
            rewrite=is_new or self.settings.record_mode == "rewrite",
        )

    def cell_run(
        self,
        cell: Cell,
        persister: CellPersister | None,
        *,
        on_live: Callable[[], None],
        answered: Generation | None = None,
    ) -> CellRun:
        """What the test of a cell is given.

        Parameters
        ----------
        on_live
            Called when the endpoint is really asked.
        answered
            The answer that an earlier try of the test has had. It stays the
            answer: another try must not turn a miss into a pass, nor pay twice.
        """
        from wise_pytest.asking import CellRun

        return CellRun(
            cell,
            run=self.identity.run,
            call=self.call(cell),
            client=self.client,
            persister=persister,
            verifier=self.panel(cell.panel).scorer(),
            strict=self.settings.strict,
            on_live=on_live,
            answered=answered,
        )

    def look_ahead(self, cell_of: Callable[[Any], Cell | None], *, ends_early: bool) -> Ahead:
        """What asks cells ahead of their tests.

        Parameters
        ----------
        cell_of
            The cell of a test.
        ends_early
            Whether the session may end at any test, so that little is to be asked ahead.
        """
        from wise_pytest.ahead import Ahead

        return Ahead(
            lambda cells: self.client.expect(map(self.call, cells)),
            cell_of,
            width=(self.settings.concurrency or DEFAULT_CONCURRENCY) if ends_early else None,
            has_replied=lambda: self.client.has_replied,
        )

    def call(self, cell: Cell) -> CellCall:
        """What the transport is given of a cell."""
        from wise_pytest.calling import CellCall

        pair = (cell.panel, cell.model)
        if pair not in self._targets:
            self._targets[pair] = self._target(self.panel(cell.panel), self._endpoints[cell.model])
        return CellCall(cell, self._targets[pair])

    def _target(self, panel: Panel, endpoint: Endpoint) -> Target:
        from wise_pytest.calling import Target

        settings = self.settings
        key = self._key(endpoint)
        recorded = not settings.disable_recording
        return Target(
            endpoint=endpoint,
            decoding=panel.decoding,
            key=lambda: key,
            pack=self.store.pack(panel.panel_id, endpoint.name) if recorded else None,
            record_mode=settings.record_mode,
            session=self._recording_session(endpoint, panel),
            writer=self._writer,
            lane=f"{endpoint.provider} {urlsplit(endpoint.base_url).netloc}",
            limits=self._limits(endpoint),
        )

    def _limits(self, endpoint: Endpoint) -> Limits:
        """The share of this process in what the endpoint is asked at a time."""
        from wise_pytest.transport.call import Limits

        settings = self.settings
        # A local server that does not say how much it does at a time is asked for one thing.
        slots = self.identity.servers.get(endpoint.name, {}).get("slots", 1)
        default = slots if endpoint.local else DEFAULT_CONCURRENCY
        total = settings.concurrency or endpoint.concurrency or default
        number, count = self._place
        share = total // count + (number < total % count)
        rates = settings.requests_per_minute
        return Limits(
            concurrency=max(1, share),
            requests_per_minute=rates.get(endpoint.provider, rates.get("", endpoint.requests_per_minute)),
            tokens_per_minute=endpoint.tokens_per_minute,
            shared_concurrency=total if total < count else None,
        )

    def learn_of_deaths(self) -> None:
        """Take over what a worker had recorded that has died: its tests may have come to this one."""
        if not self._has_news():
            return
        with self._learning:
            n_deaths = self._count_deaths()
            if n_deaths != self._n_deaths:
                self.store.reread()
                self._n_deaths = n_deaths  # only now: until then nobody may take what is known for all

    def _has_news(self) -> bool:
        """Whether a worker has died whose recordings are not all known here."""
        return self._count_deaths() != self._n_deaths

    def _count_deaths(self) -> int:
        return 0 if self.identity.books is None else count_deaths(self.identity.books)

    def _is_alive(self) -> bool:
        """Whether the run goes on."""
        if self.identity.books is not None and is_stopped(self.identity.books):
            return False
        return self._controller is None or os.getppid() == self._controller

    def stop(self) -> None:
        """Have nothing more asked, by any process of the run."""
        if self.identity.books is not None:
            note_stop(self.identity.books)
        if self._client is not None:
            self._client.stop()

    @property
    def is_stopped(self) -> bool:
        """Whether any process of the run has stopped it."""
        return self.identity.books is not None and is_stopped(self.identity.books)

    def failed_row(self, cell: Cell, reason: str) -> Row:
        """The row of a cell whose test ended without an answer."""
        return error_row(cell, reason, run=self.identity.run)

    def close(self, *, grace_s: float = 0.0) -> None:
        """Close connections and recordings; replies that are under way may arrive within a grace time."""
        try:
            if self._client is not None:
                self._client.close(grace_s=grace_s)
        finally:
            if self._store is not None:
                self._store.close()
            if self._ledger is not None:
                self._ledger.close()
            if self._controller is not None and self.identity.books is not None:
                note_left(self.identity.books, self._writer)

    @property
    def n_in_flight(self) -> int:
        """Requests under way."""
        return 0 if self._client is None else self._client.n_in_flight

    @property
    def n_workers(self) -> int:
        """Workers that may have calls under way, as the process that the user started sees it."""
        return 0 if self.identity.books is None else count_present(self.identity.books)

    def wait_for_workers(self, seconds: float) -> None:
        """Stop all workers, and wait until none has a call under way, so that all are in the books."""
        self.stop()
        deadline = time.monotonic() + seconds
        while self.n_workers and time.monotonic() < deadline:
            time.sleep(POLL_S)

    def planned_costs(self, cells: Iterable[Cell]) -> list[PlannedCost]:
        """What these cells would ask and cost."""
        from wise_pytest.planning import plan_costs

        return plan_costs(map(self.call, cells), self.store, self.panel)

    def spent(self) -> list[ModelSpent]:
        """What the calls of all processes have cost so far, by model."""
        from wise_pytest.report.progress import ModelSpent

        if not self.settings.is_live:
            return []
        return [
            ModelSpent(
                model=model,
                n_calls=spent.calls,
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
                usd=None if self._endpoints[model].price is None else spent.usd,
                n_inexact=spent.inexact,
            )
            for model, spent in self.ledger.spent().items()
        ]

    def spent_usd(self) -> float | None:
        """What was spent so far; ``None`` where nothing has a price."""
        amounts = [spent.usd for spent in self.spent() if spent.usd is not None]
        return sum(amounts) if amounts else None

    @property
    def client(self) -> Client:
        """The way to the endpoints, opened when it is first needed."""
        if self._client is None:
            from wise_pytest.transport.client import Client

            self._client = Client(
                needs_cassette=not self.settings.disable_recording,
                ledger=self.ledger,
                alive=self._is_alive,
                has_news=self._has_news,
                learn=self.learn_of_deaths,
            )
        return self._client

    @property
    def ledger(self) -> Ledger:
        """The run's books, opened when they are first needed."""
        if self._ledger is None:
            self._ledger = open_books(self.settings, self.identity, owner=self._writer)
        return self._ledger

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
        if not self.settings.is_live:
            return
        from wise_pytest.endpoints.registry import require_key

        wanting = {
            name for name, endpoint in self._endpoints.items() if endpoint.key_env and not self._key(endpoint)
        }
        for cell in cells:
            if cell.model in wanting and self.call(cell).wanted():
                require_key(self._endpoints[cell.model], os.environ)

    def _recording_session(self, endpoint: Endpoint, panel: Panel) -> Mapping[str, Any]:
        """How recordings of this run are made; kept once in the header of each pack."""
        return {
            "id": self.identity.run,
            "started_at": self.identity.started_at,
            "software": {
                "wise-pytest": __version__,
                **{name: version(name) for name in ("vcrpy", "h11", "httpx")},
            },
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

"""What one process of a pytest session knows and collects.

Every process has a ``Session``: it plans cells and runs them. The process that
the user started also has a ``Collector``: it keeps the journal of rows and,
when the session ends, audits them, judges the gate and writes the reports.
The hooks in ``plugin`` call these and hold no logic of their own.
"""

from __future__ import annotations

import platform
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from wise_pytest import __version__
from wise_pytest.errors import OptionError, ReportError
from wise_pytest.records import Generation, build_row
from wise_pytest.xdist import Plan, RunIdentity, decode_row

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

    from wise_pytest.asking import CellRun
    from wise_pytest.cassettes.store import CassetteStore
    from wise_pytest.cassettes.vcr import CellPersister
    from wise_pytest.endpoints.model import Endpoint
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Cell, CellKey, Row
    from wise_pytest.report.terminal import Line
    from wise_pytest.settings import Settings
    from wise_pytest.transport.client import Client

JOURNAL = "generations.jsonl"
MANIFEST = "manifest.json"
MANIFEST_SCHEMA = "wise.manifest/1"
LATEST = "latest"


def new_run_id() -> str:
    """A name for a run that sorts by time and that no two runs share."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def utc_now() -> str:
    """The time, ISO 8601 in UTC, to the second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def start_run(settings: Settings) -> RunIdentity:
    """Name a new run; before recording, ask local servers what they are.

    Raises
    ------
    ModelError
        If a server serves other models than a bundled one that is to be recorded.
    """
    servers: dict[str, Any] = {}
    if settings.records:
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
        self._panels: dict[str, Panel] = {}
        self._keys: dict[str, str | None] = {}
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
        panel = self._panels.get(panel_id)
        if panel is None:
            from wise_pytest.panels.loader import bundled_panel

            panel = self._panels[panel_id] = bundled_panel(panel_id)
        return panel

    def check_recordings(self) -> None:
        """Read every pack that this session may replay, so that damage is said before anything runs.

        Raises
        ------
        CassetteError
            For the first damaged one.
        """
        from wise_pytest.panels.loader import PANEL_IDS

        for panel_id in self.settings.panels or PANEL_IDS:
            for name in self._endpoints:
                self.store.pack(panel_id, name)

    def plan_panel(self, panel_id: str) -> list[tuple[str, list[Cell]]]:
        """The cells of a panel by model, in the session's order; a model without recordings has none.

        Raises
        ------
        PanelError
            If the panel, or an item that was asked for, does not exist.
        ModelError
            If a model would have to be called and its key is missing.
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
            self._need_key(endpoint, panel_id, cells)
            if cells:
                self.plan.planned[panel_id, name] = len(cells)
                self.plan.panels[panel_id] = manifest_digest(panel)
                planned.append((name, cells))
        return planned

    def note_selected(self, cells: Iterator[Cell]) -> None:
        """Count what is left to run, and refuse a cell that two tests share.

        Raises
        ------
        OptionError
            If two tests would ask the same model for the same cell.
        """
        seen: set[CellKey] = set()
        self.plan.selected.clear()
        for cell in cells:
            if cell.key in seen:
                raise OptionError(
                    f"two tests run the panel {cell.panel!r} on {cell.model!r}; a cell is asked once: "
                    "collect one of them"
                )
            seen.add(cell.key)
            pair = (cell.panel, cell.model)
            self.plan.selected[pair] = self.plan.selected.get(pair, 0) + 1

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

    def cell_run(self, cell: Cell, persister: CellPersister | None) -> CellRun:
        """What the test of a cell is given."""
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
            describe_recording=lambda: self._recording_session(endpoint, panel),
            writer=self._writer,
            strict=self.settings.strict,
        )

    def failed_row(self, cell: Cell, reason: str) -> Row:
        """The row of a cell whose test ended without an answer."""
        generation = Generation(status="error", text=None, reason=reason)
        return build_row(cell, generation, None, run=self.identity.run)

    def close(self) -> None:
        """Close connections and recordings."""
        if self._client is not None:
            self._client.close()
        if self._store is not None:
            self._store.close()

    def _open_client(self) -> Client:
        if self._client is None:
            from wise_pytest.transport.client import Client

            self._client = Client()
        return self._client

    def _key(self, endpoint: Endpoint) -> str | None:
        """The endpoint's key; a session that only replays never looks for one."""
        if self.settings.replays_only or not endpoint.key_env:
            return None
        if endpoint.name not in self._keys:
            import os

            from wise_pytest.endpoints.registry import find_key

            self._keys[endpoint.name] = find_key(endpoint, os.environ)
        return self._keys[endpoint.name]

    def _need_key(self, endpoint: Endpoint, panel_id: str, cells: Sequence[Cell]) -> None:
        """Refuse to start a run that would fail at its first live call for want of a key."""
        settings = self.settings
        if settings.replays_only or not endpoint.key_env or self._key(endpoint) is not None:
            return
        if settings.record_mode in {"once", "new_episodes"} and not settings.disable_recording:
            recorded = set(self.store.pack(panel_id, endpoint.name).keys())
            if all((cell.item, cell.form, cell.repetition) in recorded for cell in cells):
                return
        from wise_pytest.errors import ModelError

        raise ModelError(f"{endpoint.name}: needs a key in the environment variable {endpoint.key_env[0]}")

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished session says."""

    lines: tuple[Line, ...]
    passed: bool
    """Whether the exit status may stay 0."""


class Collector:
    """Keeps the rows of a run as they arrive, and turns them into its reports."""

    def __init__(self, settings: Settings, identity: RunIdentity) -> None:
        self._settings = settings
        self._identity = identity
        self._plan = Plan()
        self._rows: dict[CellKey, Row] = {}
        self._running: dict[str, Cell] = {}
        self._expected: tuple[str, Row | None] = ("", None)
        self._journal: TextIO | None = None
        self._journal_problem: str | None = None

    @property
    def folder(self) -> Path:
        """Where this run's files are."""
        return self._settings.out / self._identity.run

    def take_plan(self, plan: Plan) -> None:
        """Learn what was collected; every worker says the same."""
        self._plan = plan

    def started(self, node_id: str, cell: Cell) -> None:
        """Remember what a worker is about to run, should it not survive."""
        self._running[node_id] = cell

    def crashed(self, node_id: str) -> Row | None:
        """Keep the cell whose worker has ended as a technical error; ``None`` if it was no cell."""
        cell = self._running.pop(node_id, None)
        if cell is None:
            return None
        generation = Generation(status="error", text=None, reason="the worker process ended during this test")
        row = build_row(cell, generation, None, run=self._identity.run)
        self._take(row, row.to_json())
        return row

    def expect(self, line: str, row: Row) -> None:
        """Learn what a line says that this very process is about to report, so that it is not read back."""
        self._expected = (line, row)

    def take_line(self, line: str, node_id: str) -> None:
        """Keep the row that a test's report carries."""
        expected, row = self._expected
        self._running.pop(node_id, None)
        self._take(decode_row(line) if row is None or line is not expected else row, line)

    def _take(self, row: Row, line: str) -> None:
        """Keep a row, in memory and at the end of the journal; the first of a cell stays."""
        if row.key in self._rows:
            return
        self._rows[row.key] = row
        if self._journal_problem is not None:
            return
        try:
            if self._journal is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._journal = (self.folder / JOURNAL).open("x", encoding="ascii", newline="\n")
            self._journal.write(line + "\n")
            self._journal.flush()
        except OSError as error:
            # The run goes on: its rows are in memory, and its recordings are kept elsewhere.
            self._journal_problem = f"{self.folder / JOURNAL}: {error.strerror or error}"

    def finish(self, *, exit_status: int, environ: os._Environ[str] | Mapping[str, str]) -> Outcome | None:
        """Audit, judge and report; ``None`` where no panel was collected."""
        if self._journal is not None:
            self._journal.close()
        if not self._plan.planned and not self._plan.not_recorded:
            return None
        from wise_pytest.finish import finish_run

        return finish_run(
            settings=self._settings,
            identity=self._identity,
            plan=self._plan,
            rows=list(self._rows.values()),
            folder=self.folder,
            problem=self._journal_problem,
            exit_status=exit_status,
            environ=environ,
        )


def check_writable(out: Path) -> None:
    """Make sure that reports can be written before anything is paid for.

    Raises
    ------
    ReportError
        If a file cannot be made in ``out``.
    """
    existing = next(path for path in (out, *out.parents) if path.exists())
    probe = out / f".probe-{secrets.token_hex(4)}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ReportError(
            f"{out}: reports cannot be written there: {error.strerror or error}; "
            "choose another folder with --wise-out DIR"
        ) from error
    finally:
        # Leave nothing behind in a session that runs no panel.
        for path in (out, *out.parents):
            if path == existing or not path.is_dir() or any(path.iterdir()):
                break
            path.rmdir()


def describe_machine() -> dict[str, str]:
    """The software that ran the session, for its manifest."""
    return {
        "wise-pytest": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{
            name: version(name)
            for name in ("pytest", "pytest-recording", "vcrpy", "httpx", "pandas", "numpy")
        },
    }

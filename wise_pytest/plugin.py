"""The pytest hooks: thin, and cheap to import.

Each hook fetches the ``Session`` or ``Collector`` of its process and calls it.
Only pytest, the standard library and this package's own light modules are
imported here; everything heavy loads when a panel really runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from wise_pytest.collecting import CollectorHooks
from wise_pytest.errors import ConfigError, OptionError, WiseError
from wise_pytest.options import add_options, claim_alias, read_settings
from wise_pytest.records import Cell
from wise_pytest.session import NO_MODEL, Collector, Session, check_writable, start_run
from wise_pytest.xdist import (
    CELL,
    OUTCOME,
    PLAN,
    PROBLEM_OUTPUT,
    ROW,
    encode_cell,
    encode_plan,
    is_worker,
    shared_identity,
    worker_name,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from wise_pytest.asking import CellRun
    from wise_pytest.cassettes.store import RecordingLock
    from wise_pytest.cassettes.vcr import CellPersister
    from wise_pytest.records import Row

SESSION: pytest.StashKey[Session] = pytest.StashKey()
COLLECTOR: pytest.StashKey[Collector] = pytest.StashKey()
LOCK: pytest.StashKey[RecordingLock] = pytest.StashKey()
PLAN_SENT: pytest.StashKey[bool] = pytest.StashKey()
PERSISTER: pytest.StashKey[CellPersister | None] = pytest.StashKey()
PROBLEM: pytest.StashKey[str] = pytest.StashKey()
CELL_RUN: pytest.StashKey[CellRun] = pytest.StashKey()

MARKER = "wise"
FIXTURE = "wise"
NOT_SELECTED = "not-selected"
"""Identifier of the stand-in for a panel that the options leave out; it is deselected."""
STATUS_LETTERS = {
    "noncompliant": ("noncompliant", "n", ("NONCOMPLIANT", {"yellow": True})),
    "blocked": ("blocked", "b", ("BLOCKED", {"yellow": True})),
    "error": ("error", "E", "ERROR"),
}
MAX_REASON_LENGTH = 300


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> Generator[None]:
    """Take the short name ``--model``, once it is known that nobody else has it."""
    yield
    claim_alias(parser, args)


def pytest_configure(config: pytest.Config) -> None:
    """Check everything that was asked for, before anything runs."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(panel): run the test for every cell of a WISE panel, through the fixture '{FIXTURE}'.",
    )
    try:
        settings = read_settings(config)
        if settings is None:
            return
        identity = shared_identity(config) if is_worker(config) else start_run(settings)
        state = config.stash[SESSION] = Session(settings, identity, writer=worker_name(config))
        if is_worker(config):
            return
        if not config.option.collectonly:
            check_writable(settings.out)
        state.check_recordings()
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from error
    collector = config.stash[COLLECTOR] = Collector(settings, identity)
    config.pluginmanager.register(CollectorHooks(collector, identity), "wise-collector")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Take the recordings' folder for this run alone, before workers start."""
    config = session.config
    state = config.stash.get(SESSION, None)
    if state is None or is_worker(config) or not state.settings.records or config.option.collectonly:
        return
    from wise_pytest.cassettes.store import RecordingLock

    try:
        config.stash[LOCK] = RecordingLock(state.settings.cassettes).__enter__()
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what is open, and release the recordings' folder."""
    state = config.stash.get(SESSION, None)
    if state is not None:
        state.close()
    lock = config.stash.get(LOCK, None)
    if lock is not None:
        del config.stash[LOCK]
        lock.__exit__(None, None, None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a panel's test over model × item × form × repetition."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    state = metafunc.config.stash.get(SESSION, None)
    if state is None or not state.settings.models:
        raise pytest.Collector.CollectError(NO_MODEL)
    try:
        panel_id = _panel_of(metafunc, marker)
        planned = state.plan_panel(panel_id)
    except ConfigError as error:
        # Raised here, it would be one file's collection error, with a traceback of ours.
        metafunc.config.stash.setdefault(PROBLEM, f"{metafunc.definition.nodeid}: {error}")
        return
    from wise_pytest.naming import slug
    from wise_pytest.panels.cells import cell_id

    values: list[Any] = []
    ids: list[str] = []
    for model, cells in planned:
        values += cells
        ids += [cell_id(cell) for cell in cells]
        if not cells:
            reason = f"{panel_id}, {model}: not recorded; record with --record-mode=once"
            values.append(pytest.param(None, marks=pytest.mark.skip(reason=reason)))
            ids.append(f"{slug(panel_id)}-{slug(model)}-not-recorded")
    if not values:
        values, ids = [None], [f"{slug(panel_id)}-{NOT_SELECTED}"]
    metafunc.parametrize(FIXTURE, values, ids=ids, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the stand-ins of panels that the options leave out."""
    problem = config.stash.get(PROBLEM, None)
    if problem is not None:
        _refuse(config, items, problem)
    left_out = [item for item in items if item.name.endswith(f"-{NOT_SELECTED}]") and _is_panel_test(item)]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what is left to run, after everybody has deselected."""
    state = session.config.stash.get(SESSION, None)
    if state is None:
        return
    try:
        state.note_selected(cell for cell in map(_cell_of, session.items) if cell is not None)
    except ConfigError as error:
        _refuse(session.config, session.items, str(error))
    collector = session.config.stash.get(COLLECTOR, None)
    if collector is not None:
        collector.take_plan(state.plan)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that the user started why this worker has run nothing."""
    problem = session.config.stash.get(PROBLEM, None)
    if problem is not None and is_worker(session.config):
        session.config.workeroutput[PROBLEM_OUTPUT] = problem  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give the cell its cassette, in time for pytest-recording's fixtures."""
    cell = _cell_of(item)
    state = item.config.stash.get(SESSION, None)
    if cell is None or state is None:
        return
    persister = item.stash[PERSISTER] = state.persister(cell)
    if persister is not None:
        from wise_pytest.cassettes.vcr import marker_arguments

        arguments = marker_arguments(persister, record_mode=state.settings.record_mode)
        # First, so that it wins over a ``vcr`` marker of the test's own: that could make a replay call out.
        item.add_marker(pytest.mark.vcr(**arguments), append=False)


@pytest.hookimpl(optionalhook=True)
def pytest_recording_configure(vcr: Any) -> None:
    """Register the matcher by which a cell finds its recording."""
    from wise_pytest.cassettes.vcr import register

    register(vcr)


@pytest.fixture
def wise(request: pytest.FixtureRequest, vcr: Any) -> CellRun:
    """One cell of a panel: ``wise.ask()`` calls or replays, ``wise.score(answer)`` verifies."""
    cell = getattr(request, "param", None)
    if not isinstance(cell, Cell):
        raise pytest.UsageError(
            f"the fixture {FIXTURE!r} belongs to tests marked @pytest.mark.{MARKER}(panel)"
        )
    state = request.config.stash[SESSION]
    persister = request.node.stash.get(PERSISTER, None)
    if persister is not None and vcr is None:
        raise WiseError(
            "no cassette is active, and a cell is not asked without one; is pytest-recording disabled?"
        )
    run = request.node.stash[CELL_RUN] = state.cell_run(cell, persister)
    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the cell's row on the report, which carries it to the collecting process."""
    report = yield
    cell = _cell_of(item)
    state = item.config.stash.get(SESSION, None)
    if state is None:
        return report
    if is_worker(item.config) and not item.config.stash.get(PLAN_SENT, False):
        # On the first report of all: a session may have nothing but panels that are not recorded.
        setattr(report, PLAN, encode_plan(state.plan))
        item.config.stash[PLAN_SENT] = True
    if cell is None:
        return report
    if report.when == "setup" and is_worker(item.config):
        setattr(report, CELL, encode_cell(cell))
    failed_setup = report.when == "setup" and report.failed
    if report.when != "call" and not failed_setup:
        return report
    run = item.stash.get(CELL_RUN, None)
    row = None if run is None else run.row
    if row is None:
        if report.skipped:
            return report
        row = state.failed_row(cell, _reason(call))
    if row.status == "error" and not failed_setup:
        # One line says it all; a traceback would show the plugin's own code, and local values.
        report.outcome = "failed"
        report.longrepr = row.reason
    line = row.to_json()
    setattr(report, ROW, line)
    collector = item.config.stash.get(COLLECTOR, None)
    if collector is not None:
        collector.expect(line, row)
    setattr(report, OUTCOME, _outcome(row))
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> Any:
    """Show what a cell's outcome is: not compliant is no failure, and no pass."""
    outcome = getattr(report, OUTCOME, None)
    if report.when == "setup" or outcome not in STATUS_LETTERS:
        return None
    if report.failed and outcome != "error":
        return None
    return STATUS_LETTERS[outcome]


def _panel_of(metafunc: pytest.Metafunc, marker: pytest.Mark) -> str:
    """The panel that a test names."""
    if len(marker.args) != 1 or marker.kwargs or not isinstance(marker.args[0], str):
        raise OptionError(f"@pytest.mark.{MARKER} takes the id of one panel, such as 'exact_count'")
    if FIXTURE not in metafunc.fixturenames:
        raise OptionError(f"a panel's test takes the fixture {FIXTURE!r} as an argument")
    return marker.args[0]


def _refuse(config: pytest.Config, items: list[pytest.Item], problem: str) -> None:
    """End the session; a worker, whose own end xdist would take for a crash, has nothing to run instead."""
    if not is_worker(config):
        raise pytest.UsageError(problem)
    config.stash[PROBLEM] = problem
    items.clear()


def _cell_of(item: pytest.Item) -> Cell | None:
    callspec = getattr(item, "callspec", None)
    value = None if callspec is None else callspec.params.get(FIXTURE)
    return value if isinstance(value, Cell) else None


def _is_panel_test(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARKER) is not None


def _outcome(row: Row) -> str:
    if row.status == "blocked":
        return "blocked"
    if row.compliant is None:
        return "error"
    return "compliant" if row.compliant else "noncompliant"


def _reason(call: pytest.CallInfo[None]) -> str:
    """Why a cell has no row, in one line."""
    if call.excinfo is None:
        return "the test ended without scoring an answer: call wise.score(wise.ask())"
    text = " ".join(call.excinfo.exconly(tryshort=True).split())
    return text if len(text) <= MAX_REASON_LENGTH else text[:MAX_REASON_LENGTH] + "…"

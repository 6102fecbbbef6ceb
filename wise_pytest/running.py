"""The hooks of every process that runs tests: plan cells, give each its cassette, report its row.

``configure`` is called once a process, when it is known that panels may run.
The hooks are thin: what they decide is in ``Session``.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from wise_pytest.ahead import WorkerQueue
from wise_pytest.collecting import REPORTED, CollectorHooks
from wise_pytest.collector import Collector, check_writable
from wise_pytest.comparing import open_baseline
from wise_pytest.errors import BudgetReached, ConfigError, OptionError, TechnicalError, WiseError
from wise_pytest.files import reason_of
from wise_pytest.naming import slug
from wise_pytest.options import FIXTURE, MARKER, NO_FIXTURE, NO_MODEL
from wise_pytest.panels.cells import cell_id
from wise_pytest.progress import Progress
from wise_pytest.quoting import defuse
from wise_pytest.records import Cell
from wise_pytest.session import Session, start_run
from wise_pytest.settings import read_settings
from wise_pytest.signals import end_like_ctrl_c
from wise_pytest.workers import (
    distributes,
    ends_early,
    let_end,
    make_books,
    make_scheduler,
    note_death,
    note_left,
    remove_books,
    run_alone,
)
from wise_pytest.xdist import (
    CELL,
    OUTCOME,
    PLAN,
    PROBLEM,
    ROW,
    encode_cell,
    encode_plan,
    is_worker,
    shared_identity,
    without_surrogates,
    worker_name,
    worker_place,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from wise_pytest.ahead import Ahead
    from wise_pytest.asking import CellRun
    from wise_pytest.cassettes.vcr import CellPersister
    from wise_pytest.records import Row

PERSISTER: pytest.StashKey[CellPersister | None] = pytest.StashKey()
CELL_RUN: pytest.StashKey[CellRun] = pytest.StashKey()
MARKED: pytest.StashKey[pytest.Mark] = pytest.StashKey()
KEYWORDS: pytest.StashKey[Any] = pytest.StashKey()

NOT_SELECTED = object()
"""Stands in for the cells of a panel that the options leave out; its test is deselected."""
STATUS_LETTERS = {
    "noncompliant": ("noncompliant", "n", ("NONCOMPLIANT", {"yellow": True})),
    "blocked": ("blocked", "b", ("BLOCKED", {"yellow": True})),
    "error": ("error", "E", "ERROR"),
}
MAX_REASON_LENGTH = 300
GRACE_S = 10.0
"""How long a session that ends waits for replies that are under way."""
WORKER_GRACE_S = 6.0
"""The same of a worker, which xdist kills after ten seconds."""
WORKER_DELAY_S = 2.0
"""How much longer a worker's end may take: it is at a test when it is told to stop."""


def configure(config: pytest.Config) -> None:
    """Check all options, and register the hooks that this process needs.

    Raises
    ------
    pytest.UsageError
        For the first thing that is wrong, in one line.
    """
    books = None
    try:
        settings = read_settings(config)
        if settings is None:
            return
        if settings.models and getattr(config.option, "dist", "no") == "each":
            raise OptionError(
                "--dist each runs every test in every worker, and a cell is asked once: use --dist load"
            )
        if settings.plan_only:
            run_alone(config)
        if settings.is_live and distributes(config) and not is_worker(config):
            books = make_books()
        identity = (
            shared_identity(config)
            if is_worker(config)
            else start_run(
                settings,
                live=not config.option.collectonly and not settings.plan_only,
                steals=getattr(config.option, "dist", "no") == "worksteal",
                books=books,
            )
        )
        session = Session(
            settings,
            identity,
            writer=worker_name(config),
            place=worker_place(config),
            has_controller=is_worker(config),
        )
        baseline = None
        if not is_worker(config):
            if not config.option.collectonly and not settings.plan_only:
                check_writable(settings.out)
                baseline = open_baseline(settings)
            session.check_recordings()
    except ConfigError as error:
        remove_books(None if books is None else str(books))  # no hook of ours will be there to do it
        raise pytest.UsageError(defuse(str(error))) from error
    if is_worker(config):
        config.pluginmanager.register(RunningHooks(config, session), "wise-running")
        return
    collector = Collector(settings, identity, spent=session.spent, baseline=baseline)
    progress = Progress(config, live=settings.is_live, usd=session.spent_usd)
    collecting = CollectorHooks(
        collector, identity, progress=progress, wind_down=partial(wind_down, session=session)
    )
    running = RunningHooks(config, session, collector=collector, collecting=collecting)
    if config.option.xmlpath:
        from wise_pytest.junit import JUnitHooks

        # Before the others: of two hooks that come first the later registered one does, and of two that
        # come last too: the rows that the file tells of are let go of after it.
        config.pluginmanager.register(JUnitHooks(config, collecting), "wise-junit")
    config.pluginmanager.register(running, "wise-running")
    config.pluginmanager.register(collecting, "wise-collecting")


class RunningHooks:
    """Feeds pytest with a session's cells, and its reports with their rows."""

    def __init__(
        self,
        config: pytest.Config,
        session: Session,
        *,
        collector: Collector | None = None,
        collecting: CollectorHooks | None = None,
    ) -> None:
        self._session = session
        self._collector = collector
        """Of this very process; ``None`` in a worker, whose rows travel on reports."""
        self._collecting = collecting
        self._in_worker = is_worker(config)
        self._plan_sent = False
        self._looks_ahead = False
        self._only_sets_up = any(getattr(config.option, name, False) for name in ("setuponly", "setupplan"))
        self._seen_report: pytest.TestReport | None = None
        self._problem: str | None = None
        """Why nothing can be run, found while collecting."""
        self._held = ExitStack()
        """The lock of the recordings' folder, once it is taken."""
        self._ahead: Ahead | None = None
        self._queue: WorkerQueue | None = None
        self._restore_signals: Callable[[], None] = lambda: None
        if session.settings.is_live:
            self._restore_signals = end_like_ctrl_c()
            self._ahead = session.look_ahead(_cell_of, ends_early=ends_early(config))
            if self._in_worker:
                self._queue = WorkerQueue(config, steals=session.identity.steals)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Deal tests out so that workers can look ahead, where the run is live."""
        return make_scheduler(config, log) if self._session.settings.is_live else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Let a worker that is done end; close the books of one that has ended unexpectedly."""
        if error is None:
            let_end(node)
        books = self._session.identity.books
        if error is None or books is None:
            return
        try:
            self._session.ledger.died(node.gateway.id)
            note_left(books, node.gateway.id)
            note_death(books)
        except (ConfigError, OSError) as problem:
            # Who is not told would ask again for what that worker had recorded.
            pytest.exit(f"{books}: {reason_of(problem)}; what was recorded is kept", returncode=1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Take the recordings' folder for this run alone, before workers start."""
        settings = self._session.settings
        if self._in_worker or not settings.records or session.config.option.collectonly:
            return
        from wise_pytest.cassettes.store import RecordingLock

        try:
            self._held.enter_context(RecordingLock(settings.cassettes))
        except ConfigError as error:
            raise pytest.UsageError(defuse(str(error))) from error

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Have nothing more asked: until pytest has looked at every frame, much could be."""
        self._session.stop()

    def pytest_unconfigure(self) -> None:
        """Close what is open, and release the recordings' folder."""
        self._restore_signals()
        for problem in self._close():
            # Some other error has kept the session from its end, or there has been none.
            sys.stderr.write(f"ERROR: {defuse(problem)}\n")
        if not self._in_worker:
            remove_books(self._session.identity.books)

    @property
    def has_models(self) -> bool:
        """Whether a model is chosen."""
        return bool(self._session.settings.models)

    def parametrize(self, metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
        """Give a panel's test its cells; called by the plugin's ``pytest_generate_tests``."""
        try:
            panel_id = _panel_of(metafunc, marker)
            planned = self._session.plan_panel(panel_id)
        except ConfigError as error:
            # Raised here, it would be one file's collection error, with a traceback of ours.
            if self._problem is None:
                self._problem = f"{metafunc.definition.nodeid}: {error}"
            return
        values: list[Any] = []
        ids: list[str] = []
        for model, cells in planned:
            values += cells
            ids += [cell_id(cell) for cell in cells]
            if not cells:
                reason = f"{panel_id}, {model}: not recorded; record it with --record-mode=new_episodes"
                values.append(pytest.param(None, marks=pytest.mark.skip(reason=reason)))
                ids.append(f"{slug(panel_id)}-{slug(model)}-not-recorded")
        if not values:
            values, ids = [NOT_SELECTED], [f"{slug(panel_id)}-not-selected"]
        metafunc.parametrize(FIXTURE, values, ids=ids, indirect=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Drop the stand-ins of panels that the options leave out."""
        if self._problem is not None:
            self._refuse(items, self._problem)
        left_out = [item for item in items if _is_left_out(item)]
        if left_out:
            dropped = set(left_out)
            items[:] = [item for item in items if item not in dropped]
            config.hook.pytest_deselected(items=left_out)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what is left to run, after everybody has deselected."""
        if self._problem is not None:
            return
        try:
            if self.has_models:
                _check_cells(session.items)
            elif self._session.settings.plan_only:
                raise OptionError(f"--wise-plan: {NO_MODEL}")
            self._session.note_selected(
                (cell for cell in map(_cell_of, session.items) if cell is not None),
                live=not session.config.option.collectonly,
            )
        except ConfigError as error:
            self._refuse(session.items, str(error))
        if self._collecting is not None:
            self._collecting.take_plan(self._session.plan)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Print the plan instead of running anything, where that is asked for."""
        if not self._session.settings.plan_only:
            return None
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if session.testsfailed or terminal is None:
            return None if session.testsfailed else True
        from wise_pytest.report.plan import plan_lines

        cells = [cell for cell in map(_cell_of, session.items) if cell is not None]
        costs = self._session.planned_costs(cells)
        terminal.write_sep("=", "wise plan")
        settings = self._session.settings
        for line in plan_lines(costs, max_usd=settings.max_cost_usd, mode=settings.record_mode):
            terminal.write_line(line)
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Pack what was recorded; tell the process that the user started why a worker has run nothing."""
        if self._in_worker:
            if self._problem is not None:
                session.config.workeroutput[PROBLEM] = self._problem  # type: ignore[attr-defined]
            self._session.close(grace_s=WORKER_GRACE_S)
            return
        for problem in self._close():
            if self._collecting is not None:
                self._collecting.note_problem(session, problem)

    def _close(self) -> list[str]:
        """Close what is open and pack what was recorded; what went wrong with that."""
        problems: list[str] = []
        for close in (self._session.close, self._held.close):
            try:
                close()
            except (ConfigError, OSError) as error:
                problems.append(str(error))
        return problems

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Let a worker's report cross: execnet aborts on a lone surrogate, which a model may have written."""
        data = yield
        if self._in_worker and data is not None and (report.outcome != "passed" or report.sections):
            return cast("dict[str, Any]", without_surrogates(data))
        return data

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Let go of what reports have carried here: pytest keeps every one to the session's end."""
        if self._in_worker:
            return
        # Of the one before this: whoever else reads a report may do so after us.
        for name in (ROW, CELL):
            if hasattr(self._seen_report, name):
                delattr(self._seen_report, name)
        self._seen_report = report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Let go of what a test that has run leaves behind: pytest keeps every test to the session's end."""
        if self._in_worker and self._session.is_stopped:
            item.session.shouldstop = (
                "the run was stopped"  # after this test, which asks for nothing any more
            )
        result = yield
        marked = item.stash.get(MARKED, None)
        if marked is not None:
            item.own_markers[:] = [mark for mark in item.own_markers if mark is not marked]
            item.keywords[marked.name] = True
        for key in (PERSISTER, CELL_RUN, MARKED, KEYWORDS):
            if key in item.stash:
                del item.stash[key]
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Give the cell its cassette, in time for pytest-recording's fixtures."""
        self._look_ahead(item)
        cell = _cell_of(item)
        if cell is None:
            return
        persister = item.stash[PERSISTER] = self._session.persister(cell)
        if persister is not None:
            from wise_pytest.cassettes.vcr import marker_arguments

            arguments = marker_arguments(persister, record_mode=self._session.settings.record_mode)
            # First, so that it wins over the test's own ``vcr`` marker, which could let a replay call out.
            item.add_marker(pytest.mark.vcr(**arguments), append=False)
            item.stash[MARKED] = item.own_markers[0]

    @pytest.hookimpl(optionalhook=True)
    def pytest_recording_configure(self, vcr: Any) -> None:
        """Register the matcher by which a cell finds its recording."""
        from wise_pytest.cassettes.vcr import register

        register(vcr)

    def cell_run(self, item: pytest.Item, *, cassette: object) -> CellRun:
        """What the test of a cell is given; called by the plugin's fixture.

        Raises
        ------
        WiseError
            If pytest-recording has not put a cassette in place where there must be one.
        """
        cell = _cell_of(item)
        persister = item.stash.get(PERSISTER, None)
        if cell is None or (persister is not None and cassette is None):
            raise WiseError(
                "no cassette is active, and a cell is not asked without one; is pytest-recording disabled?"
            )
        earlier = item.stash.get(CELL_RUN, None)
        run = self._session.cell_run(
            cell,
            persister,
            on_live=partial(self._asked, item, cell),
            answered=None if earlier is None else earlier.generation,
        )
        item.stash[CELL_RUN] = run
        return run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the cell's row on the report, which carries it to the collecting process."""
        with _told_in_a_line(item, call):
            report = yield
        if self._in_worker and not self._plan_sent:
            # On the first report of all: a session may have nothing but panels that are not recorded.
            setattr(report, PLAN, encode_plan(self._session.plan))
            self._plan_sent = True
        cell = _cell_of(item)
        if cell is None:
            return report
        # The same for all reports of a test, and all are kept: so there need be one only.
        report.keywords = item.stash.setdefault(KEYWORDS, report.keywords)
        if self._in_worker and report.when == "setup":
            setattr(report, CELL, encode_cell(cell))
        failed_setup = report.when == "setup" and report.failed
        if report.when == "call" or failed_setup:
            self._attach_row(item, cell, report, call)
        return report

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Show what a cell's outcome is: not compliant is no failure, and no pass."""
        outcome = getattr(report, OUTCOME, None)
        if report.when == "setup" or outcome not in STATUS_LETTERS or report.outcome not in REPORTED:
            return None
        if report.failed and outcome != "error":
            return None
        return STATUS_LETTERS[outcome]

    def _attach_row(
        self, item: pytest.Item, cell: Cell, report: pytest.TestReport, call: pytest.CallInfo[None]
    ) -> None:
        run = item.stash.get(CELL_RUN, None)
        row = None if run is None else run.row
        problem = None if call.excinfo is None else call.excinfo.value
        if isinstance(problem, BudgetReached):
            self._end_for_budget(item, report, str(problem))
            return
        if isinstance(problem, ConfigError):
            # A recording that cannot be kept, such as on a full disk: nothing more is to be paid for.
            item.session.shouldfail = str(problem)
        if row is None:
            if report.skipped:
                return
            row = self._session.failed_row(cell, _reason(call))
        # One line says it all; a traceback would show the plugin's own code, and local values.
        if row.status == "error" and report.when == "call":
            report.outcome = "failed"
            report.longrepr = row.reason
        elif report.failed and call.excinfo is not None and _is_a_miss(call.excinfo.value):
            report.longrepr = str(call.excinfo.value)
        line = row.to_json()
        setattr(report, ROW, line)
        setattr(report, OUTCOME, _outcome(row))
        if self._collector is not None:
            self._collector.expect(line, row)

    def _look_ahead(self, item: pytest.Item) -> None:
        """Learn which tests have come to be certain."""
        if self._ahead is None:
            return
        items = item.session.items
        if self._queue is not None:
            self._ahead.add(items[index] for index in self._queue.news())
        elif not self._looks_ahead:
            self._looks_ahead = True
            self._ahead.add(items[items.index(item) + 1 :])
        cell = _cell_of(item)
        if cell is not None and not self._only_sets_up:
            self._ahead.begins(item, cell)

    def _asked(self, item: pytest.Item, cell: Cell) -> None:
        if self._ahead is not None:
            self._ahead.asked(item, cell)

    def _end_for_budget(self, item: pytest.Item, report: pytest.TestReport, reason: str) -> None:
        """A cell that the budget does not reach for has no outcome; nor has any that would follow."""
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: {reason}")
        if not self._in_worker:  # whose end would be an interruption; it passes over the rest
            budget = self._session.settings.max_cost_usd
            item.session.shouldfail = f"the budget of --wise-max-cost {budget} is used up"

    def _refuse(self, items: list[pytest.Item], problem: str) -> None:
        """End the session; a worker, whose end xdist would take for a crash, runs nothing instead."""
        if not self._in_worker:
            raise pytest.UsageError(defuse(problem))
        self._problem = problem
        items.clear()


def wind_down(config: pytest.Config, *, session: Session) -> None:
    """Wait for replies that are under way, and say why the end takes a moment."""
    n_in_flight, n_workers = session.n_in_flight, session.n_workers
    grace_s = WORKER_GRACE_S if n_workers else GRACE_S
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if (n_in_flight or n_workers) and terminal is not None:
        replies = "1 reply that is" if n_in_flight == 1 else f"{n_in_flight or ''} replies that are"
        terminal.ensure_newline()
        terminal.write_line(
            f"waiting up to {grace_s:g} s for {' '.join(replies.split())} under way, to record them"
        )
    try:
        session.close(grace_s=grace_s)
        session.wait_for_workers(WORKER_GRACE_S + WORKER_DELAY_S)
    except KeyboardInterrupt:
        # Whoever is in a hurry loses what was under way, and nothing else.
        session.close()


def _check_cells(items: Iterable[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker(MARKER) is not None and FIXTURE not in _params_of(item):
            raise OptionError(
                f"{item.nodeid}: a panel's test is a function, or a method of a plain class; "
                "pytest runs this one without its cells"
            )


def _panel_of(metafunc: pytest.Metafunc, marker: pytest.Mark) -> str:
    """The panel that a test names."""
    if len(marker.args) != 1 or marker.kwargs or not isinstance(marker.args[0], str):
        raise OptionError(f"@pytest.mark.{MARKER} takes the id of one panel, such as 'exact_count'")
    if FIXTURE not in metafunc.fixturenames:
        raise OptionError(NO_FIXTURE)
    return marker.args[0]


def _params_of(item: pytest.Item) -> Mapping[str, object]:
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


def _cell_of(item: pytest.Item) -> Cell | None:
    value = _params_of(item).get(FIXTURE)
    return value if isinstance(value, Cell) else None


def _is_left_out(item: pytest.Item) -> bool:
    return _params_of(item).get(FIXTURE) is NOT_SELECTED


@contextmanager
def _told_in_a_line(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keep pytest from working out a traceback that nobody is shown, which takes longer than a whole test."""
    problem = None if call.excinfo is None else call.excinfo.value
    if not isinstance(problem, TechnicalError | BudgetReached) or _cell_of(item) is None:
        yield
        return
    item.repr_failure = lambda *_, **__: str(problem)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del item.repr_failure


def _outcome(row: Row) -> str:
    if row.status == "blocked":
        return "blocked"
    if row.compliant is None:
        return "error"
    return "compliant" if row.compliant else "noncompliant"


def _is_a_miss(error: BaseException) -> bool:
    from wise_pytest.asking import NonCompliant

    return isinstance(error, NonCompliant)


def _reason(call: pytest.CallInfo[None]) -> str:
    """Why a cell has no row, in one line."""
    if call.excinfo is None:
        return "the test ended without scoring an answer: call wise.score(wise.ask())"
    text = " ".join(call.excinfo.exconly(tryshort=True).split())
    return text if len(text) <= MAX_REASON_LENGTH else text[:MAX_REASON_LENGTH] + "…"

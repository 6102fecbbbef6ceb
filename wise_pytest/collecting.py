"""The hooks of the process that the user started: collect rows, and end the session.

An instance is registered in every process but xdist's workers. With xdist the
rows arrive from the workers, without it from this process's own tests; the
hooks cannot tell, and need not.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from wise_pytest.errors import ConfigError
from wise_pytest.quoting import defuse
from wise_pytest.xdist import (
    CELL,
    CRASHED,
    INPUT,
    OUTCOME,
    PLAN,
    PROBLEM,
    ROW,
    decode_plan,
    encode_identity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from wise_pytest.collector import Collector
    from wise_pytest.finish import Outcome
    from wise_pytest.progress import Progress
    from wise_pytest.xdist import Plan, RunIdentity

REPORTED = ("passed", "failed", "skipped")
"""pytest's own outcomes; a plugin that tries a test again reports the earlier tries as something else."""
WITHOUT_TESTS = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
"""pytest's options that collect and run no test."""
CATEGORIES = {"compliant": "passed", "noncompliant": "noncompliant", "blocked": "blocked", "error": "error"}
"""How pytest's last line counts the outcomes of cells."""
MAX_ERRORS_SHOWN = 10
"""Technical errors that the terminal shows one by one; all are in the rows."""


class CollectorHooks:
    """Feeds the collector, sets the exit status, and prints what it says."""

    def __init__(
        self,
        collector: Collector,
        identity: RunIdentity,
        *,
        progress: Progress,
        wind_down: Callable[[pytest.Config], None],
    ) -> None:
        self._collector = collector
        self._identity = identity
        self._progress = progress
        self._wind_down = wind_down
        """Waits for replies that are under way, so that all is counted."""
        self.outcome: Outcome | None = None
        """What the session has come to, once it has ended."""
        self.problems: list[str] = []
        """What went wrong at its end."""
        self._usage: str | None = None

    def take_plan(self, plan: Plan) -> None:
        """Learn what was collected."""
        self._collector.take_plan(plan)
        self._progress.plan(plan)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Keep pytest from writing letters where the progress is written over."""
        outcome = getattr(report, OUTCOME, None)
        if outcome is None or report.outcome not in REPORTED or not self._progress.replaces_letters:
            return None
        category = CATEGORIES.get(outcome, report.outcome)
        return ("failed" if report.failed and outcome != "error" else category), "", ""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give each xdist worker what the workers of one run share."""
        node.workerinput[INPUT] = encode_identity(self._identity)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn from a worker why nothing could be run."""
        self._usage = getattr(node, "workeroutput", {}).get(PROBLEM, self._usage)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report carries."""
        plan = getattr(report, PLAN, None)
        if plan is not None:
            self.take_plan(decode_plan(plan))
        cell = getattr(report, CELL, None)
        if cell is not None:
            self._collector.started(report.nodeid, cell)
        row = getattr(report, ROW, None)
        # Of a test that is tried again, an answer counts from the first try on; a technical error does not.
        if row is not None and (report.outcome in REPORTED or getattr(report, OUTCOME) != "error"):
            self._progress.count(self._collector.take_line(row, report.nodeid))
        elif report.when == CRASHED:
            crashed = self._collector.crashed(report.nodeid)
            if crashed is not None:
                self._progress.count(crashed)
                setattr(report, OUTCOME, "error")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Audit, judge and report; a failed gate makes a good exit status bad, never the reverse."""
        self._progress.end()
        try:
            self._wind_down(session.config)
        except (ConfigError, OSError) as error:
            self.note_problem(session, str(error))
        if self._usage is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            return  # what was asked for cannot be done: there is nothing to audit
        option = session.config.option
        if self._collector.plan_only or any(getattr(option, name, False) for name in WITHOUT_TESTS):
            return
        try:
            self.outcome = self._collector.finish(exit_status=int(exitstatus), environ=os.environ)
        except (ConfigError, OSError) as error:
            self.note_problem(session, str(error))
            return
        failed = self.outcome is not None and not self.outcome.passed
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def note_problem(self, session: pytest.Session, problem: str) -> None:
        """Learn of something that went wrong at the end; no session passes with it."""
        self.problems.append(problem)
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> Generator[None]:
        """Print the audit's short table and the gate's verdict; cap the list of technical errors."""
        errors = terminalreporter.stats.get("error", [])
        technical = [report for report in errors if getattr(report, OUTCOME, None) == "error"]
        n_shown = MAX_ERRORS_SHOWN if config.get_verbosity() <= 0 else len(technical)
        hidden = {id(report) for report in technical[n_shown:]}
        if hidden:
            terminalreporter.stats["error"] = [report for report in errors if id(report) not in hidden]
        try:
            yield
        finally:
            if hidden:
                terminalreporter.stats["error"] = errors
        self._print(terminalreporter, n_hidden=len(hidden))

    def _print(self, terminal: pytest.TerminalReporter, *, n_hidden: int) -> None:
        if n_hidden:
            terminal.write_line(
                f"… and {n_hidden} more technical errors; all are in the run's rows (-v shows them)"
            )
        if self._usage is not None:
            terminal.write_line(f"ERROR: {defuse(self._usage)}", red=True)
        if self.problems or self.outcome is not None:
            terminal.write_sep("=", "wise audit")
        for problem in self.problems:
            terminal.write_line(f"ERROR: {defuse(problem)}", red=True)
        if self.outcome is None:
            return
        for line in self.outcome.lines:
            markup = {} if line.style == "plain" else {line.style: True}
            terminal.write_line(defuse(line.text), **markup)

"""What pytest's own JUnit file says of a panel: a cell that does not comply is skipped, the gate is a case.

Registered in the process that writes the file, if there is one. The counts of
pytest itself, on the terminal and in the exit status, are untouched.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.junitxml import xml_key

from wise_pytest.report.columns import words
from wise_pytest.xdist import OUTCOME, ROW, decode_row

if TYPE_CHECKING:
    from wise_pytest.collecting import CollectorHooks
    from wise_pytest.records import Row

GATE_CASE = "wise::gate"
_AS_SKIPPED = frozenset({"noncompliant", "blocked"})


class JUnitHooks:
    """Adds to the file that pytest writes."""

    def __init__(self, config: pytest.Config, collecting: CollectorHooks) -> None:
        self._config = config
        self._collecting = collecting

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Turn the passed case of a cell that does not comply into a skipped one, with the reason."""
        log = self._config.stash.get(xml_key, None)
        if (
            log is None
            or report.when != "call"
            or not report.passed
            or getattr(report, OUTCOME, None) not in _AS_SKIPPED
        ):
            return
        path, line, _ = report.location
        skipped = copy.copy(report)
        skipped.outcome = "skipped"
        skipped.longrepr = (path, (line or 0) + 1, _reason(decode_row(getattr(report, ROW))))
        # It has been counted as passed by now.
        log.stats["passed"] -= 1
        log.node_reporter(report).append_skipped(skipped)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Add the gate as a case of its own, once it is known and before the file is written."""
        log = self._config.stash.get(xml_key, None)
        outcome, problems = self._collecting.outcome, self._collecting.problems
        if log is None or (outcome is None and not problems):
            return
        sentences = [] if outcome is None else [outcome.verdict.sentence, *outcome.checks]
        passed = outcome is not None and outcome.passed and not problems
        said = "\n".join([*problems, *sentences])
        for when in ("call", "teardown"):
            log.pytest_runtest_logreport(_gate_report(when, None if passed or when == "teardown" else said))


def _gate_report(when: Any, failure: str | None) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=GATE_CASE,
        location=("wise", None, "gate"),
        keywords={},
        outcome="passed" if failure is None else "failed",
        longrepr=failure,
        when=when,
    )


def _reason(row: Row) -> str:
    """Such as ``not compliant: over, observed 18, target 5``."""
    if row.status == "blocked":
        return f"blocked: {row.reason or 'the provider withheld the output'}"
    said = [row.direction] if row.direction else []
    said += [] if row.observed is None else [f"observed {row.observed}"]
    said += [] if row.target is None else [f"target {words(row.target)}"]
    return f"not compliant: {', '.join(said)}" if said else "not compliant"

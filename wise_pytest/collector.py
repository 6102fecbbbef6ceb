"""What the process that the user started collects: the rows of a run, and their end.

One ``Collector`` keeps the journal of rows as they arrive, from this process or
from workers, and hands them over when the session ends. The hooks in
``collecting`` call it.
"""

from __future__ import annotations

import secrets
import warnings
from typing import TYPE_CHECKING

from wise_pytest.errors import ReportError
from wise_pytest.files import write_fully, write_whole
from wise_pytest.manifest import write_manifest
from wise_pytest.records import JOURNAL, error_row
from wise_pytest.signals import held_back
from wise_pytest.xdist import Plan, decode_cell, decode_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from wise_pytest.audit.baseline import Baseline
    from wise_pytest.finish import Outcome
    from wise_pytest.records import CellKey, Row
    from wise_pytest.report.progress import ModelSpent
    from wise_pytest.settings import Settings
    from wise_pytest.xdist import RunIdentity


class Collector:
    """Keeps the rows of a run as they arrive, and turns them into its reports."""

    def __init__(
        self,
        settings: Settings,
        identity: RunIdentity,
        *,
        spent: Callable[[], Sequence[ModelSpent]],
        baseline: Baseline | None = None,
    ) -> None:
        self._settings = settings
        self.spent = spent
        """What was spent so far, by model."""
        self._baseline = baseline
        self._identity = identity
        self._plan = Plan()
        self._rows: dict[CellKey, Row] = {}
        self._running: dict[str, str] = {}
        self._expected: tuple[str, Row | None] = ("", None)
        self._journal: BinaryIO | None = None
        self._is_cut = False
        """Whether a row could not be written; none is after it."""

    @property
    def folder(self) -> Path:
        """Where this run's files are."""
        return self._settings.out / self._identity.run

    @property
    def plan_only(self) -> bool:
        """Whether nothing is to be run."""
        return self._settings.plan_only

    def take_plan(self, plan: Plan) -> None:
        """Learn what was collected; every worker says the same."""
        self._plan = plan

    def started(self, node_id: str, cell: str) -> None:
        """Remember what a worker is about to run, as the report says it, should it not survive."""
        self._running[node_id] = cell

    def crashed(self, node_id: str) -> Row | None:
        """Keep the cell whose worker has ended as a technical error; ``None`` if it was no cell."""
        cell = self._running.pop(node_id, None)
        if cell is None:
            return None
        row = error_row(
            decode_cell(cell), "the worker process ended during this test", run=self._identity.run
        )
        self._take(row, row.to_json())
        return row

    def expect(self, line: str, row: Row) -> None:
        """Learn what a line says that this very process is about to report, so that it is not read back."""
        self._expected = (line, row)

    def take_line(self, line: str, node_id: str) -> Row:
        """Keep the row that a test's report carries."""
        expected, known = self._expected
        self._running.pop(node_id, None)
        row = decode_row(line) if known is None or line is not expected else known
        self._take(row, line)
        return row

    def _take(self, row: Row, line: str) -> None:
        """Keep a row, in memory and at the end of the journal; the first of a cell stays."""
        if row.key in self._rows:
            return
        self._rows[row.key] = row
        self._keep(line)
        # After the row is kept: whoever breaks the run off while this takes its time still finds it.
        if len(self._rows) == 1 and self._settings.is_live:
            _load_what_the_end_needs()

    def _keep(self, line: str) -> None:
        """Write a row at the end of the journal."""
        if self._is_cut:
            return
        try:
            if self._journal is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._journal = (self.folder / JOURNAL).open("xb", buffering=0)
                write_manifest(self.folder, self._settings, self._identity, self._plan, outcome=None)
            write_fully(self._journal, f"{line}\n".encode("ascii"))
        except (OSError, ReportError):
            # The run goes on: its rows are in memory, and its recordings are kept elsewhere.
            self._is_cut = True

    def finish(self, *, exit_status: int, environ: Mapping[str, str]) -> Outcome | None:
        """Audit, judge and report; ``None`` where no panel was collected, nor asked for.

        Raises
        ------
        ReportError
            If the rows, or a report, cannot be written.
        """
        if self._journal is not None:
            self._journal.close()
        from wise_pytest.finish import finish_run, nothing_to_audit

        if not self._plan.planned and not self._plan.not_recorded:
            return nothing_to_audit() if self._settings.asked else None

        if self._is_cut:
            self._keep_all()
        return finish_run(
            settings=self._settings,
            identity=self._identity,
            plan=self._plan,
            rows=list(self._rows.values()),
            folder=self.folder,
            exit_status=exit_status,
            environ=environ,
            spent=self.spent(),
            baseline=self._baseline,
        )

    def _keep_all(self) -> None:
        """Write all rows once more, whole: there may be room by now. Of lost rows no report is made."""
        text = "".join(f"{row.to_json()}\n" for row in self._rows.values())
        try:
            write_whole(self.folder / JOURNAL, text)
        except ReportError as error:
            raise ReportError(
                f"{error}; without its rows the run has no report: mend that, and repeat the command"
            ) from error


def _load_what_the_end_needs() -> None:
    """Import it while replies are under way anyway, and not when somebody waits for the end."""
    # Whatever the libraries have to say is no test's fault.
    with held_back(), warnings.catch_warnings(action="ignore"):
        import numpy  # noqa: F401, ICN001 - a replay of nothing has no table

        import wise_pytest.finish  # noqa: F401
        from wise_pytest.audit.published import published
        from wise_pytest.report.html.page import page_template

        published()
        page_template()  # every run has a page


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

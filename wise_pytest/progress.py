"""Shows how far a live run is, while it goes on.

On a terminal a line that is written over takes the place of pytest's letters; in
a log there is a line now and then; with ``-q``, in a short run and in one that
replays there is nothing. ``CollectorHooks`` calls it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.report.progress import ModelProgress, progress_line
from wise_pytest.report.text import degrade

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from wise_pytest.records import Row
    from wise_pytest.xdist import Plan

Style: TypeAlias = Literal["terminal", "log", "none"]

MIN_CELLS = 50
"""In a shorter run pytest's own letters say enough."""
TERMINAL_S = 0.5
LOG_S = 60.0
"""Seconds between two lines."""
RATE_S = 30.0
"""The time over which the rate is taken."""


class Progress:
    """Counts rows as they come, and writes a line when it is time.

    Parameters
    ----------
    usd
        What is spent so far; ``None`` where nothing has a price.
    """

    def __init__(self, config: pytest.Config, *, live: bool, usd: Callable[[], float | None]) -> None:
        self._config = config
        self._live = live
        self._terminal: pytest.TerminalReporter | None = None
        self._style: Style = "none"
        self._usd = usd
        self._planned: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._samples: deque[tuple[float, int]] = deque()
        self._next = 0.0
        self._width = 0

    @property
    def replaces_letters(self) -> bool:
        """Whether pytest is to write no letters."""
        return self._style == "terminal" and sum(self._planned.values()) >= MIN_CELLS

    def plan(self, plan: Plan) -> None:
        """Learn how much there is to do."""
        # The terminal is there by now: it is configured after other plugins.
        if self._terminal is None and self._live:
            self._terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            self._style = _style(self._config, self._terminal)
            self._next = time.monotonic() + (LOG_S if self._style == "log" else TERMINAL_S)
        self._planned.clear()
        for (_, model), n_cells in plan.selected.items():
            self._planned[model] += n_cells

    def count(self, row: Row) -> None:
        """Count a cell that has its row."""
        self._done[row.model] += 1
        self._errors[row.model] += row.status == "error"
        now = time.monotonic()
        if self._style == "none" or now < self._next or sum(self._planned.values()) < MIN_CELLS:
            return
        self._samples.append((now, sum(self._done.values())))
        while len(self._samples) > 2 and self._samples[1][0] < now - RATE_S:  # noqa: PLR2004 - a rate takes two
            self._samples.popleft()
        self._next = now + (TERMINAL_S if self._style == "terminal" else LOG_S)
        self._write()

    def end(self) -> None:
        """Leave the line that was written over."""
        if self._width and self._terminal is not None:
            self._write()
            self._terminal.write_raw("\n")
        self._style, self._width = "none", 0

    def _write(self) -> None:
        terminal = self._terminal
        if terminal is None:
            return
        in_place = self._style == "terminal"
        models = [
            ModelProgress(model, self._done[model], n_planned, self._errors[model])
            for model, n_planned in self._planned.items()
        ]
        width = terminal._tw.fullwidth - 1 if in_place else None  # noqa: SLF001 - pytest tells it nowhere else
        line = progress_line(models, rate=self._rate(), usd=self._usd(), width=width)
        if in_place:
            line = degrade(line, getattr(terminal._tw._file, "encoding", "utf-8"))  # noqa: SLF001
            padded = line.ljust(self._width)
            self._width = len(line)
            terminal.write_raw(f"\r{padded}", flush=True)
        else:
            terminal.ensure_newline()
            terminal.write_line(f"wise: {line}")

    def _rate(self) -> float | None:
        if len(self._samples) < 2:  # noqa: PLR2004 - a rate takes two
            return None
        (first_at, first), (last_at, last) = self._samples[0], self._samples[-1]
        return (last - first) / (last_at - first_at) if last_at > first_at else None


def _style(config: pytest.Config, terminal: pytest.TerminalReporter | None) -> Style:
    if terminal is None or config.get_verbosity() < 0:
        return "none"
    if config.get_verbosity() == 0 and terminal.isatty and hasattr(terminal, "write_raw"):
        return "terminal"
    return "log"

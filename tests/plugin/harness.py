"""A user's project in which pytest really runs, in a process of its own, and what came of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence

    from tests.plugin.warm import WarmPython

PANEL_TEST = """\
import pytest

@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""
"""All that a user has to write."""

ANSI = re.compile(r"\x1b\[[0-9;]*m")
NEIGHBOURS = (
    "asyncio",
    "html",
    "html_fixtures",
    "metadata",
    "pytest_cov",
    "randomly",
    "rerunfailures",
    "sugar",
    "timeout",
)
"""Plugins that other tests load one by one."""
UNRELATED_PLUGINS = ("hypothesispytest", "anyio", *NEIGHBOURS)
"""Installed beside us for other tests; loading them costs more than a whole replay."""
FOREIGN_VARIABLES = re.compile(
    r"PYTEST_|GITHUB_|CI$|COLUMNS$|FORCE_COLOR$|PYTHONDONTWRITEBYTECODE$|.*_proxy$"
    r"|(OPENAI|ANTHROPIC|GOOGLE|GEMINI|DEEPSEEK|MISTRAL|HF|MOONSHOT)_",
    re.IGNORECASE,
)
"""What the surroundings of this run may have set, and a user's project must not notice."""


MODES = {"plain": (), "two-workers": ("-n", "2")}
"""The ways to run a session that must not differ in what comes of it."""
SLOW_WITH_WORKERS = pytest.mark.parametrize(
    "mode", [(), pytest.param(MODES["two-workers"], marks=pytest.mark.slow)], ids=list(MODES)
)
"""For a test whose workers are also covered elsewhere; takes the place of the fixture ``mode``."""


# A shell starts what runs in the background with SIGINT ignored, and that is inherited.
INTERRUPTIBLE_PYTEST = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""


PYTEST = "import runpy; runpy.run_module('pytest', run_name='__main__', alter_sys=True)"
WISE = "from wise_pytest.cli import main; raise SystemExit(main())"
READ_AT_START = re.compile(r"PYTHON(?!PATH$|UNBUFFERED$)")
"""Variables that only a new Python heeds."""


@dataclass(frozen=True)
class Finished:
    """One pytest run as a user sees it."""

    status: int
    text: str
    """Standard output and standard error, one after the other."""
    folder: Path | None
    """The run's folder below ``reports``; ``None`` if it made none."""

    @property
    def flat(self) -> str:
        """The text with every run of blanks and line breaks as one blank: messages may be wrapped."""
        return " ".join(self.text.split())

    @property
    def letters(self) -> str:
        """The progress letters, sorted."""
        found = re.findall(r"^(?:\S+\.py )?([.a-zA-Z]+) *\[ *\d+%\]$", self.text, re.MULTILINE)
        return "".join(sorted("".join(found)))

    @property
    def counts(self) -> dict[str, int]:
        """The last line's counts by category."""
        last = [line for line in self.text.splitlines() if re.search(r" in \d+\.\d+s", line)][-1]
        return {
            name.rstrip("s"): int(n) for n, name in re.findall(r"(\d+) ([a-z]+)", last.partition(" in ")[0])
        }

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The journal, sorted by cell."""
        assert self.folder is not None, self.text
        lines = (self.folder / "generations.jsonl").read_text("ascii").splitlines()
        return sorted(map(json.loads, lines), key=cell_of)

    @property
    def audit(self) -> dict[str, Any]:
        assert self.folder is not None, self.text
        document: dict[str, Any] = json.loads((self.folder / "audit.json").read_text("ascii"))
        return document

    @property
    def gate(self) -> str:
        return str(self.audit["gate"]["status"])


def cell_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["model"], row["panel"], row["item"], row["form"], row["repetition"])


def without_run(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as two runs over the same recordings must agree on."""
    return [{name: value for name, value in row.items() if name != "run"} for row in rows]


class Project:
    """A user's folder with a panel's test in it, and the ways to run pytest there.

    Runs are forks of ``warm``, each with a process of its own; without it, every
    one is a new Python.
    """

    def __init__(self, pytester: pytest.Pytester, warm: WarmPython | None) -> None:
        self.path = pytester.path
        self._pytester = pytester
        self._warm = warm
        self._n_runs = 0
        self.write("test_panel.py", PANEL_TEST)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(
        self,
        *arguments: str,
        crashes: bool = False,
        may_break: bool = False,
        timeout_s: float = 120.0,
        loads: Sequence[str] = (),
    ) -> Finished:
        """Run pytest in a process of its own, with those of the installed neighbours that it ``loads``.

        It may only show a traceback if the user's own code ``crashes``, and an
        internal error only if pytest itself ``may_break``.
        """
        before = self.run_folders()
        command = (self._temporary(), *self._plugins(loads), *arguments)
        status, output = self._python(PYTEST, command, timeout_s=timeout_s, new=bool(loads))
        text = ANSI.sub("", output)
        assert may_break or "INTERNALERROR" not in text, text
        assert crashes or "Traceback" not in text, text
        return Finished(status, text, self._made_since(before))

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start pytest as the leader of a process group, to be ended from outside."""
        python = [sys.executable, "-c", INTERRUPTIBLE_PYTEST]
        command = [*python, self._temporary(), *self._plugins(), *arguments]
        with (self.path / "started.log").open("wb") as log:
            return subprocess.Popen(
                command, cwd=self.path, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def end(self, process: subprocess.Popen[bytes], how: signal.Signals) -> Finished:
        """Send a signal to everything that ``start`` has started, and wait for its end."""
        os.killpg(process.pid, how)
        return self.ended(process)

    def ended(self, process: subprocess.Popen[bytes]) -> Finished:
        """Wait for the end of what ``start`` has started."""
        status = process.wait(timeout=60)
        text = (self.path / "started.log").read_text("utf-8")
        return Finished(status, text, self._made_since(set()))

    def wise(self, *arguments: str) -> Finished:
        """Run the command ``wise``."""
        return Finished(*self._python(WISE, arguments), None)

    def run_folders(self) -> set[Path]:
        reports = self.path / "reports"
        return {path for path in reports.glob("*") if path.is_dir() and not path.is_symlink()}

    @property
    def latest(self) -> Path:
        """Where ``reports/latest`` leads."""
        return (self.path / "reports" / "latest").resolve()

    def files(self) -> set[str]:
        """What is in the folder, without what pytest and Python themselves leave there."""
        own = re.compile(r"(^|/)(__pycache__|\.pytest_cache|runpytest-\w+|std(out|err)|started\.log)(/|$)")
        found = (path.relative_to(self.path).as_posix() for path in self.path.rglob("*"))
        return {name for name in found if not own.search(name)}

    def packs(self) -> dict[str, list[dict[str, Any]]]:
        """Every cassette's decoded lines, its header first, by its name below ``cassettes``."""
        root = self.path / "cassettes"
        return {
            path.relative_to(root).as_posix(): [
                json.loads(line) for line in path.read_text("ascii").splitlines()
            ]
            for path in sorted(root.rglob("*.jsonl"))
        }

    def _python(
        self, code: str, arguments: Sequence[str], *, timeout_s: float = 120.0, new: bool = False
    ) -> tuple[int, str]:
        """The exit status of ``python -c``, and its standard output and standard error."""
        searched = os.environ.get("PYTHONPATH")
        heeded = any(map(READ_AT_START.match, os.environ))
        if self._warm is None or new or heeded or searched != self._warm.searched:
            done = self._pytester.run(sys.executable, "-c", code, *arguments, timeout=timeout_s)
            return int(done.ret), f"{done.stdout}\n{done.stderr}"
        here = Path.cwd()
        outputs = (self.path / "stdout", self.path / "stderr")
        status = self._warm.run(
            code,
            arguments,
            cwd=here,
            environ={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(here), searched]))},
            outputs=outputs,
            timeout_s=timeout_s,
        )
        shown = [path.read_text("utf-8") for path in outputs]
        print(*shown, sep="\n")  # noqa: T201 - pytest shows it where a test fails
        return status, "\n".join("\n".join(text.splitlines()) for text in shown)

    def _temporary(self) -> str:
        """Temporary folders in the project: where all have theirs, pytest clears away those of others."""
        self._n_runs += 1
        return f"--basetemp={self.path / f'runpytest-{self._n_runs}'}"

    def _plugins(self, loads: Sequence[str] = ()) -> list[str]:
        return [part for name in UNRELATED_PLUGINS if name not in loads for part in ("-p", f"no:{name}")]

    def _made_since(self, before: set[Path]) -> Path | None:
        made = self.run_folders() - before
        assert len(made) <= 1, made
        return made.pop() if made else None


def grid(items: int | str = 1, repetitions: int = 1) -> list[str]:
    """Options for a small grid of exact_count: two forms, so two cells an item and repetition."""
    return [
        *("--wise-items", str(items), "--wise-repetitions", str(repetitions)),
        *("--wise-form", "POS", "--wise-form", "NEG"),
    ]


def wait_until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@dataclass(frozen=True)
class Recorded:
    """A recording that several tests replay: 2 items × POS, NEG × 3 repetitions of exact_count by ``m``."""

    cassettes: Path
    base_url: str
    """Of a server that no longer runs."""
    rows: list[dict[str, Any]]

    GRID = tuple(grid(2, 3))

    @property
    def model(self) -> tuple[str, str]:
        return ("--model", f"m={self.base_url}")

"""Live runs as a user sees them: how much is asked at a time, what is lost when one ends, what it costs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.loopback import Answer, LoopbackServer, completion, error
from tests.plugin.harness import (
    ANSI,
    INTERRUPTIBLE_PYTEST,
    MODES,
    SLOW_WITH_WORKERS,
    Finished,
    Project,
    grid,
    wait_until,
    without_run,
)
from wise_pytest.panels.loader import bundled_items

if TYPE_CHECKING:
    from tests.loopback import Received

PRICED = """\
[tool.wise.models.m]
base_url = "{url}"
price = {{ input_usd = 1000.0, output_usd = 1000.0, as_of = 2026-01-01 }}
"""
"""A tenth of a cent a token, so that a few cells cost something."""


class Crowd:
    """A script that knows how many requests wait at the same time."""

    def __init__(self, delay_s: float = 0.1) -> None:
        self.delay_s = delay_s
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, request: Received, n: int) -> Any:  # noqa: ARG002 - a script's signature
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.delay_s)
        with self._lock:
            self.now -= 1


class Slowing:
    """A script that answers four requests at once, and others when they are released."""

    def __init__(self) -> None:
        self._released = threading.Event()
        self._n = 0
        self._lock = threading.Lock()

    def __call__(self, request: Received, n: int) -> Any:  # noqa: ARG002 - a script's signature
        with self._lock:
            self._n += 1
            is_slow = self._n > 4
        if is_slow:
            self._released.wait(60)

    def release_soon(self) -> None:
        """Answer in a while, in which much can be done; it is less than the six seconds that workers have."""
        threading.Timer(4, self._released.set).start()


class FlaggedFirst:
    """A script of a provider that objects to what the first item's prompt says."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, request: Received, n: int) -> Any:  # noqa: ARG002 - a script's signature
        if bundled_items()[0].task not in str(request.prompt):
            return None
        self.n += 1
        return Answer(error("content violates usage guidelines"), status=403)


def live(server: LoopbackServer, *options: str, items: int = 6, repetitions: int = 1) -> list[str]:
    model = ("--model", f"m={server.base_url}")
    return [*model, *grid(items, repetitions), "--record-mode=once", *options]


# How much at a time


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ((), 1),
        (("--wise-concurrency", "5"), 5),
        (("--wise-concurrency", "5", "-n", "2"), 5),
        (("-n", "2"), 1),
        (("--wise-concurrency", "4", "-n", "2", "--dist", "loadfile"), 2),
    ],
    ids=["one to a local server", "asked for", "shared out", "one, whoever asks", "its share"],
)
def test_no_more_is_asked_at_a_time_than_allowed(
    project: Project, server: LoopbackServer, options: tuple[str, ...], most: int
):
    server.script = crowd = Crowd()
    run = project.run(*live(server, *options))
    assert run.status == 0
    assert (most + 1) // 2 <= crowd.most <= most  # workers may begin one after the other
    assert len(run.rows) == 12
    assert server.n_requests == 12
    replay = project.run(*live(server), "--record-mode=none", "--block-network")
    assert without_run(replay.rows) == without_run(run.rows)


def test_a_local_server_is_asked_for_as_much_as_it_says_it_does(project: Project, server: LoopbackServer):
    server.pages["/props"] = Answer({"total_slots": 3})
    server.script = crowd = Crowd()
    assert project.run(*live(server)).status == 0
    assert crowd.most == 3


def test_repetitions_asked_at_the_same_time_keep_their_own_answers(project: Project, server: LoopbackServer):
    """Six equal requests are in flight; each reply belongs to one cell, and is recorded for that one."""
    run = project.run(*live(server, "--wise-concurrency", "12", items=2, repetitions=6))
    assert run.status == 0
    for item in ("i001", "i002"):
        for form in ("POS", "NEG"):
            texts = [row["text"][0] for row in run.rows if (row["item"], row["form"]) == (item, form)]
            assert sorted(texts) == list("ABCDEF")
    replay = project.run(*live(server, items=2, repetitions=6), "--record-mode=none", "--block-network")
    assert without_run(replay.rows) == without_run(run.rows)


def test_only_cells_of_tests_that_ask_are_asked_ahead(project: Project, server: LoopbackServer):
    project.write(
        "test_panel.py",
        """
import pytest

@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())

@pytest.mark.wise("length_range")
def test_length_range(wise):
    pytest.skip("not today")

@pytest.mark.skip(reason="nor this")
@pytest.mark.wise("keyword_once")
def test_keyword_once(wise):
    wise.score(wise.ask())
""",
    )
    run = project.run(*live(server, "--wise-concurrency", "8", items=3))
    assert run.counts["skipped"] > 0
    assert {row["panel"] for row in run.rows} == {"exact_count"}
    assert server.n_requests == 6


def test_with_x_a_first_run_ends_at_the_first_cell_that_cannot_be_asked(
    project: Project, server: LoopbackServer
):
    server.script = lambda *_: Answer(error("who are you?"), status=401)
    run = project.run(*live(server, "--wise-concurrency", "8", "-x"))
    assert run.status == 1
    assert server.n_requests == 1


def test_a_refused_key_is_not_tried_for_every_cell(project: Project, server: LoopbackServer):
    server.script = lambda *_: Answer(error("who are you?"), status=401)
    run = project.run(*live(server, "--wise-concurrency", "4", items=10))
    assert run.status == 1
    assert 3 <= server.n_requests <= 3 + 4
    assert all(row["status"] == "error" and row["compliant"] is None for row in run.rows)
    assert sum("HTTP 401" in row["reason"] for row in run.rows) == len(run.rows) == 20
    # The next run asks for all of it.
    server.script = None
    assert project.run(*live(server, items=10)).status == 0


def test_a_prompt_that_a_provider_objects_to_costs_no_other_cell(project: Project, server: LoopbackServer):
    """403 may be about one prompt, be it the first."""
    flagged = server.script = FlaggedFirst()
    for _ in range(2):  # the second run asks for these cells alone
        run = project.run(*live(server, "--wise-concurrency", "4", items=10))
        assert run.status == 1
        errors = [row for row in run.rows if row["status"] == "error"]
        assert {row["item"] for row in errors} == {"i001"}
        assert len(run.rows) == 20
        assert len(errors) == 2
    assert flagged.n == 2 * 2


def test_a_dead_endpoint_ends_a_run_soon(project: Project, server: LoopbackServer):
    base_url = server.base_url
    server.close()
    began = time.monotonic()
    model = ("--model", f"m={base_url}", "--record-mode=once", "--wise-items", "50")
    run = project.run(*model, "--wise-repetitions", "1", "--wise-concurrency", "8")
    assert time.monotonic() - began < 300  # 300 cells of four tries each would take twenty minutes
    assert run.status == 1
    assert len(run.rows) == 300
    assert all(row["status"] == "error" and row["compliant"] is None for row in run.rows)
    assert any("not asked, since nothing replies there" in row["reason"] for row in run.rows)


def test_requests_a_minute_hold_for_all_workers_together(project: Project, server: LoopbackServer):
    options = ("--wise-concurrency", "8", "--wise-rpm", "240", "-n", "2")
    run = project.run(*live(server, *options, items=4))
    assert run.status == 0
    posted = [request for request in server.requests if request.method == "POST"]
    assert len(posted) == 8
    times = sorted(datetime.fromisoformat(row["recorded_at"]) for row in run.rows)
    # Eight turns, a quarter of a second from one to the next; the first reply may be late.
    assert (times[-1] - times[0]).total_seconds() >= 1.0


# Whatever ends a run


def spent_of(run: Finished) -> dict[str, Any]:
    """What the run's manifest says of the model m."""
    assert run.folder is not None, run.text
    manifest = json.loads((run.folder / "manifest.json").read_text("utf-8"))
    return dict(manifest["outcome"]["spent"]["m"])


@pytest.mark.parametrize(
    "how",
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
    ids=["ctrl-c", "sigterm"],
)
@SLOW_WITH_WORKERS
def test_ctrl_c_waits_for_what_is_under_way_and_records_it(
    project: Project, server: LoopbackServer, mode: tuple[str, ...], how: signal.Signals
):
    """Nothing new is asked after it, and what is under way is recorded, and counted as spent."""
    slowing = server.script = Slowing()
    command = live(server, "--wise-concurrency", "4", *mode, items=20)
    process = project.start(*command)
    asked = 8
    wait_until(lambda: server.n_requests == asked)
    slowing.release_soon()
    ended = project.end(process, how)
    assert ended.status == 2, ended.text
    recorded = project.packs()["exact_count/m.jsonl"][1:]
    assert server.n_requests == asked, ended.text
    assert len(recorded) == asked
    assert "under way, to record them" in ended.text
    assert spent_of(ended)["calls"] == asked
    assert spent_of(ended)["inexact"] == 0
    assert f"spent on m: {asked} calls" in ended.text

    server.script = None
    run = project.run(*command)
    assert run.status == 0
    assert len(run.rows) == 40
    assert server.n_requests == 40
    assert asked < 40


@pytest.mark.slow
def test_a_controller_that_alone_is_interrupted_stops_its_workers(project: Project, server: LoopbackServer):
    """As by ``kill -INT`` of the one process that is known: the workers get no signal."""
    slowing = server.script = Slowing()
    command = live(server, "--wise-concurrency", "4", "-n", "2", items=20)
    process = project.start(*command)
    asked = 8
    wait_until(lambda: server.n_requests == asked)
    slowing.release_soon()
    os.kill(process.pid, signal.SIGINT)
    ended = project.ended(process)
    assert ended.status == 2, ended.text
    assert server.n_requests == asked
    assert len(project.packs()["exact_count/m.jsonl"][1:]) == asked
    assert spent_of(ended)["calls"] == asked


@pytest.mark.slow
def test_what_does_not_come_in_time_is_counted_at_its_most(project: Project, server: LoopbackServer):
    project.write(
        "conftest.py",
        "import wise_pytest.running\n\n"
        "wise_pytest.running.GRACE_S = wise_pytest.running.WORKER_GRACE_S = 0.2\n",
    )
    server.script = lambda *_: Answer(completion("late"), delay_s=60)
    process = project.start(*live(server, "--wise-concurrency", "4", "-n", "2"))
    wait_until(lambda: server.n_requests >= 4)
    ended = project.end(process, signal.SIGINT)
    assert server.n_requests == 4
    assert (spent_of(ended)["calls"], spent_of(ended)["inexact"]) == (4, 4), ended.text
    assert "4 calls without a count, taken at most" in ended.flat


def test_every_try_is_a_call_whether_or_not_its_tokens_were_counted(project: Project, server: LoopbackServer):
    """Four tries a cell, the last of them final; the empty body of a success may have been charged for."""
    server.script = lambda *_: Answer(b"")
    project.write("pyproject.toml", PRICED.format(url=server.base_url))
    cell = ("--wise-items=1", "--wise-repetitions=1", "--wise-form=POS", "--record-mode=once")
    run = project.run("--model=m", "--model", f"loc={server.base_url}", *cell)
    assert run.status == 1
    assert server.n_requests == 2 * 4
    for model, price in (("loc", ""), ("m", r" \$[\d.]+,")):
        spent = rf"spent on {model}: 4 calls, [\d,]+ tokens in, 480 out,{price}"
        assert re.search(f"{spent} 4 calls without a count, taken at most", run.flat), run.text


INTERRUPTED_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy.matrixlib":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.{name})

sys.meta_path.insert(0, Finder())
"""
"""Ctrl-C in the midst of numpy's import; whoever breaks that off cannot begin it again."""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_ctrl_c_while_the_audit_is_being_loaded_leaves_it_whole(
    project: Project, server: LoopbackServer, name: str
):
    project.write("conftest.py", INTERRUPTED_IMPORT.format(name=name))
    server.script = lambda *_: Answer(completion("a b"), delay_s=0.05)
    run = project.ended(project.start(*live(server, items=20)))
    assert run.status == 2, run.text
    assert "Traceback" not in run.text
    assert "KeyboardInterrupt" in run.text
    assert 1 <= len(run.rows) < 40
    assert f"partial: {len(run.rows)} of 40 cells" in run.flat


def test_a_second_ctrl_c_is_not_kept_waiting(project: Project, server: LoopbackServer):
    project.write("conftest.py", "import wise_pytest.running\n\nwise_pytest.running.GRACE_S = 50.0\n")
    server.script = lambda *_: Answer(completion("late"), delay_s=60)
    process = project.start(*live(server, "--wise-concurrency", "4"))
    wait_until(lambda: server.n_requests >= 4)
    os.killpg(process.pid, signal.SIGINT)
    wait_until(lambda: "under way, to record them" in (project.path / "started.log").read_text("utf-8"))
    began = time.monotonic()
    ended = project.end(process, signal.SIGINT)
    assert time.monotonic() - began < 50
    assert ended.status == 2
    assert "Traceback" not in ended.text


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(MODES.values()), ids=list(MODES))
def test_a_run_that_is_killed_again_and_again_loses_nothing(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    """``kill -9`` of everything at five moments; benchmarks/crash.py has twenty, and of single processes."""
    server.delay_s = 0.05
    command = live(server, "--wise-concurrency", "4", *mode, items=40)
    for pause in (0.05, 0.31, 0.12, 0.4, 0.23):
        before = server.n_requests
        process = project.start(*command)
        wait_until(lambda: server.n_requests > before or process.poll() is not None)  # noqa: B023 - waited for here
        time.sleep(pause)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    time.sleep(0.2)
    files = (project.path / "cassettes").rglob("*.jsonl")
    lines = [json.loads(line) for path in files for line in whole(path)]
    recorded = {(line["item"], line["form"]) for line in lines}
    wasted = server.n_requests - len(recorded)
    assert 0 <= wasted <= 5 * 4
    run = project.run(*command)
    assert run.status == 0
    assert len(run.rows) == 80
    assert server.n_requests == 80 + wasted
    assert len(project.packs()["exact_count/m.jsonl"]) == 1 + 80
    assert [name for name in project.files() if name.endswith(".part.jsonl")] == []


def whole(path: Any) -> list[str]:
    """The whole lines of a pack or part, without its header."""
    return [line for line in path.read_bytes().decode("ascii").split("\n")[1:-1] if line]


def test_a_killed_worker_costs_no_more_than_what_it_had_under_way(project: Project, server: LoopbackServer):
    server.script = Crowd(0.1)
    command = live(server, "--wise-concurrency", "4", "-n", "2", items=20)
    process = project.start(*command)
    wait_until(lambda: server.n_requests >= 8)
    listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True)
    os.kill(int(listed.stdout.split()[0]), signal.SIGKILL)
    ended = project.ended(process)
    assert ended.status == 1  # the cell that it was at has a technical error
    # All that the server has seen is counted, with what the dead one had under way at the most it can be.
    spent = spent_of(ended)
    n_under_way = server.n_requests - len(project.packs()["exact_count/m.jsonl"][1:])
    assert spent["calls"] == server.n_requests, ended.text
    assert n_under_way <= spent["inexact"] <= 2
    if spent["inexact"]:
        assert "without a count, taken at most" in ended.flat
    again = project.run(*command)
    assert again.status == 0
    assert len(again.rows) == 40
    assert 40 <= server.n_requests <= 42


def test_more_items_and_repetitions_ask_only_for_what_is_new(project: Project, server: LoopbackServer):
    assert project.run(*live(server, items=2, repetitions=1)).status == 0
    assert server.n_requests == 4
    run = project.run(*live(server, "--wise-concurrency", "4", items=3, repetitions=2))
    assert run.status == 0
    assert len(run.rows) == 12
    assert server.n_requests == 12


def test_recording_chosen_cells_anew_touches_only_those(project: Project, server: LoopbackServer):
    assert project.run(*live(server, items=3)).status == 0
    before = {(line["item"], line["form"]): line for line in project.packs()["exact_count/m.jsonl"][1:]}
    chosen = ("--wise-items", "i002", "--wise-form", "NEG", "--wise-repetitions", "1")
    again = ("--model", f"m={server.base_url}", *chosen, "--record-mode=rewrite", "--wise-concurrency", "4")
    assert project.run(*again).status == 0
    assert server.n_requests == 7
    after = {(line["item"], line["form"]): line for line in project.packs()["exact_count/m.jsonl"][1:]}
    assert {key for key in before if before[key] != after[key]} == {("i002", "NEG")}
    assert after.keys() == before.keys()


# Bad surroundings

NO_SPACE = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
"""
"""No file may grow beyond 6,000 bytes: writing more fails in the middle, as on a full disk."""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size")
def test_a_disk_that_fills_ends_the_run_and_keeps_what_was_recorded(project: Project, server: LoopbackServer):
    project.write("conftest.py", NO_SPACE)
    run = project.run(*live(server, "--wise-concurrency", "3", items=20))
    assert run.status == 1
    assert "recording failed: File too large; what was recorded before is kept" in run.flat
    assert server.n_requests < 20  # nobody pays for what cannot be kept
    (project.path / "conftest.py").unlink()
    n_asked = server.n_requests
    again = project.run(*live(server, "--wise-concurrency", "3", items=20))
    assert again.status == 0
    assert len(again.rows) == 40
    assert 40 <= server.n_requests <= 40 + 4  # the one that did not fit, and what was under way beside it
    assert n_asked < server.n_requests


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size")
def test_a_disk_that_has_no_room_for_the_rows_costs_a_replay_its_report_and_nothing_else(
    project: Project, server: LoopbackServer
):
    assert project.run(*live(server, items=20)).status == 0
    recorded = project.packs()
    project.write("conftest.py", NO_SPACE)
    run = project.run(*live(server, "--record-mode=none", items=20))
    assert run.status == 1
    assert "6 passed, 34 noncompliant" in run.flat
    assert "generations.jsonl: cannot be written: File too large; without its rows the run has no" in run.flat
    assert "gate:" not in run.text
    assert not [path.name for path in run.folder.iterdir() if path.name.startswith(("audit", "tables"))]
    assert project.latest != run.folder
    # Enough for the rows, and not for the page.
    project.write("conftest.py", NO_SPACE.replace("6000", "45000"))
    run = project.run(*live(server, "--record-mode=none", items=20))
    assert run.status == 1
    assert "audit.html: cannot be written: File too large; mend that, and `wise report" in run.flat
    assert "gate:" not in run.text
    assert len(run.rows) == 40
    assert sorted(path.name for path in run.folder.iterdir()) == ["generations.jsonl", "manifest.json"]
    manifest = json.loads((run.folder / "manifest.json").read_text("utf-8"))
    assert manifest["outcome"]["gate"] == "not_evaluated"
    assert project.latest != run.folder
    (project.path / "conftest.py").unlink()
    assert project.wise("report", str(run.folder)).status == 0
    assert (run.folder / "audit.html").exists()
    assert project.packs() == recorded
    assert project.run(*live(server, "--record-mode=none", items=20)).status == 0


BROKEN_END = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    {full}
    raise RuntimeError("somebody else's plugin")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size")
def test_what_cannot_be_packed_is_one_line_even_where_another_plugin_breaks_the_end(
    project: Project, server: LoopbackServer
):
    project.write("conftest.py", BROKEN_END.format(full=NO_SPACE.strip().replace("\n", "; ")))
    run = project.run(*live(server, items=20), crashes=True)
    assert run.status == 1
    assert "RuntimeError: somebody else's plugin" in run.text
    assert "ERROR: " in run.text
    assert "m.jsonl: cannot be written: File too large" in run.text
    assert "CassetteError" not in run.text
    project.write("conftest.py", BROKEN_END.format(full="pass"))
    again = project.run(*live(server, items=20), crashes=True)
    assert "RuntimeError: somebody else's plugin" in again.text
    assert server.n_requests == 40
    assert len(project.packs()["exact_count/m.jsonl"]) == 1 + 40


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_asked(
    project: Project, server: LoopbackServer
):
    project.write("file", "no folder")
    run = project.run(*live(server, "--wise-cassettes", "file/cassettes"))
    assert run.status == 4
    assert "file/cassettes: cannot record into this folder" in run.flat
    assert server.n_requests == 0


BACKWARDS = """
import time, datetime
import wise_pytest.manifest, wise_pytest.transport.tries
jumps = iter(range(10**6))
class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime(2030, 1, 1, tzinfo=tz) - datetime.timedelta(hours=next(jumps))
wise_pytest.manifest.datetime = wise_pytest.transport.tries.datetime = Clock
real = time.time
time.time = lambda: real() - 3600 * next(jumps)
"""


def test_a_clock_that_jumps_back_disturbs_nothing(project: Project, server: LoopbackServer):
    project.write("conftest.py", BACKWARDS)
    server.script = lambda request, n: (  # noqa: ARG005 - a script's signature
        Answer(error("slow"), status=429, headers={"retry-after-ms": "10"}) if n == 0 else None
    )
    run = project.run(*live(server, "--wise-concurrency", "4"))
    assert run.status == 0
    (project.path / "conftest.py").unlink()
    replay = project.run(*live(server), "--record-mode=none", "--block-network")
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(run.rows)


# Money


@pytest.mark.parametrize("mode", list(MODES.values()), ids=list(MODES))
def test_a_budget_ends_the_run_cleanly_with_what_it_has(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    server.delay_s = 0.05
    project.write("pyproject.toml", PRICED.format(url=server.base_url))
    command = ["--model", "m", *grid(30), "--record-mode=once", "--wise-concurrency", "4", *mode]
    run = project.run(*command, "--wise-max-cost", "0.5")
    assert run.status == 1
    assert run.gate != "pass"
    assert 0 < len(run.rows) < 60
    assert all(row["status"] == "ok" for row in run.rows)
    assert re.search(r"partial: \d+ of 60 cells", run.text)
    recorded = project.packs()["exact_count/m.jsonl"][1:]
    assert len(recorded) == server.n_requests
    usages = [json.loads(line["response"]["body"])["usage"] for line in recorded]
    tokens = sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
    assert tokens / 1000 <= 0.5
    assert run.folder is not None
    outcome = json.loads((run.folder / "manifest.json").read_text())["outcome"]
    spent = outcome["spent"]["m"]
    assert spent["calls"] == server.n_requests
    assert spent["input_tokens"] + spent["output_tokens"] == tokens
    assert spent["usd"] == pytest.approx(tokens / 1000)
    assert "of at most $0.5000" in run.text

    rest = project.run(*command, "--wise-max-cost", "100")
    assert rest.status == 0
    assert len(rest.rows) == 60
    assert server.n_requests == 60


def test_a_budget_needs_prices(project: Project, server: LoopbackServer):
    model = ("--model", "m=http://models.example/v1", *grid())
    run = project.run(*model, "--record-mode=once", "--wise-max-cost", "1")
    assert run.status == 4
    assert '--wise-max-cost: the price of m is not known; give it one in [tool.wise.models."m"]' in run.flat
    assert server.n_requests == 0


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--wise-max-cost", "0"), "--wise-max-cost: must be a number over 0, in US dollars, not '0'"),
        (("--wise-max-cost", "nan"), "--wise-max-cost: must be a number over 0"),
        (("--wise-rpm", "-1"), "--wise-rpm: must be a number over 0, in requests a minute, not '-1'"),
        (("--wise-rpm", "OpenAI=5"), "--wise-rpm: no model of this run is from 'OpenAI', only from local"),
        (("--wise-concurrency", "0"), "--wise-concurrency: must be a whole number from 1 to 1000, not '0'"),
        (("--wise-concurrency", "x"), "--wise-concurrency: must be a whole number from 1 to 1000, not 'x'"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    project: Project, server: LoopbackServer, option: tuple[str, ...], says: str
):
    run = project.run(*live(server, *option))
    assert run.status == 4
    assert says in run.flat


@pytest.mark.parametrize("mode", list(MODES.values()), ids=list(MODES))
def test_a_plan_asks_for_nothing(project: Project, server: LoopbackServer, mode: tuple[str, ...]):
    project.write("pyproject.toml", PRICED.format(url=server.base_url))
    plan = ["--model", "m", *grid(4), "--wise-plan", *mode]
    first = project.run(*plan)
    assert first.status == 0
    assert re.search(r"exact_count +m +8 +8 +[\d,]+ +480 +\$\S+ +\$\S+ +estimated", first.text)
    assert "nothing was asked: this is a plan" in first.text
    assert server.requests == []
    assert project.files() == {"test_panel.py", "pyproject.toml"}

    assert project.run("--model", "m", *grid(2), "--record-mode=once").status == 0
    asked = list(server.requests)
    rows = project.run("--model", "m", *grid(2)).rows
    mean_out = sum(row["usage"]["output_tokens"] for row in rows) / len(rows)
    second = project.run(*plan)
    measured = re.search(r"exact_count +m +8 +4 +([\d,]+) +([\d,]+) +\$(\S+) +\$(\S+) +measured", second.text)
    assert measured is not None, second.text
    assert int(measured[2]) == round(4 * mean_out)
    tokens = int(measured[1].replace(",", "")) + int(measured[2].replace(",", ""))
    assert float(measured[3]) == pytest.approx(tokens / 1000, abs=0.0001)
    assert float(measured[4]) > float(measured[3])
    assert server.requests == asked


def test_a_plan_says_what_is_stale_and_what_the_mode_does_with_it(project: Project, server: LoopbackServer):
    """Two of four cells are recorded, and then the model's temperature is another one."""
    project.write("pyproject.toml", PRICED.format(url=server.base_url))
    assert project.run("--model", "m", *grid(1), "--record-mode=once").status == 0
    project.write("pyproject.toml", PRICED.format(url=server.base_url) + "extra = { top_p = 0.5 }\n")
    n_asked = server.n_requests
    error, again = (
        "an error with --record-mode={}; new_episodes asks again",
        "asked again with --record-mode={}",
    )
    for mode, to_ask, what in (
        (None, 2, error.format("once")),
        ("once", 2, error.format("once")),
        ("none", 0, error.format("none")),
        ("new_episodes", 4, again.format("new_episodes")),
        ("all", 4, again.format("all")),
    ):
        given = [] if mode is None else [f"--record-mode={mode}"]
        plan = project.run("--model", "m", *grid(2), "--wise-plan", *given)
        assert re.search(rf"exact_count +m +4 +{to_ask} ", plan.text), plan.text
        assert f"stale: 2 cells of exact_count, m, of another request: {what}" in plan.flat
        said = "--record-mode=none asks nothing: 2 cells without a recording"
        assert (said in plan.flat) == (mode == "none")
    assert server.n_requests == n_asked


def test_a_plan_needs_no_key(project: Project):
    run = project.run("--model", "gpt-4.1-mini", *grid(), "--wise-plan")
    assert run.status == 0
    assert re.search(r"gpt-4\.1-mini +2 +2 ", run.text)


# Progress


def on_a_terminal(project: Project, *arguments: str) -> str:
    """What pytest writes to a terminal."""
    import pty

    main, side = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "dumb"}
    command = [sys.executable, "-c", INTERRUPTIBLE_PYTEST, *project._plugins(), *arguments]
    process = subprocess.Popen(
        command, cwd=project.path, stdout=side, stderr=side, stdin=subprocess.DEVNULL, env=environment
    )
    os.close(side)
    written = b""
    while True:
        try:
            some = os.read(main, 65536)
        except OSError:  # the other side has closed
            break
        if not some:
            break
        written += some
    os.close(main)
    process.wait(timeout=60)
    return ANSI.sub("", written.decode("utf-8"))


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_shows_how_far_a_long_run_is(project: Project, server: LoopbackServer):
    server.delay_s = 0.05
    text = on_a_terminal(project, *live(server, "--wise-concurrency", "4", items=60))
    lines = [line for line in text.split("\r") if re.match(r"\d+/120 \(", line)]
    assert len(lines) >= 2
    assert re.fullmatch(r"\d+/120 \(\d+%\), \d+\.\d/s, \d+:\d\d left", lines[-1].strip())
    assert "120 noncompliant" in text or re.search(r"\d+ passed, \d+ noncompliant", text)
    assert not re.search(r"n{10}", text)  # no letters beside it


def test_a_log_has_letters_and_a_quiet_run_has_nothing_more(project: Project, server: LoopbackServer):
    server.delay_s = 0.02
    run = project.run(*live(server, "--wise-concurrency", "8", items=60))
    assert len(run.letters) == 120
    assert "/s, " not in run.text
    quiet = project.run(*live(server, "--wise-concurrency", "8", "-q", items=60))
    assert "/s, " not in quiet.text


def test_what_was_spent_is_said_of_what_was_asked_and_not_of_a_replay(
    project: Project, server: LoopbackServer
):
    run = project.run(*live(server, items=2))
    usages = [row["usage"] for row in run.rows]
    tokens_in = sum(usage["input_tokens"] for usage in usages)
    tokens_out = sum(usage["output_tokens"] for usage in usages)
    assert f"spent on m: 4 calls, {tokens_in} tokens in, {tokens_out} out" in run.text
    replay = project.run(*live(server, items=2), "--record-mode=none")
    assert "spent on" not in replay.text
    assert replay.folder is not None
    assert json.loads((replay.folder / "manifest.json").read_text())["outcome"]["spent"] == {}

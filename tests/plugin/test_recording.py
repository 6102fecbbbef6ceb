"""Recording survives what happens to long runs: busy providers, many workers, crashes and kills."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, LoopbackServer, error
from tests.plugin.harness import MODES, SLOW_WITH_WORKERS, Project, grid, wait_until, without_run

if TYPE_CHECKING:
    from tests.loopback import Received, Reply

BUSY = error("slow down", code="rate_limit_exceeded")
DYING_TEST = """\
import os
import pytest

@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    answer = wise.ask()
    if (wise.cell.item, wise.cell.form) == ("i002", "NEG") and os.environ.get("DIE"):
        os._exit(3)
    wise.score(answer)
"""


@SLOW_WITH_WORKERS
def test_only_the_good_reply_is_stored_and_an_all_busy_cell_can_be_recorded_later(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    """POS is busy once. NEG always is, and asks for more patience than there is, which ends the tries."""

    def script(request: Received, n: int) -> Reply:
        if "exactly" not in str(request.prompt):
            return Answer(BUSY, status=429, headers={"retry-after": "3600"})
        return Answer(BUSY, status=429, headers={"retry-after": "0"}) if n == 0 else None

    server.script = script
    model = ("--model", f"m={server.base_url}")
    first = project.run(*model, *grid(), "--record-mode=once", *mode)
    assert first.status == 1
    neg, pos = first.rows
    assert (pos["status"], pos["attempts"]) == ("ok", 2)
    assert (neg["status"], neg["compliant"]) == ("error", None)
    assert "429" in neg["reason"]
    assert "slow down" in neg["reason"]
    assert "slow down" in first.flat
    assert server.n_requests == 3
    ((_, only),) = project.packs().values()
    assert (only["form"], only["attempts"], only["response"]["status"]["code"]) == ("POS", 2, 200)

    server.script = None
    second = project.run(*model, *grid(), "--record-mode=once", *mode)
    assert second.status == 0
    assert server.n_requests == 4
    assert [row["status"] for row in second.rows] == ["ok", "ok"]

    server.close()
    replay = project.run(*model, *grid(), "--block-network", *mode)
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(second.rows)
    assert [row["attempts"] for row in replay.rows] == [1, 2]


def test_many_workers_record_one_sorted_whole_pack(project: Project, server: LoopbackServer):
    model = ("--model", f"m={server.base_url}")
    run = project.run(*model, *grid(4, 3), "--record-mode=once", "-n", "4")
    assert run.status == 0
    assert len(run.rows) == 24
    assert Counter(str(request.prompt) for request in server.requests if request.method == "POST") == {
        row["prompt"]: 3 for row in run.rows
    }
    assert [name for name in project.files() if name.startswith("cassettes/") and name.endswith("l")] == [
        "cassettes/exact_count/m.jsonl"
    ]
    header, *lines = project.packs()["exact_count/m.jsonl"]
    assert header["recordings"] == 24
    keys = [(line["item"], line["form"], line["repetition"]) for line in lines]
    assert keys == sorted(
        (item, form, k)
        for item in ("i001", "i002", "i003", "i004")
        for form in ("NEG", "POS")
        for k in (1, 2, 3)
    )
    replay = project.run(*model, *grid(4, 3), "--block-network")
    assert without_run(replay.rows) == without_run(run.rows)
    assert server.n_requests == 24


def test_a_worker_that_dies_costs_its_one_cell(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    project.write("test_panel.py", DYING_TEST)
    monkeypatch.setenv("DIE", "1")
    model = ("--model", f"m={server.base_url}")
    run = project.run(*model, *grid(3), "--record-mode=once", "-n", "2")
    assert run.status == 1
    assert Counter(row["status"] for row in run.rows) == {"ok": 5, "error": 1}
    (lost,) = [row for row in run.rows if row["status"] == "error"]
    assert (lost["item"], lost["form"]) == ("i002", "NEG")
    assert lost["compliant"] is None
    assert run.gate != "pass"
    assert run.counts["error"] == 1
    assert "failed" not in run.counts
    # Its reply had arrived, and is kept: only its test has not come to score it.
    assert len(project.packs()["exact_count/m.jsonl"]) == 1 + 6
    assert [name for name in project.files() if name.endswith(".part.jsonl")] == []

    monkeypatch.delenv("DIE")
    again = project.run(*model, *grid(3), "--record-mode=once", "-n", "2")
    assert again.status == 0
    assert len(again.rows) == 6
    assert server.n_requests <= 7  # it may have had another one under way


@pytest.mark.parametrize(
    "mode",
    [pytest.param(MODES["plain"], marks=pytest.mark.slow), MODES["two-workers"]],
    ids=list(MODES),
)
def test_a_killed_run_is_continued_where_it_was(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    """``kill -9`` of everything at once; each cell has a prompt of its own here."""
    server.delay_s = 0.1
    command = ["--model", f"m={server.base_url}", *grid(6), "--record-mode=once", *mode]
    process = project.start(*command)
    wait_until(lambda: server.n_requests >= 5)
    killed = project.end(process, signal.SIGKILL)
    assert killed.status == -signal.SIGKILL
    journal = killed.rows
    assert 1 <= len(journal) <= 11

    parts = [line for lines in project.packs().values() for line in lines[1:]]
    prompts = [json.loads(line["request"]["body"])["messages"][0]["content"] for line in parts]
    assert len(prompts) >= 3
    asked_before = server.n_requests
    server.delay_s = 0.0

    run = project.run(*command)
    assert run.status == 0
    assert len(run.rows) == 12
    assert all(server.count(prompt) == 1 for prompt in prompts)
    assert server.n_requests == asked_before + 12 - len(prompts)
    assert len(project.packs()["exact_count/m.jsonl"]) == 1 + 12
    assert [name for name in project.files() if name.endswith(".part.jsonl")] == []
    # What a report of the killed run had said is what was recorded.
    texts = {(row["item"], row["form"]): row["text"] for row in run.rows}
    assert all(texts[row["item"], row["form"]] == row["text"] for row in journal)


def is_running(pid: str) -> bool:
    """Whether the process is there, and not only its place in the table."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False)
    return bool(shown.stdout.strip()) and not shown.stdout.startswith("Z")


@pytest.mark.slow
def test_workers_whose_controller_is_killed_do_no_harm(project: Project, server: LoopbackServer):
    """What somebody does who kills the one process that they see; its workers notice a little later."""
    server.delay_s = 0.1
    command = ["--model", f"m={server.base_url}", *grid(6), "--record-mode=once", "-n", "2"]
    process = project.start(*command)
    wait_until(lambda: server.n_requests >= 5)
    listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True)
    process.kill()
    process.wait(timeout=60)
    recorded = sum(len(lines) - 1 for lines in project.packs().values())
    assert recorded >= 3
    run = project.run(*command)
    assert run.status == 0
    assert len(run.rows) == 12
    assert server.n_requests <= 12 + (12 - recorded)
    wait_until(lambda: not any(map(is_running, listed.stdout.split())))
    replay = project.run(*command[:-2], "--block-network")
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(run.rows)


def test_two_runs_do_not_record_into_one_folder(project: Project, server: LoopbackServer):
    released = threading.Event()

    def script(*_: object) -> None:
        released.wait(60)

    server.script = script
    command = ["--model", f"m={server.base_url}", *grid(3), "--record-mode=once"]
    process = project.start(*command)
    wait_until(lambda: server.n_requests >= 1)
    second = project.run(*command)
    released.set()
    assert process.wait(timeout=60) == 0
    assert second.status == 4
    assert "another run is recording into this folder" in second.flat
    assert server.n_requests == 6


@SLOW_WITH_WORKERS
def test_disabled_recording_calls_live_and_keeps_nothing(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    model = ("--model", f"m={server.base_url}")
    assert project.run(*model, *grid(), "--record-mode=once").status == 0
    before = {
        name: (project.path / name).read_bytes() for name in project.files() if name.endswith("/m.jsonl")
    }
    live = project.run(*model, *grid(), "--disable-recording", *mode)
    assert live.status == 0
    assert server.n_requests == 4
    assert [row["text"][0] for row in live.rows] == ["B", "B"]
    assert {name: (project.path / name).read_bytes() for name in before} == before
    assert [name for name in project.files() if name.endswith(".part.jsonl")] == []

"""What a process of a run shares with the others: who has died, whether the run goes on, the books."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.recordings import part_bytes, recording
from wise_pytest.session import Session
from wise_pytest.workers import note_death
from wise_pytest.xdist import RunIdentity

if TYPE_CHECKING:
    from pathlib import Path

KEY = ("i1", "POS", 1)


def session_of(books: Path, cassettes: Path) -> Session:
    settings: Any = SimpleNamespace(models=(), cassettes=cassettes, max_cost_usd=None)
    identity = RunIdentity(run="r", started_at="2026-01-02T03:04:05Z", books=str(books))
    return Session(settings, identity, writer="gw1")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no file that keeps its reader waiting")
def test_nobody_takes_recordings_for_known_that_are_still_being_read(tmp_path: Path):
    """Two threads come to ask; the dead worker's part can be read only once both have."""
    session = session_of(tmp_path, tmp_path / "cassettes")
    pack = session.store.pack("p", "m")
    pack.path.parent.mkdir(parents=True)
    part = pack.path.parent / "m.s1-gw0-1.part.jsonl"
    os.mkfifo(part)
    note_death(str(tmp_path))
    knows: list[bool] = []

    def ask() -> None:
        session.learn_of_deaths()
        knows.append(KEY in pack)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    assert knows == []
    with part.open("wb") as stream:
        stream.write(part_bytes(recording().to_line()))
    for thread in threads:
        thread.join(10)
    assert knows == [True, True]


ORPHAN = """
import os, sys, time
from types import SimpleNamespace
import wise_pytest.transport.client  # before the parent goes away
from wise_pytest.session import Session
from wise_pytest.xdist import RunIdentity

parent = os.getpid()
if os.fork():
    time.sleep(0.5)
    os._exit(0)
settings = SimpleNamespace(models=(), disable_recording=True, max_cost_usd=None)
session = Session(settings, RunIdentity("r", ""), writer="w", has_controller=sys.argv[1] == "worker")
before = session.client._alive()
while os.getppid() == parent:
    time.sleep(0.01)
print(before, session.client._alive(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no parent that goes away")
@pytest.mark.parametrize(("process", "said"), [("main", "True True"), ("worker", "True False")])
def test_only_a_worker_ends_asking_with_its_parent(process: str, said: str):
    """As after ``nohup pytest &`` and the end of the shell: the run goes on, and asks ahead as before."""
    run = subprocess.run(
        [sys.executable, "-c", ORPHAN, process], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == said


def test_the_end_releases_the_books(tmp_path: Path):
    session = session_of(tmp_path, tmp_path / "cassettes")
    assert session.ledger.spent() == {}
    session.close()
    assert session.ledger._file == -1  # type: ignore[attr-defined]

"""How much longer it takes to replay cells than to run as many empty parametrized tests.

Both are whole pytest processes on this machine, run in turn; each ratio is of a
pair, and the median is printed. There are 1,800 cells, replayed from recordings that
the script makes first against a loopback server of its own; or, with ``--bundled``,
all tests of ``test_panels`` with everything that is recorded in ``cassettes``.

    python benchmarks/replay_overhead.py [--pairs 5] [--workers N] [--bundled]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ITEMS = 100
CELLS = 1800
PANEL_TEST = """\
import pytest


@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""
EMPTY_TEST = """\
import pytest

IDS = [f"exact_count-model-i{n}-pos-r1" for n in range(CELLS)]


@pytest.mark.parametrize("number", range(CELLS), ids=IDS)
def test_empty(number):
    pass
"""
ROOT = Path(__file__).parent.parent
LOOPBACK = ROOT / "tests" / "loopback.py"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs (default: 5)")
    parser.add_argument("--workers", help="run both under xdist with -n WORKERS")
    parser.add_argument("--bundled", action="store_true", help="replay everything that is bundled")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty").mkdir()
        if parsed.bundled:
            sessions = sessions_of_one_language(folder)
            replay = ["--model", "*", "--wise-cassettes", str(ROOT / "cassettes"), "--block-network"]
            n_tests = sum(count_tests(session, replay) for session in sessions)
        else:
            (folder / "panel").mkdir()
            (folder / "panel" / "test_panel.py").write_text(PANEL_TEST, encoding="utf-8")
            replay, n_tests, sessions = ["--model", record(folder / "panel")], CELLS, [folder / "panel"]
        empty = EMPTY_TEST.replace("CELLS", str(n_tests))
        (folder / "empty" / "test_empty.py").write_text(empty, encoding="utf-8")
        extra = ["-n", parsed.workers] if parsed.workers else []
        ratios = []
        for _ in range(parsed.pairs):
            empty_s = timed(folder / "empty", extra)
            replay_s = sum(timed(session, [*replay, *extra]) for session in sessions)
            ratios.append(replay_s / empty_s)
            print(f"empty {empty_s:.2f} s, replay {replay_s:.2f} s, ratio {ratios[-1]:.2f}")
    print(
        f"replay_overhead: median ratio {statistics.median(ratios):.2f} "
        f"({n_tests} tests of a replay against as many empty ones, {parsed.pairs} pairs, "
        f"{os.cpu_count()} cores)"
    )


def sessions_of_one_language(folder: Path) -> list[Path]:
    """Folders with all bundled panels: those in English in one, each of the others in one of its own."""
    shutil.copytree(ROOT / "test_panels", folder / "panel")
    sessions = [folder / "panel"]
    for test in sorted((folder / "panel" / "other_languages").glob("test_*.py")):
        sessions.append(folder / test.stem)
        sessions[-1].mkdir()
        test.rename(sessions[-1] / test.name)
    return sessions


def count_tests(folder: Path, extra: list[str]) -> int:
    """How many tests pytest collects, those of what is not recorded among them."""
    command = [sys.executable, "-m", "pytest", "--co", "-q", "-p", "no:cacheprovider", *extra]
    collected = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return sum("::" in line for line in collected.stdout.splitlines())


def record(folder: Path) -> str:
    """Record all cells from a loopback server; the model's name and address."""
    server = subprocess.Popen(
        [sys.executable, str(LOOPBACK), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        if server.stdout is None:
            raise SystemExit("the loopback server has no output")
        port = int(server.stdout.readline().split()[-1])
        model = f"benchmark=http://127.0.0.1:{port}/v1"
        run(folder, ["--model", model, "--record-mode=once"])
    finally:
        server.terminate()
        server.wait()
    return model


def timed(folder: Path, extra: list[str]) -> float:
    """Wall time of one pytest process, in seconds."""
    began = time.perf_counter()
    run(folder, extra)
    return time.perf_counter() - began


def run(folder: Path, extra: list[str]) -> None:
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()

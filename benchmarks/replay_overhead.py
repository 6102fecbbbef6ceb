"""How much longer it takes to replay 1,800 cells than to run 1,800 empty parametrized tests.

Both are whole pytest processes on this machine, run in turn; each ratio is of a
pair, and the median is printed. The cells are replayed from recordings that the
script makes first against a loopback server of its own.

    python benchmarks/replay_overhead.py [--pairs 5] [--workers N]
"""

from __future__ import annotations

import argparse
import os
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
EMPTY_TEST = f"""\
import pytest

IDS = [f"exact_count-model-i{{n}}-pos-r1" for n in range({CELLS})]


@pytest.mark.parametrize("number", range({CELLS}), ids=IDS)
def test_empty(number):
    pass
"""
LOOPBACK = Path(__file__).parent.parent / "tests" / "loopback.py"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs (default: 5)")
    parser.add_argument("--workers", help="run both under xdist with -n WORKERS")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "panel").mkdir()
        (folder / "empty").mkdir()
        (folder / "panel" / "test_panel.py").write_text(PANEL_TEST, encoding="utf-8")
        (folder / "empty" / "test_empty.py").write_text(EMPTY_TEST, encoding="utf-8")
        model = record(folder / "panel")
        extra = ["-n", parsed.workers] if parsed.workers else []
        ratios = []
        for _ in range(parsed.pairs):
            empty_s = timed(folder / "empty", extra)
            replay_s = timed(folder / "panel", ["--model", model, *extra])
            ratios.append(replay_s / empty_s)
            print(f"empty {empty_s:.2f} s, replay {replay_s:.2f} s, ratio {ratios[-1]:.2f}")
    print(
        f"replay_overhead: median ratio {statistics.median(ratios):.2f} "
        f"({CELLS} replayed cells against {CELLS} empty tests, {parsed.pairs} pairs, {os.cpu_count()} cores)"
    )


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

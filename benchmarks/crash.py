"""Whether a live run that is killed again and again loses nothing and pays for nothing twice.

The same command is started until it ends by itself, and killed with SIGKILL at
random moments: all its processes, one worker alone, or the process that the user
started alone. At the end the rows must be those of an undisturbed run, and the
endpoint must have been asked for every cell once, but for what was under way at
a kill: at most the concurrency each time.

    python benchmarks/crash.py [--kills 20] [--items 100] [--workers 2] [--seed 1]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from endpoint import Running

PANEL_TEST = """\
import pytest


@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""
UNRELATED = ("-p", "no:hypothesispytest", "-p", "no:anyio")
CONCURRENCY = 16
DELAY_S = 0.1
OF_ITS_OWN = frozenset({"run", "recorded_at", "latency_s", "attempts"})
"""Fields in which two runs may differ."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--items", type=int, default=100, help="items, of six cells each (default: 100)")
    parser.add_argument("--workers", default="2", help="xdist's -n; 0 for one process (default: 2)")
    parser.add_argument("--seed", type=int, default=1)
    parsed = parser.parse_args()
    rng = random.Random(parsed.seed)
    options = ["--wise-items", str(parsed.items), "--wise-repetitions", "1"]
    options += ["--wise-concurrency", str(CONCURRENCY), "-n", parsed.workers]
    n_cells = 6 * parsed.items
    with tempfile.TemporaryDirectory() as name, Running(delay_s=DELAY_S, same=True) as endpoint:
        calm, killed = Path(name, "calm"), Path(name, "killed")
        expected = finish(start(calm, endpoint.base_url, options), calm)
        before = sum(endpoint.counts()["asked"].values())
        if before != n_cells:
            raise SystemExit(f"the undisturbed run has asked {before} times")
        wasted: list[int] = []
        for number in range(parsed.kills):
            process = start(killed, endpoint.base_url, options)
            wait_for_calls(endpoint, process)
            time.sleep(rng.uniform(0.0, 1.0 / 20 * n_cells * DELAY_S / CONCURRENCY))
            how = ("all", "worker", "main")[number % 3] if parsed.workers != "0" else "all"
            kill(process, how)
            asked = settled(endpoint) - before
            wasted.append(asked - len(recorded(killed)) - sum(wasted))
            if how == "worker":  # the others go on, and so does the run
                finish(process, killed, may_fail=True)
                asked = settled(endpoint) - before
                wasted[-1] = asked - len(recorded(killed)) - sum(wasted[:-1])
            if not 0 <= wasted[-1] <= CONCURRENCY:
                raise SystemExit(f"kill {number} ({how}) has cost {wasted[-1]} calls")
        rows = finish(start(killed, endpoint.base_url, options), killed)
        asked = settled(endpoint) - before
    if rows != expected:
        raise SystemExit("the rows are not those of the undisturbed run")
    if asked != n_cells + sum(wasted):
        raise SystemExit(
            f"{asked} calls for {n_cells} cells, and {sum(wasted)} that were under way at a kill"
        )
    print(
        f"crash: {n_cells} cells, {parsed.kills} kills, -n {parsed.workers}: the same rows as undisturbed, "
        f"{asked} calls: {sum(wasted)} were under way at a kill, at most {max(wasted, default=0)} of "
        f"{CONCURRENCY} at one; {os.cpu_count()} cores"
    )


def start(folder: Path, base_url: str, options: list[str]) -> subprocess.Popen[bytes]:
    """Start the run in a process group of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "test_panel.py").write_text(PANEL_TEST, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *UNRELATED]
    command += ["--model", f"m={base_url}", "--record-mode=once", *options]
    with (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def wait_for_calls(endpoint: Running, process: subprocess.Popen[bytes]) -> None:
    """Wait until the run asks for something; a complete one never does."""
    before = sum(endpoint.counts()["asked"].values())
    while process.poll() is None and sum(endpoint.counts()["asked"].values()) == before:
        time.sleep(0.02)


def kill(process: subprocess.Popen[bytes], how: str) -> None:
    """End the group, one worker, or the main process."""
    if how == "all":
        with contextlib.suppress(ProcessLookupError):  # it has come to its end
            os.killpg(process.pid, signal.SIGKILL)
    elif how == "main":
        process.kill()
    else:
        listed = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
        )
        workers = listed.stdout.split()
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(workers[0]), signal.SIGKILL)
            return
    process.wait()


def settled(endpoint: Running) -> int:
    """How often the endpoint was asked, once nobody asks any more."""
    last = -1
    while (asked := sum(endpoint.counts()["asked"].values())) != last:
        last = asked
        time.sleep(4 * DELAY_S)
    return asked


def finish(process: subprocess.Popen[bytes], folder: Path, *, may_fail: bool = False) -> list[dict[str, Any]]:
    """Wait for a run's end; its rows, sorted, without what two runs may differ in."""
    status = process.wait()
    if status and not may_fail:
        raise SystemExit((folder / "log.txt").read_text("utf-8")[-4000:])
    newest = max((folder / "reports").glob("2*"), key=lambda path: path.stat().st_mtime)
    rows = [json.loads(line) for line in (newest / "generations.jsonl").read_text("ascii").splitlines()]
    rows.sort(key=lambda row: (row["item"], row["form"]))
    return [{name: value for name, value in row.items() if name not in OF_ITS_OWN} for row in rows]


def recorded(folder: Path) -> set[tuple[str, str]]:
    """The cells that are in packs and parts, each cut line left out."""
    found = set()
    for path in (folder / "cassettes").rglob("*.jsonl"):
        for line in path.read_bytes().split(b"\n")[1:-1]:
            record = json.loads(line)
            found.add((record["item"], record["form"]))
    return found


if __name__ == "__main__":
    main()

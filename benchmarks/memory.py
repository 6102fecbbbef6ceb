"""How much memory a run of the paper's whole panel takes: 13 models, 23,400 cells, live and replayed.

Prints the largest resident size that any one process of a run has reached,
against the limit of 400 MB.

    python benchmarks/memory.py [--models 13] [--workers 0]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from endpoint import Running

LIMIT_MB = 400
PANEL_TEST = """\
import pytest


@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""
UNRELATED = ("-p", "no:hypothesispytest", "-p", "no:anyio")
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=13, help="models, of 1,800 cells each (default: 13)")
    parser.add_argument("--workers", default="0", help="xdist's -n (default: 0)")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Running(delay_s=0.05) as endpoint:
        folder = Path(name)
        (folder / "test_panel.py").write_text(PANEL_TEST, encoding="utf-8")
        models = [f"--model=m{n:02}={endpoint.base_url}" for n in range(parsed.models)]
        for how, mode in (("live", "once"), ("replayed", "none")):
            began = time.perf_counter()
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *UNRELATED, *models]
            command += [f"--record-mode={mode}", "--wise-concurrency=64", "-n", parsed.workers]
            largest = peak_mb(command, folder)
            took = time.perf_counter() - began
            print(
                f"memory: {1800 * parsed.models} cells, {how}, -n {parsed.workers}: {largest:.0f} MB in the "
                f"largest process (at most {LIMIT_MB}), {took:.0f} s, {os.cpu_count()} cores",
                flush=True,
            )


def peak_mb(command: list[str], folder: Path) -> float:
    """The largest resident size of a command and its processes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    size = int(done.stdout.split()[-1])
    return size / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    resource.getrusage(resource.RUSAGE_SELF)  # not on every system: better said before an hour's run
    main()

"""What the plugin adds to the start of pytest in a project that does not use it.

Runs ``pytest --collect-only`` on an empty folder with and without the plugin,
in turn, and prints the median difference and the ratio.

    python benchmarks/import_cost.py [--pairs 15]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT_MS = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs (default: 15)")
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        timed(folder, [])
        without, with_plugin = [], []
        for _ in range(pairs):
            without.append(timed(folder, ["-p", "no:wise"]))
            with_plugin.append(timed(folder, []))
    added_ms = 1000 * statistics.median(a - b for a, b in zip(with_plugin, without, strict=True))
    ratio = statistics.median(with_plugin) / statistics.median(without)
    print(
        f"import_cost: the plugin adds {added_ms:.1f} ms (at most {LIMIT_MS}), ratio {ratio:.3f} "
        f"({statistics.median(without) * 1000:.0f} ms without, {pairs} pairs, {os.cpu_count()} cores)"
    )


def timed(folder: str, extra: list[str]) -> float:
    """Wall time of one pytest process that has nothing to do, in seconds."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra],
        cwd=folder,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

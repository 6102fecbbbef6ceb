"""Whether a live run through a bad network ends with the right row for every cell, and no call too many.

1,800 cells are asked of an endpoint that fails one request in five, in nine ways:
busy, overloaded, broken, reset, cut, an empty success, an error in a success, a
body that is no JSON, a refused request. What each cell must come to is worked
out from the endpoint's own dice, and compared with the rows, the recordings and
the endpoint's count. Then the same command runs again, without faults: it must
ask for what is missing, and for nothing else.

    python benchmarks/faults.py [--workers N] [--concurrency 32]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from endpoint import FINAL, KINDS, Running, fault_of

PANEL_TEST = """\
import pytest


@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""
UNRELATED = ("-p", "no:hypothesispytest", "-p", "no:anyio")
FAULTS, SEED, MAX_TRIES = 0.2, 1, 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", help="run under xdist with -n WORKERS")
    parser.add_argument("--concurrency", type=int, default=32)
    parsed = parser.parse_args()
    extra = ["--wise-concurrency", str(parsed.concurrency)]
    extra += ["-n", parsed.workers] if parsed.workers else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_panel.py").write_text(PANEL_TEST, encoding="utf-8")
        with Running(delay_s=0.05, faults=FAULTS, seed=SEED) as endpoint:
            began = time.perf_counter()
            rows = run(folder, endpoint.base_url, extra)
            took = time.perf_counter() - began
            asked = endpoint.counts()["asked"]
            port = endpoint.base_url
        n_errors = check(rows, asked, recorded(folder))
        again_asked = run_again(folder, port, extra)
    kinds = Counter(fault for prompt, n in asked.items() for i in range(n) if (fault := fault_at(prompt, i)))
    if set(kinds) != set(KINDS):
        raise SystemExit(f"not all faults were met: {sorted(kinds)}")
    if again_asked != n_errors:
        raise SystemExit(f"{again_asked} calls for {n_errors} missing cells")
    print(
        f"faults: {len(rows)} cells, {sum(asked.values())} calls, {sum(kinds.values())} faults of "
        f"{len(kinds)} kinds: every row is right, {n_errors} technical errors, none misjudged, at most "
        f"{MAX_TRIES} tries a cell; then {again_asked} calls for the {n_errors} that were missing; "
        f"{took:.1f} s, {os.cpu_count()} cores"
    )


def fault_at(prompt: str, n: int) -> str | None:
    """The fault that the ``n``-th request with a prompt has met."""
    return fault_of(prompt, n, share=FAULTS, seed=SEED)


def check(rows: list[dict[str, Any]], asked: dict[str, int], keys: set[tuple[str, str, int]]) -> int:
    """Hold every row, recording and count against the endpoint's dice; the number of technical errors.

    The repetitions of a prompt share its requests, in an order that the network
    decides. So what is fixed is how many of them end well, and how many tries
    they take together.
    """
    by_prompt: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_prompt.setdefault(row["prompt"], []).append(row)
    if len(rows) != 1800 or len({key_of(row) for row in rows}) != 1800:
        raise SystemExit(f"{len(rows)} rows")
    n_errors = 0
    for prompt, cells in by_prompt.items():
        good = [row for row in cells if row["status"] == "ok"]
        bad = [row for row in cells if row["status"] == "error"]
        n_errors += len(bad)
        faults = [fault_at(prompt, n) for n in range(asked[prompt])]
        tries = sum(row["attempts"] for row in good)
        ok = (
            len(good) + len(bad) == len(cells)
            and len(good) == faults.count(None)
            and len(bad) >= sum(fault in FINAL for fault in faults)
            and all(row["compliant"] is None and row["text"] is None for row in bad)
            and all(row["text"].startswith("answer") for row in good)
            and len({row["text"] for row in good}) == len(good)
            and all(row["compliant"] == (len(row["text"].split()) == row["target"]) for row in good)
            and all(1 <= row["attempts"] <= MAX_TRIES for row in good)
            and tries + len(bad) <= asked[prompt] <= tries + MAX_TRIES * len(bad)
            and {key_of(row) for row in good} <= keys
            and not {key_of(row) for row in bad} & keys
        )
        if not ok:
            raise SystemExit(f"wrong: {prompt}: {faults}, {json.dumps(cells, indent=1)}")
    return n_errors


def key_of(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["item"], row["form"], row["repetition"]


def recorded(folder: Path) -> set[tuple[str, str, int]]:
    """The cells in the pack."""
    lines = (folder / "cassettes" / "exact_count" / "m.jsonl").read_text("ascii").splitlines()[1:]
    return {key_of(json.loads(line)) for line in lines}


def run(folder: Path, base_url: str, extra: list[str]) -> list[dict[str, Any]]:
    """Run the panel live; its rows."""
    before = set((folder / "reports").glob("2*"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *UNRELATED]
    command += ["--model", f"m={base_url}", "--record-mode=once", *extra]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1) or "INTERNALERROR" in done.stdout:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    (made,) = set((folder / "reports").glob("2*")) - before
    return [json.loads(line) for line in (made / "generations.jsonl").read_text("ascii").splitlines()]


def run_again(folder: Path, base_url: str, extra: list[str]) -> int:
    """Run again at the same address, where everything is well now; the number of calls."""
    with Running(delay_s=0.05, port=int(base_url.split(":")[2].split("/", maxsplit=1)[0])) as endpoint:
        rows = run(folder, endpoint.base_url, extra)
        if any(row["status"] != "ok" for row in rows) or len(rows) != 1800:
            raise SystemExit("the second run is not complete")
        return sum(endpoint.counts()["asked"].values())


if __name__ == "__main__":
    main()

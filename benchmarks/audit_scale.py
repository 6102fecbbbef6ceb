"""How long the whole audit takes, and in how much memory, on rows of the paper's design and on many more.

Six panels, 75,600 rows, 2,000 replicates: from a rows file to the text of
``audit.json``, the Markdown report and every CSV table, in a process of its
own after its imports. Then the same design with more items and repetitions, 1
and 10 million rows, as Parquet and as JSON lines, whose time and memory must
grow linearly. Then the bootstrap alone against drawing units one by one, on one
panel and fewer replicates.

    python benchmarks/audit_scale.py [--rows 75600,1000000,10000000] [--replicates 2000] [--loops 20]

Needs ``wise-pytest[parquet]``, and 2 GB of free disk for 10 million rows.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wise_pytest.records import Row
    from wise_pytest.stats.bootstrap import ItemCounts

PROVIDERS = (3, 3, 2, 2, 1, 1, 1)
"""Models of each provider: thirteen in all."""
PANELS = {
    # forms and models; items × repetitions make each of their cells 300 rows
    "exact_count": (("POS", "NEG", "NEVER", "AVOID1", "AVOID2", "CNEG"), 13),
    "avoidance_family": (("POS", "AVOID1", "AVOID3", "AVOID4", "EXCLUDE1", "EXCLUDE2"), 13),
    "constructional_controls": (("POS", "POS_LONG", "POS_END", "AVOID1"), 9),
    "keyword_once": (("POS", "NEG", "AVOID"), 7),
    "length_range": (("POS", "NEG", "AVOID"), 7),
    "json_structure": (("POS", "NEG", "AVOID"), 6),
}
TARGETS = (5, 8, 10, 12)
LIMIT_S, LIMIT_MB = 3.0, 600


N_MODELS = sum(PROVIDERS)
WORDS = ("alpha", "beta", "gamma", "delta", "omega", "sigma", "theta", "kappa", "lambda", "zeta")
N_TEXTS = 20_000
LINES_UP_TO = 1_000_000
"""Rows up to which the same audit is made from JSON lines, too."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="75600,1000000,10000000", help="numbers of rows, about")
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--lines", type=int, default=LINES_UP_TO, help="JSON lines up to this many rows")
    parser.add_argument(
        "--loops", type=int, default=20, help="replicates of the slow version; 0 leaves it out"
    )
    parser.add_argument("--audit", metavar="FILE", help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.audit:
        print(json.dumps(audit_file(Path(parsed.audit), parsed.replicates)))
        return
    print(f"{os.cpu_count()} cores; time from file to every report, after the imports")
    first: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for wanted in map(int, parsed.rows.split(",")):
            files = [make_file(Path(folder) / f"{wanted}.parquet", wanted)]
            if wanted <= parsed.lines:
                files.append(to_lines(files[0]))
            for file in files:
                found = in_a_process(file, parsed.replicates)
                first.setdefault(file.suffix, found)
                print(sentence(file, found, first[file.suffix]), flush=True)
                file.unlink()
    print(
        f"limits: {LIMIT_S:.0f} s and {LIMIT_MB} MB for the paper's design, 90 s and 6 GB for 10 million rows"
    )
    if parsed.loops:
        compare_with_loops(parsed.replicates, parsed.loops)


def sentence(file: Path, found: dict[str, Any], first: dict[str, Any]) -> str:
    """What one audit took, and how that compares with the smallest."""
    n, wall_s, peak = found["rows"], found["wall_s"], found["peak_mb"]
    per_row = f"{1e6 * wall_s / n:.1f} µs a row"
    grown = f"; {n / first['rows']:.0f} times the rows, {wall_s / first['wall_s']:.1f} times the time"
    return (
        f"{n:>10} rows, {file.suffix[1:]:<7}: {wall_s:6.2f} s (reading {found['read_s']:.2f} s, "
        f"processor {found['cpu_s']:.2f} s), {per_row}, peak {peak:.0f} MB, of which modules "
        f"{found['modules_mb']:.0f} MB; import {found['import_s']:.2f} s{grown if n > first['rows'] else ''}"
    )


def in_a_process(file: Path, replicates: int) -> dict[str, Any]:
    """Audit one file in a process of its own, whose memory is then that of the audit alone."""
    command = [sys.executable, __file__, "--audit", str(file), "--replicates", str(replicates)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def audit_file(file: Path, replicates: int) -> dict[str, Any]:
    """From a rows file to every report."""
    began = time.perf_counter()
    import pyarrow.parquet  # noqa: F401 - imported for its cost

    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import dump, to_document
    from wise_pytest.audit.rows import read_table
    from wise_pytest.report.csvfiles import render_tables
    from wise_pytest.report.markdown import render_markdown

    import_s, modules_mb = time.perf_counter() - began, peak_mb()
    began, began_cpu = time.perf_counter(), time.process_time()
    table = read_table([file])
    read_s = time.perf_counter() - began
    document = to_document(build_audit(table, replicates=replicates))
    texts = [dump(document), render_markdown(document), *render_tables(document).values()]
    return {
        "rows": len(table),
        "characters": sum(map(len, texts)),
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - began_cpu,
        "read_s": read_s,
        "import_s": import_s,
        "modules_mb": modules_mb,
        "peak_mb": peak_mb(),
    }


def make_file(path: Path, wanted: int) -> Path:
    """Rows of the paper's design, made up, as one Parquet file; for more rows, more items and repetitions."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    factor = max(1, round(wanted / 75_600))
    n_items = 100 * max(1, round(factor**0.5))
    n_repetitions = max(1, round(3 * factor * 100 / n_items))
    writer = None
    for columns in made_up(n_items, n_repetitions):
        part = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()
    return path


def made_up(n_items: int, n_repetitions: int) -> Iterator[dict[str, Any]]:
    """Columns of one panel and model at a time, with the counts and texts that every table rests on."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(1)
    texts = pa.array([" ".join(rng.choice(WORDS, size=rng.integers(4, 14))) for _ in range(N_TEXTS)])
    provider_of = [provider for provider, size in enumerate(PROVIDERS) for _ in range(size)]
    for panel, (forms, n_models) in PANELS.items():
        shape = (len(forms), n_items, n_repetitions)
        form, item, repetition = (axis.ravel() for axis in np.indices(shape))
        target = np.array(TARGETS)[item % len(TARGETS)]
        for model in range(n_models):
            compliant = rng.random(form.size) < rng.uniform(0.2, 0.8, size=len(forms))[form]
            error = np.where(compliant, 0, rng.choice([-2, -1, 1, 2], size=form.size))
            direction = np.sign(error) + 1
            yield {
                "panel": same(panel, form.size),
                "model": same(f"model-{model:02}", form.size),
                "provider": same(f"provider-{provider_of[model]}", form.size),
                "item": pa.array([f"item-{number:04}" for number in range(n_items)]).take(pa.array(item)),
                "form": pa.array(forms).take(pa.array(form)),
                "repetition": pa.array(repetition + 1),
                "compliant": pa.array(compliant),
                "target": pa.array(target),
                "observed": pa.array(target + error),
                "error": pa.array(error),
                "direction": pa.array(["under", "exact", "over"]).take(pa.array(direction)),
                "text": texts.take(pa.array(rng.integers(0, N_TEXTS, size=form.size))),
                "verifier": same("word_count/1", form.size),
            }


def same(value: str, n: int) -> Any:
    """A column of one value."""
    import pyarrow as pa

    return pa.repeat(value, n)


def to_lines(parquet: Path) -> Path:
    """The same rows as JSON lines, as a run writes them."""
    from wise_pytest.audit.rows import read_table

    path = parquet.with_suffix(".jsonl")
    with path.open("w", encoding="ascii") as stream:
        stream.writelines(f"{row.to_json()}\n" for row in read_table([parquet]).rows())
    return path


def compare_with_loops(replicates: int, loops: int) -> None:
    """Time of one replicate of one panel, by matrix product and by drawing units one by one."""
    import numpy as np

    from wise_pytest.audit.rows import read_table
    from wise_pytest.audit.tallies import tally_table
    from wise_pytest.stats.bootstrap import draw_contrasts

    with tempfile.TemporaryDirectory() as folder:
        table = read_table([make_file(Path(folder) / "rows.parquet", 75_600)])
    table = table.take(table.coded("panel").among(["exact_count"]))
    counts = tally_table(table, openings=(), items=True).items["exact_count"]
    panel_rows = list(table.rows())
    providers = {row.model: row.provider for row in panel_rows}
    began = time.perf_counter()
    draw_contrasts(
        counts,
        "provider-model-item",
        reference="POS",
        providers=providers,
        replicates=replicates,
        rng=np.random.default_rng(0),
    )
    fast_s = (time.perf_counter() - began) / replicates
    began = time.perf_counter()
    slow_replicates(panel_rows, loops)
    slow_s = (time.perf_counter() - began) / loops
    print(
        f"one replicate of provider-model-item, {counts_text(counts)}: {1e6 * fast_s:.0f} µs, "
        f"row by row in a loop {1e6 * slow_s:.0f} µs: {slow_s / fast_s:.0f} times as fast"
    )


def counts_text(counts: ItemCounts) -> str:
    """The size of a panel in words."""
    return f"{len(counts.models)} models, {len(counts.items)} items, {len(counts.forms)} forms"


def slow_replicates(rows: Sequence[Row], loops: int) -> list[dict[str, float]]:
    """The hierarchical bootstrap as one would first write it: draw names, pool the rows drawn."""
    rnd = random.Random(0)
    tree: dict[str, dict[str, dict[str, list[Row]]]] = {}
    for row in rows:
        tree.setdefault(row.provider, {}).setdefault(row.model, {}).setdefault(row.item, []).append(row)
    found = []
    for _ in range(loops):
        compliant: dict[str, int] = {}
        n: dict[str, int] = {}
        for provider in rnd.choices(list(tree), k=len(tree)):
            models = tree[provider]
            for model in rnd.choices(list(models), k=len(models)):
                items = models[model]
                for item in rnd.choices(list(items), k=len(items)):
                    for row in items[item]:
                        n[row.form] = n.get(row.form, 0) + 1
                        compliant[row.form] = compliant.get(row.form, 0) + bool(row.compliant)
        found.append({form: compliant[form] / n[form] - compliant["POS"] / n["POS"] for form in n})
    return found


def peak_mb() -> float:
    """Most memory that this process has held so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's memory in ru_maxrss of a process that has just begun
        held = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(held.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()

"""How long the whole audit takes, and in how much memory, on rows of the paper's whole design.

Six panels, 75,600 rows, 2,000 replicates: from rows in memory to the text of
``audit.json``, the Markdown report and every CSV table. The rows are made
before the clock starts; modules are imported before it too, and their import
is printed apart. Then the bootstrap alone against drawing units one by one, on
one panel and fewer replicates.

    python benchmarks/audit_scale.py [--replicates 2000] [--times 1] [--loops 20]

``--times N`` gives every cell N times as many repetitions, for larger numbers of rows.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
N_ITEMS, N_REPETITIONS = 100, 3
TARGETS = (5, 8, 10, 12)
LIMIT_S, LIMIT_MB = 3.0, 600


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--times", type=int, default=1, help="repetitions of each cell, times this")
    parser.add_argument(
        "--loops", type=int, default=20, help="replicates of the slow version; 0 leaves it out"
    )
    parsed = parser.parse_args()

    began = time.perf_counter()
    import pandas as pd  # noqa: F401 - imported for its cost

    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import dump, to_document
    from wise_pytest.report.csvfiles import render_tables
    from wise_pytest.report.markdown import render_markdown

    import_s = time.perf_counter() - began
    rows = make_rows(parsed.times)
    rows_mb = peak_mb()
    began, began_cpu = time.perf_counter(), time.process_time()
    document = to_document(build_audit(rows, replicates=parsed.replicates))
    size = (
        len(dump(document)) + len(render_markdown(document)) + sum(map(len, render_tables(document).values()))
    )
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    print(
        f"audit_scale: {len(rows)} rows, {len(PANELS)} panels, {parsed.replicates} replicates, every table "
        f"({size} characters): {wall_s:.2f} s ({cpu_s:.2f} s of processor) after {import_s:.2f} s of import; "
        f"peak {peak_mb():.0f} MB, of which rows and modules {rows_mb:.0f} MB; {os.cpu_count()} cores"
    )
    if parsed.times == 1:
        print(f"limits for the paper's design: {LIMIT_S:.0f} s and {LIMIT_MB} MB")
    if parsed.loops:
        compare_with_loops(rows, parsed.replicates, parsed.loops)


def make_rows(times: int) -> list[Row]:
    """Rows of the paper's design, made up, with the counts that directions and floor rest on."""
    from wise_pytest.records import Row

    rnd = random.Random(1)
    provider_of = [provider for provider, size in enumerate(PROVIDERS) for _ in range(size)]
    rows = []
    for panel, (forms, n_models) in PANELS.items():
        for model in range(n_models):
            for form in forms:
                share = rnd.uniform(0.2, 0.8)
                for item in range(N_ITEMS):
                    target = TARGETS[item % len(TARGETS)]
                    for repetition in range(1, N_REPETITIONS * times + 1):
                        error = 0 if rnd.random() < share else rnd.choice((-2, -1, 1, 2))
                        rows.append(
                            Row(
                                panel=panel,
                                model=f"model-{model:02}",
                                provider=f"provider-{provider_of[model]}",
                                item=f"item-{item:03}",
                                form=form,
                                repetition=repetition,
                                compliant=error == 0,
                                target=target,
                                observed=target + error,
                                error=error,
                                direction="exact" if error == 0 else "under" if error < 0 else "over",
                                verifier="word_count/1",
                            )
                        )
    return rows


def compare_with_loops(rows: Sequence[Row], replicates: int, loops: int) -> None:
    """Time of one replicate of one panel, by matrix product and by drawing units one by one."""
    import numpy as np

    from wise_pytest.audit.frame import tally_items, to_frame
    from wise_pytest.stats.bootstrap import draw_contrasts

    panel_rows = [row for row in rows if row.panel == "exact_count"]
    counts = tally_items(to_frame(panel_rows))["exact_count"]
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()

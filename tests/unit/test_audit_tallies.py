"""Counting column by column gives what counting row by row gives."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from wise_pytest.audit import tallies as counting
from wise_pytest.audit.table import Coded, table_of
from wise_pytest.audit.tallies import Tallies, Tally, pool_tallies, tally_table
from wise_pytest.audit.texts import opening_finder
from wise_pytest.records import Row

OPENINGS = ("Here is", "Sure")
OUTCOMES = (
    ("ok", True),
    ("ok", False),
    ("truncated", True),
    ("refused", False),
    ("blocked", None),
    ("error", None),
)
SIZES = (None, 0, 1, -4, 9, 2**53, -(2**53))
TARGETS = (None, 5, 8, -1, 2**53, "word", "5", (8, 12), ("a", "b"))
TEXTS = (None, "", " \n\u2003", "Here is one", "here's", "**Sure**, two", "\ud83d", "x" * 50)


def random_rows(seed: int, n: int = 60) -> list[Row]:
    """Rows of several panels with all statuses, some fields missing; every key once."""
    chance = random.Random(seed)
    rows: dict[Any, Row] = {}
    for _ in range(n):
        status, compliant = chance.choice(OUTCOMES)
        model = chance.choice(["a", "b", "M", "\ud83d"])
        row = Row(
            panel=chance.choice(["exact_count", "own", "\ud83d"]),
            model=model,
            provider=f"of {model}",
            item=chance.choice(["i1", "i2", "i3"]),
            form=chance.choice(["POS", "NEG", "A"]),
            repetition=chance.choice([1, 2, 300]),
            compliant=compliant,
            status=status,
            target=chance.choice(TARGETS),
            observed=chance.choice(SIZES),
            error=chance.choice(SIZES),
            direction=chance.choice([None, "", "under", "exact", "over"]),
            verifier=chance.choice([None, "word_count/1", "other/1"]),
            text=chance.choice(TEXTS),
        )
        rows[row.key] = row
    return list(rows.values())


def slow_tally(rows: list[Row]) -> dict[str, Any]:
    scored = [row for row in rows if row.status in {"ok", "truncated", "refused"}]
    texts = [row.text for row in scored if row.text is not None]
    find = opening_finder(OPENINGS)
    return {
        "n_rows": len(rows),
        "rate": (sum(row.compliant is True for row in scored), len(scored)),
        "statuses": Counter(row.status for row in rows),
        "directions": Counter(row.direction for row in scored if row.direction is not None),
        "errors": Counter(row.error for row in scored if row.error is not None),
        "observed": Counter(row.observed for row in scored if row.observed is not None),
        "n_texts": len(texts),
        "n_empty": sum(not text.strip() for text in texts),
        "openings": Counter(found for found in map(find, texts) if found is not None),
    }


def slow(rows: list[Row], *, items: bool) -> dict[str, Any]:
    """Everything, by going over the rows again and again."""
    cells = sorted({(row.panel, row.model, row.form) for row in rows})

    def of(cell: tuple[str, str, str]) -> list[Row]:
        return [row for row in rows if (row.panel, row.model, row.form) == cell]

    targets = {}
    for cell in cells:
        scored = [row for row in of(cell) if row.compliant is not None and isinstance(row.target, int)]
        for target in sorted({row.target for row in scored}):
            here = [row for row in scored if row.target == target]
            lengths = [row.observed for row in here if row.observed is not None]
            texts = [row.text for row in here if row.text is not None]
            targets.setdefault(cell, []).append(
                (
                    target,
                    (sum(bool(row.compliant) for row in here), len(here)),
                    (len(lengths), sum(lengths)),
                    (len(texts), sum(not text.strip() for text in texts)),
                    sum(row.status == "truncated" for row in here),
                )
            )
    panels = sorted({row.panel for row in rows})
    counts = {}
    for panel in panels if items else []:
        scored = [row for row in rows if row.panel == panel and row.compliant is not None]
        axes = [sorted({getattr(row, name) for row in scored}) for name in ("model", "item", "form")]
        found = [
            [
                [
                    [
                        sum(
                            bool(row.compliant)
                            for row in scored
                            if (row.model, row.item, row.form) == (m, i, f)
                        ),
                        sum((row.model, row.item, row.form) == (m, i, f) for row in scored),
                    ]
                    for f in axes[2]
                ]
                for i in axes[1]
            ]
            for m in axes[0]
        ]
        if scored:
            counts[panel] = (axes, found)
    return {
        "cells": {cell: slow_tally(of(cell)) for cell in cells},
        "targets": targets,
        "grids": {
            panel: len({row.item for row in rows if row.panel == panel})
            * len({row.form for row in rows if row.panel == panel})
            * len({row.repetition for row in rows if row.panel == panel})
            for panel in panels
        },
        "providers": sorted({(row.model, row.provider) for row in rows}),
        "verifiers": sorted({(row.panel, row.verifier) for row in rows if row.verifier is not None}),
        "items": counts,
    }  # fmt: skip


def as_plain(tally: Tally) -> dict[str, Any]:
    return {
        "n_rows": tally.n_rows,
        "rate": (tally.rate.n_compliant, tally.rate.n),
        **{name: Counter(getattr(tally, name)) for name in ("statuses", "directions", "errors", "observed")},
        "n_texts": tally.n_texts,
        "n_empty": tally.n_empty,
        "openings": Counter(tally.openings),
    }


def plain(tallies: Tallies) -> dict[str, Any]:
    return {
        "cells": {cell: as_plain(tally) for cell, tally in tallies.cells.items()},
        "targets": {
            cell: [
                (
                    each.target,
                    (each.rate.n_compliant, each.rate.n),
                    (each.n_observed, each.sum_observed),
                    (each.n_texts, each.n_empty),
                    each.n_truncated,
                )
                for each in outcomes
            ]
            for cell, outcomes in tallies.targets.items()
        },
        "grids": dict(tallies.grids),
        "providers": list(tallies.providers),
        "verifiers": list(tallies.verifiers),
        "items": {
            panel: (
                [list(counts.models), list(counts.items), list(counts.forms)],
                np.stack([counts.n_compliant, counts.n], axis=-1).tolist(),
            )
            for panel, counts in tallies.items.items()
        },
    }


@pytest.mark.parametrize("dense", [10_000_000, 0], ids=["into-a-table", "by-sorting"])
def test_counting_is_what_going_over_the_rows_gives(dense, monkeypatch):
    monkeypatch.setattr(counting, "_DENSE", dense)

    @settings(deadline=None, max_examples=60)
    @given(st.integers(0, 2**32), st.integers(0, 80), st.booleans())
    def check(seed: int, n: int, items: bool) -> None:  # noqa: FBT001 - drawn
        rows = random_rows(seed, n)
        assert plain(tally_table(table_of(rows), openings=OPENINGS, items=items)) == slow(rows, items=items)

    check()


def test_sums_are_exact_beyond_what_a_float_holds():
    big = 2**53
    rows = [
        Row("p", "m", "x", f"i{k}", "POS", 1, compliant=False, target=1, observed=big - k % 2, error=-big)
        for k in range(2001)
    ]
    tallies = tally_table(table_of(rows), openings=(), items=False)
    assert tallies.cells["p", "m", "POS"].errors == {-(2**53): 2001}
    outcome = tallies.targets["p", "m", "POS"][0]
    assert outcome.sum_observed == 2001 * 2**53 - 1000
    assert outcome.mean_observed == Fraction(2001 * 2**53 - 1000, 2001)


def test_a_target_of_its_own_for_every_row():
    # A place for every cell and target that could be would take 800 million places.
    n = 20_000
    rows = [
        Row("p", f"m{k % 2000}", "x", f"i{k}", f"F{k % 20}", 1, compliant=bool(k % 2), target=k, observed=k)
        for k in range(n)
    ]
    tallies = tally_table(table_of(rows), openings=(), items=False)
    outcomes = [outcome for each in tallies.targets.values() for outcome in each]
    assert sorted((outcome.target, outcome.sum_observed) for outcome in outcomes) == [
        (k, k) for k in range(n)
    ]


def test_pooling_tallies_is_counting_their_rows_together():
    rows = random_rows(5, 80)
    cells = tally_table(table_of(rows), openings=OPENINGS, items=False).cells
    assert as_plain(pool_tallies(cells.values())) == slow_tally(rows)
    assert as_plain(pool_tallies([])) == slow_tally([])


def test_values_that_no_row_has_any_more_are_not_counted():
    # What is left of a table after a selection still knows the values of the rows that are gone.
    rows = random_rows(8, 80)
    kept = [place for place, row in enumerate(rows) if row.panel != "own" and row.model != "a"]
    table = table_of(rows).take(np.array(kept))
    assert plain(tally_table(table, openings=OPENINGS, items=True)) == slow(
        [rows[place] for place in kept], items=True
    )


def test_a_hand_count():
    common = ("p", "m", "x", "i1", "POS")
    rows = [
        Row(*common, 1, compliant=True, target=5, observed=5, error=0, direction="exact"),
        Row(*common, 2, compliant=False, target=5, observed=7, error=2, direction="over"),
        Row("p", "m", "x", "i2", "POS", 1, compliant=None, status="error"),
    ]
    counted = tally_table(table_of(rows), openings=(), items=True)
    cell = counted.cells["p", "m", "POS"]
    assert (cell.n_rows, cell.rate.n_compliant, cell.rate.n) == (3, 1, 2)
    assert (cell.n_errors, dict(cell.errors), dict(cell.observed)) == (2, {0: 1, 2: 1}, {5: 1, 7: 1})
    assert counted.grids == {"p": 4}  # two items, one form, two repetitions
    assert counted.items["p"].n.tolist() == [[[2]]]  # the item without a scored row is not resampled


def test_columns_know_which_rows_have_a_value():
    column = Coded(np.array([1, -1, 0, 1], dtype=np.int8), ("b", "a", "unused"))
    assert [column.get(row) for row in range(4)] == ["a", None, "b", "a"]
    assert column.among(["a", "unused"]).tolist() == [True, False, False, True]
    assert column.among([]).tolist() == [False] * 4
    ordered = column.ordered()
    assert ordered.values == ("a", "b")
    assert [ordered.get(row) for row in range(4)] == ["a", None, "b", "a"]


@pytest.mark.parametrize("n_values", [1, 2, 127, 128, 129, 255, 256, 257, 32_767, 32_769])
def test_columns_hold_as_many_values_as_there_are(n_values):
    rows = [Row("p", "m", "x", f"i{k}", "F", 1, compliant=True) for k in range(n_values)]
    assert [row.item for row in table_of(rows).rows()] == [f"i{k}" for k in range(n_values)]


def test_a_session_pays_for_no_data_frame():
    program = (
        "import sys\nfrom wise_pytest.audit.audit import build_audit\nfrom wise_pytest.records import Row\n"
        "build_audit([Row('p', 'm', 'x', 'i1', form, 1, True) for form in ('POS', 'NEG')])\n"
        "print([name for name in ('pandas', 'pyarrow', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

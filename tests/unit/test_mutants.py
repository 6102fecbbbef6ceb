"""The mutants are those that are meant, and what is listed as changing nothing is still in the code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import mutants
from tests.mutation import mutants_of

STATS = mutants.ROOT / "wise_pytest" / "stats"
EXAMINED = (
    "audit.gate",
    "audit.judging",
    "audit.rules",
    "audit.hints",
    "stats.rates",
    "stats.summary",
    "stats.contrasts",
    "stats.multiplicity",
    "stats.ranking",
    "stats.floor",
    "stats.paired",
    "stats.simultaneous",
    "stats.distribution",
    "stats.ranking_bootstrap",
    "stats.bootstrap",
    "stats.summary_bootstrap",
    "stats.power",
    "stats.agreement",
    "stats.factorial",
)
"""Modules of which every mutant has been tried, and every survivor is listed."""
SOURCE = '''
def f(a, b):
    """Says something."""
    if a <= 1 and not b:
        return max(a / 2, 0.5)
    return [x for x in b if x]
'''
CHANGES = {
    "f: if a <= 1 and (not b): negated",
    "f: a <= 1 and (not b): and ↔ or",
    "f: a <= 1 and (not b): without part 1",
    "f: a <= 1 and (not b): without part 2",
    "f: a <= 1: Lt",
    "f: a <= 1: GtE",
    "f: 1: 2 in a <= 1",
    "f: 1: 0 in a <= 1",
    "f: not b: dropped",
    "f: return max(a / 2, 0.5): None",
    "f: max(a / 2, 0.5): min",
    "f: a / 2: Mult",
    "f: 2: 3 in a / 2",
    "f: 2: 1 in a / 2",
    "f: 0.5: 1.5 in max(a / 2, 0.5)",
    "f: 0.5: 0.25 in max(a / 2, 0.5)",
    "f: return [x for x in b if x]: None",
    "f: for x in b if x: without its condition",
}


def test_the_changes_of_a_small_module(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SOURCE, "utf-8")
    found = list(mutants_of("small", path))
    assert sorted(mutants.key_of(mutant) for mutant in found) == sorted(CHANGES)
    sources = [compile(mutant.tree, "small.py", "exec").co_consts for mutant in found]  # each can be loaded
    assert len(sources) == len(CHANGES)


def test_no_module_of_the_statistics_or_of_the_gate_is_left_out():
    stats = {f"stats.{path.stem}" for path in STATS.glob("*.py") if path.stem != "__init__"}
    assert {name for name in mutants.MODULES if name.startswith("stats.")} == stats
    assert {name for name in mutants.MODULES if name not in stats} == {
        "audit.gate",
        "audit.judging",
        "audit.rules",
        "audit.hints",
    }


def test_every_listed_change_can_be_made_and_has_a_reason():
    listed = list(mutants.listed_changes())
    for module in {part.module for part in listed}:
        there = {mutants.key_of(mutant) for mutant in mutants.mutants_in(module)}
        assert set(mutants.reasons_of(module)) - there == set(), module
    assert all(part.reason.strip() for part in listed)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each mutant has a process of its own")
def test_a_sample_of_all_changes_is_noticed():
    command = [sys.executable, "-m", "tests.mutants", *EXAMINED, "--sample", "40"]
    done = subprocess.run(command, cwd=mutants.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 unnoticed" in done.stdout

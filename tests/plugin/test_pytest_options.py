"""pytest's own options beside a panel: each works, and none makes a pass of part of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.plugin.harness import MODES, PANEL_TEST, Recorded, without_run

if TYPE_CHECKING:
    from tests.plugin.harness import Project

WITH_A_FAILURE = (
    PANEL_TEST
    + '    assert (wise.cell.item, wise.cell.form) != ("i001", "NEG") or wise.cell.repetition > 1\n'
)


def test_k_selects_cells_and_says_that_it_is_part_of_the_plan(project: Project, recorded: Recorded):
    run = project.run(*recorded.model, *Recorded.GRID, "-k", "pos and i002")
    assert run.status == 1
    assert [(row["item"], row["form"]) for row in run.rows] == [("i002", "POS")] * 3
    assert "partial: 3 of 12 cells" in run.flat
    whole = project.run(*recorded.model, *Recorded.GRID, "-k", "exact_count")
    assert whole.status == 0


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_a_run_that_stops_early_is_partial(project: Project, recorded: Recorded, option: str):
    project.write("test_panel.py", WITH_A_FAILURE)
    run = project.run(*recorded.model, *Recorded.GRID, option)
    assert run.status == 1
    assert len(run.rows) == 4  # three of POS, and the one that failed
    assert run.gate == "fail"  # 4 of 12 cells are no coverage of 95 %
    assert "partial: 4 of 12 cells" in run.flat


def test_maxfail_counts_failures_and_no_data(project: Project, recorded: Recorded):
    """Twelve cells do not comply; none of them is a failure that could be counted."""
    run = project.run(*recorded.model, *Recorded.GRID, "--maxfail=1")
    assert run.status == 0
    assert len(run.rows) == 12


def test_lf_runs_what_failed_and_ff_runs_it_first(project: Project, recorded: Recorded):
    project.write("test_panel.py", WITH_A_FAILURE)
    assert project.run(*recorded.model, *Recorded.GRID).status == 1
    first = project.run(*recorded.model, *Recorded.GRID, "--ff", "-x")
    assert len(first.rows) == 1
    assert (first.rows[0]["item"], first.rows[0]["form"], first.rows[0]["repetition"]) == ("i001", "NEG", 1)
    last = project.run(*recorded.model, *Recorded.GRID, "--lf")
    assert last.status == 1
    assert len(last.rows) == 1
    project.write("test_panel.py", PANEL_TEST)
    assert "partial: 1 of 12 cells" in project.run(*recorded.model, *Recorded.GRID, "--lf").flat
    whole = project.run(*recorded.model, *Recorded.GRID, "--ff")
    assert whole.status == 0
    assert without_run(whole.rows) == without_run(recorded.rows)


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=list(MODES))
@pytest.mark.parametrize("plugin", ["terminal", "cacheprovider"])
def test_without_one_of_pytests_own_plugins(
    project: Project, recorded: Recorded, plugin: str, workers: tuple[str, ...]
):
    """Without the terminal nothing is printed; the files and the exit code are what they are."""
    good = project.run(*recorded.model, *Recorded.GRID, "-p", f"no:{plugin}", *workers)
    assert good.status == 0, good.text
    assert without_run(good.rows) == without_run(recorded.rows)
    assert good.gate == "pass"
    bad = project.run(*recorded.model, *Recorded.GRID, "-p", f"no:{plugin}", "--wise-min-mean=99", *workers)
    assert bad.status == 1
    assert bad.gate == "fail"
    assert ("gate: FAIL" in bad.text) == (plugin != "terminal")


def test_co_lists_the_cells_of_a_shard_and_judges_nothing(project: Project, recorded: Recorded):
    options = (*recorded.model, *Recorded.GRID, "--co", "-q", "--wise-min-mean=99")
    run = project.run(*options)
    assert run.status == 0
    assert run.text.count("test_panel.py::test_exact_count[") == 12
    assert "gate:" not in run.text
    assert project.run(*options, "--wise-shard=1/2").text.count("::test_exact_count[") == 6
    assert not (project.path / "reports").exists()


def test_deselecting_one_cell_is_no_pass(project: Project, recorded: Recorded):
    node = "test_panel.py::test_exact_count[exact_count-m-i001-pos-r1]"
    run = project.run(*recorded.model, *Recorded.GRID, "--deselect", node)
    assert run.status == 1
    assert "partial: 11 of 12 cells" in run.flat
    alone = project.run(*recorded.model, *Recorded.GRID, node)
    assert alone.status == 1
    assert "partial: 1 of 12 cells" in alone.flat

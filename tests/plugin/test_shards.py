"""A plan split over machines: the parts add up to the whole, and what is missing or double is seen."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.plugin.harness import (
    MODES,
    PANEL_TEST,
    Finished,
    Project,
    Recorded,
    cell_of,
    grid,
    without_run,
)
from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.panels.cells import plan_cells
from wise_pytest.panels.loader import manifest_digest
from wise_pytest.panels.sharding import take_shard

if TYPE_CHECKING:
    from pathlib import Path

ROWS = "generations.jsonl"


def audited(project: Project, folders: list[Path], name: str, *options: str) -> tuple[Finished, bytes]:
    """What ``wise audit`` says of some runs, and the bytes of its ``audit.json``."""
    ran = project.wise("audit", *map(str, folders), "--out", name, *options)
    path = project.path / name / "audit.json"
    return ran, path.read_bytes() if path.exists() else b""


def shards(project: Project, recorded: Recorded, of: int, *options: str) -> list[Finished]:
    return [
        project.run(*recorded.model, *Recorded.GRID, f"--wise-shard={index}/{of}", *options)
        for index in range(1, of + 1)
    ]


@pytest.mark.parametrize("of", [1, 2, 4, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("workers", ["plain", pytest.param("two-workers", marks=pytest.mark.slow)])
def test_shards_merge_into_the_audit_of_the_whole(
    project: Project, recorded: Recorded, of: int, workers: str
):
    whole = project.run(*recorded.model, *Recorded.GRID)
    parts = shards(project, recorded, of, *MODES[workers])
    assert [part.status for part in parts] == [0] * of
    sizes = [len(part.rows) for part in parts]
    assert sum(sizes) == 12
    assert max(sizes) - min(sizes) <= 1
    rows = sorted((row for part in parts for row in part.rows), key=cell_of)
    assert without_run(rows) == without_run(whole.rows)

    assert whole.folder is not None
    folders = [part.folder for part in parts if part.folder]
    expected = (whole.folder / "audit.json").read_bytes()  # the session's own
    alone, found = audited(project, [whole.folder], "alone")
    assert (alone.status, found) == (0, expected)
    merged, found = audited(project, folders, "merged")
    assert (merged.status, found) == (0, expected)
    # Given in another order, and with the link that leads to one of them.
    assert audited(project, folders[::-1], "again")[1] == expected


def test_an_audit_of_a_run_says_of_its_panels_what_the_run_said(project: Project, recorded: Recorded):
    """One panel is recorded, and another nowhere; rows without a manifest tell neither."""
    project.write("test_other.py", PANEL_TEST.replace("exact_count", "json_structure"))
    whole = project.run(*recorded.model, *Recorded.GRID)
    assert whole.folder is not None
    said = {
        "panels": {"exact_count": manifest_digest(bundled_panel("exact_count"))},
        "not_recorded": [{"panel": "json_structure", "model": "m"}],
    }
    assert {name: whole.audit["run"][name] for name in said} == said
    folders = [part.folder for part in shards(project, recorded, 2) if part.folder]
    for name, given in (("alone", [whole.folder]), ("merged", folders)):
        assert audited(project, given, name)[1] == (whole.folder / "audit.json").read_bytes()
    (whole.folder / "audit.json").unlink()  # what wise report makes of the rows is the same again
    assert project.wise("report", str(whole.folder)).status == 0
    assert {name: whole.audit["run"][name] for name in said} == said

    shutil.copy(whole.folder / ROWS, project.path / "rows.jsonl")
    bare, found = audited(project, [project.path / "rows.jsonl"], "bare")
    assert bare.status == 0
    assert not said.keys() & json.loads(found)["run"].keys()
    # With rows that no manifest covers nobody knows which version of the panel all of them are of.
    (line, *_) = (whole.folder / ROWS).read_text("ascii").splitlines()
    project.write("more.jsonl", json.dumps({**json.loads(line), "repetition": 9}) + "\n")
    _, found = audited(project, [whole.folder, project.path / "more.jsonl"], "more")
    assert json.loads(found)["run"]["panels"] == {}


def test_a_baseline_that_wise_audit_has_written_knows_the_version_of_its_panel(
    project: Project, recorded: Recorded
):
    run = project.run(*recorded.model, *Recorded.GRID)
    assert run.folder is not None
    _, text = audited(project, [run.folder], "kept")
    again = (*recorded.model, *Recorded.GRID, "--wise-max-form-drop=100")
    same = project.run(*again, "--wise-baseline=kept/audit.json")
    assert (same.status, "could not be checked" in same.flat) == (0, False)

    document = json.loads(text)
    document["run"]["panels"]["exact_count"] = "0" * 64
    project.write("other.json", json.dumps(document, indent=1))
    other = project.run(*again, "--wise-baseline=other.json")
    assert (other.status, other.gate) == (1, "not_evaluated")
    assert "another version of the panel: its items, forms or verifier have changed" in other.flat

    del document["run"]["panels"]
    project.write("silent.json", json.dumps(document, indent=1))
    silent = project.run(*again, "--wise-baseline=silent.json")
    assert silent.status == 0
    said = "the panel's version could not be checked: the baseline has no digest of it"
    assert f"note: {said}" in silent.flat
    assert said in silent.audit["comparison"]["pairs"][0]["notes"]
    # In a run's folder its manifest says what the audit does not.
    (run.folder / "audit.json").write_text(json.dumps(document, indent=1), "ascii")
    beside = project.run(*again, f"--wise-baseline={run.folder}/audit.json")
    assert (beside.status, "could not be checked" in beside.flat) == (0, False)


def test_a_missing_or_doubled_shard_is_seen(project: Project, recorded: Recorded):
    first, second = shards(project, recorded, 2)
    assert first.folder is not None
    assert second.folder is not None
    lacking, _ = audited(project, [first.folder], "lacking", "--min-coverage", "0")
    assert lacking.status == 1
    assert "NOT EVALUATED: partial: 6 of 12 cells: shard 2 of 2 missing" in lacking.flat

    again = project.run(*recorded.model, *Recorded.GRID, "--wise-shard=1/2")
    assert again.folder is not None
    doubled, _ = audited(project, [first.folder, second.folder, again.folder], "doubled")
    assert doubled.status == 2
    assert "are both shard 1 of 2; give each shard once" in doubled.flat
    assert first.folder.name in doubled.flat
    assert again.folder.name in doubled.flat

    third = project.run(*recorded.model, *Recorded.GRID, "--wise-shard=3/3")
    assert third.folder is not None
    mixed, _ = audited(project, [first.folder, second.folder, third.folder], "mixed")
    assert mixed.status == 2
    assert "of different splits" in mixed.flat

    # The same run named twice, once by a copy, is one run.
    shutil.copytree(first.folder, project.path / "copy")
    twice, _ = audited(project, [first.folder, project.path / "copy", second.folder, first.folder], "twice")
    assert twice.status == 0, twice.text


def test_one_shard_is_judged_by_its_coverage_alone(project: Project, recorded: Recorded):
    run = project.run(
        *recorded.model, *Recorded.GRID, "--wise-shard=1/2", "--wise-min-mean=100", "--wise-max-gap=0"
    )
    assert run.status == 0
    assert [check["metric"] for check in run.audit["gate"]["checks"]] == ["coverage"]
    assert "gate: PASS: 1 check (coverage)" in run.flat
    assert "shard 1 of 2: its coverage alone is judged; wise audit judges all shards together" in run.flat
    assert not (project.path / "reports/latest").exists()
    assert project.run(*recorded.model, *grid(3, 3), "--wise-shard=2/2").status == 1  # i003 is not recorded


def test_a_shard_without_cells_selects_no_test(project: Project, recorded: Recorded):
    """Two cells, four shards: two of them have nothing to do, and the other two are the whole."""
    runs = [project.run(*recorded.model, *grid(), f"--wise-shard={index}/4") for index in range(1, 5)]
    assert [run.status for run in runs] == [0, 0, 5, 5]
    folders = [run.folder for run in runs if run.folder and (run.folder / ROWS).exists()]
    assert len(folders) == 2
    merged, _ = audited(project, folders, "merged")
    assert merged.status == 0, merged.text


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3", "1/1000000", ""])
def test_what_is_no_shard_is_a_usage_error(project: Project, recorded: Recorded, text: str):
    run = project.run(*recorded.model, f"--wise-shard={text}")
    assert run.status == 4
    assert "--wise-shard: must be I/N with I from 1 to N and N at most 99999, such as 2/4, not" in run.flat


@pytest.mark.parametrize("of", [1, 2, 3, 4, 5, 6, 7, 8, 9, 18, 100, 2000])
def test_every_cell_is_in_one_shard_and_shards_are_even(of: int):
    cells = list(plan_cells(bundled_panel("exact_count"), model="m", provider="p"))
    parts = [take_shard(cells, index, of) for index in range(1, of + 1)]
    assert sorted(cell.key for part in parts for cell in part) == sorted(cell.key for cell in cells)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    if of <= 100:  # with 18 cells an item, going round alone would give a shard of 6 one form only
        forms = {form.form_id for form in bundled_panel("exact_count").forms}
        assert all({cell.form for cell in part} == forms for part in parts)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_workers_of_two_other_environments_replay_the_same(project: Project, recorded: Recorded):
    """Two socket servers, each in a checkout of its own, as two machines would have."""
    usual = project.run(*recorded.model, *Recorded.GRID)
    ports = [free_port(), free_port()]
    with ExitStack() as started:
        specs = []
        for number, port in enumerate(ports):
            checkout = project.path / f"machine-{number}"
            shutil.copytree(recorded.cassettes, checkout / "cassettes")
            shutil.copy(project.path / "test_panel.py", checkout)
            server = subprocess.Popen(
                [sys.executable, "-m", "execnet.script.socketserver", f"127.0.0.1:{port}"],
                cwd=checkout,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            started.enter_context(server)
            started.callback(server.kill)
            assert server.stdout is not None
            server.stdout.readline()
            specs += ["--tx", f"socket=127.0.0.1:{port}//chdir={checkout}"]
        run = project.run(*recorded.model, *Recorded.GRID, "--dist=load", *specs)
    assert run.status == 0, run.text
    assert without_run(run.rows) == without_run(usual.rows)
    assert run.audit["panels"] == usual.audit["panels"]

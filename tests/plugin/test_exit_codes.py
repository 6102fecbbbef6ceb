"""The exit code, over every state of the gate and of the tests, with workers and without, ended or not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.plugin.harness import MODES, PANEL_TEST, Recorded

if TYPE_CHECKING:
    from tests.plugin.harness import Project

GATES = {
    "pass": ("--wise-min-coverage=80",),
    "fail": ("--wise-min-coverage=80", "--wise-min-mean=99"),
    "not_evaluated": ("--wise-min-coverage=80", "--wise-min-tau=0"),
}
BAD = {
    "none": "",
    "a test of the user fails": "def test_own():\n    assert False\n",
    "a technical error": "",
}
ENDS = {
    "to its end": ("", None),
    "interrupted": ("raise KeyboardInterrupt", 2),
    "ended by the user": ('pytest.exit("enough", returncode=7)', 7),
}
BROKEN_CELL = """\
    if (wise.cell.item, wise.cell.form, wise.cell.repetition) == ("i001", "NEG", 1):
        raise OSError("no network")
"""
MATRIX = list(itertools.product(GATES, BAD, MODES))


def write(project: Project, tests: str, ending: str) -> None:
    code = PANEL_TEST
    if tests == "a technical error":
        code = code.replace("    wise.score", f"{BROKEN_CELL}    wise.score")
    if ending:
        code += f'    if (wise.cell.item, wise.cell.form) == ("i002", "NEG"):\n        {ending}\n'
    project.write("test_panel.py", code)
    if BAD[tests]:
        project.write("test_own.py", BAD[tests])


@pytest.mark.parametrize(
    ("gate", "tests", "workers"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] if case[2] != "plain" else [], id=", ".join(case))
        for case in MATRIX
    ],
)
def test_gate_and_tests(project: Project, recorded: Recorded, gate: str, tests: str, workers: str):
    """0 only where all tests passed and the gate does; everything else that ran to its end is 1."""
    write(project, tests, "")
    run = project.run(*recorded.model, *Recorded.GRID, *GATES[gate], *MODES[workers])
    assert run.status == (0 if (gate, tests) == ("pass", "none") else 1), run.text
    assert run.gate == gate
    assert len(run.rows) == 12
    assert f"gate: {gate.replace('_', ' ').upper()}" in run.text


@pytest.mark.parametrize(
    ("gate", "ending", "workers"),
    [
        pytest.param(
            *case,
            marks=[] if case == ("pass", "interrupted", "plain") else [pytest.mark.slow],
            id=", ".join(case),
        )
        for case in itertools.product(GATES, ("interrupted", "ended by the user"), MODES)
    ],
)
def test_an_end_from_outside_goes_before_the_gate(
    project: Project, recorded: Recorded, gate: str, ending: str, workers: str
):
    how, status = ENDS[ending]
    write(project, "none", how)
    run = project.run(
        *recorded.model, *Recorded.GRID, *GATES[gate], *MODES[workers], crashes=True, may_break=True
    )
    # A worker that is told to end takes xdist's way out: interrupted, or an internal error, never 0 or 1.
    assert run.status == status or (workers != "plain" and run.status in (2, 3)), run.text
    assert run.gate in ("not_evaluated", "fail")
    assert "gate: PASS" not in run.text
    assert not (project.path / "reports/latest").exists()


@pytest.mark.parametrize("workers", [pytest.param(name, marks=pytest.mark.slow) for name in MODES])
@pytest.mark.parametrize("gate", GATES)
def test_stopping_at_the_first_failure(project: Project, recorded: Recorded, gate: str, workers: str):
    write(project, "a technical error", "")
    run = project.run(*recorded.model, *Recorded.GRID, *GATES[gate], *MODES[workers], "-x")
    assert run.status == 1 or (workers != "plain" and run.status == 2), run.text
    # The other worker may have run all the rest before it was told to stop: then nothing is missing.
    assert ("partial: " in run.flat) == (len(run.rows) < 12)
    assert run.gate in ("not_evaluated", "fail") or len(run.rows) == 12


@pytest.mark.parametrize(
    ("mode", "status"), [("point", 1), ("confident", 0)], ids=["as it is", "with its interval"]
)
def test_a_limit_within_the_interval_fails_only_a_gate_that_judges_points(
    project: Project, recorded: Recorded, mode: str, status: int
):
    """Two items: whatever their mean is, an interval over them reaches far."""
    mean = project.run(*recorded.model, *Recorded.GRID).audit["panels"]["exact_count"]["summary"]["mean"]
    limit = f"--wise-min-mean={100 * mean + 0.5:.2f}"
    run = project.run(*recorded.model, *Recorded.GRID, limit, f"--wise-gate={mode}")
    assert run.status == status, run.text
    assert ("1 inconclusive" in run.flat) == (mode == "confident")

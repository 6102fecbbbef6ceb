"""pytest's own JUnit file: valid whatever a model wrote, data as skipped, the gate as a case of its own."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from tests.loopback import LoopbackServer, Received, Reply, completion
from tests.plugin.harness import Project, Recorded, grid

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "]]> <failure/> \x00 \x1b[31m \ud83d \ufffe & \" ' \u2028 日本"


def cases(path: Path) -> dict[str, ET.Element]:
    """The cases of the only suite, by their name."""
    suite = ET.parse(path).getroot().find("testsuite")
    assert suite is not None
    found = list(suite.iter("testcase"))
    names = [f"{case.get('classname')}.{case.get('name')}" for case in found]
    assert len(set(names)) == len(names)
    counted = {
        kind: sum(case.find(kind) is not None for case in found) for kind in ("skipped", "failure", "error")
    }
    assert {
        "tests": len(found),
        "skipped": counted["skipped"],
        "failures": counted["failure"],
        "errors": counted["error"],
    } == {name: int(suite.get(name, "-1")) for name in ("tests", "skipped", "failures", "errors")}
    return dict(zip(names, found, strict=True))


def gate_of(path: Path) -> ET.Element:
    return cases(path)["wise.gate"]


def hostile(request: Received, n: int) -> Reply:
    del n
    return completion(HOSTILE if "using exactly" in str(request.prompt) else "one two three four five")


def test_what_does_not_comply_is_skipped_with_its_reason(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    server.script = hostile
    run = project.run(
        "--model", f"m={server.base_url}", *grid(1), "--record-mode=once", "--junitxml=out.xml", *mode
    )
    assert run.status == 0
    assert run.counts == {"passed": 1, "noncompliant": 1}
    found = cases(project.path / "out.xml")
    assert len(found) == 3
    (skipped,) = [case for name, case in found.items() if "-pos-" in name]
    reason = skipped.find("skipped")
    assert reason is not None
    assert reason.get("message") == "not compliant: over, observed 10, target 5"
    assert reason.text is not None
    assert reason.text.startswith("test_panel.py:")
    (passed,) = [case for name, case in found.items() if "-neg-" in name]
    assert list(passed) == []
    assert list(found["wise.gate"]) == []


def test_a_strict_miss_is_a_failure_and_the_file_is_valid(project: Project, server: LoopbackServer):
    server.script = hostile
    run = project.run(
        "--model",
        f"m={server.base_url}",
        *grid(1),
        "--record-mode=once",
        "--wise-strict",
        "--junitxml=out.xml",
    )
    assert run.status == 1
    found = cases(project.path / "out.xml")
    assert sum(case.find("failure") is not None for case in found.values()) == 1
    assert found["wise.gate"].find("failure") is None


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (("--wise-min-mean", "100"), "FAIL: 1 of 2 checks"),
        (("--wise-max-reversal", "10"), "NOT EVALUATED"),
    ],
    ids=["fails", "not evaluated"],
)
def test_a_gate_that_does_not_pass_is_a_failed_case(
    project: Project, recorded: Recorded, mode: tuple[str, ...], limit: tuple[str, ...], said: str
):
    run = project.run(*recorded.model, *recorded.GRID, *limit, "--junitxml=out.xml", *mode)
    assert run.status == 1
    failure = gate_of(project.path / "out.xml").find("failure")
    assert failure is not None
    assert said in (failure.text or "")


def test_the_terminal_counts_no_case_for_the_gate(project: Project, recorded: Recorded):
    run = project.run(*recorded.model, *recorded.GRID, "--wise-min-mean", "100", "--junitxml=out.xml")
    assert sum(run.counts.values()) == len(run.rows)
    assert "failed" not in run.counts


def test_a_technical_error_stays_an_error_in_the_file(project: Project, recorded: Recorded):
    run = project.run(*recorded.model, *grid(3, 1), "--junitxml=out.xml")
    assert run.status == 1
    found = cases(project.path / "out.xml")
    failed = [case for case in found.values() if case.find("failure") is not None]
    assert len(failed) == 3  # two cells that were never recorded, and the gate


def test_a_session_without_a_panel_has_no_case_of_ours(project: Project):
    project.write("test_panel.py", "def test_own():\n    pass\n")
    run = project.run("--junitxml=out.xml")
    assert run.status == 0
    assert list(cases(project.path / "out.xml")) == ["test_panel.test_own"]

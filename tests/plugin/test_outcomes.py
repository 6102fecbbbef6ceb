"""What each kind of outcome is called, and what it does to counts and exit codes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from tests.loopback import LoopbackServer, completion
from tests.plugin.harness import SLOW_WITH_WORKERS, Project, Recorded, grid, without_run
from wise_pytest.report.writer import STEP_SUMMARY_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Received, Reply

FIVE = "one two three four five"
EIGHT = "one two three four five six seven eight"


def script(request: Received, n: int) -> Reply:
    """Item i001 wants five words and i002 eight: blocked, truncated but right, wrong, right."""
    del n
    prompt = str(request.prompt)
    positive = "using exactly" in prompt
    if "5 words" in prompt:
        return completion("", "content_filter") if positive else completion(FIVE, "length")
    return completion("too short") if positive else completion(EIGHT)


def junit(path: Path) -> dict[str, int]:
    suite = ET.parse(path).getroot().find("testsuite")
    assert suite is not None
    return {name: int(suite.get(name, "-1")) for name in ("tests", "failures", "errors", "skipped")}


@SLOW_WITH_WORKERS
def test_data_is_no_failure_unless_the_run_is_strict(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    server.script = script
    base = ("--model", f"m={server.base_url}", *grid(2), "--wise-min-coverage", "75", *mode)
    run = project.run(*base, "--record-mode=once", "--junitxml=out.xml")
    assert run.status == 0
    assert run.letters == "..bn"
    assert run.counts == {"passed": 2, "noncompliant": 1, "blocked": 1}
    # Four cells and the gate; the blocked and the noncompliant one are skipped, each with its reason.
    assert junit(project.path / "out.xml") == {"tests": 5, "failures": 0, "errors": 0, "skipped": 2}
    rows = {(row["item"], row["form"]): row for row in run.rows}
    assert rows["i001", "POS"]["status"] == "blocked"
    assert rows["i001", "POS"]["compliant"] is None
    assert rows["i001", "NEG"]["status"] == "truncated"
    assert (rows["i001", "NEG"]["compliant"], rows["i001", "NEG"]["observed"]) == (True, 5)
    assert (rows["i002", "POS"]["compliant"], rows["i002", "POS"]["error"]) == (False, -6)
    assert rows["i002", "NEG"]["compliant"] is True

    panel = run.audit["panels"]["exact_count"]
    assert panel["coverage"] == 0.75
    assert panel["forms"]["POS"]["n"] == 1
    assert panel["forms"]["POS"]["statuses"]["blocked"] == 1
    assert panel["forms"]["NEG"]["statuses"]["truncated"] == 1
    assert (panel["forms"]["NEG"]["n"], panel["forms"]["NEG"]["compliance"]) == (2, 1.0)
    assert server.n_requests == 4

    strict = project.run(*base, "--wise-strict", "--junitxml=strict.xml")
    assert strict.status == 1
    assert strict.counts == {"passed": 2, "failed": 1, "blocked": 1}
    assert junit(project.path / "strict.xml") == {"tests": 5, "failures": 1, "errors": 0, "skipped": 1}
    assert "under" in strict.flat
    assert "Answer using exactly 8 words." in strict.flat
    assert strict.audit["panels"] == run.audit["panels"]


def test_many_technical_errors_are_ten_lines_and_a_count(
    project: Project, recorded: Recorded, mode: tuple[str, ...]
):
    run = project.run(*recorded.model, *grid(16, 1), "--junitxml=out.xml", *mode)
    assert run.status == 1
    assert run.letters == "E" * 28 + "nnnn"
    assert run.counts == {"error": 28, "noncompliant": 4}
    shown = [line for line in run.text.splitlines() if line.startswith("ERROR ")]
    assert len(shown) == 10
    assert "18 more technical errors" in run.flat
    assert len([line for line in run.text.splitlines() if "never recorded" in line]) <= 10 + 10 + 3
    for sign in ("wise_pytest/", "def test_exact_count", "site-packages", "test_panel.py:5"):
        assert sign not in run.text
    counted = junit(project.path / "out.xml")
    assert counted["tests"] == 33  # the gate, which does not pass, is the last
    assert counted["failures"] + counted["errors"] == 29


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("    wise.ask()", "without scoring"),
        ("    wise.score(wise.ask())\n    raise ValueError('mine')", "mine"),
        ("    raise ValueError('early')", "early"),
        ("    assert wise.ask().text == 'x'", "assert"),
    ],
    ids=["unscored", "raises after", "raises before", "asserts"],
)
def test_a_test_that_does_something_else_never_passes_silently(
    project: Project, recorded: Recorded, body: str, said: str
):
    project.write(
        "test_panel.py",
        f'import pytest\n@pytest.mark.wise("exact_count")\ndef test_exact_count(wise):\n{body}\n',
    )
    run = project.run(*recorded.model, *grid())
    assert run.status == 1
    assert len(run.rows) == 2
    assert said in run.text
    if said == "mine":  # the answer was scored, and stays so; the test has failed for a reason of its own
        assert [row["status"] for row in run.rows] == ["ok", "ok"]
        assert run.counts == {"failed": 2}
    else:
        assert [row["status"] for row in run.rows] == ["error", "error"]


def test_a_reply_of_another_model_is_scored_flagged_and_said(project: Project, server: LoopbackServer):
    server.script = lambda _request, _n: completion("two words", model="another")
    run = project.run("--model", f"m={server.base_url}", *grid(1), "--record-mode=once")
    assert run.status == 0
    assert all(
        "served_model_differs" in row["flags"] and row["served_model"] == "another" for row in run.rows
    )
    assert run.audit["run"]["served_model_differs"] == {"m": "another"}
    assert "m was served by another" in run.flat
    replayed = project.run("--model", f"m={server.base_url}", *grid(1))
    assert without_run(replayed.rows) == without_run(run.rows)


def test_the_report_is_added_to_the_page_of_a_ci_step(
    project: Project, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    page = project.path / "page.md"
    page.write_text("what was there\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    run = project.run(*recorded.model, *recorded.GRID)
    assert run.status == 0
    assert run.folder is not None
    report = (run.folder / "audit.md").read_text("utf-8")
    assert page.read_text("utf-8") == "what was there\n\n" + report
    assert f"step summary: added to {page}" in run.flat


def test_a_nearly_full_page_gets_the_verdict_and_never_changes_the_outcome(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    server.script = lambda _request, _n: completion("日本語" * 40)
    page = project.path / "page.md"
    held = "x" * (STEP_SUMMARY_BYTES - 1500)
    page.write_text(held, encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    run = project.run("--model", f"m={server.base_url}", *grid(2), "--record-mode=once")
    assert run.status == 0
    content = page.read_bytes()
    assert STEP_SUMMARY_BYTES - 1000 < len(content) <= STEP_SUMMARY_BYTES
    added = content.decode("utf-8").removeprefix(held)
    assert added.startswith("\n# WISE audit – PASS")
    assert "lines are left out here" in added
    assert "cut to fit its limit" in run.flat
    page.write_text("x" * STEP_SUMMARY_BYTES, encoding="utf-8")
    again = project.run("--model", f"m={server.base_url}", *grid(2))
    assert again.status == 0
    assert "has no room left" in again.flat
    assert page.stat().st_size == STEP_SUMMARY_BYTES

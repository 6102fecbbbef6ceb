"""The gate decides the exit code: worse if need be, never better than what pytest has come to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, LoopbackServer, completion, error
from tests.plugin.harness import PANEL_TEST, Project, Recorded, grid, wait_until, without_run

if TYPE_CHECKING:
    from tests.loopback import Received, Reply

EXIT_TEST = """\
import pytest

@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
    if (wise.cell.item, wise.cell.form) == ("i002", "POS"):
        {what}
"""


def half_right(request: Received, n: int) -> Reply:
    """POS is always right; NEG only for item i001."""
    del n
    prompt = str(request.prompt)
    if "exactly 8" in prompt:
        return completion("one two three four five six seven eight")
    return completion("one two three four five") if "5 words" in prompt else completion("no")


def test_thresholds_hold_at_the_limit_and_fail_beyond(project: Project, server: LoopbackServer):
    """POS 2/2, NEG 1/2: gap 50, worst 50, mean 75."""
    server.script = half_right
    model = ("--model", f"m={server.base_url}", *grid(2))
    limits = ("--wise-max-gap=50", "--wise-min-worst=50", "--wise-min-mean=75", "--wise-min-coverage=100")
    exact = project.run(*model, *limits, "--record-mode=once")
    assert exact.status == 0
    summary = exact.audit["panels"]["exact_count"]["summary"]
    assert (summary["pos"], summary["mean"], summary["worst"], summary["gap"]) == (1.0, 0.75, 0.5, 0.5)
    assert summary["worst_form"] == "NEG"
    assert [check["status"] for check in exact.audit["gate"]["checks"]] == ["pass"] * 4

    beyond = project.run(*model, "--wise-max-gap=49.99", "--wise-min-worst=50.01", "--wise-min-mean", "75.01")
    assert beyond.status == 1
    assert beyond.gate == "fail"
    found = {check["metric"]: check["status"] for check in beyond.audit["gate"]["checks"]}
    assert found == {"coverage": "pass", "gap": "fail", "worst": "fail", "mean": "fail"}
    assert "failed" not in beyond.counts
    assert "gate: FAIL: 3 of 4 checks" in beyond.flat

    unranked = project.run(*model, "--wise-min-tau", "0")
    assert unranked.status == 1
    assert unranked.gate == "not_evaluated"
    assert "two models" in unranked.flat

    project.write(
        "pytest.ini",
        f"[pytest]\naddopts = {' '.join(model[:2])}\n"
        "wise_max_gap = 5\nwise_form = POS NEG\nwise_repetitions = 1\nwise_items = 2\n",
    )
    twins = project.run()
    assert twins.status == 1
    assert len(twins.rows) == 4
    assert [check["metric"] for check in twins.audit["gate"]["checks"] if check["status"] == "fail"] == [
        "gap"
    ]
    assert project.run("--wise-max-gap", "50").status == 0
    assert server.n_requests == 4


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["test_panel.py", "test_broken.py"], 2),
        (["test_panel.py", "-k", "nomatch"], 5),
        (["test_panel.py", "-k", "not {"], 4),
        (["no_such_file.py"], 4),
        (["test_panel.py", "test_broken.py", "--continue-on-collection-errors"], 1),
    ],
    ids=["collection error", "nothing selected", "bad expression", "no file", "collection error passed over"],
)
def test_a_gate_never_improves_what_pytest_says(
    project: Project, recorded: Recorded, arguments: list[str], expected: int
):
    project.write("test_broken.py", "import no_such_module_anywhere\n")
    run = project.run(*recorded.model, *Recorded.GRID, *arguments, crashes=True)
    assert run.status == expected
    if "--continue-on-collection-errors" in arguments:
        assert len(run.rows) == 12
    else:
        assert "PASS" not in run.text
        assert run.folder is None or run.gate != "pass"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "arguments"),
    [
        ("pass", ["-k", "nomatch"]),
        ("pass", ["-k", "not {"]),
        ("pass", ["broken"]),
        ('pytest.exit("enough", returncode=7)', []),
        ("raise KeyboardInterrupt", []),
    ],
    ids=["nothing selected", "bad expression", "collection error", "exit", "interrupt"],
)
def test_a_gate_never_improves_what_workers_come_to(
    project: Project, recorded: Recorded, ending: str, arguments: list[str]
):
    """pytest itself, over a test that is not ours, says what is right; xdist has its own view of some."""
    project.write("broken/test_broken.py", "import no_such_module_anywhere\n")
    project.write(
        "plain/test_plain.py",
        "import pytest\n@pytest.mark.parametrize('i', range(12))\n"
        f"def test_a(i):\n    if i == 6:\n        {ending}\n",
    )
    plain = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:wise", "plain", *arguments]
    bare = subprocess.run(plain, cwd=project.path, check=False, capture_output=True)
    project.write("test_panel.py", EXIT_TEST.format(what=ending))
    ours = project.run(
        *recorded.model, *Recorded.GRID, "-n", "2", "test_panel.py", *arguments, crashes=True, may_break=True
    )
    assert ours.status == bare.returncode
    assert ours.status != 0
    assert ("INTERNALERROR" in ours.text) == (b"INTERNALERROR" in bare.stdout)
    if arguments != ["broken"]:  # with workers, the error of one file does not keep the others from running
        assert "PASS" not in ours.text
    if "-k" not in arguments:
        assert 1 <= len(ours.rows) <= 12


@pytest.mark.parametrize(
    ("what", "expected"),
    [('pytest.exit("enough", returncode=7)', 7), ("raise KeyboardInterrupt", 2)],
    ids=["exit", "interrupt"],
)
def test_an_ended_run_keeps_its_rows_and_its_status(
    project: Project, recorded: Recorded, what: str, expected: int
):
    project.write("test_panel.py", EXIT_TEST.format(what=what))
    run = project.run(*recorded.model, *grid(2, 3))
    assert run.status == expected
    # Six cells of i001, then the one that ended the run, of which pytest makes no report.
    assert without_run(run.rows) == without_run([row for row in recorded.rows if row["item"] == "i001"])
    assert run.gate != "pass"
    assert run.audit["run"]["partial"] == "partial: 6 of 12 cells"
    if expected == 2:  # for a code of somebody's own, pytest prints no summary at all
        assert "partial: 6 of 12 cells" in run.flat
    assert not (project.path / "reports/latest").exists()


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is(project: Project, server: LoopbackServer):
    # The later ones take so long that the run cannot be over before it is broken off.
    server.script = lambda *_: Answer(completion("a b"), delay_s=0.1 if server.n_requests <= 4 else 3)
    process = project.start("--model", f"m={server.base_url}", *grid(10), "--record-mode=once")
    wait_until(lambda: server.n_requests >= 5)
    run = project.end(process, signal.SIGINT)
    assert run.status == 2
    assert "INTERNALERROR" not in run.text
    assert 1 <= len(run.rows) <= 19
    assert run.gate != "pass"
    assert f"partial: {len(run.rows)} of 20 cells" in run.flat
    assert len(project.packs()["exact_count/m.jsonl"]) >= 1 + len(run.rows)
    assert [name for name in project.files() if name.endswith(".part.jsonl")] == []


def test_an_incomplete_run_is_no_pass_and_replaces_no_full_report(project: Project, recorded: Recorded):
    """-x on cells of which two fail, then --lf; both with an earlier full report in place."""
    report = ("--wise-report", "markdown:kept.md", "--wise-report", "json")
    options = (*recorded.model, *grid(2, 2), *report)
    full = project.run(*options)
    assert full.status == 0
    kept = (project.path / "kept.md").read_bytes()
    assert project.latest == full.folder

    project.write(
        "test_panel.py",
        PANEL_TEST
        + '    if wise.cell.form == "NEG" and wise.cell.repetition == 1:\n        raise ValueError\n',
    )
    stopped = project.run(*options, "-n", "2", "-x")
    assert stopped.status in (1, 2)  # xdist says 2, "stopping after 1 failures"
    assert len(stopped.rows) < 8
    assert stopped.gate != "pass"
    assert f"partial: {len(stopped.rows)} of 8" in stopped.flat

    n_failed = stopped.counts["failed"]  # the second worker may or may not have finished its own
    failed_only = project.run(*options, "--lf")
    assert failed_only.status == 1
    assert len(failed_only.rows) == n_failed
    assert failed_only.gate != "pass"
    assert f"partial: {n_failed} of 8" in failed_only.flat

    project.write("test_panel.py", PANEL_TEST)
    mended = project.run(*options, "--lf")
    assert mended.status == 1
    assert f"partial: {n_failed} of 8" in mended.flat
    assert mended.gate != "pass"

    assert project.run(*options, "-k", "nomatch").status == 5
    assert project.run(*options, "--wise-panel", "keyword_once").status != 0
    assert project.latest == full.folder
    assert (project.path / "kept.md").read_bytes() == kept


def test_coverage_below_the_minimum_is_refused_and_the_command_line_agrees(
    project: Project, server: LoopbackServer
):
    """20 cells: 16 right, 2 wrong, 2 without an answer: 18 are scored, which is 90 %."""

    def script(request: Received, n: int) -> Reply:
        del n
        prompt = str(request.prompt)
        number = len({str(earlier.prompt) for earlier in server.requests[1:]})
        if number in (3, 4):
            return Answer(error("busy"), status=429, headers={"retry-after": "3600"})
        n_words = int(next(word for word in prompt.split()[::-1] if word.isdigit()))
        return completion(" ".join(["word"] * (n_words + (number in (5, 6)))))

    server.script = script
    model = ("--model", f"m={server.base_url}", *grid(10))
    run = project.run(*model, "--record-mode=once", "--wise-min-mean", "10")
    assert run.status == 1
    panel = run.audit["panels"]["exact_count"]
    assert (panel["n_rows"], panel["n_scored"], panel["coverage"]) == (20, 18, 0.9)
    assert sum(form["n"] for form in panel["forms"].values()) == 18
    assert sum(form["statuses"].get("error", 0) for form in panel["forms"].values()) == 2
    assert sum(row["compliant"] is True for row in run.rows) == 16
    checks = {check["metric"]: check["status"] for check in run.audit["gate"]["checks"]}
    assert checks == {"coverage": "fail", "mean": "pass"}
    assert "coverage 90.0 < 95.0" in run.flat

    assert run.folder is not None
    again = project.wise("audit", str(run.folder), "--out", "again", "--min-mean", "10")
    assert again.status == 1
    audit = json.loads((project.path / "again/audit.json").read_text("ascii"))
    assert audit["panels"] == run.audit["panels"]
    assert audit["gate"] == run.audit["gate"]
    assert project.wise("audit", str(run.folder), "--min-coverage", "90").status == 0

    lines = (run.folder / "generations.jsonl").read_text("ascii").splitlines()
    flipped = next(json.loads(line) for line in lines if '"compliant":true' in line)
    other = project.write("other.jsonl", json.dumps({**flipped, "compliant": False}) + "\n")
    clash = project.wise("audit", str(run.folder), str(other))
    assert clash.status == 2
    assert "generations.jsonl:" in clash.flat
    assert "other.jsonl:1" in clash.flat
    assert "Traceback" not in clash.text

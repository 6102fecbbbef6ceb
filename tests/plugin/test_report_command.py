"""``wise report``: every format of a run again, from its rows."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from wise_pytest.report.html.payload import unpack_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin.harness import Project, Recorded

REPORTS = {"audit.md", "audit.json", "audit.html", "tables", "figures"}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def packed(page: Path) -> list[dict[str, object]]:
    text = page.read_text("utf-8")
    return unpack_rows(text.partition('id="wise-rows">')[2].partition("</script>")[0])


@pytest.fixture
def run(project: Project, recorded: Recorded) -> Path:
    finished = project.run(*recorded.model, *recorded.GRID, "--wise-max-gap", "90")
    assert finished.status == 0
    assert finished.folder is not None
    return finished.folder


def test_a_run_has_every_report(run: Path):
    assert {path.name for path in run.iterdir()} == {*REPORTS, "generations.jsonl", "manifest.json"}
    for picture in (run / "figures").iterdir():
        ET.parse(picture)


def test_the_page_holds_every_row_and_its_recorded_reply(run: Path):
    rows = [json.loads(line) for line in (run / "generations.jsonl").read_text("ascii").splitlines()]
    found = packed(run / "audit.html")
    cell = ("model", "item", "form", "repetition", "text")
    assert sorted([row[name] for name in cell] for row in found) == sorted(
        [row[name] for name in cell] for row in rows
    )
    assert all('"choices"' in str(row["reply"]) for row in found)


def test_every_report_is_made_again_byte_by_byte(project: Project, run: Path):
    before = contents(run)
    for name in REPORTS - {"audit.json"}:
        path = run / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    done = project.wise("report", str(run))
    assert done.status == 0, done.text
    assert "gate: PASS: 2 checks (coverage, gap)" in done.text
    assert contents(run) == before


def test_without_an_audit_the_rows_are_audited_as_their_run_was(project: Project, run: Path):
    before = json.loads((run / "audit.json").read_text("ascii"))
    (run / "audit.json").unlink()
    assert project.wise("report", str(run / "generations.jsonl")).status == 0
    after = json.loads((run / "audit.json").read_text("ascii"))
    assert after["panels"] == before["panels"]
    assert after["gate"] == before["gate"]


def test_an_audit_of_other_rows_is_not_kept(project: Project, run: Path):
    lines = (run / "generations.jsonl").read_text("ascii").splitlines(keepends=True)
    (run / "generations.jsonl").write_text("".join(lines[:-1]), "ascii")
    assert project.wise("report", str(run)).status == 0
    after = json.loads((run / "audit.json").read_text("ascii"))
    assert after["run"]["n_rows"] == len(lines) - 1
    assert after["gate"]["status"] == "fail"  # 11 of 12 cells are less than 95 %


def test_reports_go_where_they_are_asked_for(project: Project, run: Path):
    done = project.wise("report", str(run), "--out", "out", "--report", "html", "--report", "comment:pr.md")
    assert done.status == 0, done.text
    assert {path.name for path in (project.path / "out").iterdir()} == {"audit.html", "audit.json"}
    comment = (project.path / "pr.md").read_text("utf-8")
    assert comment.startswith("# WISE audit – PASS")
    assert len(comment) <= 65_536


def test_a_portable_page_says_nothing_of_its_machine(project: Project, run: Path):
    project.wise("report", str(run), "--out", "with")
    assert project.wise("report", str(run), "--out", "without", "--portable").status == 0
    manifest = json.loads((run / "manifest.json").read_text("ascii"))
    for said in (manifest["run"], manifest["started_at"], manifest["software"]["platform"]):
        assert said in (project.path / "with" / "audit.html").read_text("utf-8")
        assert said not in (project.path / "without" / "audit.html").read_text("utf-8")


def test_png_is_made_where_it_is_asked_for(project: Project, run: Path):
    pytest.importorskip("resvg_py", reason="PNG needs the extra 'png'")
    done = project.wise("report", str(run), "--report", "png")
    if "needs a font" in done.text:
        pytest.skip("this machine has no font")
    assert done.status == 0, done.text
    names = {path.suffix for path in (run / "figures").iterdir()}
    assert names == {".svg", ".png"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: cannot be read"),
        (["{run}", "--report", "pdf"], "there is no kind 'pdf'"),
        (["{run}", "{run}/../other"], "say with --out DIR"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(project: Project, run: Path, arguments: list[str], said: str):
    shutil.copytree(run, run.parent / "other")
    done = project.wise("report", *(argument.format(run=run) for argument in arguments))
    assert done.status == 2
    assert said in done.text
    assert "Traceback" not in done.text


def test_a_damaged_audit_is_named(project: Project, run: Path):
    (run / "audit.json").write_text("{", "ascii")
    done = project.wise("report", str(run))
    assert done.status == 2
    assert "audit.json: cannot be read" in done.text
    assert "delete it" in done.text

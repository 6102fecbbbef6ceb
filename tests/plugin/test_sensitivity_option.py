"""``--wise-sensitivity``: other counters beside the strict score, in a session and in what reads it again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin.harness import Project, Recorded

KEY = "verifier_sensitivity"


def panel_in(folder: Path) -> dict[str, Any]:
    document = json.loads((folder / "audit.json").read_text("ascii"))
    panel: dict[str, Any] = document["panels"]["exact_count"]
    return panel


@pytest.mark.parametrize("asked", ["flag", pytest.param("ini", marks=pytest.mark.slow)])
def test_a_session_that_is_asked_has_them_in_every_report(project: Project, recorded: Recorded, asked: str):
    if asked == "ini":
        project.write("pytest.ini", "[pytest]\nwise_sensitivity = true\n")
    option = ["--wise-sensitivity"] if asked == "flag" else []
    finished = project.run(*recorded.model, *recorded.GRID, *option)
    assert finished.status == 0, finished.text
    assert finished.folder is not None
    panel = panel_in(finished.folder)
    found = panel[KEY]
    assert list(found["readings"]) == [
        "strict",
        "markdown_removed",
        "unwrapped",
        "answer_body",
        "unicode_words",
        "language_words",
    ]
    assert found["n"] == panel["n_rows"]
    assert found["readings"]["strict"]["summary"]["gap"] == panel["summary"]["gap"]
    assert f"other counters: exact_count: {found['answer']}" in finished.text
    assert "### The same outputs under other counters" in (finished.folder / "audit.md").read_text("utf-8")
    assert "choice of counter?" in (finished.folder / "audit.html").read_text("utf-8")
    assert {path.name for path in (finished.folder / "tables").glob(f"{KEY}*")} == {
        f"{KEY}.csv",
        f"{KEY}_gaps.csv",
    }


def test_what_reads_the_run_again_asks_as_it_did(project: Project, recorded: Recorded):
    asked = project.run(*recorded.model, *recorded.GRID, "--wise-sensitivity").folder
    unasked = project.run(*recorded.model, *recorded.GRID)
    assert "other counters" not in unasked.text
    plain = unasked.folder
    assert asked is not None
    assert plain is not None
    assert KEY not in panel_in(plain)
    assert not list((plain / "tables").glob(f"{KEY}*"))
    found = panel_in(asked)
    again = project.path / "again"
    assert project.wise("audit", str(asked), "--out", str(again)).status == 0
    assert panel_in(again) == found
    told = project.path / "told"
    done = project.wise("audit", str(plain), "--sensitivity", "--out", str(told))
    assert done.status == 0, done.text
    assert f"other counters: exact_count: {found[KEY]['answer']}" in done.text
    assert panel_in(told) == found
    # The report shows what audit.json has, and audits as the run did where there is none.
    before = (asked / "audit.md").read_bytes()
    (asked / "audit.md").unlink()
    assert project.wise("report", str(asked)).status == 0
    assert (asked / "audit.md").read_bytes() == before
    (asked / "audit.json").unlink()
    assert project.wise("report", str(asked)).status == 0
    assert panel_in(asked) == found
    assert project.wise("report", str(plain)).status == 0
    assert KEY not in panel_in(plain)

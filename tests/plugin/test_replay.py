"""Recordings come back: the same rows whatever runs them, and nothing calls out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.loopback import LoopbackServer, default_text
from tests.plugin.harness import PANEL_TEST, SLOW_WITH_WORKERS, Project, Recorded, grid, without_run

if TYPE_CHECKING:
    import pytest

REVERSED = "def pytest_collection_modifyitems(items):\n    items.reverse()\n"


def test_a_replay_gives_the_recorded_rows_in_every_mode_and_order(project: Project, recorded: Recorded):
    """The recording's server is gone: whoever called out would have errors instead of rows."""
    offline = (*recorded.model, *recorded.GRID, "--block-network")
    runs = [project.run(*offline, *mode) for mode in (("-p", "no:xdist"), (), ("-n", "2"))]
    project.write("conftest.py", REVERSED)
    runs.append(project.run(*offline, "-v"))

    assert [run.status for run in runs] == [0, 0, 0, 0]
    assert [len(run.rows) for run in runs] == [12, 12, 12, 12]
    for run in runs:
        assert without_run(run.rows) == without_run(recorded.rows)
        for row in run.rows:
            # The server has answered in the order of recording: A to the first repetition, and so on.
            assert row["text"] == default_text(row["prompt"], row["repetition"] - 1)
    lines = [line for line in runs[3].text.splitlines() if line.startswith("test_panel.py::")]
    assert "-neg-r3" in lines[0]
    assert "i002" in lines[0]
    assert len({(run.folder / "audit.json").read_bytes() for run in runs if run.folder}) == 1
    assert len({row["run"] for run in runs for row in run.rows}) == 4


@SLOW_WITH_WORKERS
def test_an_unrecorded_cell_is_an_error_and_never_calls_out(
    project: Project, recorded: Recorded, mode: tuple[str, ...]
):
    with LoopbackServer(port=int(recorded.base_url.split(":")[2].removesuffix("/v1"))) as alive:
        run = project.run(*recorded.model, *grid(3, 3), *mode)
        assert alive.requests == []
    assert run.status == 1
    assert run.counts["error"] == 6
    missing = [row for row in run.rows if row["status"] == "error"]
    assert [(row["item"], row["compliant"], row["text"]) for row in missing] == [("i003", None, None)] * 6
    assert without_run([row for row in run.rows if row["item"] != "i003"]) == without_run(recorded.rows)
    for part in ("[exact_count-m-i003-neg-r2]", "never recorded", "--record-mode=new_episodes"):
        assert part in run.flat
    assert run.gate != "pass"


def test_a_panel_without_recordings_is_skipped_as_one(
    project: Project, recorded: Recorded, mode: tuple[str, ...]
):
    project.write("test_two.py", PANEL_TEST.replace("exact_count", "keyword_once"))
    run = project.run(*recorded.model, *recorded.GRID, "-rs", *mode)
    assert run.status == 0
    assert run.counts["skipped"] == 1
    assert "keyword_once, m: not recorded" in run.flat
    assert run.gate == "pass"
    assert len(run.rows) == 12

    nothing = project.run(*recorded.model, *recorded.GRID, "--wise-panel", "keyword_once", "-rs", *mode)
    assert nothing.status == 1
    assert nothing.counts["skipped"] == 1
    assert nothing.gate == "not_evaluated"


def test_a_named_model_without_recordings_is_no_pass_and_a_globbed_one_is_left_out(
    project: Project, recorded: Recorded
):
    project.write(
        "pyproject.toml",
        f"""
        [tool.wise.models.m]
        base_url = "{recorded.base_url}"
        [tool.wise.models.m2]
        base_url = "{recorded.base_url}"
        """,
    )
    named = project.run("--model", "m", "--model", "m2", *recorded.GRID)
    assert named.status == 1
    assert named.gate == "not_evaluated"
    assert "m2" in " ".join(check["model"] for check in named.audit["gate"]["checks"] if check["model"])
    assert "not recorded" in named.flat

    globbed = project.run("--model", "[m]", "--model", "m[2]", *recorded.GRID)
    assert globbed.status == 0
    assert globbed.gate == "pass"
    assert {row["model"] for row in globbed.rows} == {"m"}
    assert "not recorded: exact_count (m2)" in globbed.flat


def test_a_recording_belongs_to_the_cell_whatever_the_test_is_called(project: Project, recorded: Recorded):
    (project.path / "test_panel.py").unlink()
    project.write(
        "deep/er/test_renamed.py",
        """
import pytest

@pytest.mark.wise("exact_count")
class TestModel:
    @pytest.mark.parametrize("twice", [1])
    def test_words(self, twice, wise):
        wise.score(wise.ask())
""",
    )
    run = project.run(*recorded.model, *recorded.GRID, "--block-network")
    assert run.status == 0
    assert without_run(run.rows) == without_run(recorded.rows)
    assert "deep/er/cassettes" not in project.files()


def test_a_folder_of_reports_that_exists_elsewhere_is_not_taken_for_the_root_folder(
    project: Project, recorded: Recorded, tmp_path_factory: pytest.TempPathFactory, mode: tuple[str, ...]
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    project.write("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["test_panel.py"]\n')
    project.write("test_never.py", "def test_never():\n    raise AssertionError\n")
    run = project.run(*recorded.model, *recorded.GRID, *mode, "--wise-out", str(elsewhere))
    assert run.status == 0
    assert (elsewhere / "latest" / "audit.json").exists()
    assert "test_never" not in run.text

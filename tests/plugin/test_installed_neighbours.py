"""Plugins that many projects have installed, each beside a panel: ``pip install -e '.[neighbours]'``."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, LoopbackServer, error
from tests.plugin.harness import MODES, NEIGHBOURS, PANEL_TEST, Project, Recorded, grid, without_run

if TYPE_CHECKING:
    from tests.loopback import Received, Reply

pytestmark = pytest.mark.neighbours


def test_all_of_them_are_installed():
    assert set(NEIGHBOURS) <= {found.name for found in entry_points(group="pytest11")}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=list(MODES))
class TestRerunfailures:
    def test_a_rerun_makes_no_pass_of_a_wording_failure(
        self, project: Project, recorded: Recorded, workers: tuple[str, ...]
    ):
        """With --wise-strict a non-compliant answer fails its test, and is the same answer each time."""
        strict = ("--wise-strict", "--reruns", "2", *workers)
        run = project.run(*recorded.model, *Recorded.GRID, *strict, loads=["rerunfailures"])
        assert run.status == 1
        assert run.counts["failed"] == 12
        assert without_run(run.rows) == without_run(recorded.rows)

    def test_a_rerun_asks_nobody_again_and_pays_nothing_twice(
        self, project: Project, server: LoopbackServer, workers: tuple[str, ...]
    ):
        model = ("--model", f"m={server.base_url}", *grid(2), "--record-mode=once", *workers)
        run = project.run(*model, "--wise-strict", "--reruns", "3", loads=["rerunfailures"])
        assert run.status == 1
        assert server.n_requests == 4
        assert len(run.rows) == 4

    def test_a_technical_error_is_tried_again(
        self, project: Project, server: LoopbackServer, workers: tuple[str, ...]
    ):
        def script(request: Received, n: int) -> Reply:
            del request
            return Answer(error("no"), status=400) if n == 0 else None

        server.script = script
        model = ("--model", f"m={server.base_url}", *grid(2), "--record-mode=once", *workers)
        run = project.run(*model, "--reruns", "1", loads=["rerunfailures"])
        assert run.status == 0, run.text
        assert [row["status"] for row in run.rows] == ["ok"] * 4
        assert run.gate == "pass"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=list(MODES))
def test_randomly_changes_the_order_and_nothing_else(
    project: Project, recorded: Recorded, workers: tuple[str, ...]
):
    usual = project.run(*recorded.model, *Recorded.GRID)
    audits = set()
    orders = set()
    for seed in (1, 2):
        run = project.run(
            *recorded.model, *Recorded.GRID, f"--randomly-seed={seed}", *workers, loads=["randomly"]
        )
        assert run.status == 0, run.text
        assert run.folder is not None
        assert without_run(run.rows) == without_run(usual.rows)
        audits.add((run.folder / "audit.json").read_bytes())
        orders.add(re.sub(r'"run":"[^"]*"', "", (run.folder / "generations.jsonl").read_text("ascii")))
    assert usual.folder is not None
    assert audits == {(usual.folder / "audit.json").read_bytes()}
    assert len(orders) == 2


def test_timeout_ends_one_cell_as_a_technical_error(project: Project, recorded: Recorded):
    project.write(
        "test_panel.py",
        "import time\n"
        + PANEL_TEST.replace(
            "    wise.score",
            "    if (wise.cell.item, wise.cell.form, wise.cell.repetition) == ('i001', 'POS', 1):\n"
            "        time.sleep(60)\n    wise.score",
        ),
    )
    run = project.run(
        *recorded.model, *Recorded.GRID, "--timeout=2", "--timeout-method=signal", loads=["timeout"]
    )
    assert run.status == 1
    assert sum(row["status"] == "error" for row in run.rows) == 1
    (reason,) = (row["reason"] for row in run.rows if row["status"] == "error")
    assert "Timeout" in reason
    assert run.gate == "fail"  # 11 of 12 are under 95 %
    usual = project.run(*recorded.model, *grid(1, 1), "--timeout=60", "-k", "neg", loads=["timeout"])
    assert "Timeout" not in usual.text


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=list(MODES))
def test_cov_measures_and_disturbs_nothing(project: Project, recorded: Recorded, workers: tuple[str, ...]):
    options = ("--cov=.", "--cov-report=term", *workers)
    run = project.run(*recorded.model, *Recorded.GRID, *options, loads=["pytest_cov"])
    assert run.status == 0, run.text
    assert without_run(run.rows) == without_run(recorded.rows)
    assert re.search(r"test_panel\.py +\d+ +0 +100%", run.text)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=list(MODES))
def test_html_lists_every_cell(project: Project, recorded: Recorded, workers: tuple[str, ...]):
    options = ("--html=report.html", "--self-contained-html", *workers)
    run = project.run(*recorded.model, *Recorded.GRID, *options, loads=["html", "html_fixtures", "metadata"])
    assert run.status == 0, run.text
    assert without_run(run.rows) == without_run(recorded.rows)
    page = (project.path / "report.html").read_text("utf-8")
    assert page.count("test_exact_count[exact_count-m-i001-pos-r1]") >= 1
    assert "0 Failed" in page


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=list(MODES))
def test_sugar_shows_its_own_line_and_the_audit(
    project: Project, recorded: Recorded, workers: tuple[str, ...]
):
    run = project.run(*recorded.model, *Recorded.GRID, "--force-sugar", *workers, loads=["sugar"])
    assert run.status == 0, run.text
    assert without_run(run.rows) == without_run(recorded.rows)
    assert "gate: PASS" in run.flat


def test_asyncio_in_strict_mode_leaves_panels_alone(project: Project, recorded: Recorded):
    project.write(
        "test_own.py",
        "import pytest\n\n@pytest.mark.asyncio\nasync def test_own():\n    assert True\n",
    )
    ini = ("-o", "asyncio_default_fixture_loop_scope=function", "--asyncio-mode=strict")
    run = project.run(*recorded.model, *Recorded.GRID, *ini, loads=["asyncio"])
    assert run.status == 0, run.text
    assert run.counts == {"passed": 1, "noncompliant": 12}
    assert without_run(run.rows) == without_run(recorded.rows)


def test_all_of_them_at_once(project: Project, recorded: Recorded):
    options = ("--reruns=1", "--timeout=60", "--cov=.", "--cov-report=", "--html=report.html", "-n", "2")
    run = project.run(
        *recorded.model,
        *Recorded.GRID,
        *options,
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        loads=NEIGHBOURS,
    )
    assert run.status == 0, run.text
    assert without_run(run.rows) == without_run(recorded.rows)

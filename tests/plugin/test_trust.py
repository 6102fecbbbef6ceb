"""Ways to get a pass, an answer or a call that nobody should get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, completion, error
from tests.plugin.harness import grid

if TYPE_CHECKING:
    from tests.loopback import LoopbackServer, Received, Reply
    from tests.plugin.harness import Project

ONE = ["--wise-items", "1", "--wise-repetitions", "1", "--wise-form", "POS"]
OTHER_TEST = "def test_ok():\n    pass\n"
HEAD = "import pytest\nfrom wise_pytest.errors import TechnicalError\n\n"
PANEL = HEAD + '@pytest.mark.wise("exact_count")\ndef test_panel(wise):\n'


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (["test_other.py"], OTHER_TEST),
        (["--wise-panel", "keyword_once"], OTHER_TEST),
        (["--wise-form", "EXCLUDE1"], OTHER_TEST),
        (["test_other.py"], "import pytest\npytest.skip('not today', allow_module_level=True)\n"),
    ],
    ids=["another file", "another panel", "another form", "skipped module"],
)
def test_a_gate_that_finds_nothing_to_judge_is_no_pass(
    project: Project, server: LoopbackServer, arguments: list[str], file: str
):
    project.write("test_other.py", file + OTHER_TEST)
    run = project.run("--model", f"m={server.base_url}", "--wise-min-mean", "100", *arguments)
    assert run.status == (5 if "skip" in file else 1)
    assert "gate: PASS" not in run.text
    assert server.n_requests == 0


def test_a_session_that_asks_for_no_audit_has_none(project: Project):
    project.write("pyproject.toml", '[tool.wise]\ndefault_models = ["smollm2-135m-instruct"]\n')
    project.write("test_other.py", OTHER_TEST)
    run = project.run("test_other.py")
    assert run.status == 0
    assert run.folder is None
    assert "wise audit" not in run.text


def test_a_panel_on_a_unittest_method_is_refused(project: Project, server: LoopbackServer):
    project.write(
        "test_panel.py",
        "import unittest, pytest\n\nclass TestX(unittest.TestCase):\n"
        '    @pytest.mark.wise("exact_count")\n    def test_panel(self):\n        pass\n',
    )
    run = project.run("--model", f"m={server.base_url}")
    assert run.status == 4
    assert "a panel's test is a function, or a method of a plain class" in run.flat


@pytest.mark.parametrize(
    "conftest",
    ["@pytest.fixture\ndef vcr():\n    return object()\n", "@pytest.fixture\ndef vcr():\n    yield None\n"],
)
def test_a_replay_without_a_cassette_never_calls_out(project: Project, server: LoopbackServer, conftest: str):
    project.write("conftest.py", "import pytest\n\n" + conftest)
    (project.path / "cassettes" / "exact_count").mkdir(parents=True)
    run = project.run("--model", f"m={server.base_url}", *ONE, "--record-mode=new_episodes", may_break=True)
    assert run.status == 1
    assert server.n_requests == 0
    assert "no cassette is" in run.text


def flipping(request: Received, n: int) -> Reply:
    """The first answer misses, later ones comply."""
    del request
    return completion("no" if n == 0 else "one two three four five")


@pytest.mark.parametrize(
    "recording", [["--record-mode=all"], ["--record-mode=rewrite"], ["--disable-recording"]]
)
def test_another_try_neither_pays_again_nor_turns_a_miss_into_a_pass(
    project: Project, server: LoopbackServer, recording: list[str]
):
    # What plugins that try failed tests again do, in the smallest form.
    project.write(
        "conftest.py",
        "from _pytest.runner import runtestprotocol\n\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    reports = runtestprotocol(item, nextitem=nextitem, log=False)\n"
        "    if any(report.failed for report in reports):\n"
        "        for report in reports:\n"
        "            if report.when == 'call':\n"
        "                report.outcome = 'rerun'\n"
        "            item.ihook.pytest_runtest_logreport(report=report)\n"
        "        item._initrequest()\n"
        "        reports = runtestprotocol(item, nextitem=nextitem, log=False)\n"
        "    for report in reports:\n"
        "        item.ihook.pytest_runtest_logreport(report=report)\n"
        "    return True\n",
    )
    server.script = flipping
    run = project.run("--model", f"m={server.base_url}", *ONE, "--wise-strict", *recording)
    assert server.n_requests == 1
    assert [row["compliant"] for row in run.rows] == [False]
    assert run.status == 1


@pytest.mark.parametrize(
    "scored",
    [
        "Generation(status='ok', text='a b c d e')",
        "dataclasses.replace(wise.ask(), text='a b c d e')",
        "copy.copy(wise.ask())",
    ],
)
def test_only_what_the_model_said_can_be_scored(project: Project, server: LoopbackServer, scored: str):
    project.write(
        "test_panel.py",
        "import copy, dataclasses\nfrom wise_pytest.records import Generation\n"
        + PANEL
        + f"    wise.score({scored})\n",
    )
    run = project.run("--model", f"m={server.base_url}", *ONE, "--record-mode=once", crashes=True)
    assert run.status == 1
    assert [(row["status"], row["compliant"]) for row in run.rows] == [("error", None)]
    assert "score what wise.ask() of this test has returned" in run.rows[0]["reason"]


def test_a_failed_cell_is_not_asked_again(project: Project, server: LoopbackServer):
    server.script = lambda _request, n: Answer(error("no"), status=400) if n == 0 else completion("fine")
    project.write(
        "test_panel.py",
        PANEL
        + "    for _ in range(3):\n"
        + "        try:\n            wise.ask()\n"
        + "        except TechnicalError:\n            pass\n",
    )
    run = project.run("--model", f"m={server.base_url}", *ONE, "--record-mode=once")
    assert (run.status, server.n_requests) == (1, 1)
    assert [row["status"] for row in run.rows] == ["error"]
    assert not list((project.path / "cassettes").glob("*/*.jsonl"))


def test_threads_that_share_a_cell_ask_once(project: Project, server: LoopbackServer):
    server.delay_s = 0.2
    project.write(
        "test_panel.py",
        "from concurrent.futures import ThreadPoolExecutor\n"
        + PANEL
        + "    with ThreadPoolExecutor(4) as pool:\n"
        + "        answers = list(pool.map(lambda _: wise.ask(), range(4)))\n"
        + "    wise.score(answers[0])\n",
    )
    run = project.run("--model", f"m={server.base_url}", *ONE, "--record-mode=once")
    assert (run.status, server.n_requests) == (0, 1)


def test_every_worker_running_every_cell_is_refused(project: Project, server: LoopbackServer):
    run = project.run("--tx", "2*popen", "--dist", "each", "--model", f"m={server.base_url}", *ONE)
    assert run.status == 4
    assert "--dist each runs every test in every worker" in run.flat


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_surrogate_in_a_failure_crosses_from_a_worker(project: Project, server: LoopbackServer, order: str):
    server.script = lambda _request, _n: completion("one \ud83d")
    lines = ["    wise.score(answer)\n", "    raise ValueError(answer.text)\n"]
    body = "".join(lines if order == "after" else reversed(lines))
    project.write("test_panel.py", PANEL + "    answer = wise.ask()\n" + body)
    run = project.run("-n", "2", "--model", f"m={server.base_url}", *ONE, "--record-mode=once", crashes=True)
    assert run.status == 1
    assert "INTERNALERROR" not in run.text
    assert [row["status"] for row in run.rows] == (["ok"] if order == "after" else ["error"])


def test_a_users_own_parameters_cannot_hide_a_cell(project: Project, server: LoopbackServer):
    project.write(
        "test_panel.py",
        HEAD
        + '@pytest.mark.parametrize("x", ["a-not-selected"])\n@pytest.mark.wise("exact_count")\n'
        + "def test_panel(wise, x):\n    wise.score(wise.ask())\n",
    )
    run = project.run("--model", f"m={server.base_url}", *ONE, "--record-mode=once")
    assert (run.status, server.n_requests) == (0, 1)


def test_repetitions_have_a_limit(project: Project, server: LoopbackServer):
    run = project.run("--model", f"m={server.base_url}", "--wise-repetitions", "99999999999999999999")
    assert run.status == 4
    assert "--wise-repetitions: must be a whole number from 1 to 10000" in run.flat


def test_a_pack_that_cannot_be_written_at_the_end_is_said_in_one_line(
    project: Project, server: LoopbackServer
):
    # A folder in the pack's place: recordings stay in their part, and the next run reads them there.
    project.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(autouse=True, scope='session')\ndef blocked(request):\n    yield\n"
        "    path = request.config.rootpath / 'cassettes' / 'exact_count' / 'm.jsonl'\n"
        "    path.mkdir(parents=True)\n",
    )
    run = project.run("--model", f"m={server.base_url}", *grid(1), "--record-mode=once")
    assert run.status == 1
    assert "Traceback" not in run.text
    assert "ERROR: " in run.text
    assert list((project.path / "cassettes").glob("*/*.part.jsonl"))

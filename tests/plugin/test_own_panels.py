"""A panel of the user's own in a real session: recorded, replayed, audited, and what goes wrong with it."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.loopback import LoopbackServer, completion
from wise_pytest.panels.starter import starter_files

TEST = """\
import pytest

@pytest.mark.wise("{0}")
def test_{0}(wise):
    wise.score(wise.ask())
"""


def as_asked(request, n):
    """Answers POS as it was asked, and the other wordings without the ending."""
    prompt = str(request.prompt)
    ending = prompt.split('"')[1]
    return completion(f"It is so. {ending}" if " End your answer with " in prompt else f"It is so {n}.")


@pytest.fixture
def own(project):
    """The start that ``wise new-panel`` writes, in a project of its own."""
    (project.path / "test_panel.py").unlink()
    for name, text in starter_files("mine").items():
        project.write(name, text)
    project.write("pyproject.toml", '[tool.wise]\npanels = ["panels"]\n')
    return project


def test_an_own_panel_is_recorded_replayed_and_audited(own, mode):
    with LoopbackServer(as_asked) as server:
        live = own.run("--model", f"m={server.base_url}", "--record-mode=once", *mode)
        assert server.n_requests == 4 * 4 * 3
        assert (live.status, live.gate) == (0, "pass"), live.text
        replayed = own.run("--model", f"m={server.base_url}", *mode)
        assert server.n_requests == 4 * 4 * 3
    assert replayed.status == 0, replayed.text
    for run in (live, replayed):
        panel = run.audit["panels"]["mine"]
        assert panel["reference"] == "POS"
        assert list(panel["forms"]) == ["POS", "NEG", "AVOID", "EXCLUDE"]
        assert [form["compliance"] for form in panel["forms"].values()] == [1.0, 0.0, 0.0, 0.0]
        assert {row["verifier"] for row in run.rows} == {"mine/1"}
        assert {row["direction"] for row in run.rows} == {"met", "missed"}
        assert {row["target"] for row in run.rows} == {"That is all.", "Now you know."}
    audited = own.wise("audit", "reports/latest", "--rescore", "--out", "again")
    assert audited.status == 0, audited.text
    assert "scored again: 48 rows, 0 verdicts changed" in audited.text
    again = json.loads((own.path / "again" / "audit.json").read_text("ascii"))
    assert again["panels"] == replayed.audit["panels"]
    listed = own.wise("cassettes", "list")
    assert "mine, m: 48 recorded of 48, 0 missing, 0 orphaned" in listed.text


def test_options_choose_from_an_own_panel(own):
    with LoopbackServer(as_asked) as server:
        run = own.run(
            *("--model", f"m={server.base_url}", "--record-mode=once", "--wise-panel", "mine"),
            *("--wise-items", "rain", "--wise-form", "AVOID", "--wise-repetitions", "1"),
        )
    assert run.status == 0, run.text
    assert [(row["item"], row["form"]) for row in run.rows] == [("rain", "AVOID")]


def test_an_own_verifier_that_breaks_is_a_technical_error(own):
    own.write("panels/mine.py", "def verify(text, target):\n    raise RuntimeError('my own fault')\n")
    with LoopbackServer(as_asked) as server:
        run = own.run("--model", f"m={server.base_url}", "--record-mode=once", "--wise-items", "1")
    assert run.status == 1, run.text
    assert {(row["status"], row["compliant"]) for row in run.rows} == {("error", None)}
    assert "verifier mine/1 failed: RuntimeError: my own fault" in run.flat
    assert run.gate != "pass"


def test_a_fault_in_an_own_panel_is_said_before_anything_runs(own, mode):
    path = own.path / "panels" / "mine.toml"
    path.write_text(path.read_text("utf-8").replace('with "{ending}"', 'with "{endign}"', 1), "utf-8")
    with LoopbackServer(as_asked) as server:
        run = own.run("--model", f"m={server.base_url}", "--record-mode=once", *mode)
        assert server.n_requests == 0
    assert run.status == 4, run.text
    assert "forms.POS" in run.flat
    assert "did you mean '{ending}'" in run.flat


def test_a_setting_that_leads_to_no_panel_is_a_usage_error(own):
    own.write("pyproject.toml", '[tool.wise]\npanels = ["panles"]\n')
    run = own.run("--model", "m=http://127.0.0.1:9/v1")
    assert run.status == 4
    assert "panles is no panel file" in run.flat


def test_panels_of_two_languages_are_refused_before_anything_runs(project, mode):
    project.write("test_german.py", TEST.format("exact_count_de"))
    with LoopbackServer() as server:
        model = ("--model", f"m={server.base_url}", "--record-mode=once", "--wise-items", "1")
        run = project.run(*model, *mode)
        assert server.n_requests == 0
        assert run.status == 4, run.text
        assert "one audit holds panels of one language" in run.flat
        assert "de: exact_count_de; en: exact_count" in run.flat
        german = project.run(*model, *mode, "--wise-panel", "exact_count_de", "--wise-repetitions", "1")
    assert german.status == 0, german.text
    assert {row["panel"] for row in german.rows} == {"exact_count_de"}
    assert german.rows[0]["prompt"].startswith("Warum sehen wir den Blitz")


def test_the_panels_of_other_languages_are_run_by_their_path_only(project, request):
    root = request.config.rootpath
    shutil.copytree(root / "test_panels", project.path / "test_panels")
    (project.path / "test_panel.py").unlink()
    settings = (root / "pyproject.toml").read_text("utf-8")
    norecurse = next(line for line in settings.splitlines() if line.startswith("norecursedirs"))
    project.write("pyproject.toml", f'[tool.pytest.ini_options]\ntestpaths = ["test_panels"]\n{norecurse}\n')
    model = ("--model", "m=http://127.0.0.1:9/v1", "--collect-only", "-q")
    everything = project.run(*model).text
    assert "test_ordering" in everything
    assert "exact_count_de" not in everything
    assert "test_exact_count_de" in project.run(*model, "test_panels/other_languages").text


def test_a_tool_call_is_scored_with_the_library_loaded_in_the_session(project, mode):
    (project.path / "test_panel.py").unlink()
    project.write("test_tools.py", TEST.format("tool_call_schema"))

    def call(request, n):
        del n
        function = json.loads(str(request.prompt).split("function: ", 1)[1])
        answers = {"string": "x", "number": 1, "integer": 1, "boolean": True, "array": ["x"]}
        properties = function["parameters"]["properties"]
        arguments = {name: answers.get(schema.get("type"), "easy") for name, schema in properties.items()}
        return completion(json.dumps({"name": function["name"], "arguments": arguments}))

    with LoopbackServer(call) as server:
        run = project.run(
            *("--model", f"m={server.base_url}", "--record-mode=once", "--wise-items", "5"),
            *("--wise-repetitions", "1", *mode),
        )
    assert run.status == 0, run.text
    assert {row["direction"] for row in run.rows} == {"ok"}
    assert len({row["target"] for row in run.rows}) == 5

"""Other plugins, and the user's own tests, neither disturb a panel nor notice it."""

from __future__ import annotations

import os

import pytest

from tests.loopback import LoopbackServer
from tests.plugin.harness import PANEL_TEST, SLOW_WITH_WORKERS, Project, Recorded, grid, without_run

OWN_MODEL_OPTION = """\
import pytest

def pytest_addoption(parser):
    parser.addoption("--model", action="store", default="none", help="ours")

@pytest.fixture
def own_model(request):
    return request.config.getoption("--model")
"""
OWN_TEST = "def test_own(own_model):\n    assert own_model == 'theirs'\n"

USER_CONFTEST = """\
import pytest

@pytest.fixture(scope="module")
def vcr_config():
    return {config}

@pytest.fixture(scope="module")
def vcr_cassette_dir(request):
    return str(request.config.rootpath / "my_tapes")

@pytest.fixture
def default_cassette_name():
    return "tape"

def pytest_recording_configure(config, vcr):
    vcr.match_on = ("method",)
    vcr.before_record_request = lambda request: None if "{dropped}" in request.uri else request
"""
HOSTILE = """{
        "filter_headers": ["authorization", "content-type"],
        "filter_post_data_parameters": ["model", "messages", "temperature"],
        "ignore_localhost": True,
        "ignore_hosts": ["127.0.0.1"],
        "before_record_request": lambda request: None,
        "before_record_response": lambda response: None,
        "match_on": ["method"],
        "record_mode": "all",
        "allow_playback_repeats": True,
        "decode_compressed_response": True,
        "serializer": "json",
        "path_transformer": lambda path: path + ".odd",
        "allowed_hosts": ["127.0.0.1"],
    }"""
USER_VCR_TEST = """\
import urllib.request

import httpx
import pytest

URL = "{url}/models"

@pytest.mark.vcr
def test_their_httpx():
    assert httpx.get(URL, headers={{"x-own": "1"}}).status_code == 200

@pytest.mark.vcr(record_mode="once")
def test_their_urllib():
    assert b"loopback" in urllib.request.urlopen(URL).read()
"""


@pytest.mark.parametrize(("how", "workers"), [("conftest", ("-n", "2")), ("plugin", ())])
def test_another_model_option_stays_whose_it_is(
    project: Project, recorded: Recorded, how: str, workers: tuple[str, ...]
):
    project.write("conftest.py" if how == "conftest" else "theirs.py", OWN_MODEL_OPTION)
    project.write("test_own.py", OWN_TEST)
    load = () if how == "conftest" else ("-p", "theirs")
    ours = ("--wise-model", recorded.model[1])
    run = project.run(*load, "--model", "theirs", *ours, *Recorded.GRID, *workers)
    assert run.status == 0
    assert run.counts == {"passed": 1, "noncompliant": 12}
    assert without_run(run.rows) == without_run(recorded.rows)


def test_ini_values_stand_for_options(project: Project, recorded: Recorded):
    project.write(
        "pytest.ini",
        "[pytest]\n"
        f"wise_model = {recorded.model[1]}\n"
        "wise_panel = exact_count\n"
        "wise_items = i002\n"
        "wise_repetitions = 2\n"
        "wise_form =\n    POS\n    NEG\n"
        "wise_out = elsewhere\n"
        "wise_report = markdown\n"
        "wise_strict = true\n"
        "wise_max_gap = 100\n"
        "wise_min_coverage = 50\n",
    )
    run = project.run()
    assert run.status == 1
    assert run.counts == {"failed": 4}
    (folder,) = (path for path in (project.path / "elsewhere").iterdir() if not path.is_symlink())
    assert (folder / "audit.md").exists()
    assert not (folder / "tables").exists()
    assert not (project.path / "reports").exists()
    limits = (folder / "manifest.json").read_text("ascii")
    assert '"max_gap": "100"' in limits
    assert '"min_coverage": "50"' in limits
    assert "gate: PASS" in run.flat


def user_project(project: Project, server: LoopbackServer, config: str) -> None:
    dropped = "chat/completions"
    project.write("conftest.py", USER_CONFTEST.replace("{config}", config).replace("{dropped}", dropped))
    project.write("test_theirs.py", USER_VCR_TEST.format(url=server.base_url))


def test_a_users_own_recordings_are_what_they_are_without_us(project: Project, server: LoopbackServer):
    """The same tests recorded with this plugin switched off and on give the same cassettes."""
    user_project(project, server, '{"filter_headers": ["x-own"], "match_on": ["method", "uri"]}')
    tapes = project.path / "my_tapes"

    def record(*arguments: str, status: int = 0) -> dict[str, bytes]:
        run = project.run("test_theirs.py", "--record-mode=once", *arguments)
        assert run.status == status
        assert run.counts == {"passed": 2}
        assert run.folder is None
        content = {path.name: path.read_bytes() for path in tapes.iterdir()}
        for path in tapes.iterdir():
            path.unlink()
        return content

    bare = record("-p", "no:wise")
    assert list(bare) == ["tape.yaml"]
    assert b"x-own" not in bare["tape.yaml"]
    # A model was asked for, and none of these tests is a panel's.
    ours = record("--wise-model", f"m={server.base_url}", status=1)
    # The only thing that may differ is what the server says of the time.
    assert ours == bare
    assert not (project.path / "cassettes/exact_count").exists()


def test_a_users_vcr_config_does_not_reach_a_panel(project: Project, server: LoopbackServer):
    user_project(project, server, HOSTILE)
    model = ("--model", f"m={server.base_url}", *grid(2))
    first = project.run("test_panel.py", *model, "--record-mode=once")
    assert first.status == 0
    assert server.n_requests == 4
    header, *lines = project.packs()["exact_count/m.jsonl"]
    assert header["recordings"] == 4
    assert all('"model":"m"' in line["request"]["body"] for line in lines)
    assert all(line["request"]["headers"]["content-type"] == ["application/json"] for line in lines)
    assert not (project.path / "my_tapes").exists()

    # No --record-mode: theirs says "all", and a panel must not call out for that.
    replay = project.run("test_panel.py", *model)
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(first.rows)
    missing = project.run("test_panel.py", *model[:2], *grid(3))
    assert missing.status == 1
    assert missing.counts["error"] == 2
    assert server.n_requests == 4


@pytest.mark.parametrize(
    "head",
    [
        'pytestmark = pytest.mark.vcr(record_mode="all", match_on=["method"])\n\n',
        '@pytest.mark.vcr("x.yaml", record_mode="all", match_on=["method"], ignore_localhost=True)\n',
    ],
    ids=["module", "function"],
)
def test_a_users_vcr_marker_on_a_panel_does_not_make_it_call_out(
    project: Project, recorded: Recorded, head: str
):
    code = PANEL_TEST.replace("@pytest.mark.wise", head + "@pytest.mark.wise")
    project.write("test_panel.py", code)
    with LoopbackServer(port=int(recorded.base_url.split(":")[2].removesuffix("/v1"))) as alive:
        run = project.run(*recorded.model, *grid(3, 3))
        assert alive.requests == []
    assert run.status == 1
    assert run.counts["error"] == 6
    assert without_run([row for row in run.rows if row["item"] != "i003"]) == without_run(recorded.rows)
    assert "test_panel/cassettes" not in project.files()


def test_a_session_without_panels_is_left_alone(project: Project):
    (project.path / "test_panel.py").unlink()
    project.write("test_other.py", "def test_other(): pass\n")
    project.write("pyproject.toml", '[tool.wise]\ndefault_models = ["smollm2-135m-instruct"]\n')
    before = project.files()
    for arguments in ((), ("-n", "2"), ("-o", "wise_max_gap=1")):
        run = project.run(*arguments)
        assert run.status == 0
        assert run.counts == {"passed": 1}
        assert "wise audit" not in run.text
        assert project.files() == before
    asked = project.run("--model", "gpt-4.1-mini", "--wise-max-gap", "1")
    assert asked.status == 1
    assert "gate: NOT EVALUATED: no test of a chosen panel was collected" in asked.text
    assert project.files() == before
    (project.path / "test_other.py").unlink()
    assert project.run().status == 5
    assert project.files() == before - {"test_other.py"}


def test_collecting_alone_makes_no_reports(project: Project, recorded: Recorded):
    before = project.files()
    for arguments in (("--collect-only", "-q"), ("--setup-plan",), ("--fixtures",), ("--markers",)):
        run = project.run(*recorded.model, *grid(), *arguments)
        assert run.status == 0
        assert project.files() == before
    assert "wise(panel)" in run.flat
    live = project.run("--model", "m=http://127.0.0.1:9/v1", *grid(), "--co", "--record-mode=once")
    assert live.status == 0
    assert project.files() == before


@SLOW_WITH_WORKERS
def test_an_empty_folder_with_one_short_file_works_live_and_then_replays(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    assert project.files() == {"test_panel.py"}
    assert len(PANEL_TEST.splitlines()) == 5
    live = project.run("--model", f"m={server.base_url}", *grid(), "--record-mode=once", *mode)
    assert live.status == 0
    assert server.n_requests == 2
    server.close()
    replay = project.run("--model", f"m={server.base_url}", *grid(), *mode)
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(live.rows)
    assert project.latest == replay.folder
    names = {name.partition("/")[0] for name in project.files()}
    assert names == {"test_panel.py", "cassettes", "reports"}


BLOCKER = '''\
"""Makes this interpreter one in which xdist was never installed."""
import importlib.metadata
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"xdist", "execnet"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
installed = importlib.metadata.distributions
importlib.metadata.distributions = lambda **context: (
    found for found in installed(**context) if found.metadata["Name"] not in {"pytest-xdist", "execnet"}
)
'''


def test_xdist_may_be_switched_off_or_absent(
    project: Project, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
):
    usual = project.run(*recorded.model, *Recorded.GRID)
    off = project.run(*recorded.model, *Recorded.GRID, "-p", "no:xdist")
    project.write("hidden/sitecustomize.py", BLOCKER)
    monkeypatch.setenv("PYTHONPATH", str(project.path / "hidden"), prepend=os.pathsep)
    absent = project.run(*recorded.model, *Recorded.GRID)
    assert [run.status for run in (usual, off, absent)] == [0, 0, 0]
    assert "xdist" not in absent.text.partition("collected")[0].partition("plugins")[2]
    assert without_run(off.rows) == without_run(absent.rows) == without_run(usual.rows)
    texts = {(run.folder / "audit.json").read_bytes() for run in (usual, off, absent) if run.folder}
    assert len(texts) == 1

"""What is loaded when: every project that has the plugin installed pays for its import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.loopback import completion
from tests.recordings import recording, session, write
from wise_pytest.cassettes.pack import write_pack
from wise_pytest.cassettes.store import CassetteStore
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.registry import load_registry, resolve_models
from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.panels.cells import plan_cells

ROOT = Path(__file__).parents[2]

HEAVY = {
    "filelock",
    "httpcore",
    "httpx",
    "jinja2",
    "markupsafe",
    "janome",
    "jsonschema",
    "markdown_it",
    "matplotlib",
    "numpy",
    "pandas",
    "pingouin",
    "resvg_py",
    "rjieba",
    "scipy",
    "statsmodels",
    "tabulate",
    "uniseg",
    "vcr",
    "yaml",
}
IDLE = {"wise_pytest", "wise_pytest.plugin", "wise_pytest.options", "wise_pytest.errors"}
"""What of the package a session may load that has no panel: itself, and the table of options."""
MODEL = "m=http://127.0.0.1:9/v1"
"""Nobody answers there."""

WATCH = """
import json, os, sys
import pytest

ASKED = {"outcomes": []}

def note(name):
    ASKED[name] = sorted(sys.modules)

def pytest_sessionstart():
    note("start")

def pytest_runtest_logreport(report):
    if report.when == "call":
        ASKED["outcomes"].append(report.outcome)
        note("tests")

@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    note("end")
    with open("loaded.json", "w") as stream:
        json.dump(ASKED, stream)
"""
"""A project's conftest.py that notes which modules are loaded when."""

WITHOUT_HTTPX = """
import sys
sys.modules["httpx"] = sys.modules["httpcore"] = None  # from here on, importing them fails
"""

EXTRAS = {
    "agreement": {"pingouin", "statsmodels"},
    "local": {"llama_cpp"},
    "parquet": {"orjson", "pyarrow"},
    "png": {"resvg_py"},
    "sensitivity": {"janome", "markdown_it", "rjieba", "uniseg"},
}
"""The modules of each optional extra."""
WITHOUT_EXTRAS = f"""
import sys
for name in {sorted(set().union(*EXTRAS.values()))}:
    sys.modules[name] = None
"""

PANEL_TEST = """
import pytest

@pytest.mark.wise("exact_count")
def test_exact_count(wise):
    wise.score(wise.ask())
"""


def python(*arguments, cwd=ROOT):
    """Run Python without any plugin that is not named."""
    settings = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "GITHUB"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**kept, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def session_in(folder, *arguments, conftest=WATCH):
    """Run a whole pytest session; what was loaded when, and how its tests ended."""
    write(folder / "conftest.py", conftest.encode())
    plugins = ("-p", "pytest_recording.plugin", "-p", "wise_pytest.plugin", "-p", "no:cacheprovider")
    ran = python("-m", "pytest", "-q", *plugins, *arguments, cwd=folder)
    assert (folder / "loaded.json").exists(), ran.stdout + ran.stderr
    return ran.returncode, json.loads((folder / "loaded.json").read_text()), ran.stdout


def heavy(names):
    return {name.partition(".")[0] for name in names} & HEAVY


def own(names):
    return {name for name in names if name.partition(".")[0] == "wise_pytest"}


def modules_after(statement):
    ran = python("-c", f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))")
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout)


def test_importing_the_plugin_loads_next_to_nothing():
    loaded = modules_after("import wise_pytest.plugin")
    assert heavy(loaded) == set()
    assert own(loaded) <= IDLE


def test_what_a_run_needs_before_its_first_test_is_light():
    modules = (
        "wise_pytest",
        "wise_pytest.cli",
        "wise_pytest.options",
        "wise_pytest.running",
        "wise_pytest.collecting",
        "wise_pytest.session",
        "wise_pytest.xdist",
        "wise_pytest.asking",
        "wise_pytest.cassettes.store",
        "wise_pytest.cassettes.inventory",
        "wise_pytest.endpoints.registry",
        "wise_pytest.panels.catalog",
        "wise_pytest.panels.loader",
        "wise_pytest.transport.client",
    )
    assert heavy(modules_after(f"import {', '.join(modules)}")) == set()


def test_these_tests_would_see_a_heavy_import():
    assert heavy(modules_after("import tabulate, numpy")) == {"tabulate", "numpy"}


@pytest.mark.parametrize(("text", "status"), [("", 5), ("def test_pass():\n    pass\n", 0)])
def test_a_session_that_has_no_panel_loads_nothing_for_one(tmp_path, text, status):
    write(tmp_path / "test_own.py", text.encode())
    returned, loaded, _ = session_in(tmp_path)
    assert returned == status
    assert heavy(loaded["start"]) == heavy(loaded["end"]) == set()
    assert own(loaded["end"]) <= IDLE


@pytest.fixture
def project(tmp_path):
    """A panel's test with recordings of two cells."""
    (selected,) = resolve_models([MODEL], load_registry({}, environ={}))
    panel = bundled_panel("exact_count")
    cells = plan_cells(panel, model="m", provider="p", items=[panel.items[0].item_id], repetitions=1)
    lines = {}
    for cell in list(cells)[:2]:
        endpoint = selected.endpoint
        request = PROTOCOLS[endpoint.protocol].build_request(cell.prompt, endpoint, panel.decoding, None)
        made = recording(
            cell.item,
            cell.form,
            cell.repetition,
            url=request.url,
            request_body=request.body,
            reply_body=json.dumps(completion("one two three")).encode(),
        )
        lines[made.key] = made.to_line()
    path = CassetteStore(tmp_path / "cassettes").path("exact_count", "m")
    write_pack(path, panel="exact_count", model="m", lines=lines, sessions=[session()])
    write(tmp_path / "test_panel.py", PANEL_TEST.encode())
    return tmp_path


def replay(project, **how):
    forms = [form.form_id for form in bundled_panel("exact_count").forms[:2]]
    options = [f"--wise-form={form}" for form in forms]
    return session_in(project, f"--model={MODEL}", "--wise-items=1", "--wise-repetitions=1", *options, **how)


def test_a_replay_loads_what_it_needs_when_it_needs_it(project):
    status, loaded, output = replay(project)
    assert (status, loaded["outcomes"]) == (0, ["passed"] * 2), output
    assert heavy(loaded["start"]) == set()
    # VCR.py imports httpx and its serializers for itself, if they are installed.
    assert heavy(loaded["tests"]) - {"vcr", "httpx", "httpcore", "yaml"} == set()
    assert "vcr" in loaded["tests"]
    assert "wise_pytest.transport.wire" not in loaded["end"]
    # The audit at the end draws with numpy; a data frame is for many more rows.
    assert "numpy" in loaded["end"]
    assert "pandas" not in loaded["end"]
    assert "filelock" not in loaded["end"]
    # Pictures are drawn without a plotting library, and PNG only where it is asked for.
    assert "jinja2" in loaded["end"]
    assert heavy(loaded["end"]).isdisjoint({"matplotlib", "resvg_py"})


def test_a_replay_needs_no_http_client_at_all(project):
    status, loaded, output = replay(project, conftest=WITHOUT_HTTPX + WATCH)
    assert (status, loaded["outcomes"]) == (0, ["passed"] * 2), output


def test_the_extras_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["optional-dependencies"]) - {"dev", "neighbours"} == set(EXTRAS)
    for name, modules in EXTRAS.items():
        assert len(project["optional-dependencies"][name]) == len(modules)


def test_a_replay_and_an_audit_need_no_extra(project):
    status, loaded, output = replay(project, conftest=WITHOUT_EXTRAS + WATCH)
    assert (status, loaded["outcomes"]) == (0, ["passed"] * 2), output
    assert (project / "reports" / "latest" / "audit.html").exists()
    audit = WITHOUT_EXTRAS + "from wise_pytest.cli import main; raise SystemExit(main(sys.argv[1:]))"
    ran = python("-c", audit, "audit", "reports/latest", "--out", "again", cwd=project)
    assert ran.returncode == 0, ran.stderr
    assert (project / "again" / "audit.html").exists()


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["audit", "reports/latest", "--report", "png:here"], "png"),
        (["agreement", "ratings.csv"], "agreement"),
        (["audit", "rows.parquet"], "parquet"),
    ],
)
def test_what_needs_an_extra_that_is_absent_names_it(project, command, extra):
    if "reports/latest" in command:
        replay(project)
    ratings = "item,form,target,annotator,exact_n,clarity,naturalness,ambiguity,complexity\n" + "".join(
        f"{form}-{item},{form},5,A{annotator},1,{annotator},4,1,{item}\n"
        for item in (1, 2, 3)
        for form in ("POS", "NEG")
        for annotator in (1, 2)
    )
    write(project / "ratings.csv", ratings.encode())
    write(project / "rows.parquet", b"PAR1")
    run = WITHOUT_EXTRAS + "from wise_pytest.cli import main; raise SystemExit(main(sys.argv[1:]))"
    ran = python("-c", run, *command, cwd=project)
    assert "Traceback" not in ran.stderr
    assert f"[{extra}]" in ran.stdout + ran.stderr

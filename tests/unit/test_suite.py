"""What the tests themselves have to keep to, and how many processes run them."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests import sharing

TESTS = Path(__file__).parents[1]


def test_no_two_files_of_tests_have_one_name():
    # Test folders are no packages, so pytest cannot collect both in one session.
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, n in names.items() if n > 1] == []


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder ``tests`` that shares itself out as this one does, on a machine of two cores."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "2")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # put back after it was taken away
    pytester.makeini("[pytest]\naddopts = -m 'not slow'\nmarkers = slow\n")
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_one.py").write_text(
        "import os\ndef test_who():\n    print('run by', os.environ.get('PYTEST_XDIST_WORKER'))\n"
    )
    shutil.copy(sharing.__file__, pytester.path / "tests" / "conftest.py")
    return pytester


def shared_out(suite: pytest.Pytester, *arguments: str) -> tuple[int | str | None, str]:
    """How many workers a command line gets, and how they are given tests."""
    config = suite.parseconfig(*arguments)
    (hook,) = (
        found
        for found in config.hook.pytest_cmdline_main.get_hookimpls()
        if found.plugin_name.endswith("conftest.py")
    )
    hook.function(config)
    return config.getoption("numprocesses", None), config.getoption("dist", "no")


def test_the_whole_suite_is_run_by_two_workers_to_a_core_that_load_a_share_each_first(suite: pytest.Pytester):
    files = sorted(["test_one", *(f"test_of_{n}" for n in range(6)), "test_broken"])
    for name in files:
        (suite.path / "tests" / f"{name}.py").write_text(
            "import os\n"
            f"with open({str(suite.path / 'loaded.txt')!r}, 'a') as loaded:\n"
            f"    loaded.write(os.environ['PYTEST_XDIST_WORKER'] + ' {name}\\n')\n"
            + ("raise OSError('will not load')\n" if name == "test_broken" else "def test_one(): pass\n")
        )
    ran = suite.runpytest_subprocess("tests", "-p", "no:cacheprovider")
    ran.stdout.fnmatch_lines(["*4 workers*", "*OSError: will not load"])
    by_worker: dict[str, list[str]] = {f"gw{n}": [] for n in range(4)}
    for line in (suite.path / "loaded.txt").read_text().splitlines():
        worker, name = line.split()
        by_worker[worker].append(name)
    for n, loaded in enumerate(by_worker.values()):
        assert loaded[:2] == files[n::4]
        assert set(loaded) == set(files)


@pytest.mark.parametrize(
    "more", [("tests",), ("tests/",), ("./tests", "-q", "-x", "--durations=5"), ("tests", "-m", "not slow")]
)
def test_so_it_is_where_only_how_it_is_shown_or_ends_is_said(suite: pytest.Pytester, more: tuple[str, ...]):
    assert shared_out(suite, *more) == (4, "worksteal")


def test_there_is_a_bound_to_the_workers_of_a_large_machine(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "64")
    assert shared_out(suite, "tests") == (sharing.MOST, "worksteal")


def test_one_core_needs_no_worker(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")
    assert shared_out(suite, "tests") == (None, "no")


@pytest.mark.parametrize(
    "arguments",
    [
        ("tests/test_one.py",),
        ("tests", "tests/test_one.py"),
        (".",),
        ("tests", "-k", "one"),
        ("tests", "-m", "slow"),
        ("tests", "--lf"),
        ("tests", "--sw"),
        ("tests", "--deselect", "tests/test_one.py"),
        ("tests", "--ignore", "tests/unit"),
        ("tests", "--collect-only"),
        ("tests", "--fixtures"),
        ("tests", "--pdb"),
        ("tests", "-s"),
    ],
    ids=" ".join,
)
def test_what_is_narrower_or_watched_runs_in_one_process(suite: pytest.Pytester, arguments: tuple[str, ...]):
    assert shared_out(suite, *arguments) == (None, "no")


@pytest.mark.parametrize(
    ("given", "left"),
    [(("-n", "0"), (0, "no")), (("-n", "3"), (3, "no")), (("--dist", "load"), (None, "load"))],
)
def test_what_is_said_of_workers_holds(
    suite: pytest.Pytester, given: tuple[str, ...], left: tuple[int | None, str]
):
    assert shared_out(suite, "tests", *given) == left


def test_it_runs_without_xdist(suite: pytest.Pytester):
    assert shared_out(suite, "tests", "-p", "no:xdist.plugin") == (None, "no")

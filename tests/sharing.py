"""Shares the whole suite out over the cores, where nobody has said how many processes are to run it."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from pathlib import Path

import pytest

MOST = 8
"""Workers, each of which loads and collects everything anew."""
OTHERWISE = (
    *("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise"),  # a part of the suite
    *("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test", "cacheshow"),
    *("usepdb", "trace"),
)
"""Options with which a run is quicker in one process, or has to be in one."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Act as ``-n WORKERS --dist worksteal``, just before xdist reads these options.

    There are two workers to a core, since every third second of a test is spent on
    waiting: for a server, for a process, for a browser. On one core there are none.

    The options stand in no ``addopts``: those hold for the panels too, whose replay
    is quicker in one process, and for a single test, which would wait for workers
    longer than it runs.
    """
    if is_whole(config):
        n_cores = config.hook.pytest_xdist_auto_num_workers(config=config)
        if n_cores > 1:
            config.option.numprocesses = min(2 * n_cores, MOST)
            config.option.dist = "worksteal"
            # Or every worker compiles every test, at every run.
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let the workers of a fresh checkout compile the tests between them.

    All of them collect all files in one order, so each would compile every one of
    them, just beside the others. So each loads a share of its own first, and finds
    the rest compiled.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and names_all(session.config):
        n_workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        first = int(worker.removeprefix("gw"))
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))[first::n_workers]:
            load(path)


def load(path: Path) -> None:
    """Import a file of tests as pytest will; what it raises is for pytest to find again."""
    sys.path.insert(0, str(path.parent))
    with contextlib.suppress(Exception, pytest.skip.Exception):
        importlib.import_module(path.stem)
    sys.path.remove(str(path.parent))


def names_all(config: pytest.Config) -> bool:
    """Whether this folder is what the command line names."""
    paths = [config.invocation_params.dir.joinpath(arg).resolve() for arg in config.args]
    return paths == [Path(__file__).parent]


def is_whole(config: pytest.Config) -> bool:
    """Whether this folder is run and no part of it, with nothing said about workers."""
    option = config.option
    return (
        names_all(config)
        and getattr(option, "numprocesses", 0) is None  # without xdist there is no such option
        and option.dist == "no"
        and not (option.distload or option.tx)
        and not hasattr(config, "workerinput")  # a worker reads the same command line
        and option.markexpr in config.getini("addopts")
        and option.capture != "no"  # what workers print is not seen
        and not any(getattr(option, name, None) for name in OTHERWISE)
    )

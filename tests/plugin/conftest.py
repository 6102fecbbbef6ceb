"""A user's project, empty or with a recording that many tests replay."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.loopback import LoopbackServer
from tests.plugin.harness import FOREIGN_VARIABLES, MODES, Project, Recorded
from tests.plugin.warm import WarmPython

if TYPE_CHECKING:
    from collections.abc import Iterator

_CACHE = pytest.StashKey[Recorded]()


@pytest.fixture(params=list(MODES))
def mode(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The ways to run a session that must not differ in what comes of it."""
    return MODES[request.param]


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmPython | None]:
    """What the runs of quick tests are forked from, where that is safe."""
    if sys.platform != "linux":
        yield None
        return
    python = WarmPython()
    yield python
    python.close()


@pytest.fixture
def project(
    request: pytest.FixtureRequest, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """An empty folder but for one panel's test, and an environment without anything of ours."""
    for name in list(os.environ):
        if FOREIGN_VARIABLES.match(name):
            monkeypatch.delenv(name)
    takes_its_time = any(map(request.node.get_closest_marker, ("slow", "neighbours", "local_model")))
    return Project(pytester, None if takes_its_time else request.getfixturevalue("warm"))


@pytest.fixture
def recorded(
    project: Project, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Recorded:
    """Puts the shared recording into the project; the first test that needs it makes it."""
    cache = request.config.stash
    if _CACHE not in cache:
        with LoopbackServer() as server:
            run = project.run("--model", f"m={server.base_url}", *Recorded.GRID, "--record-mode=once")
        assert run.status == 0, run.text
        kept = tmp_path_factory.mktemp("recorded") / "cassettes"
        shutil.copytree(project.path / "cassettes", kept)
        cache[_CACHE] = Recorded(kept, server.base_url, run.rows)
        shutil.rmtree(project.path / "reports")
        shutil.rmtree(project.path / "cassettes")
    shutil.copytree(cache[_CACHE].cassettes, project.path / "cassettes")
    return cache[_CACHE]

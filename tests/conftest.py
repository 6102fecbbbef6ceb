"""What all tests share: pytest in a process of its own, and a provider on loopback."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.loopback import LoopbackServer
from tests.sharing import pytest_cmdline_main, pytest_collection

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pytest_cmdline_main", "pytest_collection"]

pytest_plugins = ["pytester"]


def pytest_collection_finish() -> None:
    """Keep the garbage collector off what lives to the end: some tests ask it to go through everything."""
    _collect_no_more()


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Let the processes that tests start keep what they compile, whatever the surroundings say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(scope="module")
def little_to_collect() -> None:
    """Keep what other tests have left out of the collections that a module's tests ask for."""
    _collect_no_more()


def _collect_no_more() -> None:
    """Take whatever there is now for needed to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A provider with default answers; a test may give it a script."""
    with LoopbackServer() as running:
        yield running

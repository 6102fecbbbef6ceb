"""What all tests share: pytest in a process of its own, and a provider on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A provider with default answers; a test may give it a script."""
    with LoopbackServer() as running:
        yield running

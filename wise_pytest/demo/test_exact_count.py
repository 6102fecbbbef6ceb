"""The panel ``exact_count``, as ``wise demo`` replays it and ``wise local`` asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wise_pytest.asking import CellRun


@pytest.mark.wise("exact_count")
def test_exact_count(wise: CellRun) -> None:
    """Ask and score one cell; a miss is data, not a failure."""
    wise.score(wise.ask())

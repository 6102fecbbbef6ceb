"""What xdist is told where a run is live: how tests are dealt out, and where the processes keep their books.

Nothing of xdist is imported unless it distributes tests.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


DEATHS = "deaths"
"""A file beside the books with a letter for each worker that has died."""
STOPPED = "stopped"
"""A file that is there once nothing more is to be asked."""
PRESENT = "present-"
"""How the file of a worker begins that may have calls under way."""


def distributes(config: pytest.Config) -> bool:
    """Whether this process hands its tests to workers."""
    return getattr(config.option, "dist", "no") != "no" and bool(getattr(config.option, "tx", None))


def run_alone(config: pytest.Config) -> None:
    """Keep xdist from starting workers; called before it does."""
    if distributes(config):
        config.option.dist, config.option.tx = "no", []


def ends_early(config: pytest.Config) -> bool:
    """Whether the session may end at any test that fails."""
    option = config.option
    return bool(getattr(option, "maxfail", 0)) or bool(getattr(option, "stepwise", False))


def let_end(node: Any) -> None:
    """Have a worker that has run its tests end while the audit is made; xdist would ask for it after that."""
    node.gateway.exit()


def make_books() -> Path:
    """A folder for the run's books."""
    return Path(tempfile.mkdtemp(prefix="wise-"))


def note_death(folder: str) -> None:
    """Let the other workers know that one has died."""
    with (Path(folder) / DEATHS).open("ab", buffering=0) as stream:
        stream.write(b"x")


def count_deaths(folder: str) -> int:
    """How many workers have died so far."""
    try:
        return (Path(folder) / DEATHS).stat().st_size
    except OSError:
        return 0


def note_stop(folder: str) -> None:
    """Let all workers know that nothing more is to be asked."""
    with suppress(FileNotFoundError):  # another end of the run has removed the folder already
        (Path(folder) / STOPPED).touch()


def is_stopped(folder: str) -> bool:
    """Whether nothing more is to be asked."""
    return os.path.exists(f"{folder}/{STOPPED}")  # noqa: PTH110 - asked before every call


def note_present(folder: str, name: str) -> None:
    """Let the controller know that a worker may have calls under way."""
    with suppress(OSError):  # it is not waited for, then
        (Path(folder) / f"{PRESENT}{name}").touch()


def note_left(folder: str, name: str) -> None:
    """Let the controller know that it has none any more, and that all are in the books."""
    with suppress(OSError):  # it waits for a time only
        (Path(folder) / f"{PRESENT}{name}").unlink(missing_ok=True)


def count_present(folder: str) -> int:
    """How many workers may have calls under way."""
    return sum(1 for _ in Path(folder).glob(f"{PRESENT}*"))


def remove_books(folder: str | None) -> None:
    """Remove what ``make_books`` has made."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler for a live run, or ``None`` where xdist's own is the right one.

    That is with another ``--dist``, with ``--maxschedchunk``, and where the first
    failure ends the run: what was dealt out is run.
    """
    option = config.option
    if option.dist != "load" or getattr(option, "maxschedchunk", None) or ends_early(config):
        return None
    from wise_pytest.dealing import DealingOut

    return DealingOut(config, log)

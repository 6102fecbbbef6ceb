"""Running pytest as a child, for the commands that end in a session."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEMO = Path(__file__).parents[1] / "demo"
"""The packaged panel test, its settings and its recordings."""
EXIT_INTERRUPTED = 2
POLL_S = 0.3
INTERRUPTED_WAIT_S = 30.0
"""How long a session may take to end after Ctrl-C: it waits for replies that are under way."""


def demo_arguments() -> list[str]:
    """What has pytest run the packaged panel's test, whatever the folder is that it is called in."""
    return ["-c", str(DEMO / "pytest.ini"), "-p", "no:cacheprovider", str(DEMO / "test_exact_count.py")]


def run_pytest(arguments: Sequence[str], *, alone: bool, goes_on: Callable[[], bool] = lambda: True) -> int:
    """Run a session and wait for its end; its exit code.

    Parameters
    ----------
    arguments
        Of pytest.
    alone
        Whether it is to see no other plugin and no option of the surroundings.
    goes_on
        Asked now and then; once it says no, the session is interrupted.
    """
    environ = dict(os.environ)
    plugins: list[str] = []
    if alone:
        environ.pop("PYTEST_ADDOPTS", None)
        environ.pop("PYTEST_PLUGINS", None)
        environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        environ["PYTHONDONTWRITEBYTECODE"] = "1"  # the package's folder is no place for what a run leaves
        plugins = ["-p", "pytest_recording.plugin", "-p", "wise_pytest.plugin"]
    # Not from this folder: in a checkout it would be another package than the one that is installed.
    safe = ["-P"] if alone else []
    command = [sys.executable, *safe, "-m", "pytest", *plugins, *arguments]
    with subprocess.Popen(command, env=environ) as session:  # noqa: S603 - this Python, and no shell
        try:
            while goes_on():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return session.wait(timeout=POLL_S)
            session.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
            return _ended(session)
        except KeyboardInterrupt:
            # The terminal has sent it to the session, too, which ends by itself.
            return _ended(session)
        finally:
            if session.poll() is None:
                session.kill()


def _ended(session: subprocess.Popen[bytes]) -> int:
    """The exit code of a session that is ending; that of an interruption where it takes too long."""
    try:
        return session.wait(timeout=INTERRUPTED_WAIT_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C waits no longer
        return EXIT_INTERRUPTED

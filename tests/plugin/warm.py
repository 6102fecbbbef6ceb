"""Runs Python's code in processes that need not load it first: forks of one that has.

Loading takes three quarters of a small session's time, and a thousand runs load
the same. The process that is forked has imported the package and what it uses,
has compiled the page's template, and has done nothing else; each run has a
process of its own, with its own folder, environment, arguments and streams.
What a new Python would load, and when, is for ``tests/unit/test_import_cost.py``
to hold; tests that are marked slow start a new one each time.

This file is the server, as a script, and what asks it, as a module.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

THIRD_PARTY = ("filelock", "h11", "httpcore", "httpx", "jinja2", "numpy", "pandas", "tabulate", "vcr")
"""Imported somewhere by what is asked of a run, though not as its modules load."""


class WarmPython:
    """A server that forks, and is asked for one run after the other."""

    def __init__(self) -> None:
        self.searched = os.environ.get("PYTHONPATH")
        """Where a new Python looks first, and for what it runs as it starts."""
        ours, theirs = socket.socketpair()
        with theirs:
            kept = {name: value for name, value in os.environ.items() if not name.startswith("PYT")}
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                # A pool of threads would not be there in a fork.
                env={**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=os.sep,
                pass_fds=[theirs.fileno()],
            )
        self._stream = ours.makefile("rw", encoding="ascii")
        ours.close()

    def run(
        self,
        code: str,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        outputs: tuple[Path, Path],
        timeout_s: float,
    ) -> int:
        """What ``python -c CODE ARGUMENTS…`` ends with, or minus the signal that has ended it.

        Raises
        ------
        TimeoutError
            If it has not ended in time; it has been killed then.
        """
        asked = {
            "code": code,
            "arguments": list(arguments),
            "cwd": str(cwd),
            "environ": dict(environ),
            "outputs": list(map(str, outputs)),
            "timeout_s": timeout_s,
        }
        self._stream.write(json.dumps(asked) + "\n")
        self._stream.flush()
        answer = self._stream.readline()
        assert answer, "the process that is forked has ended"
        status = json.loads(answer)
        if status is None:
            raise TimeoutError(f"not ended after {timeout_s} s: {list(arguments)}")
        return int(status)

    def close(self) -> None:
        """End the server."""
        self._stream.close()
        self._process.wait(timeout=60)


class Loading:
    """Imports everything while pytest rewrites assertions: of what was loaded before that it warns."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self) -> int:
        import wise_pytest

        for name in THIRD_PARTY:
            importlib.import_module(name)
        for module in pkgutil.walk_packages(wise_pytest.__path__, "wise_pytest."):
            if not module.name.startswith("wise_pytest.demo"):
                importlib.import_module(module.name)
        from wise_pytest.report.html.page import page_template

        page_template()  # compiling it takes a quarter of the time of a small run
        return 0


def serve(stream: TextIO) -> None:
    """Fork for every line, one after the other; returns in a fork, and once there is no more to do."""
    for line in stream:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            stream.close()
            become(asked)
            return
        stream.write(json.dumps(status_of(child, asked["timeout_s"])) + "\n")
        stream.flush()


def status_of(child: int, timeout_s: float) -> int | None:
    """How a child has ended; ``None`` if it had to be killed."""
    import select
    import signal

    ending = os.pidfd_open(child)
    try:
        in_time, _, _ = select.select([ending], [], [], timeout_s)
        if not in_time:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    finally:
        os.close(ending)
    return os.waitstatus_to_exitcode(status) if in_time else None


def become(asked: Mapping[str, Any]) -> None:
    """Take the place of a new Python."""
    for target, name in enumerate(asked["outputs"], start=1):
        opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, target)
        os.close(opened)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    tempfile.tempdir = None
    path = [asked["cwd"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:0] = path
    sys.argv = ["-c", *asked["arguments"]]
    try:
        exec(asked["code"], {"__name__": "__main__"})
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        leave(ended.code)


def leave(status: int) -> NoReturn:
    """End as Python does, but for taking everything apart: that copies all that is shared with the server."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Load, and wait for what is asked."""
    del sys.path[0]  # where this file lies
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        stream = connection.makefile("rw", encoding="ascii")
    before = list(sys.path)
    status = pytest.main(["-c", os.devnull, "-p", "no:cacheprovider"], plugins=[Loading()])
    assert status == 0, status
    sys.path[:] = before
    gc.collect()
    gc.freeze()  # what is shared stays shared, and nobody goes through it again
    serve(stream)


if __name__ == "__main__":
    main()

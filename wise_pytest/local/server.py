"""A server for one model, as a child of this process, on a port of the loopback interface.

``LocalServer`` starts it, waits until it answers, and stops it whatever happens.
The server is llama-cpp-python's, in this Python or in the one that
``WISE_LLAMA_PYTHON`` names.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.errors import ModelError, OptionError
from wise_pytest.report.text import visible
from wise_pytest.transport.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from wise_pytest.transport.wire import Wire

HOST = "127.0.0.1"
PYTHON_VARIABLE = "WISE_LLAMA_PYTHON"
START_S = 300.0
"""How long a server may take to load its model."""
STOP_S = 10.0
POLL_S = 0.2
CONTEXT_TOKENS = 2048
LINES_SHOWN = 8
"""Of what a server has said last."""
WARM_UP_S = 120.0
BUILD = (
    'CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install --force-reinstall --no-cache-dir "llama-cpp-python[server]"'
)
ILLEGAL_INSTRUCTION = (
    "it was built with instructions that this processor does not run (illegal instruction), as happens on "
    "virtual machines; build it without them:\n"
    f"  {BUILD}\n"
    'add what this processor has to CMAKE_ARGS, such as "-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON '
    '-DGGML_F16C=ON", and it is faster'
)
_ILLEGAL_STATUSES = (-int(getattr(signal, "SIGILL", 4)), 0xC000001D)
"""Of POSIX and of Windows."""
_OK = 200
_BAD_REQUEST = 400


def server_python(environ: Mapping[str, str]) -> str:
    """The Python that runs the server.

    Raises
    ------
    OptionError
        If it has no server, or one that cannot be loaded.
    """
    python = environ.get(PYTHON_VARIABLE) or sys.executable
    try:
        tried = subprocess.run(  # noqa: S603 - a Python that the user has named
            [python, "-c", "import llama_cpp.server.app"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise OptionError(f"{PYTHON_VARIABLE}: {python} cannot be run: {error.strerror or error}") from error
    if tried.returncode in _ILLEGAL_STATUSES:
        raise OptionError(f"llama-cpp-python cannot be loaded: {ILLEGAL_INSTRUCTION}")
    if tried.returncode:
        said = tried.stderr.strip().splitlines() or ["it gave no reason"]
        raise OptionError(
            f"llama-cpp-python's server is not installed in {python} ({visible(said[-1])}): "
            f"pip install 'wise-pytest[local]', or name a Python that has it with {PYTHON_VARIABLE}"
        )
    return python


def choose_port(asked: int | None) -> int:
    """A port of the loopback interface that is free now.

    Raises
    ------
    OptionError
        If the one that was asked for is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as free:
        if os.name == "posix":
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will
        try:
            free.bind((HOST, asked or 0))
        except (OSError, OverflowError) as error:
            raise OptionError(
                f"port {asked} of {HOST} cannot be used ({getattr(error, 'strerror', None) or error}); "
                "leave --port out, and a free one is taken"
            ) from error
        return int(free.getsockname()[1])


class LocalServer:
    """A server that runs from entering to leaving a ``with`` block.

    Parameters
    ----------
    name
        Under which it serves the model.
    weights
        The model's file.
    python
        Which runs it.
    port
        That is free.
    """

    def __init__(self, name: str, weights: Path, *, python: str, port: int) -> None:
        self.name = name
        self.base_url = f"http://{HOST}:{port}/v1"
        self._command = [
            *(python, str(Path(__file__).with_name("child.py"))),
            *("--model", str(weights), "--model_alias", name, "--host", HOST, "--port", str(port)),
            # It takes half of the processors by itself. With all of them, threads wait for one another
            # as soon as anything else runs, and a reply takes ten times as long.
            *("--n_ctx", str(CONTEXT_TOKENS)),
        ]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the server
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the server and wait until it has answered a prompt.

        Raises
        ------
        ModelError
            If it ends, or does not answer in time.
        """
        try:
            # A session of its own: Ctrl-C is for the tests, which may still wait for replies.
            self._process = subprocess.Popen(  # noqa: S603 - a list, and no shell
                self._command,
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self.stop()

    def stop(self) -> None:
        """End the process, by force if need be."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        self._log.close()

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """See that it is still there.

        Raises
        ------
        ModelError
            If it has ended; the message has what it said last.
        """
        status = None if self._process is None else self._process.poll()
        if status is None:
            return
        if status in _ILLEGAL_STATUSES:
            raise ModelError(f"llama-cpp-python's server has died: {ILLEGAL_INSTRUCTION}")
        how = f"was ended by signal {-status}" if status < 0 else f"has ended with exit code {status}"
        raise ModelError(f"llama-cpp-python's server {how}; it said last:\n{self._last_lines()}")

    def _last_lines(self) -> str:
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - 10_000))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        kept = [visible(line) for line in lines if line.strip()][-LINES_SHOWN:]
        return "\n".join(f"  {line}" for line in kept) or "  nothing"

    def _wait(self) -> None:
        from wise_pytest.transport.wire import Wire

        deadline = time.monotonic() + START_S
        wire = Wire(Policy(timeout_s=WARM_UP_S, connect_timeout_s=2.0))
        try:
            while not self._answers(wire, "GET", "/models", b""):
                if time.monotonic() > deadline:
                    raise ModelError(
                        f"llama-cpp-python's server has not answered within {START_S:g} s; "
                        f"it said last:\n{self._last_lines()}"
                    )
                time.sleep(POLL_S)
            # A library that was built for another processor loads a model, and dies of its first prompt.
            self._answers(wire, "POST", "/completions", b'{"prompt":"A","max_tokens":1}')
            time.sleep(POLL_S)
            self.check()
        finally:
            wire.close()

    def _answers(self, wire: Wire, method: str, path: str, body: bytes) -> bool:
        from wise_pytest.transport.wire import WireError

        self.check()
        headers = {"accept": "application/json", "content-type": "application/json"}
        try:
            reply = wire.exchange(HttpRequest(method, self.base_url + path, headers, body))
        except WireError:
            return False
        return _OK <= reply.status < _BAD_REQUEST

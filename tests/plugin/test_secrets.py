"""A key is in no file and on no screen, whatever the provider does with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Answer, saying
from tests.plugin.harness import MODES, Project, grid
from wise_pytest.endpoints.registry import load_registry
from wise_pytest.naming import slug

if TYPE_CHECKING:
    from tests.loopback import LoopbackServer, Received, Reply
    from tests.plugin.harness import Finished

CANARY = 'canary-7Yq"\\/e-KEY'
"""Holds characters that JSON escapes."""
CODES = "".join(f"\\u{ord(char):04X}" for char in CANARY)
"""The same in a JSON string, in a spelling that no encoder of ours would choose."""
ORGANISATION = "org-Pelican1234567"
"""An account, as a provider names it in headers and messages."""
ACCOUNT = "pelican-lab-7"
"""One that nobody could tell from a word, but for the header that it came in."""
MODELS = {"openai": "gpt-4.1-mini", "anthropic": "claude-haiku-4-5", "google": "gemini-2.5-flash"}
HEADERS = {"openai": "authorization", "anthropic": "x-api-key", "google": "x-goog-api-key"}


def script(request: Received, n: int) -> Reply:
    """Echo the key: in the text, in fields that are kept, in headers, and in errors of several shapes."""
    del n
    key = request.key or "no key came"
    seen = request.headers.get(HEADERS[str(request.protocol)], "no header came")
    prompt = str(request.prompt)
    named = {
        "x-echo": seen,
        "set-cookie": f"id={key}",
        "openai-organization": ACCOUNT,
        "anthropic-organization-id": ACCOUNT,
    }
    if "5 words" in prompt and "exactly" in prompt:
        said = saying(request, f"You sent {seen}, or SPELLED.")
        said |= {"note": seen, "id": seen, "responseId": seen, "organization": ORGANISATION}
        return Answer(json.dumps(said).replace("SPELLED", CODES).encode(), headers=named)
    if "5 words" in prompt:
        message = f"bad key {seen}, SPELLED, {CANARY[:6]}…{CANARY[-5:]}, {CANARY[:6]}***{CANARY[-5:]}"
        message += f" of {ORGANISATION} ({ACCOUNT}), see https://models.example/v1?key={key}"
        said = {"error": {"message": message, "code": "invalid_api_key"}}
        return Answer(json.dumps(said).replace("SPELLED", CODES).encode(), status=401, headers=named)
    if "exactly" in prompt:
        return Answer(f"<html>{seen} {ACCOUNT}</html>", status=403, headers=named)
    return Answer({"choices": [], "detail": seen})


@pytest.mark.parametrize(
    ("protocol", "mode"),
    [
        ("openai", ()),
        ("anthropic", ()),
        ("google", ()),
        pytest.param("openai", MODES["two-workers"], marks=pytest.mark.slow),
        pytest.param("google", MODES["two-workers"], marks=pytest.mark.slow),
    ],
)
def test_a_key_never_leaves_the_process(
    project: Project,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    mode: tuple[str, ...],
):
    model = MODELS[protocol]
    monkeypatch.setenv(load_registry()[model].key_env[0], CANARY)
    server.script = script
    project.write("pyproject.toml", f'[tool.wise.models."{model}"]\nbase_url = "{server.url(protocol)}"\n')
    project.write(
        "test_panel.py",
        'import pytest\n@pytest.mark.wise("exact_count")\ndef test_exact_count(wise):\n'
        "    print(wise, vars(wise))\n    answer = wise.ask()\n    wise.score(answer)\n"
        "    assert not answer, repr(answer)\n",
    )
    run = project.run(
        f"--model={model}", *grid(2), "--record-mode=once", "-vv", "--showlocals", "-rA", "--full-trace",
        "--log-level=DEBUG", "--junitxml=out.xml", *mode, crashes=True,
    )  # fmt: skip
    assert run.status == 1
    sent = [request.headers[HEADERS[protocol]] for request in server.requests if request.method == "POST"]
    assert sent == [f"Bearer {CANARY}" if protocol == "openai" else CANARY] * 4
    assert not any("canary" in request.path for request in server.requests)
    assert [row["status"] for row in run.rows] == ["error", "ok", "error", "error"]
    assert len(project.packs()[f"exact_count/{slug(model)}.jsonl"]) == 1 + 1

    assert_unseen(project, run)
    assert "[scrubbed]" in run.text


def assert_unseen(project: Project, run: Finished) -> None:
    """No file and no line of the screen holds the key, a part of it, or an account."""
    whole = [CANARY, json.dumps(CANARY)[1:-1], CODES]
    spellings = {*whole, *(json.dumps(way)[1:-1] for way in whole), CANARY[:6], CANARY[-5:]}
    spellings |= {ORGANISATION, ACCOUNT}
    everything = {
        name: (project.path / name).read_bytes()
        for name in project.files()
        if (project.path / name).is_file()
    }
    everything["the screen"] = run.text.encode()
    for name, content in everything.items():
        for spelling in spellings:
            assert spelling.encode() not in content, (name, spelling)


CRASHING_CONFTEST = """
import os
import pytest
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.endpoints.registry import load_registry, require_key
from wise_pytest.panels.model import Decoding
from wise_pytest.transport.scrub import secrets_of

@pytest.fixture(autouse=True)
def crash(request, wise):
    endpoint = load_registry()[wise.cell.model]
    protocol = PROTOCOLS[endpoint.protocol]
    key = require_key(endpoint, os.environ)
    if request.config.getoption("verbose") > 2:
        asked = protocol.build_request("x", endpoint, Decoding(9, 0.2), key)
        headers = dict(asked.headers)
        secrets = secrets_of(asked)
        raise RuntimeError(f"{headers!r} {secrets!r}")
    # A NaN is no JSON: building the request fails in the midst of everything that knows the key.
    protocol.build_request("x", endpoint, Decoding(9, float("nan")), key)
"""


@pytest.mark.parametrize("protocol", MODELS)
@pytest.mark.parametrize("verbosity", ["-vv", "-vvv"])
def test_an_exception_in_the_midst_of_a_request_shows_no_key(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, protocol: str, verbosity: str
):
    model = MODELS[protocol]
    monkeypatch.setenv(load_registry()[model].key_env[0], CANARY)
    project.write("conftest.py", CRASHING_CONFTEST)
    project.write("pyproject.toml", f'[tool.wise.models."{model}"]\nbase_url = "{server.url(protocol)}"\n')
    run = project.run(
        f"--model={model}", *grid(), "--record-mode=once", verbosity, "--showlocals", "--full-trace",
        "--junitxml=out.xml", "-p", "no:cacheprovider", crashes=True,
    )  # fmt: skip
    assert run.status == 1
    assert "ValueError" in run.text if verbosity == "-vv" else "RuntimeError" in run.text
    assert "key        = [scrubbed]" in run.text
    assert_unseen(project, run)


@pytest.mark.parametrize("protocol", MODELS)
def test_a_probe_shows_no_key(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, protocol: str
):
    model = MODELS[protocol]
    monkeypatch.setenv(load_registry()[model].key_env[0], CANARY)
    server.script = script
    for reply in (script, lambda request, n: script(request, n) if n else Answer(reset=True)):
        server.script = reply
        run = project.wise("probe", f"{model}={server.url(protocol)}")
        assert_unseen(project, run)
        assert "[scrubbed]" in run.text
    assert all(request.key == CANARY for request in server.requests)
    assert_unseen(project, project.wise("models"))


def test_a_missing_key_is_said_before_anything_runs(project: Project, server: LoopbackServer):
    project.write("pyproject.toml", f'[tool.wise.models."gpt-4.1-mini"]\nbase_url = "{server.base_url}"\n')
    before = project.files()
    for arguments in (("--record-mode=once",), ("--disable-recording",)):
        run = project.run("--model=gpt-4.1-mini", *grid(), *arguments)
        assert run.status == 4
        assert "OPENAI_API_KEY" in run.flat
        assert "wise_pytest/plugin.py" not in run.text
        assert {name for name in project.files() if "cassettes" not in name} == before
    assert server.n_requests == 0


def test_a_replay_needs_no_key(project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch):
    project.write("pyproject.toml", f'[tool.wise.models."gpt-4.1-mini"]\nbase_url = "{server.base_url}"\n')
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    assert project.run("--model=gpt-4.1-mini", *grid(), "--record-mode=once").status == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    assert project.run("--model=gpt-4.1-mini", *grid()).status == 0
    assert project.run("--model=gpt-4.1-mini", *grid(), "--record-mode=once").status == 0
    assert server.n_requests == 2

"""A key is in no file and on no screen, whatever the provider does with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.loopback import Answer, completion
from tests.plugin.harness import SLOW_WITH_WORKERS, Project, grid

if TYPE_CHECKING:
    import pytest

    from tests.loopback import LoopbackServer, Received, Reply

CANARY = 'canary-7Yq"\\/e-KEY'
"""Holds characters that JSON escapes."""
CODES = "".join(f"\\u{ord(char):04X}" for char in CANARY)
"""The same in a JSON string, in a spelling that no encoder of ours would choose."""


def script(request: Received, n: int) -> Reply:
    """Echo the key: in the text, in fields that are kept, in headers, and in errors of several shapes."""
    del n
    seen = request.headers.get("authorization", "no key came")
    prompt = str(request.prompt)
    if "5 words" in prompt and "exactly" in prompt:
        said = completion(f"You sent {seen}, or SPELLED.", note=seen, id=seen)
        return Answer(json.dumps(said).replace("SPELLED", CODES).encode(), headers={"x-echo": "1"})
    if "5 words" in prompt:
        message = f"bad key {seen}, SPELLED, {CANARY[:6]}…{CANARY[-5:]}, {CANARY[:6]}***{CANARY[-5:]}"
        said = {"error": {"message": message, "code": "invalid_api_key"}}
        return Answer(json.dumps(said).replace("SPELLED", CODES).encode(), status=401)
    if "exactly" in prompt:
        return Answer(f"<html>{seen}</html>", status=403)
    return Answer({"choices": [], "detail": seen})


@SLOW_WITH_WORKERS
def test_a_key_never_leaves_the_process(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, mode: tuple[str, ...]
):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    server.script = script
    project.write("pyproject.toml", f'[tool.wise.models."gpt-4.1-mini"]\nbase_url = "{server.base_url}"\n')
    project.write(
        "test_panel.py",
        'import pytest\n@pytest.mark.wise("exact_count")\ndef test_exact_count(wise):\n'
        "    print(wise, vars(wise))\n    answer = wise.ask()\n    wise.score(answer)\n"
        "    assert not answer, repr(answer)\n",
    )
    run = project.run(
        "--model=gpt-4.1-mini", *grid(2), "--record-mode=once", "-vv", "--showlocals", "-rA", "--full-trace",
        "--log-level=DEBUG", "--junitxml=out.xml", *mode, crashes=True,
    )  # fmt: skip
    assert run.status == 1
    sent = [request.headers["authorization"] for request in server.requests if request.method == "POST"]
    assert sent == [f"Bearer {CANARY}"] * 4
    assert [row["status"] for row in run.rows] == ["error", "ok", "error", "error"]
    assert len(project.packs()["exact_count/gpt-4.1-mini.jsonl"]) == 1 + 1

    whole = [CANARY, json.dumps(CANARY)[1:-1], CODES]
    spellings = {*whole, *(json.dumps(way)[1:-1] for way in whole), CANARY[:6], CANARY[-5:]}
    everything = {
        name: (project.path / name).read_bytes()
        for name in project.files()
        if (project.path / name).is_file()
    }
    everything["the screen"] = run.text.encode()
    for name, content in everything.items():
        for spelling in spellings:
            assert spelling.encode() not in content, (name, spelling)
    assert "[scrubbed]" in run.text


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

"""``wise models`` and ``wise probe``: what they print, and that a probe is one real call."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.loopback import Answer, candidate, completion, error, message
from wise_pytest.endpoints.registry import load_registry

if TYPE_CHECKING:
    from tests.loopback import LoopbackServer
    from tests.plugin.harness import Finished, Project

REGISTRY = load_registry()


def lines_of(run: Finished) -> dict[str, list[str]]:
    """The columns of each line of a table, by the first one."""
    return {
        columns[0]: columns
        for line in run.text.splitlines()
        if len(columns := re.split(r"  +", line.strip())) > 1
    }


# wise models


def test_the_models_are_listed_with_their_keys_prices_and_lives(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    day = datetime.now(UTC).date()
    project.write(
        "pyproject.toml",
        f"""
        [tool.wise.models.mine]
        base_url = "http://127.0.0.1:1/v1"
        [tool.wise.models.old]
        base_url = "https://models.example/v1"
        key_env = ["FIRST_KEY", "SECOND_KEY"]
        retires_on = {day.isoformat()}
        successor = "new"
        [tool.wise.models.new]
        base_url = "https://models.example/v1"
        key_env = "BROKEN_KEY"
        retires_on = {(day + timedelta(days=1)).isoformat()}
        price = {{ input_usd = 1, output_usd = 2.5, as_of = 2026-01-02, peak_factor = 1.5 }}
        unverified = ["One thing.", "Another."]
        """,
    )
    monkeypatch.setenv("SECOND_KEY", "sk-canary-value")
    monkeypatch.setenv("BROKEN_KEY", "sk-canary\nvalue")
    run = project.wise("models")
    assert run.status == 0
    assert "canary" not in run.text
    table = lines_of(run)
    assert table.keys() == {"model", *REGISTRY, "mine", "old", "new"}
    assert table["mine"][1:] == ["local", "openai", "none needed", "-", "-", "active", "-"]
    assert table["old"][3:7] == ["SECOND_KEY set", "-", "-", f"retired on {day}, then new"]
    assert table["new"][3:] == [
        "BROKEN_KEY cannot be sent",
        "1.00, 2.50 (peak ×1.5)",
        "2026-01-02",
        f"retires on {day + timedelta(days=1)}",
        "2",
    ]
    assert table["claude-haiku-4-5"][1:6] == [
        *("Anthropic", "anthropic", "ANTHROPIC_API_KEY not set"),
        *("1.00, 5.00", "2026-07-29"),
    ]
    assert table["gemini-2.5-flash"][3] == "GOOGLE_API_KEY not set"
    assert table["deepseek-chat"][6] == "retired on 2026-07-24, then deepseek-flash"
    assert table["smollm2-135m-instruct"][6] == "bundled"

    some = lines_of(project.wise("models", "new", "gpt-4*"))
    assert list(some) == ["model", "new", "gpt-4.1-mini", "gpt-4o-mini"]


def test_everything_that_is_not_verified_is_listed(project: Project):
    run = project.wise("models", "--unverified")
    assert run.status == 0
    expected = [
        line
        for name, endpoint in REGISTRY.items()
        if endpoint.unverified
        for line in (f"{name}:", *(f"  {remark}" for remark in endpoint.unverified))
    ]
    assert run.text.rstrip().splitlines() == expected
    assert len(expected) > 40
    one = project.wise("models", "gpt-5.5", "--unverified").text.splitlines()
    assert one[0] == "gpt-5.5:"
    assert "temperature" in one[1]


@pytest.mark.parametrize("command", [("models", "gpt-9"), ("probe", "gpt-9")])
def test_an_unknown_model_is_a_usage_error(project: Project, command: tuple[str, ...]):
    run = project.wise(*command)
    assert run.status == 2
    assert "unknown model 'gpt-9' (known: smollm2" in run.flat


def test_a_mistake_in_the_table_is_named(project: Project):
    project.write("pyproject.toml", "[tool.wise.models.m]\nbase_url = 'http://h'\n")
    run = project.wise("models")
    assert run.status == 2
    assert (
        "model 'm': 'base_url': base URL 'http://h' has no version path; did you mean http://h/v1?"
        in run.flat
    )


# wise probe

GOOD: dict[str, tuple[str, Any]] = {
    "claude-haiku-4-5": (
        "ANTHROPIC_API_KEY",
        message(
            "",
            content=[
                {"type": "thinking", "thinking": "hmm"},
                {"type": "text", "text": "Light is faster.\u200b"},
            ],
            model="claude-haiku-4-5-20251001",
            usage={"input_tokens": 20, "output_tokens": 10},
        ),
    ),
    "gpt-4o-mini": (
        "OPENAI_API_KEY",
        completion(
            "Light is faster.\u200b",
            model="gpt-4o-mini",
            usage={"prompt_tokens": 20, "completion_tokens": 10},
        ),
    ),
    "gemini-2.5-flash": (
        "GEMINI_API_KEY",
        candidate(
            "Light is faster.\u200b",
            modelVersion="gemini-3.5-flash-lite",
            usageMetadata={"promptTokenCount": 20, "candidatesTokenCount": 4, "thoughtsTokenCount": 6},
        ),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_probe_is_one_real_call_shown_as_sent_and_as_read(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, name: str
):
    variable, reply = GOOD[name]
    endpoint = REGISTRY[name]
    monkeypatch.setenv(variable, "sk-canary-value")
    server.script = [reply]
    before = project.files()
    run = project.wise("probe", f"{name}={server.url(endpoint.protocol)}")
    assert run.status == 0, run.text
    (received,) = server.requests
    assert received.key == "sk-canary-value"
    assert received.prompt == "Why do we see lightning before we hear thunder? Answer using exactly 5 words."
    assert "canary" not in run.text
    assert project.files() == before

    shown = run.text.splitlines()
    assert f"POST http://127.0.0.1:{server.port}{received.path}" in shown
    key_header = {"openai": "authorization", "anthropic": "x-api-key", "google": "x-goog-api-key"}
    assert f"  {key_header[endpoint.protocol]}: [scrubbed]" in shown
    body = "\n".join(shown[shown.index("  {") : shown.index("  }") + 1])
    assert json.loads(body) == received.json
    assert re.search(r"^HTTP 200 after \d+\.\d\d s$", run.text, re.MULTILINE)
    assert "  status: ok" in shown
    assert "  text: Light is faster.<U+200B>" in shown
    assert (
        f"  finish reason: {'end_turn' if 'claude' in name else 'STOP' if 'gemini' in name else 'stop'}"
        in shown
    )
    thought = ", 6 of them for thoughts" if "gemini" in name else ""
    assert f"  tokens: 20 in, 10 out{thought}" in shown
    if "claude" in name:
        assert "  part: thinking (thought, 3 characters)" in shown
        assert "  flags: thought_parts" in shown
    served = {
        "claude-haiku-4-5": "claude-haiku-4-5-20251001, not claude-haiku-4-5",
        "gpt-4o-mini": "gpt-4o-mini",
        "gemini-2.5-flash": "gemini-3.5-flash-lite, not gemini-2.5-flash",
    }
    assert f"  served model: {served[name]}" in shown

    # 1,800 requests of 20 tokens in and 10, at most 120, out, at the price of the registry.
    assert (
        "a run of exact_count like this: 1,800 requests, 36,000 tokens in, 18,000 out "
        "(at most 216,000: 120 is the cap)"
    ) in shown
    cost = {
        "claude-haiku-4-5": "about $0.13, at most $1.12, at the prices of 2026-07-29",
        "gpt-4o-mini": "about $0.02, at most $0.14, at the prices of 2026-07-02",
        "gemini-2.5-flash": "about $0.06, at most $0.55, at the prices of 2026-07-02",
    }
    assert f"  {cost[name]}" in shown


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (
            Answer(error("slow down"), status=429),
            ("HTTP 429 after", "status: error", "reason: HTTP 429: slow down"),
        ),
        (Answer("<html>Hi</html>"), ("HTTP 200 after", "reason: the server answered with a web page")),
        (Answer(reset=True), ("no reply: POST http://127.0.0.1", "after 1 try")),
    ],
)
def test_a_probe_that_fails_says_how_and_tries_once(
    project: Project, server: LoopbackServer, reply: Answer, says: tuple[str, ...]
):
    server.script = lambda *_: reply
    run = project.wise("probe", f"mine={server.base_url}")
    assert (run.status, server.n_requests) == (1, 1)
    for part in says:
        assert part in run.flat
    assert "a run of" not in run.text


@pytest.mark.parametrize(
    ("usage", "entry", "says"),
    [
        (None, "", "1,800 requests; the reply does not count its tokens"),
        ({"prompt_tokens": 9, "completion_tokens": 5}, "", "it has no price"),
        ({"prompt_tokens": 9, "completion_tokens": 5}, 'key_env = "M_KEY"', "its price is not known"),
        (
            {"prompt_tokens": 1000, "completion_tokens": 100},
            "price = { input_usd = 1, output_usd = 10, as_of = 2026-01-02, peak_factor = 2 }",
            # 1.8 million tokens in; 0.18 or at most 0.216 million out
            "about $3.60, at most $3.96, at the prices of 2026-01-02 in peak hours 2 times that",
        ),
    ],
)
def test_what_a_run_would_cost_is_said_as_far_as_it_is_known(  # noqa: PLR0917 - a table, and three fixtures
    project: Project,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
    usage: Any,
    entry: str,
    says: str,
):
    monkeypatch.setenv("M_KEY", "some-key")
    project.write("pyproject.toml", f'[tool.wise.models.m]\nbase_url = "{server.base_url}"\n{entry}\n')
    server.script = [completion("a", usage=usage)]
    run = project.wise("probe", "m")
    assert run.status == 0
    assert says in run.flat


def test_a_probe_names_what_it_needs(project: Project, server: LoopbackServer):
    run = project.wise("probe", f"gemini-2.5-flash={server.url('google')}")
    assert run.status == 2
    assert (
        "gemini-2.5-flash: needs a key in the environment variable GOOGLE_API_KEY or GEMINI_API_KEY"
        in run.flat
    )
    many = project.wise("probe", "gpt-4*")
    assert many.status == 2
    assert "'gpt-4*' matches 2 models, and one is asked: gpt-4.1-mini, gpt-4o-mini" in many.flat
    assert server.requests == []


def test_a_probe_of_a_model_that_is_no_more_says_so(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "some-key")
    server.script = [Answer(error("Model Not Exist", type="invalid_request_error"), status=400)]
    run = project.wise("probe", f"deepseek-chat={server.base_url}")
    assert run.status == 1
    assert "deepseek-chat retired on 2026-07-24, then deepseek-flash" in run.text.splitlines()
    assert "reason: HTTP 400: Model Not Exist" in run.flat

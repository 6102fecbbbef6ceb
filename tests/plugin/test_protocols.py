"""Whole sessions in each wire protocol: strange replies get their status, and replays the same rows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.loopback import Answer, candidate, completion, error, message
from tests.plugin.harness import SLOW_WITH_WORKERS, grid, without_run
from wise_pytest.panels.catalog import bundled_panel

if TYPE_CHECKING:
    from tests.loopback import LoopbackServer, Received, Reply
    from tests.plugin.harness import Project

PROTOCOLS = ("openai", "anthropic", "google")
MODELS = tuple(part for protocol in PROTOCOLS for part in ("--model", f"{protocol}-model"))
ONE_FORM = ("--wise-form", "POS", "--wise-repetitions", "1")


def entries(server: LoopbackServer, **more: str) -> str:
    """One model a protocol, in the user's own table."""
    return "".join(
        f'[tool.wise.models.{protocol}-model]\nprotocol = "{protocol}"\nbase_url = "{server.url(protocol)}"\n'
        f"{more.get(protocol, '')}\n"
        for protocol in PROTOCOLS
    )


# Replies that are easily misread

GOOGLE_TEXT = {"content": {"role": "model", "parts": [{"text": "plan", "thought": True}, {"text": "B"}]}}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
OKAY = {"type": "text", "text": "Okay"}
SURROGATE = b'{"choices":[{"message":{"content":"ok \\ud83d"},"finish_reason":"stop"}]}'

STRANGE: dict[str, tuple[str, Any, str, str | None, tuple[str, ...]]] = {
    "thinking ate the cap, no parts": (
        "google",
        {
            "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
            "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 118},
        },
        "truncated",
        "",
        (),
    ),
    "no content key": (
        "google",
        {"candidates": [{"finishReason": "OTHER", "index": 0}]},
        "blocked",
        None,
        (),
    ),
    "blocked prompt": ("google", {"promptFeedback": {"blockReason": "SAFETY"}}, "blocked", None, ()),
    "thought beside the text": (
        "google",
        {"candidates": [{**GOOGLE_TEXT, "finishReason": "STOP"}]},
        "ok",
        "B",
        ("thought_parts",),
    ),
    "empty content list": ("anthropic", {"content": [], "stop_reason": "end_turn"}, "ok", "", ()),
    "refusal with 200": ("anthropic", {"content": [], "stop_reason": "refusal"}, "refused", "", ()),
    "list content": (
        "openai",
        {"choices": [{"message": {"content": [THOUGHT, OKAY]}, "finish_reason": "stop"}]},
        "ok",
        "Okay",
        ("thought_parts",),
    ),
    "null choices and an error in a 200": (
        "openai",
        {"choices": None, "error": {"code": 429, "message": "busy"}},
        "error",
        None,
        (),
    ),
    "empty and capped": (
        "openai",
        {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]},
        "truncated",
        "",
        (),
    ),
    "answer only in reasoning": (
        "openai",
        {"choices": [{"message": {"content": None, "reasoning_content": "9.9"}, "finish_reason": "stop"}]},
        "error",
        None,
        ("thought_parts", "reasoning_only"),
    ),
    "empty 200": ("openai", b"\n\n\n", "error", None, ()),
    "usage absent": (
        "openai",
        {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]},
        "ok",
        "a",
        (),
    ),
    "usage null": ("openai", completion("a", usage=None, model="openai-model"), "ok", "a", ()),
    "a string error in a 200": ("openai", {"error": "Unexpected endpoint or method."}, "error", None, ()),
    "object as message": (
        "openai",
        Answer({"object": "error", "message": {"detail": [{"type": "extra_forbidden"}]}}, status=422),
        "error",
        None,
        (),
    ),
    "object as message in a 200": (
        "openai",
        {"object": "error", "message": {"detail": [{"type": "extra_forbidden"}]}},
        "error",
        None,
        (),
    ),
    "lone surrogate": ("openai", SURROGATE, "ok", "ok \ud83d", ("lone_surrogate",)),
    "not UTF-8": ("openai", Answer(b'{"error":"\xe9"}'), "error", None, ()),
    "closed in mid-body": ("openai", Answer(completion("never whole"), cut=30), "error", None, ()),
    "a web page": ("openai", "<!DOCTYPE html><title>Welcome</title>", "error", None, ()),
}
"""By symptom: protocol, reply, and what the row says: status, text, flags."""
TRIED_AGAIN = {"null choices and an error in a 200", "empty 200", "closed in mid-body"}


@pytest.mark.slow
def test_no_strange_reply_stops_a_run_or_counts_as_a_failure_of_the_wording(
    project: Project, server: LoopbackServer
):
    """Each symptom is the reply to one item; all other replies of its protocol are good ones."""
    items = bundled_panel("exact_count").items[: len(STRANGE)]
    by_task = dict(zip((item.task for item in items), STRANGE, strict=True))

    def script(request: Received, n: int) -> Reply:
        del n
        symptom = next(name for task, name in by_task.items() if str(request.prompt).startswith(task))
        protocol, reply, *_ = STRANGE[symptom]
        if protocol != request.protocol:
            return None
        return Answer(reply) if isinstance(reply, bytes | str) else reply

    server.script = script
    project.write("pyproject.toml", entries(server))
    run = project.run(
        *MODELS, *ONE_FORM, f"--wise-items={len(items)}", "--record-mode=once", "--wise-min-coverage=1"
    )
    assert len(run.rows) == len(items) * len(PROTOCOLS)
    rows = {(row["model"], row["item"]): row for row in run.rows}
    for item, symptom in zip(items, STRANGE, strict=True):
        protocol, _, status, text, flags = STRANGE[symptom]
        row = rows.pop((f"{protocol}-model", item.item_id))
        said = None if row["status"] == "error" else row["text"]
        assert (row["status"], said, row["flags"]) == (status, text, list(flags)), symptom
        assert (row["compliant"] is None) == (status in ("error", "blocked")), symptom
        assert bool(row["reason"]) == (status in ("error", "blocked")), symptom
        # In the row of a technical error is what the provider said of it, never what it may have thought.
        assert "9.9" not in str(row["text"]), symptom
    assert {row["status"] for row in rows.values()} == {"ok"}

    prompts = {row["item"]: row["prompt"] for row in run.rows}
    asked = {
        symptom: server.count(prompts[item.item_id]) for item, symptom in zip(items, STRANGE, strict=True)
    }
    # Three models ask for each item; one reply that may pass is asked for four times.
    assert asked == {symptom: 3 + (3 if symptom in TRIED_AGAIN else 0) for symptom in STRANGE}

    # Nothing that is no answer was kept, and what was kept replays to the same rows.
    server.script = None
    n_kept = sum(len(lines) - 1 for lines in project.packs().values())
    assert n_kept == sum(row["status"] != "error" for row in run.rows)
    replay = project.run(
        *MODELS, *ONE_FORM, f"--wise-items={len(items)}", "--block-network", "--wise-min-coverage=1"
    )
    kept = [row for row in without_run(run.rows) if row["status"] != "error"]
    assert [row for row in without_run(replay.rows) if row["status"] != "error"] == kept


# The same cell in three protocols


def thoughtful(request: Received, n: int) -> Reply:
    """A thought, and an answer of as many words as were asked for, in each protocol's own way."""
    del n
    text = " ".join(["word"] * int(re.findall(r"\d+", str(request.prompt))[-1]))
    if request.protocol == "anthropic":
        content = [{"type": "thinking", "thinking": "SECRET PLAN"}, {"type": "text", "text": text}]
        return message(
            "", content=content, model=request.model, usage={"input_tokens": 9, "output_tokens": 5}
        )
    if request.protocol == "google":
        parts = [{"text": "SECRET PLAN", "thought": True}, {"text": text}]
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}
        reply = candidate("", modelVersion=request.model, usageMetadata=usage)
        reply["candidates"][0]["content"]["parts"] = parts
        return reply
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    reply = completion(text, model=request.model, usage=usage)
    reply["choices"][0]["message"]["reasoning_content"] = "SECRET PLAN"
    return reply


OWN_TO_A_PROTOCOL = {
    *("model", "finish_reason", "served_model", "request_digest", "recorded_at", "latency_s", "usage"),
}


@SLOW_WITH_WORKERS
def test_the_same_cell_recorded_from_each_protocol_replays_to_the_same_row(
    project: Project, server: LoopbackServer, mode: tuple[str, ...]
):
    server.script = thoughtful
    project.write("pyproject.toml", entries(server))
    live = project.run(*MODELS, *grid(2, 2), "--record-mode=once", *mode)
    assert live.status == 0
    asked = server.n_requests
    replay = project.run(*MODELS, *grid(2, 2), "--block-network", *mode)
    assert replay.status == 0
    assert server.n_requests == asked == 24
    assert without_run(replay.rows) == without_run(live.rows)
    assert replay.audit["panels"] == live.audit["panels"]

    by_model = {
        protocol: [
            {name: value for name, value in row.items() if name not in OWN_TO_A_PROTOCOL}
            for row in without_run(replay.rows)
            if row["model"] == f"{protocol}-model"
        ]
        for protocol in PROTOCOLS
    }
    assert by_model["openai"] == by_model["anthropic"] == by_model["google"]
    for row in replay.rows:
        assert (row["status"], row["compliant"], row["flags"]) == ("ok", True, ["thought_parts"])
        assert (row["usage"]["input_tokens"], row["usage"]["output_tokens"]) == (9, 5)
    # What was thought is in the raw record of every cell, and in no row.
    assert "SECRET PLAN" not in json.dumps(replay.rows)
    for lines in project.packs().values():
        assert all("SECRET PLAN" in line["response"]["body"] for line in lines[1:])


def test_a_model_in_anothers_place_is_named_in_rows_summary_and_report(
    project: Project, server: LoopbackServer
):
    def another(request: Received, n: int) -> Reply:
        del n
        if request.protocol == "anthropic":
            return message("a b c", model="other-anthropic")
        if request.protocol == "google":
            return candidate("a b c", modelVersion="models/other-google")
        return completion("a b c", model="other-openai")

    server.script = another
    project.write("pyproject.toml", entries(server))
    for how in ("--record-mode=once", "--block-network"):
        run = project.run(*MODELS, *grid(), how)
        report = (run.folder / "audit.md").read_text("utf-8") if run.folder else ""
        for protocol in PROTOCOLS:
            assert f"{protocol}-model was served by other-{protocol}" in run.flat
            assert f"other-{protocol}" in report
        assert all(row["flags"] == ["served_model_differs"] for row in run.rows)
        assert {row["served_model"] for row in run.rows} == {f"other-{protocol}" for protocol in PROTOCOLS}


# Errors and retries


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_busy_provider_is_asked_again_and_a_hopeless_one_is_not(
    project: Project, server: LoopbackServer, protocol: str
):
    """POS is overloaded once, in each provider's own words; NEG has no credit, and its message is kept."""
    busy = {
        "openai": Answer(error("slow", code="rate_limit_exceeded"), status=429),
        "anthropic": Answer({"type": "error", "error": {"type": "overloaded_error"}}, status=529),
        "google": Answer([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}], status=503),
    }[protocol]
    broke = {
        "openai": Answer(error("You have no credit", code="insufficient_quota"), status=429),
        "anthropic": Answer(
            {"type": "error", "error": {"type": "billing_error", "message": "You have no credit"}}, status=402
        ),
        "google": Answer(
            {"error": {"code": 429, "message": "You have no credit, limit: 0", "status": "X"}}, status=429
        ),
    }[protocol]

    def script(request: Received, n: int) -> Reply:
        if "exactly" not in str(request.prompt):
            return broke
        return busy if n == 0 else None

    server.script = script
    project.write("pyproject.toml", entries(server))
    run = project.run("--model", f"{protocol}-model", *grid(), "--record-mode=once")
    assert run.status == 1
    neg, pos = run.rows
    assert (pos["status"], pos["attempts"]) == ("ok", 2)
    assert (neg["status"], neg["compliant"], server.count(neg["prompt"])) == ("error", None, 1)
    assert "You have no credit" in neg["reason"]
    assert "You have no credit" in run.flat


# Keys that are missing


def needing_keys(server: LoopbackServer) -> str:
    return entries(server, anthropic='key_env = ["A_KEY", "OTHER_KEY"]', google='key_env = ["G_KEY"]')


@SLOW_WITH_WORKERS
def test_a_key_is_asked_for_only_where_a_model_would_be_called(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, mode: tuple[str, ...]
):
    for name in ("A_KEY", "OTHER_KEY", "G_KEY"):
        monkeypatch.delenv(name, raising=False)
    project.write("pyproject.toml", needing_keys(server))
    first = project.run(*MODELS, *grid(), "--record-mode=once", *mode)
    assert first.status == 4
    assert "anthropic-model: needs a key in the environment variable A_KEY or OTHER_KEY" in first.flat
    assert "wise audit" not in first.flat  # nothing could run, and nothing is to be audited
    assert server.n_requests == 0
    # Without that model's tests it is not called, and neither is anybody by a session that only collects.
    one = project.run(*MODELS, *grid(), "--record-mode=once", "-k", "openai", *mode)
    assert (server.n_requests, {row["model"] for row in one.rows}) == (2, {"openai-model"})
    assert project.run(*MODELS, *grid(), "--record-mode=once", "--collect-only", "-q").status == 0

    monkeypatch.setenv("OTHER_KEY", "some-key")
    monkeypatch.setenv("G_KEY", "broken\nkey")
    broken = project.run(*MODELS, *grid(), "--record-mode=once", *mode)
    assert broken.status == 4
    assert "the key in G_KEY holds a blank, a line break or a character outside ASCII" in broken.flat
    assert "broken" not in broken.text
    assert server.n_requests == 2
    monkeypatch.setenv("G_KEY", "good-key")
    assert project.run(*MODELS, *grid(), "--record-mode=once", *mode).status == 0
    assert {request.key for request in server.requests if request.protocol} == {None, "some-key", "good-key"}

    # What is recorded needs no key, usable or not; what would be asked anew does.
    monkeypatch.delenv("OTHER_KEY")
    monkeypatch.setenv("G_KEY", "broken\nkey")
    for record_mode in ("none", "once", "new_episodes"):
        assert project.run(*MODELS, *grid(), f"--record-mode={record_mode}", *mode).status == 0
    assert server.n_requests == 6
    changed = entries(
        server, anthropic='key_env = "A_KEY"\nextra = { top_k = 5 }', google='key_env = "G_KEY"'
    )
    project.write("pyproject.toml", changed)
    stale = project.run(*MODELS, *grid(), "--record-mode=new_episodes", *mode)
    assert stale.status == 4
    assert "anthropic-model: needs a key in the environment variable A_KEY" in stale.flat
    assert server.n_requests == 6

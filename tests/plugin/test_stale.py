"""A recording of another request is never an answer: it is an error that says what differs."""

from __future__ import annotations

import shutil

import pytest

from tests.loopback import LoopbackServer
from tests.plugin.harness import Project, grid

CHANGES = {
    "extra": ('extra = {{ top_p = 0.5 }}\nbase_url = "{url}"', "top_p: recorded (absent), now 0.5"),
    "cap": (
        'cap_field = "max_completion_tokens"\nbase_url = "{url}"',
        "max_completion_tokens: recorded (absent), now 120; max_tokens: recorded 120, now (absent)",
    ),
    "heat": ('temperature = false\nbase_url = "{url}"', "temperature: recorded 0.2, now (absent)"),
    "moved": (
        'base_url = "{elsewhere}"',
        'URL: recorded "{url}/chat/completions", now "{elsewhere}/chat/completions"',
    ),
    "other": ('api_model = "other-b"\nbase_url = "{url}"', 'model: recorded "other", now "other-b"'),
    "same": ('base_url = "{url}"', ""),
}
"""By model: how it is changed after its recording, and what must be said of that."""
MODELS = [part for name in CHANGES for part in ("--model", name)]


def configure(project: Project, urls: dict[str, str], *, changed: bool) -> None:
    tables = [
        f"[tool.wise.models.{name}]\n{(change if changed else CHANGES['same'][0]).format(**urls)}\n"
        for name, (change, _) in CHANGES.items()
    ]
    project.write("pyproject.toml", "\n".join(tables))


def test_every_change_of_a_request_is_a_miss_that_is_explained_and_can_be_repaired(project: Project):
    with LoopbackServer() as server, LoopbackServer() as elsewhere:
        urls = {"url": server.base_url, "elsewhere": elsewhere.base_url}
        configure(project, urls, changed=False)
        first = project.run(*MODELS, *grid(), "--record-mode=once")
        assert first.status == 0
        assert server.n_requests == 12
        configure(project, urls, changed=True)

        for options in ((), ("--record-mode=once",)):
            stale = project.run(*MODELS, *grid(), "-v", *options)
            assert stale.status == 1
            assert stale.counts == {"error": 10, "noncompliant": 2}
            assert server.n_requests == 12
            assert elsewhere.n_requests == 0
            for row in stale.rows:
                if row["model"] == "same":
                    assert row["status"] == "ok"
                    continue
                assert (row["status"], row["text"], row["compliant"]) == ("error", None, None)
                assert CHANGES[row["model"]][1].format(**urls) in row["reason"]
                assert "recorded for another request" in row["reason"]
                assert "--record-mode=new_episodes" in row["reason"]
                assert row["reason"] in stale.flat

        shutil.copytree(project.path / "cassettes", project.path / "cassettes-of-old")
        repaired = project.run(*MODELS, *grid(), "--record-mode=new_episodes")
        assert repaired.status == 0
        assert (server.n_requests, elsewhere.n_requests) == (12 + 8, 2)

        shutil.rmtree(project.path / "cassettes")
        (project.path / "cassettes-of-old").rename(project.path / "cassettes")
        rewritten = project.run(*MODELS, *grid(), "--record-mode=rewrite")
        assert rewritten.status == 0
        assert (server.n_requests, elsewhere.n_requests) == (20 + 10, 4)

    replayed = project.run(*MODELS, *grid(), "--block-network")
    assert replayed.status == 0
    assert [row["text"] for row in replayed.rows] == [row["text"] for row in rewritten.rows]
    for old, new in zip(first.rows, replayed.rows, strict=True):
        assert len(new["request_digest"]) == 64
        assert (old["request_digest"] == new["request_digest"]) == (new["model"] == "same")
    assert all(len(lines) == 1 + 2 for lines in project.packs().values())


def test_another_model_at_the_same_address_has_no_recordings(project: Project, server: LoopbackServer):
    """Model A to B: nothing of A's is ever B's."""
    assert project.run("--model", f"A={server.base_url}", *grid(), "--record-mode=once").status == 0
    run = project.run("--model", f"B={server.base_url}", *grid(), "-rs")
    assert run.status == 1
    assert "exact_count, B: not recorded" in run.flat
    assert server.n_requests == 2


@pytest.mark.slow
def test_all_records_everything_again(project: Project, server: LoopbackServer):
    """pytest-recording's own mode keeps its meaning."""
    model = ("--model", f"m={server.base_url}")
    first = project.run(*model, *grid(), "--record-mode=once")
    again = project.run(*model, *grid(), "--record-mode=all")
    assert server.n_requests == 4
    replayed = project.run(*model, *grid())
    assert server.n_requests == 4
    assert [row["text"] for row in replayed.rows] == [row["text"] for row in again.rows]
    assert [row["text"] for row in first.rows] != [row["text"] for row in again.rows]

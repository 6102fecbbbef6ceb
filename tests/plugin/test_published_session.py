"""A session of a model that the paper has measured shows the published rates beside its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.plugin.harness import grid

if TYPE_CHECKING:
    import pytest

    from tests.loopback import LoopbackServer
    from tests.plugin.harness import Project


def test_a_run_of_a_published_model_shows_both(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-is-sent-to-nobody")
    models = ("--model", "gpt-4.1-mini", "--model", f"mine={server.base_url}")
    run = project.run(*models, *grid(), "--record-mode=once", "-p", "no:xdist")
    assert run.status == 0, run.text
    assert run.folder is not None
    found = run.audit["panels"]["exact_count"]["published"]["by_model"]
    assert list(found) == ["gpt-4.1-mini"]
    assert found["gpt-4.1-mini"]["forms"]["CNEG"] == 0.6
    for name in ("audit.md", "audit.html"):
        text = (run.folder / name).read_text("utf-8")
        assert "Published rates of the same models" in text
        assert "not directly comparable, and never part of the gate" in text
    assert "gpt-4.1-mini,POS,0.0,0.553,Table 21,2026-06-12" in (
        run.folder / "tables" / "published.csv"
    ).read_text("utf-8")
    replayed = project.run(*models, *grid(), "-p", "no:xdist")
    assert replayed.audit == run.audit

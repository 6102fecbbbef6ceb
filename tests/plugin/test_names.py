"""Whatever a model is called, its rows and recordings are its own."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from tests.loopback import completion
from tests.plugin.harness import Project, grid, without_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.loopback import LoopbackServer, Received, Reply

LONG = "x" * 299
NAMES = [
    "a::b",
    "a@b",
    "né",
    "ne\u0301",
    LONG + "1",
    LONG + "2",
    "Model",
    "model",
    "con",
    "ends.",
    "a/b",
    "../up",
]
"""Names that break ids, paths or case-blind file systems. Composed and decomposed é are two names."""


RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
MAX_PATH = 180
"""Characters below the project's folder, of the 260 that Windows has for a path."""


def windows_faults(names: Iterable[str]) -> dict[str, str]:
    """Paths that Windows cannot hold beside one another, and why."""
    faults: dict[str, str] = {}
    seen: dict[str, str] = {}
    for name in sorted(names):
        for part in name.split("/"):
            if RESERVED.fullmatch(part):
                faults[name] = "a device"
            elif re.search(r'[<>:"\\\\|?*\x00-\x1f]', part):
                faults[name] = "a character"
            elif part.endswith((".", " ")) or part.startswith(" "):
                faults[name] = "a blank or dot at its end"
        if len(name) > MAX_PATH:
            faults[name] = "too long"
        if seen.setdefault(name.casefold(), name) != name:
            faults[name] = f"the same as {seen[name.casefold()]}"
    return faults


def test_what_windows_cannot_hold_is_seen():
    names = ["a/CON", "nul.txt", "a:b", "a./b", "a ", "A/b", "a/B", "x" * 181, "com10", "ok.txt", "a\\b"]
    assert set(windows_faults(names)) == {*names} - {"com10", "ok.txt", "A/b"}


def said_by(model: str) -> str:
    return f"I am {hashlib.sha256(model.encode()).hexdigest()}"


def script(request: Received, n: int) -> Reply:
    del n
    return completion(said_by(request.json["model"]))


def test_odd_names_have_rows_and_files_of_their_own(project: Project, server: LoopbackServer):
    server.script = script
    project.write(
        "pyproject.toml",
        f'[tool.wise.models.bracket]\napi_model = "[x]"\nbase_url = "{server.base_url}"\n',
    )
    models = [part for name in NAMES for part in ("--model", f"{name}={server.base_url}")]
    base = [*models, "--model", "bracket", *grid()]
    live = project.run(*base, "--record-mode=once", "-n", "2", "--dist", "loadgroup")
    assert live.status == 0
    assert len(live.rows) == 2 * 13
    assert {row["model"] for row in live.rows} == {*NAMES, "bracket"}
    for row in live.rows:
        assert row["text"] == said_by("[x]" if row["model"] == "bracket" else row["model"])

    files = [name for name in project.packs() if not name.startswith("latest")]
    assert len(files) == 13
    assert len({name.lower() for name in files}) == 13
    for name in files:
        assert re.fullmatch(r"exact_count/[a-z0-9_][a-z0-9._-]*", name)
        stem = name.removeprefix("exact_count/").removesuffix(".jsonl")
        assert len(stem) <= 100
        assert not stem.endswith(".")
        assert stem.partition(".")[0] not in {"con", "nul", "aux", "prn"}
    assert {lines[0]["model"] for lines in project.packs().values()} == {*NAMES, "bracket"}
    assert windows_faults(project.files()) == {}

    server.close()
    replay = project.run(*base, "--block-network")
    assert replay.status == 0
    assert without_run(replay.rows) == without_run(live.rows)
    assert set(replay.audit["panels"]["exact_count"]["by_model"]) == {*NAMES, "bracket"}

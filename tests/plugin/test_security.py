"""A whole run on a model that means harm: what it writes is nothing but text in any log, file or page."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.loopback import Answer, completion, error
from tests.plugin.harness import grid
from tests.plugin.test_names import windows_faults

if TYPE_CHECKING:
    from tests.loopback import LoopbackServer, Received, Reply
    from tests.plugin.harness import Project

EVIL = (
    "=cmd|' /C calc'!A0 \x1b]0;owned\x07\x1b[2J \u202etxt.exe ]]> <script>alert(1)</script> "
    "<img src=x onerror=alert(1)> {{ 7*7 }} {% raw %} ${7*7} [a](javascript:alert(1)) | ` \x00 \u2028"
    "\n::error::owned\n##[add-path]/tmp/evil\n##vso[task.setvariable variable=a]b\n]]>\n# Heading"
)
"""One output with everything that something somewhere obeys."""
COMMANDS = re.compile(r"(?m)^\s*::|##[A-Za-z]*\[")
SECRET = "do-not-tell-anyone-7f3a"


def script(request: Received, n: int) -> Reply:
    del n
    if "Do not" in str(request.prompt):
        return Answer(error(f"\n::error::{EVIL}"), status=400)
    return completion(EVIL, model=f"m {EVIL}")


@pytest.fixture
def hostile(project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch):
    """A run on such a model, in what looks like a CI job."""
    server.script = script
    monkeypatch.setenv("WISE_TEST_SECRET", SECRET)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH"):
        monkeypatch.setenv(name, str(project.path / name))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("CI", "true")
    return project.run(
        *("--model", f"m={server.base_url}", *grid(2), "--record-mode=once", "--junit-xml=j.xml"),
        *("-v", "-rA", "--wise-strict"),
    )


def test_nothing_that_a_model_writes_is_more_than_text(project: Project, hostile):
    assert hostile.status == 1
    assert {row["status"] for row in hostile.rows} == {"ok", "error"}
    assert next(row["text"] for row in hostile.rows if row["text"]) == EVIL  # kept whole, in ASCII

    # The log: no command to a CI service, no escape sequence, no character that turns text round.
    assert COMMANDS.search(hostile.text) is None, COMMANDS.search(hostile.text)
    assert not set(hostile.text) & {"\x1b", "\x07", "\x00", "\u202e", "\u2028"}

    # The files that a CI job's steps are led by.
    assert not {"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH"} & {path.name for path in project.path.iterdir()}
    summary = (project.path / "GITHUB_STEP_SUMMARY").read_text("utf-8")
    markdown = (hostile.folder / "audit.md").read_text("utf-8")
    for text in (summary, markdown):
        assert "<script" not in text
        assert "<img" not in text
        assert re.search(r"(?<!\\)\]\(javascript:", text) is None
        assert "\n# Heading" not in text
        assert not set(text) & {"\x1b", "\x00", "\u202e", "\u2028"}

    # XML is well-formed, and a page has no element of the model's making.
    assert ET.parse(project.path / "j.xml").getroot().tag == "testsuites"
    for path in hostile.folder.glob("figures/*.svg"):
        assert {tag.tag.rpartition("}")[2] for tag in ET.parse(path).iter()}.isdisjoint({"script", "img"})
    page = (hostile.folder / "audit.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert page.count("<script") == 2  # the rows, and what shows them
    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "{{ 7*7 }}" in page  # and not 49
    assert not set(page) & {"\x1b", "\x00", "\u202e", "\u2028"}

    # No cell of a table begins as a formula.
    for path in hostile.folder.glob("tables/*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.reader(stream):
                assert not [cell for cell in row if re.match(r"[=@\t\r]|[+-](?![\d.])", cell)], path

    assert json.loads((hostile.folder / "audit.json").read_text("ascii"))["schema"] == "wise.audit/1"


def test_no_file_holds_what_the_environment_holds(project: Project, hostile):
    files = [path for path in project.path.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert hostile.status == 1
    assert SECRET not in hostile.text
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_commands_print_such_outputs_as_text(project: Project, server: LoopbackServer, hostile):
    assert hostile.status == 1
    for arguments in (
        ("probe", f"m={server.base_url}"),
        ("audit", "reports/latest", "--min-mean", "99"),
        ("compare", str(hostile.folder), str(hostile.folder)),
        ("cassettes", "check", "--cells"),
    ):
        run = project.wise(*arguments)
        assert "Traceback" not in run.text
        assert COMMANDS.search(run.text) is None, run.text
        assert not set(run.text) & {"\x1b", "\x07", "\x00", "\u202e", "\u2028"}


def test_every_file_of_a_run_may_be_copied_to_windows(project: Project, hostile):
    assert hostile.status == 1
    exported = project.wise("cassettes", "export", "exported")
    assert exported.status == 0
    names = project.files()
    assert any(name.startswith("exported/") for name in names)
    assert any("/tables/" in name for name in names)
    assert any("/figures/" in name for name in names)
    assert windows_faults(names) == {}

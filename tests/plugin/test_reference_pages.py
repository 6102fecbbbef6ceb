"""The reference pages say what the code says: what is made of it is fresh, and what is written is whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.plugin.harness import grid
from tests.plugin.test_documentation import PAGES, ROOT, code, table
from wise_pytest.audit.rules import read_gate_table
from wise_pytest.endpoints.registry import load_registry
from wise_pytest.options import GATE_OPTIONS, OPTIONS
from wise_pytest.panels.catalog import bundled_panels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.loopback import LoopbackServer
    from tests.plugin.harness import Project

HOW = "write them again with: python docs/build.py"


def build(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "docs" / "build.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)


def test_no_page_and_no_picture_is_stale():
    done = build(ROOT, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_page_is_named_with_what_to_do_and_mended(tmp_path: Path):
    for folder in ("docs", "reports/sample"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    page, picture = tmp_path / "docs" / "options.md", tmp_path / "docs" / "figure.svg"
    was, drawn = page.read_text("utf-8"), picture.read_bytes()
    page.write_text(was.replace("`--wise-max-gap=20`", "`--wise-max-gap=21`"), "utf-8")
    picture.write_bytes(drawn.replace(b"AVOID1", b"AVOID9"))
    done = build(tmp_path, "--check")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["docs/options.md is stale", "docs/figure.svg is stale", HOW]
    assert build(tmp_path).returncode == 0
    assert (page.read_text("utf-8"), picture.read_bytes()) == (was, drawn)


def section(page: str, heading: str) -> str:
    """The text under one heading, up to the next of its level or above."""
    level = len(heading.split(maxsplit=1)[0])
    rest = page.partition(f"{heading}\n")[2]
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def option_examples() -> list[str]:
    page = PAGES["options"]
    parts = (section(page, "## The command line and the ini file"), section(page, "## The gate"))
    return [
        f"--{example.removeprefix('--')}"
        for part in parts
        for row in table(part, "Option", "Value", "Takes", "Example")
        for example in code(row[3])
    ]


def prepared(project: Project) -> None:
    """What the examples of options lead to."""
    project.write("openings.txt", "# of ours\nHere is\n")
    shutil.copy(ROOT / "reports" / "sample" / "audit.json", project.path / "baseline.jsonl")


@pytest.mark.parametrize("way", ["command line", "ini file"])
def test_every_example_of_an_option_is_accepted(project: Project, way: str):
    examples = option_examples()
    assert [example.partition("=")[0] for example in examples] == [
        option.flag for gate in (False, True) for option in OPTIONS if (option.name in GATE_OPTIONS) is gate
    ]
    prepared(project)
    also = ["--model", "gpt-4o-mini"]  # so that there is a model to leave out
    if way == "ini file":
        options = {option.flag: option for option in OPTIONS}
        lines = ["[tool.pytest.ini_options]"]
        for flag, _, value in (example.partition("=") for example in examples):
            option = options[flag]
            values = [value, *also[1:]] if option.name == "model" else [value]
            taken = {"switch": True, "list": values, "value": value}[option.kind]
            lines.append(f"{option.dest} = {json.dumps(taken)}")
        also = []
        project.write("pyproject.toml", "\n".join(lines))
        examples = []
    run = project.run(*examples, *also, "--collect-only", "-q", "-p", "no:xdist")
    assert run.status == 0, run.text
    assert "2 tests collected" in run.text or "test_panel.py" in run.text


def test_every_example_of_a_models_field_is_accepted():
    part = section(PAGES["options"], "### A model")
    lines = [example for row in table(part, "Field", "Takes", "Example") for example in code(row[2])]
    registry = load_registry({"mine": tomllib.loads("\n".join(lines))})
    assert registry["mine"].api_model == "acme/large-2"
    assert (
        len(lines) == len(table(part, "Field", "Takes", "Example")) - 1
    )  # weights take a table of their own


def test_every_example_of_a_rule_is_accepted():
    part = section(PAGES["options"], "### The gate's rules")
    rows = [(code(row[0])[0], row[1], code(row[2])[0]) for row in table(part, "Key", "Of", "Example")]
    panel, model = "exact_count", "gpt-4.1-mini"

    def lines(scope: str) -> list[str]:
        return [example for _, scopes, example in rows if scope in scopes.split(", ")]

    text = [
        *lines("all"),
        f"[panels.{panel}]",
        *lines("a panel"),
        f"[models.{json.dumps(model)}]",
        *lines("a model"),
        f"[models.{json.dumps(model)}.panels.{panel}]",
        *lines("a model in a panel"),
    ]
    found = read_gate_table(tomllib.loads("\n".join(text)), where="page", panels=[panel], models=[model])
    assert found.mode == "confident"
    assert len(found.everywhere) == len(rows) - 1
    assert len(found.scoped) == 3


GROUPS: Mapping[str, Mapping[str, str]] = {
    "### The document": {
        "run": "### The run",
        "panels.*": "### A panel",
        "cross": "### Panels side by side",
        "gate": "### The verdict",
        "comparison": "### The comparison",
    },
    "### A panel": {
        "summary": "### A summary",
        "forms.*": "### A form",
        "ranking.*": "### A ranking",
        "by_model.*": "### A model",
        "all_models": "### A panel",
        "targets.*": "### A target",
        "examples": "### Examples",
        "bootstrap": "### The bootstrap",
        "published": "### Published rates",
    },
    "### A model": {"summary": "### A summary", "forms.*": "### A form", "targets.*": "### A target"},
    "### A form": {"surface": "### The surface"},
    "### A target": {"forms.*": "### A target"},
    "### The bootstrap": {"sensitivity.*": "### The bootstrap"},
    "### Panels side by side": {"panels.*": "### Panels side by side"},
    "### The comparison": {"pairs.*": "### A pair of runs"},
}
"""Which objects of the document are described under a heading of their own."""
ALSO: Mapping[str, set[str]] = {
    "### Panels side by side": {"summary", "forms", "reference", "scheme", "roles"},
    "### The bootstrap": {"forms"},
}
"""Of an object inside another of the same heading: what that heading tells in a sentence."""


def described(heading: str) -> set[str]:
    rows = table(section(PAGES["files"], heading), "Key", "Holds")
    return {name for row in rows for name in code(row[0])}


def undescribed(value: Any, heading: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    known = described(heading) | ALSO.get(heading, set())
    for key, member in value.items():
        if key not in known:
            yield f"{heading}: {key}"
        inner = GROUPS.get(heading, {})
        if key in inner:
            yield from undescribed(member, inner[key])
        elif f"{key}.*" in inner:
            for one in member.values() if isinstance(member, dict) else member or ():
                yield from undescribed(one, inner[f"{key}.*"])


def test_every_key_of_an_audit_is_described(
    project: Project, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
):
    """Of the sample report, and of a run with a baseline, a published model, and no compliance at all."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-is-sent-to-nobody")
    models = ("--model", "gpt-4.1-mini", "--model", f"mine={server.base_url}", "-p", "no:xdist")
    first = project.run(*models, *grid(), "--record-mode=once")
    second = project.run(*models, *grid(), "--wise-baseline", str(first.folder))
    sample = json.loads((ROOT / "reports" / "sample" / "audit.json").read_text("ascii"))
    found = [undescribed(document, "### The document") for document in (sample, first.audit, second.audit)]
    assert sorted(set().union(*found)) == []
    manifest = json.loads((second.folder / "manifest.json").read_text("ascii"))
    assert set(manifest) == {
        name
        for row in table(section(PAGES["files"], "## The manifest"), "Key", "Holds")
        for name in code(row[0])
    }


def test_every_key_that_is_described_is_one_of_the_code():
    sources = "".join(path.read_text("utf-8") for path in sorted((ROOT / "wise_pytest").rglob("*.py")))
    headings = re.findall(r"^### .+$", section(PAGES["files"], "## The audit"), re.MULTILINE)
    assert len(headings) == 16
    for heading in headings:
        for key in described(heading):
            stem = re.sub(r"(_ci|_reason)$", "", key)
            assert f'"{key}"' in sources or f'"{stem}"' in sources, f"{heading}: {key}"


def test_the_keys_of_a_pack_are_those_of_a_bundled_one():
    page = section(PAGES["files"], "## Recordings")
    with (ROOT / "cassettes/exact_count/smollm2-135m-instruct.jsonl").open(encoding="ascii") as stream:
        header, recording = json.loads(next(stream)), json.loads(next(stream))
    for first, record in (("First line", header), ("Every other line", recording)):
        rows = table(page, first, "Holds")
        assert {name for row in rows for name in code(row[0])} == set(record)
    (sessions,) = (row for row in table(page, "First line") if row[0] == "`sessions`")
    assert code(sessions[1]) == list(header["sessions"][0])


def test_every_panel_and_form_is_on_its_page():
    for name, panel in bundled_panels().items():
        part = section(PAGES["panels"], f"### {name}")
        assert {code(row[0])[0]: code(row[1])[0] for row in table(part, "Form", "Wording")} == {
            form.form_id: form.template for form in panel.forms
        }

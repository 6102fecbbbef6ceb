"""What cannot be done is said in one line, before anything runs or is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.plugin.harness import MODES, PANEL_TEST, Project, Recorded, grid
from tests.recordings import digest

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://127.0.0.1:9/v1"
MODEL = ["--model", f"m={URL}"]

OPTIONS = {
    "unknown model": (
        ["--model", "gpt-4.1-mimi"],
        ["gpt-4.1-mimi", "did you mean 'gpt-4.1-mini'?", "known: "],
    ),
    "glob without match": (["--model", "nothing-*"], ["nothing-*", "known models", "smollm2"]),
    "base url without version": (["--model", "m=http://127.0.0.1:9"], ["http://127.0.0.1:9/v1"]),
    "url without name": (["--model", URL], ["NAME="]),
    "one model at two addresses": ([*MODEL, "--model", f"m={URL}/v1"], ["two addresses"]),
    "name like a glob": (["--model", f"[x]={URL}"], ["[x]", "api_model"]),
    "unknown panel": (
        [*MODEL, "--wise-panel", "exact_cuont"],
        ["exact_cuont", "exact_count", "length_range"],
    ),
    "unknown form": ([*MODEL, "--wise-form", "POSITIVE"], ["POSITIVE", "AVOID1"]),
    "form of another panel": (
        [*MODEL, "--wise-panel", "exact_count", "--wise-form", "EXCLUDE1"],
        ["EXCLUDE1", "exact_count", "AVOID2"],
    ),
    "unknown item": ([*MODEL, "--wise-items", "i001,i999"], ["i999"]),
    "no items": ([*MODEL, "--wise-items", "0"], ["from 1 to 100"]),
    "too many items": ([*MODEL, "--wise-items", "101"], ["from 1 to 100"]),
    "no repetitions": ([*MODEL, "--wise-repetitions", "0"], ["--wise-repetitions", "from 1", "'0'"]),
    "threshold no number": ([*MODEL, "--wise-max-gap", "abc"], ["--wise-max-gap", "from 0 to 100", "'abc'"]),
    "threshold not a number": ([*MODEL, "--wise-max-gap", "nan"], ["--wise-max-gap", "'nan'"]),
    "threshold out of range": ([*MODEL, "--wise-min-tau", "1.5"], ["--wise-min-tau", "-1 to 1", "'1.5'"]),
    "threshold infinite": ([*MODEL, "--wise-min-coverage", "inf"], ["--wise-min-coverage", "'inf'"]),
    "unknown report": ([*MODEL, "--wise-report", "pdf"], ["pdf", "markdown", "json", "csv"]),
    "excluded stranger": ([*MODEL, "--wise-exclude", "x"], ["'x'", "m"]),
    "a file of recordings": (
        [*MODEL, "--wise-cassettes", "test_panel.py"],
        ["--wise-cassettes", "test_panel.py is a file"],
    ),
    "the same, to record into": (
        [*MODEL, "--wise-cassettes", "test_panel.py", "--record-mode=once"],
        ["--wise-cassettes", "test_panel.py is a file"],
    ),
    "no pytest-recording": (["-p", "no:recording", *MODEL], ["pytest-recording", "-p no:recording"]),
    "weights of another file": (
        ["--model", "smollm2-135m-instruct", "--wise-note", "weights_sha256=abc"],
        ["--wise-note", "weights_sha256=abc", "smollm2-135m-instruct"],
    ),
    "bad note": ([*MODEL, "--wise-note", "novalue"], ["KEY=VALUE", "novalue"]),
}


def one_line(text: str) -> str:
    """The only line that is an error."""
    found = [line for line in text.splitlines() if line.startswith("ERROR: ")]
    assert len(found) == 1, text
    return found[0]


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_that_cannot_be_used(project: Project, case: str):
    arguments, parts = OPTIONS[case]
    before = project.files()
    run = project.run(*arguments)
    assert run.status == 4
    line = one_line(run.text)
    assert [part for part in parts if part not in line] == []
    assert project.files() == before


def test_of_a_model_by_address_a_digest_of_weights_is_the_users_own_note(
    project: Project, recorded: Recorded
):
    run = project.run(*recorded.model, *Recorded.GRID, "--wise-note=weights_sha256=abc")
    assert run.status == 0
    assert run.folder is not None
    manifest = json.loads((run.folder / "manifest.json").read_text("ascii"))
    assert manifest["notes"] == {"weights_sha256": "abc"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[tool.wise]\nmax_gap = 5", ["pyproject.toml", "'max_gap'", "default_models, models"]),
        ('[tool.wise]\ndefault_models = "m"', ["pyproject.toml", "default_models", "list"]),
        (
            '[tool.wise.models.x]\nbase_url = "http://127.0.0.1:9/v1"\ntemprature = 1',
            ["x", "temprature", "temperature"],
        ),
        ('[tool.wise.models.x]\nprovider = "p"', ["x", "base_url"]),
        ('[tool.wise.models.x]\nbase_url="http://127.0.0.1:9/v1"\nextra = {max_tokens = 5}', ["max_tokens"]),
        ('[tool.wise.models."a\\u0000b"]\nbase_url = "http://127.0.0.1:9/v1"', ["api_model"]),
        ('[tool.wise]\ndefault_models = ["gone"]', ["gone", "known: "]),
    ],
    ids=[
        "unknown key",
        "no list",
        "unknown field",
        "no address",
        "reserved parameter",
        "NUL",
        "unknown default",
    ],
)
def test_a_setting_that_cannot_be_used(project: Project, text: str, parts: list[str]):
    project.write("pyproject.toml", text)
    before = project.files()
    run = project.run(*([] if "default_models" in text else MODEL))
    assert run.status == 4
    line = one_line(run.text)
    assert [part for part in parts if part not in line] == []
    assert project.files() == before


def cut_a_line(content: bytes) -> bytes:
    return b"".join(content.splitlines(keepends=True)[:-1])


def cut_a_byte(content: bytes) -> bytes:
    return content[:-1]


def change_a_byte(content: bytes) -> bytes:
    """Another letter in the last answer: still valid JSON."""
    head, mark, tail = content.rpartition(rb"\"content\":\"")
    assert mark
    return head + mark + b"Z" + tail[1:]


def other_schema(content: bytes) -> bytes:
    return content.replace(b"wise.cassette/1", b"wise.cassette/9", 1)


def with_carriage_returns(content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


def of_another_model(content: bytes) -> bytes:
    return content.replace(b'"model":"m"', b'"model":"M"', 1)


def swapped(content: bytes) -> bytes:
    """Two recordings in each other's place, with a digest that somebody has mended."""
    header, first, second, *rest = content.splitlines(keepends=True)
    body = b"".join([first, first, *rest])
    assert second != first
    record = json.loads(header)
    record["sha256"] = digest(record, body)
    return json.dumps(record, separators=(",", ":")).encode() + b"\n" + body


DAMAGES = [
    (cut_a_line, "is cut"),
    (cut_a_byte, "is cut"),
    (change_a_byte, "was changed"),
    (other_schema, "wise.cassette/9"),
    (with_carriage_returns, "converted to CRLF"),
    (of_another_model, "'M'"),
    (swapped, "a second recording"),
    (lambda _: b"", "is empty"),
    (lambda _: b"[]\n", "no cassette header"),
    (lambda _: b"\xff\xfe\n", "no cassette header"),
]


@pytest.mark.parametrize(
    ("damage", "said"), DAMAGES, ids=[said.replace("'", "") + f" {n}" for n, (_, said) in enumerate(DAMAGES)]
)
def test_a_damaged_recording_ends_the_run_before_it_starts(
    project: Project, recorded: Recorded, damage: Callable[[bytes], bytes], said: str
):
    pack = project.path / "cassettes/exact_count/m.jsonl"
    pack.write_bytes(damage(pack.read_bytes()))
    before = project.files()
    run = project.run(*recorded.model, *grid())
    assert run.status == 4
    line = one_line(run.text)
    assert "cassettes/exact_count/m.jsonl" in line
    assert said in line
    assert "record" in line
    assert project.files() == before


def test_a_run_that_cannot_start_leaves_no_books(project: Project, monkeypatch: pytest.MonkeyPatch):
    project.write("taken", "a file, no folder")
    (project.path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(project.path / "temporary"))
    before = project.files()
    run = project.run(*MODEL, *grid(), "--record-mode=once", "--wise-out", "taken", "-n", "2")
    assert run.status == 4
    assert project.files() == before
    assert list((project.path / "temporary").glob("wise-*")) == []


def test_a_report_folder_that_cannot_be_written(project: Project, recorded: Recorded):
    project.write("taken", "a file, no folder")
    before = project.files()
    for options in (
        ("--wise-out", "taken"),
        ("--wise-out", "taken/deeper"),
        ("--wise-out", "taken", "-n", "2"),
    ):
        run = project.run(*recorded.model, *grid(), *options)
        assert run.status == 4
        line = one_line(run.text)
        assert "taken" in line
        assert "--wise-out" in line
        assert project.files() == before
        assert (project.path / "taken").read_text("utf-8") == "a file, no folder"


def test_a_recordings_folder_that_cannot_be_written(project: Project):
    project.write("cassettes", "a file, no folder")
    before = project.files()
    run = project.run(*MODEL, *grid(), "--record-mode=once")
    assert run.status == 4
    assert "cassettes" in one_line(run.text)
    assert project.files() == before


@pytest.mark.parametrize("asked", [(), ("--wise-max-gap", "20"), ("-o", "wise_max_gap=20")])
def test_without_a_model_a_panels_test_is_an_error_that_names_the_option(
    project: Project, mode: tuple[str, ...], asked: tuple[str, ...]
):
    """The other tests of a repository are not to be stopped by one file."""
    project.write("test_other.py", "def test_other(): pass\n")
    before = project.files()
    run = project.run(*mode, *asked)
    assert run.status == 1
    assert run.counts == {"error": 1, "passed": 1}
    assert "no model is chosen: pass --model NAME" in run.flat
    assert "wise_pytest/plugin.py" not in run.text
    assert "site-packages" not in run.text
    assert project.files() == before


def test_without_a_model_there_is_no_plan(project: Project, mode: tuple[str, ...]):
    run = project.run("--wise-plan", *mode)
    assert run.status == 4
    assert "--wise-plan: no model is chosen: pass --model NAME" in one_line(run.text)


def test_a_panels_test_without_the_fixture_never_passes(project: Project):
    project.write("test_x.py", "import pytest\n\n@pytest.mark.wise('exact_count')\ndef test_it(): pass\n")
    run = project.run("test_x.py")
    assert run.status == 2
    assert "a panel's test takes the fixture 'wise' as an argument" in run.flat


MARKERS = {
    "no id": ("@pytest.mark.wise\ndef test_a(wise): pass", ["@pytest.mark.wise", "'exact_count'"]),
    "two ids": ('@pytest.mark.wise("a", "b")\ndef test_a(wise): pass', ["@pytest.mark.wise", "one panel"]),
    "unknown panel": (
        '@pytest.mark.wise("exact_cuont")\ndef test_a(wise): pass',
        ["unknown panel 'exact_cuont'", "did you mean 'exact_count'"],
    ),
    "no fixture": ('@pytest.mark.wise("exact_count")\ndef test_a(): pass', ["fixture 'wise'"]),
    "one panel twice": (
        PANEL_TEST.partition("\n\n")[2] + '@pytest.mark.wise("exact_count")\ndef test_b(wise): pass',
        ["two tests ask for the same cells (exact_count, m)"],
    ),
}


@pytest.mark.parametrize(
    ("case", "mode"),
    [
        *((case, MODES["plain"]) for case in MARKERS),
        *((case, MODES["two-workers"]) for case in ("unknown panel", "one panel twice")),
    ],
    ids=[*MARKERS, "unknown panel, two workers", "one panel twice, two workers"],
)
def test_a_marker_that_cannot_be_used(project: Project, recorded: Recorded, case: str, mode: tuple[str, ...]):
    code, parts = MARKERS[case]
    project.write("test_panel.py", f"import pytest\n\n{code}\n")
    before = project.files()
    run = project.run(*recorded.model, *grid(), *mode)
    assert run.status == 4
    assert [part for part in parts if part not in run.flat] == []
    assert "wise_pytest/plugin.py" not in run.text
    assert project.files() == before


def test_the_fixture_without_the_marker_says_so(project: Project, recorded: Recorded):
    project.write("test_panel.py", "def test_a(wise):\n    wise.ask()\n")
    run = project.run(*recorded.model)
    assert run.status == 1
    assert "@pytest.mark.wise" in run.flat
    assert run.folder is None

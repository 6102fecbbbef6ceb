"""What SECURITY.md claims and no other test holds: of files, replies and outputs that mean harm."""

from __future__ import annotations

import ast
import functools
import gzip
import os
import re
import resource
import time
import zlib
from pathlib import Path

import pytest

from tests.loopback import Answer, LoopbackServer
from tests.recordings import pack_bytes, recording, write
from wise_pytest.audit.baseline import read_baseline
from wise_pytest.audit.ratings import read_ratings
from wise_pytest.audit.rows import read_rows
from wise_pytest.audit.texts import default_openings, opening_finder
from wise_pytest.cassettes.pack import MAX_PACK_BYTES, read_pack
from wise_pytest.cassettes.store import CassetteStore, pack_parts
from wise_pytest.endpoints.messages import one_line
from wise_pytest.endpoints.model import HttpRequest
from wise_pytest.endpoints.protocols import PROTOCOLS
from wise_pytest.errors import CassetteError, OptionError, PanelError, RowsError
from wise_pytest.files import read_limited
from wise_pytest.panels.catalog import bundled_panel, bundled_panels, read_catalog
from wise_pytest.panels.cells import plan_cells
from wise_pytest.panels.loader import load_panel
from wise_pytest.panels.manifest import MAX_TABLE_BYTES, load_items
from wise_pytest.panels.starter import starter_files
from wise_pytest.quoting import defuse
from wise_pytest.report.text import escape_markdown, visible
from wise_pytest.settings import read_tool_table
from wise_pytest.transport.policy import Policy
from wise_pytest.transport.wire import Wire, WireError
from wise_pytest.verifiers import get_verifier

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "wise_pytest"
MODULES = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
RUN_PROGRAMS = {"commands/running.py", "local/server.py", "local/weights.py"}
"""Modules that start a process: pytest, the model server, and pip for its weights."""
LENGTH = 200_000
HOSTILE = {
    "open brackets": "[" * LENGTH,
    "citations that never end": "[a" * (LENGTH // 2),
    "blanks": " " * LENGTH,
    "fences": "```\n" * (LENGTH // 4),
    "ticks": "`" * LENGTH,
    "nested JSON": '{"a":' * (LENGTH // 5),
    "one word": "a" * LENGTH,
    "accents": "a" + "\u0301" * LENGTH,
    "thoughts": "<think>" * (LENGTH // 7),
    "keys": "sk-" * (LENGTH // 3),
    "line ends": "\r\n" * (LENGTH // 2),
    "escapes": "\x1b[" * (LENGTH // 2),
}
QUICK_S = 5.0  # of the processor, whatever else runs
"""Anything that takes the square of the length takes minutes."""


def new_panel(folder: Path) -> Path:
    """The files of a panel of one's own, with items and a function."""
    for name, text in starter_files("mine").items():
        write(folder / name, text.encode())
    return folder / "panels" / "mine.toml"


def sparse(path: Path, size: int) -> Path:
    """A file of that size that takes no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(size)
    return path


@pytest.fixture(scope="module", autouse=True)
def _trees_go():
    """A tree is a hundred thousand objects, which every collection of later tests would go through."""
    yield
    tree_of.cache_clear()


@functools.cache
def tree_of(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text("utf-8"))


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


# Nothing that is read is run. test_layers forbids pickle, yaml.load, eval, exec, compile and shells


def test_no_module_unpacks_archives_or_makes_templates_of_data():
    forbidden = {"extract", "extractall", "unpack_archive", "from_string", "mktemp", "execv", "system"}
    for module in MODULES:
        tree = tree_of(module)
        names = {ast.unparse(call.func).rpartition(".")[2] for call in calls(tree)}
        assert names.isdisjoint(forbidden), module
        lines = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import)}
        assert "import yaml" not in lines, module
        assert module in RUN_PROGRAMS or "import subprocess" not in lines, module


def test_programs_are_started_by_lists_of_arguments():
    started = [
        call
        for module in RUN_PROGRAMS
        for call in calls(tree_of(module))
        if ast.unparse(call.func) in {"subprocess.run", "subprocess.Popen"}
    ]
    assert len(started) == 4
    for call in started:
        assert isinstance(call.args[0], ast.List | ast.Name | ast.Attribute), ast.unparse(call)
        assert "shell" not in {keyword.arg for keyword in call.keywords}


def test_pages_are_made_of_the_packages_templates_only_and_escape_everything():
    environments = [
        (module, call)
        for module in MODULES
        for call in calls(tree_of(module))
        if ast.unparse(call.func) == "Environment"
    ]
    ((module, call),) = environments
    settings = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    assert module == "report/html/page.py"
    assert settings["autoescape"] == "True"
    assert settings["loader"] == "FileSystemLoader(_TEMPLATES)"
    for path in (PACKAGE / "report/html/templates").glob("*.j2"):
        assert re.search(r"\|\s*safe|autoescape", path.read_text("utf-8")) is None


def test_a_wording_is_filled_in_by_name_and_not_formatted(tmp_path: Path):
    panel = new_panel(tmp_path)
    text = panel.read_text("utf-8")
    for evil in ("{target.__class__}", "{0}", "{n!r}", "{n:>9999999999}", "{target[0]}"):
        form = re.sub(r"(?m)^POS = .*", f"POS = 'Say {evil} and {{ending}}'", text)
        assert form != text
        panel.write_text(form, "utf-8")
        with pytest.raises(PanelError, match=r"mine\.toml: key 'forms\.POS'"):
            load_panel(panel, ())


# Files that are too large


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (lambda path: read_pack(sparse(path, MAX_PACK_BYTES + 1), panel="p", model="m"), CassetteError),
        (lambda path: load_panel(sparse(path, 100_000_000), ()), PanelError),
        (lambda path: load_items(sparse(path, MAX_TABLE_BYTES + 1)), PanelError),
        (lambda path: read_tool_table(sparse(path, 100_000_000)), OptionError),
        (lambda path: read_ratings(sparse(path, 200_000_000)), RowsError),
        (lambda path: read_rows([sparse(path, 101_000_000)]), RowsError),
        (lambda _: read_rows(["/dev/zero"]), RowsError),
    ],
    ids=["pack", "panel", "items", "pyproject", "ratings", "line of a row", "device"],
)
def test_a_file_that_is_too_large_is_refused_in_words(tmp_path: Path, read, error):
    with pytest.raises(error, match=r"is (larger|longer) than [0-9,]+ bytes"):
        read(tmp_path / "file")


def test_no_more_is_read_of_a_device_than_the_limit():
    with pytest.raises(OSError, match="is larger than 1,000 bytes"):
        read_limited(Path("/dev/zero"), 1000)


def test_a_file_of_just_the_limit_is_read(tmp_path: Path):
    write(tmp_path / "file", b"x" * 1000)
    assert read_limited(tmp_path / "file", 1000) == b"x" * 1000


# Files that are nested too deeply


DEEP = "[" * 200_000


@pytest.mark.parametrize(
    ("read", "content", "error"),
    [
        (lambda path: load_panel(path, ()), f"a = {DEEP}", PanelError),
        (read_tool_table, f"[tool.wise]\na = {DEEP}", OptionError),
        (lambda path: read_rows([path]), DEEP, RowsError),
        (lambda path: read_baseline(path, {}), f'{{"schema":"wise.baseline/1","a":{DEEP}', RowsError),
        (lambda path: read_pack(path, panel="p", model="m"), f"{DEEP}\n", CassetteError),
    ],
    ids=["panel", "pyproject", "rows", "baseline", "pack"],
)
def test_a_file_that_is_nested_too_deeply_is_refused_in_words(tmp_path: Path, read, content, error):
    write(tmp_path / "file", content.encode())
    with pytest.raises(error, match=r"file"):
        read(tmp_path / "file")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reply_that_is_nested_too_deeply_is_no_answer(protocol: str):
    for status in (200, 500):
        assert PROTOCOLS[protocol].read_reply(status, {}, DEEP.encode()).status == "error"


# Replies that are too large


@pytest.fixture
def wire():
    wire = Wire(Policy(timeout_s=20))
    yield wire
    wire.close()


def asked(wire: Wire, answer: Answer) -> str:
    with LoopbackServer([answer]) as server, pytest.raises(WireError) as caught:
        wire.exchange(HttpRequest("POST", f"{server.base_url}/chat/completions", {}, b"{}"))
    return str(caught.value)


def test_a_gzip_bomb_is_left_at_the_limit(wire: Wire):
    """What it would unpack to is never in memory at once."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(b"\0" * 10_000_000) for _ in range(30)) + packer.flush()
    assert len(bomb) < 400_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = asked(wire, Answer(bomb, headers={"content-encoding": "gzip"}))
    assert said == "the reply is longer than 10000000 bytes"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # kilobytes


@pytest.mark.parametrize("codings", ["gzip, gzip", "gzip,deflate", "identity, gzip, gzip"])
def test_a_reply_that_is_compressed_twice_is_not_unpacked(wire: Wire, codings: str):
    body = gzip.compress(gzip.compress(b"{}"))
    said = asked(wire, Answer(body, headers={"content-encoding": codings}))
    assert said == "the reply is compressed several times over"


# Outputs that are meant to take long


TARGETS = {
    verifier: next(iter(plan_cells(panel, model="m", provider="p"))).target
    for panel in bundled_panels().values()
    for verifier in [panel.verifier]
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_output_takes_a_verifier_long(kind: str):
    started = time.process_time()
    for name, target in TARGETS.items():
        get_verifier(name).verify(HOSTILE[kind], target)
    assert len(TARGETS) == 9
    assert time.process_time() - started < QUICK_S


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_text_takes_long_to_be_read_or_shown(kind: str):
    text = HOSTILE[kind]
    started = time.process_time()
    one_line(text)
    escape_markdown(visible(text))
    opening_finder(default_openings())(text)
    for protocol in PROTOCOLS.values():
        protocol.read_reply(500, {}, text.encode())
    assert time.process_time() - started < 2 * QUICK_S


# Commands to a CI service


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("  ::set-output name=a::b", "  : :set-output name=a::b"),
        ("a\n::warning::x", "a\n: :warning::x"),
        ("x ##[add-path]/tmp", "x # #[add-path]/tmp"),
        ("##vso[task.setvariable variable=a]b", "# #vso[task.setvariable variable=a]b"),
        ("##teamcity[x]", "# #teamcity[x]"),
        ("####[error]", "### #[error]"),
    ],
)
def test_what_a_ci_service_would_obey_is_defused(text: str, shown: str):
    assert defuse(text) == shown


@pytest.mark.parametrize(
    "text", ["test_a.py::test_b[m-i001]", "wise::gate", "## A heading [link]", "a ::b", "1 # 2", "##"]
)
def test_all_other_text_is_left_as_it_is(text: str):
    assert defuse(text) == text


def test_a_providers_message_is_defused_where_it_becomes_a_reason():
    assert one_line("##[error]gone\n::error::x") == "# #[error]gone ::error::x"


# Paths that lead elsewhere


@pytest.mark.parametrize("model", ["../../up", "/etc/passwd", "..", "a/../../b", "C:\\x", "\0", "~root"])
def test_no_name_of_a_model_or_panel_leads_out_of_the_folder(tmp_path: Path, model: str):
    path = CassetteStore(tmp_path).path(model, model)
    assert path.resolve().parent.parent == tmp_path.resolve()


def test_a_recording_that_is_a_link_is_neither_read_nor_written(tmp_path: Path):
    made = recording()
    outside = tmp_path / "outside.jsonl"
    write(outside, pack_bytes(made.to_line(), panel="p", model="m"))
    root = tmp_path / "cassettes"
    (root / "p").mkdir(parents=True)
    (root / "p" / "m.jsonl").symlink_to(outside)
    with pytest.raises(CassetteError, match="leads out of the folder of recordings"):
        CassetteStore(root).pack("p", "m")
    (root / "q").symlink_to(tmp_path)
    with pytest.raises(CassetteError, match="leads out of the folder of recordings"):
        CassetteStore(root).pack("q", "outside")


def test_what_a_run_has_left_is_not_packed_through_a_link(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside / "m.s1-main-1.part.jsonl", b"")
    root = tmp_path / "cassettes"
    root.mkdir()
    (root / "p").symlink_to(outside)
    with pytest.raises(CassetteError, match="leads out of the folder of recordings"):
        pack_parts(root)
    assert (outside / "m.s1-main-1.part.jsonl").exists()


def test_a_whole_folder_of_recordings_may_be_a_link(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "cassettes").symlink_to(tmp_path / "disk")
    assert len(CassetteStore(tmp_path / "cassettes").pack("p", "m")) == 0


@pytest.mark.parametrize("way", ["../elsewhere", "absolute", "link"])
@pytest.mark.parametrize("what", ["items", "function"])
def test_a_panel_names_files_of_its_own_folder_only(tmp_path: Path, way: str, what: str):
    panel = new_panel(tmp_path / "project")
    text = panel.read_text("utf-8")
    old = re.search(rf'(?m)^{what} = "([^":]+)', text)
    assert old is not None, text
    source = panel.parent / old[1]
    moved = tmp_path / f"elsewhere{source.suffix}"
    moved.write_bytes(source.read_bytes())
    if way == "link":
        source.unlink()
        source.symlink_to(moved)
    else:
        place = f"../../{moved.name}" if way == "../elsewhere" else str(moved)
        panel.write_text(text.replace(f'"{old[1]}', f'"{place}'), "utf-8")
    with pytest.raises(PanelError, match="leads out of the panel's folder"):
        load_panel(panel, bundled_panel("exact_count").items)


def test_an_id_of_a_panel_is_no_path(tmp_path: Path):
    with pytest.raises(PanelError):
        read_catalog(tmp_path, None).panel("../../etc/passwd")


def test_file_modes_are_those_of_the_user(tmp_path: Path):
    from wise_pytest.files import write_whole

    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "x", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


# The document


def test_every_test_that_the_document_names_is_there():
    named = set(re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text("utf-8")))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []

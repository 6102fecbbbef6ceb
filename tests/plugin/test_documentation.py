"""What the documents say is what the program does.

Each document is followed as a reader would: its files are written, its commands
run in a copy of the repository, its pasted output is compared with the real
one. A block of a kind that nothing here can check fails, and so does a table
that is no longer what the code says.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import yaml

from tests.loopback import LoopbackServer, completion
from tests.plugin.harness import FOREIGN_VARIABLES, UNRELATED_PLUGINS, Project
from wise_pytest import cli, records, running
from wise_pytest.endpoints.registry import load_registry
from wise_pytest.manifest import MANIFEST
from wise_pytest.options import GATE_OPTIONS, OPTIONS
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.panels.loader import bundled_items
from wise_pytest.records import JOURNAL
from wise_pytest.report.kinds import DEFAULT_NAMES
from wise_pytest.verifiers.registry import VERIFIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.loopback import Received, Reply

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
DOCUMENTS = (
    "README.md",
    *(f"docs/{name}.md" for name in PAGES),
    "cassettes/README.md",
    "test_panels/README.md",
    "reports/README.md",
    "CHANGELOG.md",
)
README = (ROOT / "README.md").read_text("utf-8")
URL = "http://127.0.0.1:8000/v1"
"""The server that the documents assume. Another one takes its place: something may really listen there."""
WORKER_ADDRESS = "127.0.0.1:8888"
ANY_LINES = "…"
SMALLER = ("--wise-items", "4")
"""Added to a command whose output is not shown: what it does is the same on a smaller grid."""
RATINGS = """\
item,form,target,annotator,exact_n,clarity,naturalness,ambiguity,complexity
POS-5,POS,5,A1,1,5,5,1,1
POS-5,POS,5,A2,1,5,4,1,2
AVOID1-5,AVOID1,5,A1,1,3,2,3,4
AVOID1-5,AVOID1,5,A2,0,2,2,4,4
"""
"""The human judgments that a reader is said to have."""
REGISTRY = load_registry()
BUNDLED = {name: endpoint for name, endpoint in REGISTRY.items() if endpoint.bundled}
FILES = {"python": "#", "toml": "#", "yaml": "#"}
"""Kinds of block that are files, named by their first line, and how that line begins."""


@dataclass(frozen=True)
class Block:
    where: str
    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    where: str
    text: str
    output: tuple[str, ...]


def blocks_of(document: str) -> Iterator[Block]:
    opened: tuple[int, str] | None = None
    lines: list[str] = []
    for number, line in enumerate((ROOT / document).read_text("utf-8").splitlines(), start=1):
        fence = re.fullmatch(r"\s*(```|~~~)(.*)", line)
        if fence is None:
            lines.append(line)
        elif opened is None:
            opened, lines = (number, fence[2].strip()), []
        else:
            yield Block(f"{document}:{opened[0]}", opened[1], tuple(lines))
            opened = None
    assert opened is None, f"{document}:{opened} is never closed"


BLOCKS = {document: list(blocks_of(document)) for document in DOCUMENTS}


def commands_of(block: Block) -> Iterator[Command]:
    text, output = "", []
    for line in block.lines:
        if line.startswith("$ "):
            if text:
                yield Command(block.where, text, tuple(output))
            text, output = line.removeprefix("$ "), []
        else:
            assert text, f"{block.where}: output without a command"
            output.append(line)
    yield Command(block.where, text, tuple(output))


def comparable(line: str) -> str:
    """A line without what differs from run to run: the run's identifier and how long it took."""
    line = re.sub(r"\b\d{8}T\d{6}Z-[0-9a-f]{6}\b", "RUN", line.rstrip())
    line = re.sub(r" in [\d.]+s( \([\d:]+\))?", " in TIME", line)
    return re.sub(r"^=+ (.+) =+$", r"== \1 ==", line)  # as wide as the time leaves room for


def fits(shown: tuple[str, ...], real: str) -> bool:
    """Whether the output shown is the real one; ``…`` alone on a line stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == ANY_LINES else re.escape(comparable(line)) + r"\n" for line in shown
    )
    text = "".join(f"{comparable(line)}\n" for line in real.splitlines())
    return re.fullmatch(pattern, text) is not None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def exactly_right(request: Received, n: int) -> Reply:
    """An answer with as many words as were asked for, or with the ending that a plain wording asks for."""
    del n
    numbers = re.findall(r"\d+", str(request.prompt))
    if not numbers:
        asked = re.search(r' End your answer with "(.+)"', str(request.prompt))
        return completion("So it is." if asked is None else f"So it is. {asked[1]}")
    return completion(" ".join(["word"] * int(numbers[-1])))


class Reader:
    """Follows one document from the folder it is in, a page from the root, in a copy of the repository."""

    def __init__(self, root: Path, document: str, server: LoopbackServer) -> None:
        self.root = root
        self.folders = [root if document.startswith("docs/") else (root / document).parent]
        self.server = server
        self.worker_port = free_port()
        self.status = 0
        self.environ = {
            name: value for name, value in os.environ.items() if not FOREIGN_VARIABLES.match(name)
        } | {"COLUMNS": "80", "OPENAI_BASE_URL": server.base_url}
        self.has_output = {
            command.text
            for block in BLOCKS[document]
            if block.kind == "console"
            for command in commands_of(block)
            if command.output
        }
        self._started: list[subprocess.Popen[str]] = []
        self._known: dict[str, Callable[[list[str]], str]] = {
            "cd": self._cd,
            "echo": self._echo,
            "export": self._export,
            "grep": self._program,
            "head": self._program,
            "mkdir": self._program,
            "pip": self._pip,
            "python": self._python,
            "wise": self._wise,
        }

    @property
    def folder(self) -> Path:
        return self.folders[-1]

    def follow(self, block: Block) -> None:
        if block.kind == "console":
            for command in commands_of(block):
                self.run(command)
        else:
            self._write(block)
            if block.kind == "yaml":
                self._run_job(block)

    def run(self, command: Command) -> None:
        if not command.output and command.text in self.has_output:
            return  # it is shown again with its output, and run there
        assert self.status == 0 or command.text == "echo $?", (
            f"{command.where}: the command before it has ended with {self.status}"
        )
        real = ""
        for part in self._here(self._with_digests(command.text)).split(" && "):
            words = shlex.split(part)
            if words[0] == "pytest":
                real = self._pytest(words[1:], shown=bool(command.output))
            else:
                assert words[0] in self._known, f"{command.where}: nothing here can check {words[0]!r}"
                real = self._known[words[0]](words)
            if self.status:
                break
        assert not command.output or fits(command.output, real), f"{command.where}: real output:\n{real}"
        assert command.output or self.status == 0, f"{command.where}: {command.text}\n{real}"

    def end(self) -> None:
        assert self.status == 0

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()

    def _write(self, block: Block) -> None:
        mark = FILES[block.kind]
        name = block.lines[0].removeprefix(f"{mark} ")
        assert re.fullmatch(r"[\w./-]+\.(py|toml|yml)", name), f"{block.where}: the first line names no file"
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(block.lines).replace(URL, self.server.base_url) + "\n", "utf-8")

    def _run_job(self, block: Block) -> None:
        """The steps of a CI job; its gate is held against the rows that a run of this document has left."""
        (job,) = yaml.safe_load("\n".join(block.lines))["jobs"].values()
        for step in job["steps"]:
            assert set(step) <= {"uses", "with", "run"}, step
            words = shlex.split(step.get("run", "pip install -e ."))
            if words[0] != "pytest":
                self._known[words[0]](words)
                continue
            repository = self.folders.index(self.root)
            self.folders.append(self.folders[repository])
            self._pytest([*words[1:], "--collect-only", "-q"], shown=False)
            assert self.status == 0, block.where
            limits = [
                part
                for option, value in zip(words, [*words[1:], ""], strict=True)
                if option.removeprefix("--wise-") in GATE_OPTIONS
                for part in (option.replace("--wise-", "--"), value)
            ]
            assert limits, f"{block.where}: a job without a threshold"
            said = self._wise(["wise", "audit", "reports/latest", *limits])
            assert self.status == 0, f"{block.where}: {said}"
            self.folders.pop()

    def _here(self, text: str) -> str:
        """The command with this folder, and with a free port in the place of the one that is shown."""
        text = text.replace("$PWD", str(self.folder))
        return text.replace(WORKER_ADDRESS, f"127.0.0.1:{self.worker_port}")

    def _with_digests(self, text: str) -> str:
        """The weights are not in the repository; their digest is in the registry."""

        def digest(found: re.Match[str]) -> str:
            (weights,) = (
                endpoint.weights
                for endpoint in BUNDLED.values()
                if endpoint.weights and endpoint.weights["file"] == found[1]
            )
            return weights["sha256"]

        return re.sub(r"\$\(sha256sum (\S+) \| cut -d' ' -f1\)", digest, text)

    def _pytest(self, words: list[str], *, shown: bool) -> str:
        if words == ["tests"]:
            assert Path(__file__).is_relative_to(ROOT / "tests")
            return ""
        live = any(word.startswith("--record-mode") for word in words)
        words = [word.replace(URL, self.server.base_url) for word in words]
        if live:
            words = [f"{word}={self.server.base_url}" if word in BUNDLED else word for word in words]
            assert not any(pattern in word for word in words for pattern in ("*", ":8000")), (
                "it might reach a real server"
            )
        if not shown and "--wise-items" not in words:
            words += SMALLER
        asked = self.server.n_requests
        unrelated = (part for name in UNRELATED_PLUGINS for part in ("-p", f"no:{name}"))
        text = self._execute([sys.executable, "-m", "pytest", *unrelated, *words])
        assert (self.server.n_requests > asked) == live, text
        return text

    def _wise(self, words: list[str]) -> str:
        start = "from wise_pytest.cli import main; raise SystemExit(main())"
        # A shell fills in what a star stands for.
        filled = (
            part
            for word in words[1:]
            for part in (sorted(map(str, self.folder.glob(word))) if "/*" in word else [word])
        )
        return self._execute([sys.executable, "-c", start, *filled])

    def _program(self, words: list[str]) -> str:
        return self._execute(words)

    def _execute(self, command: list[str]) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            check=False,
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        self.status = done.returncode
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout

    def _cd(self, words: list[str]) -> str:
        (target,) = words[1:]
        self.folders.append(self.folders[-2] if target == "-" else (self.folder / target).resolve())
        assert self.folder.is_dir(), target
        return ""

    def _echo(self, words: list[str]) -> str:
        assert words == ["echo", "$?"]
        status, self.status = self.status, 0
        return f"{status}\n"

    def _export(self, words: list[str]) -> str:
        name, _, _ = words[1].partition("=")
        assert any(name in endpoint.key_env for endpoint in REGISTRY.values()), name
        self.environ[name] = "a-key-that-is-sent-to-nobody"
        return ""

    def _pip(self, words: list[str]) -> str:
        """Nothing is installed: what would be is compared with pyproject.toml."""
        assert words[:3] == ["pip", "install", "-e"], words
        assert (self.root / "pyproject.toml").exists()
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
            "optional-dependencies"
        ]
        assert words[3:] in [["."], *([f".[{name}]"] for name in extras)]
        return ""

    def _python(self, words: list[str]) -> str:
        if words[1] == "-c":
            return self._execute([sys.executable, *words[1:]])
        if words[-1] == "&":
            return self._start([sys.executable, *words[1:-1]])
        return self._server(words)

    def _start(self, command: list[str]) -> str:
        """What goes on while the next commands run, until the end of the document."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._started.append(process)
        assert process.stdout is not None
        return process.stdout.readline()

    def _server(self, words: list[str]) -> str:
        """No model is loaded: what would be is compared with the registry."""
        assert words[:3] == ["python", "-m", "llama_cpp.server"]
        options = dict(zip(words[3::2], words[4::2], strict=True))
        assert set(options) == {"--model", "--model_alias", "--port", "--n_ctx"}
        endpoint = BUNDLED[options["--model_alias"]]
        assert endpoint.weights is not None
        assert options["--model"] == endpoint.weights["file"]
        assert int(options["--port"]) == urlsplit(endpoint.base_url).port
        return ""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_of_a_kind_that_is_checked(document: str):
    for block in BLOCKS[document]:
        assert block.kind in {"console", *FILES}, f"{block.where}: {block.kind!r}"


@pytest.mark.parametrize(
    "document",
    [pytest.param(document, marks=pytest.mark.slow) for document in DOCUMENTS if BLOCKS[document]],
)
def test_a_reader_who_follows_a_document_gets_what_it_shows(document: str, tmp_path: Path):
    root = tmp_path / "wise-pytest"
    for name in ("test_panels", "cassettes", "reports"):
        ignored = shutil.ignore_patterns("*.part.jsonl", ".lock", "2*", "latest", "__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, root)
    with LoopbackServer(exactly_right, models=("loopback", *BUNDLED)) as server:
        reader = Reader(root, document, server)
        (root / "ratings.csv").write_text(RATINGS, "utf-8")
        try:
            for block in BLOCKS[document]:
                reader.follow(block)
            reader.end()
        finally:
            reader.close()


def table(text: str, *header: str) -> list[list[str]]:
    """The rows of the only table with this header, its first cells."""
    lines = text.splitlines()
    (start,) = (
        n
        for n, line in enumerate(lines)
        if line.startswith("|") and cells(line)[: len(header)] == list(header)
    )
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(cells(line))
    return rows


def cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def code(cell: str) -> list[str]:
    """What a cell holds between backticks."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_within_the_repository_lead_somewhere(document: str):
    for link in re.findall(r"\]\(([^)]+)\)", (ROOT / document).read_text("utf-8")):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / document).parent / name if name else ROOT / document
        assert target.is_file(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
        assert not anchor or anchor in set(map(anchor_of, headings)), link


def anchor_of(heading: str) -> str:
    """How GitHub names the place of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def without_parts(page: str) -> str:
    """What of a page is written by hand."""
    return re.sub(r"^<!-- [\w-]+: made by .*?^<!-- end -->$", "", page, flags=re.DOTALL | re.MULTILINE)


def test_every_command_is_told_of_and_no_other():
    told = "\n".join(map(without_parts, PAGES.values()))
    assert set(re.findall(r"`wise ([\w-]+)[^`]*`", told)) == set(subcommands())


def test_every_option_that_a_text_names_exists():
    known = {word for option in OPTIONS for word in (option.flag, "--" + option.name)}
    for parser in subcommands().values():
        known |= options_of(parser)
    helped = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    known |= set(re.findall(r"--[a-z][a-z-]+", helped))
    for document in DOCUMENTS:
        text = re.sub(r"```.*?```", "", (ROOT / document).read_text("utf-8"), flags=re.DOTALL)
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= known, document


def subcommands() -> dict[str, argparse.ArgumentParser]:
    """What ``wise`` can do."""
    (commands,) = (a for a in cli._parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(commands.choices)


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a command and of its own commands."""
    options = {word for action in parser._actions for word in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                options |= options_of(inner)
    return options


def test_the_panels_are_those_of_the_code():
    """The tables are made of it; here is what the text says of all of them."""
    headings = re.findall(r"^### Verifier (\w+)$", PAGES["panels"], re.MULTILINE)
    assert headings == [verifier.verifier_id for verifier in VERIFIERS]
    for panel in bundled_panels().values():
        assert (panel.repetitions, panel.decoding.max_tokens, panel.decoding.temperature) == (3, 120, 0.2)
        assert len(panel.items) == len(bundled_items()) == 100


def test_quoted_wordings_are_forms_of_a_panel():
    panel = bundled_panels()["exact_count"]
    item = next(item for item in panel.items if item.target_words == 8)
    real = {panel.instruction(item, form) for form in panel.forms}
    quoted = {words for words in code(README) if re.search(r"\b8\b.*\.$", words)}
    assert len(quoted) == 2
    assert quoted <= real


def test_statuses_and_outcomes_are_those_of_the_code():
    assert table(PAGES["statuses"], "Status", "Scored") == [
        [f"`{status}`", "yes" if status in records.SCORED_STATUSES else "no", row[2]]
        for status, row in zip(records.STATUSES, table(PAGES["statuses"], "Status"), strict=True)
    ]
    letters = {name: letter for name, letter, _ in running.STATUS_LETTERS.values()}
    written = {row[0]: row[1].strip("`") for row in table(PAGES["statuses"], "Outcome", "Letter")}
    assert written == {"passed": ".", **letters, "skipped": "s"}


def test_exit_codes_are_pytests():
    written = [int(row[0]) for row in table(README, "Exit code")]
    assert written == sorted(map(int, pytest.ExitCode))[: len(written)]  # newer versions of pytest have more
    assert len(written) == 6
    assert table(PAGES["statuses"], "Exit code") == table(README, "Exit code")


def test_the_fields_of_a_row_are_those_of_the_code():
    row = records.Row("p", "m", "v", "i", "f", 1, compliant=True)
    fields = [name for cell, _ in table(PAGES["files"], "Field", "Holds") for name in code(cell)]
    assert sorted(fields) == sorted(json.loads(row.to_json()))
    (usage,) = (names for cell, names in table(PAGES["files"], "Field", "Holds") if cell == "`usage`")
    assert code(usage) == list(json.loads(row.to_json())["usage"])
    needed = next(line for line in PAGES["commands"].splitlines() if "rows of your own making" in line)
    own = dict.fromkeys(code(needed.partition("rows of your own making")[2]), "x")
    records.Row.from_dict({**own, "repetition": 1, "compliant": True}, where="commands.md")
    assert len(own) == 7


def test_the_files_of_a_run_are_those_of_the_code():
    names = [code(cell)[0] for cell, _ in table(PAGES["files"], "`reports/<run>/`")]
    assert sorted(names) == sorted([JOURNAL, MANIFEST, *DEFAULT_NAMES.values()])


def test_the_changelog_begins_with_the_version_of_the_package():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert re.findall(r"^## \[([^\]]+)\]", text, re.MULTILINE)[0] in (version, "Unreleased")


def test_the_models_are_those_of_the_registry():
    described = [
        (provider, name, *code(protocol), tuple(code(key)))
        for provider, names, protocol, key in table(PAGES["live"], "Provider", "Models")
        for name in code(names)
    ]
    assert described == [
        (endpoint.provider, name, endpoint.protocol, endpoint.key_env)
        for name, endpoint in REGISTRY.items()
        if name not in BUNDLED
    ]
    assert [[name] for name in BUNDLED] == [
        code(row[0]) for row in table((ROOT / "cassettes/README.md").read_text("utf-8"), "Model", "File")
    ]
    for name, file, quantization, sha256, source, licence in table(
        (ROOT / "cassettes/README.md").read_text("utf-8"), "Model", "File"
    ):
        assert BUNDLED[code(name)[0]].weights == {
            "file": code(file)[0],
            "quantization": quantization,
            "sha256": code(sha256)[0],
            "source": source,
            "licence": licence,
        }


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_model_has_the_recordings_that_are_promised(name: str):
    """Its header says what the document says of how it was made."""
    with (ROOT / "cassettes/exact_count" / f"{name}.jsonl").open(encoding="ascii") as stream:
        header = json.loads(stream.readline())
    assert header["recordings"] == 1800
    assert f"`{name}`" in README
    for session in header["sessions"]:
        assert session["server"]["version"] == "0.3.36"
        assert session["decoding"] == {"max_tokens": 120, "temperature": 0.2}
        assert session["notes"]["weights_sha256"] == (BUNDLED[name].weights or {})["sha256"]


def test_every_recording_is_made_as_the_document_says():
    """Each of the file in the table, behind one of the two servers; their size and number are those told."""
    told = (ROOT / "cassettes/README.md").read_text("utf-8")
    size, compared = 0, 0
    for path in sorted((ROOT / "cassettes").rglob("*.jsonl")):
        size += path.stat().st_size
        with path.open(encoding="ascii") as stream:
            header = json.loads(stream.readline())
        (panel, model), is_whole = (header["panel"], header["model"]), path.parents[1].name == "cassettes"
        in_english = not panel.endswith(("_de", "_es"))
        compared += header["recordings"] * (is_whole and in_english and model != "gemma-3-270m")
        own_server = panel == "exact_count" or model == "gemma-3-270m"
        for session in header["sessions"]:
            assert session["decoding"] == {"max_tokens": 120, "temperature": 0.2}, path
            assert session["notes"]["weights_sha256"] == (BUNDLED[model].weights or {})["sha256"], path
            options = session["notes"].get("server_options", "")
            pattern = r".*llama-server of llama-cpp-python 0\.3\.36, -np (4|6|8|16|32|64|128), -t 1"
            assert own_server or re.fullmatch(pattern, options), path
    assert f"are {round(size / 1e6)} MB of text" in told
    assert f"of its models, {compared:,} cells in" in told


@pytest.mark.slow
def test_a_record_mode_does_what_its_row_says(project: Project, server: LoopbackServer):
    """Three cells for each mode: recorded; never recorded; and recorded under another name of the model."""
    cells_of_a_row = (("same", "i001"), ("same", "i002"), ("changed", "i001"))
    entry = '[tool.wise.models.{name}]\nbase_url = "{url}"\napi_model = "{sent}"\n'

    def run(*options: str, sent: str) -> dict[tuple[str, str], tuple[str, str | None]]:
        entries = [entry.format(name="same", url=server.base_url, sent="first")]
        entries.append(entry.format(name="changed", url=server.base_url, sent=sent))
        project.write("pyproject.toml", "".join(entries))
        names = ("--model=same", "--model=changed", "--wise-form=POS", "--wise-repetitions=1")
        rows = project.run(*names, "-p", "no:xdist", *options).rows
        return {(row["model"], row["item"]): (row["status"], row["text"]) for row in rows}

    before = run("--wise-items=1", "--record-mode=once", sent="first")
    shutil.copytree(project.path / "cassettes", project.path / "before")
    rows = table(PAGES["live"], "`--record-mode`")
    assert [code(mode)[0] for mode, *_ in rows] == ["none", "once", "new_episodes", "all", "rewrite"]
    for mode, *said in rows:
        shutil.rmtree(project.path / "cassettes")
        shutil.copytree(project.path / "before", project.path / "cassettes")
        n_asked = server.n_requests
        after = run("--wise-items=2", f"--record-mode={code(mode)[0]}", sent="second")
        n_asked = server.n_requests - n_asked
        kept = {
            (header["model"], line["item"]): json.loads(line["response"]["body"])
            for header, *lines in project.packs().values()
            for line in lines
        }
        for cell, what in zip(cells_of_a_row, said, strict=True):
            status, text = after[cell]
            if what == "error":
                assert (status, text) == ("error", None), (mode, cell)
                continue
            # The server never gives one answer twice.
            assert (text == before.get(cell, ("", None))[1]) == (what == "replayed"), (mode, cell)
            assert text == kept[cell]["choices"][0]["message"]["content"], (mode, cell)
        # The other model's second item was never recorded either.
        assert n_asked == [*said, said[1]].count("recorded"), mode

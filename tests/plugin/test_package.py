"""What is built and installed: files and metadata of wheel and sdist, and a run without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from tests.plugin.harness import FOREIGN_VARIABLES
from wise_pytest.cassettes.store import CassetteStore

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEMO = ROOT / "wise_pytest" / "demo"
MAX_WHEEL_BYTES = 650_000
"""It is some 570 kB; what is much larger holds something that it should not."""
CONSUMER = '''\
"""What a project that checks its types imports."""

from pathlib import Path

import pytest

from wise_pytest.asking import CellRun
from wise_pytest.audit.frame import read_frame
from wise_pytest.records import Row, Verdict
from wise_pytest.stats.multiplicity import holm
from wise_pytest.verifiers import get_verifier


@pytest.mark.wise("exact_count")
def test_exact_count(wise: CellRun) -> None:
    answer = wise.ask()
    verdict: Verdict | None = wise.score(answer)
    print(verdict)


def verify(text: str, target: int) -> Verdict:
    return Verdict(compliant=len(text) == target, direction="met")


def mean(folder: Path) -> float:
    return float(read_frame(folder)["compliant"].mean())


def first(row: Row) -> str | None:
    return row.text


reveal = (holm, get_verifier("word_count/1").verify("one two", 2).compliant)
'''


@dataclass(frozen=True)
class Built:
    sdist: Path
    wheel: Path
    """Built from the sdist."""
    direct: Path
    """Built from the repository."""


def run(arguments: Sequence[str], *, cwd: Path, timeout: float = 300) -> str:
    environ = {name: value for name, value in os.environ.items() if not FOREIGN_VARIABLES.match(name)}
    done = subprocess.run(
        arguments, cwd=cwd, env=environ, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--no-isolation")
    run([*build, "--outdir", str(out / "both"), str(ROOT)], cwd=out)
    run([*build, "--wheel", "--outdir", str(out / "direct"), str(ROOT)], cwd=out)
    (sdist,) = (out / "both").glob("*.tar.gz")
    (wheel,) = (out / "both").glob("*.whl")
    (direct,) = (out / "direct").glob("*.whl")
    return Built(sdist, wheel, direct)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that has the wheel, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = Path(
        run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], cwd=folder).strip()
    )
    install = ("-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index")
    run([sys.executable, *install, str(built.wheel)], cwd=folder)
    # Nothing that an editable install has put there is followed from here.
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def package_files() -> dict[str, bytes]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "wise_pytest").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


pytestmark = pytest.mark.slow


def test_the_wheel_has_the_files_of_the_package_and_nothing_else(built: Built):
    held = members(built.wheel)
    info = f"wise_pytest-{PROJECT['version']}.dist-info/"
    own = {name: content for name, content in held.items() if not name.startswith(info)}
    assert own == package_files()
    for needed in (
        "py.typed",
        "audit/openings.txt",
        "endpoints/models.toml",
        "panels/items.csv",
        "panels/exact_count.toml",
        "panels/ordering.csv",
        "report/html/templates/page.html.j2",
        "report/html/templates/page.js",
        "report/html/templates/style.css",
        "demo/pytest.ini",
        "demo/cassettes/exact_count/smollm2-135m-instruct.jsonl",
    ):
        assert f"wise_pytest/{needed}" in own
    assert {name.removeprefix(info) for name in held if name.startswith(info)} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
    }
    assert built.wheel.stat().st_size <= MAX_WHEEL_BYTES


def test_the_sdist_builds_the_wheel_that_the_repository_builds(built: Built):
    assert members(built.wheel) == members(built.direct)


def test_the_sdist_has_what_its_tests_need(built: Built):
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        *("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "conftest.py"),
        *("tests/loopback.py", "ci/oldest.txt", "test_panels/test_exact_count.py"),
        "cassettes/exact_count/smollm2-135m-instruct.jsonl",
        "reports/sample/audit.json",
    ):
        assert needed in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".part.jsonl"))]


def test_the_metadata_are_valid_and_those_of_the_project(built: Built):
    (name,) = (name for name in members(built.wheel) if name.endswith("/METADATA"))
    content = members(built.wheel)[name]
    metadata = Metadata.from_email(content, validate=True)
    assert (metadata.name, str(metadata.version)) == (PROJECT["name"], PROJECT["version"])
    assert metadata.description_content_type == "text/markdown"
    assert metadata.license_expression == "MIT"
    assert str(metadata.requires_python) == PROJECT["requires-python"]
    assert set(metadata.provides_extra or ()) == set(PROJECT["optional-dependencies"])
    assert len(BytesParser().parsebytes(content).get_payload()) > 1000


def test_an_empty_folder_and_the_wheel_are_enough_for_a_replay(installed: Path, tmp_path: Path):
    where = run([str(installed), "-c", "import wise_pytest; print(wise_pytest.__file__)"], cwd=tmp_path)
    assert not Path(where.strip()).is_relative_to(ROOT)
    said = run([str(installed.with_name("wise")), "demo", "--out", "here"], cwd=tmp_path)
    assert "9 passed, 171 noncompliant" in said
    assert "10 items asked once are too small to judge a model by" in said
    page = Path(said.splitlines()[-1].removeprefix("open "))
    assert page.parent.parent == tmp_path / "here"
    assert "exact_count" in page.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_the_installed_package_is_the_one_that_runs_in_a_checkout_too(installed: Path, tmp_path: Path):
    said = run([str(installed.with_name("wise")), "demo", "--out", str(tmp_path)], cwd=ROOT)
    assert "9 passed, 171 noncompliant" in said


def test_a_project_that_uses_the_package_passes_strict_type_checks(installed: Path, tmp_path: Path):
    (tmp_path / "test_consumer.py").write_text(CONSUMER)
    check = ("-m", "mypy", "--strict", "--python-executable", str(installed), "test_consumer.py")
    assert "Success" in run([sys.executable, *check], cwd=tmp_path)
    (tmp_path / "test_consumer.py").write_text(CONSUMER + "\nwrong: int = first\n")
    wrong = subprocess.run(
        [sys.executable, *check], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Incompatible types in assignment" in wrong.stdout


def test_the_packages_that_are_asked_for_are_named_once_with_a_lower_bound():
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    bounds: dict[str, set[str]] = {}
    for text in (text for group in groups for text in group):
        (specifier,) = Requirement(text).specifier
        assert specifier.operator == ">=", text
        bounds.setdefault(Requirement(text).name, set()).add(specifier.version)
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}
    oldest = (ROOT / "ci" / "oldest.txt").read_text("utf-8").splitlines()
    pinned = sorted(f"{name}=={version}" for name, (version,) in bounds.items())
    assert [line for line in oldest if not line.startswith("#")] == pinned


# The packaged recordings


def test_the_packaged_recordings_are_lines_of_the_bundled_ones_and_say_so():
    packaged, bundled = CassetteStore(DEMO / "cassettes"), CassetteStore(ROOT / "cassettes")
    packs = list(packaged.packs_of("exact_count"))
    assert len(packs) == 3
    for pack in packs:
        whole = dict(bundled.pack("exact_count", pack.model).lines())
        assert len(pack) == 60
        assert all(whole[key] == line for key, line in pack.lines())
        header = pack.path.read_bytes().partition(b"\n")[0].decode("ascii")
        assert f'"part_of":{{"recordings":{len(whole)},"sha256":"' in header
        assert str(bundled.pack("exact_count", pack.model).sha256) in header

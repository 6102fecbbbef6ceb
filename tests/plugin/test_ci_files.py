"""The ready-made CI: its files fit the schemas of the services, and its steps run as shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.loopback import LoopbackServer
from tests.plugin.harness import UNRELATED_PLUGINS, Recorded

if TYPE_CHECKING:
    from tests.plugin.harness import Project

ROOT = Path(__file__).parents[2]
GITHUB = sorted((ROOT / "ci/github").glob("*.yml"))
GITLAB = ROOT / "ci/gitlab/.gitlab-ci.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
STUB = """#!/bin/sh
echo "{name} $*" >> "$CALLS"
"""


def loaded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


@pytest.mark.neighbours
@pytest.mark.parametrize(
    ("path", "options"),
    [
        *((path, ("vendor.github-workflows",)) for path in GITHUB),
        (GITLAB, ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_a_file_fits_the_schema_of_its_service(path: Path, options: tuple[str, ...]):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.neighbours
def test_the_hook_fits_pre_commit():
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_names_its_place_in_its_first_line():
    for path in (*GITHUB, GITLAB):
        first = path.read_text("utf-8").partition("\n")[0]
        place = first.removeprefix("# ").partition(":")[0]
        assert Path(place).name == path.name


class Shell:
    """Runs steps in a user's repository, with what belongs to the service replaced."""

    def __init__(self, project: Project, recorded: Recorded) -> None:
        self.path = project.path
        self.calls = project.write("calls.txt", "")
        stubs = project.path.parent / f"{project.path.name}-stubs"
        stubs.mkdir()
        for name in ("pip", "gh"):
            (stubs / name).write_text(STUB.format(name=name))
            (stubs / name).chmod(0o755)
        project.write(
            "pyproject.toml",
            '[tool.wise]\ndefault_models = ["m"]\n'
            f'[tool.wise.models.m]\nbase_url = "{recorded.base_url}"\n'
            "[tool.pytest.ini_options]\n"
            'wise_items = "2"\nwise_form = ["POS", "NEG"]\naddopts = "'
            + " ".join(f"-p no:{name}" for name in UNRELATED_PLUGINS)
            + '"\n',
        )
        self.environ = {
            **os.environ,
            "PATH": os.pathsep.join([str(stubs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "CALLS": str(self.calls),
            "MODEL": "m",
            "WISE_MODEL": "m",
            "MAX_COST": "5",
            "GITHUB_RUN_ID": "77",
            "GITHUB_RUN_ATTEMPT": "2",
            "GITHUB_STEP_SUMMARY": str(project.path / "summary.md"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def run(self, script: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.path,
            env={**self.environ, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def steps(self, job: dict[str, Any], **values: str) -> None:
        """Every step that is shell, with expressions filled in; each must succeed."""
        for step in job["steps"]:
            if "run" not in step:
                assert set(step) <= {"uses", "with", "if"}, step
                continue
            script = re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda found: values[found[1]], step["run"])
            done = self.run(script)
            assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


def port_of(recorded: Recorded) -> int:
    """Where the server was when the recording was made."""
    return int(recorded.base_url.split(":")[2].removesuffix("/v1"))


@pytest.fixture
def shell(project: Project, recorded: Recorded) -> Shell:
    return Shell(project, recorded)


@pytest.mark.slow
def test_the_pull_requests_jobs_replay_shards_and_judge_them_together(shell: Shell):
    jobs = loaded(ROOT / "ci/github/wording.yml")["jobs"]
    for shard in jobs["replay"]["strategy"]["matrix"]["shard"]:
        shell.steps(jobs["replay"], **{"matrix.shard": str(shard)})
    assert len(list((shell.path / "rows").glob("*/*/generations.jsonl"))) == 2
    shell.steps(jobs["gate"])
    assert "gate: PASS" in (shell.path / "merged/audit.md").read_text("utf-8").replace(
        "WISE audit – ", "gate: "
    )
    assert (shell.path / "summary.md").read_text("utf-8").count("# WISE audit") >= 1
    # Without one of the shards there is no pass.
    shutil.rmtree(shell.path / "rows/2")
    (audit,) = (step["run"] for step in jobs["gate"]["steps"] if step.get("run", "").startswith("wise audit"))
    done = shell.run(audit)
    assert done.returncode == 1
    assert "shard 2 of 2 missing" in done.stdout


@pytest.mark.slow
def test_the_nightly_job_asks_again_compares_and_proposes(shell: Shell, recorded: Recorded):
    git = "git -c user.name=t -c user.email=t@localhost"
    (shell.path / ".gitignore").write_text("reports/\ncalls.txt\nsummary.md\nbefore.jsonl\nrows/\n")
    prepared = shell.run(
        "git init -q --bare ../origin.git && git init -q -b main . && git remote add origin ../origin.git && "
        f"git add -A && {git} commit -qm first && git push -q origin main"
    )
    assert prepared.returncode == 0, prepared.stderr
    job = loaded(ROOT / "ci/github/wording-nightly.yml")["jobs"]["record"]
    assert any('--wise-max-cost "$MAX_COST"' in step.get("run", "") for step in job["steps"])
    with LoopbackServer(port=port_of(recorded)) as server:
        shell.steps(job)
        assert server.n_requests == 12
    called = shell.calls.read_text()
    # A second run of one day has a branch of its own; the text is one that the service takes.
    assert re.search(r"gh pr create --head recordings-[0-9]{8}-77-2 .*--body-file comment\.md\n", called)
    comment = (shell.path / "comment.md").read_text("utf-8")
    assert comment.startswith("# WISE audit")
    assert "## Since the baseline" in comment
    assert len(comment) <= 65_536
    pushed = shell.run("git --git-dir ../origin.git log --all --format=%s")
    assert pushed.stdout.splitlines()[0] == "New recordings of m"
    assert "## Since the baseline" in (shell.path / "reports/latest/audit.md").read_text("utf-8")


@pytest.mark.slow
def test_the_jobs_of_gitlab_do_the_same(shell: Shell, recorded: Recorded):
    jobs = loaded(GITLAB)
    for index in range(1, jobs["replay"]["parallel"] + 1):
        for line in jobs["replay"]["script"]:
            done = shell.run(line, CI_NODE_INDEX=str(index), CI_NODE_TOTAL=str(jobs["replay"]["parallel"]))
            assert done.returncode == 0, done.stdout + done.stderr
    for line in jobs["gate"]["script"]:
        done = shell.run(line)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "gate: PASS" in done.stdout
    with LoopbackServer(port=port_of(recorded)) as server:
        for line in jobs["nightly"]["script"]:
            done = shell.run(line)
            assert done.returncode == 0, done.stdout + done.stderr
        assert server.n_requests == 12


def test_the_hook_refuses_what_may_not_be_committed(project: Project, recorded: Recorded):
    (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
    assert hook["pass_filenames"] is False
    assert re.search(hook["files"], "cassettes/exact_count/m.jsonl")
    project.write("pyproject.toml", f'[tool.wise.models.m]\nbase_url = "{recorded.base_url}"\n')
    entry = hook["entry"].removeprefix("wise ").split()
    good = project.wise(*entry)
    assert (good.status, "check: PASS" in good.text) == (0, True), good.text
    pack = project.path / "cassettes/exact_count/m.jsonl"
    pack.write_bytes(pack.read_bytes()[:-5])
    broken = project.wise(*entry)
    assert broken.status == 1
    assert "m.jsonl" in broken.text

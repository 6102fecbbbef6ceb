"""A session that knows what the model was before: the comparison, its limits, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.loopback import LoopbackServer, completion
from tests.plugin.harness import SLOW_WITH_WORKERS, Recorded, grid

if TYPE_CHECKING:
    from tests.loopback import Received, Reply
    from tests.plugin.harness import Finished, Project

ROOT = Path(__file__).parents[2]
ITEMS = 14


def exactly(request: Received, n: int) -> Reply:
    """Always as many words as asked for."""
    del n
    return completion(" ".join(["word"] * int(str(request.prompt).rsplit(" words", 1)[0].rsplit(" ", 1)[1])))


def worse_under_neg(request: Received, n: int) -> Reply:
    return completion("no") if "Do not" in str(request.prompt) else exactly(request, n)


@pytest.fixture
def before(project: Project, server: LoopbackServer) -> Finished:
    """A run of a model that always complies; it is saved as baseline.jsonl."""
    server.script = exactly
    run = project.run("--model", f"m={server.base_url}", *grid(ITEMS), "--record-mode=once")
    assert run.status == 0, run.text
    assert run.folder is not None
    saved = project.wise("baseline", "save", str(run.folder))
    assert (saved.status, f"{2 * ITEMS} rows in baseline.jsonl" in saved.text) == (0, True)
    return run


def compared(run: Finished) -> dict[str, str]:
    (pair,) = run.audit["comparison"]["pairs"]
    return {form: change["verdict"] for form, change in pair["forms"].items()}


@SLOW_WITH_WORKERS
def test_a_model_that_got_worse_is_told_and_fails_the_limit(
    project: Project, server: LoopbackServer, before: Finished, mode: tuple[str, ...]
):
    model = ("--model", f"m={server.base_url}", *grid(ITEMS))
    same = project.run(*model, "--wise-baseline", "baseline.jsonl", "--wise-max-form-drop=0", *mode)
    assert same.status == 0, same.text
    assert compared(same) == {"POS": "no change found", "NEG": "no change found"}

    server.script = worse_under_neg
    limits = ("--wise-max-form-drop=20", "--wise-max-gap-increase=20", "--wise-gate=confident")
    for baseline in ("baseline.jsonl", str(before.folder)):
        run = project.run(*model, "--record-mode=all", "--wise-baseline", baseline, *limits, *mode)
        assert run.status == 1
        assert compared(run) == {"POS": "no change found", "NEG": "worse"}
        assert "1 of 2 forms worse" in run.flat
        assert "drop 100.0 [" in run.flat
        failed = [c["metric"] for c in run.audit["gate"]["checks"] if c["status"] == "fail"]
        assert failed == ["gap_increase", "form_drop"]
    # Without a limit of the comparison it is told, and fails nothing.
    told = project.run(*model, "--wise-baseline", "baseline.jsonl", *mode)
    assert told.status == 0
    assert "1 of 2 forms worse" in told.flat


def test_a_new_model_against_the_old_one(project: Project, server: LoopbackServer, before: Finished):
    assert before.status == 0
    server.script = worse_under_neg
    new = ("--model", f"new={server.base_url}", *grid(ITEMS), "--wise-baseline=baseline.jsonl")
    limit = "--wise-max-form-drop=20"
    alone = project.run(*new, "--record-mode=once", limit)
    assert alone.status == 1
    assert "not in the baseline: exact_count, new" in alone.flat
    mapped = project.run(*new, limit, "--wise-baseline-map", "new=m")
    assert mapped.status == 1
    assert "exact_count, new against m: 1 of 2 forms worse" in mapped.flat


def test_another_baseline_is_refused_or_compared_on_the_shared_part(
    project: Project, server: LoopbackServer, before: Finished
):
    assert before.status == 0
    model = ("--model", f"m={server.base_url}", *grid(4), "--wise-baseline=baseline.jsonl")
    refused = project.run(*model, "--wise-max-form-drop=0")
    assert refused.status == 1
    assert refused.gate == "not_evaluated"
    assert "other items: 10 only in the baseline (i005, i006, i007, i008, i009, …)" in refused.flat
    shared = project.run(*model, "--wise-max-form-drop=0", "--wise-baseline-shared")
    assert shared.status == 0, shared.text
    assert shared.audit["comparison"]["pairs"][0]["n_paired"] == 8

    lines = (project.path / "baseline.jsonl").read_text("ascii")
    header = json.loads(lines.partition("\n")[0])
    header["conditions"][0]["decoding"]["temperature"] = 0.7
    project.write("hot.jsonl", json.dumps(header) + "\n" + lines.partition("\n")[2])
    whole = ("--model", f"m={server.base_url}", *grid(ITEMS))
    hot = project.run(*whole, "--wise-baseline=hot.jsonl", "--wise-max-form-drop=0")
    assert hot.status == 1
    assert "other decoding settings: temperature 0.7 before, 0.2 now" in hot.flat


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--wise-baseline=none.jsonl",), "none.jsonl: cannot be read"),
        (("--wise-baseline=test_panel.py",), "test_panel.py:1: is not a JSON object"),
        (("--wise-max-form-drop=5",), "name an earlier run with --wise-baseline FILE"),
        (("--wise-max-gap-increase=5",), "name an earlier run with --wise-baseline FILE"),
        (("--wise-baseline-map=m=x",), "need --wise-baseline FILE"),
        (("--wise-baseline=rows.jsonl", "--wise-baseline-map=m=x"), "has no model 'x'; it has other"),
        (("--wise-baseline=rows.jsonl", "--wise-baseline-map=y=other"), "'y' is not among the models"),
        (("--wise-baseline=rows.jsonl", "--wise-baseline-map=m"), "must be NEW=OLD"),
        (("--wise-gate=sure",), "--wise-gate: must be point or confident, not 'sure'"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error_before_anything_runs(
    project: Project, recorded: Recorded, options: tuple[str, ...], said: str
):
    row = {"panel": "exact_count", "model": "other", "provider": "p", "item": "i001", "form": "POS"}
    project.write("rows.jsonl", json.dumps({**row, "repetition": 1, "compliant": True}) + "\n")
    run = project.run(*recorded.model, *Recorded.GRID, *options)
    assert run.status == 4
    assert said in run.flat
    assert not (project.path / "reports").exists()


def test_rules_of_pyproject_toml_hold_in_a_session_and_in_wise_audit(project: Project, recorded: Recorded):
    project.write(
        "pyproject.toml",
        "[tool.wise.gate]\nmin_mean = 99\nmode = 'point'\n"
        "[tool.wise.gate.panels.exact_count]\nmin_mean = 0\nmax_gap = 0\n"
        f"[tool.wise.models.m]\nbase_url = '{recorded.base_url}'\n"
        "[tool.wise.gate.models.m]\nmax_gap = 100\n",
    )
    run = project.run("--model=m", *Recorded.GRID)
    assert run.status == 0, run.text
    found = {check["metric"]: check["rule"] for check in run.audit["gate"]["checks"]}
    assert found == {"coverage": "everywhere", "gap": "model m", "mean": "panel exact_count"}
    assert run.folder is not None
    again = project.wise("audit", str(run.folder), "--out", "again")
    assert again.status == 0, again.text
    assert json.loads((project.path / "again/audit.json").read_text("ascii"))["gate"] == run.audit["gate"]
    # An option is the rule for all, and more specific rules stay above it.
    assert project.run("--model=m", *Recorded.GRID, "--wise-min-mean=100").status == 0
    assert project.wise("audit", str(run.folder), "--config", "none.toml").status == 2

    project.write("pyproject.toml", "[tool.wise.gate.panels.exactcount]\nmax_gap = 3\n")
    wrong = project.run(*recorded.model, *Recorded.GRID)
    assert wrong.status == 4
    assert "did you mean 'exact_count'?" in wrong.flat


def test_wise_compare_two_runs_and_two_models(project: Project, server: LoopbackServer, before: Finished):
    server.script = worse_under_neg
    new = project.run("--model", f"new={server.base_url}", *grid(ITEMS), "--record-mode=once")
    assert before.folder is not None
    assert new.folder is not None
    old, later = str(before.folder), str(new.folder)
    worse = project.wise("compare", old, later, "--out", "compared")  # one model each: they belong together
    assert worse.status == 0
    assert "from m to new: exact_count: 1 of 2 forms worse" in worse.flat
    made = {path.name for path in (project.path / "compared").rglob("*") if path.is_file()}
    assert made == {"comparison.json", "comparison.md", "changes.csv", "summary_changes.csv", "flips.csv"}
    assert project.wise("compare", old, later, "--fail-if-worse").status == 1
    assert project.wise("compare", "baseline.jsonl", old, "--fail-if-worse").status == 0
    same = project.wise("compare", f"{old}::m", f"{old}::m")
    assert "no change found in 2 forms" in same.flat
    named = project.wise("compare", f"{old}::m", f"{later}::new")
    assert "1 of 2 forms worse" in named.flat
    audit = project.wise("compare", f"{old}/audit.json", later)
    assert audit.status == 0
    assert "no single cells" in audit.flat
    for arguments in (
        (old, f"{old}/audit.json"),
        (f"{old}::m", later),
        (f"{old}::x", f"{later}::new"),
        (old, later, "--map", "new"),
        ("nowhere", later),
    ):
        wrong = project.wise("compare", *arguments)
        assert wrong.status == 2, arguments
        assert "Traceback" not in wrong.text


def test_an_incomplete_run_is_no_baseline(project: Project, recorded: Recorded):
    run = project.run(*recorded.model, *Recorded.GRID, "-k", "pos")
    saved = project.wise("baseline", "save", str(run.folder))
    assert saved.status == 2
    assert "an incomplete run is no baseline (partial: 6 of 12 cells)" in saved.flat
    assert not (project.path / "baseline.jsonl").exists()
    # Nor is it one as it lies there, and no more a shard of a plan.
    shard = project.run(*recorded.model, *Recorded.GRID, "--wise-shard=1/2")
    for lacking, said in (
        (run, "6 of 12 planned cells"),
        (shard, "6 of 12 planned cells: shard 2 of 2 missing"),
    ):
        baseline = f"--wise-baseline={lacking.folder}"
        refused = project.run(*recorded.model, *Recorded.GRID, baseline, "--wise-max-form-drop=100")
        assert (refused.status, refused.gate) == (1, "not_evaluated")
        assert f"the baseline is incomplete: {said}" in refused.flat


@pytest.mark.slow
def test_the_bundled_models_are_compared(project: Project, monkeypatch: pytest.MonkeyPatch):
    """Fewer answers of the larger model comply, and no form alone tells that from chance."""
    monkeypatch.setenv("COLUMNS", "200")
    run = project.run("--model", "qwen2.5*", "--wise-cassettes", str(ROOT / "cassettes"), "--block-network")
    assert run.status == 0, run.text
    small, large = ("qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct")
    compared = project.wise(
        "compare", f"{run.folder}::{small}", f"{run.folder}::{large}", "--out", "compared"
    )
    assert compared.status == 0, compared.text
    (pair,) = json.loads((project.path / "compared/comparison.json").read_text("ascii"))["comparison"][
        "pairs"
    ]
    assert pair["n_paired"] == 1800
    assert all(change["diff"] < 0 for change in pair["forms"].values())
    assert pair["summary"]["mean"]["diff_ci"][1] < 0
    assert [form for form, change in pair["forms"].items() if change["p_raw"] < 0.05] == ["NEG"]
    assert {change["verdict"] for change in pair["forms"].values()} == {"no change found"}
    lost = sum(len(flip["lost"]) for flip in pair["flips"])
    gained = sum(len(flip["gained"]) for flip in pair["flips"])
    assert (lost, gained) == (182, 100)

    itself = project.wise("compare", str(run.folder), str(run.folder), "--fail-if-worse")
    assert itself.status == 0
    assert itself.text.count("no change found in 6 forms") == 2
    assert itself.text.count("0 verdicts lost, 0 gained") == 2

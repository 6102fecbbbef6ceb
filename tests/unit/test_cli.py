"""The command ``wise audit``: what it prints, writes and exits with."""

import json
from pathlib import Path

import pytest

from wise_pytest.cli import main

BASE = {"panel": "exact_count", "model": "m", "provider": "p", "item": "i001", "repetition": 1}


def keep(path: Path, *rows: dict) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")
    return str(path)


def bare(form: str, repetition: int, *, compliant: bool) -> dict:
    return {**BASE, "form": form, "repetition": repetition, "compliant": compliant}


def half_and_all(tmp_path: Path) -> str:
    """POS 2 of 2, NEG 1 of 2: a gap of 50 points."""
    rows = [("POS", 1, True), ("POS", 2, True), ("NEG", 1, True), ("NEG", 2, False)]
    return keep(tmp_path / "rows.jsonl", *(bare(form, n, compliant=hit) for form, n, hit in rows))


def test_a_check_without_an_interval_says_so_where_it_is_listed(tmp_path: Path, capsys):
    assert main(["audit", half_and_all(tmp_path), "--max-gap", "5", "--gate", "confident"]) == 1
    said = capsys.readouterr().out
    assert "gate: NOT EVALUATED" in said
    (line,) = [line for line in said.splitlines() if "gap 50.0 > 5.0" in line]
    assert ": no interval to judge it by: " in line


def test_a_place_where_no_demo_can_be_written_is_named(tmp_path: Path, capsys):
    (tmp_path / "file").write_text("kept")
    assert main(["demo", "--out", str(tmp_path / "file" / "x")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"wise: error: --out: {tmp_path}/file/x: cannot be written: ")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize(("limit", "status"), [("50", 0), ("49.9", 1)])
def test_the_gate_decides_the_exit_code(tmp_path: Path, capsys, limit: str, status: int):
    assert main(["audit", half_and_all(tmp_path), "--max-gap", limit]) == status
    assert ("gate: PASS" in capsys.readouterr().out) is (status == 0)


def test_an_audit_is_written_where_it_is_asked_for(tmp_path: Path):
    rows = half_and_all(tmp_path)
    assert (
        main(["audit", rows, "--out", str(tmp_path / "out"), "--report", f"json:{tmp_path / 'a.json'}"]) == 0
    )
    document = json.loads((tmp_path / "out" / "audit.json").read_text("ascii"))
    assert document["panels"]["exact_count"]["summary"]["gap"] == 0.5
    assert (tmp_path / "a.json").read_text("ascii") == (tmp_path / "out" / "audit.json").read_text("ascii")
    assert (tmp_path / "out" / "audit.md").exists()  # a copy elsewhere takes nothing from the folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report", "pdf"], "--report 'pdf': there is no kind 'pdf'"),
        (["--report", "markdown"], "--report KIND needs a place"),
        (["--max-gap", "much"], "--max-gap: must be a number"),
    ],
)
def test_what_cannot_be_used_is_named_as_it_was_written(
    tmp_path: Path, capsys, arguments: list[str], said: str
):
    assert main(["audit", half_and_all(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_scoring_again_says_what_changed_and_what_it_could_not_reach(tmp_path: Path, capsys):
    scored = {"target": 2, "verifier": "word_count/1", "status": "ok"}
    rows = keep(
        tmp_path / "rows.jsonl",
        {**BASE, "form": "POS", "compliant": True, "text": "two words", **scored},
        {**BASE, "form": "NEG", "compliant": True, "text": "just three words", **scored},
        bare("CNEG", 1, compliant=True),
    )
    main(["audit", rows, "--rescore"])
    printed = capsys.readouterr().out
    assert "scored again: 2 rows, 1 verdicts changed" in printed
    assert "not scored again: 1 rows without text, target or verifier" in printed


def cells(*items: str, model: str = "m", repetitions: int = 3) -> list[dict]:
    """POS and NEG of each item, all compliant."""
    return [
        {**BASE, "model": model, "item": item, "form": form, "repetition": repetition, "compliant": True}
        for item in items
        for form in ("POS", "NEG")
        for repetition in range(1, repetitions + 1)
    ]


def run_folder(folder: Path, rows: list[dict], *models: str, named: tuple[str, ...] = ("m",)) -> str:
    """A run that had planned i001 and i002 for each of ``models``, and what it came to."""
    folder.mkdir()
    keep(folder / "generations.jsonl", *rows)
    plan = {
        "panel": "exact_count",
        "items": ["i001", "i002"],
        "forms": ["POS", "NEG"],
        "repetitions": 3,
    }
    manifest = {
        "schema": "wise.manifest/1",
        "plan": [{**plan, "model": model} for model in models],
        "models": [{"name": name, "explicit": True} for name in named]
        + [{"name": "by-glob", "explicit": False}],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")
    return str(folder)


class TestPlans:
    def test_foreign_rows_make_up_for_no_planned_one(self, tmp_path: Path, capsys):
        run = run_folder(tmp_path / "run", cells("i001"), "m")
        foreign = keep(tmp_path / "foreign.jsonl", *cells("i050"))
        written = tmp_path / "audit.json"
        assert main(["audit", run, foreign, "--report", f"json:{written}"]) == 1
        assert "gate: FAIL" in capsys.readouterr().out
        document = json.loads(written.read_text("ascii"))
        m = document["panels"]["exact_count"]["by_model"]["m"]
        # i001 and i050 of i001, i002 and i050, with two forms and three repetitions each.
        assert (m["n_scored"], m["n_planned"], m["coverage"]) == (12, 18, 12 / 18)
        assert document["run"]["partial"] == "partial: 6 of 12 cells"

    def test_more_of_one_model_makes_up_for_no_other(self, tmp_path: Path, capsys):
        rows = cells("i001", "i002") + cells("i001", model="n")
        run = run_folder(tmp_path / "run", rows, "m", "n")
        foreign = keep(tmp_path / "foreign.jsonl", *cells("i050"))
        assert main(["audit", run, foreign, "--min-coverage", "0", "--max-gap", "100"]) == 1
        assert "gate: NOT EVALUATED: partial: 18 of 24 cells" in capsys.readouterr().out

    def test_a_whole_run_passes_with_more_rows(self, tmp_path: Path, capsys):
        run = run_folder(tmp_path / "run", cells("i001", "i002"), "m")
        foreign = keep(tmp_path / "foreign.jsonl", *cells("i050"))
        assert main(["audit", run, foreign]) == 0
        assert "gate: PASS" in capsys.readouterr().out

    def test_a_model_that_was_named_is_not_passed_over(self, tmp_path: Path):
        run = run_folder(tmp_path / "run", cells("i001", "i002"), "m", named=("m", "zz"))
        written = tmp_path / "audit.json"
        assert main(["audit", run, "--report", f"json:{written}"]) == 1
        gate = json.loads(written.read_text("ascii"))["gate"]
        assert gate["status"] == "not_evaluated"
        reasons = {check["model"]: check["reason"] for check in gate["checks"] if check["status"] != "pass"}
        assert reasons == {"zz": "no panel has a scored row of zz"}
        assert main(["audit", run, "--exclude", "zz"]) == 0

    def test_another_run_may_hold_the_model_that_was_named(self, tmp_path: Path):
        first = run_folder(tmp_path / "a", cells("i001", "i002"), "m", named=("m", "zz"))
        second = run_folder(tmp_path / "b", cells("i001", "i002", model="zz"), "zz", named=("zz",))
        assert main(["audit", first]) == 1
        assert main(["audit", first, second]) == 0

    @pytest.mark.parametrize(
        "plan",
        ["[" * 100_000, '[{"panel": "p", "model": "m", "items": [], "forms": [], "repetitions": 1e999}]'],
        ids=["deep", "endless"],
    )
    def test_a_damaged_manifest_is_one_line(self, tmp_path: Path, capsys, plan: str):
        run = run_folder(tmp_path / "run", cells("i001", "i002"), "m")
        manifest = tmp_path / "run" / "manifest.json"
        manifest.write_text(
            f'{{"schema": "wise.manifest/1", "plan": {plan}, "models": []}}', encoding="ascii"
        )
        assert main(["audit", run]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"wise: error: {manifest}: ")
        assert said.count("\n") == 1

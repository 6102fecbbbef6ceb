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

"""``wise compare``: when it may say that nothing is worse, and what lies beside its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from wise_pytest.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def rows_file(path: Path, *, n_items: int = 12, lost: int = 0) -> str:
    """POS and NEG of each item once; the first ``lost`` items do not comply under NEG."""
    lines = [
        json.dumps(
            {
                "panel": "exact_count",
                "model": "m",
                "provider": "lab",
                "item": f"i{item:03}",
                "form": form,
                "repetition": 1,
                "compliant": not (form == "NEG" and item < lost),
            }
        )
        for item in range(n_items)
        for form in ("POS", "NEG")
    ]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """Two runs, the later one worse under NEG throughout."""
    return rows_file(tmp_path / "a.jsonl"), rows_file(tmp_path / "b.jsonl", lost=12)


def test_a_form_that_is_worse_fails_and_one_that_is_not_passes(pair: tuple[str, str]):
    assert main(["compare", *pair, "--fail-if-worse"]) == 1
    assert main(["compare", pair[0], pair[0], "--fail-if-worse"]) == 0


def test_what_was_not_tested_is_no_pass(tmp_path: Path, pair: tuple[str, str], capsys):
    audit = tmp_path / "audit.json"
    main(["audit", pair[0], "--report", f"json:{audit}"])
    one = [rows_file(tmp_path / f"one{lost}.jsonl", n_items=1, lost=lost) for lost in (0, 1)]
    for arguments, why in (
        ((*pair, "--replicates", "0"), "nothing was resampled"),
        ((str(audit), pair[1]), "which holds no single cells"),
        (tuple(one), "fewer than two items to resample"),
    ):
        assert main(["compare", *arguments]) == 0
        capsys.readouterr()
        assert main(["compare", *arguments, "--fail-if-worse"]) == 2
        said = capsys.readouterr().err
        assert "--fail-if-worse: exact_count, m: POS, NEG could not be tested: " in said
        assert why in said


def test_a_manifest_of_something_else_is_not_read(tmp_path: Path, pair: tuple[str, str]):
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}', encoding="ascii")
    assert main(["compare", *pair]) == 0
    assert main(["audit", pair[0]]) == 0
    assert main(["audit", pair[1], "--baseline", pair[0], "--min-coverage", "0"]) == 0
    baseline = str(tmp_path / "baseline.jsonl")
    assert main(["baseline", "save", pair[0], "--to", baseline]) == 0
    assert main(["audit", pair[1], "--baseline", baseline, "--min-coverage", "0"]) == 0

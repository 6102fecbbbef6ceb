"""``--wise-seed`` and ``--wise-replicates``, and the same options of ``wise audit``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from wise_pytest.cli import main
from wise_pytest.errors import OptionError
from wise_pytest.options import OPTIONS
from wise_pytest.records import Row
from wise_pytest.values import MAX_REPLICATES, MAX_SEED, bootstrap_replicates, bootstrap_seed

if TYPE_CHECKING:
    from pathlib import Path


def test_they_are_options_with_ini_twins():
    found = {option.name: option for option in OPTIONS}
    assert (found["seed"].flag, found["seed"].dest) == ("--wise-seed", "wise_seed")
    assert (found["replicates"].flag, found["replicates"].dest) == ("--wise-replicates", "wise_replicates")


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (bootstrap_seed, None, 0),
        (bootstrap_seed, "0", 0),
        (bootstrap_seed, str(MAX_SEED), MAX_SEED),
        (bootstrap_replicates, None, 2000),
        (bootstrap_replicates, "0", 0),
        (bootstrap_replicates, "500", 500),
        (bootstrap_replicates, str(MAX_REPLICATES), MAX_REPLICATES),
    ],
)
def test_read(read, text, value):
    assert read(text, "--wise-x") == value


@pytest.mark.parametrize("text", ["", "-1", "1.5", "1e3", "many", "٣", "²", "9" * 5000, str(2**63)])
@pytest.mark.parametrize("read", [bootstrap_seed, bootstrap_replicates])
def test_refused(read, text):
    with pytest.raises(OptionError, match="--wise-x: must be a whole number from 0 to "):
        read(text, "--wise-x")


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for item in range(6):
            for form in ("POS", "NEG"):
                row = Row("exact_count", "m", "lab", f"i{item}", form, 1, item % 3 > (form == "NEG"))
                stream.write(row.to_json() + "\n")
    return path


def audited(rows_file, out, *options):
    assert main(["audit", str(rows_file), "--out", str(out), *options]) == 0
    return json.loads((out / "audit.json").read_text(encoding="utf-8"))["panels"]["exact_count"]


def test_wise_audit_takes_them(rows_file, tmp_path, capsys):
    found = audited(rows_file, tmp_path / "a", "--seed", "5", "--replicates", "60")
    assert (found["bootstrap"]["seed"], found["bootstrap"]["replicates"]) == (5, 60)
    assert found["forms"]["NEG"]["n_replicates"] == 60
    assert "bootstrap" not in audited(rows_file, tmp_path / "b", "--replicates", "0")
    default = audited(rows_file, tmp_path / "c")["bootstrap"]
    assert (default["seed"], default["replicates"]) == (0, 2000)
    assert main(["audit", str(rows_file), "--replicates", "few"]) == 2
    assert "--replicates: must be a whole number from 0" in capsys.readouterr().err

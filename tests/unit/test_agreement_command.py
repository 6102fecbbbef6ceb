"""``wise agreement``: the paper's table of judgments, the document, and what it refuses."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction

import pytest

from wise_pytest.audit.ratings import COLUMNS
from wise_pytest.cli import main

# Table 24 of the paper: judgments of exactly N, of five annotators over the four targets of a form.
TABLE_24 = {
    "POS": ("1.00 1.00 1.00 1.00 1.00", 100),
    "AVOID1": ("1.00 0.75 1.00 0.75 1.00", 90),
    "AVOID3": ("1.00 1.00 0.75 1.00 1.00", 95),
    "AVOID4": ("1.00 1.00 0.75 0.75 1.00", 90),
    "EXCLUDE1": ("1.00 0.75 1.00 0.75 1.00", 90),
    "EXCLUDE2": ("1.00 1.00 1.00 1.00 1.00", 100),
}
TARGETS = (5, 8, 10, 12)
TWICE = ("AVOID1", "AVOID4", "EXCLUDE1")
"""Forms that two annotators judge otherwise once each: at one target, or at two."""


def table_24(*, at_one_target: int = 3, seed: int = 1) -> list[str]:
    """Lines that have the printed rates; in so many of the three forms both objections meet in one item."""
    rng = random.Random(seed)
    lines = []
    for form, (printed, _) in TABLE_24.items():
        apart = form in TWICE[at_one_target:]
        rates = [Fraction(rate) for rate in printed.split()]
        objecting = [position for position, rate in enumerate(rates) if rate < 1]
        for place, target in enumerate(TARGETS):
            for position, rate in enumerate(rates):
                where = objecting.index(position) if apart and position in objecting else 0
                yes = rate == 1 or place != where
                scales = (min(5, 1 + place + rng.randint(0, 1)) for _ in range(4))
                lines.append(
                    ",".join(
                        map(str, (f"{form}-{target}", form, target, f"A{position + 1}", int(yes), *scales))
                    )
                )
    return lines


@pytest.fixture
def write(tmp_path):
    def write(lines: list[str]):
        path = tmp_path / "ratings.csv"
        path.write_text("\n".join((",".join(COLUMNS), *lines, "")), encoding="utf-8")
        return path

    return write


@pytest.fixture
def agreement(write, tmp_path):
    """Run the command, and return what it wrote."""

    def agreement(lines: list[str], *options: str) -> dict:
        assert main(["agreement", str(write(lines)), "--out", str(tmp_path / "out"), *options]) == 0
        return json.loads((tmp_path / "out" / "agreement.json").read_bytes())

    return agreement


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_judgments_is_the_published_one(agreement, tmp_path):
    found = agreement(table_24())
    assert list(found["forms"]) == list(TABLE_24)
    report = (tmp_path / "out" / "agreement.md").read_text(encoding="utf-8")
    rows = {cells(line)[0]: cells(line)[1:] for line in reversed(report.splitlines()) if line.startswith("|")}
    for form, (printed, exact) in TABLE_24.items():
        judged = found["forms"][form]["exact_n"]
        assert judged["n"] == 20
        assert judged["n_exact"] == exact * 20 / 100
        assert judged["rate"] == exact / 100
        assert [rate["rate"] for rate in judged["by_annotator"].values()] == list(map(float, printed.split()))
        assert {rate["n"] for rate in judged["by_annotator"].values()} == {4}
        assert rows[form] == [*printed.split(), f"{exact}.0", "20"]
        assert found["forms"][form]["targets"] == list(TARGETS)


@pytest.mark.parametrize("at_one_target", [0, 1, 2, 3])
def test_kappa_of_the_published_rates(agreement, at_one_target):
    # The rates leave open only whether the two objections to a form meet in one item. 7 of 120
    # judgments are no, so chance disagrees at 2 * 7 * 113 / 120^2. Of the ten pairs of annotators four
    # disagree over an item with one no, six over one with two: 0.4 for AVOID3, and 0.6 or 2 * 0.4 for
    # each of the three forms. The table thus allows -0.06, 0.01, 0.09 and 0.17; not the 0.54 of Table 25.
    disagreement = (
        Fraction(4, 10) + at_one_target * Fraction(6, 10) + (3 - at_one_target) * Fraction(8, 10)
    ) / 24
    expected = 1 - disagreement / Fraction(2 * 7 * 113, 120**2)
    found = agreement(table_24(at_one_target=at_one_target))["agreement"]["exact_n"]
    assert found["value"] == pytest.approx(float(expected), abs=1e-12)
    assert found["ci_low"] <= found["value"] <= found["ci_high"]
    assert (found["statistic"], found["n_items"], found["n_annotators"]) == ("fleiss_kappa", 24, 5)


def test_means_of_ratings(agreement):
    # Two annotators and one item of each form; POS has two items.
    found = agreement(
        [
            "i1,POS,5,a,1,1,5,1,3",
            "i1,POS,5,b,1,2,5,2,3",
            "i2,POS,8,a,1,3,5,2,3",
            "i2,POS,8,b,0,4,4,2,3",
            "i3,AVOID,5,a,0,5,1,4,3",
            "i3,AVOID,5,b,0,4,1,5,3",
        ]
    )
    assert list(found["forms"]) == ["POS", "AVOID"]
    assert found["forms"]["POS"]["ratings"] == {
        "clarity": {"mean": 2.5, "n": 4},
        "naturalness": {"mean": 4.75, "n": 4},
        "ambiguity": {"mean": 1.75, "n": 4},
        "complexity": {"mean": 3.0, "n": 4},
    }
    assert found["forms"]["AVOID"]["ratings"]["clarity"] == {"mean": 4.5, "n": 2}
    same = found["agreement"]["complexity"]
    assert (same["value"], same["ci_low"], same["ci_high"]) == (None, None, None)
    assert same["reason"] == "every rating is the same"


def test_the_document(agreement):
    found = agreement(table_24(), "--seed", "7", "--replicates", "100")
    assert found["schema"] == "wise.agreement/1"
    run = found["run"]
    assert (run["seed"], run["n_replicates"]) == (7, 100)
    assert (run["n_items"], run["n_annotators"], run["n_ratings"]) == (24, 5, 120)
    assert run["annotators"] == ["A1", "A2", "A3", "A4", "A5"]
    assert list(found["agreement"]) == ["exact_n", "clarity", "naturalness", "ambiguity", "complexity"]
    for measure in found["agreement"].values():
        assert measure["value"] is not None
        assert measure["ci_low"] <= measure["value"] <= measure["ci_high"]
        assert measure["n_replicates"] == 100
    assert {found["agreement"][scale]["statistic"] for scale in ("clarity", "complexity")} == {"icc_2k"}


def test_the_order_of_lines_changes_no_byte(agreement, tmp_path):
    path = tmp_path / "out" / "agreement.json"
    lines = table_24()
    agreement(lines)
    expected = path.read_bytes()
    agreement(random.Random(9).sample(lines, len(lines)))
    assert path.read_bytes() == expected
    agreement(lines, "--seed", "1")
    assert path.read_bytes() != expected


def test_other_names_of_the_annotators_change_no_figure(agreement):
    lines = table_24()
    renamed = [line.replace(",A1,", ",Zoe,").replace(",A3,", ",Bea,") for line in lines]
    before, after = agreement(lines), agreement(renamed)
    assert before["agreement"] == after["agreement"]
    assert after["run"]["annotators"] == ["A2", "A4", "A5", "Bea", "Zoe"]
    judged = after["forms"]["AVOID3"]["exact_n"]["by_annotator"]
    assert {name: rate["rate"] for name, rate in judged.items() if rate["rate"] < 1} == {"Bea": 0.75}


def test_the_terminal(write, capsys):
    assert main(["agreement", str(write(table_24())), "--replicates", "50"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == (
        "5 annotators rated 24 items (120 judgments a measure); 50 bootstrap replicates over items, seed 0."
    )
    assert "AVOID1    1.00  0.75  1.00  0.75  1.00     90.0  20" in lines
    assert any(line.startswith("Exact-N judgment  Fleiss' kappa      0.17") for line in lines)
    assert max(map(len, lines[1:])) <= 80
    assert "report:" not in out


def test_without_pingouin_the_rest_is_there(agreement, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pingouin", None)
    found = agreement(table_24())["agreement"]
    assert found["exact_n"]["value"] == pytest.approx(0.1656, abs=1e-4)
    assert found["clarity"]["value"] is None
    assert found["clarity"]["reason"] == "ICC(2,k) needs pingouin: pip install 'wise-pytest[agreement]'"
    said = [line for line in capsys.readouterr().out.splitlines() if "pip install" in line]
    assert said == ["(1) ICC(2,k) needs pingouin: pip install 'wise-pytest[agreement]'"]


def test_names_cannot_break_a_table(agreement, tmp_path, capsys):
    lines = [line.replace(",A1,", ",A|1\x1b[31m,").replace("AVOID1", "<b>AVOID1") for line in table_24()]
    agreement(lines)
    report = (tmp_path / "out" / "agreement.md").read_text(encoding="utf-8")
    assert "A&#124;1<U+001B>\\[31m" in report.replace("&lt;U+001B>", "<U+001B>")
    assert "<b>" not in report
    assert "\x1b" not in capsys.readouterr().out


def test_bad_input_is_one_line_and_exit_code_2(write, tmp_path, capsys):
    lines = table_24()
    path = write([*lines[:-1], lines[-1][:-1] + "6"])
    assert main(["agreement", str(path), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err == f"wise: error: {path}:121: column 'complexity' is '6'; expected a whole number from 1 to 5\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--seed", "--replicates"])
@pytest.mark.parametrize("value", ["-1", "1e3", "2.5", "", "٣", "9" * 5000])
def test_options_that_are_no_number(write, capsys, option, value):
    assert main(["agreement", str(write(table_24())), f"{option}={value}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"wise: error: {option}: must be a whole number from 0 to ")
    assert err.count("\n") == 1


def test_without_replicates(agreement, capsys):
    found = agreement(table_24(), "--replicates", "0")["agreement"]["exact_n"]
    assert found["value"] == pytest.approx(0.1656, abs=1e-4)
    assert (found["ci_low"], found["ci_high"]) == (None, None)
    assert found["ci_reason"] == "no bootstrap replicates were asked for"
    assert "(1) no bootstrap replicates were asked for" in capsys.readouterr().out.splitlines()


def test_a_folder_that_cannot_be_written(write, tmp_path, capsys):
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    assert main(["agreement", str(write(table_24())), "--out", str(tmp_path / "taken")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_other_commands_do_not_load_what_this_one_needs():
    code = (
        "import sys, wise_pytest.cli as cli; cli._parser(); "
        "print(sorted({'numpy', 'pandas', 'scipy', 'statsmodels', 'pingouin'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

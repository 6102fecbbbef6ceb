from __future__ import annotations

import json

import pytest

from wise_pytest.cli import main


def rows_file(tmp_path, *, models=("gpt-4.1-mini",), tokens=True, n_items=30, scored=True):
    path = tmp_path / "rows.jsonl"
    lines = []
    for model in models:
        for item in range(n_items):
            for form in ("POS", "NEG"):
                for repetition in (1, 2, 3):
                    row = {
                        "panel": "exact_count",
                        "model": model,
                        "provider": "OpenAI",
                        "item": f"i{item:03}",
                        "form": form,
                        "repetition": repetition,
                        "compliant": (item + repetition) % 2 == 0 if scored else None,
                    }
                    if tokens:
                        row["usage"] = {"input_tokens": 30, "output_tokens": 10}
                    lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n", "ascii")
    return str(path)


def run(capsys, *arguments):
    status = main(["plan-power", "--simulations", "20", "--replicates", "100", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_it_says_how_large_a_run_must_be_and_what_it_costs(tmp_path, capsys):
    path = rows_file(tmp_path)
    status, out, _ = run(capsys, path, "--drop", "30", "--items", "10,100", "--repetitions", "3")
    assert status == 0
    lines = out.splitlines()
    assert "to see a drop of" in lines[0]
    assert "30 points, from 50.0" in lines[0]
    assert "(Holm over 2 forms, p < 0.05)" in lines[0]
    header, small, large, conclusion = lines[3:7]
    assert header.split() == ["items", "repetitions", "requests", "tokens", "USD", "power"]
    # 2 forms × 100 items × 3 repetitions, 40 tokens each; the price is that of the registry.
    assert large.split()[:4] == ["100", "3", "600", "24000"]
    assert float(large.split()[4]) > 0
    assert large.split()[5:] == ["100", "%"]
    assert float(small.split()[5]) < 100
    assert conclusion.startswith("for 80 %: 100 items × 3 repetitions, 600 requests a run, about ")
    assert "prices as of 2" in out


def test_a_gap_is_planned_for_from_the_reference_form(tmp_path, capsys):
    status, out, _ = run(
        capsys, rows_file(tmp_path, tokens=False), "--gap", "25", "--items", "200", "--repetitions", "3"
    )
    assert status == 0
    # Only NEG is held against POS: one test, nothing to correct for.
    assert "to see NEG 25 points below POS, which has 50.0 (Holm over 1 form, p < 0.05)" in out
    assert "–" in out


def test_zeros_before_a_number_change_nothing_and_columns_end_below_one_another(tmp_path, capsys):
    arguments = (rows_file(tmp_path), "--drop", "20", "--repetitions", "1", "--items")
    plain, padded = (run(capsys, *arguments, sizes) for sizes in ("5,10", "00000000005, 010"))
    assert (plain, plain[0]) == (padded, 0)
    grid = plain[1].splitlines()[3:6]
    assert len({len(line) for line in grid}) == 1
    assert [
        line.startswith(start) for line, start in zip(grid, ("items", "    5", "   10"), strict=True)
    ] == [True] * 3


def test_what_is_too_small_is_said(tmp_path, capsys):
    path = rows_file(tmp_path)
    _, out, _ = run(capsys, path, "--drop", "1", "--items", "5", "--repetitions", "1")
    assert "for 80 %: none of these sizes is enough" in out


def test_more_items_than_the_panel_has_are_not_proposed(tmp_path, capsys):
    path = rows_file(tmp_path)
    _, out, _ = run(capsys, path, "--drop", "30", "--items", "400", "--repetitions", "3")
    assert out.splitlines()[4].split()[-2:] == ["100", "%"]
    assert (
        "none of these sizes is enough; try more with --repetitions, or --items up to the panel's 100" in out
    )


def test_equal_seeds_give_equal_plans(tmp_path, capsys):
    arguments = (rows_file(tmp_path), "--drop", "20", "--items", "20,40", "--repetitions", "1", "--seed", "4")
    assert run(capsys, *arguments) == run(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--drop", "0"), "--drop: must be a number above 0"),
        (("--drop", "x"), "--drop: must be a number above 0"),
        (("--drop", "nan"), "--drop: must be a number above 0"),
        (("--drop", "60"), "the recorded rate of"),
        (("--gap", "60"), "the recorded rate of POS is 50.0, and no rate falls below 0"),
        (("--drop", "5", "--power", "100"), "--power: must be a number above 0 and below 100"),
        (("--drop", "5", "--items", "0"), "--items: must be whole numbers from 1"),
        (("--drop", "5", "--items", "5,,6"), "--items: must be whole numbers from 1"),
        (("--drop", "5", "--items", "00000010000000"), "--items: must be whole numbers from 1 to 100000"),
        (("--drop", "5", "--items", "9" * 5000), "--items: must be whole numbers from 1 to 100000"),
        (("--drop", "5", "--simulations", "10,20"), "--simulations: must be a whole number from 1"),
        (("--drop", "5", "--replicates", "10,20"), "--replicates: must be a whole number from 1"),
        (("--drop", "5", "--form", "CNEG"), "--form: 'CNEG' is not among the forms"),
        (("--gap", "5", "--form", "POS"), "--form: 'POS' is not among the forms"),
        (("--drop", "5", "--panel", "x"), "--panel: choose one of exact_count, not 'x'"),
        (("--drop", "5", "--model", "x"), "--model: choose one of gpt-4.1-mini, not 'x'"),
    ],
)
def test_what_cannot_be_planned_is_a_usage_error(tmp_path, capsys, arguments, said):
    status, _, err = run(capsys, rows_file(tmp_path), *arguments)
    assert status == 2
    assert said in err


def test_of_several_models_one_must_be_named(tmp_path, capsys):
    path = rows_file(tmp_path, models=("a", "b"))
    status, _, err = run(capsys, path, "--drop", "5")
    assert (status, "--model: choose one of a, b, not None" in err) == (2, True)
    assert run(capsys, path, "--drop", "5", "--model", "a", "--items", "5", "--repetitions", "1")[0] == 0


def test_rows_without_a_scored_one_are_no_plan(tmp_path, capsys):
    path = rows_file(tmp_path, scored=False)
    status, _, err = run(capsys, path, "--drop", "5")
    assert (status, "has no scored row" in err) == (2, True)

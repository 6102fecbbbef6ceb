"""wise new-panel, wise check-panel and wise review, as they are called."""

import csv
import io

import pytest

from wise_pytest.cli import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_new_panel_is_written_checked_and_found(project, capsys):
    status, out, _ = run(capsys, "new-panel", "mine")
    assert status == 0
    assert out.splitlines() == [
        "wrote panels/mine.toml",
        "wrote panels/mine.csv",
        "wrote panels/mine.py",
        "wrote test_mine.py",
        "wrote pyproject.toml",
        "next: wise check-panel mine",
    ]
    assert (project / "pyproject.toml").read_text() == '[tool.wise]\npanels = ["panels"]\n'
    status, out, _ = run(capsys, "check-panel", "mine", "--strict")
    assert status == 0
    assert "mine: 4 forms, 4 items, verifier mine/1, language en" in out
    assert '  POS: End your answer with "That is all."' in out
    assert "  self-test: 3 of 3 texts are judged as declared" in out
    assert "warning" not in out


def test_nothing_that_is_there_is_written_over(project, capsys):
    (project / "panels").mkdir()
    (project / "panels" / "mine.py").write_text("kept")
    status, out, err = run(capsys, "new-panel", "mine")
    assert (status, out) == (2, "")
    assert "panels/mine.py: is there already" in err
    assert [path.name for path in project.rglob("*") if path.is_file()] == ["mine.py"]
    assert (project / "panels" / "mine.py").read_text() == "kept"


@pytest.mark.parametrize(
    ("settings", "hinted"), [("[tool.other]\n", True), ('[tool.wise]\npanels = ["panels"]\n', False)]
)
def test_settings_that_are_there_are_left_alone(project, capsys, settings, hinted):
    (project / "pyproject.toml").write_text(settings)
    _, out, _ = run(capsys, "new-panel", "mine")
    assert ('to do: add panels = ["panels"] to [tool.wise] in pyproject.toml' in out) == hinted
    assert (project / "pyproject.toml").read_text() == settings
    # Whoever overlooks it is told again.
    status, _, err = run(capsys, "check-panel", "mine")
    assert (status, "panels/mine.toml is there: add panels" in err) == ((2, True) if hinted else (0, False))


def test_a_panel_with_faults_is_said_to_have_them(project, capsys):
    run(capsys, "new-panel", "mine")
    path = project / "panels" / "mine.toml"
    text = path.read_text()
    path.write_text(text.replace("Use no ending except", "Use about no ending except"))
    status, out, _ = run(capsys, "check-panel")
    assert status == 0
    assert "  warning: form EXCLUDE: 'about' asks for less than the verifier demands" in out
    assert run(capsys, "check-panel", "--strict")[0] == 1
    path.write_text(text.replace('fail = ["', 'fail = ["That is all.", "'))
    status, out, _ = run(capsys, "check-panel", str(path))
    assert status == 1
    assert "  self-test: 3 of 4 texts are judged as declared" in out
    assert "  FAILED: fail: 'That is all.' complies (met) with the target 'That is all.'" in out
    path.write_text(text.replace('with "{ending}"', 'with "{endign}"', 1))
    status, _, err = run(capsys, "check-panel", "mine")
    assert status == 2
    assert "key 'forms.POS'" in err
    assert "did you mean '{ending}'" in err


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def verify(text, target):\n    raise ValueError('no')\n", "verifier mine/1 failed: ValueError: no"),
        ("def verify(text, target):\n    return 1\n", "verifier mine/1 must return a bool, not 1"),
        ("def verify(text, target):\n    pass\n", "verifier mine/1 must return a bool, not None"),
        ("def verify(text):\n    return True\n", "verifier mine/1 failed: TypeError: verify() takes 1"),
        ("def verify(text, target):\n    raise SystemExit(3)\n", "verifier mine/1 failed: SystemExit: 3"),
        ("import sys\nsys.exit(3)\n", "panels/mine.py: cannot be loaded: SystemExit: 3"),
    ],
)
def test_a_verifier_that_breaks_is_said_in_one_line(project, capsys, code, said):
    run(capsys, "new-panel", "mine")
    (project / "panels" / "mine.py").write_text(code)
    status, out, err = run(capsys, "check-panel", "mine")
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("wise: error: ")
    assert said in line


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["check-panel"], "there is no panel of your own to check"),
        (["check-panel", "exact_cuont"], "did you mean 'exact_count'"),
        (["check-panel", "none.toml"], "none.toml: cannot be read"),
        (["review", "exact_cuont"], "did you mean 'exact_count'"),
        (["review", "exact_count", "--items", "0"], "--items: must be a whole number from 1"),
        (["review", "exact_count", "--annotators", "two"], "--annotators: must be a whole number from 1"),
        (["review", "exact_count", "--seed", "-1"], "--seed: must be a whole number from 0"),
        (["new-panel", "My Panel"], "a panel's name"),
        (["new-panel", "exact_count"], "is a bundled panel"),
    ],
)
@pytest.mark.usefixtures("project")
def test_what_cannot_be_done_is_said_in_one_line(capsys, arguments, fragment):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert fragment in err


def sheet_of(out):
    return list(csv.DictReader(io.StringIO(out), strict=True))


def test_a_sheet_shows_every_instruction_and_no_form(project, capsys):
    _, out, _ = run(capsys, "review", "exact_count", "--key", "key.csv")
    lines = sheet_of(out)
    # Six forms, the four targets of the first four items, two annotators.
    assert len(lines) == 6 * 4 * 2
    assert {line["annotator"] for line in lines} == {"A1", "A2"}
    key = {line["code"]: line["form"] for line in sheet_of((project / "key.csv").read_text())}
    assert sorted(key.values()) == ["AVOID1", "AVOID2", "CNEG", "NEG", "NEVER", "POS"]
    for name in key.values():
        assert name not in out
    for line in lines:
        assert line["requirement"] == f"The answer has exactly {line['target']} words."
        assert line["target"] in line["instruction"]
        assert (line["exact_n"], line["clarity"], line["complexity"]) == ("", "", "")
    first, second = ([line["item"] for line in lines if line["annotator"] == name] for name in ("A1", "A2"))
    assert sorted(first) == sorted(second) == [f"R{place:02}" for place in range(1, 25)]
    assert first != second
    assert first != sorted(first)
    shown = {line["item"]: line["instruction"] for line in lines if line["annotator"] == "A1"}
    assert shown == {line["item"]: line["instruction"] for line in lines if line["annotator"] == "A2"}


def test_a_key_that_is_there_is_not_written_over(project, capsys):
    (project / "key.csv").write_text("code,form\nF01,NEG\n")
    status, out, err = run(capsys, "review", "exact_count", "--key", "key.csv")
    assert (status, out) == (2, "")
    assert "--key: key.csv is there already" in err
    assert (project / "key.csv").read_text() == "code,form\nF01,NEG\n"


@pytest.mark.usefixtures("project")
def test_a_requirement_of_an_own_verifier_is_in_the_words_of_its_panel(capsys):
    run(capsys, "new-panel", "mine")
    _, out, _ = run(capsys, "review", "mine", "--annotators", "1")
    question = "Does the model end its answer with the given words however this is asked for?"
    assert {line["requirement"] for line in sheet_of(out)} == {
        f"{question} (That is all.)",
        f"{question} (Now you know.)",
    }


@pytest.mark.usefixtures("project")
def test_a_seed_gives_the_same_sheet_and_another_seed_another(capsys):
    same = [run(capsys, "review", "keyword_once", "--seed", "7")[1] for _ in range(2)]
    assert same[0] == same[1]
    assert run(capsys, "review", "keyword_once", "--seed", "8")[1] != same[0]


def test_several_panels_share_a_sheet(project, capsys):
    _, out, _ = run(
        capsys,
        "review",
        "length_range",
        "json_structure",
        "--items",
        "2",
        "--annotators",
        "1",
        "--key",
        "k.csv",
    )
    lines = sheet_of(out)
    # The range has one target for every item, so three instructions; the objects have two items.
    assert len(lines) == 3 + 3 * 2
    assert "json_structure.AVOID" in (project / "k.csv").read_text()
    assert {line["target"] for line in lines} == {"1"}
    assert "The answer has 8 to 12 words, both included." in {line["requirement"] for line in lines}


def test_a_filled_sheet_is_read_back_by_agreement(project, capsys):
    _, out, _ = run(capsys, "review", "exact_count", "--annotators", "3", "--key", "key.csv")
    lines = sheet_of(out)
    for place, line in enumerate(lines):
        line |= {"exact_n": str(int(place % 5 > 0)), "clarity": str(1 + place % 5)}
        line |= {"naturalness": "4", "ambiguity": str(1 + place % 3), "complexity": "2"}
        lines[place] = line
    with (project / "ratings.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    status, out, _ = run(capsys, "agreement", "ratings.csv", "--key", "key.csv", "--replicates", "50")
    assert status == 0
    for name in ("POS", "NEG", "NEVER", "AVOID1", "AVOID2", "CNEG"):
        assert f"{name} " in out
    status, blinded, _ = run(capsys, "agreement", "ratings.csv", "--replicates", "50")
    assert status == 0
    assert "F01" in blinded
    assert "AVOID1" not in blinded


@pytest.mark.parametrize(
    ("key", "fragment"),
    [
        ("code,form\nF01,POS\n", "says nothing of the form 'F02'"),
        ("form,code\nPOS,F01\n", "a key has the columns code, form"),
        ("code,form\nF01\n", "a code and a form on each line"),
        ("code,form\nF01,POS\nF01,NEG\n", "stands for two forms"),
        ("", "a key has the columns"),
    ],
)
def test_a_key_of_another_sheet_is_refused(project, capsys, key, fragment):
    header = "item,form,target,annotator,exact_n,clarity,naturalness,ambiguity,complexity\n"
    rows = "".join(f"R{n},F0{n},5,{who},1,5,5,1,1\n" for n in (1, 2) for who in ("A1", "A2"))
    (project / "ratings.csv").write_text(header + rows)
    (project / "key.csv").write_text(key)
    status, _, err = run(capsys, "agreement", "ratings.csv", "--key", "key.csv")
    assert status == 2
    assert fragment in err

"""wise effects and wise sensitivity, from rows files to what they print and write."""

import json
import random
from xml.etree import ElementTree as ET

import pytest

from wise_pytest.cli import main
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import Row

PANELS = bundled_panels()


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def write_rows(project, rows, name="rows.jsonl"):
    (project / name).write_text("".join(row.to_json() + "\n" for row in rows))
    return name


def rows_of(panel, say, *, models=("a", "b"), n_items=12):
    rng = random.Random(1)
    return [
        Row(
            panel=panel,
            model=model,
            provider=f"p-{model}",
            item=f"i{item:03}",
            form=form.form_id,
            repetition=1,
            compliant=PANELS[panel].scorer().verify(text, 3).compliant,
            text=text,
            target=3,
            verifier="word_count/1",
        )
        for model in models
        for item in range(n_items)
        for form in PANELS[panel].forms
        for text in [say(form, rng)]
    ]


def factorial(form, rng):
    return "one two three" if rng.random() > (0.7 if "avoid" in form.levels else 0.2) else "one"


def test_effects_are_printed_and_written(project, capsys):
    name = write_rows(project, rows_of("factorial_count", factorial))
    status, out, _ = run(capsys, "effects", name, "--out", "out")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "factorial_count: 768 scored generations of 2 models, 12 items"
    assert lines[1].split() == ["Effect", "Points", "Interval", "p", "(Holm)", "a", "b"]
    (avoid,) = (line for line in lines if line.startswith("  avoid − affirm"))
    assert avoid.split()[3].startswith("−")
    assert "< 0.001" in avoid or "<0.001" in avoid
    assert len(lines) == 2 + 18 + 2
    document = json.loads((project / "out" / "effects.json").read_text())
    assert document["panel"] == "factorial_count"
    # The numbers of an audit of the same rows.
    assert run(capsys, "audit", name, "--out", "audit", "--replicates", "20")[0] == 0
    audited = json.loads((project / "audit" / "audit.json").read_text())["panels"]["factorial_count"]
    assert audited["effects"] == {key: value for key, value in document.items() if key != "panel"}
    assert ET.parse(project / "out" / "effects.svg").getroot().tag.endswith("svg")


def test_a_model_can_be_left_out_of_the_pool(project, capsys):
    name = write_rows(project, rows_of("factorial_count", factorial))
    _, out, _ = run(capsys, "effects", name, "--exclude", "a")
    assert out.startswith(
        "factorial_count: 384 scored generations of 1 model, 12 items\nnot pooled: a (excluded by name)\n"
    )


def marked(form, rng):
    del rng
    return "- one two three" if form.form_id == "AVOID1" else "one two three"


def test_sensitivity_is_printed_and_written(project, capsys):
    name = write_rows(project, rows_of("exact_count", marked))
    status, out, _ = run(capsys, "sensitivity", name, "--out", "out", "--replicates", "200")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("exact_count: 144 outputs of a, b\n")
    same = ["AVOID1", "0.0", "−100.0", "[−100.0,", "−100.0],", "no", "width"]
    assert ["strict", *same] in lines
    assert [
        "unwrapped",
        "AVOID1",
        "0.0",
        "−100.0",
        "[−100.0,",
        "−100.0],",
        "no",
        "width",
        "not",
        "tested",
    ] in lines
    (read,) = (line for line in lines if line[:3] == ["Markdown", "removed", "AVOID1"])
    assert read[3] == "100.0"
    assert read[-3:] == ["no", "longer", "clear"]
    assert (
        "Markdown removed: Markdown's marks are removed; 24 outputs read otherwise, 24 comply only so, 0"
        in out
    )
    document = json.loads((project / "out" / "sensitivity.json").read_text())
    assert list(document["exact_count"]["readings"]) == [
        "strict",
        "markdown_removed",
        "unwrapped",
        "answer_body",
        "unicode_words",
        "language_words",
    ]


def test_sensitivity_of_one_panel_of_several(project, capsys):
    rows = rows_of("exact_count", marked, n_items=2)
    both = write_rows(project, rows + rows_of("avoidance_family", marked, n_items=2))
    options = ("--replicates", "200", "--seed", "1")
    _, out, _ = run(capsys, "sensitivity", both, "--panel", "exact_count", *options)
    _, alone, _ = run(capsys, "sensitivity", write_rows(project, rows, "alone.jsonl"), *options)
    _, every, _ = run(capsys, "sensitivity", both, *options)
    assert out == alone
    assert every.count(" outputs of a, b") == 2
    assert "avoidance_family" not in out


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["effects", "rows.jsonl"], "there are no scored rows of factorial_count"),
        (["effects", "rows.jsonl", "--panel", "exact_count"], "exact_count has no factors"),
        (["effects", "rows.jsonl", "--panel", "nowhere"], "unknown panel 'nowhere'"),
        (["effects", "none.jsonl"], "none.jsonl: cannot be read"),
        (["sensitivity", "none.jsonl"], "none.jsonl: cannot be read"),
        (["sensitivity", "rows.jsonl", "--exclude", "c"], "--exclude: 'c' is not among the models: a, b"),
        (["sensitivity", "rows.jsonl", "--seed", "x"], "--seed"),
        (["sensitivity", "rows.jsonl", "--panel", "exact"], "unknown panel 'exact' (known: exact_count)"),
        (["sensitivity", "bare.jsonl"], "no scored rows with texts"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(project, capsys, arguments, fragment):
    write_rows(project, rows_of("exact_count", marked, n_items=1))
    write_rows(project, [Row("exact_count", "a", "p", "i1", "POS", 1, compliant=True)], "bare.jsonl")
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert fragment in err


def test_rows_of_two_languages_are_no_one_audit(project, capsys):
    rows = rows_of("exact_count", marked, n_items=1) + rows_of("exact_count_de", marked, n_items=1)
    name = write_rows(project, rows)
    status, _, err = run(capsys, "audit", name)
    assert status == 2
    assert "one audit holds panels of one language" in err
    assert "en: exact_count; de: exact_count_de" in err

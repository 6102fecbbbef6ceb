"""The published rates are the paper's, reach the report as what they are, and never the gate."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import dump, to_document
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.published import published
from wise_pytest.audit.rules import GateRules, Thresholds
from wise_pytest.cli import main
from wise_pytest.endpoints.registry import load_registry
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.records import Row
from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.html.page import render_page
from wise_pytest.report.markdown import render_markdown
from wise_pytest.stats.rates import Rate

GEMINI = ("gemini-2.5-flash", "gemini-3.1-flash-lite")
SIX = (
    "claude-haiku-4-5",
    "claude-sonnet-4-6",
    "gpt-4o-mini",
    "gpt-4.1-mini",
    "deepseek-chat",
    "mistral-small-latest",
)
"""The six models that the paper's keyword and range panels share, without Gemini."""


def rows_of(model: str, *, panel: str = "exact_count") -> list[Row]:
    """POS 2 of 2 and AVOID1 1 of 2: a mean of 75 %, a worst form of 50 %, a gap of 50 points."""
    verdicts = {("POS", 1): True, ("POS", 2): True, ("AVOID1", 1): True, ("AVOID1", 2): False}
    return [
        Row(panel, model, "OpenAI", "i001", form, repetition, compliant=compliant)
        for (form, repetition), compliant in verdicts.items()
    ]


def document_of(*models: str, panel: str = "exact_count", rules: GateRules | None = None) -> dict:
    rows = [row for model in models for row in rows_of(model, panel=panel)]
    audit = build_audit(rows, replicates=20)
    gate = evaluate_gate(audit, rules or GateRules(), expected_models=[], partial=None)
    return json.loads(dump(to_document(audit, gate)))


@pytest.mark.parametrize(
    ("panel", "model", "rates"),
    [
        ("exact_count", "gpt-4.1-mini", [55.3, 39.0, 39.3, 44.0, 54.3, 60.0]),  # Table 21
        ("exact_count", "qwen3.6-35b-a3b", [26.7, 25.0, 24.3, 16.7, 26.7, 27.0]),  # Table 21
        ("constructional_controls", "claude-opus-4-8", [80.7, 64.3, 35.7, 83.0]),  # Table 17
        ("json_structure", "gpt-4o-mini", [7.0, 28.7, 55.0]),  # Table 18
        ("length_range", "claude-haiku-4-5", [73.7, 54.3, 49.3]),  # Table 19
        ("keyword_once", "gemini-2.5-flash", [23.3, 12.7, 5.0]),  # Table 20
    ],
)
def test_the_rates_are_those_of_the_tables(panel: str, model: str, rates: list[float]):
    found = published().by_panel[panel][model].rates
    assert [float(rate * 100) for rate in found.values()] == rates
    # In the order of the table, which is that of the panel.
    assert list(found) == [form.form_id for form in bundled_panels()[panel].forms]


@pytest.mark.parametrize(
    ("panel", "n_models", "summary"),
    [
        ("exact_count", 11, [49.5, 42.5, 28.9, 21.2]),
        ("constructional_controls", 9, [54.9, 43.4, 33.8, 21.1]),
        ("keyword_once", 6, [77.4, 59.0, 44.3, 33.2]),
        ("length_range", 6, [89.4, 85.3, 80.6, 8.8]),
        ("json_structure", 6, [13.1, 16.6, 13.1, 7.6]),
    ],
)
def test_pooled_they_give_the_papers_own_summary(panel: str, n_models: int, summary: list[float]):
    """Table 11, over the paper's primary models: POS, mean, worst form and gap."""
    models = [m for name, m in published().by_panel[panel].items() if name not in GEMINI]
    assert len(models) == n_models
    # Whole numbers of 300 generations, as the derived figures are made of.
    pooled = [
        sum(Fraction(round(model.rates[form] * 300), 300) for model in models) / n_models
        for form in models[0].rates
    ]
    derived = [pooled[0], sum(pooled) / len(pooled), min(pooled), max(pooled) - min(pooled)]
    assert [round(float(figure * 100), 1) for figure in derived] == summary


def test_derived_gaps_are_those_that_the_paper_prints():
    """Table 19 has a column of gaps; from the rounded rates, that of Haiku would be 24.4."""
    gaps = {
        "claude-haiku-4-5": 24.3,
        "claude-sonnet-4-6": 1.3,
        "gpt-4o-mini": 8.7,
        "gpt-4.1-mini": 4.0,
        "gemini-2.5-flash": 0.7,
        "deepseek-chat": 3.0,
        "mistral-small-latest": 13.0,
    }
    models = published().by_panel["length_range"]
    assert {name: round(float((m.derived.gap or 0) * 100), 1) for name, m in models.items()} == gaps


def test_every_rate_is_one_of_300_generations():
    """So that the rounding leaves no choice of how many complied."""
    for models in published().by_panel.values():
        for model in models.values():
            for rate in model.rates.values():
                counted = Rate(round(rate * 300), 300)
                assert round(counted.value * 100, 1) == float(rate * 100), (model.panel, model.model)


def test_every_model_is_one_that_is_known_by_the_identifier_of_the_paper():
    registry = load_registry()
    for models in published().by_panel.values():
        for name, model in models.items():
            assert registry[name].is_served_by(model.identifier)
    assert len(published().by_panel["exact_count"]) == 13
    assert {*SIX, GEMINI[0]} == set(published().by_panel["keyword_once"])


def test_a_run_of_a_published_model_shows_both_and_says_what_they_are():
    document = document_of("gpt-4.1-mini", "mine")
    part = document["panels"]["exact_count"]["published"]
    assert list(part["by_model"]) == ["gpt-4.1-mini"]
    assert part["by_model"]["gpt-4.1-mini"]["forms"]["AVOID1"] == 0.44
    assert part["by_model"]["gpt-4.1-mini"]["accessed"] == "2026-06-12"
    assert part["by_model"]["gpt-4.1-mini"]["derived"] == {
        "mean": pytest.approx((166 + 117 + 118 + 132 + 163 + 180) / 1800),
        "worst": 0.39,
        "worst_form": "NEG",
        "gap": pytest.approx(0.21),
    }
    markdown = render_markdown(document)
    said = markdown.partition("### Published rates of the same models")[2]
    assert "not directly comparable, and never part of the gate" in said
    assert "Table 21 of When Verifiable Counts Depend on Wording" in said
    assert "GPT-4.1 mini (gpt-4.1-mini), asked on 2026-06-12" in said
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if "|" in line]
    assert ["gpt-4.1-mini", "AVOID1", "50.0", "44.0"] in cells
    assert ["gpt-4.1-mini", "gap (derived)", "50.0", "21.0"] in cells
    assert ["gpt-4.1-mini", "NEG", "–", "39.0"] in [
        [c.split(" (")[0] if c.startswith("–") else c for c in row] for row in cells
    ]
    page = render_page(document)
    assert "Published rates of the same models" in page
    assert "not directly comparable, and never part of the gate" in page
    rows = list(csv.DictReader(render_tables(document)["published.csv"].splitlines()))
    assert {row["form"]: row["published"] for row in rows} == {
        "POS": "0.553",
        "NEG": "0.39",
        "NEVER": "0.393",
        "AVOID1": "0.44",
        "AVOID2": "0.543",
        "CNEG": "0.6",
    }
    assert {row["form"]: row["here"] for row in rows if row["here"]} == {"POS": "1.0", "AVOID1": "0.5"}


@pytest.mark.parametrize(
    ("model", "panel"),
    [("mine", "exact_count"), ("gpt-4.1-mini", "ordering"), ("GPT-4.1 mini", "exact_count")],
)
def test_where_nothing_is_published_the_report_does_not_speak_of_it(model: str, panel: str):
    document = document_of(model, panel=panel)
    assert "published" not in document["panels"][panel]
    assert "Published" not in render_markdown(document)
    assert "published.csv" not in render_tables(document)


def test_the_gate_does_not_know_of_published_rates():
    """The published gap is 21 points, the run's own 50."""
    rules = GateRules(everywhere=Thresholds(max_gap=Fraction(30, 100)))
    gate = document_of("gpt-4.1-mini", rules=rules)["gate"]
    assert gate["status"] == "fail"
    assert "published" not in json.dumps(gate).lower()


def test_the_command_prints_what_is_asked_for(capsys):
    assert main(["reference", "--panel", "exact_count", "--model", "gpt-4.1-mini"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "not directly comparable, and never part of the gate" in lines[1]
    (row,) = (line.split() for line in lines if line.startswith("gpt-4.1-mini"))
    assert row == [
        "gpt-4.1-mini",
        "55.3",
        "39.0",
        "39.3",
        "44.0",
        "54.3",
        "60.0",
        "48.7",
        "39.0",
        "(NEG)",
        "21.0",
        "2026-06-12",
    ]

    assert main(["reference", "--model", "Qwen/Qwen3.6-35B-A3B", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["exact_count"]
    assert document["exact_count"]["by_model"]["qwen3.6-35b-a3b"]["forms"]["AVOID1"] == 0.167


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--panel", "avoidance_family"], "unknown panel 'avoidance_family'"),
        (["--model", "smollm2-135m-instruct"], "nothing is published of smollm2-135m-instruct"),
        (["--model", "gpt5"], "unknown model 'gpt5'"),
    ],
)
def test_what_is_not_published_is_an_error_that_says_so(capsys, arguments: list[str], said: str):
    assert main(["reference", *arguments]) == 2
    assert said in capsys.readouterr().err

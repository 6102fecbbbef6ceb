"""The paper's pooled tables, recomputed from its model tables through the real audit.

Every cell of a model table is 300 generations, so its printed percentage times
three is a whole number of compliant ones.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.records import Row

DATA = Path(__file__).parent / "data" / "paper_model_rates.csv"
GEMINI = ("Gemini 2.5 Flash", "Gemini 3.1 Flash Lite")
N_ITEMS, N_REPETITIONS = 100, 3


def model_rates() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


@pytest.fixture(scope="module")
def document():
    items = [f"item-{number:03}" for number in range(N_ITEMS)]
    rows = []
    for record in model_rates():
        n_compliant = round(Fraction(record["compliance_pct"]) * 3)
        for cell in range(N_ITEMS * N_REPETITIONS):
            repetition, item = divmod(cell, N_ITEMS)
            rows.append(
                Row(
                    panel=record["panel"],
                    model=record["model"],
                    provider=record["provider"],
                    item=items[item],
                    form=record["form"],
                    repetition=repetition + 1,
                    compliant=cell < n_compliant,
                )
            )
    return to_document(build_audit(rows, exclude=GEMINI))


@pytest.fixture(scope="module")
def panels(document):
    return document["panels"]


def points(rate: float) -> str:
    return f"{100 * rate:.1f}"


TABLES = {
    # (panel, whether over all models): form -> compliance and difference to POS as printed
    ("exact_count", False): {  # Table 2
        "POS": ("49.5", None),
        "NEG": ("39.0", "-10.4"),
        "NEVER": ("40.8", "-8.6"),
        "AVOID1": ("28.9", "-20.5"),
        "AVOID2": ("46.9", "-2.6"),
        "CNEG": ("50.1", "0.7"),
    },
    ("constructional_controls", False): {  # Table 3
        "POS": ("54.9", None),
        "POS_LONG": ("48.2", "-6.7"),
        "POS_END": ("36.7", "-18.2"),
        "AVOID1": ("33.8", "-21.1"),
    },
    ("json_structure", False): {  # Table 6
        "POS": ("13.1", None),
        "NEG": ("16.1", "3.1"),
        "AVOID": ("20.6", "7.6"),
    },
    ("keyword_once", False): {  # Table 13
        "POS": ("77.4", None),
        "NEG": ("55.3", "-22.1"),
        "AVOID": ("44.3", "-33.2"),
    },
    ("length_range", False): {  # Table 14
        "POS": ("89.4", None),
        "NEG": ("85.8", "-3.6"),
        "AVOID": ("80.6", "-8.8"),
    },
    ("keyword_once", True): {  # Table 15; it prints -31.1 for AVOID, where its own Table 20 gives -31.05
        "POS": ("69.7", None),
        "NEG": ("49.2", "-20.5"),
        "AVOID": ("38.7", "-31.0"),
    },
    ("length_range", True): {  # Table 16
        "POS": ("76.6", None),
        "NEG": ("73.6", "-3.0"),
        "AVOID": ("69.1", "-7.5"),
    },
}


@pytest.mark.parametrize("key", TABLES, ids=lambda key: f"{key[0]}-{'all' if key[1] else 'primary'}")
def test_pooled_tables(panels, key):
    name, all_models = key
    forms = (panels[name]["all_models"] if all_models else panels[name])["forms"]
    assert list(forms) == list(TABLES[key])
    printed = {
        form: (points(result["compliance"]), points(result["diff"]) if "diff" in result else None)
        for form, result in forms.items()
    }
    assert printed == TABLES[key]


@pytest.mark.parametrize(
    ("name", "printed"),
    [  # Table 11, but for the avoidance family, whose model table is not at hand
        ("exact_count", ("49.5", "42.5", "28.9", "21.2")),
        ("constructional_controls", ("54.9", "43.4", "33.8", "21.1")),
        ("keyword_once", ("77.4", "59.0", "44.3", "33.2")),
        ("length_range", ("89.4", "85.3", "80.6", "8.8")),
        ("json_structure", ("13.1", "16.6", "13.1", "7.6")),
    ],
)
def test_audit_summaries(panels, name, printed):
    summary = panels[name]["summary"]
    assert tuple(points(summary[field]) for field in ("pos", "mean", "worst", "gap")) == printed


def test_the_worst_and_the_best_form(panels):
    found = {
        name: (panel["summary"]["worst_form"], panel["summary"]["best_form"])
        for name, panel in panels.items()
    }
    assert found == {
        "exact_count": ("AVOID1", "CNEG"),
        "constructional_controls": ("AVOID1", "POS"),
        "keyword_once": ("AVOID", "POS"),
        "length_range": ("AVOID", "POS"),
        "json_structure": ("POS", "AVOID"),
    }


def test_gaps_of_each_model(panels):
    gaps = {
        model: points(audit["summary"]["gap"]) for model, audit in panels["length_range"]["by_model"].items()
    }
    assert gaps == {  # Table 19
        "Claude Haiku 4.5": "24.3",
        "Claude Sonnet 4.6": "1.3",
        "DeepSeek Chat": "3.0",
        "GPT-4.1 mini": "4.0",
        "GPT-4o mini": "8.7",
        "Gemini 2.5 Flash": "0.7",
        "Mistral Small": "13.0",
    }


def test_every_cell_of_the_model_tables(panels):
    for record in model_rates():
        form = panels[record["panel"]]["by_model"][record["model"]]["forms"][record["form"]]
        assert points(form["compliance"]) == record["compliance_pct"], record
        assert form["n"] == 300


def test_excluded_models_are_named_and_not_pooled(panels):
    panel = panels["exact_count"]
    assert panel["excluded"] == dict.fromkeys(GEMINI, "excluded by name")
    assert len(panel["models"]) == 11
    assert panel["forms"]["POS"]["n"] == 11 * 300
    assert panel["all_models"]["forms"]["POS"]["n"] == 13 * 300
    assert panel["n_rows"] == 13 * 6 * 300


def test_the_cross_constraint_view_is_tables_13_and_14(document):
    # Appendix J: the six models other than Gemini that the extensions share.
    cross = document["cross"]
    assert cross["models"] == [
        "Claude Haiku 4.5",
        "Claude Sonnet 4.6",
        "DeepSeek Chat",
        "GPT-4.1 mini",
        "GPT-4o mini",
        "Mistral Small",
    ]
    assert cross["left_out"]["Gemini 2.5 Flash"].startswith("excluded by name in ")
    assert cross["left_out"]["GPT-5.5"] == "no scored rows in keyword_once"
    for name in ("keyword_once", "length_range"):
        panel = cross["panels"][name]
        printed = {
            form: (points(result["compliance"]), points(result["diff"]) if "diff" in result else None)
            for form, result in panel["forms"].items()
        }
        assert printed == TABLES[name, False]
        assert all(result["n"] == 6 * 300 for result in panel["forms"].values())
        assert panel["roles"] == {"POS": "POS", "NEG": "NEG", "AVOID": "AVOID"}
    assert cross["panels"]["keyword_once"]["scheme"] == "item-cluster"
    assert cross["panels"]["length_range"]["scheme"] == "model-item"


def test_the_cross_constraint_view_keeps_to_the_shared_models(document):
    # Over six models; the panel itself, Table 2, is over eleven.
    panel = document["cross"]["panels"]["exact_count"]
    rates = {
        form: [
            Fraction(record["compliance_pct"])
            for record in model_rates()
            if (record["panel"], record["form"]) == ("exact_count", form)
            and record["model"] in document["cross"]["models"]
        ]
        for form in panel["forms"]
    }
    for form, result in panel["forms"].items():
        assert len(rates[form]) == 6
        # The table prints one decimal, which cells of 300 are within 0.05 of.
        assert 100 * result["compliance"] == pytest.approx(float(sum(rates[form]) / 6), abs=0.05)
    assert panel["roles"] == {"POS": "POS", "NEG": "NEG", "AVOID": "AVOID1"}


def test_ranks_under_the_reference_form_are_those_of_the_model_table(panels):
    ranks = panels["length_range"]["ranks"]
    best = max(
        (
            record
            for record in model_rates()
            if (record["panel"], record["form"]) == ("length_range", "POS") and record["model"] not in GEMINI
        ),
        key=lambda record: Fraction(record["compliance_pct"]),
    )
    assert ranks["order"][0] == best["model"]
    assert ranks["by_model"][best["model"]]["POS"] == 1
    for form in ("POS", "NEG", "AVOID"):
        assert sum(each[form] for each in ranks["by_model"].values()) == 6 * 7 / 2

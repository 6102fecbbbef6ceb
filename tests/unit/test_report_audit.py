"""The reports read what the audit writes: from eight rows to the lines on the terminal."""

from fractions import Fraction

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.gate import evaluate_gate
from wise_pytest.audit.rules import GateRules, Thresholds
from wise_pytest.records import Row
from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.markdown import render_markdown
from wise_pytest.report.terminal import summary_lines

COMPLIANT = {
    ("alpha", "POS"): (True, True),
    ("alpha", "AVOID1"): (True, False),
    ("beta", "POS"): (True, False),
    ("beta", "AVOID1"): (True, True),
}


def audited():
    rows = [
        Row("exact_count", model, "acme", f"item{i}", form, 1, compliant)
        for (model, form), outcomes in COMPLIANT.items()
        for i, compliant in enumerate(outcomes)
    ]
    audit = build_audit(rows, replicates=0)
    return to_document(audit, evaluate_gate(audit, GateRules(Thresholds(max_gap=Fraction(20)))))


def test_terminal():
    # Each model complies with 2 of 2 cells under one form and 1 of 2 under the other.
    assert [line.text for line in summary_lines(audited())] == [
        "panel        model    POS  mean   worst (form)   gap  coverage",
        "exact_count  alpha  100.0  75.0  50.0 (AVOID1)  50.0     100.0",
        "exact_count  beta    50.0  75.0     50.0 (POS)  50.0     100.0",
        "ranking in exact_count: lowest tau_b −1.00 (AVOID1), highest reversal 100.0 (AVOID1)",
        "gate: FAIL: 2 of 4 checks",
        "  gap 50.0 > 20.0 for model alpha in exact_count",
        "  gap 50.0 > 20.0 for model beta in exact_count",
    ]


def test_markdown():
    # Pooled, both forms have 3 of 4.
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in render_markdown(audited()).split("\n")
        if line.startswith("|")
    ]
    assert [
        "exact_count",
        "75.0",
        "75.0",
        "75.0",
        "every form",
        "0.0",
        "every form",
        "2",
        "8",
        "100.0",
    ] in cells
    assert ["AVOID1", "75.0", "4", "3", "0.0"] in cells
    assert ["beta", "50.0", "100.0", "2", "50.0", "POS"] in cells


def test_markdown_of_what_was_resampled():
    rows = [
        Row("exact_count", model, provider, f"item{i}", form, 1, (i + offset) % modulus > 0)
        for model, provider, offset in (("alpha", "acme", 0), ("beta", "byte", 1))
        for i in range(30)
        for form, modulus in (("POS", 5), ("AVOID1", 2), ("NEG", 4))
    ]
    audit = build_audit(rows, replicates=200, seed=3)
    text = render_markdown(to_document(audit, evaluate_gate(audit, GateRules())))
    tables = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.split("\n") if line.startswith("|")
    ]
    header, avoid1 = next(
        (cells, next(row for row in tables[place:] if row[0] == "AVOID1"))
        for place, cells in enumerate(tables)
        if "p (Holm)" in cells
    )
    shown = dict(zip(header, avoid1, strict=True))
    found = audit.panels["exact_count"].primary.forms["AVOID1"]
    assert found.contrast is not None
    assert found.contrast.interval is not None
    low, high = (
        f"{100 * bound:.1f}".replace("-", "−")
        for bound in (found.contrast.interval.low, found.contrast.interval.high)
    )
    assert shown["Δ"] == "−30.0"  # 15 of 30 against 24 of 30, for either model
    assert shown["Interval of Δ"] == f"[{low}, {high}]"
    assert shown["p (Holm)"] == f"{found.p_holm:.3f}"
    assert (
        "- Bootstrap by provider-model-item (2 providers, 2 models, 30 items), 200 replicates, seed 3\n"
        "- Holm's correction is over 2 contrasts\n"
        "- Intervals resample 2 providers, and few units make them too narrow"
    ) in text
    sensitivity = text[text.index("### Sensitivity") : text.index("### Coverage")]
    assert all(f"Δ, {name}" in sensitivity for name in audit.panels["exact_count"].bootstrap.sensitivity)
    assert sensitivity.count("\n| AVOID1") == 1


def test_csv():
    assert "exact_count,AVOID1,-1.0,,,1.0,,,1,1.0,,,1.0,,,,," in render_tables(audited())[
        "ranking.csv"
    ].split("\n")

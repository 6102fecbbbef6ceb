from __future__ import annotations

from fractions import Fraction

from wise_pytest.stats.rates import NO_ROWS, Rate
from wise_pytest.stats.summary import summarize_forms


def test_mean_worst_best_and_gap_are_exact():
    summary = summarize_forms({"POS": Rate(8, 10), "NEG": Rate(7, 10), "AVOID": Rate(1, 3)}, reference="POS")
    assert summary is not None
    assert summary.reference == Fraction(4, 5)
    assert summary.mean == Fraction(11, 18)  # (24 + 21 + 10) / 90
    assert (summary.worst, summary.worst_form) == (Fraction(1, 3), "AVOID")
    assert (summary.best, summary.best_form) == (Fraction(4, 5), "POS")
    assert summary.gap == Fraction(7, 15)
    assert summary.incomplete == ()


def test_forms_weigh_equally_whatever_their_counts():
    summary = summarize_forms({"POS": Rate(300, 300), "NEG": Rate(0, 3)}, reference="POS")
    assert summary is not None
    assert summary.mean == Fraction(1, 2)


def test_the_reference_need_not_be_the_best_form():
    summary = summarize_forms({"POS": Rate(1, 10), "AVOID": Rate(2, 10)}, reference="POS")
    assert summary is not None
    assert (summary.worst_form, summary.best_form) == ("POS", "AVOID")
    assert summary.gap == Fraction(1, 10)  # two forms are enough for a gap


def test_ties_are_settled_by_the_order_of_the_forms():
    rates = {"POS": Rate(5, 10), "B": Rate(2, 10), "A": Rate(1, 5), "C": Rate(1, 2)}
    summary = summarize_forms(rates, reference="POS")
    assert summary is not None
    assert (summary.worst_form, summary.best_form) == ("B", "POS")
    summary = summarize_forms(dict(reversed(rates.items())), reference="POS")
    assert summary is not None
    assert (summary.worst_form, summary.best_form) == ("A", "C")


def test_a_form_without_rows_is_named_and_is_no_zero():
    summary = summarize_forms({"POS": Rate(5, 10), "NEG": NO_ROWS, "CNEG": Rate(4, 10)}, reference="POS")
    assert summary is not None
    assert summary.worst == Fraction(2, 5)
    assert summary.mean == Fraction(9, 20)
    assert summary.n_forms == 2
    assert summary.incomplete == ("NEG",)


def test_one_form_has_no_gap():
    summary = summarize_forms({"POS": Rate(5, 10)}, reference="POS")
    assert summary is not None
    assert summary.gap is None
    assert summary.worst == Fraction(1, 2)


def test_a_missing_reference_is_none():
    summary = summarize_forms({"NEG": Rate(5, 10), "POS": NO_ROWS}, reference="POS")
    assert summary is not None
    assert summary.reference is None


def test_nothing_scored_has_no_summary():
    assert summarize_forms({"POS": NO_ROWS}, reference="POS") is None
    assert summarize_forms({}, reference="POS") is None

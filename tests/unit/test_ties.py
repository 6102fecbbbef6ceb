"""What is said to be highest or lowest: where several are, all count; so does what could not be tested."""

from __future__ import annotations

import pytest

from wise_pytest.report.columns import show, thousands
from wise_pytest.report.figures.catalog import figures_of
from wise_pytest.report.html.panels import headline
from wise_pytest.report.tables import SUMMARY, all_models_table, models_table, summary_table, tidy_tables
from wise_pytest.report.terminal import summary_lines
from wise_pytest.report.ties import all_alike, forms_said, highest, lowest, named

(WORST_FORM,) = [column for column in SUMMARY if column.name == "worst_form"]
AFTER = "after Holm's correction"


def title(name, **panel):
    document = {"panels": {"p": {"reference": "POS", "bootstrap": {"confidence": 0.95}, **panel}}}
    (found,) = [figure.title for figure in figures_of(document) if figure.name == f"p-{name}"]
    return found


def quartiles(**forms):
    """Forms with a box from the first to the second number."""
    return {
        form: {"surface": {"count_error": {"whisker_low": low, "q1": low, "median": low, "q3": high,
                                           "whisker_high": high}}}
        for form, (low, high) in forms.items()
    }  # fmt: skip


def differences(*diffs, p=()):
    """A reference form, and forms A, B, C ... with these differences in points."""
    names = "ABCDEFGH"
    tested = dict(zip(names, p, strict=False))
    forms = {"POS": {"compliance": 0.5}}
    for name, diff in zip(names, diffs, strict=False):
        forms[name] = {"compliance": 0.5 + diff / 100, "diff": diff / 100, "p_holm": tested.get(name)}
    return forms


@pytest.mark.parametrize(
    ("forms", "said"),
    [
        (quartiles(A=(0, 1), B=(0, 0)), "A scatters most: half of its answers are off by 0 to +1"),
        (
            quartiles(A=(0, 1), B=(0, 1), C=(0, 1), D=(0, 0)),
            "A and 2 others scatter most: half of the answers to each are off by 0 to +1",
        ),
        (
            quartiles(A=(0, 1), B=(1, 2), C=(0, 0)),
            "A and B scatter most: half of the answers to each lie within a range of 1",
        ),
        (
            quartiles(A=(0, 1), B=(0, 1)),
            "All 2 wordings scatter alike: half of the answers to each are off by 0 to +1",
        ),
    ],
)
def test_who_scatters_most(forms, said):
    assert title("errors", forms=forms) == said


@pytest.mark.parametrize(
    ("forms", "said"),
    [
        (differences(-20, -20, -5), "A and B fall 20.0 points below POS"),
        (differences(-20, -20, -20, 0), "A and 2 others fall 20.0 points below POS"),
        (differences(0, 5, 5), "No wording falls below POS; B and C are 5.0 points above it"),
        (differences(0, 0), "No wording differs from POS"),
        (
            differences(-20, -10, 0, 0, 0, p=(0.001, 0.2)),
            f"A falls 20.0 points below POS; 1 of 5 differences holds {AFTER}; 3 could not be tested",
        ),
        (
            differences(-20, 0, p=(0.2,)),
            f"A falls 20.0 points below POS, but no difference holds {AFTER}; 1 could not be tested",
        ),
        (
            differences(-20, -10, p=(0.001, 0.001)),
            "A falls 20.0 points below POS; 2 of 2 differences hold after Holm's correction",
        ),
    ],
)
def test_who_falls_most_and_of_how_many_it_is_known(forms, said):
    assert title("contrasts", forms=forms) == said


def changes(*estimates):
    found = [
        {"contrast": [{"factor": name, "level": name, "against": "base"}], "estimate": estimate}
        for name, estimate in zip("abcdef", estimates, strict=False)
    ]
    return {"pooled": {"effects": found}}


@pytest.mark.parametrize(
    ("estimates", "said"),
    [
        ((0.2, 0.1), "a − base raises compliance most, by 20.0 points"),
        ((0.2, 0.2), "a − base and b − base raise compliance most, by 20.0 points"),
        ((-0.2, -0.2, -0.2), "a − base and 2 others lower compliance most, by 20.0 points"),
        ((-0.2, 0.2), "a − base and b − base change compliance most, by 20.0 points up or down"),
    ],
)
def test_which_property_changes_most(estimates, said):
    assert title("effects", effects=changes(*estimates)) == said


def ways(**forms):
    return {
        form: {"compliance": exact, "directions": {"under": under, "exact": exact, "over": over}}
        for form, (under, exact, over) in forms.items()
    }


@pytest.mark.parametrize(
    ("forms", "said"),
    [
        (
            ways(A=(0.5, 0.25, 0.25), B=(0.5, 0.25, 0.25), C=(0, 1, 0)),
            'Under A and B, the worst forms, 50.0 % of answers are "under"',
        ),
        (
            ways(A=(0.5, 0.25, 0.25), B=(0.25, 0.25, 0.5)),
            "A and B are met least often, each by 25.0 % of answers",
        ),
        (
            ways(A=(0.25, 0.5, 0.25), B=(0, 1, 0)),
            'Under A, the worst form, 25.0 % of answers each are "under" and "over"',
        ),
    ],
)
def test_which_way_answers_fail(forms, said):
    assert title("directions", forms=forms) == said


def by_model(**models):
    """Each model's rates by form, in the order POS, A, B."""
    found = {}
    for model, rates in models.items():
        known = dict(zip(("POS", "A", "B"), rates, strict=True))
        found[model] = {
            "forms": {f: {"compliance": rate, "diff": rate - rates[0]} for f, rate in known.items()},
            "summary": {"worst_form": min(known, key=known.get)},
            "floor": {"change_words": 2.0},
            "targets": [{"target": t, "mean_observed": 5.0 + t, "compliance": 1.0} for t in (5, 8)],
        }
    return {"models": list(found), "by_model": found, "forms": {"POS": {}, "A": {}, "B": {}}}


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"m": (1.0, 0.5, 0.5)}, "m complies least under A and B: 50.0 %"),
        ({"m": (0.5, 0.5, 0.5)}, "m complies equally under every wording: 50.0 %"),
        ({"m": (1.0, 0.5, 0.7), "n": (1.0, 0.4, 0.7)}, "A is the worst form of all 2 models"),
        ({"m": (1.0, 0.5, 0.5), "n": (1.0, 0.4, 0.7)}, "A is a worst form of all 2 models, ties counted"),
        (
            {"m": (1.0, 0.5, 0.7), "n": (1.0, 0.7, 0.5), "o": (1.0, 0.4, 0.7), "q": (1.0, 0.7, 0.4)},
            "A and B are each the worst form of 2 of 4 models",
        ),
        ({"m": (1.0, 1.0, 1.0), "n": (0.5, 0.5, 0.5)},
         "No model complies less under one wording than under another"),
    ],
)  # fmt: skip
def test_which_form_is_the_worst_of_a_model(models, said):
    assert title("models", **by_model(**models)) == said


def test_every_form_that_ties_for_the_worst_is_framed():
    found = by_model(m=(1.0, 0.5, 0.5))
    (figure,) = [f for f in figures_of({"panels": {"p": found}}) if f.name == "p-models"]
    assert figure.standalone().count(", its worst form") == 2


def test_which_model_loses_most_and_which_follows_its_target_least():
    found = by_model(m=(1.0, 0.5, 0.75), n=(0.75, 0.25, 0.5))
    assert (
        title("worst-form", **found) == "m and n lose most, 50.0 points each, from POS to their worst forms"
    )
    assert title("lengths", **found) == (
        "Outputs of m and n follow the target least: they grow by 2 words from the smallest target to the "
        "largest"
    )
    assert title("worst-form", **by_model(m=(1.0, 0.5, 0.5))) == "m: 100.0 % under POS, 50.0 % under A and B"


def test_which_form_reverses_most():
    ranks = {"order": ["m", "n"], "by_model": {"m": {"A": 1.0}, "n": {"A": 2.0}}}
    ranking = {form: {"reversal": 0.5, "n_pairs": 4} for form in ("A", "B", "C")}
    found = {"ranks": ranks, "forms": {"A": {}}}
    assert title("ranks", ranking=ranking, **found) == (
        "A and 2 others each reverse 50.0 % of 4 model pairs against POS"
    )
    ranking["B"]["n_pairs"] = 2
    assert title("ranks", ranking=ranking, **found) == (
        "A and 2 others each reverse 50.0 % of model pairs against POS"
    )


def test_which_target_is_met_most():
    targets = [
        {"target": target, "forms": {"POS": {"compliance": rate}}}
        for target, rate in ((5, 1.0), (8, 1.0), (10, 0.5), (12, 0.5))
    ]
    assert title("targets", targets=targets, forms={"POS": {}}) == (
        "Under POS, targets 5 and 8 are met most often (100.0 %) and targets 10 and 12 least (50.0 %)"
    )


def test_which_kind_of_wording_is_the_lowest():
    def panel(pos, avoid):
        return {
            "forms": {"POS": {"compliance": pos}, "AVOID1": {"compliance": avoid}},
            "roles": {"POS": "POS", "AVOID": "AVOID1"},
        }

    def said(**panels):
        return figures_of({"cross": {"models": ["m"], "panels": panels}})[0].title

    assert said(a=panel(1.0, 0.5), b=panel(0.5, 0.5)) == "AVOID is the lowest in 1 of 2 panels"
    assert said(a=panel(1.0, 0.5), b=panel(0.5, 1.0)) == "AVOID and POS are each the lowest in 1 of 2 panels"
    assert said(a=panel(1.0, 1.0), b=panel(0.5, 0.5)) == "Compliance by kind of wording, panel by panel"


def test_the_headline_and_the_terminal_count_ties():
    panel = {
        "forms": {
            form: {"compliance": rate} for form, rate in zip("ABCD", (1.0, 1.0, 1.0, 0.5), strict=True)
        },
        "summary": {"best": 1.0, "best_form": "A", "worst": 0.5, "worst_form": "D", "gap": 0.5},
    }
    assert headline(panel) == (
        "The same requirement is met by 100.0 % of answers when worded A or 2 others, and by 50.0 % when "
        "worded D: a gap of 50.0 points."
    )
    panel["forms"]["C"] = {"compliance": 0.5}
    document = {"panels": {"p": {**panel, "by_model": {"m": panel}}}}
    assert "50.0 (D and C)" in summary_lines(document)[1].text


def test_ties_are_told_by_value():
    rates = {"a": 0.1 + 0.2, "b": 0.3, "c": 0.5}
    assert lowest(rates) == ["a", "b"]
    assert highest(rates) == ["c"]
    assert [named(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a and 2 others",
    ]
    assert not all_alike({"a": 1.0})
    assert all_alike({"a": 1.0, "b": 1.0})
    flat = {"forms": {"A": {"compliance": 1.0}, "B": {"compliance": 1.0}}, "summary": {"worst_form": "A"}}
    assert forms_said(flat, "worst") == "every form"
    assert not forms_said({}, "worst")


def test_the_reference_form_is_called_pos_only_where_it_is():
    panel = {"by_model": {"m": {}}, "reference": "AFFIRM"}
    document = {"panels": {"p": panel}}
    assert summary_lines(document)[0].text.split() == [
        *("panel", "model", "reference", "mean", "worst", "(form)", "gap", "coverage")
    ]
    assert [column.header for column in summary_table(document).columns][:2] == ["Panel", "Reference"]
    panel["reference"] = "POS"
    assert "POS" in summary_lines(document)[0].text
    assert [column.header for column in summary_table(document).columns][:2] == ["Panel", "POS"]


def test_counts_have_a_comma_at_thousands():
    assert [show(n, "count") for n in (999, 1152, -23400)] == ["999", "1,152", "−23,400"]
    assert show(1152, "tally") == "1,152"
    assert (thousands(1152), thousands(None), thousands(0.5)) == ("1,152", "–", "0.5")


def test_the_tables_for_people_name_every_form_of_a_tie():
    """Three forms are the worst and one is the best; files for programs name the first."""
    forms = {name: {"compliance": rate, "n": 4} for name, rate in zip("ABCD", (0, 0.5, 0, 0), strict=True)}
    summary = {"pos": 0.0, "mean": 0.125, "worst": 0.0, "gap": 0.5, "worst_form": "A", "best_form": "B"}
    record = {"forms": forms, "summary": summary}
    panel = {
        **record,
        "reference": "A",
        "by_model": {"m": record},
        "all_models": record,
        "excluded": {"x": "y"},
    }
    document = {"panels": {"p": panel}}
    shown = {
        "summary": summary_table(document),
        "all": all_models_table(document),
        "models": models_table(panel),
    }
    for table in shown.values():
        (row,) = table.rows
        assert dict(zip(table.columns, row, strict=True))[WORST_FORM] == "A and 2 others"
    tidy = {table.name: table for table in tidy_tables() if WORST_FORM in table.columns}
    assert tidy.keys() == {"summary", "summary_all_models", "models"}
    for table in tidy.values():
        assert [WORST_FORM.value(found) for found in table.records(document)] == ["A"], table.name


def test_every_form_is_said_only_where_every_form_has_a_rate():
    forms = {"A": {"compliance": 0.5}, "B": {"compliance": 0.5}, "C": {"compliance": None}}
    assert forms_said({"forms": forms, "summary": {"worst_form": "A"}}, "worst") == "A and B"
    assert not forms_said({"forms": forms, "summary": {}}, "worst")
    del forms["C"]
    assert forms_said({"forms": forms, "summary": {"worst_form": "A"}}, "worst") == "every form"

"""Pictures of a panel with many forms, and of names that look alike: all is readable and distinct."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from wise_pytest.panels.catalog import bundled_panel
from wise_pytest.report.figures.catalog import figures_of
from wise_pytest.report.figures.drawing import SIZE, cut_apart, text_width
from wise_pytest.report.figures.labels import beside, heads

SVG = "{http://www.w3.org/2000/svg}"
FORMS = [form.form_id for form in bundled_panel("factorial_count").forms]
"""32 names of up to 26 characters whose ends are alike: what tells them apart lies in the middle."""
MODELS = ("one", "qwen2.5-coder-0.5b-instruct")


def result(place, **more):
    rate = place / len(FORMS)
    box = {"n": 9, "min": -3, "whisker_low": -2, "q1": -1, "median": 0, "q3": place / 8, "whisker_high": 5,
           "max": 6, "mean": 0.5}  # fmt: skip
    return {
        "compliance": rate, "n": 300, "n_compliant": round(300 * rate), "diff": rate - 1,
        "ci_low": rate - 1.1, "ci_high": rate - 0.9, "p_raw": 0.001, "p_holm": 0.001,
        "directions": {"under": 1 - rate, "exact": rate}, "surface": {"count_error": box}, **more,
    }  # fmt: skip


def panel(models=MODELS):
    forms = {form: result(len(FORMS) - place) for place, form in enumerate(FORMS)}
    del forms[FORMS[0]]["diff"]
    worst = {model: FORMS[-1 - place] for place, model in enumerate(models)}
    return {
        "reference": FORMS[0],
        "models": list(models),
        "forms": forms,
        "by_model": {m: {"forms": forms, "summary": {"worst_form": worst[m]}} for m in models},
        "bootstrap": {"confidence": 0.95},
        "ranks": {"order": list(models), "by_model": {m: dict.fromkeys(FORMS, 1.5) for m in models}},
        "targets": [{"target": target, "forms": forms} for target in (5, 8, 10, 12)],
    }


def drawn(found):
    """By name, each picture as SVG without its title and caption."""
    return {
        figure.name.removeprefix("p-"): ET.fromstring(figure.standalone()).find(f"{SVG}g")
        for figure in figures_of({"panels": {"p": found}})
    }


def texts(sheet):
    return [element.text for element in sheet.iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def sheets():
    return drawn(panel())


@pytest.mark.parametrize("name", ["contrasts", "directions", "errors", "models", "ranks", "targets"])
def test_every_form_of_the_largest_panel_is_named_in_full(sheets, name):
    shown = texts(sheets[name])
    # The reference form has no difference to itself.
    assert [form for form in shown if form in FORMS] == FORMS[1 if name == "contrasts" else 0 :]
    assert not [text for text in shown if "…" in text]


def test_the_form_beside_a_model_is_named_in_full(sheets):
    assert {FORMS[-1], FORMS[-2]} <= set(texts(sheets["worst-form"]))


@pytest.mark.parametrize("models", [MODELS, tuple(f"provider/model-{n}-of-many" for n in range(13))])
@pytest.mark.parametrize("name", ["models", "ranks", "targets"])
def test_every_number_of_a_grid_fits_its_cell(models, name):
    sheet = drawn(panel(models))[name]
    cells = [
        (float(cell.get("x")), float(cell.get("y")), float(cell.get("width")), float(cell.get("height")))
        for cell in sheet.iter(f"{SVG}rect")
        if cell.find(f"{SVG}title") is not None
    ]
    assert len(cells) == len(FORMS) * (4 if name == "targets" else len(models))
    held = 0
    for text in sheet.iter(f"{SVG}text"):
        if re.fullmatch(r"\d+\.\d( %)?", text.text) and text.get("text-anchor") == "middle":
            x, y, size = (float(text.get(key)) for key in ("x", "y", "font-size"))
            reach = text_width(text.text, size, bold="font-weight" in text.attrib) / 2
            assert [1 for a, b, w, h in cells if a <= x - reach and x + reach <= a + w and b < y < b + h]
            held += 1
    assert held == len(cells) * (2 if name == "ranks" else 1)


def test_a_grid_of_few_forms_keeps_them_as_columns():
    found = panel()
    for holder in (found, *found["by_model"].values()):
        holder["forms"] = {form: holder["forms"][form] for form in FORMS[:8]}
    shown = texts(drawn(found)["models"])
    assert shown.index("one") < shown.index(MODELS[1])
    assert "AFFIRM_" in shown, "a head is broken where its parts meet"


def test_a_head_loses_nothing_where_it_is_broken():
    found = heads(["AFFIRM_SHORT_EARLY_PLAIN", "x"], 70)
    assert found == {"AFFIRM_SHORT_EARLY_PLAIN": ("AFFIRM_", "SHORT_", "EARLY_", "PLAIN"), "x": ("x",)}
    assert heads(["abcdefghijklmnop"], 40) == {"abcdefghijklmnop": ("abcd", "efghi", "jklm", "nop")}


@pytest.mark.parametrize("width", [60, 90, 150, 400])
def test_names_are_never_cut_to_equal_strings(width):
    for names in (FORMS, [f"{'w' * 50}{n}{'w' * 50}" for n in range(12)]):
        for shown in (cut_apart(names, width), beside(names, most=width + 16).shown):
            assert len(set(shown.values())) == len(names)
            assert all(text_width(said, SIZE) <= width for said in shown.values())
        lines = heads(names, width)
        assert len(set(lines.values())) == len(names)
        assert all(text_width(line) <= width for found in lines.values() for line in found)

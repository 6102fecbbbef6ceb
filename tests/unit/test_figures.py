"""The pictures: well formed whatever the names, readable on any ground and in grey, with their data."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest

from wise_pytest.errors import ReportError
from wise_pytest.report.columns import show
from wise_pytest.report.figures.axis import Scale, round_step, spanning
from wise_pytest.report.figures.catalog import figures_of
from wise_pytest.report.figures.charts.directions import roles
from wise_pytest.report.figures.drawing import cut, cut_apart, text_width, wrap
from wise_pytest.report.figures.png import to_png
from wise_pytest.report.figures.theme import DARK, LIGHT, N_HEAT, N_SEGMENTS, VARIABLES, heat_step
from wise_pytest.report.html.views import view_table

SVG = "{http://www.w3.org/2000/svg}"
AA = 4.5
"""Contrast of text with its ground that WCAG 2.2 asks for at level AA."""
AA_MARKS = 3.0
"""The same for marks that carry meaning."""


def form(compliance, n=300, **more):
    return {"compliance": compliance, "n": n, "n_compliant": round(compliance * n), **more}


def box(low, q1, median, q3, high):
    return {"n": 300, "min": low - 5, "whisker_low": low, "q1": q1, "median": median, "q3": q3,
            "whisker_high": high, "max": high + 20, "mean": median + 0.5}  # fmt: skip


def effect(*levels, estimate, width=0.05, p=0.01):
    contrast = [{"factor": f"f{n}", "level": level, "against": "base"} for n, level in enumerate(levels)]
    found = {"contrast": contrast, "estimate": estimate, "p_holm": p}
    if estimate is None:
        return {**found, "ci_low": None, "ci_high": None, "reason": "no scored rows"}
    return {**found, "ci_low": estimate - width, "ci_high": estimate + width}


def effects(models):
    """Two main effects and an interaction that has none of its own."""

    def of(base):
        return {
            "models": list(models),
            "n": 400,
            "n_items": 10,
            "effects": [
                effect("avoid", estimate=-base),
                effect("long", estimate=base / 8, p=0.5),
                effect("avoid", "long", estimate=None, p=None),
            ],
        }

    return {
        "confidence": 0.95,
        "pooled": of(0.2),
        "by_model": {m: of(0.1 + n / 10) for n, m in enumerate(models)},
    }


def panel(models=("model one", "model two")):
    """Two forms and as many models, with everything that a picture may show."""
    forms = {
        "POS": form(
            0.5,
            directions={"under": 0.25, "exact": 0.5, "over": 0.25},
            surface={"count_error": box(-3, -1, 0, 1, 3)},
        ),
        "AVOID1": form(
            0.25,
            diff=-0.25,
            ci_low=-0.35,
            ci_high=-0.125,
            p_raw=0.001,
            p_holm=0.001,
            directions={"under": 0.125, "exact": 0.25, "over": 0.625},
            surface={"count_error": box(-4, -2, 1, 3, 9)},
        ),
    }
    by_model = {
        model: {
            "forms": {"POS": form(0.6 - n / 10), "AVOID1": form(0.3 + n / 10, diff=-0.3 + n / 5)},
            "summary": {"worst_form": "AVOID1" if n == 0 else "POS"},
            "floor": {"in_floor": False, "change_words": 5.5 - n},
            "targets": [
                {"target": target, "compliance": 0.5, "n": 75, "mean_observed": target + 0.25 + n}
                for target in (5, 12)
            ],
        }
        for n, model in enumerate(models)
    }
    return {
        "reference": "POS",
        "models": list(models),
        "forms": forms,
        "by_model": by_model,
        "bootstrap": {"confidence": 0.95},
        "effects": effects(models),
        "ranking": {"AVOID1": {"reversal": 1.0, "n_pairs": 1}},
        "ranks": {
            "order": list(models),
            "by_model": {model: {"POS": n + 1.0, "AVOID1": 2.0 - n} for n, model in enumerate(models)},
        },
        "targets": [{"target": target, "forms": forms} for target in (5, 12)],
    }


def document(**panels):
    cross = {
        "models": ["model one"],
        "panels": {
            name: {"forms": found["forms"], "roles": {"POS": "POS", "AVOID": "AVOID1"}}
            for name, found in panels.items()
        },
    }
    return {"panels": panels, "cross": cross}


@pytest.fixture
def figures():
    return {figure.name: figure for figure in figures_of(document(p=panel(), q=panel()))}


AFTER_HOLM = "after Holm's correction"
ONE_OF_THREE = f"1 of 3 effects holds {AFTER_HOLM}; 1 could not be tested"
GROWTH = "they grow by 4.5 words from the smallest target to the largest"
NAMES = [
    "contrasts",
    "effects",
    "directions",
    "errors",
    "models",
    "worst-form",
    "ranks",
    "targets",
    "lengths",
]


def test_each_picture_of_the_paper_is_there_once(figures):
    assert list(figures) == ["cross-constraint", *(f"{panel}-{name}" for panel in "pq" for name in NAMES)]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("cross-constraint", "AVOID is the lowest in all 2 panels"),
        (
            "p-contrasts",
            "AVOID1 falls 25.0 points below POS; 1 of 1 difference holds after Holm's correction",
        ),
        (
            "p-effects",
            f"avoid − base lowers compliance most, by 20.0 points; {ONE_OF_THREE}",
        ),
        ("p-directions", 'Under AVOID1, the worst form, 62.5 % of answers are "over"'),
        ("p-errors", "AVOID1 scatters most: half of its answers are off by −2 to +3"),
        ("p-models", "Each model has a worst form of its own"),
        ("p-worst-form", "model one loses most: 60.0 % under POS, 30.0 % under AVOID1"),
        ("p-ranks", "AVOID1 reverses 100.0 % of 1 model pairs against POS"),
        ("p-targets", "Under POS every target is met equally often"),
        ("p-lengths", f"Outputs of model two follow the target least: {GROWTH}"),
    ],
)
def test_titles_say_what_is_seen(figures, name, title):
    assert figures[name].title == title


def test_a_title_claims_no_difference_that_does_not_hold():
    found = panel()
    found["forms"]["AVOID1"]["p_holm"] = 0.05
    titles = {figure.name: figure.title for figure in figures_of({"panels": {"p": found}})}
    assert titles["p-contrasts"] == (
        "AVOID1 falls 25.0 points below POS, but no difference holds after Holm's correction"
    )


def test_a_picture_without_its_data_is_left_out():
    for keys, gone in (
        (("effects",), "p-effects"),
        (("ranks",), "p-ranks"),
        (("targets",), "p-targets"),
        (("by_model",), "p-models"),
    ):
        found = panel()
        for key in keys:
            del found[key]
        assert gone not in {figure.name for figure in figures_of({"panels": {"p": found}})}
    assert figures_of({"panels": {"p": {}}}) == []
    assert figures_of({}) == []


def test_every_number_of_a_picture_is_in_its_table(figures):
    for figure in figures.values():
        table = " ".join(
            show(value, column.kind)
            for row in figure.data.rows
            for column, value in zip(figure.data.columns, row, strict=True)
        )
        marks = [
            element.text or ""
            for element in ET.fromstring(figure.standalone()).find(f"{SVG}g").iter()
            # Ticks and legends are soft.
            if element.tag.endswith(("text", "title")) and element.get("fill") != LIGHT["soft"]
        ]
        numbers = set(re.findall(r"\d+\.\d+", " ".join(marks)))
        assert numbers or figure.name.endswith("errors"), figure.name
        assert {number for number in numbers if number not in table} == set(), figure.name


HOSTILE = "</text><script>alert(1)</script> & \" ' \x00 \x1b \ud83d \u202e \ufffe \u2028 日本 " + "w" * 300


def test_whatever_the_names_a_picture_is_well_formed_and_shows_them():
    found = panel(models=(HOSTILE, "plain"))
    for place in (found["forms"], *(model["forms"] for model in found["by_model"].values())):
        place[HOSTILE] = copy.deepcopy(place["AVOID1"])
    found["forms"]["POS"]["directions"][HOSTILE] = 0.1
    for figure in figures_of({"panels": {HOSTILE: found}}):
        assert re.fullmatch(r"[\w-]+", figure.name)
        for svg in (figure.standalone(), figure.standalone(DARK), figure.inline()):
            svg.encode("utf-8")
            root = ET.fromstring(svg)
            assert not list(root.iter(f"{SVG}script"))
            assert not list(root.iter("script"))
        shown = " ".join(element.text or "" for element in ET.fromstring(figure.standalone()).iter())
        assert re.search("[\x00-\x08\x0e-\x1f\u202e\u2028]", shown) is None


def test_names_never_reach_beyond_the_sheet():
    found = panel(models=("m" * 400, "W" * 400))
    for figure in figures_of({"panels": {"p": found}}):
        root = ET.fromstring(figure.standalone())
        width = float(root.get("width", "0"))
        for element in root.iter(f"{SVG}text"):
            said, x = element.text or "", float(element.get("x", "0"))
            size = float(element.get("font-size", "0"))
            reach = {"end": 0.0, "middle": 0.5}.get(element.get("text-anchor", ""), 1.0)
            wide = text_width(said, size)
            assert x - wide * (1 - reach) >= -1, (figure.name, said[:40])
            assert x + wide * reach <= width + 1, (figure.name, said[:40])


def test_equal_documents_give_equal_pictures(figures):
    again = {figure.name: figure for figure in figures_of(document(p=panel(), q=panel()))}
    for name, figure in figures.items():
        assert figure.standalone() == again[name].standalone()
        assert figure.inline() == again[name].inline()


def test_a_picture_for_a_page_has_no_colour_of_its_own(figures):
    for figure in figures.values():
        assert re.findall(r"#[0-9a-f]{3,8}", figure.inline()) == []
        assert set(re.findall(r"var\(--fig-([\w-]+)\)", figure.inline())) <= VARIABLES.keys()


def test_an_interval_without_width_says_so_in_the_picture_and_in_its_data():
    found = panel()
    found["forms"]["AVOID1"].update(ci_low=-0.25, ci_high=-0.25, p_holm=None, ci_degenerate=True)
    (figure,) = [f for f in figures_of({"panels": {"p": found}}) if f.name == "p-contrasts"]
    shown = [element.text for element in ET.fromstring(figure.standalone()).iter(f"{SVG}text")]
    assert "no width" in shown
    assert figure.caption.endswith("no width where nothing varied between items: that is no certainty.")
    view = view_table(figure.data)
    (cell,) = [cell for row in view.rows for cell in row if cell.text.startswith("[−25.0")]
    assert cell.text == "[−25.0, −25.0], no width"
    assert view.notes[cell.note - 1] == "no width: all replicates are alike, which is no certainty"
    with_width = panel()
    assert "no width" not in figures_of({"panels": {"p": with_width}})[0].standalone()


# Colours


def luminance(colour):
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_the_measure_of_contrast():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the known near miss


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_and_marks_stand_out_from_their_ground(theme):
    pairs = [("ink", "paper"), ("soft", "paper"), ("good-text", "good")]
    pairs += [(f"heat-text-{step}", f"heat-{step}") for step in range(N_HEAT)]
    pairs += [(f"segment-text-{n}", f"segment-{n}") for n in range(N_SEGMENTS)]
    assert {pair: contrast(theme[pair[0]], theme[pair[1]]) for pair in pairs
            if contrast(theme[pair[0]], theme[pair[1]]) < AA} == {}  # fmt: skip
    for mark in ("accent", "warn", "axis"):
        assert contrast(theme[mark], theme["paper"]) >= AA_MARKS


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_scales_read_in_grey(theme):
    steps = [luminance(theme[f"heat-{step}"]) for step in range(N_HEAT)]
    falls = theme is LIGHT
    assert all((before > after) is falls for before, after in pairwise(steps))
    neighbours = ("good", "segment-0", "segment-1", "segment-2")
    for one, other in (("good", "segment-0"), ("good", "segment-1"), ("segment-0", "segment-1")):
        assert contrast(theme[one], theme[other]) >= 1.5, (one, other)
    assert set(neighbours) <= theme.keys()


def test_both_grounds_have_the_same_roles():
    assert LIGHT.keys() == DARK.keys() == VARIABLES.keys()


def test_what_complies_is_neutral_and_each_way_to_fail_has_a_colour():
    assert roles(["under", "exact", "over"]) == {
        "under": ("segment-0", "segment-text-0"),
        "exact": ("good", "good-text"),
        "over": ("segment-1", "segment-text-1"),
    }
    many = roles([f"way-{n}" for n in range(N_SEGMENTS + 2)])
    assert many["way-7"] == many["way-5"]


@pytest.mark.parametrize(("share", "step"), [(0.0, 0), (0.111, 0), (0.112, 1), (0.5, 4), (1.0, 8), (1.2, 8)])
def test_steps_of_the_scale(share, step):
    assert heat_step(share) == step


# Places


def test_a_scale_places_its_ends_and_its_middle():
    scale = Scale(-10.0, 10.0, 100.0, 300.0)
    assert [scale.place(value) for value in (-10, 0, 10)] == [100, 200, 300]
    assert scale.ticks(4) == [-10, -5, 0, 5, 10]


@pytest.mark.parametrize(("least", "step"), [(0.3, 0.5), (1, 1), (2.2, 2.5), (6, 10), (11, 20)])
def test_steps_are_round(least, step):
    assert round_step(least) == pytest.approx(step)


def test_a_scale_spans_its_values_and_zero():
    scale = spanning([3.0, 8.0], left=0, right=1, least=1)
    assert scale.low <= 0
    assert scale.high >= 8
    narrow = spanning([0.0], left=0, right=1, least=4)
    assert narrow.high - narrow.low >= 4


def test_texts_are_cut_in_the_middle_and_wrapped_between_words():
    assert cut("short", 200) == "short"
    shorter = cut("a-very-long-name-of-a-model-1.5b", 100)
    assert text_width(shorter) <= 100
    assert shorter.startswith("a-")
    assert shorter.endswith("b")
    assert "…" in shorter
    lines = wrap("one two three four five six", 80)
    assert " ".join(lines) == "one two three four five six"
    assert len(lines) > 1


def test_names_that_would_look_alike_are_cut_elsewhere():
    """Cut in the middle, both would be ``qwen2.5-coder….5b-instruct``."""
    names = ["qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct", "short"]
    found = cut_apart(names, 190)
    assert len({cut(name, 190) for name in names}) == 2
    assert len(set(found.values())) == 3
    assert list(found) == names
    assert all(text_width(shown) <= 190 for shown in found.values())
    assert found["short"] == "short"


# PNG


def test_a_png_has_the_picture_at_twice_its_size(figures):
    pytest.importorskip("resvg_py", reason="PNG needs the extra 'png'")
    figure = figures["p-contrasts"]
    try:
        content = to_png(figure.standalone())
    except ReportError as error:
        pytest.skip(str(error))
    assert content.startswith(b"\x89PNG\r\n")
    width, height = int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
    root = ET.fromstring(figure.standalone())
    assert (width, height) == (2 * float(root.get("width", "0")), 2 * float(root.get("height", "0")))
    longer = replace(figure, title=f"{figure.title} {figure.title}")
    assert to_png(longer.standalone()) != content

"""The figure of a factorial panel's effects, read back as the XML it is."""

from xml.etree import ElementTree as ET

import pytest

from wise_pytest.report.figures.charts.effects import effects
from wise_pytest.report.figures.theme import LIGHT

SVG = "{http://www.w3.org/2000/svg}"


def effect(name, estimate, low=None, high=None, p=None, **more):
    contrast = [{"factor": f"f-{level}", "level": level, "against": "base"} for level in name.split("+")]
    return {
        "contrast": contrast,
        "estimate": estimate,
        "ci_low": low,
        "ci_high": high,
        "p_holm": p,
        **more,
    }


def figure_of(*found, models=None):
    by_model = {name: {"effects": list(own)} for name, own in (models or {"m": found}).items()}
    pooled = {"effects": list(found), "models": list(by_model), "n": 960, "n_items": 30}
    return effects("p", {"effects": {"confidence": 0.95, "pooled": pooled, "by_model": by_model}})


def drawn(*found, **more):
    return ET.fromstring(figure_of(*found, **more).standalone())


def circles(root):
    return list(root.iter(f"{SVG}circle"))


def test_an_effect_lies_on_its_side_of_zero_within_its_interval():
    root = drawn(effect("avoid", -0.2, -0.3, -0.1, p=0.01), effect("long", 0.04, -0.02, 0.1, p=0.3))
    lines = list(root.iter(f"{SVG}line"))
    (zero,) = (float(line.get("x1")) for line in lines if line.get("stroke") == LIGHT["axis"])
    clear, unclear = circles(root)
    assert (clear.get("fill"), unclear.get("fill")) == (LIGHT["accent"], LIGHT["paper"])
    assert float(clear.get("cx")) < zero < float(unclear.get("cx"))
    bars = [line for line in lines if line.get("stroke") == LIGHT["accent"]]
    for bar, point in zip(bars, (clear, unclear), strict=True):
        assert float(bar.get("x1")) < float(point.get("cx")) < float(bar.get("x2"))
        assert bar.get("y1") == point.get("cy")
    # Five times as far from zero.
    assert (zero - float(clear.get("cx"))) == pytest.approx(5 * (float(unclear.get("cx")) - zero), abs=0.5)


def test_an_interval_that_leaves_out_zero_shows_even_where_holm_does_not_hold():
    clear, off_zero, on_zero, flat = circles(
        drawn(
            effect("a", 0.2, 0.1, 0.3, p=0.01),
            effect("b", 0.2, 0.1, 0.3, p=0.2),
            effect("c", 0.2, -0.1, 0.5, p=0.2),
            effect("d", 0.2, 0.2, 0.2),
        )
    )
    assert clear.get("fill") == LIGHT["accent"]
    assert off_zero.get("fill") == LIGHT["heat-4"]
    # No width is no certainty.
    assert on_zero.get("fill") == flat.get("fill") == LIGHT["paper"]


def test_the_picture_says_in_words_what_it_shows():
    root = drawn(effect("avoid", -0.2, -0.3, -0.1, p=0.01), effect("late+formal", 0.15))
    said = [node.text for node in root.iter(f"{SVG}text")]
    assert "avoid − base" in said
    assert "late × formal" in said
    assert "[−30.0, −10.0]" in said
    assert root.find(f"{SVG}title").text == (
        "avoid − base lowers compliance most, by 20.0 points; 1 of 2 effects holds after Holm's "
        "correction; 1 could not be tested"
    )
    abouts = [node.text for node in root.find(f"{SVG}g").iter(f"{SVG}title")]
    assert abouts == ["avoid − base −20.0 [−30.0, −10.0]", "late × formal +15.0 "]


@pytest.mark.parametrize(
    ("found", "title"),
    [
        ([effect("a", 0.1)], "a − base raises compliance most, by 10.0 points"),
        (
            [effect("a", 0.1, 0.0, 0.2, p=0.06)],
            "a − base raises compliance most, by 10.0 points, but no effect holds after Holm's correction",
        ),
        ([effect("a", 0.0), effect("b", 0.0)], "No property of the wording changes compliance"),
    ],
)
def test_a_title_claims_no_more_than_holds(found, title):
    assert figure_of(*found).title == title


def test_without_any_estimate_there_is_no_picture():
    nothing = effect("avoid", None, reason="no scored rows")
    assert figure_of(nothing) is None
    assert effects("p", {}) is None
    root = drawn(nothing, effect("long", 0.1))
    assert len(circles(root)) == 1
    assert "no estimate" in [node.text for node in root.iter(f"{SVG}text")]
    assert figure_of(nothing, effect("long", 0.1)).data.rows[0][1].reason == "no scored rows"


def test_several_models_are_shown_beside_the_pool_and_one_is_not():
    pooled = effect("avoid", -0.2, -0.3, -0.1)
    two = {"a": [effect("avoid", -0.5)], "b": [effect("avoid", None, reason="x")]}
    root = drawn(pooled, models=two)
    assert len(list(root.iter(f"{SVG}polygon"))) == 1
    assert [column.header for column in figure_of(pooled, models=two).data.columns[4:]] == ["a", "b"]
    root = drawn(pooled)
    assert list(root.iter(f"{SVG}polygon")) == []


@pytest.mark.parametrize("estimate", [0.0, 0.001, 0.3, -1.9])
def test_everything_is_inside_the_picture(estimate):
    root = drawn(effect("avoid", estimate, estimate - 0.05, estimate + 0.05))
    width = float(root.get("width"))
    places = [
        float(node.get(name)) for node in root.iter() for name in ("cx", "x1", "x2", "x") if node.get(name)
    ]
    assert all(0 <= place <= width for place in places)
    assert "0" in [node.text for node in root.iter(f"{SVG}text")]

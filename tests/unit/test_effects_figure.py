"""The figure of a factorial panel's effects, read back as the XML it is."""

import re
from xml.etree import ElementTree as ET

import pytest

from wise_pytest.report.effects import effects_svg

SVG = "{http://www.w3.org/2000/svg}"


def effect(name, estimate, low=None, high=None, **more):
    contrast = [{"factor": f"f-{level}", "level": level, "against": "base"} for level in name.split("+")]
    return {"contrast": contrast, "estimate": estimate, "ci_low": low, "ci_high": high, **more}


def document(*effects, models=None):
    return {
        "panel": "factorial_count",
        "confidence": 0.95,
        "pooled": {"effects": list(effects), "n_items": 30},
        "by_model": {name: {"effects": list(found)} for name, found in (models or {}).items()},
    }


def drawn(*effects, **more):
    text = effects_svg(document(*effects, **more))
    return text, ET.fromstring(text)


def circles(root, kind):
    return [node for node in root.iter(f"{SVG}circle") if node.get("class") == kind]


def test_an_effect_lies_on_its_side_of_zero_within_its_interval():
    _, root = drawn(effect("avoid", -0.2, -0.3, -0.1), effect("long", 0.04, -0.02, 0.1))
    (zero,) = (float(node.get("x1")) for node in root.iter(f"{SVG}line") if node.get("class") == "zero")
    (clear,), (unclear,) = circles(root, "point"), circles(root, "point unclear")
    assert float(clear.get("cx")) < zero < float(unclear.get("cx"))
    bars = [node for node in root.iter(f"{SVG}line") if node.get("class") == "bar"]
    for bar, point in zip(bars, (clear, unclear), strict=True):
        assert float(bar.get("x1")) < float(point.get("cx")) < float(bar.get("x2"))
        assert bar.get("y1") == point.get("cy")
    # Five times as far from zero.
    assert (zero - float(clear.get("cx"))) == pytest.approx(5 * (float(unclear.get("cx")) - zero), abs=0.5)


def test_the_picture_says_in_words_what_it_shows():
    text, root = drawn(effect("avoid", -0.2, -0.3, -0.1), effect("late+formal", 0.15))
    labels = [node.text for node in root.iter(f"{SVG}text")]
    assert "avoid − base" in labels
    assert "late × formal" in labels
    assert "Pooled estimates with 95 % intervals over 30 items." in labels
    assert root.find(f"{SVG}title").text.endswith("factorial_count")
    assert root.find(f"{SVG}desc").text == "avoid − base −20.0 [−30.0, −10.0]; late × formal +15.0"
    assert "nan" not in text.lower()


def test_what_has_no_estimate_says_why():
    _, root = drawn(effect("avoid", None, reason="no scored rows <here>"))
    assert "no scored rows <here>" in [node.text for node in root.iter(f"{SVG}text")]
    assert not circles(root, "point")


def test_several_models_are_shown_beside_the_pool_and_one_is_not():
    pooled = effect("avoid", -0.2, -0.3, -0.1)
    two = {"a": [effect("avoid", -0.5)], "b": [effect("avoid", None, reason="x")]}
    _, root = drawn(pooled, models=two)
    assert len(circles(root, "model")) == 1
    _, root = drawn(pooled, models={"a": [effect("avoid", -0.5)]})
    assert circles(root, "model") == []


@pytest.mark.parametrize("estimate", [0.0, 0.001, 0.3, -1.9])
def test_everything_is_inside_the_picture(estimate):
    text, root = drawn(effect("avoid", estimate, estimate - 0.05, estimate + 0.05))
    width = float(root.get("width"))
    for value in re.findall(r'(?:cx|x1|x2|x)="([-\d.]+)"', text):
        assert 0 <= float(value) <= width
    ticks = [node.text for node in root.iter(f"{SVG}text") if re.fullmatch(r"[+−]?\d+", node.text or "")]
    assert "0" in ticks
    assert 3 <= len(ticks) <= 9

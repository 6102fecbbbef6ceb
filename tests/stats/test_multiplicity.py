from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from wise_pytest.stats.multiplicity import holm

pytestmark = pytest.mark.usefixtures("little_to_collect")  # statsmodels collects garbage at every call


def adjusted(*p_values):
    return list(holm({f"form{place}": p for place, p in enumerate(p_values)}).adjusted.values())


BY_HAND = [
    ([0.01, 0.011], [0.02, 0.02]),  # 2 * .01; 1 * .011 is raised to the one before
    ([0.04, 0.03, 0.01], [0.06, 0.06, 0.03]),
    ([0.01, None, 0.04], [0.02, None, 0.04]),
    ([0.01, float("nan"), 0.04], [0.02, None, 0.04]),
    ([0.5, 0.9], [1.0, 1.0]),
    ([0.2], [0.2]),
    ([0.0, 1.0], [0.0, 1.0]),
]


@pytest.mark.parametrize(("raw", "expected"), BY_HAND)
def test_worked_by_hand(raw, expected):
    assert adjusted(*raw) == [value if value is None else pytest.approx(value) for value in expected]


def test_the_family():
    family = holm({"NEG": 0.01, "AVOID": None, "NEVER": 0.04})
    assert (family.size, family.untestable) == (2, ("AVOID",))
    assert list(family.adjusted) == ["NEG", "AVOID", "NEVER"]
    nothing = holm({"NEG": None})
    assert (nothing.size, nothing.untestable, dict(nothing.adjusted)) == (0, ("NEG",), {"NEG": None})
    assert holm({}).size == 0


@pytest.mark.parametrize("p", [-0.01, 1.01, float("inf")])
def test_what_is_no_p_value(p):
    with pytest.raises(ValueError, match=r"NEG: .* is no p value"):
        holm({"NEG": p})


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_against_the_definition(raw):
    tested = sorted(p for p in raw if p is not None)
    highest, slow = 0.0, {}
    for place, p in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - place) * p))
        slow.setdefault(p, highest)  # equal p values get the largest factor among them
    for p, found in zip(raw, adjusted(*raw), strict=True):
        assert found == (None if p is None else pytest.approx(slow[p], abs=1e-12))


def same_as_statsmodels(raw):
    # A NaN among its input spoils the order of all, so statsmodels gets those with a value only.
    tested = [p for p in raw if p is not None and not math.isnan(p)]
    expected = iter(multipletests(tested, method="holm")[1].tolist() if tested else [])
    for p, found in zip(raw, adjusted(*raw), strict=True):
        assert found == (None if p is None or math.isnan(p) else pytest.approx(next(expected), abs=1e-12))


@pytest.mark.parametrize("raw", [raw for raw, _ in BY_HAND])
def test_against_statsmodels_by_hand(raw):
    same_as_statsmodels(raw)


@settings(deadline=None)  # the first example imports statsmodels
@given(st.lists(st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.5, 1.0]), max_size=8))
def test_against_statsmodels(raw):
    same_as_statsmodels(raw)


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = (
        "import sys; from wise_pytest.stats.multiplicity import holm; holm({'NEG': 0.5});"
        "print([name for name in ('statsmodels', 'scipy', 'pandas', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

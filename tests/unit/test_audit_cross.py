"""The panels side by side, over the models that all of them share."""

from __future__ import annotations

from typing import Any

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.records import Row


def rows_of(panel: str, model: str, forms: dict[str, int], *, n: int = 10, **more: Any) -> list[Row]:
    """One item a row; of each form the given number comply."""
    return [
        Row(panel, model, f"of {model}", f"i{item}", form, 1, compliant=item < n_compliant, **more)
        for form, n_compliant in forms.items()
        for item in range(n)
    ]


def floored(panel: str, model: str) -> list[Row]:
    """A model that writes two words whatever is asked."""
    return [
        Row(panel, model, f"of {model}", f"i{item}", form, 1, compliant=False, target=5 + item, observed=2)
        for form in ("POS", "NEG")
        for item in range(10)
    ]


def cross(rows: list[Row], **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = to_document(build_audit(rows, **{"replicates": 50, **options}))["cross"]
    return found


def test_two_panels_over_the_models_they_share():
    rows = [
        *rows_of("exact_count", "a", {"POS": 8, "NEG": 6, "AVOID1": 4, "AVOID2": 1}),
        *rows_of("exact_count", "b", {"POS": 4, "NEG": 4, "AVOID1": 2, "AVOID2": 1}),
        *rows_of("exact_count", "only-here", {"POS": 10, "NEG": 0, "AVOID1": 0, "AVOID2": 0}),
        *rows_of("length_range", "a", {"POS": 9, "NEG": 9, "AVOID": 3}),
        *rows_of("length_range", "b", {"POS": 7, "NEG": 5, "AVOID": 5}),
    ]
    found = cross(rows)
    assert found["models"] == ["a", "b"]
    assert found["left_out"] == {"only-here": "no scored rows in length_range"}
    assert "reason" not in found
    assert list(found["panels"]) == ["exact_count", "length_range"]
    exact, length = found["panels"].values()
    assert exact["roles"] == {"POS": "POS", "NEG": "NEG", "AVOID": "AVOID1"}
    assert length["roles"] == {"POS": "POS", "NEG": "NEG", "AVOID": "AVOID"}
    assert (exact["scheme"], length["scheme"]) == ("provider-model-item", "model-item")
    # Pooled over a and b alone: 12, 10, 6 and 2 of 20.
    assert [form["compliance"] for form in exact["forms"].values()] == [0.6, 0.5, 0.3, 0.1]
    assert exact["summary"]["worst"] == 0.1
    assert (length["summary"]["pos"], length["summary"]["gap"]) == (0.8, 0.4)
    assert all(form["n"] == 20 for panel in found["panels"].values() for form in panel["forms"].values())
    assert length["forms"]["AVOID"]["ci_low"] <= length["forms"]["AVOID"]["diff"]
    assert length["forms"]["AVOID"]["ci_high"] >= length["forms"]["AVOID"]["diff"]
    assert "p_raw" not in length["forms"]["AVOID"]  # the hypotheses are about the panels themselves


def test_what_only_the_shared_models_say_does_not_depend_on_the_others():
    shared = [
        *rows_of("keyword_once", "a", {"POS": 8, "NEG": 6, "AVOID": 4}),
        *rows_of("length_range", "a", {"POS": 8, "NEG": 6, "AVOID": 4}),
        *rows_of("keyword_once", "b", {"POS": 5, "NEG": 6, "AVOID": 2}),
        *rows_of("length_range", "b", {"POS": 8, "NEG": 3, "AVOID": 4}),
    ]
    more = rows_of("length_range", "c", {"POS": 1, "NEG": 9, "AVOID": 1})
    assert cross([*more, *shared])["panels"] == cross(shared)["panels"]
    # And then the panels themselves rest on the same models: the same figures, but for p values.
    document = to_document(build_audit(shared, replicates=50))
    for name, panel in document["cross"]["panels"].items():
        own = document["panels"][name]
        assert panel["summary"] == own["summary"]
        for form, result in panel["forms"].items():
            expected = {key: value for key, value in own["forms"][form].items() if not key.startswith("p_")}
            assert result == expected


def test_why_models_are_left_out():
    rows = [
        *rows_of("exact_count", "good", {"POS": 8, "NEG": 6}),
        *rows_of("keyword_once", "good", {"POS": 8, "NEG": 6}),
        *rows_of("exact_count", "named", {"POS": 8, "NEG": 6}),
        *rows_of("keyword_once", "named", {"POS": 8, "NEG": 6}),
        *floored("exact_count", "floor"),
        *rows_of("keyword_once", "floor", {"POS": 8, "NEG": 6}),
        *rows_of("keyword_once", "new", {"POS": 8, "NEG": 6}),
        *rows_of("exact_count", "silent", {"POS": 8, "NEG": 6}),
        Row("keyword_once", "silent", "of silent", "i0", "POS", 1, compliant=None, status="error"),
    ]
    found = cross(rows, exclude=["named"], planned={("exact_count", "planned"): 5})
    assert found["models"] == ["good"]
    assert found["left_out"] == {
        "floor": "floor regime in exact_count",
        "named": "excluded by name in exact_count",
        "new": "no scored rows in exact_count",
        "planned": "no scored rows in exact_count",
        "silent": "no scored rows in keyword_once",
    }
    assert list(found["left_out"]) == sorted(found["left_out"])


def test_one_panel_is_no_view():
    found = cross(rows_of("exact_count", "a", {"POS": 8, "NEG": 6}))
    assert found == {"models": [], "left_out": {}, "panels": {}, "reason": "fewer than two panels have rows"}
    assert cross([])["reason"] == "fewer than two panels have rows"


def test_no_shared_model_is_no_view():
    found = cross([*rows_of("exact_count", "a", {"POS": 8}), *rows_of("keyword_once", "b", {"POS": 8})])
    assert (found["models"], found["panels"]) == ([], {})
    assert found["reason"] == "no model is primary in every panel"
    assert found["left_out"] == {
        "a": "no scored rows in keyword_once",
        "b": "no scored rows in exact_count",
    }


def test_roles_of_panels_that_have_none():
    rows = [
        *rows_of("own", "a", {"POS": 8, "AVOID2": 3, "Z": 1}),
        *rows_of("other", "a", {"NEG1": 8, "AVOID1": 3}),
    ]
    found = cross(rows, replicates=0)
    assert found["panels"]["own"]["roles"] == {"POS": "POS"}  # AVOID2 is the second of a kind
    assert found["panels"]["other"]["roles"] == {"NEG": "NEG1", "AVOID": "AVOID1"}
    assert "scheme" not in found["panels"]["own"]
    assert found["panels"]["other"]["summary"]["pos"] is None

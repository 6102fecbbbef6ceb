"""Examples of failures: true of the rows, spread out, and the same whatever else there is."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from wise_pytest.audit.audit import build_audit
from wise_pytest.audit.document import to_document
from wise_pytest.audit.examples import MAX_EXAMPLES, find_examples
from wise_pytest.audit.rows import read_table
from wise_pytest.audit.table import table_of
from wise_pytest.records import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wise_pytest.audit.result import Examples

FORMS = ("POS", "NEG", "AVOID", "CNEG")
DIRECTIONS = ("under", "exact", "over")
MODELS = ("a", "b", "c")
SEEDS = st.integers(0, 2**32)


STRANGE: tuple[dict[str, Any], ...] = (
    {"compliant": None, "status": "error", "text": None},
    {"text": None},
    {"text": ""},
    {"target": None},
    {"target": 7},
    {"direction": None},
    {"direction": ""},
    {"direction": "sideways"},
)


def random_rows(seed: int, *, panel: str = "p", n_items: int = 4, odd: bool = True) -> list[Row]:
    """A grid; an odd one has cells that are missing, fail, hold no text, or name another target."""
    chance = random.Random(seed)
    rows = []
    for model, item, form, repetition in itertools.product(MODELS, range(n_items), FORMS, (1, 2)):
        compliant = chance.choice([True, False])
        row = Row(
            panel=panel,
            model=model,
            provider="x",
            item=f"i{item}",
            form=form,
            repetition=repetition,
            compliant=compliant,
            target=item,
            text=f"{model} {item} {form} {repetition}",
            observed=chance.choice([None, 3]),
            error=chance.choice([None, 1]),
            direction="exact" if compliant else chance.choice(["under", "over"]),
            status=chance.choice(["ok", "truncated", "refused"]),
        )
        if odd and chance.random() < 0.3:
            row = replace(row, **chance.choice(STRANGE))
        if not odd or chance.random() < 0.9:
            rows.append(row)
    return rows


def find(
    rows: Sequence[Row], panel: str = "p", *, models: Sequence[str] = MODELS, limit: int = MAX_EXAMPLES
) -> Examples | None:
    return find_examples(
        table_of(rows),
        panel,
        reference="POS",
        forms=FORMS,
        directions=DIRECTIONS,
        models=models,
        limit=limit,
    )


def every_pair(rows: Sequence[Row], models: Sequence[str] = MODELS) -> list[tuple[Row, Row]]:
    """By looking at each row beside each other one."""
    return [
        (good, bad)
        for good in rows
        for bad in rows
        if (good.panel, good.model, good.item, good.repetition, good.target)
        == (bad.panel, bad.model, bad.item, bad.repetition, bad.target)
        and good.model in models
        and good.form == "POS"
        and bad.form != "POS"
        and good.compliant is True
        and bad.compliant is False
        and good.text is not None
        and bad.text is not None
    ]


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.integers(0, 30))
def test_every_example_is_a_pair_and_every_pair_is_counted(seed: int, limit: int):
    rows = random_rows(seed)
    models = MODELS[: 1 + seed % 3]
    found = find(rows, models=models, limit=limit)
    pairs = every_pair(rows, models)
    assert found is not None
    assert found.n_pairs == len(pairs)
    assert len(found.pairs) == min(limit, len(pairs))
    by_cell = {(bad.model, bad.form, bad.item, bad.repetition): (good, bad) for good, bad in pairs}
    assert len({(each.model, each.form, each.item, each.repetition) for each in found.pairs}) == len(
        found.pairs
    )
    for each in found.pairs:
        good, bad = by_cell[each.model, each.form, each.item, each.repetition]
        assert (each.reference_text, each.reference_observed) == (good.text, good.observed)
        assert (each.text, each.observed, each.error, each.direction, each.status, each.target) == (
            bad.text,
            bad.observed,
            bad.error,
            bad.direction,
            bad.status,
            bad.target,
        )


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_rows_of_other_panels_do_not_matter(seed: int, chance: random.Random):
    rows = random_rows(seed)
    expected = find(rows)
    shuffled = [*rows, *random_rows(seed + 1, panel="a"), *random_rows(seed + 2, panel="z", odd=False)]
    chance.shuffle(shuffled)
    assert find(shuffled) == expected
    others = [replace(row, model=f"other {row.model}") for row in rows]  # not among the primary models
    assert find([*others, *rows]) == expected


def test_how_files_are_split_does_not_matter(tmp_path):
    rows = random_rows(3, odd=False)
    expected = find(rows)
    one, two, three = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "three"))
    lines = [row.to_json() + "\n" for row in rows]
    for path, part in ((one, lines[1::2]), (two, lines[::2][::-1]), (three, lines[::3])):
        path.write_text("".join(part), encoding="ascii")
    for paths in ([one, two], [three, two, one], [two, one, one]):
        table = read_table(paths)
        found = find_examples(table, "p", reference="POS", forms=FORMS, directions=DIRECTIONS, models=MODELS)
        assert len(table) == len(rows)
        assert found == expected


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(1, 40))
def test_examples_are_spread_over_forms_directions_and_models(seed: int, limit: int):
    rows = random_rows(seed, n_items=8, odd=False)
    pairs = every_pair(rows)
    found = find(rows, limit=limit)
    assert found is not None
    available = Counter(bad.form for _, bad in pairs)
    shown = Counter(each.form for each in found.pairs)
    # One form is ahead of another by more than one only where the other has no more to show.
    for one in available:
        for other in available:
            assert shown[one] <= shown[other] + 1 or shown[other] == available[other]
    for form in available:
        of_direction = Counter(bad.direction for _, bad in pairs if bad.form == form)
        shown_of = Counter(each.direction for each in found.pairs if each.form == form)
        for one in of_direction:
            for other in of_direction:
                assert shown_of[one] <= shown_of[other] + 1 or shown_of[other] == of_direction[other]


def test_models_take_turns():
    rows = [
        row
        for model in MODELS
        for item in range(20)
        for row in (
            Row("p", model, "x", f"i{item}", "POS", 1, compliant=True, text="good", direction="exact"),
            Row("p", model, "x", f"i{item}", "NEG", 1, compliant=False, text="bad", direction="under"),
        )
    ]
    found = find(rows, limit=7)
    assert found is not None
    assert sorted(Counter(each.model for each in found.pairs).values()) == [2, 2, 3]
    assert found.n_pairs == 60
    # Each model shows items of its own, not the same few again.
    items = {model: {each.item for each in found.pairs if each.model == model} for model in MODELS}
    assert len(set.union(*items.values())) > 3


def test_examples_are_shown_by_form_then_direction():
    found = find(random_rows(5, n_items=8, odd=False), limit=20)
    assert found is not None
    places = [(FORMS.index(each.form), DIRECTIONS.index(str(each.direction))) for each in found.pairs]
    assert places == sorted(places)


def test_rows_without_texts_have_no_examples():
    rows = [replace(row, text=None) for row in random_rows(1, odd=False)]
    assert find(rows) is None
    assert find(random_rows(1), panel="nowhere") is None
    assert "examples" not in to_document(build_audit(rows, replicates=0))["panels"]["p"]


def test_texts_without_a_pair_are_examples_of_nothing():
    every = [replace(row, compliant=True) for row in random_rows(1, odd=False)]
    none = [replace(row, compliant=False) for row in every]
    no_reference = [row for row in random_rows(1, odd=False) if row.form != "POS"]
    for rows in (every, none, no_reference):
        found = find(rows)
        assert found is not None
        assert (found.n_pairs, found.pairs) == (0, ())


def test_targets_that_differ_make_no_pair():
    good = Row("p", "a", "x", "i", "POS", 1, compliant=True, text="good", target=5)
    bad = Row("p", "a", "x", "i", "NEG", 1, compliant=False, text="bad", target=5)
    found = find([good, bad])
    assert found is not None
    assert found.n_pairs == 1
    for target in (8, None, "5", (5, 5)):
        found = find([good, replace(bad, target=target)])
        assert found is not None
        assert found.n_pairs == 0


@pytest.mark.parametrize("directions", [(None, ""), ("", None)])
def test_a_direction_that_is_empty_is_not_one_that_is_missing(directions):
    rows = [
        row
        for number, direction in enumerate(directions * 6)
        for row in (
            Row("p", "a", "x", f"i{number}", "POS", 1, compliant=True, text="good"),
            Row("p", "a", "x", f"i{number}", "NEG", 1, compliant=False, text="bad", direction=direction),
        )
    ]
    found, again = find(rows, limit=5), find(rows[::-1], limit=5)
    assert found == again


def test_what_the_document_says_of_examples():
    good = Row("p", "a", "x", "i", "POS", 2, compliant=True, text="one two", target=(2, 3), observed=2)
    bad = replace(good, form="NEG", compliant=False, text="", observed=0, status="truncated")
    panel = to_document(build_audit([good, bad], replicates=0))["panels"]["p"]
    assert panel["examples"]["n_pairs"] == 1
    assert "hash" in panel["examples"]["rule"]
    assert panel["examples"]["pairs"] == [
        {
            "model": "a",
            "form": "NEG",
            "item": "i",
            "target": [2, 3],
            "repetition": 2,
            "reference": {"form": "POS", "text": "one two", "observed": 2},
            "contrast": {"text": "", "observed": 0, "status": "truncated"},
        }
    ]

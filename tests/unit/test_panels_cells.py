import dataclasses
import itertools
import re
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.errors import PanelError
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.panels.cells import cell_id, plan_cells
from wise_pytest.panels.loader import bundled_items
from wise_pytest.panels.model import Decoding, Form, Item, Panel
from wise_pytest.panels.selection import select_forms, select_items
from wise_pytest.records import Cell

ITEMS = (
    Item("sky", "Why is the sky blue?", 5, "light", ("cause", "colour")),
    Item("sea", "Why is the sea salty?", 8, "rivers", ("source",)),
)
PANEL = Panel(
    panel_id="short",
    title="Short",
    question="Is it short?",
    verifier="word_count/1",
    bootstrap="model-item",
    reference="POS",
    forms=(Form("POS", "Use {n} words."), Form("NEG", "Use no more or fewer than {n} words.")),
    items=ITEMS,
    repetitions=2,
    decoding=Decoding(max_tokens=50, temperature=0.2),
    target_from="target_words",
    fixed_target=None,
)


def plan(**changes):
    return list(plan_cells(PANEL, model="m", provider="p", **changes))


def places(cells):
    return [(cell.item, cell.form, cell.repetition) for cell in cells]


def test_cells_come_by_item_then_form_then_repetition():
    assert places(plan()) == [
        ("sky", "POS", 1),
        ("sky", "POS", 2),
        ("sky", "NEG", 1),
        ("sky", "NEG", 2),
        ("sea", "POS", 1),
        ("sea", "POS", 2),
        ("sea", "NEG", 1),
        ("sea", "NEG", 2),
    ]


def test_a_cell_holds_all_that_is_asked_and_how_it_is_scored():
    assert plan()[7] == Cell(
        model="m",
        provider="p",
        panel="short",
        item="sea",
        form="NEG",
        repetition=2,
        target=8,
        instruction="Use no more or fewer than 8 words.",
        prompt="Why is the sea salty? Use no more or fewer than 8 words.",
        verifier="word_count/1",
    )


def test_what_is_kept_stays_in_the_order_of_the_panel():
    assert places(plan(forms=["NEG", "POS"], items=["sea", "sky", "sea"])) == places(plan())
    assert places(plan(forms=["NEG"], items=["sea"], repetitions=1)) == [("sea", "NEG", 1)]


def test_nothing_asked_for_is_nothing_planned():
    assert plan(forms=[]) == []
    assert plan(items=[]) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forms": ["POSS"]}, "unknown form of panel short 'POSS' (known: POS, NEG); did you mean 'POS'?"),
        ({"forms": ["neg"]}, "unknown form of panel short 'neg' (known: POS, NEG); did you mean 'NEG'?"),
        ({"items": ["skye"]}, "unknown item 'skye' (known: sky, sea); did you mean 'sky'?"),
        ({"items": ["1"]}, "unknown item '1' (known: sky, sea)"),
        ({"repetitions": 0}, "panel short: expected repetitions from 1, not 0"),
    ],
)
def test_what_cannot_be_planned_is_said_before_the_first_cell_is_taken(changes, message):
    with pytest.raises(PanelError) as caught:
        plan_cells(PANEL, model="m", provider="p", **changes)
    assert str(caught.value) == message


def test_forms_are_selected_by_id():
    assert select_forms(PANEL, ["NEG"]) == PANEL.forms[1:]
    assert select_forms(PANEL, ["NEG", "POS"]) == PANEL.forms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", ["sky"]),
        (" 2 ", ["sky", "sea"]),
        ("sea", ["sea"]),
        ("sea, sky,", ["sky", "sea"]),
        ("sky,sky", ["sky"]),
    ],
)
def test_items_are_selected_by_count_or_id(text, expected):
    assert [item.item_id for item in select_items(ITEMS, text)] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "cannot take 0 items: expected a number from 1 to 2"),
        ("-1", "cannot take -1 items: expected a number from 1 to 2"),
        ("3", "cannot take 3 items: expected a number from 1 to 2"),
        ("1,2", "unknown item '1' (known: sky, sea)"),
        ("1.5", "unknown item '1.5' (known: sky, sea)"),
        ("9" * 10, f"unknown item '{'9' * 10}' (known: sky, sea)"),
        ("sky,sae", "unknown item 'sae' (known: sky, sea); did you mean 'sea'?"),
        ("", "expected a count of items or item ids with commas between them, not ''"),
        (" , ", "expected a count of items or item ids with commas between them, not ' , '"),
    ],
)
def test_items_that_do_not_exist_cannot_be_selected(text, message):
    with pytest.raises(PanelError) as caught:
        select_items(ITEMS, text)
    assert str(caught.value) == message


@pytest.mark.parametrize("n_items", ["4", "20", "100"])
def test_a_count_of_bundled_items_is_balanced_over_the_targets(n_items):
    counts = Counter(item.target_words for item in select_items(bundled_items(), n_items))
    assert counts == dict.fromkeys([5, 8, 10, 12], int(n_items) // 4)


def test_an_id_is_panel_model_item_form_repetition():
    assert [cell_id(cell) for cell in plan(repetitions=1)] == [
        "short-m-sky-pos-r1",
        "short-m-sky-neg-r1",
        "short-m-sea-pos-r1",
        "short-m-sea-neg-r1",
    ]


def test_all_cells_of_a_large_session_have_ids_of_their_own():
    models = ["gpt-4.1-mini", "GPT-4.1-mini", "gpt-4.1-mini.", "a/b", "a-b", "m" * 300 + "1", "m" * 300 + "2"]
    cells = [
        cell
        for panel in bundled_panels().values()
        for model in models
        for cell in plan_cells(panel, model=model, provider="p", items=["i001", "i002"])
    ]
    ids = [cell_id(cell) for cell in cells]
    assert len(cells) == 7 * 2 * 89 * 3
    assert len(set(ids)) == len(cells)
    assert all(re.fullmatch("[a-z0-9._-]+", one) for one in ids)
    assert max(map(len, ids)) <= 130


# Names as they may come from elsewhere: what a hyphen, a dot or a capital could make alike.
NAMES = [
    "a",
    "A",
    "a-b",
    "a.b",
    "a_b",
    "b",
    "a--b",
    "-",
    ".",
    "",
    "a::b",
    "[x]",
    "a@b",
    "\0",
    "né",
    "a/b",
    "\ud83d",
]


def make_cell(panel, model, item, form, repetition=1):
    return dataclasses.replace(
        plan()[0], panel=panel, model=model, item=item, form=form, repetition=repetition
    )


def test_ids_keep_apart_whatever_the_names():
    ids = [cell_id(make_cell(*names)) for names in itertools.product(NAMES, NAMES, NAMES[:8], NAMES[:8])]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z0-9._-]+", one) for one in ids)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("p", "m-a", "b", "POS"), ("p", "m", "a-b", "POS")),
        (("p-m", "a", "b", "POS"), ("p", "m-a", "b", "POS")),
        (("p", "m", "a-b", "C"), ("p", "m", "a", "B-C")),
        (("p", "m", "a", "POS"), ("p", "m", "a", "pos")),
        (("p", "m", "a-b", "POS"), ("p", "m", "a.b", "POS")),
        (("p", "M", "a", "POS"), ("p", "m", "a", "POS")),
    ],
)
def test_a_hyphen_or_capital_that_moves_does_not_make_two_cells_alike(one, other):
    assert cell_id(make_cell(*one)) != cell_id(make_cell(*other))


names = st.text(st.sampled_from("aAr1-._"), max_size=3)
cells = st.builds(make_cell, names, names, names, names, st.integers(1, 12))


@given(cells, cells)
def test_ids_are_equal_only_where_cells_are(one, other):
    assert (cell_id(one) == cell_id(other)) == (one.key == other.key)


def test_planning_and_naming_a_large_session_takes_no_time_worth_speaking_of():
    # Those of the study: 25 forms over 100 items.
    panels = list(bundled_panels().values())[:6]

    def cpu_seconds():
        start = time.process_time()
        planned = [
            cell
            for panel in panels
            for model in ("one", "two", "three")
            for cell in plan_cells(panel, model=model, provider="p")
        ]
        assert len({cell_id(cell) for cell in planned}) == 22_500
        return time.process_time() - start

    assert min(cpu_seconds() for _ in range(3)) < 0.5

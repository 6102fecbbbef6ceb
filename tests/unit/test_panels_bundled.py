"""The panels that come with the package: their texts, and that each asks for what its verifier checks."""

import re
from importlib.resources import files

import pytest

from wise_pytest.errors import PanelError
from wise_pytest.panels.catalog import PANEL_IDS, bundled_panel, bundled_panels
from wise_pytest.panels.loader import bundled_items

ORDER = [
    "exact_count",
    "avoidance_family",
    "constructional_controls",
    "keyword_once",
    "length_range",
    "json_structure",
]

# As the definitions of the study give them; a changed letter makes every recording stale.
FORMS = {
    "exact_count": {
        "POS": "Answer using exactly {n} words.",
        "NEG": "Do not use more or fewer than {n} words.",
        "NEVER": "Never use more or fewer than {n} words.",
        "AVOID1": "Avoid using any number of words other than {n}.",
        "AVOID2": "Avoid giving an answer that is not exactly {n} words.",
        "CNEG": "Do not fail to answer using exactly {n} words.",
    },
    "avoidance_family": {
        "POS": "Answer using exactly {n} words.",
        "AVOID1": "Avoid using any number of words other than {n}.",
        "AVOID3": "Avoid exceeding or falling short of {n} words.",
        "AVOID4": "Avoid an answer with a word count different from {n}.",
        "EXCLUDE1": "Use no word count except {n}.",
        "EXCLUDE2": "Your answer should have no length other than {n} words.",
    },
    "constructional_controls": {
        "POS": "Answer using exactly {n} words.",
        "POS_LONG": "Your answer should consist of a total of exactly {n} words.",
        "POS_END": "The total number of words in your answer should be exactly {n}.",
        "AVOID1": "Avoid using any number of words other than {n}.",
    },
    "keyword_once": {
        "POS": 'Use the word "{keyword}" exactly once.',
        "NEG": 'Do not use the word "{keyword}" more or fewer than one time.',
        "AVOID": 'Avoid using the word "{keyword}" any number of times other than one.',
    },
    "length_range": {
        "POS": "Answer using at least {low} and at most {high} words.",
        "NEG": "Do not use fewer than {low} or more than {high} words.",
        "AVOID": "Avoid using any number of words below {low} or above {high}.",
    },
    "json_structure": {
        "POS": "Answer with only a JSON object that has exactly the keys {keys}.",
        "NEG": "Do not answer with anything other than a JSON object that has exactly the keys {keys}.",
        "AVOID": "Avoid answering with anything other than a JSON object that has exactly the keys {keys}.",
    },
}
BOOTSTRAP = {
    "exact_count": "provider-model-item",
    "avoidance_family": "provider-model-item",
    "constructional_controls": "item-cluster",
    "keyword_once": "item-cluster",
    "length_range": "model-item",
    "json_structure": "item-cluster",
}
VERIFIER = {
    "exact_count": "word_count/1",
    "avoidance_family": "word_count/1",
    "constructional_controls": "word_count/1",
    "keyword_once": "keyword_once/1",
    "length_range": "word_range/1",
    "json_structure": "json_keys/1",
}


@pytest.fixture(scope="module")
def panels():
    return bundled_panels()


def test_the_panels_come_in_a_fixed_order(panels):
    assert list(panels) == list(PANEL_IDS) == ORDER


def test_every_panel_file_is_in_the_list():
    found = {entry.name for entry in files("wise_pytest.panels").iterdir() if entry.name.endswith(".toml")}
    assert found == {f"{panel_id}.toml" for panel_id in ORDER}


@pytest.mark.parametrize("panel_id", ORDER)
def test_the_wordings_are_those_of_the_study(panels, panel_id):
    forms = [(form.form_id, form.template) for form in panels[panel_id].forms]
    assert forms == list(FORMS[panel_id].items())


@pytest.mark.parametrize("panel_id", ORDER)
def test_the_settings_are_those_of_the_study(panels, panel_id):
    panel = panels[panel_id]
    assert panel.panel_id == panel_id
    assert (panel.reference, panel.bootstrap, panel.verifier) == (
        "POS",
        BOOTSTRAP[panel_id],
        VERIFIER[panel_id],
    )
    assert (panel.repetitions, panel.decoding.max_tokens, panel.decoding.temperature) == (3, 120, 0.2)
    assert panel.question.endswith("?")


@pytest.mark.parametrize("panel_id", ORDER)
def test_every_panel_asks_the_same_items(panels, panel_id):
    assert panels[panel_id].items == bundled_items()
    assert len(panels[panel_id].items) == 100


def test_prompts_read_as_written_by_hand(panels):
    item = bundled_items()[0]
    assert item.task == "Why do we see lightning before we hear thunder?"
    prompts = {
        panel_id: [panel.prompt(item, form) for form in panel.forms][-1] for panel_id, panel in panels.items()
    }
    assert prompts == {
        "exact_count": f"{item.task} Do not fail to answer using exactly 5 words.",
        "avoidance_family": f"{item.task} Your answer should have no length other than 5 words.",
        "constructional_controls": f"{item.task} Avoid using any number of words other than 5.",
        "keyword_once": f'{item.task} Avoid using the word "faster" any number of times other than one.',
        "length_range": f"{item.task} Avoid using any number of words below 8 or above 12.",
        "json_structure": f"{item.task} Avoid answering with anything other than a JSON object that has "
        'exactly the keys "cause", "light_speed" and "sound_speed".',
    }


@pytest.mark.parametrize("panel_id", ORDER)
def test_every_form_names_the_whole_target_of_every_item(panels, panel_id):
    panel = panels[panel_id]
    for item in panel.items:
        target = panel.target(item)
        parts = [str(part) for part in target] if isinstance(target, tuple) else [str(target)]
        for form in panel.forms:
            instruction = panel.instruction(item, form)
            assert [part for part in parts if not re.search(rf"(?<!\w){part}(?!\w)", instruction)] == []
            assert "{" not in instruction
            assert panel.prompt(item, form) == f"{item.task} {instruction}"


def test_one_panel_loads_without_the_others(panels):
    assert bundled_panel("length_range") == panels["length_range"]


@pytest.mark.parametrize("name", ["exact_cuont", "Exact_Count", "exact_count.toml"])
def test_an_unknown_panel_is_an_error_that_names_what_exists_and_what_is_close(name):
    with pytest.raises(PanelError) as caught:
        bundled_panel(name)
    assert f"unknown panel {name!r} (known: {', '.join(ORDER)}); did you mean 'exact_count'?" in str(
        caught.value
    )


@pytest.mark.parametrize("name", ["", "../exact_count", "items"])
def test_a_name_is_no_way_to_another_file(name):
    with pytest.raises(PanelError, match="unknown panel"):
        bundled_panel(name)

"""The panels that come with the package: their texts, and that each asks for what its verifier checks."""

import itertools
import json
import re
import unicodedata
from collections import Counter
from importlib.resources import files

import pytest

from wise_pytest.errors import PanelError
from wise_pytest.panels.catalog import PANEL_IDS, bundled_panel, bundled_panels, check_one_language
from wise_pytest.panels.check import check_panel
from wise_pytest.panels.loader import bundled_items, manifest_digest
from wise_pytest.verifiers import get_verifier

ORDER = [
    "exact_count",
    "avoidance_family",
    "constructional_controls",
    "keyword_once",
    "length_range",
    "json_structure",
    "ordering",
    "capitalization",
    "citation_format",
    "tool_call_schema",
    "multi_constraint",
    "factorial_count",
    "exact_count_de",
    "exact_count_es",
]
STUDY = ORDER[:6]
"""Those of the paper: their texts are given, and frozen."""
LANGUAGES = {"exact_count_de": "de", "exact_count_es": "es"}

CALL = 'a JSON object that has exactly the keys "name" and "arguments" and calls this function: {call}'
WHEN = "when you write down your whole answer to this request"
WHOLE = "the complete response that is given to this request"
# As the definitions give them, letter by letter; a changed one makes every recording stale.
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
    "ordering": {
        "POS": "Answer only in three parts that begin with {parts}, in this order.",
        "NEG": "Do not answer in anything other than three parts that begin with {parts}, in this order.",
        "AVOID": "Avoid answering in anything other than three parts that begin with {parts}, in this order.",
        "EXCLUDE": "Use no structure except three parts that begin with {parts}, in this order.",
    },
    "capitalization": {
        "POS": "Write your entire answer in lower case.",
        "NEG": "Do not use any capital letters in your answer.",
        "AVOID": "Avoid using capital letters anywhere in your answer.",
        "EXCLUDE": "Use no letter case except lower case in your answer.",
    },
    "citation_format": {
        "POS": "Include exactly one citation in the form {citation}.",
        "NEG": "Do not include more or fewer than one citation in the form {citation}.",
        "AVOID": "Avoid including any number of citations in the form {citation} other than one.",
        "EXCLUDE": "Your answer should have no number of citations in the form {citation} other than one.",
    },
    "tool_call_schema": {
        "POS": f"Answer with only {CALL}",
        "NEG": f"Do not answer with anything other than {CALL}",
        "AVOID": f"Avoid answering with anything other than {CALL}",
        "EXCLUDE": f"Give no answer except {CALL}",
    },
    "multi_constraint": {
        "POS": 'Answer using exactly {n} words, and use the word "{keyword}" exactly once.',
        "NEG": 'Do not use more or fewer than {n} words, and do not use the word "{keyword}" more or fewer '
        "than one time.",
        "AVOID": 'Avoid using any number of words other than {n}, and avoid using the word "{keyword}" any '
        "number of times other than one.",
        "EXCLUDE": "Your answer should have no length other than {n} words, and no number of uses of the "
        'word "{keyword}" other than one.',
    },
    "factorial_count": {
        "AFFIRM_SHORT_EARLY_PLAIN": "Use exactly {n} words in your answer.",
        "AFFIRM_SHORT_EARLY_FORMAL": "Exactly {n} words shall constitute the response.",
        "AFFIRM_SHORT_LATE_PLAIN": "Keep your answer to exactly {n} words.",
        "AFFIRM_SHORT_LATE_FORMAL": "The response shall consist of exactly {n} words.",
        "AFFIRM_LONG_EARLY_PLAIN": f"Use exactly {{n}} words in total {WHEN}.",
        "AFFIRM_LONG_EARLY_FORMAL": f"A total of exactly {{n}} words shall constitute {WHOLE}.",
        "AFFIRM_LONG_LATE_PLAIN": f"{WHEN}, use a total of exactly {{n}} words.",
        "AFFIRM_LONG_LATE_FORMAL": f"{WHOLE} shall consist of a total of exactly {{n}} words.",
        "NEGATE_SHORT_EARLY_PLAIN": "Don't exceed {n} words or use fewer.",
        "NEGATE_SHORT_EARLY_FORMAL": "Deviation from {n} words shall not be permitted.",
        "NEGATE_SHORT_LATE_PLAIN": "Don't use more or fewer than {n} words.",
        "NEGATE_SHORT_LATE_FORMAL": "The response shall not deviate from {n} words.",
        "NEGATE_LONG_EARLY_PLAIN": f"Don't exceed {{n}} words in total or use fewer {WHEN}.",
        "NEGATE_LONG_EARLY_FORMAL": "Deviation from a total of {n} words shall not be permitted in "
        f"{WHOLE}.",
        "NEGATE_LONG_LATE_PLAIN": f"{WHEN}, don't use a total of more or fewer than {{n}} words.",
        "NEGATE_LONG_LATE_FORMAL": f"{WHOLE} shall not deviate from a total of {{n}} words.",
        "AVOID_SHORT_EARLY_PLAIN": "Avoid exceeding {n} words or using fewer.",
        "AVOID_SHORT_EARLY_FORMAL": "Deviation from {n} words shall be avoided.",
        "AVOID_SHORT_LATE_PLAIN": "Avoid using more or fewer than {n} words.",
        "AVOID_SHORT_LATE_FORMAL": "The response shall avoid deviating from {n} words.",
        "AVOID_LONG_EARLY_PLAIN": f"Avoid exceeding {{n}} words in total or using fewer {WHEN}.",
        "AVOID_LONG_EARLY_FORMAL": f"Deviation from a total of {{n}} words shall be avoided in {WHOLE}.",
        "AVOID_LONG_LATE_PLAIN": f"{WHEN}, avoid using a total of more or fewer than {{n}} words.",
        "AVOID_LONG_LATE_FORMAL": f"{WHOLE} shall avoid deviating from a total of {{n}} words.",
        "EXCLUDE_SHORT_EARLY_PLAIN": "Apart from {n} words, no length will do.",
        "EXCLUDE_SHORT_EARLY_FORMAL": "Except for {n} words, no length shall be permitted.",
        "EXCLUDE_SHORT_LATE_PLAIN": "No length will do apart from {n} words.",
        "EXCLUDE_SHORT_LATE_FORMAL": "No length shall be permitted except for {n} words.",
        "EXCLUDE_LONG_EARLY_PLAIN": f"Apart from {{n}} words in total, no length will do {WHEN}.",
        "EXCLUDE_LONG_EARLY_FORMAL": "Except for a total of {n} words, no length shall be permitted for "
        f"{WHOLE}.",
        "EXCLUDE_LONG_LATE_PLAIN": f"{WHEN}, no length will do apart from a total of {{n}} words.",
        "EXCLUDE_LONG_LATE_FORMAL": f"No length shall be permitted for {WHOLE} except for a total of "
        "{n} words.",
    },
    "exact_count_de": {
        "POS": "Antworte mit genau {n} Wörtern.",
        "NEG": "Verwende nicht mehr und nicht weniger als {n} Wörter.",
        "NEVER": "Verwende niemals mehr oder weniger als {n} Wörter.",
        "AVOID1": "Vermeide jede andere Anzahl von Wörtern als {n}.",
        "AVOID2": "Vermeide eine Antwort, die nicht genau {n} Wörter hat.",
        "CNEG": "Versäume es nicht, mit genau {n} Wörtern zu antworten.",
    },
    "exact_count_es": {
        "POS": "Responde con exactamente {n} palabras.",
        "NEG": "No uses ni más ni menos de {n} palabras.",
        "NEVER": "Nunca uses más ni menos de {n} palabras.",
        "AVOID1": "Evita usar un número de palabras distinto de {n}.",
        "AVOID2": "Evita dar una respuesta que no tenga exactamente {n} palabras.",
        "CNEG": "No dejes de responder con exactamente {n} palabras.",
    },
}
BOOTSTRAP = {
    "exact_count": "provider-model-item",
    "avoidance_family": "provider-model-item",
    "length_range": "model-item",
    "exact_count_de": "provider-model-item",
    "exact_count_es": "provider-model-item",
}
"""Of the others: item-cluster."""
VERIFIER = {
    "keyword_once": "keyword_once/1",
    "length_range": "word_range/1",
    "json_structure": "json_keys/1",
    "ordering": "ordered_parts/1",
    "capitalization": "lower_case/1",
    "citation_format": "citation_once/1",
    "tool_call_schema": "tool_call/1",
    "multi_constraint": "words_and_keyword/1",
}
"""Of the others: word_count/1."""
DIGESTS = {
    "exact_count": "9a8da7b7360a31d9c7c2b76ece60e273d161e9e222566764c6c87d373c83bb0e",
    "avoidance_family": "05a4880e0bfc151d0df6392b031d66e0d636f552b766d7826cb15b2f9edb0190",
    "constructional_controls": "bfc62f51af4d866ec482814abc1a26823d82d8393226adb3d9e427e933b874f5",
    "keyword_once": "560c22fac030de6d27db0fbc5581ef5e83db5e23f6ac9a38a4cf174ff3ea79e0",
    "length_range": "71352cac80f7492c6d1d1b9cdd647e16f00143164b9378bc07e8b4aa8e7e830e",
    "json_structure": "6e880b813986d7cd39473581ca2c958ea077d8964dbb4c4d31aadb7ce103390f",
    "ordering": "cc310e65e38788a29d471ece0c50f2f7087762b6a029756e342483c582c874f3",
    "capitalization": "dc50b92d7a0cfc739376e3320e81280d90befbccdc47c611617992f7298cf1a6",
    "citation_format": "6d77e91b94076d28ed8ebfc8fe25aefbef971efa352383658fb3593bee88c434",
    "tool_call_schema": "817d92c22ff28da2a862db7976c27fa635a2c1641fa999b5d469424cc1854dd0",
    "multi_constraint": "f76ecbfb3523af97e494f5dd092e1203fa56e6e2019c336490965ffb77936e62",
    "factorial_count": "f31e3587ca9f9422348816b2d9b5def58c59694ff3616634747c2a8b3eb473b9",
    "exact_count_de": "4b09c3fba82225e7caa7a87ae894cfea2da6a734bd2d9aae7620f86a6f27b1db",
    "exact_count_es": "be57c9a6f4396661ecfaa6e00f8a0cad473f9b849fbbb424bb61db247b8d7c8a",
}
"""Of what the panels ask: recordings and manifests of earlier runs hold them."""


def spelled(template):
    """A template as a sentence: the parts of this file begin with a small letter."""
    return template[0].upper() + template[1:]


@pytest.fixture(scope="module")
def panels():
    return bundled_panels()


def test_the_panels_come_in_a_fixed_order(panels):
    assert list(panels) == list(PANEL_IDS) == ORDER
    assert len(panels) == 14


def test_every_panel_file_is_in_the_list():
    found = {entry.name for entry in files("wise_pytest.panels").iterdir() if entry.name.endswith(".toml")}
    assert found == {f"{panel_id}.toml" for panel_id in ORDER}


@pytest.mark.parametrize("panel_id", ORDER)
def test_the_wordings_are_these(panels, panel_id):
    forms = [(form.form_id, form.template) for form in panels[panel_id].forms]
    assert forms == [(form_id, spelled(template)) for form_id, template in FORMS[panel_id].items()]


@pytest.mark.parametrize("panel_id", ORDER)
def test_the_settings_are_these(panels, panel_id):
    panel = panels[panel_id]
    assert panel.panel_id == panel_id
    assert panel.reference == ("AFFIRM_SHORT_EARLY_PLAIN" if panel_id == "factorial_count" else "POS")
    assert panel.bootstrap == BOOTSTRAP.get(panel_id, "item-cluster")
    assert panel.verifier == VERIFIER.get(panel_id, "word_count/1")
    assert panel.scorer() is get_verifier(panel.verifier)
    assert (panel.repetitions, panel.decoding.max_tokens, panel.decoding.temperature) == (3, 120, 0.2)
    assert panel.language == LANGUAGES.get(panel_id, "en")
    assert panel.question.endswith("?")


@pytest.mark.parametrize("panel_id", ORDER)
def test_what_the_panels_ask_has_not_changed(panels, panel_id):
    assert manifest_digest(panels[panel_id]) == DIGESTS[panel_id]
    if panel_id in STUDY:
        assert panels[panel_id].items == bundled_items()


@pytest.mark.parametrize("panel_id", ORDER)
def test_every_panel_asks_the_same_items(panels, panel_id):
    items = panels[panel_id].items
    assert [item.item_id for item in items] == [item.item_id for item in bundled_items()]
    assert len(items) == 100
    if panel_id not in LANGUAGES:
        assert [item.task for item in items] == [item.task for item in bundled_items()]


@pytest.mark.parametrize(
    "panel_id", [name for name in ORDER[6:] if name not in {*LANGUAGES, "factorial_count"}]
)
def test_every_new_panel_has_the_four_kinds_of_wording(panels, panel_id):
    assert [form.form_id for form in panels[panel_id].forms] == ["POS", "NEG", "AVOID", "EXCLUDE"]


def test_prompts_read_as_written_by_hand(panels):
    item = bundled_items()[0]
    assert item.task == "Why do we see lightning before we hear thunder?"
    prompts = {
        panel_id: [panel.prompt(panel.items[0], form) for form in panel.forms][-1]
        for panel_id, panel in panels.items()
    }
    assert prompts == {
        "exact_count": f"{item.task} Do not fail to answer using exactly 5 words.",
        "avoidance_family": f"{item.task} Your answer should have no length other than 5 words.",
        "constructional_controls": f"{item.task} Avoid using any number of words other than 5.",
        "keyword_once": f'{item.task} Avoid using the word "faster" any number of times other than one.',
        "length_range": f"{item.task} Avoid using any number of words below 8 or above 12.",
        "json_structure": f"{item.task} Avoid answering with anything other than a JSON object that has "
        'exactly the keys "cause", "light_speed" and "sound_speed".',
        "ordering": f"{item.task} Use no structure except three parts that begin with "
        '"Light:", "Sound:" and "Comparison:", in this order.',
        "capitalization": f"{item.task} Use no letter case except lower case in your answer.",
        "citation_format": f"{item.task} Your answer should have no number of citations in the form "
        "[Surname, Year] other than one.",
        "tool_call_schema": f"{item.task} Give no answer except a JSON object that has exactly the keys "
        '"name" and "arguments" and calls this function: {"name":"save_answer","parameters":{"type":"object",'
        '"properties":{"answer":{"type":"string","minLength":1},"confidence":{"type":"number",'
        '"minimum":0,"maximum":1}},"required":["answer","confidence"],"additionalProperties":false}}',
        "multi_constraint": f"{item.task} Your answer should have no length other than 5 words, and no "
        'number of uses of the word "faster" other than one.',
        "factorial_count": f"{item.task} No length shall be permitted for the complete response that is "
        "given to this request except for a total of 5 words.",
        "exact_count_de": "Warum sehen wir den Blitz, bevor wir den Donner hören? Versäume es nicht, mit "
        "genau 5 Wörtern zu antworten.",
        "exact_count_es": "¿Por qué vemos el relámpago antes de oír el trueno? No dejes de responder con "
        "exactamente 5 palabras.",
    }


@pytest.mark.parametrize("panel_id", [name for name in ORDER if name != "capitalization"])
def test_every_form_names_the_whole_target_of_every_item(panels, panel_id):
    panel = panels[panel_id]
    for item in panel.items:
        target = panel.target(item)
        parts = [str(part) for part in target] if isinstance(target, tuple) else [str(target)]
        for form in panel.forms:
            instruction = panel.instruction(item, form)
            missing = [p for p in parts if not re.search(rf"(?<!\w){re.escape(p)}(?!\w)", instruction)]
            assert missing == []
            assert "{" not in instruction or panel_id == "tool_call_schema"
            assert panel.prompt(item, form) == f"{item.task} {instruction}"


@pytest.mark.parametrize("panel_id", ORDER)
def test_a_check_of_a_bundled_panel_finds_nothing(panels, panel_id):
    found = check_panel(panels[panel_id])
    assert found.self_test == ()
    if panel_id in STUDY:  # their files are frozen
        assert found.warnings == ("there is no [self_test]: declare texts that pass and texts that fail",)
    else:
        assert found.warnings == ()
        assert found.n_texts >= 3


# The factorial panel: what its factors mean is held here, so that no wording can drift out of its cell.


def test_the_factorial_panel_has_every_combination_of_its_levels(panels):
    panel = panels["factorial_count"]
    assert {factor.name: factor.levels for factor in panel.factors} == {
        "polarity": ("affirm", "negate", "avoid", "exclude"),
        "length": ("short", "long"),
        "position": ("early", "late"),
        "naturalness": ("plain", "formal"),
    }
    assert [form.levels for form in panel.forms] == list(
        itertools.product(*(factor.levels for factor in panel.factors))
    )
    assert [form.form_id for form in panel.forms] == ["_".join(form.levels).upper() for form in panel.forms]


def test_each_wording_of_the_factorial_panel_has_its_levels(panels):
    for form in panels["factorial_count"].forms:
        polarity, length, position, naturalness = form.levels
        words = form.template.removesuffix(".").split()
        lowered = form.template.lower()
        place = words.index("{n}") + 1
        assert (len(words) <= 9) == (length == "short")
        assert (len(words) >= 16) == (length == "long")
        # Early: in the first half. Late: all that follows is the word "words".
        assert (place <= len(words) / 2) == (position == "early")
        assert (words[place:] == ["words"]) == (position == "late")
        assert ("shall" in lowered.split()) == (naturalness == "formal")
        signs = {
            "negate": "don't" in lowered or "shall not" in lowered,
            "avoid": "avoid" in lowered,
            "exclude": "no length" in lowered,
        }
        assert [sign for sign, found in signs.items() if found] == (
            [polarity] if polarity != "affirm" else []
        )
        assert ("exactly {n}" in lowered) == (polarity == "affirm")
        if naturalness == "formal":
            assert not re.search("['’]|\\b(you|your|use|will do)\\b", lowered)
        if length == "long":
            assert ("whole answer to this request" in lowered) == (naturalness == "plain")
            assert ("complete response that is given to this request" in lowered) == (naturalness == "formal")
            assert "total" in lowered


NUMERALS = re.compile(
    r"[0-9]|\b(zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|single|both)\b"
)


@pytest.mark.parametrize("item", bundled_items()[:4], ids=lambda item: str(item.target_words))
def test_no_wording_of_the_factorial_panel_names_a_second_number(panels, item):
    for form in panels["factorial_count"].forms:
        instruction = panels["factorial_count"].instruction(item, form)
        assert instruction.count(f"{item.target_words} words") == 1
        assert NUMERALS.findall(instruction.lower().replace(f"{item.target_words} words", "")) == []


def test_wordings_of_the_factorial_panel_differ_as_their_levels_say(panels):
    forms = {form.levels: form.template for form in panels["factorial_count"].forms}
    assert len(set(forms.values())) == 32
    for levels, template in forms.items():
        polarity, length, position, naturalness = levels
        words = template.removesuffix(".").split()
        if length == "short":
            longer = forms[polarity, "long", position, naturalness].split()
            assert len(longer) >= len(words) + 8, levels
        if position == "early":
            later = forms[polarity, length, "late", naturalness].removesuffix(".").split()
            assert later.index("{n}") >= words.index("{n}") + 2, levels
            # The place is what differs, not the length.
            assert abs(len(later) - len(words)) <= 3, levels


# Tables of the panels' own


def test_the_labels_of_ordered_parts_are_three_plain_names(panels):
    labels = [panels["ordering"].target(item) for item in panels["ordering"].items]
    assert all(len(parts) == 3 for parts in labels)
    assert all(re.fullmatch("[A-Z][a-z]+:", label) for parts in labels for label in parts)
    # The task does not give them away as they stand, so a bare echo of it has no part.
    for item, parts in zip(panels["ordering"].items, labels, strict=True):
        assert not [label for label in parts if label in item.task]
    assert len(set(labels)) >= 95


def test_the_forms_of_citation_and_the_functions_are_balanced(panels):
    forms = Counter(panels["citation_format"].target(item) for item in panels["citation_format"].items)
    assert forms == dict.fromkeys(["[Surname, Year]", "[Number]", "[Surname Page]", "[Source: Title]"], 25)
    functions = Counter(panels["tool_call_schema"].target(item) for item in panels["tool_call_schema"].items)
    assert list(functions.values()) == [20] * 5
    for function in functions:
        assert json.dumps(json.loads(function), separators=(",", ":")) == function
        assert json.loads(function)["parameters"]["additionalProperties"] is False


def test_a_panel_of_several_requirements_has_both_targets_of_the_study(panels):
    panel = panels["multi_constraint"]
    assert [panel.target(item) for item in panel.items] == [
        (item.target_words, item.keyword) for item in bundled_items()
    ]


@pytest.mark.parametrize("panel_id", LANGUAGES)
def test_the_items_of_another_language_match_those_of_the_study(panels, panel_id):
    items = panels[panel_id].items
    assert [panels[panel_id].target(item) for item in items] == [i.target_words for i in bundled_items()]
    tasks = [item.task for item in items]
    assert len(set(tasks)) == 100
    for task, english in zip(tasks, bundled_items(), strict=True):
        assert task == unicodedata.normalize("NFC", task)
        assert task.endswith("?") == english.task.endswith("?")
        if panel_id == "exact_count_es":
            assert task.startswith("¿") == task.endswith("?")
        assert re.fullmatch("[^\\W\\d_]([^\\W\\d_]|[ ,])*[.?]", task.removeprefix("¿")), task
        assert task != english.task


@pytest.mark.parametrize("panel_id", LANGUAGES)
def test_the_forms_of_another_language_have_the_names_of_the_study(panels, panel_id):
    assert [form.form_id for form in panels[panel_id].forms] == list(FORMS["exact_count"])


def test_several_languages_in_one_audit_are_refused(panels):
    check_one_language([])
    check_one_language(panels[name] for name in ORDER[:12])
    check_one_language([panels["exact_count_de"]])
    with pytest.raises(PanelError) as caught:
        check_one_language(panels[name] for name in ("exact_count", "exact_count_de", "ordering"))
    assert str(caught.value) == (
        "one audit holds panels of one language, and these are of 2 (en: exact_count, ordering; "
        "de: exact_count_de); run one language at a time"
    )


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

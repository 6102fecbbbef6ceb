"""Other ways to read an output: what each takes away, and what it leaves as it is."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wise_pytest.verifiers import VERIFIERS, alternatives
from wise_pytest.verifiers.alternatives import (
    alternatives_for,
    answer_body,
    json_body,
    language_words,
    remove_markdown,
    unicode_words,
    unwrap,
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Light is faster.", "Light is faster."),
        ("**Light** is *faster*.", "Light is faster."),
        ("__Light__ is _faster_.", "Light is faster."),
        ("snake_case_name stays", "snake_case_name stays"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("# Light\n\nIt is `fast`.", "Light\nIt is fast."),
        ("- one\n- two", "one\ntwo"),
        ("1. First point", "First point"),
        ("> quoted text", "quoted text"),
        ("[light](https://example.org) wins", "light wins"),
        ("```python\nlight = 1\n```", "light = 1"),
        ("a  \nb", "a\nb"),
        ("a\nb", "a\nb"),
        ("| a | b |\n|---|---|\n| c | d |", "a\nb\nc\nd"),
        ("---", ""),
        ("", ""),
    ],
)
def test_markdown_is_read_as_it_is_shown(text, read):
    assert remove_markdown(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Light is faster.", "Light is faster."),
        ("```\nLight is faster.\n```", "Light is faster."),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('\n~~~\n{"a": 1}\n~~~\n', '{"a": 1}'),
        ('"Light is faster."', "Light is faster."),
        ("“Light is faster.”", "Light is faster."),
        ("**Light is faster.**", "Light is faster."),
        ("*Light*", "Light"),
        ('**"Light is faster."**', "Light is faster."),
        ("`light`", "light"),
        ("(light)", "light"),
        ('"light" and "sound"', '"light" and "sound"'),
        ("**light** and **sound**", "**light** and **sound**"),
        ("Before ```code```", "Before ```code```"),
        ("```a``` and ```b```", "```a``` and ```b```"),
        ("**", "**"),
        ('""', '""'),
        ("* one", "* one"),
        ("", ""),
    ],
)
def test_only_what_encloses_everything_is_taken_off(text, read):
    assert unwrap(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Light is faster.", "Light is faster."),
        ("Sure! Light is faster.", "Sure! Light is faster."),  # one line: no introduction to leave out
        ("Sure!\nLight is faster.", "Light is faster."),
        ("Here is the answer:\n\nLight is faster.", "Light is faster."),
        ("Here’s one:\nLight is faster.", "Light is faster."),
        ("Hier ist die Antwort:\nLicht ist schneller.", "Licht ist schneller."),
        ("Here is a lighthouse.\nIt shines.", "Here is a lighthouse.\nIt shines."),
        ("Surely light:\nwins", "Surely light:\nwins"),
        ("Answer: Light is faster.", "Light is faster."),
        ("**Answer:** Light is faster.", "Light is faster."),
        ("Final answer: light", "light"),
        ("Respuesta: la luz", "la luz"),
        ("Answering is hard: try.", "Answering is hard: try."),
        ("Light is faster.\n\nI hope this helps!", "Light is faster."),
        ("Light is faster.\n(3 words)", "Light is faster."),
        ("Light is faster.\nWord count: 3", "Light is faster."),
        ("Light is faster.\nLet me know if you need more.\nFeel free to ask!", "Light is faster."),
        ("I hope this helps!", "I hope this helps!"),
        ("Answer:", "Answer:"),
        ("Sure!\nAnswer: light\nI hope so.", "light"),
        ("", ""),
    ],
)
def test_an_answer_loses_only_what_is_around_it(text, read):
    assert answer_body(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('Sure: {"a": 1} Done.', '{"a": 1}'),
        ('```json\n{"a": 1}\n```\nI hope this helps!', '{"a": 1}'),
        ('{"a": {"b": 2}}', '{"a": {"b": 2}}'),
        ('First ```{"a": 1}``` then', '{"a": 1}'),
        ("no object", "no object"),
        ("}{", "}{"),
        ("", ""),
    ],
)
def test_a_json_body_is_what_the_outer_braces_hold(text, read):
    assert json_body(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Light is faster.", "Light is faster"),
        ("a , b . c", "a b c"),
        ("one — two", "one two"),
        ("well-known", "well known"),
        ("well\N{EM DASH}being", "well being"),
        ("can't stop", "can't stop"),
        ("3.14 is pi", "3.14 is pi"),
        ("...", ""),
        ("🌈 after rain", "after rain"),
        ("光合", "光 合"),
        ("", ""),
    ],
)
def test_unicode_words_are_segments_with_a_letter_or_digit(text, read):
    assert unicode_words(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("well-known , stays", "well-known , stays"),
        ("한국어 문장 입니다.", "한국어 문장 입니다."),  # Korean has blanks between its words
        ("光合作用是植物制造食物的过程。", "光合作用 是 植物 制造 食物 的 过程"),
        ("植物は光合成をします。", "植物 は 光合成 を し ます"),
        ("カメラ", "カメラ"),
        ("CO2 是气体。", "CO2 是 气体"),
        ("", ""),
    ],
)
def test_a_dictionary_cuts_what_is_written_without_blanks(text, read):
    assert language_words(text) == read


def test_each_verifier_has_alternatives_that_suit_it():
    ids = {
        verifier.verifier_id: [each.alternative_id for each in alternatives_for(verifier.verifier_id)]
        for verifier in VERIFIERS
    }
    texts = ["markdown_removed", "unwrapped", "answer_body"]
    words = [*texts, "unicode_words", "language_words"]
    json_texts = ["unwrapped", "answer_body"]
    assert ids == {
        "word_count": words,
        "word_range": words,
        "keyword_once": texts,
        "json_keys": json_texts,
        "ordered_parts": texts,
        "lower_case": texts,
        "citation_once": texts,
        "tool_call": json_texts,
        "words_and_keyword": texts,
    }
    assert [each.alternative_id for each in alternatives_for("one_of_my_own")] == texts


@pytest.mark.parametrize("verifier", ["word_count", "json_keys"])
@settings(deadline=None)  # the first Japanese text loads a dictionary
@given(
    text=st.text(st.characters(), max_size=40)
    | st.text(st.sampled_from('*_`"{}[]()#->.\n a1光か'), max_size=30)
)
def test_any_text_can_be_read_in_any_way(verifier, text):
    for alternative in alternatives_for(verifier):
        read = alternative.read(text)
        assert isinstance(read, str)
        assert alternative.read(text) == read


@pytest.mark.parametrize(
    ("read", "library", "text"),
    [
        (remove_markdown, "markdown_it", "a"),
        (unicode_words, "uniseg.wordbreak", "a"),
        (language_words, "rjieba", "光"),
        (language_words, "janome.tokenizer", "か"),
    ],
)
def test_a_missing_library_is_an_import_error(monkeypatch, read, library, text):
    alternatives._japanese.cache_clear()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError):
        read(text)

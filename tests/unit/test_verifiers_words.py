"""The two verifiers that count words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers import word_count, word_range

# Counted by eye: what stands between whitespace is a word, whatever it is made of.
COUNTS = [
    ("", 0),
    (" ", 0),
    ("\n\t \r\n", 0),
    ("word", 1),
    ("  word  ", 1),
    ("Two words.", 2),
    ("Two  words.", 2),
    ("Two\nwords.", 2),
    ("Two\r\nwords.", 2),
    ("Two\twords.", 2),
    ("a , b . c", 5),
    ("well\N{EM DASH}being", 1),
    ("one \N{EM DASH} two", 3),
    ("well-being", 1),
    ("don't stop", 2),
    ("either/or", 1),
    ("...", 1),
    ("# Heading\n\nSome text here.", 5),
    ("**bold** text", 2),
    ("- one\n- two", 4),
    ("1. First point", 3),
    ("```\ncode\n```", 3),
    ("Answer: plants make food from sunlight.", 6),
    ("(four words right here)", 4),
    ("Word count: 5", 3),
    ("3.14 is pi", 3),
    ("U.S.A.", 1),
    ("🌈 after rain", 3),
    # German: a compound is one word, however long, and so is one with hyphens.
    ("Donaudampfschifffahrtsgesellschaft", 1),
    ("E-Mail-Adresse", 1),
    ("Haus- und Gartenarbeit", 3),
    ("z. B. Äpfel", 3),
    ("z.B. Äpfel", 2),
    ("Ja – genau.", 3),
    ("„Guten Tag“, sagte er.", 4),
    ("20 Grad", 2),
    # Spanish: marks that open a question or an exclamation belong to their word, unless a blank follows.
    ("¿Por qué?", 2),
    ("¡Hola, mundo!", 2),
    ("¿ Por qué ?", 4),
    ("«Buenos días»", 2),
    ("dámelo", 1),
    ("teórico-práctico", 1),
    ("el 20\u00a0% del agua", 5),
    ("光合作用", 1),
    ("光合 作用", 2),
    ("a\u3000b", 2),
    ("a\u00a0b", 2),
    ("a\u202fb", 2),
    ("a\u2009b", 2),
    ("a\u2028b", 2),
    ("a\u0085b", 2),
    ("a\x1cb", 2),
    ("a\x1fb", 2),
    ("a\u200bb", 1),
    ("\ufeff", 1),
    ("\ufeffa b", 2),
    ("a \u200b b", 3),
    ("a\u2060b", 1),
    ("a\u180eb", 1),
    ("a\0b", 1),
    ("\ud83d \ude00", 2),
    ("a\u00adb", 1),
]


@pytest.mark.parametrize(("text", "count"), COUNTS)
def test_words_are_what_stands_between_whitespace(text, count):
    assert word_count.count_words(text) == count
    assert word_count.verify(text, 3).observed == count
    assert word_range.verify(text, (2, 4)).observed == count


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("", 5, Verdict(compliant=False, direction="under", observed=0, error=-5)),
        ("one two three", 5, Verdict(compliant=False, direction="under", observed=3, error=-2)),
        ("one two three four five", 5, Verdict(compliant=True, direction="exact", observed=5, error=0)),
        ("one two three four five six", 5, Verdict(compliant=False, direction="over", observed=6, error=1)),
    ],
)
def test_word_count_says_on_which_side_and_by_how_much(text, target, expected):
    assert word_count.verify(text, target) == expected


@pytest.mark.parametrize(
    ("count", "direction"),
    [(0, "below"), (7, "below"), (8, "within"), (9, "within"), (12, "within"), (13, "above"), (200, "above")],
)
def test_both_bounds_of_a_range_are_allowed(count, direction):
    verdict = word_range.verify(" ".join(["word"] * count), (8, 12))
    assert verdict == Verdict(
        compliant=direction == "within", direction=direction, observed=count, error=None
    )


def test_a_range_of_one_number_is_a_count():
    assert word_range.verify("one two", (2, 2)).compliant
    assert not word_range.verify("one", (2, 2)).compliant
    assert not word_range.verify("one two three", (2, 2)).compliant


@given(
    st.text(st.characters(), max_size=60)
    | st.text(st.sampled_from("ab \n\t\xa0\u200b\x1c\u3000"), max_size=30)
)
def test_the_count_is_that_of_a_walk_over_the_characters(text):
    count = 0
    inside = False
    for character in text:
        if character.isspace():
            inside = False
        elif not inside:
            inside = True
            count += 1
    assert word_count.count_words(text) == count == len(text.strip().split())


@given(st.text(st.characters(), max_size=60), st.integers(1, 20), st.integers(0, 5))
def test_the_parts_of_a_verdict_agree(text, low, width):
    counted = word_count.verify(text, low)
    assert counted.error == counted.observed - low
    assert counted.compliant == (counted.direction == "exact") == (counted.error == 0)
    assert (counted.direction == "under") == (counted.error < 0)
    ranged = word_range.verify(text, (low, low + width))
    assert (
        ranged.compliant == (ranged.direction == "within") == (ranged.observed in range(low, low + width + 1))
    )


@pytest.mark.parametrize("target", [0, -1, 5.0, "5", True, None, (5,), float("nan")])
def test_a_word_count_that_no_answer_can_meet_is_refused(target):
    with pytest.raises(PanelError, match="word_count needs a whole number of words from 1"):
        word_count.check_target(target)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (8, "two whole numbers"),
        ([8, 12], "two whole numbers"),
        ((8,), "two whole numbers"),
        ((8, 12, 15), "two whole numbers"),
        ((8.0, 12), "two whole numbers"),
        ((True, 12), "two whole numbers"),
        (("8", "12"), "two whole numbers"),
        ((0, 12), "a lower bound from 1, not 0"),
        ((12, 8), "12 is more than 8"),
    ],
)
def test_a_range_that_cannot_be_used_is_refused(target, reason):
    with pytest.raises(PanelError, match=reason):
        word_range.check_target(target)


def test_usable_targets_pass():
    word_count.check_target(1)
    word_range.check_target((1, 1))
    word_range.check_target((8, 12))

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict
from wise_pytest.verifiers.keyword_once import check_target, count_keyword, verify

# Counted by eye.
PLAIN = [
    ("river", "", 0),
    ("river", "river", 1),
    ("river", "River", 1),
    ("river", "RIVER!", 1),
    ("river", "The river flows to the sea.", 1),
    ("river", "A river is a river.", 2),
    ("river", "river river river", 3),
    ("river", "river's", 1),
    ("river", "river’s", 1),
    ("river", "river-bank", 1),
    ("river", "up-river", 1),
    ("river", "river_bank", 0),
    ("river", "_river_", 0),
    ("river", "**river**", 1),
    ("river", '"river"', 1),
    ("river", "(river)", 1),
    ("river", "rivers", 0),
    ("river", "driver", 0),
    ("river", "driver river rivers", 1),
    ("river", "river2", 0),
    ("river", "2river", 0),
    ("river", "river²", 0),
    ("river", "river٣", 0),
    ("river", "riverа", 0),  # a Cyrillic letter follows
    ("river", "river河", 0),
    ("river", "river\nriver", 2),
    ("river", "river/stream", 1),
    ("river", "river,river", 2),
    ("river", "riv er", 0),
    ("river", "riv\u00ader", 0),
    ("river", "r\u200biver", 0),
    ("river", "\u200briver\u200b", 1),
    ("river", "\ufeffriver", 1),
    ("river", "river\0", 1),
    ("river", "\ud83driver\ude00", 1),
    ("river", "riverriver", 0),
    ("c++", "c++", 1),
    ("c++", "C++ is a language.", 1),
    ("c++", "(c++), not c", 1),
    ("c++", "c+++", 1),
    ("c++", "objective-c++", 1),
    ("c++", "c++17", 0),
    ("c++", "c++c++", 1),  # the first is touched by a letter
    ("c", "c++", 1),
    (".net", "use .net", 1),
    (".net", "asp.net", 0),
    ("a-a", "a-a-a", 1),  # matches do not overlap
    ("a-a", "a-a a-a", 2),
    ("a-a", "xa-a-a", 1),  # a match that is touched does not use up its letters
    ("new york", "New York is big.", 1),
    ("new york", "New\nYork", 0),
    ("new york", "New  York", 0),
    ("7", "7 of 77", 1),
]


@pytest.mark.parametrize(("keyword", "text", "count"), PLAIN)
def test_a_keyword_counts_as_a_whole_word(keyword, text, count):
    assert count_keyword(text, keyword) == count


# Which letters are the same: the choices that the module's docstring makes.
LETTERS = [
    ("istanbul", "İstanbul", 0),
    ("İstanbul", "İstanbul", 1),
    ("İstanbul", "i\u0307stanbul", 1),
    ("istanbul", "ISTANBUL", 1),
    ("istanbul", "ıstanbul", 0),
    ("i", "İ", 0),
    ("sun", "ſun", 1),
    ("ſun", "SUN", 1),
    ("straße", "STRASSE", 1),
    ("STRASSE", "straße", 1),
    ("straße", "STRAẞE", 1),
    ("straße", "strase", 0),
    ("s", "ß", 0),
    ("ss", "ß", 1),
    ("s", "Maß s", 1),
    ("as", "aß", 0),
    ("sa", "ßa", 0),
    ("café", "cafe\u0301", 1),
    ("cafe\u0301", "CAFÉ", 1),
    ("cafe", "café", 0),
    ("cafe", "cafe\u0301", 0),
    ("café", "cafe", 0),
    ("cafés", "cafe\u0301s", 1),
    ("caf", "cafe\u0301", 0),
    ("k", "\u212a", 1),  # the Kelvin sign is a K
    ("å", "\u212b", 1),  # the Ångström sign is an Å
    ("ΐ", "\u03aa\u0301", 1),  # whose capital has no composed form
    ("σοφος", "ΣΟΦΟΣ", 1),
    ("σοφοσ", "σοφος", 1),
    ("ﬁsh", "FISH", 1),
    ("fish", "ﬁsh", 1),
    ("f", "ﬁ", 0),
    ("가", "\u1100\u1161", 1),
    ("x", "x\u030c", 0),  # a letter with a mark, for which there is no composed form
    ("x\u030c", "X\u030c", 1),
    ("river", "x\u030criver", 0),
    ("river", "-\u030criver", 1),
    ("नमस्त", "नमस्ते", 0),
    ("q\u0323\u0307", "q\u0307\u0323", 1),
]


@pytest.mark.parametrize(("keyword", "text", "count"), LETTERS)
@pytest.mark.parametrize("text_form", ["NFC", "NFD"])
@pytest.mark.parametrize("keyword_form", ["NFC", "NFD"])
def test_letters_are_compared_as_unicode_does_without_case(keyword, text, count, text_form, keyword_form):
    text = unicodedata.normalize(text_form, text)
    keyword = unicodedata.normalize(keyword_form, keyword)
    assert count_keyword(text, keyword) == count


def test_the_order_in_which_marks_are_typed_makes_no_difference():
    assert count_keyword("ᾴ", "α\u0345\u0301") == 1
    assert count_keyword("α\u0345\u0301", "ᾴ") == 1
    assert count_keyword("q\u0307\u0323", "q\u0323\u0307") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no such word", Verdict(compliant=False, direction="zero", observed=0, error=-1)),
        ("one river", Verdict(compliant=True, direction="once", observed=1, error=0)),
        ("river, river", Verdict(compliant=False, direction="multiple", observed=2, error=1)),
        ("river river river", Verdict(compliant=False, direction="multiple", observed=3, error=2)),
    ],
)
def test_the_verdict_says_zero_once_or_multiple(text, expected):
    assert verify(text, "river") == expected


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("", "non-empty"),
        (None, "non-empty"),
        (5, "non-empty"),
        (("river",), "non-empty"),
        (" river", "without whitespace around"),
        ("river\u00a0", "without whitespace around"),
        ("   ", "without whitespace around"),
        ("two\nlines", "control characters"),
        ("a\0b", "control characters"),
        ("\ud83d", "surrogates"),
        ("\u0301a", "never find the keyword"),
        ("\u0301", "never find the keyword"),
    ],
)
def test_a_keyword_that_cannot_be_used_is_refused(target, reason):
    with pytest.raises(PanelError, match=reason) as caught:
        check_target(target)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keyword", sorted({keyword for keyword, _, _ in PLAIN + LETTERS}))
def test_every_keyword_of_these_tables_can_be_used(keyword):
    check_target(keyword)


def test_an_empty_keyword_is_found_nowhere():
    assert count_keyword("some text", "") == 0


# Letters whose case changes their number, marks with and without composed forms, and what separates words.
TRICKY = "aAbsSſßẞiIİıeéE\u0301\u0307\u030c\u0345αΑιᾳᾼΐkK\u212aﬁfF_-+' 1²\n"
texts = st.text(st.sampled_from(TRICKY), max_size=14)
keywords = st.text(st.sampled_from(TRICKY), min_size=1, max_size=3)


@given(texts, keywords)
def test_the_count_is_that_of_trying_every_stretch_of_characters(text, keyword):
    assert count_keyword(text, keyword) == slow_count(text, keyword)


@given(
    st.text(st.characters(), max_size=40), st.text(st.characters(), min_size=1, max_size=3), texts, keywords
)
def test_composed_and_decomposed_are_judged_alike(any_text, any_keyword, text, keyword):
    for t, k in ((any_text, any_keyword), (text, keyword), (any_text + any_keyword, any_keyword)):
        verdicts = {
            verify(unicodedata.normalize(form, t), unicodedata.normalize(other, k))
            for form in ("NFC", "NFD")
            for other in ("NFC", "NFD")
        }
        assert verdicts == {verify(t, k)}


@given(st.text(st.characters(), max_size=60), st.text(st.characters(), max_size=4))
def test_the_parts_of_a_verdict_agree_for_any_text(text, keyword):
    verdict = verify(text, keyword)
    assert verdict.compliant == (verdict.direction == "once") == (verdict.observed == 1)
    assert (verdict.direction == "zero") == (verdict.observed == 0)
    assert verdict.error == verdict.observed - 1


@given(st.text(st.characters(), min_size=1, max_size=4))
def test_what_the_check_lets_pass_is_found_on_its_own_and_between_punctuation(keyword):
    try:
        check_target(keyword)
    except PanelError:
        return
    assert verify(keyword, keyword).compliant
    assert verify(f"({keyword})", keyword).observed == (2 if keyword in "()" else 1)


def slow_count(text, keyword):
    """Every stretch of whole characters, compared on its own; no offsets to get wrong."""
    characters = []
    for point in unicodedata.normalize("NFC", text):
        if characters and unicodedata.category(point) in {"Mn", "Mc", "Me"}:
            characters[-1] += point
        else:
            characters.append(point)
    count = start = 0
    while start < len(characters):
        for stop in range(start + 1, len(characters) + 1):
            if (
                same("".join(characters[start:stop]), keyword)
                and not touches(characters[start - 1 : start])
                and not touches(characters[stop : stop + 1])
            ):
                count += 1
                start = stop
                break
        else:
            start += 1
    return count


def same(one, other):
    one, other = (unicodedata.normalize("NFD", text).casefold() for text in (one, other))
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def touches(neighbour):
    return bool(neighbour) and (neighbour[0][0].isalnum() or neighbour[0][0] == "_")

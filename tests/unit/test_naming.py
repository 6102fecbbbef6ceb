import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.naming import MAX_SLUG, explain_unknown, hyphenless_slug, slug

DEVICES = ["con", "prn", "aux", "nul", "com0", "com1", "com9", "lpt1", "lpt9"]

# Names near each other and near the border between names that stay and names that change.
AWKWARD = [
    "m",
    "M",
    "a/b",
    "a-b",
    "a.b",
    "a_b",
    "a b",
    "a::b",
    "a@b",
    "a--b",
    "a---b",
    "model",
    "model.",
    "model-",
    "model..",
    ".model",
    "-model",
    "..",
    ".",
    "-",
    "_",
    "",
    " ",
    "x",
    "[x]",
    "né",
    "ne\u0301",
    "nul\0",
    "\ud83d",
    "\ud83e",
    "日本",
    "日本語",
    "İ",
    "K",
    "k",
    "a" * 60,
    "a" * 61,
    "a" * 62,
    "a" * 300,
    "a" * 299 + "b",
    "gpt-4.1-mini",
    "GPT-4.1-mini",
    "gpt-4.1-mini\n",
    *DEVICES,
    *(device.upper() for device in DEVICES),
    *(f"{device}.txt" for device in DEVICES),
    *(f"{device}-" for device in DEVICES),
]


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4.1-mini",
        "smollm2-135m-instruct",
        "i001",
        "exact_count",
        "a",
        "_",
        "a-",
        "a..b",
        "com10",
        "nulls",
        "a" * 60,
    ],
)
def test_a_portable_name_stays_as_it_is(name):
    assert slug(name) == name


@pytest.mark.parametrize("name", AWKWARD)
def test_a_slug_is_a_portable_file_name(name):
    assert_portable(slug(name))


@pytest.mark.parametrize("name", AWKWARD)
def test_a_part_of_a_test_id_holds_no_hyphen(name):
    assert re.fullmatch(r"[a-z0-9_][a-z0-9._]*", hyphenless_slug(name))
    assert len(hyphenless_slug(name)) <= MAX_SLUG


@pytest.mark.parametrize("make", [slug, hyphenless_slug])
def test_awkward_names_keep_apart_also_on_a_file_system_that_ignores_case(make):
    assert len({make(name).lower() for name in AWKWARD}) == len(set(AWKWARD))


def test_a_changed_name_can_still_be_read():
    assert slug("Meta/Llama-3.1 8B").startswith("meta-llama-3.1-8b--")
    assert slug("nul.jsonl").startswith("nul_jsonl--")
    assert slug("日本").startswith("x--")


def test_a_name_that_is_the_slug_of_another_gets_a_slug_of_its_own():
    once = slug("M")
    assert slug(once) != once
    assert slug(hyphenless_slug("M")) != once
    assert hyphenless_slug(hyphenless_slug("M")) != hyphenless_slug("M")


def test_a_hyphen_becomes_a_dot_only_where_it_cannot_be_mistaken():
    assert hyphenless_slug("light-speed") == "light.speed"
    assert hyphenless_slug("light.speed") != "light.speed"


@given(st.text(st.characters(), max_size=100))
def test_any_text_has_a_portable_slug(name):
    assert_portable(slug(name))
    assert slug(name) == slug(name)


short_names = st.text(st.sampled_from("aAbB-._/0 é"), max_size=5)


@given(short_names, short_names)
def test_slugs_are_equal_only_where_names_are(one, other):
    assert (slug(one) == slug(other)) == (one == other)
    assert (hyphenless_slug(one) == hyphenless_slug(other)) == (one == other)


def test_every_short_name_over_a_small_alphabet_has_its_own_slug():
    names = ["".join(letters) for n in range(5) for letters in itertools.product("aA-._/", repeat=n)]
    assert len({slug(name) for name in names}) == len(names)
    assert len({hyphenless_slug(name) for name in names}) == len(names)


def test_an_unknown_name_is_explained_with_what_exists_and_what_is_close():
    assert explain_unknown("panel", "exact_cuont", ["exact_count", "length_range"]) == (
        "unknown panel 'exact_cuont' (known: exact_count, length_range); did you mean 'exact_count'?"
    )
    assert explain_unknown("form", "pos", ["POS", "NEG"]).endswith("did you mean 'POS'?")


def test_nothing_is_suggested_where_nothing_is_close():
    assert explain_unknown("form", "zzzz", ["POS", "NEG"]) == "unknown form 'zzzz' (known: POS, NEG)"
    assert explain_unknown("form", "zzzz", []) == "unknown form 'zzzz' (there is none)"


def assert_portable(name):
    assert re.fullmatch(r"[a-z0-9_][a-z0-9._-]*", name)
    assert len(name) <= MAX_SLUG == 80
    assert not name.endswith(".")
    assert name.split(".")[0] not in DEVICES

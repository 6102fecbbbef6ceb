"""The manifest of items, read with nothing but the csv module.

Every recording depends on these rows, so what the panels take for granted of
them is held here without the package's own loader: balance, no two items
alike, a keyword that the task does not give away, and tasks that neither age
nor sound like one of the instructions that follow them.
"""

import csv
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

MANIFEST = Path(__file__).parents[2] / "wise_pytest" / "panels" / "items.csv"
HEADER = ["item_id", "task", "target_words", "keyword", "json_keys"]
TARGETS = ("5", "8", "10", "12")


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.casefold())


def phrases_of(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


FUNCTION_WORDS = frozenset(
    words_of("""
    a about an and are at be before by can describe did do does explain for from have how i if in is
    it its me not of on one or say should so tell than the their them there they this to up used was
    we were what when where which who why with you your
    """),
)
TIME_DEPENDENT = phrases_of("""
    now, today, tomorrow, yesterday, tonight, nowadays, this year, this month, this week, current,
    currently, present, presently, recent, recently, modern, ongoing, so far, last year, next year,
    latest, newest, upcoming, trend, trends, news, trending, president, prime minister, minister,
    chancellor, pope, monarch, champion, champions, population, record, records, tallest, richest,
    fastest, largest, biggest, price, prices, cost, costs, exchange rate, how many, how old, how
    much, anymore, yet
""")
INSTRUCTION_VOCABULARY = phrases_of("""
    word, words, sentence, sentences, letter, letters, character, characters, paragraph, brief,
    briefly, short, shortly, shorter, concise, concisely, long, longer, length, exactly, only, once,
    twice as, fewer, at least, at most, no more than, count, limit, keyword, keywords, key, keys,
    json, object, field, fields, format, list, bullet, answer, answers, reply, respond, response,
    output, write, include, avoid, never, not, without, must, name
""")
SUFFIXES = ("ation", "tion", "ness", "ment", "ible", "able", "ity", "ing", "ies", "ers", "est", "ion", "ed")
SUFFIXES += ("er", "es", "ly", "al", "ic", "y", "s", "e")
MIN_STEM = 3
MIN_PREFIX_STEM = 4


def read_manifest() -> list[dict[str, str]]:
    with MANIFEST.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, strict=True))


ITEMS = read_manifest()


def stem(word: str) -> str:
    """Take endings off until none is left: crude, and meant to err towards a clash."""
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= MIN_STEM:
            return stem(word.removesuffix(suffix))
    if len(word) > MIN_STEM and word[-1] == word[-2]:
        return word[:-1]
    return word


def share_stem(one: str, other: str) -> bool:
    first, second = sorted((stem(one), stem(other)), key=len)
    return first == second or (len(first) >= MIN_PREFIX_STEM and second.startswith(first))


def content_stems(task: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(task) if word not in FUNCTION_WORDS)


def phrases_in(text: str, phrases: tuple[str, ...]) -> list[str]:
    padded = f" {' '.join(words_of(text))} "
    return [phrase for phrase in phrases if f" {phrase} " in padded]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def test_the_file_is_plain_ascii_with_unix_line_ends_and_one_line_a_row():
    raw = MANIFEST.read_bytes()
    assert raw.isascii()
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    assert raw.count(b"\n") == 101
    assert raw.splitlines()[0].decode() == ",".join(HEADER)


def test_every_row_fills_every_column_without_stray_blanks():
    for item in ITEMS:
        assert list(item) == HEADER
        assert all(value and value == value.strip() for value in item.values()), item


def test_ids_run_from_i001_to_i100_in_order():
    assert [item["item_id"] for item in ITEMS] == [f"i{number:03}" for number in range(1, 101)]


def test_targets_are_balanced_and_interleaved():
    targets = [item["target_words"] for item in ITEMS]
    assert Counter(targets) == dict.fromkeys(TARGETS, 25)
    assert targets == list(TARGETS) * 25


def test_tasks_are_unique_beyond_case_and_punctuation():
    assert len({" ".join(words_of(item["task"])) for item in ITEMS}) == 100


def test_no_two_tasks_share_most_of_their_content_words():
    alike = [
        (one["task"], other["task"])
        for one, other in itertools.combinations(ITEMS, 2)
        if jaccard(content_stems(one["task"]), content_stems(other["task"])) >= 0.6
    ]
    assert alike == []


def test_a_task_is_one_plain_request():
    for item in ITEMS:
        task = item["task"]
        assert re.fullmatch(r"[A-Z][A-Za-z]*( [A-Za-z]+)*[.?]", task), task
        assert 15 <= len(task) <= 90, task
        assert content_stems(task), task


def test_a_task_does_not_age():
    assert [item["task"] for item in ITEMS if phrases_in(item["task"], TIME_DEPENDENT)] == []


def test_a_task_says_nothing_about_how_to_answer():
    assert [item["task"] for item in ITEMS if phrases_in(item["task"], INSTRUCTION_VOCABULARY)] == []


def test_a_keyword_is_a_content_word_that_the_task_does_not_give_away():
    for item in ITEMS:
        task, keyword = item["task"], item["keyword"]
        assert re.fullmatch(r"[a-z]{3,12}", keyword), keyword
        assert keyword not in FUNCTION_WORDS
        assert keyword not in task.casefold()
        assert [word for word in words_of(task) if share_stem(keyword, word)] == [], task


def test_keywords_are_unique():
    assert len({item["keyword"] for item in ITEMS}) == 100


def test_json_keys_are_two_to_four_distinct_names_apart_from_the_keyword():
    for item in ITEMS:
        keys = item["json_keys"].split("|")
        assert 2 <= len(keys) <= 4, keys
        assert len(set(keys)) == len(keys), keys
        assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", key) for key in keys), keys
        assert item["keyword"] not in keys, keys


def test_each_number_of_json_keys_is_well_represented():
    sizes = Counter(item["json_keys"].count("|") + 1 for item in ITEMS)
    assert set(sizes) == {2, 3, 4}
    assert min(sizes.values()) >= 20


def test_json_keys_fit_their_task_rather_than_any_task():
    all_keys = [item["json_keys"].split("|") for item in ITEMS]
    assert sum("answer" in keys for keys in all_keys) <= 10
    assert len({frozenset(keys) for keys in all_keys}) >= 95


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("plant", "plants"),
        ("stop", "stopping"),
        ("cities", "city"),
        ("baker", "baking"),
        ("electricity", "electrical"),
        ("vibration", "vibrate"),
        ("light", "lightning"),
        ("sun", "suns"),
    ],
)
def test_the_stem_check_sees_inflections(one, other):
    assert share_stem(one, other)
    assert share_stem(other, one)


@pytest.mark.parametrize(("one", "other"), [("sun", "sunday"), ("tree", "train"), ("moon", "month")])
def test_the_stem_check_leaves_strangers_apart(one, other):
    assert not share_stem(one, other)


def test_the_vocabulary_check_sees_whole_words_and_phrases_only():
    assert phrases_in("Who is the Prime Minister now?", TIME_DEPENDENT) == [
        "now",
        "prime minister",
        "minister",
    ]
    assert phrases_in("What does snow recorded on sound tape show?", TIME_DEPENDENT) == []

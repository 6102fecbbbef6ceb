"""How an output opens, and the files that list such openings."""

from __future__ import annotations

import time

import pytest

from wise_pytest.audit.texts import default_openings, opening_finder, read_openings
from wise_pytest.errors import OptionError

FIND = opening_finder(default_openings())


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("Here is the answer.", "Here is"),
        ("here IS the answer.", "Here is"),
        ("  \n\u2003Here is", "Here is"),
        ("Here\n is a list", "Here is"),
        ("**Here is** a list", "Here is"),
        ("> _Here is_ a list", "Here is"),
        ("__Here is__", "Here is"),
        ("# Sure!", "Sure"),
        ("1. Sure", None),  # a number is the beginning of an answer
        ("Here's one", "Here's"),
        ("Here’s one", "Here's"),
        ("HERE’S ONE", "Here's"),
        ("Here isn't one", None),
        ("Here island", None),
        ("Heres one", None),
        ("Surely not", None),
        ("Sure_thing", None),
        ("Sure, I can", "Sure"),
        ("Sure—here", "Sure"),
        ("Sure", "Sure"),
        ("“Sure”", "Sure"),
        ("'Sure'", "Sure"),
        ("Sure'", "Sure"),
        ("I can help", "I can"),
        ("I can't help", None),
        ("I can’t help", None),
        ("I cannot help", None),
        ("Of course not", "Of course"),
        ("Ofcourse", None),
        ("It says: Here is", None),
        ("", None),
        ("***", None),
        ("\ud83d Here is", "Here is"),
        ("\ufeffHere is", "Here is"),
        (" " * 5000 + "Here is", "Here is"),
        ("*" * 190 + "Here is", "Here is"),
    ],
)
def test_the_openings_of_the_package(text, opening):
    assert FIND(text) == opening


def test_each_listed_opening_is_found_whatever_its_case():
    assert "Here is" in default_openings()
    for opening in default_openings():
        for text in (opening, opening.upper(), f"- {opening.lower()}: x", opening.replace("'", "’")):
            assert FIND(text) == opening


def test_the_longest_of_several_openings_counts():
    find = opening_finder(["The answer", "The answer is", "the"])
    assert [find(text) for text in ("The answer is 5", "The answers", "the answer: 5", "The 5")] == [
        "The answer is",
        "the",
        "The answer",
        "the",
    ]


def test_openings_of_one_s_own_may_hold_marks_and_blanks():
    find = opening_finder(["Answer:", "(Draft)", "a.b*", "  Well   then ", "Straße", "", "  "])
    assert find("ANSWER:5") == "Answer:"
    assert find("Answer 5") is None
    assert find("(draft) 5") == "(Draft)"
    assert find("a.b* c") == "a.b*"
    assert find("axb* c") is None
    assert find("well then, 5") == "  Well   then "
    assert find("STRASSE 5") == "Straße"
    assert find("anything") is None
    assert find(("w" * 300) + " 5") is None
    assert opening_finder(["w" * 300])(f"*{'W' * 300} 5") == "w" * 300


@pytest.mark.parametrize("openings", [(), ("",), (" ", "\n")])
def test_without_openings_nothing_is_found(openings):
    find = opening_finder(openings)
    assert [find(text) for text in ("", "...", "Here is", "\n")] == [None] * 4


def test_no_text_takes_long():
    find = opening_finder([*default_openings(), "a " * 40 + "b"])
    before = time.process_time()
    for text in ("*_" * 500_000, " " * 1_000_000, "a " * 500_000, "here " * 200_000):
        find(text)
    assert time.process_time() - before < 1


def test_a_file_of_openings(tmp_path):
    path = tmp_path / "openings.txt"
    path.write_text(
        "\ufeff# comment\n\n  Well   then \nWell then\n---\n# Here is\nÀ vrai dire\n", encoding="utf-8"
    )
    assert read_openings(path, option="--openings") == ("Well then", "À vrai dire")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "names no opening; write one a line, such as 'Here is'"),
        (b"# nothing\n  \n--\n", "names no opening"),
        (b"Here is\n\xff\n", "cannot be read"),
        (b"x" * 1_000_001, "is larger than 1,000,000 bytes"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_list_of_openings(tmp_path, content, problem):
    path = tmp_path / "openings.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OptionError) as caught:
        read_openings(path, option="--openings")
    message = str(caught.value)
    assert message.startswith("--openings: ")
    assert str(path) in message
    assert problem in message
    assert len(message) < 600


def test_a_folder_is_no_list_of_openings(tmp_path):
    with pytest.raises(OptionError, match="cannot be read"):
        read_openings(tmp_path, option="--wise-openings")

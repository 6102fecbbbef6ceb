"""The reader of human ratings: what it takes, and the sentence that each fault gets."""

from __future__ import annotations

import codecs
import random

import pytest

from wise_pytest.audit.ratings import COLUMNS, RatedItem, read_ratings
from wise_pytest.errors import RowsError

HEADER = ",".join(COLUMNS)
LINES = (
    "i1,POS,5,ann,1,5,4,1,2",
    "i1,POS,5,bob,yes,4,4,2,1",
    "i2,NEG,8,ann,0,3,2,4,5",
    "i2,NEG,8,bob,False,3,1,5,4",
)
UNCHANGED = "expected every annotator's rating of every item"


@pytest.fixture
def write(tmp_path):
    def write(*lines: str, content: bytes | None = None, end: str = "\n"):
        path = tmp_path / "ratings.csv"
        path.write_bytes(end.join((*lines, "")).encode() if content is None else content)
        return path

    return write


@pytest.fixture
def refused(write):
    """What is said of a file, without its path."""

    def refused(*lines: str, content: bytes | None = None) -> str:
        path = write(*lines, content=content)
        with pytest.raises(RowsError) as caught:
            read_ratings(path)
        said = str(caught.value)
        assert said.startswith(f"{path}:")
        assert "\n" not in said
        return said.replace(str(path), "F")

    return refused


def changed(column: str, value: str, line: int = 2) -> tuple[str, ...]:
    """The good file with one value replaced; ``line`` as an editor counts."""
    cells = LINES[line - 2].split(",")
    cells[COLUMNS.index(column)] = value
    return (HEADER, *LINES[: line - 2], ",".join(cells), *LINES[line - 1 :])


def test_a_complete_file(write):
    ratings = read_ratings(write(HEADER, *LINES))
    assert ratings.items == (RatedItem("i1", "POS", 5), RatedItem("i2", "NEG", 8))
    assert ratings.annotators == ("ann", "bob")
    assert ratings.exact_n == ((1, 1), (0, 0))
    assert ratings.scales == {
        "clarity": ((5, 4), (3, 3)),
        "naturalness": ((4, 4), (2, 1)),
        "ambiguity": ((1, 2), (4, 5)),
        "complexity": ((2, 1), (5, 4)),
    }


def test_the_order_of_lines_and_columns_changes_nothing(write):
    expected = read_ratings(write(HEADER, *LINES))
    rng = random.Random(4)
    for _ in range(5):
        columns = rng.sample(range(len(COLUMNS)), len(COLUMNS))
        lines = [",".join(line.split(",")[c] for c in columns) for line in (HEADER, *LINES)]
        found = read_ratings(write(lines[0], *rng.sample(lines[1:], len(LINES))))
        assert found == expected
        assert found.sha256 == expected.sha256
    assert read_ratings(write(*changed("clarity", "1"))).sha256 != expected.sha256


@pytest.mark.parametrize(
    "answers",
    [("1", "0"), ("yes", "no"), ("YES", "No"), ("true", "false"), ("TRUE", "False"), ("1.0", "0.0")],
)
def test_answers_may_be_written_in_several_ways(write, answers):
    yes, no = answers
    lines = [line.split(",") for line in LINES]
    for line, answer in zip(lines, (yes, yes, no, no), strict=True):
        line[4] = answer
    assert read_ratings(write(HEADER, *map(",".join, lines))).exact_n == ((1, 1), (0, 0))


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF8 + "\n".join((HEADER, *LINES)).encode(),
        "\r\n".join((HEADER, *LINES, "")).encode(),
        "\r".join((HEADER, *LINES)).encode(),
        "\n".join((HEADER, "", *LINES, " ", ",,,,,,,,", "")).encode(),
        "\n".join(line.replace(",", " , ") for line in (HEADER, *LINES)).encode(),
        "\n".join(line.replace("POS", '"POS"').replace(",5,", ",5.0,") for line in (HEADER, *LINES)).encode(),
    ],
    ids=["byte-order mark", "CRLF", "CR", "blank lines", "blanks", "quotes and decimals"],
)
def test_what_spreadsheets_write(write, content):
    assert read_ratings(write(content=content)) == read_ratings(write(HEADER, *LINES))


def test_names_of_any_script_and_with_commas(write):
    lines = [line.replace("ann", "José 日本").replace("POS", '"POS, long"') for line in LINES]
    ratings = read_ratings(write(HEADER, *lines))
    assert ratings.annotators == ("José 日本", "bob")
    assert ratings.items[0].form == "POS, long"


@pytest.mark.parametrize("scale", ["clarity", "naturalness", "ambiguity", "complexity"])
@pytest.mark.parametrize("value", ["0", "6", "-1", "4.5", "3,5", "nan", "٣", "1e0", "1_0", "five", "10"])
def test_ratings_out_of_scale(refused, scale, value):
    lines = changed(scale, f'"{value}"', line=4)
    assert refused(*lines) == f"F:4: column '{scale}' is '{value}'; expected a whole number from 1 to 5"


@pytest.mark.parametrize("value", ["2", "-1", "0.5", "maybe", "y", "1/0"])
def test_answers_that_are_none(refused, value):
    assert refused(*changed("exact_n", value, line=3)) == (
        f"F:3: column 'exact_n' is '{value}'; expected 0 or 1, no or yes, false or true"
    )


@pytest.mark.parametrize("value", ["0", "-5", "five", "5.5", "1e3", "9999999999"])
def test_targets_that_are_no_number_of_words(refused, value):
    assert refused(*changed("target", value)) == (
        f"F:2: column 'target' is '{value}'; expected a whole number of words from 1"
    )


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("item", "column 'item' is empty; expected a name"),
        ("form", "column 'form' is empty; expected a name"),
        ("annotator", "column 'annotator' is empty; expected a name"),
        ("target", "column 'target' is empty, a missing rating; expected a whole number of words from 1"),
        (
            "exact_n",
            "column 'exact_n' is empty, a missing rating; expected 0 or 1, no or yes, false or true",
        ),
        ("clarity", "column 'clarity' is empty, a missing rating; expected a whole number from 1 to 5"),
    ],
)
def test_empty_values(refused, column, expected):
    assert refused(*changed(column, " ", line=5)) == f"F:5: {expected}"


def test_a_line_that_is_cut(refused):
    assert refused(HEADER, *LINES[:3], "i2,NEG,8,bob,0,3") == (
        "F:5: column 'naturalness' is empty, a missing rating; expected a whole number from 1 to 5"
    )


def test_a_line_that_is_too_long(refused):
    assert refused(HEADER, f"{LINES[0]},7", *LINES[1:]) == (
        "F:2: has 10 values for 9 columns, the first without a column is '7'; "
        "put a value that holds a comma in double quotes"
    )


def test_missing_ratings_are_listed(refused):
    lines = [f"i{i},POS,5,{a},1,5,4,1,2" for i in (1, 2, 3) for a in ("ann", "bob", "cat")]
    del lines[8], lines[4], lines[3]
    assert refused(HEADER, *lines) == (
        "F: lacks 3 of 9 ratings: item 'i2' by annotator 'ann', item 'i2' by annotator 'bob', "
        f"item 'i3' by annotator 'cat'; {UNCHANGED}"
    )


def test_a_long_list_of_missing_ratings_is_cut(refused):
    lines = [f"i{i:02},POS,5,ann,1,5,4,1,2" for i in range(20)]
    said = refused(HEADER, *lines, "i00,POS,5,bob,1,5,4,1,2")
    assert said.startswith("F: lacks 19 of 40 ratings: item 'i01' by annotator 'bob', ")
    assert said.endswith(f"item 'i10' by annotator 'bob' and 9 more; {UNCHANGED}")


def test_one_item_rated_twice_by_one_annotator(refused):
    # An equal line is no better: nobody knows whose rating it was meant to be.
    assert refused(HEADER, *LINES, LINES[0]) == (
        "F:6: annotator 'ann' has rated item 'i1' already at F:2; keep one of the two lines"
    )


@pytest.mark.parametrize(("column", "value", "shown"), [("form", "NEVER", "'NEVER'"), ("target", "9", "9")])
def test_one_item_with_two_descriptions(refused, column, value, shown):
    before = {"form": "'NEG'", "target": "8"}[column]
    assert refused(*changed(column, value, line=5)) == (
        f"F:5: column '{column}' is {shown} for item 'i2', expected {before} as at F:4; "
        "an item has one form and one target"
    )


ALL = "the columns are item, form, target, annotator, exact_n, clarity, naturalness, ambiguity, complexity"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (f"{HEADER},comment", f"F:1: unknown column 'comment'; {ALL}"),
        (HEADER.replace("clarity", "Clarity"), f"F:1: unknown column 'Clarity'; {ALL}"),
        (f"{HEADER},", f"F:1: unknown column ''; {ALL}"),
        (HEADER.removesuffix(",complexity"), f"F:1: lacks the column complexity; {ALL}"),
        (f"{HEADER},item", "F:1: the column 'item' appears twice; keep one of the two"),
    ],
)
def test_headers(refused, header, said):
    assert refused(header, *LINES) == said


@pytest.mark.parametrize("mark", [";", "\t"])
def test_columns_separated_by_something_else(refused, mark):
    lines = [line.replace(",", mark) for line in (HEADER, *LINES)]
    assert refused(*lines).endswith(f"{ALL}; separate the columns by commas")


def test_a_file_without_a_header(refused):
    assert refused(*LINES).startswith("F:1: unknown column 'i1', 'POS', '5', 'ann'")


@pytest.mark.parametrize("content", [b"", b"\n \n", codecs.BOM_UTF8])
def test_an_empty_file(refused, content):
    assert refused(content=content) == (
        "F: is empty; expected a header with the columns item, form, target, annotator, exact_n, clarity, "
        "naturalness, ambiguity, complexity"
    )


def test_a_header_alone(refused):
    assert refused(HEADER) == ("F: holds a header and no rating; expected a line for each item and annotator")


def test_one_annotator(refused):
    assert refused(HEADER, LINES[0], LINES[2]) == (
        "F: column 'annotator' is 'ann' on every line; agreement needs at least two annotators"
    )


def test_one_item(refused):
    assert refused(HEADER, *LINES[:2]) == (
        "F: column 'item' is 'i1' on every line; agreement needs at least two items"
    )


def test_other_encodings(refused):
    content = "\n".join((HEADER, LINES[0], LINES[1].replace("bob", "José"))).encode("latin-1")
    assert refused(content=content) == (
        "F:3: is not UTF-8 (byte 13 of the line is 0xe9); save the file again as CSV in UTF-8"
    )
    for encoding in ("utf-16", "utf-16-be"):
        mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
        content = mark + "\n".join((HEADER, *LINES)).encode(encoding)
        assert refused(content=content) == "F: is UTF-16, and must be UTF-8; save it again as CSV in UTF-8"


@pytest.mark.parametrize("line", ['"i1,POS,5,ann,1,5,4,1,2', 'i1,"POS"x,5,ann,1,5,4,1,2'])
def test_quotes_that_do_not_close(refused, line):
    said = refused(HEADER, LINES[1], line, *LINES[2:])
    assert said.startswith("F:3: is not CSV: ")
    assert said.endswith("; mend the quotes of this line")


def test_lines_are_counted_as_an_editor_does(refused):
    lines = (HEADER, LINES[0].replace("POS", '"P\nOS"'), "", "i1,POS,5,bob,1,9,4,1,2")
    assert refused(*lines).startswith("F:5: column 'clarity' is '9'")


def test_long_and_odd_values_stay_on_one_line(refused):
    assert refused(*changed("clarity", '"' + "x\n" * 500 + '"')) == (
        "F:2: column 'clarity' is '" + "x\\n" * 30 + "'…; expected a whole number from 1 to 5"
    )


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path, "nul\0.csv"):
        with pytest.raises(RowsError, match="cannot be read: "):
            read_ratings(path)

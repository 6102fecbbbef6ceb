import pytest
from hypothesis import given
from hypothesis import strategies as st

from wise_pytest.report.markdown import fit_markdown
from wise_pytest.report.text import (
    degrade,
    display_width,
    escape_markdown,
    neutralise,
    pad,
    shorten,
    visible,
)

ANY_TEXT = st.text(alphabet=st.characters(codec=None, categories=None), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\u00a0b\u200bc\ufeff\x1cd", "a<U+00A0>b<U+200B>c<U+FEFF><U+001C>d"),
        ("✓日本🎉", "✓日本🎉"),
        ("\ud83d", "<U+D83D>"),
        ("\U000e0001", "<U+E0001>"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("keyword_once", "keyword_once"),
        ("_it_", r"\_it\_"),
        ("a|b", "a&#124;b"),
        ("<b>&", "&lt;b>&amp;"),
        ("`x`", r"\`x\`"),
        ("a\\", "a\\\\"),
        ("- x", r"\- x"),
        ("> x", r"\> x"),
        ("# x", r"\# x"),
        ("12. x", r"12\. x"),
        ("1.5", "1.5"),
        (" x ", "&lt;U+0020>x&lt;U+0020>"),
        ("  ", "&lt;U+0020>&lt;U+0020>"),
        ("", ""),
    ],
)
def test_escape_markdown(text, escaped):
    assert escape_markdown(text) == escaped


@given(ANY_TEXT)
def test_escaped_text_is_one_printable_line_without_pipes_or_tags(text):
    escaped = escape_markdown(text)
    assert len(escaped.splitlines()) <= 1
    assert "|" not in escaped
    assert "<" not in escaped
    escaped.encode("utf-8")


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx", "\rx"])
def test_neutralise(text):
    assert neutralise(text) == f"'{text}"


@pytest.mark.parametrize("text", ["1=1", "a-b", "", "'quoted"])
def test_other_text_stays(text):
    assert neutralise(text) == text


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("abcdefgh", 8, "abcdefgh"),
        ("abcdefgh", 7, "abc…fgh"),
        ("abcdefgh", 6, "abc…gh"),
        ("abcdefgh", 1, "…"),
        ("abcdefgh", 0, ""),
        ("日本語日本語", 8, "日本…語"),
    ],
)
def test_shorten(text, width, short):
    assert shorten(text, width) == short


def test_a_wide_character_takes_two_columns_and_an_accent_none():
    assert display_width("日本") == 4
    assert display_width("e\u0301") == 1
    assert pad("日本", 6) == "日本  "
    assert pad("日本", 6, right=True) == "  日本"


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("gap −1.5 – …", "ascii", "gap -1.5 - ..."),
        ("gap −1.5 – …", "utf-8", "gap −1.5 – …"),
        ("– … −", "cp1252", "– … -"),
        ("✓日本🎉", "cp1252", r"\u2713\u65e5\u672c\U0001f389"),
        ("\ud83d", "utf-8", r"\ud83d"),
        ("é", "no-such-encoding", r"\xe9"),
        ("é", "hex", r"\xe9"),
        ("é", None, r"\xe9"),
    ],
)
def test_degrade(text, encoding, shown):
    assert degrade(text, encoding) == shown


@given(ANY_TEXT, st.sampled_from(["ascii", "cp1252", "utf-8", "shift_jis", "utf-7", "idna", "utf-16-le"]))
def test_degraded_text_always_encodes(text, encoding):
    shown = degrade(text, encoding)
    if encoding != "idna":
        shown.encode(encoding)


LINES = ["# WISE audit – FAIL: 1 of 2 checks\n", "\n", "## Gate\n", "\n", "| A |\n", "|---|\n"]
ROWS = [f"| 日本{i:02} |\n" for i in range(20)]
REPORT = "".join([*LINES, *ROWS, "\n", "tail\n"])


def size(text):
    return len(text.encode("utf-8"))


def note(n_cut, n_lines=28):
    cut = f"{n_cut} of {n_lines} lines are left out here"
    return f"\n\n*Cut to fit: {cut}; the run's own files have them all.*\n"


class TestFit:
    def test_what_fits_is_unchanged(self):
        assert fit_markdown(REPORT, size(REPORT)) == REPORT

    def test_whole_rows_are_kept_and_the_rest_is_counted(self):
        # Room for the opening and exactly three rows; the note is sized for its longest numbers.
        room = size("".join([*LINES, *ROWS[:3]])) + size(note(28))
        expected = "".join([*LINES, *ROWS[:3]]).rstrip("\n") + note(19)
        assert fit_markdown(REPORT, room) == expected
        assert fit_markdown(REPORT, room + size(ROWS[3]) - 1) == expected

    def test_a_table_header_without_a_row_is_not_kept(self):
        room = size("".join(LINES)) + size(note(28))
        assert fit_markdown(REPORT, room) == LINES[0].rstrip("\n") + note(27)

    def test_not_even_the_note_fits(self):
        assert fit_markdown(REPORT, 50) == "# WISE audit – FAIL: 1 of 2 checks"
        assert fit_markdown(REPORT, 15) == "# WISE audit "
        assert fit_markdown(REPORT, 0) == ""
        assert fit_markdown(REPORT, -5) == ""

    def test_twenty_thousand_rows(self):
        report = LINES[0] + "".join(f"| 日本語の出力 {i} |\n" for i in range(20_000))
        fitted = fit_markdown(report, 65_536)
        assert 65_400 < size(fitted) <= 65_536
        assert fitted.startswith(LINES[0])
        assert fitted.endswith("the run's own files have them all.*\n")

    @given(ANY_TEXT, st.integers(min_value=-1, max_value=400))
    def test_never_too_large_and_always_valid(self, text, max_bytes):
        assert size(fit_markdown(text, max_bytes)) <= max(max_bytes, 0)

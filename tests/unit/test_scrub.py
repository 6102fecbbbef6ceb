"""Keys are taken out of what a provider sends back, however it spells them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wise_pytest.transport.scrub import scrub, scrub_body

KEY = "sk/ABCDEFghijklmnopQQ=="


def strings_of(value: Any) -> list[str]:
    """Every string and name that decoded JSON holds."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for name, part in value.items() for text in (name, *strings_of(part))]
    return [text for part in value for text in strings_of(part)] if isinstance(value, list) else []


# However JSON spells it


@pytest.mark.parametrize(
    ("spelling", "kept"),
    [
        (r"a sk/ABCDEFghijklmnopQQ== b", "a [scrubbed] b"),
        (r"a sk\/ABCDEFghijklmnopQQ== b", "a [scrubbed] b"),
        (r"\u0073k/ABCDEFghijklmnopQQ==", "[scrubbed]"),
        (r"\u0073\u006B\u002f\u0041BCDEFghijklmnopQQ=\u003d", "[scrubbed]"),
        (r"\u0073\u006b\u002F\u0041BCDEFghijklmnopQQ=\u003D", "[scrubbed]"),
        # What stands around a key is kept as it was spelled.
        (r"\u0041\/\tsk\/ABCDEFghijklmnopQQ==\\\/", r"\u0041\/\t[scrubbed]\\\/"),
        # A backslash that is itself escaped escapes nothing: this is no key at this level, it is at the next.
        (r"sk\\/ABCDEFghijklmnopQQ==", "[scrubbed]"),
        (r"sk\\u002fABCDEFghijklmnopQQ==", "[scrubbed]"),
        (r"\"sk\\\/ABCDEFghijklmnopQQ==\"", r"\"[scrubbed]\""),
        (r"sk\u005c\u002fABCDEFghijklmnopQQ==", "[scrubbed]"),
        (r"sk\/ABCDEFghijklmnopQQ= \u00e9", r"sk\/ABCDEFghijklmnopQQ= \u00e9"),
    ],
)
@pytest.mark.parametrize(
    "frame",
    [
        '{"a": "%s",\r\n "a" :1e5}',
        '{"%s":[1,{"b":null}]}',
        '"%s"',
        '{"error": "%s',  # cut
        "<p>%s</p>",
        '"x" %s "y"',
        "\ufeff[%s]",
        '{"n": ' + "9" * 5000 + ', "b": "%s"}',
        "[" * 5000 + '"%s"',
    ],
    ids=["value", "name", "string", "cut", "html", "unquoted", "marked", "huge", "deep"],
)
def test_a_key_is_found_in_every_spelling_and_all_else_stays(frame: str, spelling: str, kept: str):
    body = frame.replace("%s", spelling).encode()
    assert scrub_body(body, [KEY]) == frame.replace("%s", kept).encode()


@pytest.mark.parametrize(
    "body", [b"", b"\\", b'"\\', b'"\\u00', b"\xff\xfe\xfd\\/", b"\0\\\0", b'{"a":"\\/\xff"}']
)
def test_a_body_without_a_key_stays_byte_for_byte(body: bytes):
    assert scrub_body(body, [KEY, ""]) == body
    assert scrub_body(body, []) == body


def test_bytes_that_are_not_utf_8_stay_around_a_key():
    assert (
        scrub_body(b'\xff"sk\\/ABCDEFghijklmnopQQ=="\xed\xa0\x80', [KEY]) == b'\xff"[scrubbed]"\xed\xa0\x80'
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_key_is_found_in_every_encoding_of_json(encoding: str, mark: str):
    text = mark + r'{"é":"sk\/ABCDEFghijklmnopQQ== \ud83d"}'
    kept = mark + r'{"é":"[scrubbed] \ud83d"}'
    assert scrub_body(text.encode(encoding), [KEY]) == kept.encode(encoding)


def test_a_key_is_found_in_a_body_that_only_begins_like_another_encoding():
    assert scrub_body(b"\0x" + KEY.encode(), [KEY]) == b"\0x[scrubbed]"
    assert scrub_body(b"\0xy" + KEY.encode(), [KEY]) == b"\0xy[scrubbed]"


def test_an_escape_is_not_torn_where_a_key_seems_to_begin_or_end_in_it():
    assert json.loads(scrub_body(rb'{"a":"\nnnnnnx"}', ["nnnnnn"])) == {"a": "[scrubbed]x"}
    assert json.loads(scrub_body(rb'{"a":"abcde\""}', ["abcde\\"])) == {"a": "[scrubbed]"}


def test_a_long_body_takes_no_long_time():
    body = json.dumps({"a": "\n…" * 30_000 + "...\\\\" * 30_000}).encode()
    began = time.monotonic()
    assert scrub_body(body, [KEY]) == body
    assert time.monotonic() - began < 10


# Parts of keys


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("key sk/ABCDEFghij...QQ==.", "key [scrubbed]...[scrubbed]."),
        ("sk/ABCDEFghij…QQ==", "[scrubbed]…[scrubbed]"),
        ("sk/ABCDEFghij***QQ==", "[scrubbed]***[scrubbed]"),
        ("(sk/A****************pQQ==)", "([scrubbed]****************[scrubbed])"),
        ("sk/A... or ...pQQ==", "[scrubbed]... or ...[scrubbed]"),
        ("sk/ABCDEFghijklmnopQQ=...", "[scrubbed]..."),
        ("xsk/ABC...", "x[scrubbed]..."),
        ("...QQ==x", "...[scrubbed]x"),
        # No part of the key that tells anything, or none at all.
        ("sk/...Q==", "sk/...Q=="),
        ("sk/ABCD..QQ==", "sk/ABCD..QQ=="),
        ("sk/ABCD**QQ==", "sk/ABCD**QQ=="),
        ("sk/ABCD ... QQ==", "sk/ABCD ... QQ=="),
        ("BCDEF...opQQ=", "BCDEF...opQQ="),
        ("QQ==...sk/A", "QQ==...sk/A"),
        ("Well... yes", "Well... yes"),
    ],
)
def test_parts_of_a_key_beside_an_ellipsis_are_taken_out(text: str, kept: str):
    assert scrub(text, [KEY]) == kept
    assert scrub_body(text.encode(), [KEY]) == kept.encode()
    spelled = json.dumps({"a": text}).replace("/", "\\/")
    assert json.loads(scrub_body(spelled.encode(), [KEY])) == {"a": kept}


def test_the_longest_part_of_a_key_that_repeats_itself_is_taken_out():
    assert scrub("ababababab...", ["abababababX"]) == "[scrubbed]..."
    assert scrub("...ababababab!", ["Xababababab"]) == "...[scrubbed]!"


def test_an_ellipsis_may_be_escaped_too():
    body = rb'{"a":"sk\/ABC\u2026\u0051Q=="}'
    assert scrub_body(body, [KEY]) == rb'{"a":"[scrubbed]\u2026[scrubbed]"}'


def test_parts_of_several_keys_are_taken_out():
    text = "other-…, sk/ABC…-tail and other-key-tail"
    assert scrub(text, [KEY, "other-key-tail"]) == "[scrubbed]…, [scrubbed]…[scrubbed] and [scrubbed]"


# Any key, any spelling

PRINTABLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
SHORT = {'"': '\\"', "\\": "\\\\", "/": "\\/"}


@st.composite
def spelled(draw: st.DrawFn, text: str) -> str:
    """``text`` within a JSON string, each character in one of the ways that JSON has for it."""
    written = []
    for char in text:
        ways = [f"\\u{ord(char):04x}", f"\\u{ord(char):04X}", SHORT.get(char, char)]
        if char == "/":
            ways.append(char)
        written.append(draw(st.sampled_from(ways)))
    return "".join(written)


@given(st.data(), st.text(PRINTABLE, min_size=6, max_size=24), st.text(max_size=8), st.text(max_size=8))
@settings(deadline=None, max_examples=100)
def test_no_decoded_string_holds_any_key_in_any_spelling(
    data: st.DataObject, key: str, before: str, after: str
):
    frame = '{"name": ["%s", {"%s": 1}], "nested": "%s"}'
    assume(key not in frame and key not in "[scrubbed]")
    plain = before + key + after
    once = json.dumps(before)[1:-1] + data.draw(spelled(key)) + json.dumps(after)[1:-1]
    nested = json.dumps('{"a": "' + data.draw(spelled(key)) + '"}')[1:-1]
    body = (frame % (once, once, nested)).encode()
    assert json.loads(body)["name"][0] == plain  # the test spells it right
    found = json.loads(scrub_body(body, [key]))
    inner = json.loads(found["nested"])
    assert [text for text in [*strings_of(found), *strings_of(inner)] if key in text] == []
    assert "[scrubbed]" in found["name"][0]
    assert "[scrubbed]" in inner["a"]


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_no_body_is_beyond_scrubbing(body: bytes):
    scrubbed = scrub_body(body, ["abcdef"])
    assert scrubbed == body or b"abcdef" not in scrubbed

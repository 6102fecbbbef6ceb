import json
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wise_pytest.cassettes.scrub import (
    DEEP_FIELDS,
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    TOP_LEVEL_FIELDS,
    keep_headers,
    scrub_reply_body,
    scrub_url,
)

# Headers


def test_the_headers_that_may_be_kept_are_these():
    assert {"accept", "content-type", "anthropic-version"} == REQUEST_HEADERS
    assert {"content-type"} == RESPONSE_HEADERS


def test_headers_are_kept_in_lower_case_sorted_each_as_a_list():
    headers = {
        "X-Api-Key": "sk-secret",
        "Content-Type": "application/json",
        "AUTHORIZATION": ["Bearer sk-secret"],
        "accept": ("a", "b"),
        "Anthropic-Version": "2023-06-01",
        "cookie": "id=1",
        "x-request-id": "1",
        "openai-organization": "org-1",
    }
    kept = keep_headers(headers, REQUEST_HEADERS)
    assert list(kept.items()) == [
        ("accept", ["a", "b"]),
        ("anthropic-version", ["2023-06-01"]),
        ("content-type", ["application/json"]),
    ]
    assert keep_headers(headers, RESPONSE_HEADERS) == {"content-type": ["application/json"]}
    assert keep_headers({}, REQUEST_HEADERS) == {}


near_names = st.sampled_from(
    ["accept", "Accept-Language", "x-accept", "content-type ", "contenT-tYpe", "ANTHROPIC-VERSION"]
)


@settings(deadline=None)
@given(
    st.dictionaries(near_names | st.text(st.characters(), max_size=20), st.text() | st.lists(st.text())),
    st.sampled_from([REQUEST_HEADERS, RESPONSE_HEADERS]),
)
def test_no_header_outside_the_list_survives_in_any_case(headers, allowed):
    kept = keep_headers(headers, allowed)
    assert kept.keys() <= allowed
    assert kept.keys() == {name.lower() for name in headers} & allowed
    given_values = [value if isinstance(value, list) else [value] for value in headers.values()]
    assert all(value in given_values for value in kept.values())


# URLs


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("https://u:p@h.test:8443/v1/x?key=sk-1&a=b#sk-2", "https://h.test:8443/v1/x"),
        ("https://u@h.test/v1", "https://h.test/v1"),
        ("https://u:p@ss@h.test/v1", "https://h.test/v1"),
        ("http://[::1]:8000/v1?", "http://[::1]:8000/v1"),
        ("http://h.test/a@b/c", "http://h.test/a@b/c"),
        ("http://h.test?key=1", "http://h.test"),
    ],
)
def test_a_url_is_kept_without_what_may_hold_a_key(url, kept):
    assert scrub_url(url) == kept
    assert scrub_url(kept) == kept


quiet = st.text(st.sampled_from("abz09-._~%"), max_size=8)
secret = st.text(st.sampled_from("SECRT:@?/&=+"), max_size=8).map(lambda text: f"SECRET{text}")


@settings(deadline=None)
@given(quiet, quiet, secret, secret, secret)
def test_no_secret_in_a_url_survives(host, path, user, query, fragment):
    user = user.translate({ord(mark): None for mark in "/?#"})
    base = f"h{host}.test/{path}"
    assert scrub_url(f"https://{user}@{base}?{query}#{fragment}") == f"https://{base}"


# Bodies: what goes


def test_the_fields_that_go_are_these():
    assert {"id", "responseId", "request_id", "system_fingerprint"} == TOP_LEVEL_FIELDS
    assert {"thoughtSignature", "encrypted_content", "organization", "organization_id"} == DEEP_FIELDS


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ('{"id":"x","a":1}', '{"a":1}'),
        ('{"a":1,"id":"x"}', '{"a":1}'),
        ('{"a":1,"id":"x","b":2}', '{"a":1,"b":2}'),
        ('{"id":"x"}', "{}"),
        ('{"id":"x","request_id":"y"}', "{}"),
        ('{"id":"x","request_id":"y","a":1}', '{"a":1}'),
        ('{"a":1,"id":"x","request_id":"y"}', '{"a":1}'),
        ('{"id":1,"a":1,"responseId":2,"b":2,"system_fingerprint":3}', '{"a":1,"b":2}'),
        ('{"id":{"a":[1,{"id":2}]},"b":2}', '{"b":2}'),
        ('{"a":{"id":"kept"}}', '{"a":{"id":"kept"}}'),
        ('{"a":{"organization":"o","b":1}}', '{"a":{"b":1}}'),
        ('{"a":[{"organization_id":"o"},[{"b":1,"encrypted_content":"e"}]]}', '{"a":[{},[{"b":1}]]}'),
        ('{"organization":{"thoughtSignature":"t","a":1},"b":2}', '{"b":2}'),
        ('{"organization":{"organization":{"organization":1}}}', "{}"),
        ('[{"id":"kept","thoughtSignature":"t"}]', '[{"id":"kept"}]'),
        (r'{"\u0069d":"x","a":1}', '{"a":1}'),
        ('{"a":"\\"id\\":1,{}[]","id":"}],{\\\\"}', '{"a":"\\"id\\":1,{}[]"}'),
        ('{"id":[],"a":{}}', '{"a":{}}'),
        ('{"id":null,"ID":"kept","id ":"kept"}', '{"ID":"kept","id ":"kept"}'),
        ('{\n  "id": "x",\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'),
        ('{\n  "a": 1,\n  "id": "x"\n}\n', '{\n  "a": 1\n}\n'),
        ('{ "id" : 1 }', "{  }"),
    ],
)
def test_named_fields_are_cut_out_and_nothing_else_moves(body, kept):
    assert scrub_reply_body(body.encode("utf-8")) == kept.encode("utf-8")
    assert scrub_reply_body(kept.encode("utf-8")) == kept.encode("utf-8")


DETAILS = [
    "1.0",
    "0.1000",
    "1E5",
    "1e+05",
    "-0",
    "-0.0",
    "1e999",
    "1" + "0" * 400,
    "9" * 5000,
    "123456789012345678901234567890.12345678901234567890",
    "NaN",
    "-Infinity",
    '"e\u0301"',
    '"\u00e9"',
    r'"\u00e9\u0065\u0301"',
    r'"\ud83d"',
    r'"\ud83d\ude00 \/ \b"',
    '"日本🎉\u2028\u00a0"',
    '""',
    "{}",
    "[ ]",
    "true",
    '{"x":1,"x":2,"x":1}',
    '{"x":{"y":1},"x":{"y":1.0}}',
    '[1,1.0,"1"]',
]


@pytest.mark.parametrize("detail", DETAILS, ids=[detail[:20] for detail in DETAILS])
def test_a_detail_that_reading_and_writing_would_lose_is_kept(detail):
    untouched = f'{{"a": {detail} ,"b":[{detail}]}}'.encode()
    assert scrub_reply_body(untouched) == untouched
    with_id = (
        f'{{"id":"x","a": {detail},"organization":1,"b":[{detail},{{"organization":{detail}}}]}}'.encode()
    )
    assert scrub_reply_body(with_id) == f'{{"a": {detail},"b":[{detail},{{}}]}}'.encode()


def test_no_text_is_normalised():
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    body = f'{{"id":"x","a":"{composed}","b":"{decomposed}"}}'.encode()
    assert json.loads(scrub_reply_body(body)) == {"a": composed, "b": decomposed}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_whatever_encoding_json_is_read_in_is_written_too(encoding):
    body = '{"id":"x","a":"é🎉"}'.encode(encoding)
    assert scrub_reply_body(body) == '{"a":"é🎉"}'.encode(encoding)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"id",
        b"\x00\xff\xfe",
        b'\xff{"id":1}',
        b'{"id":"x"',
        b'{"id":"x",}',
        b'{"id":"x"} {"id":"y"}',
        b"{'id':'x'}",
        b'data: {"id":"x"}\n\n',
        b"<html>id</html>",
        b'{"id":"a\nb"}',
        b'"id"',
        b"17",
        b"null",
        b"[]",
        b"{}",
        b'{"content":"id organization"}',
        b'{"id":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_json_or_has_nothing_to_hide_comes_back_byte_for_byte(body):
    assert scrub_reply_body(body) == body


def test_deep_nesting_that_python_reads_is_no_obstacle():
    depth = sys.getrecursionlimit() // 4
    body = b'{"id":1,"a":' + b"[" * depth + b'{"organization":1}' + b"]" * depth + b"}"
    assert scrub_reply_body(body) == b'{"a":' + b"[" * depth + b"{}" + b"]" * depth + b"}"


# Bodies: any JSON at all, against a slow and obvious reading of the same rule

names = st.sampled_from(
    ["id", "organization", "thoughtSignature", "request_id", "a", "b", "ID", "", "\ud83d", '"', "\\", "{"]
)
blanks = st.sampled_from(["", "", " ", "\n  ", "\t"])
scalars = st.sampled_from(
    ["0", "-1.50", "1E5", "1e999", "true", "null", "NaN", '"}"', r'"\\\""', '"id"', '"é,"', r'"\ud83d"']
)


def joined(parts, left, right):
    return st.tuples(blanks, blanks).map(
        lambda blank: left + blank[0] + f"{blank[1]},{blank[0]}".join(parts) + blank[1] + right
    )


def members(values):
    name = names.map(json.dumps) | names.map(
        lambda text: '"' + "".join(f"\\u{ord(c):04x}" for c in text) + '"'
    )
    return st.tuples(name, blanks, values).map(
        lambda member: f"{member[0]}{member[1]}:{member[1]}{member[2]}"
    )


def containers(values):
    objects = st.lists(members(values), max_size=5).flatmap(lambda parts: joined(parts, "{", "}"))
    arrays = st.lists(values, max_size=3).flatmap(lambda parts: joined(parts, "[", "]"))
    return objects | arrays


documents = st.recursive(scalars, containers, max_leaves=15)


class Members(tuple):
    """An object as a tuple of its names and values, so that repeated names are seen."""

    __slots__ = ()


def parse(text):
    """Numbers and constants as they are written, objects member by member."""
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=Members)


def without(value, unwanted):
    if isinstance(value, Members):
        return Members((name, without(part, DEEP_FIELDS)) for name, part in value if name not in unwanted)
    if isinstance(value, list):
        return [without(part, DEEP_FIELDS) for part in value]
    return value


@settings(deadline=None, max_examples=300)
@given(documents)
def test_any_json_loses_the_named_fields_and_only_those(text):
    before = parse(text)
    after = without(before, TOP_LEVEL_FIELDS | DEEP_FIELDS)
    scrubbed = scrub_reply_body(text.encode("utf-8"))
    assert parse(scrubbed) == after
    assert (scrubbed == text.encode("utf-8")) == (before == after)
    assert scrub_reply_body(scrubbed) == scrubbed


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_come_back_as_bytes(body):
    scrubbed = scrub_reply_body(body)
    assert isinstance(scrubbed, bytes)
    assert len(scrubbed) <= len(body)

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recordings import digest, pack_bytes, part_bytes, recording, session, write
from wise_pytest.cassettes.pack import (
    Exchange,
    Recording,
    decode_line,
    part_header,
    read_identity,
    read_pack,
    read_part,
    write_pack,
)
from wise_pytest.errors import CassetteError

A, B, C = (recording(item, url="u", request_body=b"q", reply_body=b"r").to_line() for item in ("a", "b", "c"))

AWKWARD_BODIES = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\xbd",  # a lone surrogate as CESU-8: no UTF-8
    b'"\\ud83d"',  # a lone surrogate as JSON may escape it
    b'{"base64":"eA=="}',  # looks like the stand-in for a body that is no text
    "né e\u0301 \u2028 \x85 日本🎉".encode(),
    b"a\r\nb\rc\n",
    b"\xef\xbb\xbf{}",
]
bodies = st.sampled_from(AWKWARD_BODIES) | st.binary() | st.text().map(lambda text: text.encode("utf-8"))
texts = st.text(st.characters(), max_size=20)  # lone surrogates included
headers = st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2)


def assert_explained(error, path, *said):
    """One line that names the file, what is wrong, and what to do."""
    message = str(error.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    for part in said:
        assert part in message
    assert "; " in message
    what_to_do = message.rpartition("; ")[2]
    assert what_to_do.startswith(("restore it", "use the wise-pytest that wrote it", "mark it as '-text'"))


def read(path):
    return read_pack(path, panel="p", model="m")


def read_parts_of(path):
    return read_part(path, panel="p", model="m")


# One line


@settings(deadline=None)
@given(
    st.builds(
        Recording,
        item=texts,
        form=texts,
        repetition=st.integers(1, 10**6),
        session=texts,
        recorded_at=texts,
        attempts=st.integers(1, 9),
        latency_s=st.integers(0, 10**9).map(lambda n: n / 10**6),
        exchange=st.builds(
            Exchange,
            method=texts,
            url=texts,
            request_headers=headers,
            request_body=bodies,
            status=st.integers(100, 599),
            message=texts,
            response_headers=headers,
            response_body=bodies,
        ),
    )
)
def test_any_recording_is_one_line_of_ascii_and_comes_back_the_same(made):
    line = made.to_line()
    assert line.isascii()
    assert line.endswith(b"\n")
    assert len(line.splitlines()) == 1  # by every line break that bytes know
    assert decode_line(line, where="here") == made


def test_a_line_reads_as_the_format_says():
    assert recording("i001", "AVOID1", 2).to_line() == (
        b'{"item":"i001","form":"AVOID1","repetition":2,"session":"s1",'
        b'"recorded_at":"2026-01-02T03:04:05.678Z","attempts":1,"latency_s":0.25,'
        b'"request":{"method":"POST","uri":"http://127.0.0.1:1/v1/chat/completions",'
        b'"headers":{"content-type":["application/json"]},'
        b'"body":"{\\"messages\\":[{\\"content\\":\\"Why? Use 5 words.\\",\\"role\\":\\"user\\"}],'
        b'\\"model\\":\\"m\\",\\"temperature\\":0.2}"},'
        b'"response":{"status":{"code":200,"message":"OK"},'
        b'"headers":{"content-type":["application/json"]},'
        b'"body":"{\\"choices\\":[{\\"finish_reason\\":\\"stop\\",\\"message\\":{\\"content\\":\\"a\\"}}]}"}}\n'
    )


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b"", ""),
        ("é\x00".encode(), "é\x00"),
        (b"\xff", {"base64": "/w=="}),
        (b"\xed\xa0\xbd", {"base64": "7aC9"}),
    ],
)
def test_a_body_is_kept_as_text_where_it_is_text(body, kept):
    line = json.loads(recording(reply_body=body).to_line())
    assert line["response"]["body"] == kept


def test_a_latency_is_kept_to_the_microsecond():
    precise = dataclasses.replace(recording(), latency_s=1.23456789)
    assert decode_line(precise.to_line(), where="here").latency_s == 1.234568


def changed(*path, value=None, drop=False):
    record = json.loads(A)
    place = record
    for name in path[:-1]:
        place = place[name]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(record).encode("ascii") + b"\n"


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b"\xff\n",
        b"[" * 200_000 + b"\n",
        A[:-2] + b"\n",
        A[:-1] + A,
        *(
            changed(name, drop=True)
            for name in ("item", "form", "repetition", "session", "recorded_at", "attempts", "latency_s")
        ),
        changed("request", drop=True),
        changed("response", "status", "code", drop=True),
        changed("item", value=1),
        changed("repetition", value="1"),
        changed("repetition", value=1.0),
        changed("attempts", value=None),
        changed("latency_s", value="soon"),
        changed("latency_s", value=10**400),
        changed("request", value="x" * 10**6),
        changed("request", "headers", value=[]),
        changed("request", "headers", value={"accept": "x"}),
        changed("response", "headers", value={"accept": [1]}),
        changed("request", "body", value=None),
        changed("response", "body", value={"base64": "no base64!"}),
        changed("response", "body", value={"base64": "é"}),
        changed("response", "body", value={"base64": 1}),
        changed("response", "body", value={"hex": "00"}),
        changed("response", "body", value="\ud83d"),
        changed("response", "status", value=200),
    ],
)
def test_a_line_that_no_recording_makes_is_refused(line):
    with pytest.raises(CassetteError) as error:
        decode_line(line, where="here:7")
    assert_explained(error, "here:7", "not a recording")


# A pack


def test_a_pack_is_sorted_counted_and_digested(tmp_path):
    made = [
        recording("b", "POS", 1),
        recording("a", "POS", 10),
        recording("a", "POS", 2),
        recording("a", "NEG", 1),
        recording("B", "POS", 1),
    ]
    lines = {each.key: each.to_line() for each in made}
    path = tmp_path / "new" / "folder" / "m.jsonl"
    write_pack(path, panel="p", model="m", lines=lines, sessions=[session()])
    header, *rest = path.read_bytes().splitlines(keepends=True)
    assert rest == [made[n].to_line() for n in (4, 3, 2, 1, 0)]
    assert header.isascii()
    assert json.loads(header) == {
        "schema": "wise.cassette/1",
        "panel": "p",
        "model": "m",
        "recordings": 5,
        "sha256": digest(json.loads(header), b"".join(rest)),
        "sessions": [session()],
    }
    contents = read(path)
    assert dict(contents.lines) == lines
    assert (contents.sessions, contents.cut) == ((session(),), False)


def test_the_order_in_which_recordings_came_does_not_show(tmp_path):
    lines = {each.key: each.to_line() for each in (recording("a"), recording("b"), recording("c"))}
    backwards = dict(reversed(lines.items()))
    for name, given_lines in (("one", lines), ("other", backwards)):
        write_pack(tmp_path / name, panel="p", model="m", lines=given_lines, sessions=[session()])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_sessions_without_a_recording_are_left_out(tmp_path):
    made = [recording("a", session="s3"), recording("b", session="s1"), recording("c", session="s3")]
    path = tmp_path / "m.jsonl"
    write_pack(
        path,
        panel="p",
        model="m",
        lines={each.key: each.to_line() for each in made},
        sessions=[session("s1"), session("s2"), session("s3"), session("s4")],
    )
    assert read(path).sessions == (session("s1"), session("s3"))


def test_a_pack_that_cannot_be_written_leaves_what_was_there(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    path = tmp_path / "file" / "m.jsonl"
    with pytest.raises(CassetteError, match="cannot be written"):
        write_pack(path, panel="p", model="m", lines={}, sessions=[])
    assert (tmp_path / "file").read_bytes() == b"x"


def test_names_with_lone_surrogates_have_packs_too(tmp_path):
    path = tmp_path / "m.jsonl"
    made = recording("\ud83d")
    write_pack(path, panel="p\udc00", model="m\ud800", lines={made.key: made.to_line()}, sessions=[session()])
    contents = read_pack(path, panel="p\udc00", model="m\ud800")
    assert list(contents.lines) == [("\ud83d", "POS", 1)]
    assert read_identity(path) == ("p\udc00", "m\ud800")


def test_a_pack_written_by_hand_after_the_format_is_read(tmp_path):
    path = write(tmp_path / "m.jsonl", pack_bytes(A, B))
    assert dict(read(path).lines) == {("a", "POS", 1): A, ("b", "POS", 1): B}
    assert dict(read(write(path, pack_bytes(sessions=[]))).lines) == {}


# A damaged pack


def test_a_pack_that_is_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "m.jsonl"
    whole = pack_bytes(A, B)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CassetteError) as error:
            read(path)
        assert_explained(error, path, "cut")


def test_a_pack_in_which_any_byte_after_the_header_was_changed_is_refused(tmp_path):
    path = tmp_path / "m.jsonl"
    whole = pack_bytes(A, B)
    for position in range(whole.index(b"\n") + 1, len(whole)):
        for byte in {whole[position] ^ 1, b"\r\n\0\xff"[position % 4]} - {whole[position]}:
            path.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
            with pytest.raises(CassetteError) as error:
                read(path)
            assert_explained(error, path)


@pytest.mark.parametrize(
    "content",
    [
        pack_bytes(A, B) + C,
        pack_bytes(A, B) + b"\n",
        pack_bytes(A, B) + b" ",
        pack_bytes(A, B).replace(A, b""),
        pack_bytes(A, B).replace(A, C),
        pack_bytes(A, B).replace(A + B, B + A),
        pack_bytes(A, recordings=2),
        pack_bytes(A, recordings=None),
        pack_bytes(A, recordings="1"),
        pack_bytes(A, sha256=None),
        pack_bytes(A, sha256="0" * 64),
        part_bytes(A),
    ],
)
def test_lines_that_do_not_fit_their_header_are_refused(tmp_path, content):
    path = write(tmp_path / "m.jsonl", content)
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, path)


@pytest.mark.parametrize(
    "content",
    [
        b"\n",
        b"not JSON\n",
        b"[]\n",
        b"{}\n",
        b"null\n",
        b'"wise.cassette/1"\n',
        b"\xff\xfe\n",
        b"[" * 200_000 + b"\n",
        b"9" * 5000 + b"\n",
        b"<<<<<<< HEAD\n" + pack_bytes(A),
        b"interactions:\n- request: {}\n",
        A,
    ],
)
def test_a_file_that_is_no_cassette_is_refused(tmp_path, content):
    path = write(tmp_path / "m.jsonl", content)
    for use in (read, read_parts_of, read_identity):
        with pytest.raises(CassetteError) as error:
            use(path)
        assert_explained(error, path, "its first line is no cassette header")


def test_an_empty_file_is_refused_as_a_pack(tmp_path):
    path = write(tmp_path / "m.jsonl", b"")
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, path, "is empty")


@pytest.mark.parametrize("schema", ["wise.cassette/2", "wise.row/1", None, 1, []])
def test_another_version_is_refused_and_named(tmp_path, schema):
    path = write(tmp_path / "m.jsonl", pack_bytes(A, schema=schema))
    for use in (read, read_parts_of, read_identity):
        with pytest.raises(CassetteError) as error:
            use(path)
        assert_explained(error, path, repr(schema), "'wise.cassette/1'")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"panel": "q"}, "belongs to the panel 'q', not 'p'"),
        ({"model": "M"}, "belongs to the model 'M', not 'm'"),
        ({"model": None}, "belongs to the model None, not 'm'"),
    ],
)
def test_a_cassette_of_another_panel_or_model_is_refused(tmp_path, header, said):
    path = write(tmp_path / "m.jsonl", pack_bytes(A, **header))
    for use in (read, read_parts_of):
        with pytest.raises(CassetteError) as error:
            use(path)
        assert_explained(error, path, said)


def test_a_second_recording_of_a_cell_is_refused(tmp_path):
    again = recording("a", reply_body=b"other").to_line()
    path = write(tmp_path / "m.jsonl", pack_bytes(A, B, again))
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, f"{path}:4", "a second recording of ('a', 'POS', 1)")


@pytest.mark.parametrize("line", [b"{}\n", b"\n", b'{"item":1,"form":"POS","repetition":1,"session":"s1"}\n'])
def test_a_line_without_a_key_is_refused_even_where_the_digest_fits(tmp_path, line):
    path = write(tmp_path / "m.jsonl", pack_bytes(A, line))
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, f"{path}:3", "not a recording")


def test_converted_line_ends_are_recognised(tmp_path):
    whole = pack_bytes(A, B)
    path = write(tmp_path / "m.jsonl", whole.replace(b"\n", b"\r\n"))
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, path, "CRLF", ".gitattributes")
    header_end = whole.index(b"\n") + 1
    path.write_bytes(whole[:header_end] + whole[header_end:].replace(b"\n", b"\r\n"))
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, path, "was changed")


@pytest.mark.parametrize("sessions", [None, {}, "s1", [1], [{}], [session(), "s2"]])
def test_a_pack_that_does_not_say_how_it_was_recorded_is_refused(tmp_path, sessions):
    path = write(tmp_path / "m.jsonl", pack_bytes(A, sessions=sessions))
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, path, "does not say how it was recorded")


def test_a_pack_whose_header_lacks_sessions_is_refused(tmp_path):
    header, line_break, body = pack_bytes(A).partition(b"\n")
    short = {name: value for name, value in json.loads(header).items() if name != "sessions"}
    short["sha256"] = digest(short, body)
    path = write(tmp_path / "m.jsonl", json.dumps(short).encode() + line_break + body)
    with pytest.raises(CassetteError) as error:
        read(path)
    assert_explained(error, path, "does not say how it was recorded")


def test_what_cannot_be_read_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "absent.jsonl"):
        for use in (read, read_parts_of, read_identity):
            with pytest.raises(CassetteError, match="cannot be read") as error:
                use(path)
            assert str(path) in str(error.value)


# A part


def test_a_part_is_read_as_far_as_it_was_written(tmp_path):
    path = tmp_path / "m.s1-main-1.part.jsonl"
    whole = part_bytes(A, B)
    header_end = whole.index(b"\n") + 1
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        part = read_parts_of(path)
        n_whole = (length >= header_end + len(A)) + (length == len(whole))
        assert list(part.lines.values()) == [A, B][:n_whole]
        assert part.cut == (length not in {header_end, header_end + len(A), len(whole)})
        assert part.sessions == ((session(),) if length >= header_end else ())


def test_the_later_recording_of_a_cell_in_a_part_counts(tmp_path):
    again = recording("a", reply_body=b"other").to_line()
    path = write(tmp_path / "m.part.jsonl", part_bytes(A, B, again))
    assert dict(read_parts_of(path).lines) == {("a", "POS", 1): again, ("b", "POS", 1): B}


@pytest.mark.parametrize(
    ("damaged", "line"),
    [
        (A.replace(b'"form"', b'"farm"') + B, 2),
        (A[:-1] + B, 2),  # a lost line break
        (b"\n" + A + B, 2),
        (A + b"\0" * len(B) + b"\n" + C, 3),  # a block that never reached the disk
        (A + B[:20] + b"\r" + B[21:] + C, 3),  # no line break, though Python may take it for one
        (A + B[:20] + b"\x0b" + B[21:] + C, 3),
    ],
)
def test_damage_before_the_last_line_of_a_part_is_an_error(tmp_path, damaged, line):
    path = write(tmp_path / "m.part.jsonl", part_bytes(damaged))
    with pytest.raises(CassetteError) as error:
        read_parts_of(path)
    assert_explained(error, f"{path}:{line}", "not a recording")


def test_the_header_of_a_part_names_panel_model_and_session(tmp_path):
    header = part_header(panel="p", model="m", session=session("s9"))
    assert header.endswith(b"\n")
    assert json.loads(header) == {
        "schema": "wise.cassette/1",
        "panel": "p",
        "model": "m",
        "sessions": [session("s9")],
    }
    path = write(tmp_path / "m.part.jsonl", header + A)
    assert dict(read_parts_of(path).lines) == {("a", "POS", 1): A}


# Whose a file is


def test_a_file_says_whose_it_is(tmp_path):
    assert read_identity(write(tmp_path / "pack", pack_bytes(A))) == ("p", "m")
    assert read_identity(write(tmp_path / "part", part_bytes())) == ("p", "m")
    assert read_identity(write(tmp_path / "cut", part_bytes()[:-1])) is None
    assert read_identity(write(tmp_path / "empty", b"")) is None


@pytest.mark.parametrize("header", [{"panel": None}, {"model": 1}])
def test_a_header_without_a_name_is_refused(tmp_path, header):
    path = write(tmp_path / "m.jsonl", part_bytes(**header))
    with pytest.raises(CassetteError) as error:
        read_identity(path)
    assert_explained(error, path, "does not say whose it is")


@pytest.mark.parametrize("told", [b'"temperature":0.2', b'"weights":"abc"', b'"started_at":"2026'])
def test_how_something_was_recorded_cannot_be_changed_unnoticed(tmp_path, told: bytes):
    made = {
        "id": "s1",
        "started_at": "2026-06-12T00:00:00Z",
        "decoding": {"temperature": 0.2},
        "notes": {"weights": "abc"},
    }
    path = tmp_path / "m.jsonl"
    line = recording("a")
    write_pack(path, panel="p", model="m", lines={line.key: line.to_line()}, sessions=[made])
    content = path.read_bytes()
    assert content.count(told) == 1
    path.write_bytes(content.replace(told, told[:-1] + b"9" if told[-1:] != b'"' else told[:-2] + b'x"'))
    with pytest.raises(CassetteError, match="was changed after it was recorded"):
        read_pack(path, panel="p", model="m")

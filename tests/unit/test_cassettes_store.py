import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from tests.recordings import pack_bytes, part_bytes, recording, session, write
from wise_pytest.cassettes.pack import read_pack
from wise_pytest.cassettes.store import CassetteStore, RecordingLock, pack_parts
from wise_pytest.errors import CassetteError, OptionError

ROOT = Path(__file__).parents[2]
EARLY, LATE = "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.679Z"
KEY = ("i1", "POS", 1)


def add(pack, made, *, writer="main", by=None):
    pack.append(made, session=by or session(), writer=writer)


def files(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def recordings_in(root):
    """Files of recordings, without what a lock leaves beside them."""
    return [name for name in files(root) if name not in {".lock", ".gitignore"}]


def recorded(root, panel="p", model="m"):
    """What a process that opens the folder now would replay."""
    pack = CassetteStore(root).pack(panel, model)
    return {key: pack.get(key).exchange.response_body for key in pack.keys()}  # noqa: SIM118 - no mapping


# Where recordings are


AWKWARD_MODELS = [
    "m",
    "M",
    "m.",
    "m..",
    ".m",
    "m.part",
    "m.part+",
    "m.part.jsonl",
    ".part",
    "m.s1-main-1.part",
    "con",
    "CON",
    "nul.jsonl",
    "lpt1",
    "a/b",
    "a\\b",
    "a:b",
    "..",
    "",
    " ",
    "né",
    "ne\u0301",
    "\ud83d",
    "nul\0",
    "m.jsonl",
    "x" * 299 + "a",
    "x" * 299 + "b",
]
WINDOWS_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def test_every_model_has_a_file_of_its_own_on_every_file_system(tmp_path):
    store = CassetteStore(tmp_path)
    names = [store.path("exact_count", model).name for model in AWKWARD_MODELS]
    assert len({name.lower() for name in names}) == len(AWKWARD_MODELS)
    for name in names:
        assert re.fullmatch(r"[a-z0-9_][a-z0-9._+-]*\.jsonl", name)
        assert len(name) <= 100
        assert name.partition(".")[0] not in WINDOWS_DEVICES
        assert not name.endswith(".part.jsonl")


def test_every_model_is_recorded_packed_and_found_again_under_its_full_name(tmp_path):
    store = CassetteStore(tmp_path)
    for number, model in enumerate(AWKWARD_MODELS):
        add(store.pack("p", model), recording(reply_body=b"%d" % number))
    store.close()
    expected = [{KEY: b"%d" % number} for number in range(len(AWKWARD_MODELS))]
    assert [recorded(tmp_path, model=model) for model in AWKWARD_MODELS] == expected
    pack_parts(tmp_path)
    assert [recorded(tmp_path, model=model) for model in AWKWARD_MODELS] == expected
    assert len(files(tmp_path)) == len(AWKWARD_MODELS)
    headers = [json.loads((tmp_path / name).read_bytes().splitlines()[0]) for name in files(tmp_path)]
    assert {header["model"] for header in headers} == set(AWKWARD_MODELS)


def test_panels_have_folders_of_their_own(tmp_path):
    store = CassetteStore(tmp_path)
    assert store.path("exact_count", "m") == tmp_path / "exact_count" / "m.jsonl"
    assert store.path("exact_count", "m").parent != store.path("Exact_Count", "m").parent


def test_what_was_never_recorded_is_empty_and_makes_no_file(tmp_path):
    store = CassetteStore(tmp_path / "cassettes")
    pack = store.pack("p", "m")
    assert (len(pack), list(pack.keys()), pack.get(KEY)) == (0, [], None)
    assert (pack.sessions, pack.cut_parts) == ((), ())
    store.close()
    assert not (tmp_path / "cassettes").exists()


def test_a_pack_is_read_once(tmp_path):
    store = CassetteStore(tmp_path)
    assert store.pack("p", "m") is store.pack("p", "m")
    assert store.pack("p", "m") is not store.pack("p", "n")


# Recording


def test_a_recording_is_there_at_once_for_this_process_and_the_next(tmp_path):
    store = CassetteStore(tmp_path)
    pack = store.pack("p", "m")
    made = recording()
    add(pack, made)
    assert pack.get(KEY) == made
    assert (len(pack), list(pack.keys())) == (1, [KEY])
    # Not closed, as if this process had been killed just now.
    again = CassetteStore(tmp_path).pack("p", "m")
    assert again.get(KEY) == made
    assert again.sessions == (session(),)
    assert again.cut_parts == ()
    store.close()


def test_recordings_of_one_process_are_lines_of_one_part(tmp_path):
    store = CassetteStore(tmp_path)
    made = [recording(item) for item in ("b", "a")]
    for each in made:
        add(store.pack("p", "m"), each, writer="gw0", by=session("run1"))
    store.close()
    assert files(tmp_path) == ["p/m.run1-gw0-1.part.jsonl"]
    header, *lines = (tmp_path / files(tmp_path)[0]).read_bytes().splitlines(keepends=True)
    assert json.loads(header) == {
        "schema": "wise.cassette/1",
        "panel": "p",
        "model": "m",
        "sessions": [session("run1")],
    }
    assert lines == [each.to_line() for each in made]


def test_after_a_close_recording_goes_on_in_a_fresh_part(tmp_path):
    store = CassetteStore(tmp_path)
    add(store.pack("p", "m"), recording("a"))
    store.close()
    add(store.pack("p", "m"), recording("b"))
    store.close()
    store.close()
    assert len(files(tmp_path)) == 2
    assert sorted(recorded(tmp_path)) == [("a", "POS", 1), ("b", "POS", 1)]


def test_a_model_is_not_given_the_parts_of_one_whose_name_begins_alike(tmp_path):
    store = CassetteStore(tmp_path)
    for model in ("gpt-4", "gpt-4.1", "gpt-4.1-mini"):
        add(store.pack("p", model), recording(reply_body=model.encode()))
    store.close()
    for model in ("gpt-4", "gpt-4.1", "gpt-4.1-mini"):
        assert recorded(tmp_path, model=model) == {KEY: model.encode()}
    assert recorded(tmp_path, model="gpt") == {}


WRITER = """
import sys, time
from pathlib import Path
from tests.recordings import recording, session
from wise_pytest.cassettes.store import CassetteStore

root, writer, other = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
store = CassetteStore(root / "cassettes")
pack = store.pack("p", "m")
(root / writer).touch()
deadline = time.monotonic() + 60
while not (root / other).exists():  # both have opened the folder, and begin at the same time
    assert time.monotonic() < deadline
for n in range(200):
    pack.append(recording(f"{writer}-{n}", reply_body=writer.encode() * 50), session=session(), writer=writer)
store.close()
"""


def test_two_processes_record_into_one_folder_at_the_same_time(tmp_path):
    commands = [
        [sys.executable, "-c", WRITER, str(tmp_path), *pair] for pair in (("gw0", "gw1"), ("gw1", "gw0"))
    ]
    running = [subprocess.Popen(command, cwd=ROOT) for command in commands]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    root = tmp_path / "cassettes"
    assert files(root) == ["p/m.s1-gw0-1.part.jsonl", "p/m.s1-gw1-1.part.jsonl"]
    for name, writer in zip(files(root), ("gw0", "gw1"), strict=True):
        lines = (root / name).read_bytes().splitlines(keepends=True)[1:]
        assert lines == [
            recording(f"{writer}-{n}", reply_body=writer.encode() * 50).to_line() for n in range(200)
        ]
    pack_parts(root)
    assert set(recorded(root)) == {
        (f"{writer}-{n}", "POS", 1) for writer in ("gw0", "gw1") for n in range(200)
    }


# Parts over packs


@pytest.mark.parametrize(
    ("in_pack", "in_part"), [(EARLY, LATE), (LATE, EARLY), (EARLY, EARLY)], ids=["later", "set-back", "same"]
)
def test_what_another_run_recorded_over_a_pack_wins_whatever_its_clock_said(tmp_path, in_pack, in_part):
    old = recording(session="s1", recorded_at=in_pack, reply_body=b"pack").to_line()
    new = recording(session="s2", recorded_at=in_part, reply_body=b"part").to_line()
    write(tmp_path / "p" / "m.jsonl", pack_bytes(old, recording("other").to_line()))
    write(tmp_path / "p" / "m.s2-main-1.part.jsonl", part_bytes(new, sessions=[session("s2")]))
    expected = {KEY: b"part", ("other", "POS", 1): recording().exchange.response_body}
    assert recorded(tmp_path) == expected
    pack_parts(tmp_path)
    assert recorded(tmp_path) == expected
    assert files(tmp_path) == ["p/m.jsonl"]


def test_a_run_on_a_machine_whose_clock_is_behind_replaces_every_recording(tmp_path):
    for name, at in (("s1", "2026-01-02T00:00:00.000Z"), ("s2", "2025-01-02T00:00:00.000Z")):
        with RecordingLock(tmp_path):
            store = CassetteStore(tmp_path)
            for item in "ab":
                made = recording(item, session=name, recorded_at=at, reply_body=name.encode())
                add(store.pack("p", "m"), made, by=session(name))
            store.close()
    assert recorded(tmp_path) == {("a", "POS", 1): b"s2", ("b", "POS", 1): b"s2"}
    assert CassetteStore(tmp_path).pack("p", "m").sessions == (session("s2"),)


@pytest.mark.parametrize(("first", "second"), [(EARLY, LATE), (LATE, EARLY)])
def test_the_later_line_of_a_part_wins(tmp_path, first, second):
    lines = [
        recording(recorded_at=at, reply_body=body).to_line() for at, body in ((first, b"1"), (second, b"2"))
    ]
    write(tmp_path / "p" / "m.s1-main-1.part.jsonl", part_bytes(*lines))
    assert recorded(tmp_path) == {KEY: b"2"}
    pack_parts(tmp_path)
    assert recorded(tmp_path) == {KEY: b"2"}


@pytest.mark.parametrize("sessions", [("s1", "s1"), ("s1", "s2"), ("s2", "s1")])
@pytest.mark.parametrize(
    ("times", "wins"), [((EARLY, LATE), b"2"), ((LATE, EARLY), b"1"), ((EARLY, EARLY), b"2")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_later_of_two_parts_wins_and_at_the_same_time_the_last_file(
    tmp_path, sessions, times, wins, packed
):
    if packed:  # makes no difference: it is older than both, and its clock was ahead
        before = recording(session="s0", recorded_at="2027" + LATE[4:], reply_body=b"0").to_line()
        write(tmp_path / "p" / "m.jsonl", pack_bytes(before, sessions=[session("s0")]))
    for number, name, at in zip((1, 2), sessions, times, strict=True):
        line = recording(session=name, recorded_at=at, reply_body=b"%d" % number).to_line()
        # Named so that the first comes first, whatever its session.
        part = tmp_path / "p" / f"m.{number}-{name}-1.part.jsonl"
        write(part, part_bytes(line, sessions=[session(name)]))
    assert recorded(tmp_path) == {KEY: wins}
    pack_parts(tmp_path)
    assert recorded(tmp_path) == {KEY: wins}


def test_parts_become_one_sorted_pack_with_the_sessions_it_uses(tmp_path):
    kept = recording("a", session="s1", recorded_at=EARLY)
    replaced = recording("b", session="s0", recorded_at=EARLY)
    write(
        tmp_path / "p" / "m.jsonl",
        pack_bytes(kept.to_line(), replaced.to_line(), sessions=[session("s0"), session("s1")]),
    )
    fresh = [recording("b", session="s2", recorded_at=LATE), recording("0", session="s3", recorded_at=LATE)]
    for made in fresh:
        write(
            tmp_path / "p" / f"m.{made.session}-main-1.part.jsonl",
            part_bytes(made.to_line(), sessions=[session(made.session)]),
        )
    pack_parts(tmp_path)
    contents = read_pack(tmp_path / "p" / "m.jsonl", panel="p", model="m")
    assert list(contents.lines.values()) == [fresh[1].to_line(), kept.to_line(), fresh[0].to_line()]
    assert contents.sessions == (session("s1"), session("s2"), session("s3"))


def test_packing_again_changes_nothing(tmp_path):
    write(tmp_path / "p" / "m.s1-main-1.part.jsonl", part_bytes(recording().to_line()))
    pack_parts(tmp_path)
    before = (tmp_path / "p" / "m.jsonl").read_bytes()
    pack_parts(tmp_path)
    assert (tmp_path / "p" / "m.jsonl").read_bytes() == before
    assert files(tmp_path) == ["p/m.jsonl"]


def test_a_kill_between_the_pack_and_the_end_of_its_parts_loses_nothing(tmp_path):
    write(tmp_path / "p" / "m.jsonl", pack_bytes(recording("a", recorded_at=EARLY).to_line()))
    parts = [
        write(
            tmp_path / "p" / f"m.s1-gw{number}-1.part.jsonl",
            part_bytes(recording(item, recorded_at=LATE, reply_body=b"new").to_line()),
        )
        for number, item in enumerate("ab")
    ]
    kept = [shutil.copy(part, tmp_path / part.name.replace(".part", ".kept")) for part in parts]
    pack_parts(tmp_path)
    packed = (tmp_path / "p" / "m.jsonl").read_bytes()
    for survivors in ((0, 1), (0,), (1,)):
        for number in survivors:
            shutil.copy(kept[number], parts[number])
        assert set(recorded(tmp_path).values()) == {b"new"}
        pack_parts(tmp_path)
        assert (tmp_path / "p" / "m.jsonl").read_bytes() == packed
        assert not any(part.exists() for part in parts)


@pytest.mark.parametrize(("first", "second"), [(EARLY, LATE), (LATE, EARLY), (EARLY, EARLY)])
@pytest.mark.parametrize("n_deleted", [0, 1])
def test_parts_that_a_kill_left_beside_their_pack_change_nothing(tmp_path, first, second, n_deleted):
    # Two workers of one session have recorded the same cell, over a pack whose clock was ahead.
    ahead = recording(session="s0", recorded_at="2027" + LATE[4:], reply_body=b"0").to_line()
    write(tmp_path / "p" / "m.jsonl", pack_bytes(ahead, sessions=[session("s0")]))
    contents = {}
    for number, at in enumerate((first, second)):
        line = recording(recorded_at=at, reply_body=b"gw%d" % number).to_line()
        contents[tmp_path / "p" / f"m.s1-gw{number}-1.part.jsonl"] = part_bytes(line)
    for part, content in contents.items():
        write(part, content)
    pack_parts(tmp_path)
    packed, replayed = (tmp_path / "p" / "m.jsonl").read_bytes(), recorded(tmp_path)
    assert replayed == {KEY: b"gw0" if first > second else b"gw1"}
    for part in list(contents)[n_deleted:]:  # parts are deleted in the order of their names
        write(part, contents[part])
    assert recorded(tmp_path) == replayed
    with RecordingLock(tmp_path):
        assert (tmp_path / "p" / "m.jsonl").read_bytes() == packed
    assert recordings_in(tmp_path) == ["p/m.jsonl"]


def test_a_cut_last_line_costs_that_line_and_is_reported(tmp_path):
    whole = part_bytes(recording("a").to_line(), recording("b").to_line())
    part = write(tmp_path / "p" / "m.s1-main-1.part.jsonl", whole[:-40])
    pack = CassetteStore(tmp_path).pack("p", "m")
    assert list(pack.keys()) == [("a", "POS", 1)]
    assert pack.cut_parts == (part,)
    pack_parts(tmp_path)
    assert list(recorded(tmp_path)) == [("a", "POS", 1)]
    assert CassetteStore(tmp_path).pack("p", "m").cut_parts == ()


def test_a_part_with_a_cut_header_does_not_keep_the_others_from_being_packed(tmp_path):
    write(tmp_path / "p" / "m.s1-gw0-1.part.jsonl", part_bytes()[:10])  # the first by name
    write(tmp_path / "p" / "m.s1-gw1-1.part.jsonl", part_bytes(recording("a").to_line()))
    write(tmp_path / "p" / "m.s1-gw2-1.part.jsonl", b"")
    pack_parts(tmp_path)
    assert files(tmp_path) == ["p/m.jsonl"]
    assert list(recorded(tmp_path)) == [("a", "POS", 1)]


def test_parts_without_any_recording_leave_no_pack(tmp_path):
    write(tmp_path / "p" / "m.s1-gw0-1.part.jsonl", part_bytes())
    write(tmp_path / "p" / "n.s1-gw0-1.part.jsonl", b"{")
    pack_parts(tmp_path)
    assert files(tmp_path) == []


def test_a_damaged_part_stops_the_packing_and_is_kept(tmp_path):
    damaged = part_bytes(b"damaged\n", recording("a").to_line())
    part = write(tmp_path / "p" / "m.s1-main-1.part.jsonl", damaged)
    with pytest.raises(CassetteError) as error:
        pack_parts(tmp_path)
    assert str(error.value).startswith(f"{part}:2: not a recording")
    assert part.read_bytes() == damaged
    assert files(tmp_path) == ["p/m.s1-main-1.part.jsonl"]


def test_a_damaged_pack_is_not_replaced_by_its_parts(tmp_path):
    pack = write(tmp_path / "p" / "m.jsonl", pack_bytes(recording("a").to_line())[:-1])
    write(tmp_path / "p" / "m.s1-main-1.part.jsonl", part_bytes(recording("b").to_line()))
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    for use in (pack_parts, recorded):
        with pytest.raises(CassetteError) as error:
            use(tmp_path)
        assert str(error.value).startswith(f"{pack}: is cut")
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_a_part_of_another_model_is_not_mixed_in(tmp_path):
    write(tmp_path / "p" / "m.s1-main-1.part.jsonl", part_bytes(recording().to_line(), model="M"))
    with pytest.raises(CassetteError, match="belongs to the model 'M', not 'm'"):
        recorded(tmp_path)


# The lock


def test_a_second_run_may_not_record_into_the_folder(tmp_path):
    root = tmp_path / "cassettes"
    with RecordingLock(root):
        with pytest.raises(OptionError) as error, RecordingLock(root):
            pass
        assert str(error.value) == (f"{root}: another run is recording into this folder; wait for it to end")
        with RecordingLock(tmp_path / "others"):
            pass
    with RecordingLock(root):
        pass


def test_a_run_in_another_process_holds_the_lock_and_its_death_frees_it(tmp_path):
    script = """
        import sys
        from pathlib import Path
        from wise_pytest.cassettes.store import RecordingLock
        with RecordingLock(Path(sys.argv[1])):
            print("locked", flush=True)
            sys.stdin.read()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout.readline().strip() == b"locked"
        with pytest.raises(OptionError, match="another run is recording"), RecordingLock(tmp_path):
            pass
        other.kill()
    with RecordingLock(tmp_path):
        pass


def test_a_run_packs_what_a_killed_one_has_left_and_then_its_own(tmp_path):
    write(tmp_path / "p" / "m.s0-main-1.part.jsonl", part_bytes(recording("a").to_line())[:-1])
    write(tmp_path / "q" / "n.s0-main-1.part.jsonl", part_bytes(recording().to_line(), panel="q", model="n"))
    write(tmp_path / "p" / "m.s0-main-2.part.jsonl", part_bytes(recording("b").to_line()))
    with RecordingLock(tmp_path):
        assert recordings_in(tmp_path) == ["p/m.jsonl", "q/n.jsonl"]
        store = CassetteStore(tmp_path)
        add(store.pack("p", "m"), recording("c"))
        store.close()
    assert recordings_in(tmp_path) == ["p/m.jsonl", "q/n.jsonl"]
    assert sorted(recorded(tmp_path)) == [("b", "POS", 1), ("c", "POS", 1)]
    assert sorted(recorded(tmp_path, "q", "n")) == [KEY]


def test_what_was_recorded_is_packed_also_when_the_run_ends_in_an_error(tmp_path):
    store = CassetteStore(tmp_path)

    def interrupted():
        with RecordingLock(tmp_path):
            add(store.pack("p", "m"), recording())
            store.close()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert recordings_in(tmp_path) == ["p/m.jsonl"]
    with RecordingLock(tmp_path):
        pass


def test_what_passes_by_is_kept_out_of_version_control_unless_the_user_has_a_say(tmp_path):
    with RecordingLock(tmp_path):
        assert (tmp_path / ".gitignore").read_text() == ".lock\n*.part.jsonl\n"
    (tmp_path / ".gitignore").write_text("own\n")
    with RecordingLock(tmp_path):
        assert (tmp_path / ".gitignore").read_text() == "own\n"


def test_damage_found_when_recording_starts_is_said_and_the_folder_is_free_again(tmp_path):
    part = write(tmp_path / "p" / "m.s0-main-1.part.jsonl", part_bytes(b"damaged\n"))
    with pytest.raises(CassetteError, match="not a recording"), RecordingLock(tmp_path):
        pass
    part.unlink()
    with RecordingLock(tmp_path):
        pass


@pytest.mark.parametrize("place", [".", "below"])
def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path, place):
    write(tmp_path / "file", b"")
    root = tmp_path / "file" / place
    with pytest.raises(OptionError) as error, RecordingLock(root):
        pass
    assert str(error.value).startswith(f"{root}: cannot record into this folder: ")
    assert "\n" not in str(error.value)


# A full disk


FULL_DISK = """
import resource, sys
from pathlib import Path
from tests.recordings import recording, session
from wise_pytest.cassettes.store import CassetteStore
from wise_pytest.errors import CassetteError

root, room = Path(sys.argv[1]), int(sys.argv[2])
store = CassetteStore(root)
pack = store.pack("p", "m")

def add(item):
    pack.append(recording(item), session=session(), writer="main")

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

if room > 300:  # enough for a header
    add("before")
    limit(sum(path.stat().st_size for path in root.rglob("*.part.jsonl")) + room - 300)
else:
    limit(room)
try:
    add("during")
except CassetteError as error:
    print(error)
    assert pack.get(("during", "POS", 1)) is None
limit(resource.RLIM_INFINITY)
add("after")
store.close()
"""


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (0, ["after"]),  # nothing fits
        (50, ["after"]),  # the header is cut
        (300, ["after"]),  # the header fits, its first line does not
        (301, ["after", "before"]),  # one byte of the line fits
        (500, ["after", "before"]),
    ],
)
def test_a_full_disk_costs_one_recording_and_no_other(tmp_path, room, kept):
    pytest.importorskip("resource")
    root = tmp_path / "cassettes"
    ran = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(root), str(room)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"{root / 'p'}: recording failed: File too large; ")
    assert ran.stdout.count("\n") == 1
    assert sorted(item for item, _, _ in recorded(root)) == kept
    pack_parts(root)
    assert files(root) == ["p/m.jsonl"]
    assert sorted(item for item, _, _ in recorded(root)) == kept


# The disk itself


def test_a_slow_disk_keeps_nobody_waiting_but_the_end(tmp_path, monkeypatch):
    asked, ready = threading.Event(), threading.Event()

    def fsync(_):
        asked.set()
        assert ready.wait(30)

    monkeypatch.setattr("wise_pytest.cassettes.store.SYNC_S", 0.0)
    monkeypatch.setattr(os, "fsync", fsync)
    pack = CassetteStore(tmp_path).pack("p", "m")
    for n in range(3):
        add(pack, recording(f"i{n}"))
    assert asked.wait(30)
    assert len(recorded(tmp_path)) == 3
    closing = threading.Thread(target=pack.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    ready.set()
    closing.join(30)
    assert not closing.is_alive()


def test_what_a_disk_could_not_keep_ends_the_recording(tmp_path, monkeypatch):
    def fsync(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wise_pytest.cassettes.store.SYNC_S", 0.0)
    monkeypatch.setattr(os, "fsync", fsync)
    pack = CassetteStore(tmp_path).pack("p", "m")

    def keep_on():
        for n in range(1000):
            add(pack, recording(f"i{n}"))
            time.sleep(0.001)

    with pytest.raises(CassetteError, match="No space left on device"):
        keep_on()
    pack.close()


def test_the_last_recording_reaches_the_disk_though_none_comes_after_it(tmp_path, monkeypatch):
    """What had been written when the disk was last asked, by a size that only grows."""
    original, sizes = os.fsync, []

    def fsync(descriptor):
        sizes.append(os.fstat(descriptor).st_size)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    pack = CassetteStore(tmp_path).pack("p", "m")
    for n in range(300):
        add(pack, recording(f"i{n}"))
    (part,) = (tmp_path / "p").iterdir()
    deadline = time.monotonic() + 10
    while not sizes or sizes[-1] < part.stat().st_size:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    n_batches = len(sizes)
    assert n_batches < 50  # many at a time
    add(pack, recording("last"))
    pack.close()  # waits for it
    assert sizes[-1] == part.stat().st_size

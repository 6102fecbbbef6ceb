"""``wise cassettes list``: what is missing, orphaned and unplayed (case B8 of the field)."""

import json
from typing import TYPE_CHECKING, Any

import httpcore  # noqa: F401 - httpx loads it later, and a test with pytester forgets what was loaded in it
import httpx
import pytest
import vcr

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loopback import LoopbackServer
    from tests.plugin.harness import Project


def test_missing_orphaned_and_unplayed_recordings_are_listed(project: "Project", server: "LoopbackServer"):
    model = ("--model", f"m={server.base_url}")
    grid = ("--wise-items", "2", "--wise-form", "POS,NEG", "--wise-repetitions", "1")
    assert project.run(*model, *grid, "--record-mode=once").status == 0
    (pack,) = (project.path / "cassettes").glob("*/*.jsonl")
    # A form that was renamed since: its recordings are left over under the old name.
    from wise_pytest.cassettes.pack import Contents, read_pack, write_pack

    held: Contents = read_pack(pack, panel="exact_count", model="m")
    renamed = {}
    for (item, form, repetition), line in held.lines.items():
        record = json.loads(line)
        record["form"] = {"NEG": "OLD"}.get(form, form)
        renamed[item, record["form"], repetition] = (
            json.dumps(record, separators=(",", ":")) + "\n"
        ).encode()
    write_pack(pack, panel="exact_count", model="m", lines=renamed, sessions=held.sessions)
    played = project.run(*model, "--wise-items", "1", "--wise-form", "POS", "--wise-repetitions", "1")
    assert played.status == 0

    listed = project.wise("cassettes", "list", "--rows", "reports/latest", "--cells")
    assert listed.status == 0
    # 100 items × 6 forms × 3 repetitions are planned; two are recorded, and two under a form that is gone.
    assert "exact_count, m: 4 recorded of 1800, 1798 missing, 2 orphaned, 3 unplayed" in listed.text
    assert "  orphaned: i001, OLD, repetition 1" in listed.text
    assert "  orphaned: i002, OLD, repetition 1" in listed.text
    assert "  missing: i001, NEG, repetition 1" in listed.text
    assert "  unplayed: i002, POS, repetition 1" in listed.text
    assert "  unplayed: i001, POS, repetition 1" not in listed.text


def test_a_folder_that_is_not_there_is_named(project: "Project"):
    listed = project.wise("cassettes", "list", "--cassettes", "nowhere")
    assert listed.status == 2
    assert "nowhere: is no folder; name the recordings with --cassettes DIR" in listed.text


GRID = ("--wise-items", "2", "--wise-form", "POS,NEG", "--wise-repetitions", "1")


def changed(project: "Project", change: "Callable[[dict[str, Any]], None]") -> None:
    """Change every recording of the one pack, and give the pack a digest that fits."""
    from wise_pytest.cassettes.pack import read_pack, write_pack

    (path,) = (project.path / "cassettes").glob("*/*.jsonl")
    held = read_pack(path, panel="exact_count", model="m")
    lines = {}
    for line in held.lines.values():
        record = json.loads(line)
        change(record)
        key = (record["item"], record["form"], record["repetition"])
        lines[key] = (json.dumps(record, separators=(",", ":")) + "\n").encode()
    write_pack(path, panel="exact_count", model="m", lines=lines, sessions=held.sessions)


@pytest.fixture
def model(project: "Project", server: "LoopbackServer") -> tuple[str, str]:
    chosen = ("--model", f"m={server.base_url}")
    assert project.run(*chosen, *GRID, "--record-mode=once").status == 0
    return chosen


def test_sound_recordings_pass_though_many_cells_are_missing(project: "Project", model: tuple[str, str]):
    for given in ((), model):
        checked = project.wise("cassettes", "check", *given)
        assert checked.status == 0
        assert "exact_count, m: 4 recorded of 1800, 1796 missing, 0 orphaned, 0 stale" in checked.text
        assert "check: PASS" in checked.text
    complete = project.wise("cassettes", "check", "--complete")
    assert complete.status == 1
    assert "check: FAIL: 1796 faults" in complete.text
    assert "  missing: … and 1786 more" in complete.text


def test_a_prompt_that_has_changed_since_is_a_fault(project: "Project", model: tuple[str, str]):
    def change(record: "dict[str, Any]") -> None:
        if record["form"] == "NEG":
            record["request"]["body"] = record["request"]["body"].replace("Do not", "Never")

    changed(project, change)
    checked = project.wise("cassettes", "check")
    assert checked.status == 1
    assert "2 stale" in checked.text
    assert "  stale: i001, NEG, repetition 1: messages[0].content: recorded" in checked.text
    assert "check: FAIL: 2 faults" in checked.text
    # pytest comes to the same.
    assert project.run(*model, *GRID).counts["error"] == 2

    kept = project.packs()
    listed = project.wise("cassettes", "prune", "--stale")
    assert listed.status == 0
    assert "2 recordings would be deleted; --yes deletes them" in listed.text
    assert project.packs() == kept
    pruned = project.wise("cassettes", "prune", "--stale", "--yes")
    assert pruned.status == 0
    assert "2 recordings were deleted" in pruned.text
    assert [line["form"] for line in project.packs()["exact_count/m.jsonl"][1:]] == ["POS", "POS"]
    assert project.wise("cassettes", "check").status == 0


def test_another_address_makes_recordings_stale(project: "Project", model: tuple[str, str]):
    del model
    checked = project.wise("cassettes", "check", "--model", "m=http://127.0.0.1:9/v1")
    assert checked.status == 1
    assert "  stale: i001, NEG, repetition 1: URL: recorded" in checked.text


def test_recordings_that_no_cell_asks_for_are_a_fault_and_can_be_pruned(
    project: "Project", model: tuple[str, str]
):
    del model

    def change(record: "dict[str, Any]") -> None:
        record["form"] = "OLD" if record["form"] == "NEG" else "OLDER"

    changed(project, change)
    checked = project.wise("cassettes", "check")
    assert checked.status == 1
    assert "  orphaned: i001, OLD, repetition 1" in checked.text
    pruned = project.wise("cassettes", "prune", "--yes")
    assert "4 recordings were deleted" in pruned.text
    assert project.packs() == {}


def test_one_damaged_file_does_not_hide_the_others(project: "Project", model: tuple[str, str]):
    del model
    (path,) = (project.path / "cassettes").glob("*/*.jsonl")
    damaged = path.with_name("other.jsonl")
    damaged.write_bytes(path.read_bytes().replace(b'"model":"m"', b'"model":"other"', 1))
    checked = project.wise("cassettes", "check")
    assert checked.status == 1
    assert "damaged: cassettes/exact_count/other.jsonl: was changed after it was recorded" in checked.text
    assert "exact_count, m: 4 recorded of 1800" in checked.text
    assert "check: FAIL: 1 fault" in checked.text
    refused = project.wise("cassettes", "prune", "--yes")
    assert refused.status == 2
    assert "nothing was deleted" in refused.text


SECRETS = {
    "key": ("sk-proj-abcdefghijklmnopqrstuvwxyz", "a key that begins with sk-"),
    "escaped": ("sk\\u002dproj-abcdefghijklmnopqrstuvwxyz", "a key that is set in the environment"),
    "token": ("hf_abcdefghijklmnopqrstuvwxyz", "a Hugging Face token"),
    "organisation": ("org-abcdefghijklmnopqrstuvwx", "an organisation or project"),
}


@pytest.mark.parametrize(("secret", "says"), SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_in_a_recording_is_found_and_not_shown(
    project: "Project",
    model: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    secret: str,
    says: str,
):
    del model
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-abcdefghijklmnopqrstuvwxyz")

    def change(record: "dict[str, Any]") -> None:
        if record["form"] == "POS" and record["item"] == "i001":
            body = record["response"]["body"]
            record["response"]["body"] = body.replace('"content": "', f'"content": "{secret} ', 1)
            assert record["response"]["body"] != body

    changed(project, change)
    checked = project.wise("cassettes", "check")
    assert checked.status == 1
    assert f"  with secrets: i001, POS, repetition 1: {says}" in checked.text
    assert "check: FAIL: 1 fault" in checked.text
    assert "abcdefghijklmnop" not in checked.text


def test_headers_and_identifiers_that_must_not_be_kept_are_found(project: "Project", model: tuple[str, str]):
    del model

    def change(record: "dict[str, Any]") -> None:
        record["response"]["headers"]["Set-Cookie"] = ["a=b"]
        record["request"]["headers"]["authorization"] = ["x"]
        record["request"]["uri"] += "?key=x"
        record["response"]["body"] = '{"id":"x",' + record["response"]["body"].lstrip()[1:]

    changed(project, change)
    text = project.wise("cassettes", "check").flat
    for found in (
        "a URL with a query or a user name",
        "the request header authorization",
        "the reply header set-cookie",
        "an identifier of the account or the request in the reply",
    ):
        assert found in text


def test_exported_recordings_are_replayed_by_plain_vcr(project: "Project", model: tuple[str, str]):
    rows = project.run(*model, *GRID).rows
    exported = project.wise("cassettes", "export", "out")
    assert exported.status == 0
    assert "4 cassettes in out" in exported.text
    out = project.path / "out"
    files = sorted(path.relative_to(out).as_posix() for path in out.glob("*/*/*"))
    assert [name.split("/")[:2] for name in files] == [["exact_count", "m"]] * 4
    recordings = project.packs()["exact_count/m.jsonl"][1:]
    player = vcr.VCR(record_mode="none", match_on=("method", "uri", "body"))
    texts = []
    for recording in recordings:
        request = recording["request"]
        for name in files:
            with player.use_cassette(str(out / name)):
                try:
                    reply = httpx.post(request["uri"], content=request["body"], headers={"accept": "a/b"})
                except vcr.errors.CannotOverwriteExistingCassetteException:
                    continue
            assert reply.text == recording["response"]["body"]
            texts.append(reply.json()["choices"][0]["message"]["content"])
    assert sorted(texts) == sorted(row["text"] for row in rows)
    again = project.wise("cassettes", "export", "out")
    assert again.status == 2
    assert "out: is no empty folder; name a new one" in again.text


def test_an_excerpt_holds_the_lines_of_some_items_and_says_of_what(
    project: "Project", model: tuple[str, str]
):
    cut = project.wise("cassettes", "excerpt", "out", "--items", "1", "--repetitions", "1")
    assert cut.status == 0, cut.text
    assert "exact_count, m: 2 of 4 recordings" in cut.text
    whole = (project.path / "cassettes/exact_count/m.jsonl").read_bytes().splitlines()
    part = (project.path / "out/exact_count/m.jsonl").read_bytes().splitlines()
    assert part[1:] == [line for line in whole[1:] if json.loads(line)["item"] == "i001"]
    assert json.loads(part[0])["part_of"] == {"recordings": 4, "sha256": json.loads(whole[0])["sha256"]}
    assert json.loads(part[0])["sessions"] == json.loads(whole[0])["sessions"]
    replay = project.run(*model, "--wise-cassettes", "out", *GRID, "--wise-items", "1")
    assert replay.status == 0

    assert "out: is no empty folder" in project.wise("cassettes", "excerpt", "out", "--items", "1").text
    none = project.wise("cassettes", "excerpt", "other", "--items", "i050")
    assert none.status == 2
    assert "holds no recording of these items" in none.text


def test_recordings_that_a_killed_run_has_left_unpacked_are_a_fault_until_they_are_packed(
    project: "Project", model: tuple[str, str]
):
    del model
    from wise_pytest.cassettes.pack import part_header, read_pack

    (path,) = (project.path / "cassettes").glob("*/*.jsonl")
    held = read_pack(path, panel="exact_count", model="m")
    (session,) = held.sessions
    part = path.with_name(f"{path.stem}.{session['id']}-main-1.part.jsonl")
    lines = b"".join(held.lines.values())
    part.write_bytes(part_header(panel="exact_count", model="m", session=session) + lines)
    path.unlink()
    checked = project.wise("cassettes", "check")
    assert checked.status == 1
    assert "4 recorded of 1800, 1796 missing, 0 orphaned, 0 stale, 0 with secrets, 1 unpacked" in checked.text
    assert f"{part.name}: a run that did not end has left it" in checked.text
    assert project.wise("cassettes", "prune", "--yes").status == 0
    assert project.wise("cassettes", "check").status == 0
    assert list(project.packs()) == [path.relative_to(project.path / "cassettes").as_posix()]

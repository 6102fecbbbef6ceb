"""``wise cassettes list``: what is missing, orphaned and unplayed (case B8 of the field)."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

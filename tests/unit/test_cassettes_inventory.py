import json
from pathlib import Path

import pytest

from tests.recordings import pack_bytes, part_bytes, recording, session, write
from wise_pytest.cassettes.inventory import PackInventory, take_inventory, unplayed
from wise_pytest.cassettes.store import CassetteStore
from wise_pytest.errors import CassetteError, PanelError
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.panels.model import Decoding, Form, Item, Panel

PANEL = Panel(
    panel_id="short",
    title="Short",
    question="Is it short?",
    verifier="word_count/1",
    bootstrap="model-item",
    reference="POS",
    forms=(Form("POS", "Use {n} words."), Form("NEG", "Use no more or fewer than {n} words.")),
    items=(
        Item("sky", "Why is the sky blue?", 5, "light", ("cause", "colour")),
        Item("sea", "Why is the sea salty?", 8, "rivers", ("source",)),
    ),
    repetitions=2,
    decoding=Decoding(max_tokens=50, temperature=0.2),
    target_from="target_words",
    fixed_target=None,
)
PANELS = {"short": PANEL}
GRID = [
    ("sea", "NEG", 1),
    ("sea", "NEG", 2),
    ("sea", "POS", 1),
    ("sea", "POS", 2),
    ("sky", "NEG", 1),
    ("sky", "NEG", 2),
    ("sky", "POS", 1),
    ("sky", "POS", 2),
]
"""All that the panel plans, sorted."""


def lines(keys, **how):
    return [recording(*key, **how).to_line() for key in keys]


def pack(root, keys, *, panel="short", model="m", folder=None, name=None, **header):
    content = pack_bytes(*lines(sorted(keys)), panel=panel, model=model, **header)
    return write(root / (folder or panel) / (name or f"{model}.jsonl"), content)


def part(root, keys, *, panel="short", model="m", by="s2", cut=0):
    content = part_bytes(*lines(keys, session=by), panel=panel, model=model, sessions=[session(by)])
    return write(root / panel / f"{model}.{by}-main-1.part.jsonl", content[: len(content) - cut])


def test_a_complete_pack_has_nothing_missing_and_nothing_left_over(tmp_path):
    path = pack(tmp_path, GRID)
    assert take_inventory(tmp_path, PANELS) == (
        PackInventory(
            panel="short",
            model="m",
            path=path,
            recorded=tuple(sorted(GRID)),
            n_planned=8,
            missing=(),
            orphaned=(),
            sessions=(session(),),
            parts=(),
            cut_parts=(),
            sha256=json.loads(path.read_bytes().partition(b"\n")[0])["sha256"],
        ),
    )


def test_cells_without_a_recording_are_missing(tmp_path):
    pack(tmp_path, GRID[2:5])
    (found,) = take_inventory(tmp_path, PANELS)
    assert (found.n_recorded, found.n_planned) == (3, 8)
    assert found.missing == (*GRID[:2], *GRID[5:])
    assert found.orphaned == ()


def test_recordings_that_no_cell_asks_for_any_more_are_orphaned(tmp_path):
    renamed, removed, surplus = ("sky", "POSITIVE", 1), ("moon", "POS", 1), ("sky", "POS", 3)
    pack(tmp_path, [*GRID[1:], renamed, removed, surplus])
    (found,) = take_inventory(tmp_path, PANELS)
    assert (found.n_recorded, found.n_planned) == (10, 8)
    assert found.missing == (GRID[0],)
    assert found.orphaned == (removed, surplus, renamed)


@pytest.mark.parametrize(
    ("repetitions", "n_planned", "n_missing", "n_orphaned"), [(None, 8, 0, 0), (1, 4, 0, 4), (3, 12, 4, 0)]
)
def test_how_many_repetitions_are_planned_can_be_said(
    tmp_path, repetitions, n_planned, n_missing, n_orphaned
):
    pack(tmp_path, GRID)
    (found,) = take_inventory(tmp_path, PANELS, repetitions=repetitions)
    assert (found.n_planned, len(found.missing), len(found.orphaned)) == (n_planned, n_missing, n_orphaned)
    assert {key[2] for key in found.missing} <= {3}
    assert {key[2] for key in found.orphaned} <= {2}


def test_of_a_panel_that_is_not_known_all_is_orphaned(tmp_path):
    pack(tmp_path, GRID[:2], panel="gone")
    (found,) = take_inventory(tmp_path, PANELS)
    assert (found.panel, found.n_recorded, found.n_planned) == ("gone", 2, None)
    assert (found.missing, found.orphaned) == ((), (GRID[0], GRID[1]))


def test_recordings_still_in_parts_count_and_a_cut_part_is_named(tmp_path):
    path = pack(tmp_path, GRID[:3])
    cut = part(tmp_path, GRID[2:5], cut=1)
    (found,) = take_inventory(tmp_path, PANELS)
    assert found.path == path
    assert found.n_recorded == 4  # of the three in the part one is in the pack too, and one is cut
    assert found.missing == (*GRID[4:],)
    assert found.sessions == (session("s1"), session("s2"))
    assert found.cut_parts == (cut,)


def test_parts_without_a_pack_are_listed_under_the_pack_they_will_be(tmp_path):
    part(tmp_path, GRID[:1], by="s1")
    part(tmp_path, GRID[1:2], by="s2")
    (found,) = take_inventory(tmp_path, PANELS)
    assert (found.path, found.n_recorded) == (tmp_path / "short" / "m.jsonl", 2)
    assert not found.path.exists()


def test_a_part_that_holds_nothing_yet_is_no_pack(tmp_path):
    write(tmp_path / "short" / "m.s1-main-1.part.jsonl", b'{"schema":')
    assert take_inventory(tmp_path, PANELS) == ()


def test_packs_come_by_panel_and_model_whatever_their_files_are_called(tmp_path):
    long_name = "z" * 300
    for panel, model in (("short", "b"), ("short", "a"), ("gone", "m")):
        pack(tmp_path, GRID[:1], panel=panel, model=model)
    for model in (long_name, "M", "a/b", "m.part"):
        name = CassetteStore(tmp_path).path("short", model).name
        pack(tmp_path, GRID[:1], model=model, name=name)
    found = [(each.panel, each.model) for each in take_inventory(tmp_path, PANELS)]
    assert found == [
        ("gone", "m"),
        ("short", "M"),
        ("short", "a"),
        ("short", "a/b"),
        ("short", "b"),
        ("short", "m.part"),
        ("short", long_name),
    ]


def test_nothing_recorded_is_an_empty_inventory(tmp_path):
    assert take_inventory(tmp_path, PANELS) == ()
    assert take_inventory(tmp_path / "absent", PANELS) == ()
    # What else lies there: the lock, notes, and somebody's own cassettes.
    for name in (".lock", "README.md", "short/test_x.yaml", "top.jsonl", "short/deep/er.jsonl"):
        write(tmp_path / name, b"x")
    assert take_inventory(tmp_path, PANELS) == ()


def test_taking_an_inventory_changes_no_file(tmp_path):
    pack(tmp_path, GRID[:3])
    part(tmp_path, GRID[2:5], cut=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    take_inventory(tmp_path, PANELS)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty or cut in its first line"),
        (b"no cassette\n", "its first line is no cassette header"),
        (pack_bytes(*lines(GRID[:1]), panel="short")[:-1], "is cut"),
        (pack_bytes(*lines(GRID[:1]), panel="short", schema="wise.cassette/2"), "'wise.cassette/2'"),
        (pack_bytes(*lines(GRID[:1]), panel="short", sha256="0"), "was changed after it was recorded"),
        (pack_bytes(panel=None), "does not say whose it is"),
    ],
)
def test_a_damaged_pack_is_an_error(tmp_path, content, said):
    pack(tmp_path, GRID, model="a")
    damaged = write(tmp_path / "short" / "m.jsonl", content)
    with pytest.raises(CassetteError) as error:
        take_inventory(tmp_path, PANELS)
    assert str(error.value).startswith(f"{damaged}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("folder", "name"), [("short", "copy.jsonl"), ("other", "m.jsonl"), ("short", "n.s1-main-1.part.jsonl")]
)
def test_a_file_that_lies_where_nothing_looks_for_it_is_an_error(tmp_path, folder, name):
    stray = pack(tmp_path, GRID, folder=folder, name=name)
    with pytest.raises(CassetteError) as error:
        take_inventory(tmp_path, PANELS)
    assert str(error.value) == (
        f"{stray}: holds recordings of 'm' in 'short', and those are only looked for in "
        f"{tmp_path / 'short' / 'm.jsonl'}; move the file there, or delete it"
    )


def test_fewer_than_one_repetition_is_refused(tmp_path):
    pack(tmp_path, GRID)
    with pytest.raises(PanelError, match="repetitions from 1, not 0"):
        take_inventory(tmp_path, PANELS, repetitions=0)


def test_recordings_that_a_run_has_not_used_are_unplayed():
    assert unplayed(GRID, GRID) == ()
    assert unplayed(iter(reversed(GRID)), GRID[:3]) == tuple(GRID[3:])
    assert unplayed(GRID[:2], [GRID[1], ("elsewhere", "POS", 1), GRID[1]]) == (GRID[0],)
    assert unplayed([], GRID) == ()


def test_every_bundled_recording_is_planned_by_its_panel():
    inventory = take_inventory(Path(__file__).parents[2] / "cassettes", bundled_panels())
    assert inventory
    assert {(found.panel, found.model): found.orphaned for found in inventory if found.orphaned} == {}

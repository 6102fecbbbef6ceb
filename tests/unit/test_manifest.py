"""What a run had planned, read back from its manifest: shards add up, copies do not."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wise_pytest.audit.gate import Thresholds
from wise_pytest.errors import RowsError
from wise_pytest.manifest import MANIFEST, partial_reason, read_plans, write_manifest
from wise_pytest.xdist import Plan, PlannedPanel, RunIdentity, decode_plan, encode_plan


def plan(items: tuple[str, ...], *, model: str = "m", repetitions: int = 3) -> Plan:
    n_cells = len(items) * 2 * repetitions
    return Plan(
        planned={("exact_count", model): n_cells, ("length_range", model): 9},
        # The other panel was deselected as a whole: it was not asked for.
        selected={("exact_count", model): n_cells},
        panels={"exact_count": PlannedPanel("d" * 64, ("POS", "NEG"), items, repetitions)},
    )


def keep(folder: Path, planned: Plan, *, outcome: dict[str, Any] | None = None) -> Path:
    settings: Any = SimpleNamespace(
        record_mode="none",
        disable_recording=False,
        models=(),
        exclude=(),
        seed=1,
        replicates=20,
        thresholds=Thresholds(),
        notes={},
    )
    folder.mkdir()
    identity = RunIdentity(run=folder.name, started_at="2026-06-12T00:00:00Z")
    write_manifest(folder, settings, identity, planned, outcome=outcome)
    return folder


def test_a_plan_survives_the_way_from_a_worker():
    sent = plan(("i001", "i002"))
    received = decode_plan(encode_plan(sent))
    assert received.expected() == sent.expected() == {("exact_count", "m"): 12}
    assert (received.planned, received.panels) == (sent.planned, sent.panels)


def test_the_plan_of_one_run(tmp_path: Path):
    folder = keep(tmp_path / "a", plan(("i001", "i002")))
    assert read_plans([folder]) == {("exact_count", "m"): 12}
    assert read_plans([folder / "generations.jsonl"]) == {("exact_count", "m"): 12}


def test_shards_add_up_and_the_same_run_counts_once(tmp_path: Path):
    first = keep(tmp_path / "a", plan(("i001", "i002")))
    second = keep(tmp_path / "b", plan(("i002", "i003", "i004")))
    other = keep(tmp_path / "c", plan(("i001",), model="n", repetitions=1))
    assert read_plans([first, first]) == {("exact_count", "m"): 12}
    assert read_plans([first, second, other]) == {("exact_count", "m"): 24, ("exact_count", "n"): 2}


def test_rows_without_a_manifest_have_no_plan(tmp_path: Path):
    assert read_plans([tmp_path]) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "schema None"),
        ('{"schema": "wise.manifest/9"}', "schema 'wise.manifest/9'"),
        ('{"schema": "wise.manifest/1"}', "KeyError"),
        ('{"schema": "wise.manifest/1", "plan": [{"panel": "p"}]}', "KeyError"),
        ('{"schema": "wise.manifest/1", "plan": 3}', "TypeError"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path, content: str, said: str):
    (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(RowsError, match=said) as caught:
        read_plans([tmp_path])
    assert str(tmp_path / MANIFEST) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_that_goes_on_has_no_end_yet(tmp_path: Path):
    going = json.loads((keep(tmp_path / "a", plan(("i001",))) / MANIFEST).read_text("utf-8"))
    ended = json.loads(
        (keep(tmp_path / "b", plan(("i001",)), outcome={"gate": "pass"}) / MANIFEST).read_text("utf-8")
    )
    assert (going["finished_at"], going["outcome"]) == (None, None)
    assert ended["finished_at"] is not None
    assert ended["outcome"] == {"gate": "pass"}


@pytest.mark.parametrize(
    ("n_rows", "n_planned", "said"),
    [
        (8, 8, None),
        (9, 8, None),
        (3, 8, "partial: 3 of 8 cells"),
        (0, 8, "partial: 0 of 8 cells"),
        (0, 0, "nothing was run: no cell was selected, or none is recorded"),
    ],
)
def test_when_a_run_is_incomplete(n_rows: int, n_planned: int, said: str | None):
    assert partial_reason(n_rows, n_planned) == said

"""What a run had planned, read back from its manifest: shards add up, copies do not."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wise_pytest.audit.rules import GateRules
from wise_pytest.audit.table import cells_by_pair, table_of
from wise_pytest.endpoints.model import Endpoint
from wise_pytest.endpoints.registry import Selected
from wise_pytest.errors import RowsError
from wise_pytest.manifest import MANIFEST, read_manifests, write_manifest
from wise_pytest.records import Row
from wise_pytest.runs import named_models, partial_reason, plans_of, progress
from wise_pytest.xdist import Plan, PlannedPanel, RunIdentity, decode_plan, encode_plan


def plan(items: tuple[str, ...], *, model: str = "m", repetitions: int = 3) -> Plan:
    n_cells = len(items) * 2 * repetitions
    return Plan(
        planned={("exact_count", model): n_cells, ("length_range", model): 9},
        # The other panel was deselected as a whole: it was not asked for.
        selected={("exact_count", model): n_cells},
        panels={"exact_count": PlannedPanel("d" * 64, ("POS", "NEG"), items, repetitions)},
    )


def keep(
    folder: Path,
    planned: Plan,
    *,
    outcome: dict[str, Any] | None = None,
    models: tuple[tuple[str, bool], ...] = (),
) -> Path:
    """The manifest of a run; ``models`` are names, and whether the user wrote them out."""
    settings: Any = SimpleNamespace(
        record_mode="none",
        disable_recording=False,
        models=tuple(
            Selected(Endpoint(name, "lab", "openai-chat", name, "http://127.0.0.1:1/v1"), explicit)
            for name, explicit in models
        ),
        exclude=(),
        seed=1,
        replicates=20,
        openings=None,
        sensitivity=False,
        gate=GateRules(),
        baseline=None,
        shard=None,
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
    folder = keep(tmp_path / "a", plan(("i001", "i002"), repetitions=2))
    expected = {
        ("exact_count", "m"): {
            ("i001", "POS", 1),
            ("i001", "POS", 2),
            ("i001", "NEG", 1),
            ("i001", "NEG", 2),
            ("i002", "POS", 1),
            ("i002", "POS", 2),
            ("i002", "NEG", 1),
            ("i002", "NEG", 2),
        }
    }
    assert plans_of(read_manifests([folder])) == expected
    assert plans_of(read_manifests([folder / "generations.jsonl"])) == expected


def test_shards_add_up_and_the_same_run_counts_once(tmp_path: Path):
    first = keep(tmp_path / "a", plan(("i001", "i002")))
    second = keep(tmp_path / "b", plan(("i002", "i003", "i004")))
    other = keep(tmp_path / "c", plan(("i001",), model="n", repetitions=1))
    assert plans_of(read_manifests([first, first])) == plans_of(read_manifests([first]))
    together = plans_of(read_manifests([first, second, other]))
    assert together["exact_count", "n"] == {("i001", "POS", 1), ("i001", "NEG", 1)}
    assert {item for item, _, _ in together["exact_count", "m"]} == {"i001", "i002", "i003", "i004"}
    assert {pair: len(cells) for pair, cells in together.items()} == {
        ("exact_count", "m"): 24,
        ("exact_count", "n"): 2,
    }


def test_the_models_that_were_named_in_any_of_the_runs(tmp_path: Path):
    first = keep(tmp_path / "a", plan(("i001",)), models=(("m", True), ("by-glob", False), ("zz", True)))
    second = keep(tmp_path / "b", plan(("i001",)), models=(("m", True), ("a", True)))
    assert named_models(read_manifests([first])) == ("m", "zz")
    assert named_models(read_manifests([first, second, first / "generations.jsonl", tmp_path])) == (
        "a",
        "m",
        "zz",
    )


def row(model: str, item: str, form: str = "POS", *, status: Any = "ok") -> Row:
    return Row(
        panel="exact_count",
        model=model,
        provider="lab",
        item=item,
        form=form,
        repetition=1,
        compliant=True if status == "ok" else None,
        status=status,
    )


M, N = ("exact_count", "m"), ("exact_count", "n")
TWO = {("i001", "POS", 1), ("i002", "POS", 1)}


@pytest.mark.parametrize(
    ("plans", "rows", "n_cells", "partial"),
    [
        ({M: TWO}, [row("m", "i001"), row("m", "i002")], {M: 2}, None),
        ({M: TWO}, [row("m", "i001"), row("m", "i002", status="error")], {M: 2}, None),
        ({M: TWO}, [row("m", "i001"), row("m", "i050")], {M: 3}, "partial: 1 of 2 cells"),
        ({M: TWO}, [row("m", "i001"), row("m", "i002"), row("m", "i050")], {M: 3}, None),
        (
            {M: TWO, N: TWO},
            [row("m", "i001"), row("m", "i002"), row("m", "i050"), row("n", "i001")],
            {M: 3, N: 2},
            "partial: 3 of 4 cells",
        ),
        ({M: TWO}, [row("n", "i001"), row("n", "i002")], {M: 2}, "partial: 0 of 2 cells"),
        ({}, [row("m", "i001")], {}, None),
    ],
    ids=[
        "whole",
        "an-error-is-a-row",
        "foreign-for-planned",
        "whole-and-more",
        "more-of-one-less-of-another",
        "another-model",
        "no-plan",
    ],
)
def test_cells_are_compared_and_not_counted(
    plans: Any, rows: list[Row], n_cells: dict[tuple[str, str], int], partial: str | None
):
    done = progress(plans, cells_by_pair(table_of(rows)))
    assert (done.n_cells, done.partial) == (n_cells, partial)


def test_rows_without_a_manifest_have_no_plan(tmp_path: Path):
    assert plans_of(read_manifests([tmp_path])) == {}


def damaged(**changed: str) -> str:
    """A manifest of one planned pair, in which some values are other JSON."""
    entry = {"panel": '"p"', "model": '"m"', "items": '["i001"]', "forms": '["POS"]', "repetitions": "1"}
    fields = ", ".join(f'"{name}": {value}' for name, value in {**entry, **changed}.items())
    return f'{{"schema": "wise.manifest/1", "plan": [{{{fields}}}], "models": []}}'


@pytest.mark.parametrize(
    "value", ["1e999", "-1e999", "NaN", "true", "3.0", "2.5", '"3"', "null", "[3]", "0", "-1", "10001"]
)
def test_repetitions_that_no_plan_has_are_refused(tmp_path: Path, value: str):
    (tmp_path / MANIFEST).write_text(damaged(repetitions=value), encoding="utf-8")
    with pytest.raises(RowsError, match="'repetitions' must be an integer from 1 to 10000, not ") as caught:
        plans_of(read_manifests([tmp_path]))
    assert str(tmp_path / MANIFEST) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [1, 10_000])
def test_the_least_and_the_most_repetitions_are_read(tmp_path: Path, value: int):
    (tmp_path / MANIFEST).write_text(damaged(repetitions=str(value)), encoding="utf-8")
    planned = plans_of(read_manifests([tmp_path]))["p", "m"]
    assert planned == {("i001", "POS", repetition) for repetition in range(1, value + 1)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "schema None"),
        ('{"schema": "wise.manifest/9"}', "schema 'wise.manifest/9'"),
        ('{"schema": "wise.manifest/1"}', "KeyError"),
        ('{"schema": "wise.manifest/1", "plan": [{"panel": "p"}]}', "KeyError"),
        ('{"schema": "wise.manifest/1", "plan": 3}', "TypeError"),
        ("[" * 100_000, "cannot be read"),
        ('{"schema": "wise.manifest/1", "plan": []}', "KeyError: 'models'"),
        ('{"schema": "wise.manifest/1", "plan": [], "models": [{"name": "m"}]}', "KeyError: 'explicit'"),
        (
            '{"schema": "wise.manifest/1", "plan": [], "models": [{"name": "m", "explicit": 1}]}',
            "'explicit' must be true or false, not 1",
        ),
        (damaged(items='"i001"'), "'items' must be a list of texts, not 'i001'"),
        (damaged(items='["i001", 2]'), "'items' must be a list of texts"),
        (damaged(panel="null"), "'panel' must be a text, not None"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path, content: str, said: str):
    (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(RowsError, match=said) as caught:
        plans_of(read_manifests([tmp_path]))
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


def test_a_manifest_is_read_for_a_run_s_folder_and_its_journal_only(tmp_path: Path):
    (tmp_path / MANIFEST).write_text('{"name": "a web app", "icons": []}', encoding="ascii")
    for rows in ("rows.jsonl", "baseline.jsonl", "audit.json"):
        assert read_manifests([tmp_path / rows]) == ()
    for run in (tmp_path, tmp_path / "generations.jsonl", tmp_path / "generations.parquet"):
        with pytest.raises(RowsError, match=r"schema None is not 'wise\.manifest/1'"):
            read_manifests([run])

"""What crosses from the process that runs a test to the one that collects.

Everything travels as an attribute of the test's report, as ASCII JSON: execnet
carries builtins only and aborts on a lone surrogate, and a report that was sent
survives a crash of its worker. Without xdist the same attributes are set and
read in one process, so both ways give the same rows.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wise_pytest.records import Cell, Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

ROW = "wise_row"
"""On a call report: the finished row."""
OUTCOME = "wise_outcome"
"""On a call report: how the cell ended, for the terminal."""
CELL = "wise_cell"
"""On a setup report of a worker: the cell that is about to run, should the worker not survive it."""
PLAN = "wise_plan"
"""On the first report of a worker: what was collected."""
PROBLEM = "wise_problem"
"""In a worker's output: why it could not run what was asked."""
INPUT = "wise_input"
"""In a worker's input: what the workers of one run share."""
CRASHED = "???"
"""The phase that xdist names in the report of a crashed test."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What all processes of one run share."""

    run: str
    started_at: str
    servers: Mapping[str, Any] = field(default_factory=dict)
    """What local servers say of themselves, by model; empty unless the run records."""
    steals: bool = False
    """Whether a worker's tests may be given to another one."""
    books: str | None = None
    """The folder of the books that the processes of a live run share."""


@dataclass(frozen=True, slots=True)
class PlannedPanel:
    """The grid that a run has planned for a panel, the same for each model."""

    digest: str
    """Over the panel's items, forms and verifier."""
    forms: tuple[str, ...]
    items: tuple[str, ...]
    repetitions: int
    decoding: Mapping[str, Any] | None = None
    """Cap and temperature that the panel asks for."""


@dataclass(slots=True)
class Plan:
    """What was collected: the denominators of coverage, and what was left out."""

    planned: dict[tuple[str, str], int] = field(default_factory=dict)
    """Cells by (panel, model), before anything was deselected."""
    selected: dict[tuple[str, str], int] = field(default_factory=dict)
    """Cells by (panel, model) that are left to run."""
    not_recorded: list[tuple[str, str]] = field(default_factory=list)
    """(panel, model) without any recording, in a session that only replays."""
    panels: dict[str, PlannedPanel] = field(default_factory=dict)

    def expected(self) -> dict[tuple[str, str], int]:
        """The cells that this run answers for.

        A panel of a model that was deselected as a whole was not asked for; one
        that was deselected in part is incomplete.
        """
        return {pair: count for pair, count in self.planned.items() if self.selected.get(pair)}


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for an xdist controller."""
    return hasattr(config, "workerinput")


def worker_name(config: pytest.Config) -> str:
    """The worker's identifier; ``main`` where there are no workers."""
    return str(config.workerinput["workerid"]) if hasattr(config, "workerinput") else "main"


def worker_place(config: pytest.Config) -> tuple[int, int]:
    """Which of how many workers this process is, from 0; of a worker that replaces another a later number."""
    if not hasattr(config, "workerinput"):
        return 0, 1
    digits = "".join(filter(str.isdigit, str(config.workerinput["workerid"])))
    return int(digits or 0), max(1, int(config.workerinput.get("workercount", 1)))


def shared_identity(config: pytest.Config) -> RunIdentity:
    """What the controller gave to this worker."""
    return RunIdentity(**json.loads(config.workerinput[INPUT]))  # type: ignore[attr-defined]


def encode_identity(identity: RunIdentity) -> str:
    """What the workers of one run share, as text."""
    return _encode(dataclasses.asdict(identity))


def without_surrogates(value: Any) -> Any:
    """``value`` with every lone surrogate in its texts written as its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_surrogates(part) for part in value)
    return value


def encode_plan(plan: Plan) -> str:
    """A plan as text."""
    return _encode(
        {
            "planned": [[*pair, count, plan.selected.get(pair, 0)] for pair, count in plan.planned.items()],
            "not_recorded": plan.not_recorded,
            "panels": {name: dataclasses.asdict(panel) for name, panel in plan.panels.items()},
        }
    )


def decode_plan(text: str) -> Plan:
    """The plan that ``encode_plan`` has written."""
    record = json.loads(text)
    return Plan(
        planned={(panel, model): count for panel, model, count, _ in record["planned"]},
        selected={(panel, model): count for panel, model, _, count in record["planned"]},
        not_recorded=[(panel, model) for panel, model in record["not_recorded"]],
        panels={
            name: PlannedPanel(
                digest=panel["digest"],
                forms=tuple(panel["forms"]),
                items=tuple(panel["items"]),
                repetitions=panel["repetitions"],
                decoding=panel["decoding"],
            )
            for name, panel in record["panels"].items()
        },
    )


def encode_cell(cell: Cell) -> str:
    """A cell as text."""
    return _encode(dataclasses.asdict(cell))


def decode_cell(text: str) -> Cell:
    """The cell that ``encode_cell`` has written."""
    record = json.loads(text)
    if isinstance(record["target"], list):
        record["target"] = tuple(record["target"])
    return Cell(**record)


def decode_row(text: str) -> Row:
    """The row that a report carries."""
    return Row.from_dict(json.loads(text), where="a test report")


def _encode(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))

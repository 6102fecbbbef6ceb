"""What a process has spent, in a file that is whole at every moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from wise_pytest.errors import OptionError
from wise_pytest.transport.call import Charge
from wise_pytest.transport.ledger import LEDGER_NAME, SharedLedger, Spent
from wise_pytest.transport.tally import Tally, tally_path

if TYPE_CHECKING:
    from pathlib import Path

MOST = Charge(input_tokens=10, output_tokens=120, nano_usd=50, exact=False)
COST = Charge(input_tokens=7, output_tokens=3, nano_usd=5)


def test_what_a_process_had_under_way_when_it_died_is_counted_at_its_most(tmp_path: Path):
    """There is no budget: nothing was set aside, and yet what was sent may be billed."""
    worker, controller = SharedLedger(tmp_path, owner="gw0"), SharedLedger(tmp_path, owner="main")
    for _ in range(3):
        assert worker.reserve("m", MOST) == "granted"
    worker.settle("m", MOST, COST)
    worker.settle("m", MOST, None)  # it never left
    assert controller.spent() == {"m": Spent(1, 7, 3, 5, 0)}
    controller.died("gw0")
    assert controller.spent() == {"m": Spent(2, 17, 123, 55, 1)}
    controller.died("gw0")  # once is enough
    assert controller.spent() == {"m": Spent(2, 17, 123, 55, 1)}
    controller.died("gw7")  # it had asked for nothing
    assert controller.spent() == {"m": Spent(2, 17, 123, 55, 1)}


def test_processes_add_up(tmp_path: Path):
    for owner in ("gw0", "gw1"):
        ledger = SharedLedger(tmp_path, owner=owner)
        ledger.reserve("m", MOST)
        ledger.settle("m", MOST, COST)
        ledger.close()
    assert SharedLedger(tmp_path).spent() == {"m": Spent(2, 14, 6, 10, 0)}


def test_no_lock_is_taken_for_what_no_budget_limits(tmp_path: Path):
    ledger = SharedLedger(tmp_path, owner="gw0")
    ledger.reserve("m", MOST)
    ledger.settle("m", MOST, COST)
    assert not (tmp_path / LEDGER_NAME).exists()


def test_a_model_without_a_price_is_counted_under_a_budget_too(tmp_path: Path):
    free = Charge(input_tokens=10, output_tokens=120, exact=False)
    worker, controller = (SharedLedger(tmp_path, max_nano_usd=100, owner=name) for name in ("gw0", "main"))
    worker.reserve("m", free)
    controller.died("gw0")
    assert controller.spent() == {"m": Spent(1, 10, 120, 0, 1)}


def test_a_file_that_is_half_written_is_read_again_and_never_believed(tmp_path: Path):
    path = tally_path(tmp_path, "gw0")
    tally = Tally(path)
    tally.ended["m"] = [1, 2, 3, 4, 0]
    tally.save()
    assert Tally.read(path).ended == {"m": [1, 2, 3, 4, 0]}
    content = path.read_bytes()
    path.write_bytes(content.replace(b"[1,2", b"[9,2"))
    assert Tally.read(path).ended == {}


WRITER = """
import sys
from pathlib import Path
from wise_pytest.transport.call import Charge
from wise_pytest.transport.ledger import SharedLedger

ledger = SharedLedger(Path(sys.argv[1]), owner="gw0")
most = Charge(input_tokens=1, nano_usd=1)
print("writing", flush=True)
while True:
    ledger.reserve("m", most)
    ledger.settle("m", most, most)
"""


@pytest.mark.parametrize("pause", [0.05, 0.08])
def test_it_can_be_read_at_every_moment_and_after_a_kill(tmp_path: Path, pause: float):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    counts = [0]
    deadline = time.monotonic() + 10
    while counts[-1] < 50:
        spent = SharedLedger(tmp_path).spent()
        counts.append(spent["m"].calls if spent else 0)
        assert time.monotonic() < deadline
    time.sleep(pause)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert counts == sorted(counts)  # none was lost on the way
    controller = SharedLedger(tmp_path)
    before = controller.spent()["m"]
    controller.died("gw0")
    after = controller.spent()["m"]
    assert 0 <= after.calls - before.calls == after.inexact <= 1
    assert after.nano_usd == after.calls


def test_a_file_that_cannot_be_written_is_an_error_in_words(tmp_path: Path):
    tally = Tally(tmp_path / "no such folder" / "x")
    with pytest.raises(OptionError, match="the run's books cannot be kept"):
        tally.save()

"""The run's books: money set aside before it is spent, turns, places, and several processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from wise_pytest.errors import OptionError
from wise_pytest.transport.call import Charge
from wise_pytest.transport.ledger import LEDGER_NAME, Ledger, SharedLedger, Spent, nano_usd

if TYPE_CHECKING:
    from pathlib import Path


def usd(nano: int, **tokens: int) -> Charge:
    return Charge(nano_usd=nano, **tokens)


@pytest.fixture(params=["alone", "shared"])
def make(request: pytest.FixtureRequest, tmp_path: Path):
    def make(max_nano_usd: int | None = None, owner: str = "main") -> Ledger:
        if request.param == "alone":
            return Ledger(max_nano_usd=max_nano_usd, owner=owner)
        return SharedLedger(tmp_path, max_nano_usd=max_nano_usd, owner=owner)

    return make


@pytest.mark.parametrize(
    ("tokens", "price", "expected"),
    [(0, 5.0, 0), (1, 0.15, 150), (1_000_000, 0.4, 400_000_000), (3, 0.0001, 1), (1, 0.0, 0)],
)
def test_prices_are_whole_billionths_rounded_up(tokens: int, price: float, expected: int):
    assert nano_usd(tokens, price) == expected


def test_what_is_set_aside_counts_until_it_is_settled(make):
    ledger = make(max_nano_usd=100)
    assert ledger.reserve("m", usd(60)) == "granted"
    assert ledger.reserve("m", usd(60)) == "wait"  # the first may come to less
    ledger.settle("m", usd(60), usd(30, input_tokens=5, output_tokens=2))
    assert ledger.reserve("m", usd(60)) == "granted"
    ledger.settle("m", usd(60), usd(60))
    assert ledger.reserve("m", usd(11)) == "spent"  # 90 are spent: no waiting makes room
    assert ledger.reserve("m", usd(10)) == "granted"
    assert ledger.spent() == {"m": Spent(2, 5, 2, 90, 0)}


def test_what_is_free_and_what_has_no_budget_is_always_granted(make):
    assert make(max_nano_usd=0).reserve("m", usd(0)) == "granted"
    ledger = make()
    assert all(ledger.reserve("m", usd(10**15)) == "granted" for _ in range(3))


def test_a_try_that_cost_nothing_frees_what_was_set_aside(make):
    ledger = make(max_nano_usd=10)
    assert ledger.reserve("m", usd(10)) == "granted"
    ledger.settle("m", usd(10), None)
    assert ledger.reserve("m", usd(10)) == "granted"
    assert ledger.spent() == {}


def test_costs_that_the_provider_did_not_say_are_told_apart(make):
    ledger = make()
    ledger.settle("m", usd(0), Charge(nano_usd=7, exact=False))
    ledger.settle("a", usd(0), Charge(nano_usd=1))
    assert ledger.spent() == {"a": Spent(1, 0, 0, 1, 0), "m": Spent(1, 0, 0, 7, 1)}


def test_turns_come_at_their_distance(make):
    ledger = make()
    waits = [ledger.turn_s("lane", requests=600, tokens=None, n_tokens=0) for _ in range(4)]
    assert waits == pytest.approx([0.0, 0.1, 0.2, 0.3], abs=0.05)
    assert ledger.turn_s("other", requests=600, tokens=None, n_tokens=0) < 0.01
    waits = [ledger.turn_s("tokens", requests=600, tokens=6000, n_tokens=100) for _ in range(3)]
    assert waits == pytest.approx([0.0, 1.0, 2.0], abs=0.05)  # 100 tokens at 6,000 a minute
    assert ledger.turn_s("lane", requests=None, tokens=None, n_tokens=5) == 0.0


def test_a_turn_that_nobody_took_is_not_made_up_for(make):
    ledger = make()
    ledger.turn_s("lane", requests=1200, tokens=None, n_tokens=0)
    time.sleep(0.2)
    waits = [ledger.turn_s("lane", requests=1200, tokens=None, n_tokens=0) for _ in range(2)]
    assert waits == pytest.approx([0.0, 0.05], abs=0.03)


def test_processes_share_places_and_the_dead_leave_theirs(tmp_path: Path):
    one, other = (SharedLedger(tmp_path, max_nano_usd=100, owner=name) for name in ("gw0", "gw1"))
    assert one.enter("lane", 2)
    assert other.enter("lane", 2)
    assert not one.enter("lane", 2)
    other.leave("lane")
    assert one.enter("lane", 2)
    assert one.reserve("m", usd(80)) == "granted"
    assert other.reserve("m", usd(30)) == "wait"
    SharedLedger(tmp_path, owner="main").died("gw0")
    assert other.enter("lane", 2)
    assert other.reserve("m", usd(30)) == "spent"  # what was under way when it died may be billed
    assert other.reserve("m", usd(20)) == "granted"


def test_what_a_dead_process_had_set_aside_is_put_down_to_its_models(make):
    """So that the amounts by model, which are shown, add up to what the budget counts."""
    ledger = make(max_nano_usd=100, owner="gw0")
    assert ledger.reserve("m", usd(30, input_tokens=3)) == "granted"
    assert ledger.reserve("m", usd(20, output_tokens=2)) == "granted"
    assert ledger.reserve("a", usd(10)) == "granted"
    ledger.settle("a", usd(10), usd(4))
    ledger.died("gw0")
    assert ledger.spent() == {"a": Spent(1, 0, 0, 4, 0), "m": Spent(2, 3, 2, 50, 2)}
    assert ledger.reserve("m", usd(46)) == "granted"  # 100 - 50 - 4
    assert ledger.reserve("m", usd(1)) == "wait"


def test_one_that_was_declared_dead_too_early_ends_without_an_error_and_counts_once(make):
    ledger = make(max_nano_usd=100, owner="gw0")
    ledger.leave("never entered")
    assert ledger.enter("lane", 1)
    assert ledger.reserve("m", usd(30)) == "granted"
    ledger.died("gw0")
    ledger.leave("lane")
    ledger.settle("m", usd(30), usd(25))
    assert ledger.spent()["m"].nano_usd == 30
    assert ledger.enter("lane", 1)
    assert not ledger.enter("lane", 1)  # the second leaving has made no room twice


def test_an_error_of_the_caller_is_not_one_of_the_books(tmp_path: Path):
    ledger = SharedLedger(tmp_path)
    with pytest.raises(ValueError, match="mine"), ledger._open():
        raise ValueError("mine")


def test_books_of_any_length_are_read_in_full(tmp_path: Path):
    ledger = SharedLedger(tmp_path)
    long = "m" * (3 << 20)
    ledger.settle(long, usd(0), usd(5))
    assert list(SharedLedger(tmp_path).spent()) == [long]


def test_closed_books_are_opened_again_when_they_are_needed(tmp_path: Path):
    ledger = SharedLedger(tmp_path)
    ledger.settle("m", usd(0), usd(5))
    ledger.close()
    assert ledger._file == -1
    assert ledger.spent()["m"].nano_usd == 5
    ledger.close()


SPENDER = """
import random, sys
from pathlib import Path
from wise_pytest.transport.call import Charge
from wise_pytest.transport.ledger import SharedLedger

ledger = SharedLedger(Path(sys.argv[1]), max_nano_usd=100_000, owner=sys.argv[2])
dice = random.Random(sys.argv[2])
most, n = Charge(nano_usd=300), 0
while (answer := ledger.reserve("m", most)) != "spent":
    if answer == "granted":
        n += 1
        ledger.settle("m", most, Charge(nano_usd=dice.randint(100, 300)))
print(n)
"""


def test_four_processes_never_spend_more_than_there_is(tmp_path: Path):
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(tmp_path), f"gw{n}"], stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    n_calls = sum(int(process.communicate(timeout=60)[0]) for process in running)
    spent = SharedLedger(tmp_path).spent()["m"]
    assert spent.calls == n_calls
    # The last call was refused with less than one call's most left.
    assert 100_000 - 300 < spent.nano_usd <= 100_000


def test_books_that_cannot_be_read_are_an_error_in_words(tmp_path: Path):
    ledger = SharedLedger(tmp_path, owner="main")
    ledger.settle("m", usd(0), usd(5))
    (tmp_path / LEDGER_NAME).write_text("{torn", encoding="ascii")
    with pytest.raises(OptionError, match="the run's books cannot be kept"):
        ledger.spent()
    ledger.close()


def test_shorter_books_leave_no_rest_of_longer_ones(tmp_path: Path):
    ledger = SharedLedger(tmp_path, owner="a-very-long-name-of-a-process")
    assert ledger.enter("a lane with a long name", 1)
    ledger.died("a-very-long-name-of-a-process")
    assert json.loads((tmp_path / LEDGER_NAME).read_text())["places"] == {"a lane with a long name": {}}

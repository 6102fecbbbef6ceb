"""The run's books: what is spent and reserved, whose turn it is, who is in flight.

One ``Ledger`` a process. Where a run has several processes they share one file,
``SharedLedger``, and each step is taken under its lock, so that a budget holds
to the cent whoever asks. What no budget limits is in a file of each process
(``tally``), which needs no lock. Money is counted in billionths of a dollar.

Times are those of ``time.monotonic``, which all processes of a machine share
and which no change of the clock moves.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wise_pytest.errors import OptionError
from wise_pytest.files import reason_of
from wise_pytest.transport.tally import Tally, read_all, tally_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from wise_pytest.transport.call import Charge

NANO = 1_000_000_000
LEDGER_NAME = "ledger.json"
LOCK_POLL_S = 0.001
_NANO = 3
"""Where a tally has its money, see ``_amounts``."""
Answer: TypeAlias = Literal["granted", "wait", "spent"]


@dataclass(frozen=True, slots=True)
class Spent:
    """What the calls of one model have cost in this run."""

    calls: int
    input_tokens: int
    output_tokens: int
    nano_usd: int
    inexact: int
    """Tries whose cost the provider did not say; they are counted at the most they can have cost."""

    @property
    def usd(self) -> float:
        """US dollars."""
        return self.nano_usd / NANO


def nano_usd(tokens: int, usd_per_million: float) -> int:
    """The price of some tokens in billionths of a dollar, rounded up."""
    return -int(-tokens * usd_per_million * 1000 // 1)


class Ledger:
    """The books of a run that has one process.

    Parameters
    ----------
    max_nano_usd
        The budget; ``None`` for none.
    owner
        This process's name within the run.
    """

    def __init__(self, *, max_nano_usd: int | None = None, owner: str = "main") -> None:
        self.max_nano_usd = max_nano_usd
        self._owner = owner
        self._books: dict[str, Any] = _empty()

    @contextmanager
    def _open(self) -> Iterator[dict[str, Any]]:
        yield self._books

    def reserve(self, model: str, charge: Charge) -> Answer:
        """Set the most that a try can cost aside; with ``wait`` another try's end may make room for it."""
        if not self._is_limited(charge) or self.max_nano_usd is None:
            return "granted"
        with self._open() as books:
            spent = books["spent"]
            reserved = sum(aside[_NANO] for models in books["reserved"].values() for aside in models.values())
            if spent + charge.nano_usd > self.max_nano_usd:
                return "spent"
            if spent + reserved + charge.nano_usd > self.max_nano_usd:
                return "wait"
            _add(books["reserved"].setdefault(self._owner, {}), model, charge)
        return "granted"

    def settle(self, model: str, reserved: Charge, charge: Charge | None) -> None:
        """Put down what a try has cost, and free what was set aside for it; ``None`` for nothing at all."""
        limited = self._is_limited(reserved)
        if charge is None and not limited:
            return
        with self._open() as books:
            if limited:
                aside = books["reserved"].get(self._owner, {}).get(model)
                if aside is None or not aside[0]:
                    return  # this process was declared dead, and all that it had set aside is booked
                for place, amount in enumerate(_amounts(reserved)):
                    aside[place] -= amount
            if charge is not None:
                books["spent"] += charge.nano_usd
                _add(books["models"], model, charge)

    def turn_s(self, lane: str, *, requests: float | None, tokens: float | None, n_tokens: int) -> float:
        """Seconds until this request's turn, which is taken now.

        Parameters
        ----------
        requests, tokens
            What the lane may do a minute, ``None`` for no limit.
        n_tokens
            What this request may use at most.
        """
        if requests is None and tokens is None:
            return 0.0
        now = time.monotonic()
        with self._open() as books:
            turn: float = max(now, books["turns"].get(lane, 0.0))
            pause = 0.0 if requests is None else 60.0 / requests
            pause = max(pause, 0.0 if tokens is None else 60.0 * n_tokens / tokens)
            books["turns"][lane] = turn + pause
        return turn - now

    def enter(self, lane: str, limit: int) -> bool:
        """Take one of the places that all processes share; ``False`` where none is free."""
        with self._open() as books:
            places = books["places"].setdefault(lane, {})
            if sum(places.values()) >= limit:
                return False
            places[self._owner] = places.get(self._owner, 0) + 1
        return True

    def leave(self, lane: str) -> None:
        """Give the place back."""
        with self._open() as books:
            places = books["places"].get(lane, {})
            if places.get(self._owner, 0) > 0:  # a process that was declared dead has none left
                places[self._owner] -= 1

    def died(self, owner: str) -> None:
        """A process has ended unexpectedly: its places are free, and what it had reserved may be billed."""
        with self._open() as books:
            books["spent"] += _book(books["reserved"].pop(owner, {}), books["models"])
            for places in books["places"].values():
                places.pop(owner, None)

    def spent(self) -> Mapping[str, Spent]:
        """What was spent so far, by model."""
        with self._open() as books:
            return {model: Spent(*tally) for model, tally in sorted(books["models"].items())}

    def close(self) -> None:
        """Release what is open."""

    def _is_limited(self, most: Charge) -> bool:
        """Whether a try that may cost so much is one for the budget."""
        return self.max_nano_usd is not None and most.nano_usd > 0


class SharedLedger(Ledger):
    """The books of a run that has several processes, in one small file.

    Parameters
    ----------
    folder
        Where the file is; it is made by the first process that needs it.
    """

    def __init__(self, folder: Path, *, max_nano_usd: int | None = None, owner: str = "main") -> None:
        from filelock import FileLock

        super().__init__(max_nano_usd=max_nano_usd, owner=owner)
        self._lock = FileLock(folder / f"{LEDGER_NAME}.lock")
        self._folder = folder
        self._path = folder / LEDGER_NAME
        self._file = -1
        self._tally = Tally(tally_path(folder, owner))
        """Touched by one thread only, the event loop's."""

    def reserve(self, model: str, charge: Charge) -> Answer:
        """As it says; of what no budget limits, what is under way is put down, for the case of a kill."""
        if self._is_limited(charge):
            return super().reserve(model, charge)
        _add(self._tally.under_way, model, charge)
        self._tally.save()
        return "granted"

    def settle(self, model: str, reserved: Charge, charge: Charge | None) -> None:
        """As it says."""
        if self._is_limited(reserved):
            super().settle(model, reserved, charge)
            return
        _add(self._tally.under_way, model, reserved, sign=-1)
        if charge is not None:
            _add(self._tally.ended, model, charge)
        self._tally.save()

    def died(self, owner: str) -> None:
        """As it says."""
        super().died(owner)
        tally = Tally.read(tally_path(self._folder, owner))
        if tally.under_way:
            _book(tally.under_way, tally.ended)
            tally.under_way = {}
            tally.save()
        tally.close()

    def spent(self) -> Mapping[str, Spent]:
        """What was spent so far, by model."""
        with self._open() as books:
            sums: dict[str, list[int]] = {model: list(tally) for model, tally in books["models"].items()}
        for tally in read_all(self._folder):
            for model, amounts in tally.ended.items():
                before = sums.setdefault(model, [0] * len(amounts))
                sums[model] = [old + new for old, new in zip(before, amounts, strict=True)]
        return {model: Spent(*amounts) for model, amounts in sorted(sums.items())}

    @contextmanager
    def _open(self) -> Iterator[dict[str, Any]]:
        with ExitStack() as held:
            with _explained():
                held.enter_context(self._lock.acquire(poll_interval=LOCK_POLL_S))
                content = self._read()
                books = json.loads(content) if content.strip() else _empty()
            yield books
            changed = json.dumps(books, separators=(",", ":")).encode("ascii")
            if changed != content.rstrip():
                with _explained():
                    # It covers the earlier text in one write, so that a kill leaves the one or the other.
                    self._write(changed.ljust(len(content)))

    def _read(self) -> bytes:
        if self._file < 0:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        os.lseek(self._file, 0, os.SEEK_SET)
        content = bytearray()
        while piece := os.read(self._file, 1 << 20):
            content += piece
        return bytes(content)

    def _write(self, content: bytes) -> None:
        os.lseek(self._file, 0, os.SEEK_SET)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        """Release the files; a later entry opens them again."""
        self._tally.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@contextmanager
def _explained() -> Iterator[None]:
    """Put into words what keeps the file from being used."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise OptionError(f"the run's books cannot be kept: {reason_of(error)}") from error


def _amounts(charge: Charge) -> tuple[int, ...]:
    """What one try adds to a tally, in the order of ``Spent``."""
    return (1, charge.input_tokens, charge.output_tokens, charge.nano_usd, int(not charge.exact))


def _add(tallies: dict[str, list[int]], model: str, charge: Charge, *, sign: int = 1) -> None:
    tally = tallies.setdefault(model, [0] * len(_amounts(charge)))
    for place, amount in enumerate(_amounts(charge)):
        tally[place] += sign * amount


def _book(aside: dict[str, list[int]], models: dict[str, list[int]]) -> int:
    """Put down what was set aside by a process that is gone, as nobody has said what it cost; the money."""
    total = 0
    for model, (n_tries, *amounts, _) in aside.items():
        if n_tries > 0:
            total += amounts[_NANO - 1]
            tally = models.setdefault(model, [0] * (len(amounts) + 2))
            for place, amount in enumerate((n_tries, *amounts, n_tries)):
                tally[place] += amount
    return total


def _empty() -> dict[str, Any]:
    return {"spent": 0, "reserved": {}, "turns": {}, "places": {}, "models": {}}

"""What one process has spent and has under way, in a file that others can read when it is gone.

``SharedLedger`` keeps here what no budget limits: nobody else writes the file, so
that it takes no lock, and a kill at any moment leaves a whole entry.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING

from wise_pytest.errors import OptionError
from wise_pytest.files import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFIX = "tally-"
READ_TRIES = 50
"""How often a file is read whose owner is writing it; that takes microseconds."""


class Tally:
    """Sums by model: of calls that have ended, and of those under way.

    Parameters
    ----------
    path
        The process's own file; it is made with the first entry.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._length = 0
        self.ended: dict[str, list[int]] = {}
        self.under_way: dict[str, list[int]] = {}

    def save(self) -> None:
        """Write all of it, in one step.

        Raises
        ------
        OptionError
            If it cannot be written.
        """
        text = json.dumps([self.ended, self.under_way], separators=(",", ":")).encode("ascii")
        content = (b"%08x %s" % (zlib.crc32(text), text)).ljust(self._length)
        try:
            if self._file < 0:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            # It covers the earlier text in one write, so that a kill leaves the one or the other.
            rest = memoryview(content)
            while rest:  # a full disk may take a part
                rest = rest[os.pwrite(self._file, rest, len(content) - len(rest)) :]
        except OSError as error:
            raise OptionError(f"the run's books cannot be kept: {reason_of(error)}") from error
        self._length = len(content)

    def close(self) -> None:
        """Release the file; a later entry opens it again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    @classmethod
    def read(cls, path: Path) -> Tally:
        """What a process has put down; nothing if it never has."""
        tally = cls(path)
        for _ in range(READ_TRIES):
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                break
            digest, _, text = content.rstrip().partition(b" ")
            if digest == b"%08x" % zlib.crc32(text):
                tally.ended, tally.under_way = json.loads(text)
                tally._length = len(content)
                break
        return tally


def tally_path(folder: Path, owner: str) -> Path:
    """The file of a process."""
    return folder / f"{PREFIX}{owner}"


def read_all(folder: Path) -> Iterator[Tally]:
    """The tallies of all processes of a run."""
    return (Tally.read(path) for path in sorted(folder.glob(f"{PREFIX}*")))

"""The folder of cassettes that a session replays from and records into.

``CassetteStore`` belongs to one process. Under xdist each worker has its own
and appends to its own parts, so that no two processes write the same bytes;
the process that started the run holds the folder's lock and packs the parts
when the run ends, or at the start of the next one if it was killed.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from wise_pytest.cassettes.pack import (
    Contents,
    Recording,
    decode_line,
    part_header,
    read_identity,
    read_pack,
    read_part,
    write_pack,
)
from wise_pytest.errors import CassetteError, OptionError
from wise_pytest.files import write_fully, write_whole
from wise_pytest.naming import slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO, Self

    from filelock import BaseFileLock

    from wise_pytest.cassettes.pack import RecordingKey

LOCK_NAME = ".lock"
PACK_SUFFIX = ".jsonl"
PART_SUFFIX = ".part.jsonl"
SYNC_S = 0.1
"""The least time between two requests to the disk to keep what was written; a power cut costs little more."""


class Pack:
    """The recordings of one model in one panel, as this process sees them."""

    def __init__(self, path: Path, *, panel: str, model: str) -> None:
        self.path = path
        self.panel = panel
        self.model = model
        contents, parts = _read_all(path, panel=panel, model=model)
        self._lines: dict[RecordingKey, bytes] = dict(contents.lines)
        self._sessions = contents.sessions
        self.sha256 = contents.sha256
        """The digest of the pack's file; ``None`` where there is none, or parts lie over it."""
        self.parts = tuple(part for part, _ in parts)
        """Files of runs that have not packed their recordings yet, or never will."""
        self.cut_parts = tuple(part for part, part_contents in parts if part_contents.cut)
        self._part: BinaryIO | None = None
        self._lock = threading.RLock()
        """Replies are recorded as they arrive, by another thread than the tests'."""
        self._sync_lock = threading.Lock()
        """For what follows; the thread that syncs never waits for the other lock."""
        self._unsynced = False
        """Whether anything was written that the disk was not asked to keep."""
        self._syncing: threading.Thread | None = None
        self._closing = threading.Event()
        self._sync_error: OSError | None = None
        self._part_count = 0

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def sessions(self) -> tuple[Mapping[str, Any], ...]:
        """How the recordings were made."""
        return self._sessions

    def __contains__(self, key: RecordingKey) -> bool:
        return key in self._lines

    def keys(self) -> Iterator[RecordingKey]:
        """The (item, form, repetition) of every recording."""
        return iter(self._lines)

    def lines(self) -> Iterator[tuple[RecordingKey, bytes]]:
        """Every recording as it is kept."""
        return iter(self._lines.items())

    def get(self, key: RecordingKey) -> Recording | None:
        """The recording of a cell, or ``None``."""
        line = self._lines.get(key)
        return None if line is None else decode_line(line, where=f"{self.path} {key}")

    def append(self, recording: Recording, *, session: Mapping[str, Any], writer: str) -> None:
        """Keep a recording: one whole line at the end of this process's own part.

        Raises
        ------
        CassetteError
            If it cannot be written; everything recorded so far stays readable.
        """
        line = recording.to_line()
        with self._lock:
            try:
                if self._part is None:
                    self._part = self._open_part(session=session, writer=writer)
                write_fully(self._part, line)
                self._sync(self._part)
            except OSError as error:
                # What was written of this line is cut; the next recording must not be glued to it.
                self.close()
                raise CassetteError(
                    f"{self.path.parent}: recording failed: {error.strerror or error}; what was recorded "
                    "before is kept: mend that, and repeat the command, which asks for the rest"
                ) from error
            self._lines[recording.key] = line

    def reread(self) -> None:
        """Learn what other processes have recorded since; what this one knows stays."""
        contents, _ = _read_all(self.path, panel=self.panel, model=self.model)
        with self._lock:
            for key, line in contents.lines.items():
                self._lines.setdefault(key, line)

    def close(self) -> None:
        """Close this process's part, if it has one; what was written to it is on the disk then."""
        with self._lock:
            if self._part is not None:
                self._part.close()
                self._part = None
            with self._sync_lock:
                syncing, self._syncing = self._syncing, None
                self._closing.set()
            if syncing is not None:
                syncing.join()

    def _sync(self, part: BinaryIO) -> None:
        """Have the disk itself keep what was written, for the case of a power cut.

        A thread of its own waits for the disk, for many recordings at a time: replies
        are recorded in the event loop, where all deadlines would wait with it. What
        goes wrong is raised by the next recording.
        """
        with self._sync_lock:
            error, self._sync_error = self._sync_error, None
            if error is not None:
                raise error
            self._unsynced = True
            if self._syncing is not None:
                return
            self._closing = threading.Event()
            # A descriptor of its own: the part may be closed meanwhile.
            self._syncing = threading.Thread(
                target=self._sync_apart,
                args=(os.dup(part.fileno()), self._closing),
                name="wise-sync",
                daemon=True,
            )
            self._syncing.start()

    def _sync_apart(self, descriptor: int, closing: threading.Event) -> None:
        """Sync until nothing more has come for a while."""
        try:
            while self._takes_unsynced():
                os.fsync(descriptor)
                closing.wait(SYNC_S)
        except OSError as error:
            with self._sync_lock:
                self._sync_error, self._syncing = error, None
        finally:
            os.close(descriptor)

    def _takes_unsynced(self) -> bool:
        """Whether anything has come since the last time; if not, the thread is as good as gone."""
        with self._sync_lock:
            has_come, self._unsynced = self._unsynced, False
            if not has_come and self._syncing is threading.current_thread():
                self._syncing = None
            return has_come

    def _open_part(self, *, session: Mapping[str, Any], writer: str) -> BinaryIO:
        self._part_count += 1
        name = f"{self.path.name.removesuffix(PACK_SUFFIX)}.{session['id']}-{writer}-{self._part_count}"
        path = self.path.parent / (name + PART_SUFFIX)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.open("xb", buffering=0)
        try:
            write_fully(part, part_header(panel=self.panel, model=self.model, session=session))
        except OSError:
            part.close()
            raise
        return part


class CassetteStore:
    """All packs below one folder, each read when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._packs: dict[tuple[str, str], Pack] = {}

    def path(self, panel: str, model: str) -> Path:
        """Where the pack of a model in a panel is, whether or not it exists."""
        name = slug(model)
        if (name + PACK_SUFFIX).endswith(PART_SUFFIX):
            # "m.part" would be taken for a part. No slug holds a "+", so this is no other model's name.
            name += "+"
        return self.root / slug(panel) / (name + PACK_SUFFIX)

    def pack(self, panel: str, model: str) -> Pack:
        """The recordings of a model in a panel; empty where there are none.

        Raises
        ------
        CassetteError
            If they are damaged or from another version.
        """
        pack = self._packs.get((panel, model))
        if pack is None:
            path = self.path(panel, model)
            check_inside(path, self.root)
            pack = Pack(path, panel=panel, model=model)
            self._packs[panel, model] = pack
        return pack

    def reread(self) -> None:
        """Learn what other processes have recorded since.

        Raises
        ------
        CassetteError
            If it is damaged.
        """
        for pack in tuple(self._packs.values()):
            pack.reread()

    def packs_of(self, panel: str) -> Iterator[Pack]:
        """The recordings of every model in a panel, by the names of their files.

        Raises
        ------
        CassetteError
            If some are damaged or from another version.
        """
        found: dict[str, None] = {}
        for path in sorted((self.root / slug(panel)).glob(f"*{PACK_SUFFIX}")):
            identity = read_identity(path)
            if identity is not None and identity[0] == panel:
                found[identity[1]] = None
        for model in found:
            yield self.pack(panel, model)

    def close(self) -> None:
        """Close every part that this process has written to."""
        for pack in self._packs.values():
            pack.close()


class RecordingLock:
    """Held by the one run that records into a folder; packs the parts at its start and end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> Self:
        """Take the lock and pack what a killed run has left.

        Raises
        ------
        OptionError
            If another run is recording into the folder, or it cannot be written.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(self.root / LOCK_NAME)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            raise OptionError(
                f"{self.root}: another run is recording into this folder; wait for it to end"
            ) from None
        except OSError as error:
            raise OptionError(
                f"{self.root}: cannot record into this folder: {error.strerror or error}; "
                "choose another one with --wise-cassettes DIR"
            ) from error
        self._lock = lock
        try:
            _ignore_passing_files(self.root)
            pack_parts(self.root)
        except BaseException:
            lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Pack what this run has recorded, and release the folder."""
        try:
            pack_parts(self.root)
        finally:
            if self._lock is not None:
                self._lock.release()


def _ignore_passing_files(root: Path) -> None:
    """Keep the lock and unpacked parts out of the user's version control, unless they have a say there."""
    ignore = root / ".gitignore"
    if not ignore.exists():
        write_whole(ignore, f"{LOCK_NAME}\n*{PART_SUFFIX}\n", error=CassetteError)


def check_inside(path: Path, root: Path) -> None:
    """Refuse a file of recordings that is a link, or lies in a folder that leads out of ``root``.

    Whoever replays somebody else's recordings reads and writes in that folder only.

    Raises
    ------
    CassetteError
        If it does.
    """
    if path.is_symlink() or not path.parent.resolve().is_relative_to(root.resolve()):
        raise CassetteError(
            f"{path}: leads out of the folder of recordings; put the file itself there, or name the folder "
            "that it is in with --wise-cassettes"
        )


def pack_parts(root: Path) -> None:
    """Merge every part below ``root`` into its pack, then delete the part.

    A kill in between loses nothing: parts are deleted only after the pack that
    holds their recordings is in place, and merging them again changes nothing
    (see ``_read_all``).
    """
    groups: dict[Path, list[Path]] = {}
    for part in sorted(root.glob(f"*/*{PART_SUFFIX}")):
        groups.setdefault(pack_of(part), []).append(part)
    for path, parts in groups.items():
        for file in (path, *parts):
            check_inside(file, root)
        # A part whose header is cut was left by a kill or a full disk, and nothing is in it.
        identity = next(filter(None, map(read_identity, parts)), None)
        if identity is not None:
            panel, model = identity
            contents, _ = _read_all(path, panel=panel, model=model)
            if contents.lines:
                write_pack(path, panel=panel, model=model, lines=contents.lines, sessions=contents.sessions)
        for part in parts:
            part.unlink()


def pack_of(part: Path) -> Path:
    """The pack that a part belongs to."""
    return part.with_name(part.name.removesuffix(PART_SUFFIX).rpartition(".")[0] + PACK_SUFFIX)


def _read_all(path: Path, *, panel: str, model: str) -> tuple[Contents, list[tuple[Path, Contents]]]:
    """A pack with its parts laid over it; and the parts.

    A part's recording wins over the pack's, whatever the clock said: one run at
    a time holds the folder's lock and packs all earlier parts before it records,
    so a part is written after the pack. The exception is a part that a killed
    run merged and did not come to delete. It can only meet the pack that holds
    it, and there its recording may have lost to another part of its session. So
    within one session, as among parts, the later time wins, and of equal times
    the later file by name: laid over its pack again, a part changes nothing.
    """
    contents = read_pack(path, panel=panel, model=model) if path.exists() else Contents({}, ())
    parts = [
        (part, read_part(part, panel=panel, model=model))
        for part in sorted(path.parent.glob(f"*{PART_SUFFIX}"))
        if pack_of(part) == path
    ]
    if not parts:
        return contents, parts
    lines = dict(contents.lines)
    sessions = list(contents.sessions)
    from_parts: set[RecordingKey] = set()
    for part, part_contents in parts:
        sessions.extend(part_contents.sessions)
        for key, line in part_contents.lines.items():
            if key not in lines or _replaces(line, lines[key], both_in_parts=key in from_parts, part=part):
                lines[key] = line
                from_parts.add(key)
    return Contents(lines, tuple(sessions)), parts


def _replaces(line: bytes, earlier: bytes, *, both_in_parts: bool, part: Path) -> bool:
    """Whether a part's recording of a cell takes the place of the one that was read before it."""
    new, old = decode_line(line, where=str(part)), decode_line(earlier, where=str(part))
    comparable = both_in_parts or new.session == old.session
    return not comparable or old.recorded_at <= new.recorded_at

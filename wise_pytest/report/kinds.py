"""The kinds of report that can be asked for, and how an option names one.

Imported while the settings are read: nothing here may cost anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT_NAMES: Mapping[str, str] = {"markdown": "audit.md", "json": "audit.json", "csv": "tables"}
"""Each kind, and where in a run's folder it goes; ``csv`` is a folder of tables."""


@dataclass(frozen=True, slots=True)
class ReportKind:
    """One report that is asked for."""

    kind: str
    """A key of `DEFAULT_NAMES`."""
    path: Path | None = None
    """Where to write it, or ``None`` for its place in the run's folder."""

    def target(self, directory: Path) -> Path:
        """Where this report goes for a run that is kept in ``directory``."""
        return directory / DEFAULT_NAMES[self.kind] if self.path is None else self.path


def kinds_of_a_run(asked: Iterable[ReportKind]) -> list[ReportKind]:
    """What goes into a run's own folder: every kind, or those asked for without a path and the JSON."""
    names = {kind.kind for kind in asked if kind.path is None}
    return [ReportKind(name) for name in DEFAULT_NAMES if not names or name in names or name == "json"]


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
    known = ", ".join(DEFAULT_NAMES)
    if kind not in DEFAULT_NAMES:
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

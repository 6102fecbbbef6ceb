"""Which panels there are: the bundled ones, and the user's own. Read when they are asked for.

``settings`` makes one catalog for a session, the commands one for what they do;
``bundled_panels`` is that of a user who has none of their own. A panel's file is
read when the panel is first looked up, so that a session pays for what it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError
from wise_pytest.naming import explain_unknown
from wise_pytest.panels.loader import bundled_items, load_panel
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wise_pytest.panels.model import Item, Panel
    from wise_pytest.verifiers.registry import Verifier

PANEL_IDS = (
    "exact_count",
    "avoidance_family",
    "constructional_controls",
    "keyword_once",
    "length_range",
    "json_structure",
    "ordering",
    "capitalization",
    "citation_format",
    "tool_call_schema",
    "multi_constraint",
    "factorial_count",
    "exact_count_de",
    "exact_count_es",
)
"""The panels that come with the package, in the order in which they are run and reported."""

ENTRY_POINTS = "wise_pytest.panels"
"""The group of entry points by which an installed package offers panels."""

FOLDER = "panels"
"""Where ``wise new-panel`` writes a panel of one's own, in the project's folder."""

_FOLDER = Path(__file__).parent
_SUFFIX = ".toml"


class Catalog(Mapping[str, "Panel"]):
    """Panels by id, the bundled ones first; looking one up reads its file."""

    def __init__(self, own: Mapping[str, Path], root: Path | None = None) -> None:
        self.own = dict(own)
        """The files of the user's own panels, by id."""
        self._root = root
        self._loaded: dict[str, Panel] = {}
        self._items: tuple[Item, ...] | None = None

    def __getitem__(self, panel_id: str) -> Panel:
        """The panel of that id; ``PanelError`` where its file cannot be used."""
        if panel_id not in self._loaded:
            if panel_id not in self:
                raise KeyError(panel_id)
            path = self.own.get(panel_id, _FOLDER / f"{panel_id}{_SUFFIX}")
            self._loaded[panel_id] = load_panel(path, self.shared_items())
        return self._loaded[panel_id]

    def __contains__(self, panel_id: object) -> bool:
        return panel_id in PANEL_IDS or panel_id in self.own

    def __iter__(self) -> Iterator[str]:
        return iter((*PANEL_IDS, *self.own))

    def __len__(self) -> int:
        return len(PANEL_IDS) + len(self.own)

    def panel(self, panel_id: str) -> Panel:
        """The panel of that id.

        Raises
        ------
        PanelError
            If there is none, or its file cannot be used.
        """
        if panel_id not in self:
            raise PanelError(explain_unknown("panel", panel_id, self) + self._undeclared(panel_id))
        return self[panel_id]

    def _undeclared(self, panel_id: str) -> str:
        """What to do about a file of that panel which no setting leads to."""
        if self._root is None or not (self._root / FOLDER / f"{panel_id}{_SUFFIX}").is_file():
            return ""
        return (
            f'; {FOLDER}/{panel_id}{_SUFFIX} is there: add panels = ["{FOLDER}"] to [tool.wise] in '
            "pyproject.toml"
        )

    def shared_items(self) -> tuple[Item, ...]:
        """The bundled items, read once."""
        if self._items is None:
            self._items = bundled_items()
        return self._items

    def verifier(self, name: str) -> Verifier:
        """The verifier of that name: a bundled one, or that of one of the user's panels.

        Raises
        ------
        PanelError
            If there is none, or a panel's file cannot be used.
        """
        for panel_id in self.own:
            own = self[panel_id].own_verifier
            if own is not None and own.name == name:
                return own
        return get_verifier(name)


def bundled_panels() -> Catalog:
    """The panels that come with the package, by id, in the order of ``PANEL_IDS``."""
    return Catalog({})


def bundled_panel(panel_id: str) -> Panel:
    """One panel that comes with the package; the files of the others are not read.

    Raises
    ------
    PanelError
        If there is none of this name.
    """
    return bundled_panels().panel(panel_id)


def read_catalog(root: Path, declared: Any) -> Catalog:
    """The bundled panels and the user's own.

    Parameters
    ----------
    root
        The folder that the declared paths are relative to.
    declared
        ``panels`` of ``[tool.wise]``: a list of panel files, or folders that
        stand for the panel files in them; ``None`` where it is not given.

    Returns
    -------
    Catalog
        The declared panels, then those of installed packages. Their files are
        read when they are looked up.

    Raises
    ------
    PanelError
        If a path is no panel file, or two panels have one id.
    """
    own: dict[str, Path] = {}
    for where, path in (*_declared(root, declared), *_offered()):
        panel_id = path.stem
        if panel_id in PANEL_IDS:
            raise PanelError(f"{path}: {panel_id!r} is a bundled panel; give your own another name")
        first = own.setdefault(panel_id, path)
        if first != path:
            raise PanelError(f"{where}: panel {panel_id!r} is in {first} and in {path}; rename one of them")
    return Catalog(own, root)


def check_one_language(panels: Iterable[Panel]) -> None:
    """Refuse panels of several languages: their rates are no measure of wording alone.

    Raises
    ------
    PanelError
        If there are two; the message names the panels of each.
    """
    by_language: dict[str, list[str]] = {}
    for panel in panels:
        by_language.setdefault(panel.language, []).append(panel.panel_id)
    if len(by_language) > 1:
        named = "; ".join(f"{language}: {', '.join(ids)}" for language, ids in by_language.items())
        raise PanelError(
            f"one audit holds panels of one language, and these are of {len(by_language)} ({named}); "
            "run one language at a time"
        )


def _declared(root: Path, declared: Any) -> Iterator[tuple[str, Path]]:
    where = "[tool.wise] panels"
    if declared is None:
        return
    if not isinstance(declared, list) or not all(isinstance(name, str) and name for name in declared):
        raise PanelError(f"{where}: must be a list of panel files or folders, not {declared!r}")
    for name in declared:
        path = root / name
        found = sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]
        if not found or not all(file.is_file() and file.suffix == _SUFFIX for file in found):
            raise PanelError(f"{where}: {path} is no panel file, nor a folder with any (NAME{_SUFFIX})")
        for file in found:
            yield where, file


def _offered() -> Iterator[tuple[str, Path]]:
    """Panel files of installed packages: each entry point leads to a path, or to several."""
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        where = f"entry point {point.name!r} of {ENTRY_POINTS}"
        try:
            value = point.load()
        except (Exception, SystemExit) as error:  # whatever the package raises is its user's to read
            raise PanelError(f"{where}: cannot be loaded: {type(error).__name__}: {error}") from error
        for path in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(path, str | Path) or not Path(path).is_file() or Path(path).suffix != _SUFFIX:
                raise PanelError(
                    f"{where}: must lead to the path of a panel file, NAME{_SUFFIX}, not {path!r}"
                )
            yield where, Path(path)

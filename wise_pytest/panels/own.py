"""A user's own verifier: a function named in a panel file, made into a ``Verifier``.

The panel loader calls ``load_own_verifier``. The function takes the complete
visible output and the target, and says whether the output complies: with a bool,
or with a ``Verdict`` whose direction is one of those that the panel declares::

    def verify(text, target):
        return text.rstrip().endswith(target)
"""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError, WiseError
from wise_pytest.records import Verdict
from wise_pytest.verifiers.registry import VERIFIERS, Verifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIRECTIONS = ("met", "missed")
"""What the outcomes of a function that returns a bool are called."""

_NAME = re.compile(r"(?P<id>[a-z][a-z0-9_]*)/(?P<version>[1-9][0-9]{0,3})")
_PLACE = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_][A-Za-z0-9_]*)")


def load_own_verifier(name: str, place: str, *, directions: tuple[str, ...] | None, folder: Path) -> Verifier:
    """The verifier ``name`` whose function is at ``place``.

    Parameters
    ----------
    name
        Identifier and version, such as ``ends_with/1``.
    place
        ``FILE.py:FUNCTION``, the file relative to ``folder``.
    directions
        What the function's verdicts call the outcomes; ``None`` for a function
        that returns a bool.
    folder
        Of the panel file.

    Raises
    ------
    PanelError
        If the name is taken or misspelt, or the function cannot be loaded.
    """
    named = _NAME.fullmatch(name)
    if named is None:
        raise PanelError(
            f"a verifier of your own needs an id with a version, such as 'my_check/1', not {name!r}"
        )
    if any(verifier.verifier_id == named["id"] for verifier in VERIFIERS):
        raise PanelError(f"{named['id']!r} is a bundled verifier; give your own another id")
    return Verifier(
        named["id"],
        int(named["version"]),
        _checked(name, _function(place, folder), directions),
        DIRECTIONS if directions is None else directions,
        _check_target,
        lambda target: f"meets {name} with {target!r}",
    )


def beside(folder: Path, name: str) -> Path:
    """The file that a panel names, which must be in the panel's own folder or below it.

    Raises
    ------
    PanelError
        If the name leads elsewhere, also by a link.
    """
    path = folder / name
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a NUL in the name, or links in a circle
        inside = False
    if not inside:
        raise PanelError(f"{name!r} leads out of the panel's folder, {folder}; put the file beside the panel")
    return path


def _function(place: str, folder: Path) -> Callable[[str, Any], Any]:
    parts = _PLACE.fullmatch(place)
    if parts is None:
        raise PanelError(f"expected FILE.py:FUNCTION, not {place!r}")
    path = beside(folder, parts["file"])
    if not path.is_file():
        raise PanelError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"wise_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise PanelError(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Not entered into sys.modules: two panels may have files of one name.
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's code raises is the user's to read
        raise PanelError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = written
    function = getattr(module, parts["function"], None)
    if not callable(function):
        raise PanelError(f"{path}: has no function {parts['function']!r}")
    found: Callable[[str, Any], Any] = function
    return found


def _checked(
    name: str, function: Callable[[str, Any], Any], directions: tuple[str, ...] | None
) -> Callable[[str, Any], Verdict]:
    """``function`` with its answer made a verdict, or refused: a wrong answer is no model's failure."""

    def verify(text: str, target: Any) -> Verdict:
        try:
            said = function(text, target)
        except (Exception, SystemExit) as error:
            raise WiseError(f"verifier {name} failed: {type(error).__name__}: {error}") from error
        if isinstance(said, bool) and directions is None:
            return Verdict(compliant=said, direction=DIRECTIONS[0] if said else DIRECTIONS[1])
        if isinstance(said, Verdict) and directions is not None and said.direction in directions:
            return said
        expected = (
            "a bool"
            if directions is None
            else f"a Verdict with one of the directions {', '.join(directions)}"
        )
        raise WiseError(f"verifier {name} must return {expected}, not {said!r}")

    return verify


def _check_target(target: object) -> None:
    is_tuple = isinstance(target, tuple) and target and all(isinstance(part, int | str) for part in target)
    if isinstance(target, bool) or not (isinstance(target, int | str) or is_tuple) or target == "":
        raise PanelError(f"a target is a whole number, a text, or a list of these, not {target!r}")

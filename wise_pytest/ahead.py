"""Which cells may be asked before their tests run: those that this process is certain to come to.

Certain is what pytest has put before this process, and what asks. So nothing is
asked ahead for a test function that has not asked for a cell of its own yet, unless
asking is what it plainly begins with, nor for a cell that is marked to be skipped;
under xdist only cells in this worker's own queue count, which nobody takes back
(``--dist worksteal`` does: there it is the next test alone). Where the first failure
may end the session, the look-ahead is short, and waits for a first good reply.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from wise_pytest.options import FIXTURE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    import pytest

    from wise_pytest.records import Cell, CellKey

SKIPPING = frozenset({"skip", "skipif"})
OWN_FIXTURES = frozenset(
    {
        *(FIXTURE, "request", "vcr", "vcr_markers", "vcr_config", "vcr_cassette_dir", "record_mode"),
        *("block_network", "default_cassette_name", "disable_recording"),
    }
)
"""Of us, of pytest-recording and of pytest: none of them ends a test before it has asked."""
OWN_MODULES = ("wise_pytest.", "pytest_recording.", "_pytest.")
"""Where those fixtures are defined, unless a project has one of that name itself."""
Function: TypeAlias = "Hashable"
"""A test function within its module or class."""


class Ahead:
    """Feeds the client with the cells to come.

    Parameters
    ----------
    expect
        Takes cells to ask ahead, in their order.
    cell_of
        The cell of a test; ``None`` where it has none.
    width
        How many cells to look ahead where the session may end at any test; ``None`` elsewhere.
    has_replied
        Whether any good reply has arrived; only then is looked ahead where ``width`` is set.
    """

    def __init__(
        self,
        expect: Callable[[list[Cell]], None],
        cell_of: Callable[[pytest.Item], Cell | None],
        *,
        width: int | None,
        has_replied: Callable[[], bool],
    ) -> None:
        self._expect = expect
        self._cell_of = cell_of
        self._width = width
        self._has_replied = has_replied
        self._seen: set[Function] = set()
        """Functions of which a test has begun."""
        self._asking: dict[Function, None] = {}
        """Functions that have asked, in the order in which they have."""
        self._waiting: dict[Function, deque[Cell]] = {}
        """Cells of tests that are certain to come, by their function, not handed on yet."""
        self._handed_on: set[CellKey] = set()
        """Those whose tests have not asked yet; kept where ``width`` is set only."""

    def add(self, items: Iterable[pytest.Item]) -> None:
        """Learn of tests that are certain to come, after all earlier ones."""
        changed = set()
        for item in items:
            cell = self._cell_of(item)
            if cell is not None and not any(mark.name in SKIPPING for mark in item.iter_markers()):
                function = function_of(item)
                self._waiting.setdefault(function, deque()).append(cell)
                changed.add(function)
        if changed & self._asking.keys():
            self._hand_on()

    def begins(self, item: pytest.Item, cell: Cell) -> None:
        """Learn that a test is about to run; where it plainly will ask, it counts as having asked."""
        function = function_of(item)
        if function in self._seen:
            return
        self._seen.add(function)
        if self._width is None and asks_at_once(item):
            self._asking[function] = None
            self._expect([cell])
            self._hand_on()

    def asked(self, item: pytest.Item, cell: Cell) -> None:
        """Learn that a test asks for its cell; more of its kind will."""
        function = function_of(item)
        is_new = function not in self._asking
        self._asking[function] = None
        waiting = self._waiting.get(function)
        if cell.key in self._handed_on:
            self._handed_on.remove(cell.key)
        elif waiting and any(other.key == cell.key for other in waiting):
            while waiting.popleft().key != cell.key:
                pass  # its test has run, and has not asked
        if is_new or self._width is not None:
            self._hand_on()

    def _hand_on(self) -> None:
        cells = list(self._due())
        if cells:
            self._expect(cells)

    def _due(self) -> Iterator[Cell]:
        for function in self._asking:
            waiting = self._waiting.get(function)
            while waiting:
                if self._width is not None:
                    if not self._has_replied() or len(self._handed_on) >= self._width:
                        return
                    self._handed_on.add(waiting[0].key)
                yield waiting.popleft()


class WorkerQueue:
    """What an xdist worker has in its queue, as far as nobody takes it back.

    xdist has no hook that tells; where it keeps its queue has changed and may
    change again. Where it is not found, nothing is asked ahead.

    Parameters
    ----------
    config
        The worker's.
    steals
        Whether the queue may be taken from; then it does not count.
    """

    def __init__(self, config: pytest.Config, *, steals: bool) -> None:
        self._interactor: Any = None
        if not steals:
            found = (p for p in config.pluginmanager.get_plugins() if hasattr(p, "torun"))
            self._interactor = next(found, None)
        self._seen: set[int] = set()
        self._newest: Any = None

    def news(self) -> list[int]:
        """Indices of tests that have come to this worker since the last call, in their order."""
        queue = getattr(self._interactor, "torun", None)
        if queue is None:
            return []
        # The next test has left the queue already.
        upcoming = (getattr(self._interactor, "nextitem_index", None), *self._content(queue))
        fresh = [index for index in upcoming if isinstance(index, int) and index not in self._seen]
        self._seen.update(fresh)
        return fresh

    def _content(self, queue: Any) -> Sequence[Any]:
        if hasattr(queue, "lock"):
            with queue.lock() as items:
                return self._changed(items)
        if hasattr(queue, "mutex") and hasattr(queue, "queue"):
            with queue.mutex:
                return self._changed(queue.queue)
        return ()

    def _changed(self, items: deque[Any]) -> Sequence[Any]:
        """A copy, unless nothing was put at the end: most calls find nothing new."""
        newest = items[-1] if items else None
        if newest is None or newest is self._newest:
            return ()
        self._newest = newest
        return tuple(items)


def asks_at_once(item: pytest.Item) -> bool:
    """Whether nothing can keep a test from asking but itself, and the first thing it does is to ask.

    That is so of the test that the README shows: no fixtures but ours and pytest-recording's,
    and ``wise.score(wise.ask())``, or ``… = wise.ask()``, for a beginning.
    """
    if not _has_own_fixtures_only(item):
        return False
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(item.function))).body  # type: ignore[attr-defined]
    except (OSError, TypeError, ValueError, SyntaxError, AttributeError):
        return False
    if not isinstance(definition, ast.FunctionDef):
        return False
    first = next((part for part in definition.body if not _is_docstring(part)), None)
    if not isinstance(first, ast.Expr | ast.Assign | ast.AnnAssign):
        return False
    value = first.value
    if isinstance(first, ast.Expr) and _is_call(value, "score") and len(value.args) == 1:
        value = value.args[0]
    return _is_call(value, "ask")


def _has_own_fixtures_only(item: pytest.Item) -> bool:
    if not OWN_FIXTURES.issuperset(getattr(item, "fixturenames", ("?",))):
        return False
    # pytest has no public way to ask which definition of a fixture a test gets.
    info = getattr(item, "_fixtureinfo", None)
    definitions = getattr(info, "name2fixturedefs", None)
    if not isinstance(definitions, dict):
        return False
    functions = [getattr(found[-1], "func", None) for found in definitions.values() if found]
    return all(str(getattr(function, "__module__", "")).startswith(OWN_MODULES) for function in functions)


def _is_docstring(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _is_call(value: ast.expr | None, method: str) -> TypeGuard[ast.Call]:
    """Whether it is a call of that method of the fixture."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == method
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id == FIXTURE
    )


def function_of(item: pytest.Item) -> Function:
    """What the tests of one function have in common."""
    return (item.parent, getattr(item, "originalname", item.name))

"""Which cells may be asked before their tests: decided here, without a session."""

from __future__ import annotations

import queue
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from wise_pytest.ahead import Ahead, WorkerQueue, asks_at_once


@dataclass(frozen=True)
class Cell:
    key: str


@dataclass(frozen=True)
class Mark:
    name: str


@dataclass(eq=False)
class Item:
    """As much of a test as is looked at."""

    name: str
    originalname: str = "test_a"
    parent: str = "module"
    marks: list[Mark] = field(default_factory=list)

    def iter_markers(self) -> list[Mark]:
        return self.marks


class Fed:
    def __init__(self, *, width: int | None = None, replied: bool = True) -> None:
        self.cells: list[str] = []
        self.replied = replied
        self.ahead = Ahead(
            lambda cells: self.cells.extend(cell.key for cell in cells),
            lambda item: None if item.name == "no cell" else Cell(item.name),
            width=width,
            has_replied=lambda: self.replied,
        )

    def asked(self, item: Item) -> list[str]:
        self.cells.clear()
        self.ahead.asked(item, Cell(item.name))
        return list(self.cells)


def items(names: str, function: str = "test_a") -> list[Item]:
    return [Item(name, function) for name in names]


def test_all_that_follow_are_fed_once_the_first_has_asked():
    fed = Fed()
    first, *rest = items("abcd")
    fed.ahead.add(rest)
    assert fed.cells == []
    assert fed.asked(first) == ["b", "c", "d"]
    assert fed.asked(rest[0]) == []


def test_a_function_that_has_not_asked_is_not_fed():
    fed = Fed()
    one, other = items("abc"), items("xyz", "test_x")
    fed.ahead.add([*one[1:], *other])
    assert fed.asked(one[0]) == ["b", "c"]
    # The first of the other function has run and not asked; the second asks.
    assert fed.asked(other[1]) == ["z"]


def test_the_same_name_in_two_classes_is_two_functions():
    fed = Fed()
    one = [Item(name, parent="one") for name in "ab"]
    other = [Item(name, parent="other") for name in "xy"]
    fed.ahead.add([one[1], *other])
    assert fed.asked(one[0]) == ["b"]


def test_what_comes_later_is_fed_if_its_function_has_asked():
    fed = Fed()
    assert fed.asked(Item("a")) == []
    fed.ahead.add([*items("bc"), *items("x", "test_x")])
    assert fed.cells == ["b", "c"]


@pytest.mark.parametrize("mark", ["skip", "skipif"])
def test_what_may_be_skipped_and_what_is_no_cell_is_not_fed(mark: str):
    fed = Fed()
    fed.ahead.add([Item("b", marks=[Mark(mark)]), Item("no cell"), Item("c", marks=[Mark("slow")])])
    assert fed.asked(Item("a")) == ["c"]


def test_where_a_failure_may_end_the_session_little_is_fed_and_nothing_before_a_good_reply():
    fed = Fed(width=2, replied=False)
    first, *rest = items("abcdef")
    fed.ahead.add(rest)
    assert fed.asked(first) == []
    assert fed.asked(rest[0]) == []
    fed.replied = True
    assert fed.asked(rest[1]) == ["d", "e"]
    assert fed.asked(rest[2]) == ["f"]
    assert fed.asked(rest[3]) == []


def test_functions_are_fed_in_the_order_in_which_they_have_asked():
    fed = Fed(width=100, replied=False)
    functions = [f"test_{n}" for n in range(12)]
    for function in functions:
        first, second = Item(f"{function} first", function), Item(f"{function} second", function)
        fed.ahead.add([second])
        assert fed.asked(first) == []
    fed.replied = True
    assert fed.asked(Item("last", functions[5])) == [f"{function} second" for function in functions]


# The queue of a worker


class NewQueue:
    """As xdist keeps it since 3.7."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()

    @contextmanager
    def lock(self) -> Any:
        yield self.items

    def put(self, item: Any) -> None:
        self.items.append(item)

    def get(self) -> Any:
        return self.items.popleft()


@dataclass
class Interactor:
    torun: Any
    nextitem_index: Any = None


class Config:
    def __init__(self, *plugins: object) -> None:
        self.pluginmanager = self
        self._plugins = plugins

    def get_plugins(self) -> tuple[object, ...]:
        return (object(), *self._plugins)


@pytest.mark.parametrize("make", [NewQueue, queue.Queue], ids=["since 3.7", "before"])
def test_tests_are_learnt_of_once_and_in_their_order(make: Any):
    interactor = Interactor(make())
    worker = WorkerQueue(Config(interactor), steals=False)
    for index in (3, 5, 7):
        interactor.torun.put(index)
    interactor.nextitem_index = interactor.torun.get()  # as xdist does, before the first test runs
    assert worker.news() == [3, 5, 7]
    assert worker.news() == []
    interactor.nextitem_index = interactor.torun.get()
    interactor.torun.put(8)
    assert worker.news() == [8]
    interactor.torun.put("shutdown")
    assert worker.news() == []
    for _ in range(2):
        interactor.nextitem_index = interactor.torun.get()
    assert worker.news() == []
    interactor.torun.put(9)
    interactor.torun.get()
    interactor.nextitem_index = interactor.torun.get()  # put and taken between two looks
    assert worker.news() == [9]


def test_a_queue_that_is_taken_from_does_not_count():
    interactor = Interactor(NewQueue())
    interactor.torun.put(1)
    assert WorkerQueue(Config(interactor), steals=True).news() == []


@pytest.mark.parametrize("plugins", [(), (Interactor(object()),), (Interactor(None),)])
def test_where_the_queue_is_not_found_nothing_is_certain(plugins: tuple[Any, ...]):
    assert WorkerQueue(Config(*plugins), steals=False).news() == []


def test_xdist_keeps_its_queue_where_it_is_looked_for():
    """With the xdist that is installed: its worker class has what ``WorkerQueue`` reads."""
    source = __import__("inspect").getsource(pytest.importorskip("xdist.remote").WorkerInteractor)
    assert "self.torun" in source
    assert "self.nextitem_index" in source
    assert threading.current_thread() is threading.main_thread()


# What a test plainly begins with


def _asks_first(wise):
    """It says what it is."""
    wise.score(wise.ask())
    raise AssertionError


def _keeps_the_answer(wise):
    answer = wise.ask()
    wise.score(answer)


def _looks_first(wise):
    if not wise.cell.item:
        pytest.skip("nothing to ask")
    wise.score(wise.ask())


def _asks_in_passing(wise):
    wise.score(pytest.importorskip("no_such_module") or wise.ask())


def _scores_something_else(wise):
    wise.score(wise.cell)


def _raises_first(wise):
    raise RuntimeError(wise.ask())


async def _waits(wise):
    wise.ask()


def _only_says_what_it_is(wise):
    """It asks for nothing."""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_asks_first, True),
        (_keeps_the_answer, True),
        (_looks_first, False),
        (_asks_in_passing, False),
        (_scores_something_else, False),
        (_raises_first, False),
        (_waits, False),
        (_only_says_what_it_is, False),
        (lambda wise: wise.ask(), False),
        (len, False),
        (None, False),
    ],
)
def test_a_test_that_begins_with_asking_is_known_by_its_source(function, expected):
    item = SimpleNamespace(function=function, **fixtures("request", "vcr", "wise"))
    assert asks_at_once(item) is expected


def fixtures(*names, vcr_of="pytest_recording.plugin"):
    """What pytest notes of a test's fixtures: their names, and the definitions it has found for them."""
    modules = {"vcr": vcr_of, "wise": "wise_pytest.collecting", "request": "_pytest.fixtures"}
    found = {
        name: [SimpleNamespace(func=SimpleNamespace(__module__=modules.get(name, "conftest")))]
        for name in names
    }
    return {"fixturenames": [*names], "_fixtureinfo": SimpleNamespace(name2fixturedefs=found)}


@pytest.mark.parametrize("names", [["wise", "vcr", "database"], ["wise", "autouse_of_theirs"]])
def test_a_fixture_of_somebody_else_may_end_a_test_before_it_asks(names):
    assert not asks_at_once(SimpleNamespace(function=_asks_first, **fixtures(*names)))


def test_so_may_one_of_theirs_that_has_the_name_of_ours():
    known = fixtures("wise", "vcr")
    assert asks_at_once(SimpleNamespace(function=_asks_first, **known))
    theirs = fixtures("wise", "vcr", vcr_of="conftest")
    assert not asks_at_once(SimpleNamespace(function=_asks_first, **theirs))
    del known["_fixtureinfo"]
    assert not asks_at_once(SimpleNamespace(function=_asks_first, **known))


def test_what_plainly_asks_is_asked_for_before_it_runs():
    fed = Fed()
    a, b, c = items("abc")
    for item in (a, b, c):
        vars(item).update(function=_asks_first, **fixtures("wise"))
    fed.ahead.add([b, c])
    fed.ahead.begins(a, Cell("a"))
    assert fed.cells == ["a", "b", "c"]
    fed.ahead.begins(b, Cell("b"))
    assert fed.asked(a) == []  # nothing is handed on twice


@pytest.mark.parametrize("width", [None, 2])
def test_what_may_not_ask_or_may_end_the_session_waits_until_it_asks(width):
    fed = Fed(width=width)
    a, b, c = items("abc")
    for item in (a, b, c):
        vars(item).update(function=_looks_first if width is None else _asks_first, **fixtures("wise"))
    fed.ahead.add([b, c])
    fed.ahead.begins(a, Cell("a"))
    assert fed.cells == []
    assert fed.asked(a) == ["b", "c"]

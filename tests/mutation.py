"""Makes small changes to a module's source, one at a time, for tests that must notice every one.

A mutant is the module with one operator, one bound or one text changed. Those that
change no behaviour at all are named by whoever runs them, each with its reason.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import signal
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPARISONS = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
SECONDS = 5


class TooSlow(BaseException):
    """A mutant that does not come to an end."""


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    module: str
    line: int
    change: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.change}"


def mutants_of(module: str) -> Iterator[Mutant]:
    """Every mutant of an imported module."""
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text("utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    hidden = set(_out_of_reach(tree))
    for number, node in enumerate(ast.walk(tree)):
        if node in hidden:
            continue
        for change, edit in _edits(node):
            changed = copy.deepcopy(tree)
            edit(next(other for place, other in enumerate(ast.walk(changed)) if place == number))
            within = f" in {ast.unparse(parents[node])}" if isinstance(node, ast.Constant) else ""
            said = f"{ast.unparse(node)}: {change}{within}"
            yield Mutant(module, getattr(node, "lineno", 0), said, ast.fix_missing_locations(changed))


def _out_of_reach(  # noqa: C901 - a list of kinds
    tree: ast.Module,
) -> Iterator[ast.AST]:
    """What is no behaviour: annotations, docstrings, the wording of errors, what is for type checkers."""
    for node in ast.walk(tree):
        hidden: list[ast.AST] = []
        if isinstance(node, ast.Raise) and node.exc is not None:
            hidden += [node.exc]
        if isinstance(node, ast.FunctionDef):
            hidden += [arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs) if arg.annotation]
            hidden += [node.returns] if node.returns else []
            if node.name == "describe":
                hidden += node.body
        if isinstance(node, ast.AnnAssign):
            hidden += [node.annotation]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            hidden += [node]
        if isinstance(node, ast.ClassDef):
            hidden += node.decorator_list
        if isinstance(node, ast.keyword) and node.arg == "strict":
            hidden += [node]  # of zip: the lists are of one length
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            hidden += [node.value]
        for inner in hidden:
            yield from ast.walk(inner)


def _edits(  # noqa: C901 - a list of kinds
    node: ast.AST,
) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """The changes that can be made to a node, each with what it is called."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield other.__name__, lambda n, p=place, o=other: n.ops.__setitem__(p, o())
    elif isinstance(node, ast.BoolOp):
        yield "and ↔ or", lambda n: setattr(n, "op", ast.Or() if isinstance(n.op, ast.And) else ast.And())
        for place in range(len(node.values)):
            yield f"without part {place + 1}", lambda n, p=place: n.values.pop(p)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield (
            "dropped",
            lambda n: (
                setattr(n, "op", ast.UAdd())
                if isinstance(n.op, ast.USub)
                else (setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand)))
            ),
        )
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ARITHMETIC[type(node.op)].__name__, lambda n: setattr(n, "op", ARITHMETIC[type(n.op)]())
    elif isinstance(node, ast.Constant):
        yield from _edits_of_constant(node)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "negated", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield CALLS[node.func.id], lambda n: setattr(n.func, "id", CALLS[n.func.id])
    elif isinstance(node, ast.comprehension):
        for place in range(len(node.ifs)):
            yield "without its condition", lambda n, p=place: n.ifs.pop(p)


def _edits_of_constant(node: ast.Constant) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    if isinstance(node.value, bool):
        yield str(not node.value), lambda n: setattr(n, "value", not n.value)
    elif isinstance(node.value, int):
        for step in (1, -1):
            yield str(node.value + step), lambda n, s=step: setattr(n, "value", n.value + s)
    elif isinstance(node.value, str):
        yield "another text", lambda n: setattr(n, "value", n.value + "X")


@contextlib.contextmanager
def in_place_of(module: str, tree: ast.Module) -> Iterator[None]:
    """Let a changed module be the one that others import."""
    real = sys.modules[module]
    parent, _, name = module.rpartition(".")
    changed = types.ModuleType(module)
    changed.__file__ = real.__file__
    sys.modules[module] = changed
    setattr(sys.modules[parent], name, changed)
    try:
        exec(compile(tree, str(real.__file__), "exec"), changed.__dict__)
        yield
    finally:
        sys.modules[module] = real
        setattr(sys.modules[parent], name, real)


def is_noticed(check: Callable[[], bool]) -> bool:
    """Whether a check fails, breaks, or does not end."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return not check()
    except (Exception, TooSlow):  # noqa: BLE001 - a mutant that breaks in any way is noticed
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

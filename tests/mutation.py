"""Makes small changes to a module's source, one at a time, for tests that must notice every one.

A mutant is the module with one operator, one bound, one call, one result or one text
changed. Those that change no behaviour at all are named by whoever runs them, each with
its reason. ``test_verifiers_mutants`` runs those of the verifiers, ``tests.mutants`` those
of the statistics and of the gate.
"""

from __future__ import annotations

import ast
import contextlib
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
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
SECONDS = 5


class TooSlow(BaseException):
    """A mutant that does not come to an end."""


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    module: str
    line: int
    where: str
    """The function or class that holds it; empty in the module itself."""
    change: str
    source: str
    number: int
    """Which node of the source is changed, in the order of ``ast.walk``."""
    edit: Callable[[ast.AST], None]

    @property
    def tree(self) -> ast.Module:
        """The changed module, made anew."""
        tree = ast.parse(self.source)
        self.edit(next(node for place, node in enumerate(ast.walk(tree)) if place == self.number))
        return ast.fix_missing_locations(tree)

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.where}: {self.change}"


def mutants_of(module: str, path: Path | None = None) -> Iterator[Mutant]:
    """Every mutant of a module, which must have been imported where its path is not given."""
    source = (path or Path(str(sys.modules[module].__file__))).read_text("utf-8")
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    hidden = set(_out_of_reach(tree))
    for number, node in enumerate(ast.walk(tree)):
        if node in hidden:
            continue
        line, where = _line_of(node, parents), _where(node, parents)
        for change, edit in _edits(node):
            within = f" in {ast.unparse(parents[node])}" if isinstance(node, ast.Constant) else ""
            yield Mutant(module, line, where, f"{_written(node)}: {change}{within}", source, number, edit)


def _written(node: ast.AST) -> str:
    """The node as source on one line; of a block, its head."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return ast.unparse(node).strip()


def _line_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> int:
    while not hasattr(node, "lineno") and node in parents:
        node = parents[node]
    return getattr(node, "lineno", 0)


def _where(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    names: list[str] = []
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.insert(0, node.name)
    return ".".join(names)


def _out_of_reach(  # noqa: C901 - a list of kinds
    tree: ast.Module,
) -> Iterator[ast.AST]:
    """What is no behaviour: annotations, docstrings, the wording of errors, what is for type checkers."""
    read_at_run_time = {
        ast.unparse(arg)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "get_args"
        for arg in node.args
    }
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
            is_type = ast.unparse(node.annotation) == "TypeAlias"
            if is_type and node.value and ast.unparse(node.target) not in read_at_run_time:
                hidden += [node.value]
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


def _edits(  # noqa: C901, PLR0912 - a list of kinds
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
            yield f"without part {place + 1}", lambda n, p=place: _drop_part(n, p)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield (
            "dropped",
            lambda n: (
                setattr(n, "op", ast.UAdd())
                if isinstance(n.op, ast.USub)
                else (setattr(n, "operand", ast.UnaryOp(n.op, n.operand)))
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
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
        yield CALLS[node.func.attr], lambda n: setattr(n.func, "attr", CALLS[n.func.attr])
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield "None", lambda n: setattr(n, "value", ast.Constant(None))
    elif isinstance(node, ast.Continue):
        yield "break", lambda n: setattr(n, "__class__", ast.Break)
    elif isinstance(node, ast.comprehension):
        for place in range(len(node.ifs)):
            yield "without its condition", lambda n, p=place: n.ifs.pop(p)


def _drop_part(node: ast.BoolOp, place: int) -> None:
    node.values.pop(place)
    if len(node.values) == 1:
        node.values *= 2  # one alone is no connective, and would not compile


def _edits_of_constant(node: ast.Constant) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    if isinstance(node.value, bool):
        yield str(not node.value), lambda n: setattr(n, "value", not n.value)
    elif isinstance(node.value, int):
        for step in (1, -1):
            yield str(node.value + step), lambda n, s=step: setattr(n, "value", n.value + s)
    elif isinstance(node.value, float):
        for other in (node.value + 1, node.value / 2):
            if other != node.value:
                yield str(other), lambda n, o=other: setattr(n, "value", o)
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


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None

"""Who may import whom, read from the source: the layers of the design, and what no module may do."""

import ast
import functools
import sys
from pathlib import Path

import pytest

PACKAGE = "wise_pytest"
ROOT = Path(__file__).parents[2] / PACKAGE

LAYERS = (
    ("errors",),
    ("records",),
    ("naming", "files", "quoting"),
    ("verifiers",),
    ("panels",),
    ("endpoints",),
    ("transport",),
    ("cassettes",),
    ("stats",),
    ("audit",),
    ("report",),
)
"""From the bottom: a module imports from the layers under its own and from its own folder.

Over them all is the plugin with its command: every module that is not named here, and these may import
one another.
"""
TOP_LAYER = {"options", "session", "xdist", "plugin", "cli"}
"""Those of the top that the design names; the others there are parts of these."""

RANKS = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
TOP = len(LAYERS)
THIRD_PARTY = {
    "pytest": {"the top"},
    "_pytest": {"the top"},
    "h11": {"transport"},
    "httpx": {"transport"},
    "janome": {"verifiers"},
    "jsonschema": {"verifiers"},
    "markdown_it": {"verifiers"},
    "vcr": {"cassettes"},
    "filelock": {"cassettes", "transport"},
    "xdist": {"the top"},
    "pandas": {"audit", "stats"},
    "numpy": {"stats", "audit", "the top"},
    "scipy": {"stats"},
    "orjson": {"audit"},
    "pyarrow": {"audit"},
    "statsmodels": {"stats"},
    "pingouin": {"stats"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "resvg_py": {"report"},
    "rjieba": {"verifiers"},
    "tabulate": {"report"},
    "uniseg": {"verifiers"},
}
"""Each dependency, and the layers that may use it when they run."""
STATISTICS_BY_LIBRARY = {
    "wise_pytest.stats.agreement": {"pandas", "pingouin", "statsmodels"},
}
"""Modules of statistics that use more than numpy and scipy; pingouin takes data frames only."""
FOR_TYPES = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
FORBIDDEN_IMPORTS = {"pickle", "marshal", "shelve", "dill", "joblib", "tests"}
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "breakpoint",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "importlib.import_module",
    "warnings.simplefilter",
}


@pytest.fixture(scope="module", autouse=True)
def _trees_go():
    """A tree is a hundred thousand objects, which every collection of later tests would go through."""
    yield
    parsed.cache_clear()


@functools.cache
def parsed(source):
    """The tree, for tests that only look at it."""
    return ast.parse(source)


def imports_of(source, module, *, is_package=False, runtime_only=True, nested=True):
    """The modules that ``source`` imports when it runs; ``from a import b`` gives ``a.b``.

    Imports within functions count where ``nested`` is set. Those under ``TYPE_CHECKING``
    never run, and count only where ``runtime_only`` is not set.
    """
    pending = [parsed(source)]
    found = []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module if is_package else module.rpartition(".")[0]
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            found += [f"{base}.{alias.name}" for alias in node.names]
        elif runtime_only and isinstance(node, ast.If) and ast.unparse(node.test) in FOR_TYPES:
            pending += node.orelse
            continue
        elif not nested and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        pending += ast.iter_child_nodes(node)
    return sorted(found)


def component(module):
    """The entry of the layers' table that a module belongs to; ``None`` for the package itself."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 and parts[1] != "__version__" else None


def rank(name):
    return RANKS.get(name, TOP)


def violations(module, imported):
    """What a module imports that its layer may not, in words."""
    own = component(module)
    if own is None:
        return [f"{module} imports {name}" for name in imported if name.startswith(PACKAGE)]
    wrong = []
    for name in imported:
        other = component(name)
        if other not in (None, own) and rank(own) < TOP and rank(other) >= rank(own):
            wrong.append(f"{module} imports {name}")
    return wrong


def name_of(path):
    parts = [PACKAGE, *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@functools.cache
def runtime_imports(module, **how):
    path = SOURCES[module]
    return imports_of(path.read_text("utf-8"), module, is_package=path.name == "__init__.py", **how)


def first_parts(names):
    return {name.partition(".")[0] for name in names}


# The reader of imports itself


def test_every_kind_of_import_is_seen():
    source = """
import a.b, c as d
from e import f as g, h
from . import i
from .j import k
from .. import l
from ..m.n import o
def function():
    import p
    async def inner():
        from q import r
class Class:
    import s
try:
    import t
except ImportError:
    import u
if TYPE_CHECKING:
    import hidden
else:
    import v
if typing.TYPE_CHECKING:
    from hidden import x
"""
    expected = [
        "a.b",
        "c",
        "e.f",
        "e.h",
        "x.y.i",
        "x.y.j.k",
        "x.l",
        "x.m.n.o",
        "p",
        "q.r",
        "s",
        "t",
        "u",
        "v",
    ]
    assert imports_of(source, "x.y.z") == sorted(expected)
    assert imports_of("from . import i", "x.y", is_package=True) == ["x.y.i"]
    assert imports_of(source, "x.y.z", nested=False) == sorted(set(expected) - {"p", "q.r"})
    assert "hidden" in imports_of(source, "x.y.z", runtime_only=False)


@pytest.mark.parametrize(
    ("module", "imported", "wrong"),
    [
        ("wise_pytest.panels.cells", "wise_pytest.records.Cell", False),
        ("wise_pytest.panels.cells", "wise_pytest.panels.model.Panel", False),
        ("wise_pytest.panels.cells", "wise_pytest.panels", False),
        ("wise_pytest.records", "wise_pytest.panels.cells", True),
        ("wise_pytest.records", "wise_pytest.panels", True),
        ("wise_pytest.naming", "wise_pytest.files.write_whole", True),
        ("wise_pytest.report.text", "wise_pytest.session", True),
        ("wise_pytest.report.text", "wise_pytest.nowhere", True),
        ("wise_pytest.session", "wise_pytest.finish.finish_run", False),
        ("wise_pytest.errors", "wise_pytest.__version__", False),
        ("wise_pytest.errors", "json", False),
        ("wise_pytest", "wise_pytest.errors", True),
    ],
)
def test_an_import_from_above_is_seen(module, imported, wrong):
    assert bool(violations(module, [imported])) is wrong


# The package


def test_every_layer_of_the_design_is_there():
    assert RANKS.keys() | TOP_LAYER <= {component(module) for module in SOURCES}
    assert not RANKS.keys() & TOP_LAYER
    assert len(SOURCES) > 50


def test_a_module_imports_only_from_the_layers_under_it():
    assert [wrong for module in SOURCES for wrong in violations(module, runtime_imports(module))] == []


def test_no_two_modules_import_each_other_while_they_load():
    graph = {}
    for module in SOURCES:
        names = runtime_imports(module, nested=False)
        graph[module] = {
            name if name in SOURCES else name.rpartition(".")[0] for name in names if name.startswith(PACKAGE)
        }
    # Take away whatever imports nothing that is left; a circle is never taken away.
    while loadable := {module for module, names in graph.items() if not (names - {module}) & graph.keys()}:
        graph = {module: names for module, names in graph.items() if module not in loadable}
    assert graph == {}


def test_a_dependency_is_used_only_where_it_belongs():
    for module in SOURCES:
        foreign = first_parts(runtime_imports(module)) - sys.stdlib_module_names - {PACKAGE}
        assert foreign <= THIRD_PARTY.keys(), module
        place = component(module) if component(module) in RANKS else "the top"
        assert [name for name in foreign if place not in THIRD_PARTY[name]] == [], module


@pytest.mark.parametrize(
    ("dependency", "only"),
    [
        ("h11", "wise_pytest.transport.direct"),
        ("httpx", "wise_pytest.transport.proxied"),
        ("resvg_py", "wise_pytest.report.figures.png"),
        ("jinja2", "wise_pytest.report.html.page"),
        ("_pytest", "wise_pytest.junit"),
    ],
)
def test_some_dependencies_are_imported_by_one_module(dependency, only):
    users = [module for module in SOURCES if dependency in first_parts(runtime_imports(module))]
    assert users == [only]


@pytest.mark.parametrize(
    ("who", "whom"),
    [
        ("endpoints", "panels"),
        ("transport", "panels"),
        ("endpoints", "transport"),
        ("stats", "audit"),
        ("report", "audit"),
        ("report", "stats"),
        ("verifiers", "panels"),
    ],
)
def test_who_must_never_know_whom(who, whom):
    for module in SOURCES:
        if component(module) == who:
            assert [name for name in runtime_imports(module) if component(name) == whom] == []


def test_statistics_know_neither_pytest_nor_data_frames_even_as_types():
    for module in SOURCES:
        if component(module) == "stats":
            names = first_parts(runtime_imports(module, runtime_only=False))
            more = STATISTICS_BY_LIBRARY.get(module, set())
            assert names <= sys.stdlib_module_names | {PACKAGE, "numpy", "scipy"} | more


def test_a_module_does_nothing_that_is_not_for_it_to_do():
    for module, path in SOURCES.items():
        assert not first_parts(runtime_imports(module, runtime_only=False)) & FORBIDDEN_IMPORTS, module
        tree = parsed(path.read_text("utf-8"))
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert called & FORBIDDEN_CALLS == set(), module
        assert FORBIDDEN_CALLS.isdisjoint(runtime_imports(module)), module
        assert ("print" in called) <= (module == f"{PACKAGE}.commands.console"), module
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)], module
        words = [word for word in ast.walk(tree) if isinstance(word, ast.keyword)]
        assert ("shell", "True") not in {(word.arg, ast.unparse(word.value)) for word in words}, module

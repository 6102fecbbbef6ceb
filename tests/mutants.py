"""Tells whether the tests notice every small change of the statistics and of the gate.

Run it from the root of the repository; it needs ``pip install -e '.[dev]'`` and a system that can fork:

    python -m tests.mutants                       # every module: some 15 minutes on one core
    python -m tests.mutants stats.rates audit.gate
    python -m tests.mutants --sample 40           # as many, evenly spread

Each mutant of ``tests.mutation`` takes the place of the real module in a process of its
own, and pytest runs the tests of ``MODULES`` there, the quickest first, until one fails.
A mutant that breaks, or takes ten times as long as the real module, is noticed, too.
The last lines say, for each module, how many mutants there are, how many were noticed and
which were not. Changes that alter no behaviour are listed in ``mutants.toml``, each with
its reason; any other that nothing notices makes the exit code 1.

The tests marked slow are left out, and so is what only repeats an audit as a whole.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import json
import os
import signal
import statistics
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.mutation import Mutant, in_place_of, mutants_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT = Path(__file__).parent.parent
LISTED = Path(__file__).with_name("mutants.toml")
_GATE = ("unit/test_gate_evaluation.py", "unit/test_gate_rules.py", "unit/test_comparison.py")
MODULES: Mapping[str, tuple[str, ...]] = {
    "audit.gate": _GATE,
    "audit.judging": _GATE,
    "audit.rules": ("unit/test_gate_rules.py", "unit/test_gate_evaluation.py"),
    "audit.hints": ("unit/test_gate_rules.py", "unit/test_gate_evaluation.py"),
    "stats.rates": ("stats/test_stats_rates.py",),
    "stats.contrasts": ("stats/test_contrasts.py",),
    "stats.bootstrap": (
        "stats/test_bootstrap.py",
        "stats/test_summary_bootstrap.py",
        "stats/test_bootstrap_audit.py",
    ),
    "stats.summary": ("stats/test_stats_summary.py",),
    "stats.multiplicity": ("stats/test_multiplicity.py",),
    "stats.ranking": ("stats/test_stats_ranking.py", "stats/test_ranking_bootstrap.py"),
    "stats.paired": ("stats/test_paired.py",),
    "stats.floor": ("stats/test_stats_floor.py",),
    "stats.simultaneous": ("stats/test_simultaneous.py",),
    "stats.ranking_bootstrap": ("stats/test_ranking_bootstrap.py",),
    "stats.summary_bootstrap": ("stats/test_summary_bootstrap.py",),
    "stats.distribution": ("stats/test_distribution.py",),
    "stats.power": ("stats/test_power.py",),
    "stats.agreement": ("stats/test_agreement.py",),
    "stats.factorial": ("stats/test_factorial.py",),
}
"""Each module, and the files under ``tests`` that judge it, its own first."""
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "--assert=plain")
PRELOADED = (
    "pandas",
    "scipy.stats",
    "hypothesis.strategies",
    "pingouin",
    "statsmodels.regression.linear_model",
    "statsmodels.stats.inter_rater",
    "statsmodels.stats.multitest",
)
"""What tests import and no mutant changes: once here, and not once a mutant."""
MAX_BYTES = 8 << 30
"""A mutant may ask for any amount of memory."""
PASSED, NOTICED = 0, {1, 2, 3}
"""What pytest ends with; anything else is a fault of this script."""


@dataclass(frozen=True)
class Listed:
    """Changes of a module that alter no behaviour."""

    module: str
    reason: str
    changes: frozenset[str]


@dataclass
class Report:
    """What became of the mutants of one module."""

    module: str
    n: int = 0
    survivors: list[Mutant] = field(default_factory=list)

    @property
    def unnoticed(self) -> list[Mutant]:
        reasons = reasons_of(self.module)
        return [mutant for mutant in self.survivors if key_of(mutant) not in reasons]

    def __str__(self) -> str:
        n_noticed, n_open = self.n - len(self.survivors), len(self.unnoticed)
        return (
            f"{self.module:24} {self.n:4} mutants, {n_noticed:4} noticed "
            f"({100 * n_noticed / max(self.n, 1):5.1f} %), {len(self.survivors) - n_open:3} change nothing, "
            f"{n_open:3} unnoticed"
        )


class Order:
    """A plugin that runs quick tests first, of them what noticed the last mutants; and what came of it."""

    def __init__(self, took: Mapping[str, float], noticed_by: Sequence[str] = ()) -> None:
        self.expected = took
        self.quick_s = 2 * statistics.median(took.values()) if took else 0.0
        self.place = {name: place for place, name in enumerate(noticed_by, 1)}
        self.took: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        def rank(item: pytest.Item) -> tuple[bool, int, float]:
            seconds = self.expected.get(item.nodeid, 0.0)
            is_quick = seconds <= self.quick_s
            return not is_quick, -self.place.get(item.nodeid, 0) if is_quick else 0, seconds

        items.sort(key=rank)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def key_of(mutant: Mutant) -> str:
    """How a change is listed: where it is, what it is."""
    return f"{mutant.where}: {mutant.change}"


def mutants_in(module: str) -> list[Mutant]:
    name = f"wise_pytest.{module}"
    return sorted(mutants_of(name, _path_of(name)), key=lambda mutant: mutant.line)


def listed_changes() -> Iterator[Listed]:
    for part in tomllib.loads(LISTED.read_text("utf-8"))["same"]:
        yield Listed(part["module"], part["reason"], frozenset(part["changes"]))


def reasons_of(module: str) -> dict[str, str]:
    return {
        change: part.reason for part in listed_changes() if part.module == module for change in part.changes
    }


def prepare() -> None:
    """Load what all mutants share, and take chance out of the tests that draw examples."""
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    for name in PRELOADED:
        importlib.import_module(name)
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")


def preload(module: str) -> None:
    """Load what the tests of a module load and no change of it can reach: here once, not once a mutant."""
    for file in MODULES[module]:
        importlib.import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")
    imports = {
        name: set(_imported(Path(str(loaded.__file__)).read_text("utf-8")))
        for name, loaded in sys.modules.items()
        if name.startswith("wise_pytest.") and loaded.__file__
    }
    stale: set[str] = set()
    found = {f"wise_pytest.{module}"}
    while found:
        stale |= found
        found = {name for name, needed in imports.items() if needed & stale} - stale
    for name in [*sys.modules]:
        is_test = name.startswith("tests.") and name not in {__name__, "tests.mutation"}
        if is_test or (name in stale and name != f"wise_pytest.{module}"):
            parent, _, own = name.rpartition(".")
            del sys.modules[name]
            if hasattr(sys.modules.get(parent), own):
                delattr(sys.modules[parent], own)
    gc.freeze()  # or every child would copy the memory that its collector looks through


def _imported(source: str) -> Iterator[str]:
    """What a module imports, at once or later, by full name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


class Judge:
    """Runs tests in processes of their own."""

    def __init__(self, *, limit_s: float = 60.0) -> None:
        self.limit_s = limit_s
        self.total: dict[str, float] = {}
        """By file of tests."""
        self.took: dict[str, Mapping[str, float]] = {}
        """By file, how long each of its tests takes without any change."""
        self.noticed_by: dict[str, None] = {}
        """Files and tests that have noticed a mutant, in the order of the last that they have noticed."""

    def learn(self, module: str) -> None:
        """Get ready for a module, and time its tests, once a file; all must pass with a copy in its place.

        Raises:
            SystemExit: If one does not.
        """
        preload(module)
        name = f"wise_pytest.{module}"
        for file in MODULES[module]:
            if file in self.took:
                continue
            started = time.monotonic()
            status, told = self._judged(name, _tree_of(name), file, limit_s=600)
            if status != PASSED or told is None:
                raise SystemExit(f"{file} fails without any change: pytest ended with {status}, {told}")
            self.total[file] = time.monotonic() - started
            self.took[file] = told["took"]

    def is_noticed(self, mutant: Mutant) -> bool:
        """Whether a test fails; the file that noticed the last mutant is tried first."""
        last = [*self.noticed_by]
        files = sorted(
            MODULES[_short(mutant.module)],
            key=lambda file: -last.index(file) if file in self.noticed_by else 1,
        )
        return any(self._fails(file, mutant) for file in files)

    def _fails(self, file: str, mutant: Mutant) -> bool:
        limit_s = max(10 * self.total.get(file, 0.0), self.limit_s)
        status, told = self._judged(mutant.module, mutant.tree, file, limit_s=limit_s)
        if status not in {PASSED, *NOTICED}:
            raise SystemExit(f"{mutant}: pytest ended with {status} for {file}")
        if status != PASSED:
            for name in (*(told["failed"] if told else ()), file):
                self.noticed_by.pop(name, None)
                self.noticed_by[name] = None
        return status != PASSED

    def _judged(
        self, name: str, tree: ast.Module, file: str, *, limit_s: float
    ) -> tuple[int, dict[str, Any] | None]:
        """What pytest ends with where a changed module is the one that others import; what it tells."""
        order = Order(self.took.get(file, {}), [*self.noticed_by])
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as told:

            def run() -> int:
                with in_place_of(name, tree):
                    status = int(pytest.main([*OPTIONS, f"tests/{file}"], plugins=[order]))
                json.dump({"took": order.took, "failed": order.failed}, told)
                told.flush()
                return status

            status = _in_child(run, limit_s=limit_s)
            told.seek(0)
            text = told.read()
        return status, json.loads(text) if text else None


def _short(module: str) -> str:
    return module.removeprefix("wise_pytest.")


def _path_of(name: str) -> Path:
    return ROOT / Path(*name.split(".")).with_suffix(".py")


def _tree_of(name: str) -> ast.Module:
    return ast.parse(_path_of(name).read_text("utf-8"))


def _in_child(work: Callable[[], int], *, limit_s: float) -> int:
    """The status of ``work`` in a forked process; 1 where it breaks or does not end in time."""
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            import resource

            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
            status = work()
        os._exit(status)
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def sampled(mutants: Sequence[Mutant], n: int) -> list[Mutant]:
    """As many of those that alter behaviour, evenly spread over the source."""
    listed = {(part.module, change) for part in listed_changes() for change in part.changes}
    mutants = [mutant for mutant in mutants if (_short(mutant.module), key_of(mutant)) not in listed]
    return [mutants[place * len(mutants) // n] for place in range(min(n, len(mutants)))]


def examine(module: str, mutants: Sequence[Mutant], judge: Judge) -> Report:
    """Try mutants of one module, and say at once which nothing notices."""
    report = Report(module, len(mutants))
    reasons = reasons_of(module)
    for mutant in mutants:
        if not judge.is_noticed(mutant):
            report.survivors.append(mutant)
            said = "changes nothing" if key_of(mutant) in reasons else "UNNOTICED"
            print(f"{said}: {_short(str(mutant))}", flush=True)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)}; default: all")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, evenly spread over all")
    chosen = parser.parse_args(arguments)
    modules = chosen.modules or [*MODULES]
    if unknown := [name for name in modules if name not in MODULES]:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(MODULES)}")
    mutants = [mutant for module in modules for mutant in mutants_in(module)]
    if chosen.sample is not None:
        mutants = sampled(mutants, chosen.sample)
    prepare()
    judge = Judge()
    reports = []
    for module in modules:
        if own := [mutant for mutant in mutants if _short(mutant.module) == module]:
            judge.learn(module)
            reports.append(examine(module, own, judge))
            print(reports[-1], flush=True)
    print("", *reports, sep="\n")
    return int(any(report.unnoticed for report in reports))


if __name__ == "__main__":
    sys.exit(main())

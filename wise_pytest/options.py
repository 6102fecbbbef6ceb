"""The plugin's options and other names that users know: their declaration, and whether any was given.

``OPTIONS`` is the only place where an option is declared; each gives a
``--wise-x-y`` flag and an ini value ``wise_x_y``. Imported at pytest's start in
every project that has the plugin installed, so it imports next to nothing;
``settings`` reads and checks the values where there are any.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

MARKER = "wise"
FIXTURE = "wise"
NO_FIXTURE = f"a panel's test takes the fixture {FIXTURE!r} as an argument"
NO_MODEL = (
    "no model is chosen: pass --model NAME (--wise-model, where another plugin has that option), "
    "or set default_models in [tool.wise] of pyproject.toml"
)
ALIAS = "--model"
PATH_FLAGS = ("--wise-out", "--wise-cassettes", "--wise-baseline", "--wise-openings")
"""Options whose value is a folder or a file."""
DEFAULT_OUT = "reports"
DEFAULT_CASSETTES = "cassettes"
DEFAULT_SEED = 0
DEFAULT_REPLICATES = 2000
DEFAULT_CONCURRENCY = 32
"""Requests in flight to a remote provider."""


class Option(NamedTuple):
    """One option: ``--wise-NAME`` on the command line, ``wise_NAME`` in the ini file."""

    name: str
    """With hyphens, without the prefix."""
    kind: Literal["value", "list", "switch"]
    """One value, a list (repeatable, commas allowed), or on and off."""
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return f"--wise-{self.name}"

    @property
    def dest(self) -> str:
        """The name of the ini value and of the parsed attribute."""
        return f"wise_{self.name.replace('-', '_')}"


_RUN: tuple[Option, ...] = (
    Option(
        "model",
        "list",
        "NAME|GLOB|NAME=BASE_URL",
        f"model to test, repeatable; {ALIAS} is short for it (default: default_models in [tool.wise])",
    ),
    Option("panel", "list", "ID", "panel to run, repeatable (default: every panel that a test names)"),
    Option("form", "list", "ID", "form to run, repeatable (default: all of a panel)"),
    Option("items", "value", "N|ID,ID…", "the first N items, or these items (default: all)"),
    Option("repetitions", "value", "N", "generations per model, item and form (default: the panel's own)"),
    Option("out", "value", "DIR", f"folder for run folders (default: {DEFAULT_OUT}/)"),
    Option("cassettes", "value", "DIR", f"folder of recordings (default: {DEFAULT_CASSETTES}/)"),
    Option(
        "report",
        "list",
        "KIND[:PATH]",
        "report to write, repeatable: markdown, json, html, csv, svg, png or comment; PATH writes a copy "
        "there (default: all but png and comment)",
    ),
    Option("exclude", "list", "MODEL", "leave a model out of the primary results and the gate, repeatable"),
    Option("seed", "value", "N", f"seed of the bootstrap (default: {DEFAULT_SEED})"),
    Option(
        "replicates",
        "value",
        "N",
        f"bootstrap replicates; 0 leaves out intervals and p values (default: {DEFAULT_REPLICATES})",
    ),
    Option(
        "openings",
        "value",
        "FILE",
        "beginnings of outputs to count, one a line (default: those of the package, such as 'Here is')",
    ),
    Option(
        "sensitivity",
        "switch",
        "",
        "score the outputs under other counters as well, beside the strict score: does the wording effect "
        "survive?",
    ),
    Option(
        "concurrency",
        "value",
        "N",
        "requests in flight to one provider, all workers together "
        f"(default: {DEFAULT_CONCURRENCY}; local servers: 1)",
    ),
    Option("rpm", "list", "[PROVIDER=]N", "requests a minute to each provider, or to that one, repeatable"),
    Option(
        "max-cost", "value", "USD", "ask for no more than this may cost, in US dollars, and end the run there"
    ),
    Option(
        "plan", "switch", "", "print requests, tokens and price of what would run, and stop before any call"
    ),
    Option("strict", "switch", "", "fail the test of every non-compliant generation"),
    Option("note", "list", "KEY=VALUE", "something to keep with the recordings of this run, repeatable"),
    Option("shard", "value", "I/N", "run the I-th of N equal parts of the plan; wise audit merges them"),
    Option(
        "baseline",
        "value",
        "FILE",
        "compare with an earlier run: its folder, rows, audit.json, or what wise baseline save has written",
    ),
    Option("baseline-map", "list", "NEW=OLD", "compare model NEW with the baseline's model OLD, repeatable"),
    Option(
        "baseline-shared", "switch", "", "compare what the baseline and this run share, where they differ"
    ),
    Option(
        "gate",
        "value",
        "point|confident",
        "judge values as they are, or fail only where a whole interval is beyond its limit (default: point)",
    ),
)
_GATE: tuple[Option, ...] = (
    Option("max-gap", "value", "POINTS", "gate: largest gap of a model, in percentage points"),
    Option("min-worst", "value", "POINTS", "gate: smallest worst-form compliance of a model"),
    Option("min-mean", "value", "POINTS", "gate: smallest mean compliance of a model"),
    Option("max-reversal", "value", "POINTS", "gate: largest share of model pairs that change order"),
    Option(
        "min-tau", "value", "TAU", "gate: smallest Kendall tau-b of a form's ranking against the reference"
    ),
    Option("max-rank-shift", "value", "RANKS", "gate: largest shift of a model in average rank"),
    Option(
        "min-coverage",
        "value",
        "POINTS",
        "gate: smallest share of scored cells per model and panel (default: 95)",
    ),
    Option(
        "max-gap-increase",
        "value",
        "POINTS",
        "gate: largest increase of a model's gap over the baseline",
    ),
    Option(
        "max-form-drop", "value", "POINTS", "gate: largest drop of a form's compliance below the baseline"
    ),
)
OPTIONS = (*_RUN, *_GATE)
GATE_OPTIONS = tuple(option.name for option in _GATE)
"""Names of the options that set a limit of the gate; ``wise audit`` takes them too."""


def add_options(parser: pytest.Parser) -> None:
    """Declare every option and its ini twin."""
    group = parser.getgroup("wise", "wise: wording robustness of language models")
    for option in OPTIONS:
        if option.kind == "switch":
            group.addoption(
                option.flag, dest=option.dest, action="store_true", default=None, help=option.help
            )
            parser.addini(option.dest, option.help, type="bool", default=False)
        elif option.kind == "list":
            group.addoption(
                option.flag,
                dest=option.dest,
                action="append",
                default=None,
                metavar=option.metavar,
                help=option.help,
            )
            parser.addini(option.dest, option.help, type="args", default=[])
        else:
            group.addoption(
                option.flag, dest=option.dest, default=None, metavar=option.metavar, help=option.help
            )
            parser.addini(option.dest, option.help, default=None)


def claim_alias(parser: pytest.Parser, args: list[str]) -> None:
    """Read ``--model`` as ``--wise-model`` unless another plugin or conftest has declared it.

    Called when all plugins and initial conftests are loaded, and before the
    command line is parsed for good. An option declared earlier would collide
    with another plugin's; one that is only rewritten cannot.
    """
    if not any(arg == ALIAS or arg.startswith(f"{ALIAS}=") for arg in args):
        return
    unknown = parser.parse_known_and_unknown_args(args)[1]
    if not any(arg == ALIAS or arg.startswith(f"{ALIAS}=") for arg in unknown):
        return
    for position, arg in enumerate(args):
        if arg == "--":
            break
        if arg == ALIAS or arg.startswith(f"{ALIAS}="):
            args[position] = "--wise-model" + arg.removeprefix(ALIAS)


def joined_paths(args: Sequence[str]) -> list[str]:
    """The command line with the folders that our options name joined to them: ``--wise-out=DIR``.

    pytest looks for its root folder before it knows any plugin's options, and
    takes a folder that exists and stands alone for one of tests to run.
    """
    joined: list[str] = []
    for arg in args:
        if joined and joined[-1] in PATH_FLAGS and os.path.exists(arg):  # noqa: PTH110 - any text may stand here
            joined[-1] = f"{joined[-1]}={arg}"
        else:
            joined.append(arg)
    return joined


def option_value(config: pytest.Config, option: Option) -> Any:
    """The option's value as text, list of texts or switch: the command line's, else the ini file's."""
    given = config.getoption(option.dest, default=None)
    return config.getini(option.dest) if given is None else given


def is_asked(config: pytest.Config) -> bool:
    """Whether the user has given any option, or may have a ``[tool.wise]`` table."""
    if any(option_value(config, option) for option in OPTIONS):
        return True
    try:
        return b"wise" in (config.rootpath / "pyproject.toml").read_bytes()
    except OSError:
        return False

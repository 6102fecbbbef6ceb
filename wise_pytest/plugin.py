"""The entry point of the plugin: cheap to import, and nearly nothing in a session that uses no panel.

Options are declared here. Once one is given, or ``[tool.wise]`` has a say, the
hooks of ``running`` and ``collecting`` are registered, and everything else loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from wise_pytest.options import (
    FIXTURE,
    MARKER,
    NO_FIXTURE,
    NO_MODEL,
    add_options,
    claim_alias,
    is_asked,
    joined_paths,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from wise_pytest.asking import CellRun


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> Generator[None]:
    """Take the short name ``--model``, once it is known that nobody else has it."""
    yield
    claim_alias(parser, args)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | pytest.ExitCode | None:
    """Start over with a command line that leads pytest to the right root folder, see ``joined_paths``."""
    given = [str(arg) for arg in config.invocation_params.args]
    joined = joined_paths(given)
    return None if joined == given else pytest.main(joined, plugins=config.invocation_params.plugins)


def pytest_configure(config: pytest.Config) -> None:
    """Check everything that was asked for, before anything runs."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(panel): run the test for every cell of a WISE panel, through the fixture '{FIXTURE}'.",
    )
    if is_asked(config):
        from wise_pytest.running import configure

        configure(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a panel's test over model × item × form × repetition."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is not None:
        hooks = _running(metafunc.config)
        if hooks is not None:
            hooks.parametrize(metafunc, marker)
        elif FIXTURE not in metafunc.fixturenames:
            raise pytest.Collector.CollectError(NO_FIXTURE)


@pytest.fixture
def wise(request: pytest.FixtureRequest, vcr: Any) -> CellRun:
    """One cell of a panel: ``wise.ask()`` calls or replays, ``wise.score(answer)`` verifies."""
    hooks = _running(request.config)
    if hooks is None and request.node.get_closest_marker(MARKER) is not None:
        # An error of this test alone: one that could not be collected would keep all others from running.
        pytest.fail(NO_MODEL, pytrace=False)
    if hooks is None or getattr(request, "param", None) is None:
        raise pytest.UsageError(
            f"the fixture {FIXTURE!r} belongs to tests marked @pytest.mark.{MARKER}(panel)"
        )
    run: CellRun = hooks.cell_run(request.node, cassette=vcr)
    return run


def _running(config: pytest.Config) -> Any:
    """The hooks of a session for which a model is chosen, or ``None``."""
    hooks = config.pluginmanager.get_plugin("wise-running")
    return hooks if hooks is not None and hooks.has_models else None

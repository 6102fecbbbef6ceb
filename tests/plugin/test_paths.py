"""Paths of options: those of the ini file are seen from the root folder, others from where they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.plugin.harness import Recorded

if TYPE_CHECKING:
    from tests.plugin.harness import Project


@pytest.fixture
def called_below(project: Project, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose pytest is called in its folder ``below``."""
    project.write("below/here.txt", "")
    project.write("pytest.ini", f"[pytest]\nwise_model = {recorded.model[1]}\n")
    monkeypatch.chdir(project.path / "below")
    return project


def test_what_the_ini_file_names_is_seen_from_the_root_folder(called_below: Project):
    ini = called_below.path / "pytest.ini"
    called_below.write("openings.txt", "Well\n")
    called_below.write(
        "pytest.ini",
        ini.read_text("utf-8")
        + "wise_out = elsewhere\nwise_cassettes = cassettes\nwise_openings = openings.txt\n"
        + "wise_report = json:copies/audit.json\n",
    )
    run = called_below.run("..", *Recorded.GRID)
    assert run.status == 0, run.text
    assert (called_below.path / "elsewhere/latest/audit.json").exists()
    assert '"Well"' in (called_below.path / "copies/audit.json").read_text("ascii")


def test_what_the_command_line_names_is_seen_from_where_it_is_given(called_below: Project):
    called_below.write("below/openings.txt", "Well\n")
    options = (
        "--wise-out=elsewhere",
        "--wise-cassettes=../cassettes",
        "--wise-report=json:copies/audit.json",
    )
    run = called_below.run("..", *Recorded.GRID, *options, "--wise-openings=openings.txt")
    assert run.status == 0, run.text
    assert (called_below.path / "below/elsewhere/latest/audit.json").exists()
    assert '"Well"' in (called_below.path / "below/copies/audit.json").read_text("ascii")


@pytest.mark.parametrize("name", ["out", "cassettes", "openings", "baseline"])
def test_the_home_of_nobody_is_a_usage_error(project: Project, recorded: Recorded, name: str):
    run = project.run(*recorded.model, *Recorded.GRID, f"--wise-{name}=~nobody-of-that-name/x")
    assert run.status == 4
    assert f"--wise-{name} '~nobody-of-that-name/x': " in run.flat
    assert "write the path out" in run.flat

"""The commands of ``wise`` with their options, as their parsers declare them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def all_commands() -> str:
    """Every command, those within ``cassettes`` and ``baseline`` included."""
    return "\n\n".join(_described("wise", cli._parser()))


def _described(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if inner:
        helps = {choice.dest: choice.help or "" for action in inner for choice in action._choices_actions}
        for action in inner:
            for own, command in action.choices.items():
                yield from _described(f"{name} {own}", _with_help(command, helps.get(own, "")))
        return
    arguments = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    placed = [_placed(action) for action in arguments if not action.option_strings]
    usage = " ".join([name, *placed, *(["[options]"] if len(placed) < len(arguments) else [])])
    rows = [(code(_called(action)), _helped(action)) for action in arguments]
    text = f"### {name}\n\n{parser.description}\n\n`{usage}`"
    yield text + (f"\n\n{table(('Argument', 'What it does'), rows)}" if rows else "")


def _with_help(parser: argparse.ArgumentParser, said: str) -> argparse.ArgumentParser:
    """A command that describes itself, if only by the line in its group's list."""
    parser.description = parser.description or f"{said[:1].upper()}{said[1:]}."
    return parser


def _placed(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    return {"*": f"[{name} …]", "+": f"{name} …", "?": f"[{name}]"}.get(str(action.nargs), name)


def _called(action: argparse.Action) -> str:
    if not action.option_strings:
        return _placed(action)
    takes_none = action.nargs == 0
    choices = "|".join(map(str, action.choices)) if action.choices else ""
    value = "" if takes_none else f" {action.metavar or choices or action.dest.upper()}"
    return f"{', '.join(action.option_strings)}{value}"


def _helped(action: argparse.Action) -> str:
    said = (action.help or "").replace("%%", "%").replace("%(default)s", str(action.default))
    repeatable = isinstance(action, argparse._AppendAction) and "repeatable" not in said
    return f"{said}; repeatable" if repeatable else said


PARTS: Mapping[str, Callable[[], str]] = {"commands": all_commands}

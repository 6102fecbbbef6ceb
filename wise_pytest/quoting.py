"""Text that others wrote, fit for a log that a program reads as well.

CI services take commands from what a job prints: GitHub Actions from lines that
begin with ``::`` and from ``##[`` anywhere, Azure from ``##vso[``, TeamCity from
``##teamcity[``. What a model or a provider writes must not be one. Whoever prints
to the terminal calls ``defuse``.
"""

from __future__ import annotations

import re

_COMMAND = re.compile(r"##(?=[A-Za-z]*\[)")
_COMMAND_LINE = re.compile(r"(?m)^(\s*):(?=:)")


def defuse(text: str) -> str:
    """``text`` with a blank in whatever a CI service would take for a command; all else stays."""
    if "##" not in text and "::" not in text:
        return text
    return _COMMAND_LINE.sub(r"\1: ", _COMMAND.sub("# #", text))

"""The files of a new panel: a working start that its author then changes. Called by ``wise new-panel``.

The start is a small panel with everything that one can have: items of its own,
a verifier of its own, four wordings, and texts that test them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wise_pytest.errors import PanelError
from wise_pytest.panels.catalog import FOLDER, PANEL_IDS

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")

_PANEL = """\
schema = "wise.panel/1"
id = "NAME"
title = "Answer with a given ending"
question = "Does the model end its answer with the given words however this is asked for?"
reference = "POS"                # the form that the others are compared with
bootstrap = "item-cluster"       # what the intervals resample
items = "NAME.csv"               # leave this out to ask the 100 items of the package

[verifier]
id = "NAME/1"                    # count up when the function changes
function = "NAME.py:verify"
target_from = "ending"           # the column of NAME.csv that {ending} shows

[defaults]
repetitions = 3
max_tokens = 120
temperature = 0.2

[forms]
POS = 'End your answer with "{ending}"'
NEG = 'Do not end your answer with anything but "{ending}"'
AVOID = 'Avoid ending your answer with anything other than "{ending}"'
EXCLUDE = 'Use no ending except "{ending}"'

[self_test]                      # texts that you have judged, against the target of one item
item = "rain"
pass = ["Warm air rises and cools. That is all."]
fail = ["Warm air rises and cools.", "That is all. Warm air rises."]
"""
_ITEMS = """\
item_id,task,ending
rain,How does rain form in clouds?,That is all.
island,What is an island?,Now you know.
wind,What causes wind?,That is all.
paper,How is paper made?,Now you know.
"""
_VERIFIER = '''\
"""Whether an answer ends as it was told to."""


def verify(text, target):
    """Say whether the complete visible output complies; it must not raise, whatever the text."""
    return text.rstrip().endswith(target)
'''
_TEST = '''\
"""Does the model end its answer with the given words however this is asked for?"""

import pytest


@pytest.mark.wise("NAME")
def test_NAME(wise):
    wise.score(wise.ask())
'''


def starter_files(name: str) -> Mapping[str, str]:
    """The files of a new panel, by their path from the project's root.

    Raises
    ------
    PanelError
        If the name cannot be a panel's, or is that of a bundled one.
    """
    if not _NAME.fullmatch(name):
        raise PanelError(f"a panel's name begins with a letter and is made of a-z, 0-9 and '_', not {name!r}")
    if name in PANEL_IDS:
        raise PanelError(f"{name!r} is a bundled panel; choose another name")
    files = {
        f"{FOLDER}/{name}.toml": _PANEL,
        f"{FOLDER}/{name}.csv": _ITEMS,
        f"{FOLDER}/{name}.py": _VERIFIER,
        f"test_{name}.py": _TEST,
    }
    return {path: text.replace("NAME", name) for path, text in files.items()}

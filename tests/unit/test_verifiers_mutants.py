"""The judged texts notice every operator, bound, result and text that is changed in a verifier.

Each change is made to the source, the changed module takes the place of the real one,
and the texts are judged again: at least one verdict, or one refusal of a target, must
be another. Changes that alter no behaviour are listed with their reason.
"""

from __future__ import annotations

import ast
import signal
import sys
from pathlib import Path

import pytest

from tests.judged import CASES, COMPLIANT, REQUIREMENTS, UNUSABLE, USABLE
from tests.mutation import Mutant, in_place_of, is_noticed, mutants_of
from wise_pytest import verifiers
from wise_pytest.errors import PanelError
from wise_pytest.records import Verdict

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a mutant may never end")

MIN_MUTANTS = 10
PACKAGE = "wise_pytest.verifiers"
MODULES = {
    "word_count": ("word_count/1", "word_range/1", "words_and_keyword/1"),
    "word_range": ("word_range/1",),
    "keyword_once": ("keyword_once/1", "words_and_keyword/1"),
    "strict_json": ("json_keys/1", "tool_call/1"),
    "json_keys": ("json_keys/1",),
    "ordered_parts": ("ordered_parts/1",),
    "lower_case": ("lower_case/1",),
    "citation_once": ("citation_once/1",),
    "tool_call": ("tool_call/1",),
    "words_and_keyword": ("words_and_keyword/1",),
}
"""Each module of the verifiers, and the verifiers whose texts judge it."""
SAME = {
    "error < 0: LtE": "an error of 0 is exact, and was found to be so before",
    "0: 1 in error < 0": "the same: there is no whole number between",
    "' ': another text in f' {target} '": "after the blank that follows the keyword, anything may stand",
    "text.count('[') + text.count('{') <= MAX_DEPTH: Lt": "a short cut: the walk comes to the same",
    "'[{': another text in character in '[{'": "an X outside of a string is no JSON, however deep",
    "']}': another text in character in ']}'": "the same",
    "not isinstance(target, tuple) or not is_texts or len(target) < _MIN_PARTS: without part 1": (
        "is_texts says it as well, and a type checker cannot see that"
    ),
    "0: -1 in found[0]": "there is one place by then",
    "not needle or needle not in _fold(text): without part 2": "a short cut: the walk comes to the same",
    "not isinstance(target, str) or not target: without part 2": (
        "nothing is never found once, so it is refused below, in other words"
    ),
    "label and label == label.strip(): without part 1": (
        "nothing is a part of every other label, so it is refused below, in other words"
    ),
    "return False: None": "only asked whether it is true",
    "function is None or call['name'] != function['name']: without part 1": (
        "a checked target names a function, and a type checker cannot see that"
    ),
}
"""Changes that alter no behaviour, as they are written, and why."""


def agrees(name: str) -> bool:
    """Whether the modules as they are now judge every text and target of a verifier as a person has."""
    module = sys.modules[module_of(name)]
    if {direction for _, _, direction, *_ in CASES[name]} != set(module.DIRECTIONS):
        return False
    if getattr(module, "PARTS", None) != REQUIREMENTS.get(name):
        return False
    for target in USABLE[name]:
        module.check_target(target)
    for target in UNUSABLE[name]:
        try:
            module.check_target(target)
        except PanelError:
            continue
        return False
    return all(
        module.verify(text, target)
        == Verdict(
            compliant=direction == COMPLIANT[name], direction=direction, observed=observed, error=error
        )
        for text, target, direction, observed, error in CASES[name]
    )


def module_of(name: str) -> str:
    return f"{PACKAGE}.{name.partition('/')[0]}"


def survives(mutant: Mutant, names: tuple[str, ...]) -> bool:
    """Whether no text of these verifiers notices a changed module."""
    try:
        with in_place_of(mutant.module, mutant.tree):
            for name in names:
                if module_of(name) == mutant.module:
                    noticed = is_noticed(lambda name=name: agrees(name))
                else:  # it has taken names from the real module, and must take them from the changed one
                    with in_place_of(module_of(name), tree_of(module_of(name))):
                        noticed = is_noticed(lambda name=name: agrees(name))
                if noticed:
                    return False
    except Exception:  # noqa: BLE001 - a mutant may break in any way
        return False  # it cannot even be loaded
    return True


def tree_of(module: str) -> ast.Module:
    return ast.parse(Path(str(sys.modules[module].__file__)).read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_every_change_of_a_verifier_is_noticed(module):
    mutants = list(mutants_of(f"{PACKAGE}.{module}"))
    assert len(mutants) >= MIN_MUTANTS
    survivors = [mutant.change for mutant in mutants if survives(mutant, MODULES[module])]
    assert [change for change in survivors if change not in SAME] == []


def test_an_unchanged_module_is_not_noticed():
    for name in CASES:
        with in_place_of(module_of(name), tree_of(module_of(name))):
            assert not is_noticed(lambda name=name: agrees(name))


def test_no_verifier_is_left_out():
    found = {path.stem for path in Path(verifiers.__file__).parent.glob("*.py")}
    assert found == {"__init__", "registry", "alternatives", *MODULES}
    assert set(CASES) == {name for names in MODULES.values() for name in names}

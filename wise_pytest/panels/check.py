"""What a person should look at in a panel before recording it: its self-test and its wordings.

``wise check-panel`` calls ``check_panel``. That a panel loads says that every
form asks for the target; whether the forms ask for the same thing, no program can
decide. What is found here are signs that they do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wise_pytest.panels.model import Panel

_NUMBER_WORDS = {
    **dict.fromkeys(("one", "once", "single"), "1"),
    **dict.fromkeys(("two", "twice"), "2"),
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
}
_FIELD = re.compile(r"(?<!\{)\{\w+\}(?!\})")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_HEDGES = re.compile(
    r"\b(about|around|roughly|approximately|nearly|almost|ideally|preferably|if possible|try to|"
    r"ungefähr|etwa|circa|möglichst|aproximadamente|alrededor de|más o menos)\b",
    re.IGNORECASE,
)
_LOWER = re.compile(
    r"\b(at least|no fewer|no less|not fewer|not less|fewer|less|below|under|short of|falling short|minimum|"
    r"weniger|mindestens|menos|al menos)\b",
    re.IGNORECASE,
)
_UPPER = re.compile(
    r"\b(at most|no more|not more|more|above|over|up to|exceed\w*|maximum|mehr|höchstens|más|como máximo)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?}\]]['\"”’»)]*$")


@dataclass(frozen=True, slots=True)
class PanelCheck:
    """What was found."""

    self_test: tuple[str, ...]
    """Texts that the verifier judges otherwise than the panel says, in words; empty where all agree."""
    n_texts: int
    """Texts that the panel declares."""
    warnings: tuple[str, ...]


def check_panel(panel: Panel) -> PanelCheck:
    """Run a panel's self-test, and look for wordings that may ask for something else."""
    declared = panel.self_test
    n_texts = 0 if declared is None else len(declared.passing) + len(declared.failing)
    return PanelCheck(self_test=tuple(_self_test(panel)), n_texts=n_texts, warnings=tuple(_warnings(panel)))


def _self_test(panel: Panel) -> Iterator[str]:
    declared = panel.self_test
    if declared is None:
        return
    item = next(item for item in panel.items if item.item_id == declared.item)
    target = panel.target(item)
    for key, texts, wanted in (("pass", declared.passing, True), ("fail", declared.failing, False)):
        for text in texts:
            verdict = panel.scorer().verify(text, target)
            if verdict.compliant is not wanted:
                said = "complies" if verdict.compliant else "does not comply"
                yield f"{key}: {text!r} {said} ({verdict.direction}) with the target {target!r}"


def _warnings(panel: Panel) -> Iterator[str]:
    if panel.self_test is None:
        yield "there is no [self_test]: declare texts that pass and texts that fail"
    templates = {form.form_id: form.template for form in panel.forms}
    yield from _numbers(templates)
    yield from _alike(templates)
    for form_id, template in templates.items():
        for found in _HEDGES.finditer(template):
            yield f"form {form_id}: {found[0]!r} asks for less than the verifier demands"
        bounded = [bool(pattern.search(template)) for pattern in (_LOWER, _UPPER)]
        if bounded[0] != bounded[1]:
            side = "lower" if bounded[0] else "upper"
            yield f"form {form_id}: it names the {side} bound alone: {template!r}"
        instruction = panel.instruction(panel.items[0], next(f for f in panel.forms if f.form_id == form_id))
        if not _SENTENCE_END.search(instruction):
            yield f"form {form_id}: it does not end like a sentence: {instruction!r}"
        if panel.target_from is None and not panel.named_by and not _names_target(panel, template):
            yield f"form {form_id}: it does not name the target {panel.fixed_target!r}: {template!r}"


def _names_target(panel: Panel, template: str) -> bool:
    target = panel.fixed_target
    parts = target if isinstance(target, tuple) else (target,)
    return all(str(part) in template for part in parts) or bool(_FIELD.search(template))


def _numbers(templates: Mapping[str, str]) -> Iterator[str]:
    """Forms that name a number which others do not: it may be another requirement."""
    named = {form_id: _numbers_in(template) for form_id, template in templates.items()}
    shared = set.intersection(*map(set, named.values()))
    for form_id, numbers in named.items():
        for number in sorted(set(numbers) - shared):
            others = [other for other, found in named.items() if number not in found]
            yield f"form {form_id}: it names the number {number}, and {', '.join(others)} do not"


def _numbers_in(template: str) -> list[str]:
    words = (word.casefold() for word in _WORD.findall(_FIELD.sub(" ", template)))
    return [_NUMBER_WORDS.get(word, word) for word in words if word.isdigit() or word in _NUMBER_WORDS]


def _alike(templates: Mapping[str, str]) -> Iterator[str]:
    first_of: dict[str, str] = {}
    for form_id, template in templates.items():
        plain = " ".join(re.findall(r"\w+", template.casefold()))
        first = first_of.setdefault(plain, form_id)
        if first != form_id:
            yield f"form {form_id}: it differs from {first} in capital letters and punctuation only"

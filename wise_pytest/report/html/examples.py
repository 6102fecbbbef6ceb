"""Pairs of answers to one task of which one complies, with everything in them shown that does not show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from wise_pytest.report import objects
from wise_pytest.report.columns import number, words
from wise_pytest.report.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class PairView:
    """Two answers to the same task."""

    model: str
    form: str
    item: str
    repetition: str
    target: str
    reference_form: str
    reference_said: str
    reference_text: Markup
    contrast_said: str
    contrast_text: Markup


def pairs_of(panel: Mapping[str, Any]) -> Iterator[PairView]:
    """The pairs that the document has chosen; one without its texts is passed over."""
    for entry in objects.listed(objects.mapping(panel, "examples"), "pairs"):
        pair = objects.mapping(entry)
        reference, contrast = objects.mapping(pair, "reference"), objects.mapping(pair, "contrast")
        if not isinstance(reference.get("text"), str) or not isinstance(contrast.get("text"), str):
            continue
        yield PairView(
            model=words(pair.get("model")),
            form=words(pair.get("form")),
            item=words(pair.get("item")),
            repetition=words(pair.get("repetition")),
            target="" if pair.get("target") is None else words(pair["target"]),
            reference_form=words(reference.get("form")),
            reference_said=_observed(reference, None),
            reference_text=shown_text(reference["text"]),
            contrast_said=_observed(contrast, pair.get("direction")),
            contrast_text=shown_text(contrast["text"]),
        )


def examples_rule(panel: Mapping[str, Any]) -> str:
    """How the pairs were chosen, and out of how many."""
    examples = objects.mapping(panel, "examples")
    n_pairs = number(examples.get("n_pairs"))
    n_shown = len(objects.listed(examples, "pairs"))
    of = "" if n_pairs is None else f"{n_shown} of {n_pairs} "
    return f"{of}{words(examples.get('rule') or 'pairs')}."


def shown_text(text: str) -> Markup:
    """An output as HTML in which whatever does not show is marked; line breaks stay."""
    if not text:
        return Markup("<em>the output is empty</em>")
    core = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if core else len(text)
    parts: list[Markup] = []
    for position, mark in enumerate(text):
        at_edge = mark == " " and not before <= position < before + len(core)
        shown = "<U+0020>" if at_edge else visible(mark)
        if shown == mark:
            parts.append(Markup.escape(mark))
            continue
        parts.append(Markup('<span class="invisible">{}</span>').format(shown[1:-1]))
        if mark == "\n":
            parts.append(Markup("\n"))
    return Markup().join(parts)


def _observed(answer: Mapping[str, Any], direction: Any) -> str:
    observed = number(answer.get("observed"))
    parts = [] if observed is None else [f"observed {observed}"]
    if direction is not None:
        parts.append(words(direction).replace("_", " "))
    if answer.get("status") not in {None, "ok"}:
        parts.append(words(answer["status"]))
    return ", ".join(parts) or "complies"

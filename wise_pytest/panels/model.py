"""What a panel is: matched wordings of one requirement over a fixed set of items.

The loader builds these from the data files beside this module; the session
turns them into cells. Nothing here reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wise_pytest.records import Target


@dataclass(frozen=True, slots=True)
class Item:
    """One base task of the manifest, with what each panel needs of it."""

    item_id: str
    task: str
    """The content request; it never mentions length, keyword or format."""
    target_words: int
    keyword: str
    """A natural word for an answer that does not occur in the task."""
    json_keys: tuple[str, ...]
    """Two to four names that fit the task."""


@dataclass(frozen=True, slots=True)
class Form:
    """One wording of a panel's requirement."""

    form_id: str
    template: str


@dataclass(frozen=True, slots=True)
class Decoding:
    """How generations of a panel are asked for; fixed over its forms."""

    max_tokens: int
    """Cap on the output tokens, from 1."""
    temperature: float
    """Sent where the endpoint accepts it."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One requirement, its verifier, and the forms that word it."""

    panel_id: str
    title: str
    question: str
    """What the panel asks of a model, in one sentence."""
    verifier: str
    """Identifier and version, such as ``word_count/1``."""
    bootstrap: str
    """The default resampling scheme."""
    reference: str
    """The form that the others are compared with."""
    forms: tuple[Form, ...]
    items: tuple[Item, ...]
    repetitions: int
    decoding: Decoding
    target_from: str | None
    """The item field that holds the target, or ``None`` where ``fixed_target`` does."""
    fixed_target: Target | None

    def target(self, item: Item) -> Target:
        """What the verifier demands of an answer to ``item``."""
        if self.fixed_target is not None:
            return self.fixed_target
        target: Target = getattr(item, str(self.target_from))
        return target

    def instruction(self, item: Item, form: Form) -> str:
        """The form's template, filled in for ``item``."""
        return form.template.format_map(_fields(item, self.target(item)))

    def prompt(self, item: Item, form: Form) -> str:
        """What is sent to the model: the task, one blank, the instruction."""
        return f"{item.task} {self.instruction(item, form)}"


def _fields(item: Item, target: Target) -> dict[str, object]:
    """The values that a template may name."""
    keys = [f'"{key}"' for key in item.json_keys]
    values: dict[str, object] = {
        "n": item.target_words,
        "keyword": item.keyword,
        "keys": f"{', '.join(keys[:-1])} and {keys[-1]}" if len(keys) > 1 else keys[0],
    }
    if isinstance(target, tuple) and isinstance(target[0], int):
        values["low"], values["high"] = target
    return values


TEMPLATE_FIELDS = frozenset({"n", "keyword", "keys", "low", "high"})
"""Every name that a template may use between braces."""

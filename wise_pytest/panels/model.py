"""What a panel is: matched wordings of one requirement over a fixed set of items.

The loader builds these from the data files beside this module; the session
turns them into cells. Nothing here reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from wise_pytest.records import Target
    from wise_pytest.verifiers.registry import Verifier

DEFAULT_LANGUAGE = "en"

COLUMN_OF_FIELD = {"n": "target_words", "keys": "json_keys"}
"""Template fields whose column has another name; every other field is called like its column."""

_AND = {"en": "and", "de": "und", "es": "y"}
"""What stands before the last of several quoted names, by language; English serves for the others."""


@dataclass(frozen=True, slots=True)
class Item:
    """One base task of the manifest, with what each panel needs of it."""

    item_id: str
    task: str
    """The content request; it never mentions length, keyword or format."""
    target_words: int | None = None
    keyword: str | None = None
    """A natural word for an answer that does not occur in the task."""
    json_keys: tuple[str, ...] | None = None
    """Two to four names that fit the task."""
    more: tuple[tuple[str, Target], ...] = ()
    """What a panel's own columns say of the item, by column, as its verifier takes it."""

    def value(self, column: str) -> Target:
        """What the item holds in a column that it has."""
        for name, value in self.more:
            if name == column:
                return value
        found: Target = getattr(self, column)
        return found


@dataclass(frozen=True, slots=True)
class Form:
    """One wording of a panel's requirement."""

    form_id: str
    template: str
    levels: tuple[str, ...] = ()
    """Its level of each factor of a factorial panel, in the order of the factors."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A property that the wordings of a factorial panel vary."""

    name: str
    levels: tuple[str, ...]
    """Two or more; effects are differences to the first."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """Texts that a panel's author has judged, against the target of one item."""

    item: str
    passing: tuple[str, ...]
    failing: tuple[str, ...]


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
    target_from: str | tuple[str, ...] | None
    """The item column or columns that hold the target, or ``None`` where ``fixed_target`` does."""
    fixed_target: Target | None
    named_by: tuple[str, ...] = ()
    """Texts of which every form holds one, where the target itself is not in the text."""
    language: str = DEFAULT_LANGUAGE
    """Of tasks and forms, as in ``en`` or ``pt-BR``."""
    factors: tuple[Factor, ...] = ()
    """What the forms cross; empty for a panel that is no factorial design."""
    self_test: SelfTest | None = None
    own_verifier: Verifier | None = None
    """The user's own; ``None`` where the package has the verifier."""

    def scorer(self) -> Verifier:
        """The verifier that the panel names."""
        return get_verifier(self.verifier) if self.own_verifier is None else self.own_verifier

    def target(self, item: Item) -> Target:
        """What the verifier demands of an answer to ``item``."""
        if self.fixed_target is not None:
            return self.fixed_target
        if isinstance(self.target_from, tuple):
            # Such as a count and a word: the verifier has checked that it is what it takes.
            return cast("Target", tuple(item.value(column) for column in self.target_from))
        return item.value(str(self.target_from))

    def instruction(self, item: Item, form: Form) -> str:
        """The form's template, filled in for ``item``."""
        return form.template.format_map(self._fields(item))

    def prompt(self, item: Item, form: Form) -> str:
        """What is sent to the model: the task, one blank, the instruction."""
        return f"{item.task} {self.instruction(item, form)}"

    def _fields(self, item: Item) -> dict[str, object]:
        """The values that a template of this panel may name."""
        target = self.fixed_target
        if self.target_from is None:
            is_range = isinstance(target, tuple) and all(isinstance(bound, int) for bound in target)
            return dict(zip(("low", "high"), target, strict=True)) if is_range else {}  # type: ignore[arg-type]
        columns = self.target_from if isinstance(self.target_from, tuple) else (self.target_from,)
        return {field_of(column): _shown(item.value(column), self.language) for column in columns}


def field_of(column: str) -> str:
    """The template field that shows a column."""
    return next((field for field, name in COLUMN_OF_FIELD.items() if name == column), column)


def _shown(value: Target, language: str) -> object:
    """A value as an instruction names it: several names are quoted and listed."""
    if not isinstance(value, tuple):
        return value
    names = [f'"{name}"' for name in value]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} {_AND.get(language, _AND[DEFAULT_LANGUAGE])} {names[-1]}"


TEMPLATE_FIELDS = frozenset({"n", "keyword", "keys", "low", "high"})
"""The names between braces that templates of the bundled columns may use."""

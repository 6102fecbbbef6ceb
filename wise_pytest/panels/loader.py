"""Reads panels: one TOML file each, checked in full before anything runs.

``catalog`` calls ``load_panel`` for every panel that is asked for. The format::

    schema = "wise.panel/1"
    id = "exact_count"                   # the file's name without .toml
    title = "Exact word count"
    question = "What the panel asks of a model, in one sentence?"
    reference = "POS"                    # the form that the others are compared with
    bootstrap = "provider-model-item"    # one of BOOTSTRAP_SCHEMES
    [verifier]
    id = "word_count/1"
    target_from = "target_words"         # a column of the items, or several; or: target = [8, 12]
    [defaults]
    repetitions = 3
    max_tokens = 120
    temperature = 0.2
    [forms]                              # two or more, in the order in which they are shown
    POS = "Answer using exactly {n} words."

All that is required. These are not::

    language = "de"                      # of tasks and forms; English if it is not given
    items = "my_items.csv"               # a table beside this file, in the place of the bundled items
    fields = "my_columns.csv"            # a table beside this file with more columns for the items
    [verifier]
    function = "my_checks.py:verify"     # a verifier of one's own; see ``own``
    directions = ["ok", "missing"]       # what it calls the outcomes
    named_by = ["lower case"]            # a form names the target by one of these texts
    [factors]                            # a full factorial: every form is one of the products
    polarity = ["affirm", "negate"]
    [self_test]                          # texts that the author has judged
    item = "i001"
    pass = ["..."]
    fail = ["..."]
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
import string
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.errors import PanelError
from wise_pytest.naming import explain_unknown
from wise_pytest.panels.manifest import load_items, read_text
from wise_pytest.panels.model import (
    DEFAULT_LANGUAGE,
    TEMPLATE_FIELDS,
    Decoding,
    Factor,
    Form,
    Item,
    Panel,
    SelfTest,
    field_of,
)
from wise_pytest.panels.own import beside, load_own_verifier
from wise_pytest.panels.tables import join_columns, load_own_items
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wise_pytest.records import Target
    from wise_pytest.verifiers.registry import Verifier

PANEL_SCHEMA = "wise.panel/1"

BOOTSTRAP_SCHEMES = ("provider-model-item", "model-item", "item-cluster", "equal-model-item")

MAX_TEMPERATURE = 2
"""The highest temperature that any of the supported protocols takes."""

MAX_PANEL_BYTES = 1_000_000

ITEMS = Path(__file__).with_name("items.csv")
"""The item manifest that comes with the package."""

_PANEL_ID = re.compile(r"[a-z0-9_]+")
_FORM_ID = re.compile(r"[A-Z0-9_]+")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""The shape of a language tag (BCP 47)."""
_LEVEL = re.compile(r"[a-z0-9]+")
_MIN_FORMS = 2
_MIN_LEVELS = 2

_SHARED_COLUMNS = ("target_words", "keyword", "json_keys")
"""Where a target may come from in the bundled manifest."""


def bundled_items() -> tuple[Item, ...]:
    """The item manifest that comes with the package."""
    return load_items(ITEMS)


def load_panel(path: Path, items: Sequence[Item]) -> Panel:
    """The panel of the TOML file at ``path``, over ``items`` or those of its own.

    Parameters
    ----------
    path
        The panel file. Tables and functions that it names are beside it.
    items
        For a panel that names no items of its own.

    Raises
    ------
    PanelError
        If a file cannot be read or anything in it cannot be used; the message
        names the file, the key and what was expected.
    """
    try:
        values = tomllib.loads(read_text(path, limit=MAX_PANEL_BYTES))
    except (ValueError, RecursionError) as error:
        # Besides its own error, which is a ValueError, tomllib lets through those for numbers
        # with too many digits and for arrays nested too deeply.
        raise PanelError(f"{path}: not valid TOML: {error}") from error
    table = _Table(path, "", values)
    # The schema goes first: of a file from another version, nothing else is worth reporting.
    if table.values.get("schema") != PANEL_SCHEMA:
        raise table.expected("schema", f"'{PANEL_SCHEMA}', the one this version reads")
    table.refuse_others(*_REQUIRED_KEYS, *_REQUIRED_TABLES, *_OPTIONAL_KEYS)
    return _panel(table, _items(table, items))


def manifest_digest(panel: Panel) -> str:
    """SHA-256, in hexadecimal, over all that decides what is asked and how it is scored.

    That is the items, the forms and the verifier with its target. Titles,
    languages, repetitions and decoding settings are not part of it.
    """
    content = {
        "panel": panel.panel_id,
        "verifier": panel.verifier,
        "target_from": panel.target_from,
        "fixed_target": panel.fixed_target,
        "forms": [_without_empty(dataclasses.asdict(form), "levels") for form in panel.forms],
        "items": [_without_empty(dataclasses.asdict(item), "more") for item in panel.items],
    }
    canonical = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _without_empty(values: dict[str, Any], key: str) -> dict[str, Any]:
    """``values`` without a part that few panels have: theirs alone must not change the digest of others."""
    if not values[key]:
        del values[key]
    return values


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of a TOML file, read key by key; each fault names the file and the key."""

    path: Path
    name: str
    """Dotted name within the file; empty for the file itself."""
    values: Mapping[str, Any]

    def fault(self, key: str, problem: str) -> PanelError:
        return PanelError(f"{self.path}: key {self._dotted(key)!r}: {problem}")

    def expected(self, key: str, expectation: str) -> PanelError:
        found = repr(self.values[key]) if key in self.values else "missing"
        return self.fault(key, f"expected {expectation}, not {found}")

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str) or not value or value != value.strip():
            raise self.expected(key, "a non-empty text without blanks around it")
        return value

    def texts(self, key: str, *, may_be_empty: bool = False) -> tuple[str, ...]:
        """A list of texts, each of them not empty unless ``may_be_empty``."""
        value = self.values.get(key)
        is_texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
        if not isinstance(value, list) or not is_texts or not (may_be_empty or (value and all(value))):
            raise self.expected(key, "a list of texts")
        return tuple(value)

    def one_of(self, key: str, allowed: Iterable[str]) -> str:
        value = self.text(key)
        names = list(allowed)
        if value not in names:
            raise self.fault(key, explain_unknown("value", value, names))
        return value

    def count(self, key: str) -> int:
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.expected(key, "a whole number from 1")
        return value

    def number(self, key: str, *, high: float) -> float:
        value = self.values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= high:
            raise self.expected(key, f"a number from 0 to {high}")
        return float(value)

    def table(self, key: str) -> _Table:
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.expected(key, f"a table [{self._dotted(key)}]")
        return _Table(self.path, self._dotted(key), value)

    def refuse_others(self, *known: str) -> None:
        """Refuse a misspelt key: left alone, it would be a setting that silently does nothing."""
        for key in self.values:
            if key not in known:
                raise self.fault(key, explain_unknown("key", key, known))

    def _dotted(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key


_REQUIRED_KEYS = ("schema", "id", "title", "question", "reference", "bootstrap")
_REQUIRED_TABLES = ("verifier", "defaults", "forms")
_OPTIONAL_KEYS = ("language", "items", "fields", "factors", "self_test")


def _items(table: _Table, shared: Sequence[Item]) -> tuple[Item, ...]:
    """The panel's items, with its own columns as they stand in the table."""
    items = tuple(shared)
    if "items" in table.values:
        items = load_own_items(beside(table.path.parent, table.text("items")))
    if not items:
        raise PanelError(f"{table.path}: a panel needs at least one item, and the manifest has none")
    if "fields" in table.values:
        items = join_columns(beside(table.path.parent, table.text("fields")), items)
    return items


def _panel(table: _Table, items: Sequence[Item]) -> Panel:
    source = _source(table.table("verifier"), items)
    factors = _factors(table)
    forms = _forms(table.table("forms"), source, factors)
    defaults = table.table("defaults")
    defaults.refuse_others("repetitions", "max_tokens", "temperature")
    panel = Panel(
        panel_id=_panel_id(table),
        title=table.text("title"),
        question=table.text("question"),
        verifier=source.verifier.name,
        bootstrap=table.one_of("bootstrap", BOOTSTRAP_SCHEMES),
        reference=table.one_of("reference", [form.form_id for form in forms]),
        forms=forms,
        items=source.items,
        repetitions=defaults.count("repetitions"),
        decoding=Decoding(
            max_tokens=defaults.count("max_tokens"),
            temperature=defaults.number("temperature", high=MAX_TEMPERATURE),
        ),
        target_from=source.target_from,
        fixed_target=source.fixed_target,
        named_by=source.named_by or (),
        language=_language(table),
        factors=factors,
        own_verifier=source.verifier if source.is_own else None,
    )
    return dataclasses.replace(panel, self_test=_self_test(table, panel))


def _language(table: _Table) -> str:
    if "language" not in table.values:
        return DEFAULT_LANGUAGE
    language = table.text("language")
    if not _LANGUAGE.fullmatch(language):
        raise table.expected("language", "a language tag such as 'en' or 'pt-BR'")
    return language


def _factors(table: _Table) -> tuple[Factor, ...]:
    if "factors" not in table.values:
        return ()
    factors = table.table("factors")
    found = []
    for name in factors.values:
        levels = factors.texts(name)
        if not all(_LEVEL.fullmatch(level) for level in levels) or len(set(levels)) != len(levels):
            raise factors.expected(name, "different levels made of a-z and 0-9")
        if len(levels) < _MIN_LEVELS:
            raise factors.expected(name, f"at least {_MIN_LEVELS} levels")
        found.append(Factor(name, levels))
    if not found:
        raise table.expected("factors", "at least one factor, such as polarity")
    return tuple(found)


def _self_test(table: _Table, panel: Panel) -> SelfTest | None:
    if "self_test" not in table.values:
        return None
    declared = table.table("self_test")
    declared.refuse_others("item", "pass", "fail")
    item = declared.one_of("item", [item.item_id for item in panel.items])
    test = SelfTest(
        item,
        passing=declared.texts("pass", may_be_empty=True),
        failing=declared.texts("fail", may_be_empty=True),
    )
    for key, texts in (("pass", test.passing), ("fail", test.failing)):
        if not texts:
            raise declared.expected(key, "at least one text")
    return test


def _panel_id(table: _Table) -> str:
    panel_id = table.text("id")
    if not _PANEL_ID.fullmatch(panel_id):
        raise table.expected("id", "a name made of a-z, 0-9 and '_'")
    if panel_id != table.path.stem:
        raise table.expected("id", f"the name of the file, {table.path.stem!r}")
    return panel_id


@dataclass(frozen=True, slots=True)
class _Source:
    """What a panel's answers are held against, and where each item's target comes from."""

    verifier: Verifier
    is_own: bool
    items: tuple[Item, ...]
    """With the targets that their tables hold."""
    target_from: str | tuple[str, ...] | None
    fixed_target: Target | None
    named_by: tuple[str, ...] | None
    """``None`` where the forms name the target itself."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the target; none where it is fixed."""
        if self.target_from is None:
            return ()
        return self.target_from if isinstance(self.target_from, tuple) else (self.target_from,)


def _source(table: _Table, items: Sequence[Item]) -> _Source:
    table.refuse_others("id", "target_from", "target", "function", "directions", "named_by")
    verifier = _verifier(table)
    is_own = "function" in table.values
    if ("target" in table.values) == ("target_from" in table.values):
        raise table.fault("target_from", "expected exactly one of target_from and target")
    if "target" in table.values:
        value = table.values["target"]
        target: Target = tuple(value) if isinstance(value, list) else value
        try:
            verifier.check_target(target)
        except PanelError as error:
            raise table.fault("target", str(error)) from error
        named_by = None
        if "named_by" in table.values:
            named_by = () if table.values["named_by"] == [] else table.texts("named_by")
        return _Source(verifier, is_own, tuple(items), None, target, named_by)
    if "named_by" in table.values:
        raise table.fault("named_by", "the forms name a target from a column by its field, such as {n}")
    return _with_targets(table, verifier, items, is_own=is_own)


def _verifier(table: _Table) -> Verifier:
    name = table.text("id")
    if "function" in table.values:
        directions = table.texts("directions") if "directions" in table.values else None
        try:
            return load_own_verifier(
                name, table.text("function"), directions=directions, folder=table.path.parent
            )
        except PanelError as error:
            raise table.fault("function", str(error)) from error
    if "directions" in table.values:
        raise table.fault("directions", "a bundled verifier has its own; they go with a function")
    try:
        return get_verifier(name)
    except PanelError as error:
        raise table.fault("id", str(error)) from error


def _with_targets(table: _Table, verifier: Verifier, items: Sequence[Item], *, is_own: bool) -> _Source:
    """Read each item's target from its columns, and check it."""
    own = [column for column, _ in items[0].more]
    known = own if items[0].target_words is None else [*_SHARED_COLUMNS, *own]
    several = isinstance(table.values["target_from"], list)
    names = table.texts("target_from") if several else (table.text("target_from"),)
    for name in names:
        if name not in known:
            raise table.fault("target_from", explain_unknown("column", name, known))
    source = _Source(verifier, is_own, (), names if several else names[0], None, None)
    read: list[Item] = []
    checked: set[object] = set()
    for item in items:
        try:
            converted = item if several else _converted(item, names[0], verifier)
            value = tuple(converted.value(name) for name in names) if several else converted.value(names[0])
            if value not in checked:
                verifier.check_target(value)
                checked.add(value)
        except PanelError as error:
            raise table.fault("target_from", f"item {item.item_id!r}: {error}") from error
        read.append(converted)
    return dataclasses.replace(source, items=tuple(read))


def _converted(item: Item, column: str, verifier: Verifier) -> Item:
    """``item`` with the cell of one of its own columns read as the verifier takes it."""
    more = tuple(
        (name, verifier.read_cell(str(value)) if name == column else value) for name, value in item.more
    )
    return dataclasses.replace(item, more=more)


def _forms(table: _Table, source: _Source, factors: tuple[Factor, ...]) -> tuple[Form, ...]:
    form_of_template: dict[str, str] = {}
    for form_id in table.values:
        if not _FORM_ID.fullmatch(form_id):
            raise table.fault(form_id, "expected a form id made of A-Z, 0-9 and '_'")
        template = table.text(form_id)
        first = form_of_template.setdefault(template, form_id)
        if first != form_id:
            raise table.fault(form_id, f"expected another wording than that of {first}: {template!r}")
        _check_template(table, form_id, source)
    if len(form_of_template) < _MIN_FORMS:
        raise PanelError(
            f"{table.path}: key {table.name!r}: expected at least {_MIN_FORMS} forms to compare, "
            f"not {len(form_of_template)}"
        )
    if not factors:
        return tuple(Form(form_id, template) for template, form_id in form_of_template.items())
    return _crossed(table, {form_id: template for template, form_id in form_of_template.items()}, factors)


def _crossed(table: _Table, templates: Mapping[str, str], factors: tuple[Factor, ...]) -> tuple[Form, ...]:
    """The forms of a full factorial, each with its levels, in the order of the product."""
    levels_of = {
        "_".join(levels).upper(): levels
        for levels in itertools.product(*(factor.levels for factor in factors))
    }
    for form_id in templates:
        if form_id not in levels_of:
            raise table.fault(form_id, explain_unknown("combination of levels", form_id, levels_of))
    for form_id in levels_of:
        if form_id not in templates:
            raise table.fault(form_id, "expected a wording: a factorial panel has one of every combination")
    return tuple(Form(form_id, templates[form_id], levels) for form_id, levels in levels_of.items())


def _check_template(table: _Table, form_id: str, source: _Source) -> None:
    """Refuse a template that does not ask for the panel's target, or asks for something else."""
    template = table.text(form_id)
    named = _fields_of(table, form_id, template)
    needed, literals = _carriers(source)
    for field in sorted(named - needed):
        if field not in TEMPLATE_FIELDS:
            known = [f"{{{name}}}" for name in sorted(needed)]
            raise table.fault(form_id, explain_unknown("field", f"{{{field}}}", known))
        raise table.fault(form_id, f"{{{field}}} does not hold what the verifier asks for in this panel")
    missing = [f"{{{field}}}" for field in sorted(needed - named)]
    missing += [repr(literal) for literal in literals if not _holds(template, literal)]
    if missing:
        raise table.fault(
            form_id, f"expected a text that names the target by {' and '.join(missing)}, not {template!r}"
        )
    if source.named_by and not any(_holds(template, literal) for literal in source.named_by):
        known_by = " or ".join(map(repr, source.named_by))
        raise table.fault(form_id, f"expected a text that names the target by {known_by}, not {template!r}")


def _holds(template: str, literal: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(literal)}(?!\w)", template) is not None


def _carriers(source: _Source) -> tuple[frozenset[str], list[str]]:
    """The fields that a template must name, and the texts it must hold word for word."""
    if source.columns:
        return frozenset(map(field_of, source.columns)), []
    target = source.fixed_target
    if source.named_by is not None:
        return frozenset(), []
    if not isinstance(target, tuple):
        return frozenset(), [str(target)]
    if isinstance(target[0], int) and isinstance(target[-1], int):
        return frozenset({"low", "high"}), []
    return frozenset(), [str(part) for part in target]


def _fields_of(table: _Table, form_id: str, template: str) -> frozenset[str]:
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise table.fault(form_id, f"braces that do not match ({error}) in {template!r}") from error
    named = set()
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if spec or conversion:
            raise table.fault(
                form_id, f"expected fields without ':' and '!', such as {{n}}, not {template!r}"
            )
        named.add(field)
    return frozenset(named)

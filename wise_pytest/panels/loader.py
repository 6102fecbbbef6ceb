"""Reads panels: one TOML file each, checked in full before anything runs.

``settings``, the session and the audit call ``bundled_panel`` and ``bundled_panels``;
``load_panel`` reads one file. The format, with every key required::

    schema = "wise.panel/1"
    id = "exact_count"                   # the file's name without .toml
    title = "Exact word count"
    question = "What the panel asks of a model, in one sentence?"
    reference = "POS"                    # the form that the others are compared with
    bootstrap = "provider-model-item"    # one of BOOTSTRAP_SCHEMES
    [verifier]
    id = "word_count/1"
    target_from = "target_words"         # a column of the manifest; or: target = [8, 12]
    [defaults]
    repetitions = 3
    max_tokens = 120
    temperature = 0.2
    [forms]                              # two or more, in the order in which they are shown
    POS = "Answer using exactly {n} words."
"""

from __future__ import annotations

import dataclasses
import hashlib
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
from wise_pytest.panels.model import TEMPLATE_FIELDS, Decoding, Form, Item, Panel
from wise_pytest.verifiers.registry import get_verifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wise_pytest.records import Target
    from wise_pytest.verifiers.registry import Verifier

PANEL_SCHEMA = "wise.panel/1"

PANEL_IDS = (
    "exact_count",
    "avoidance_family",
    "constructional_controls",
    "keyword_once",
    "length_range",
    "json_structure",
)
"""The panels that come with the package, in the order in which they are run and reported."""

BOOTSTRAP_SCHEMES = ("provider-model-item", "model-item", "item-cluster", "equal-model-item")

MAX_TEMPERATURE = 2
"""The highest temperature that any of the supported protocols takes."""

_FOLDER = Path(__file__).parent
_PANEL_ID = re.compile(r"[a-z0-9_]+")
_FORM_ID = re.compile(r"[A-Z0-9_]+")
_MIN_FORMS = 2

_FIELD_OF_COLUMN = {"target_words": "n", "keyword": "keyword", "json_keys": "keys"}
"""Where a target may come from, and the template field that shows it."""


def bundled_panels() -> Mapping[str, Panel]:
    """All panels that come with the package, by id, in the order of ``PANEL_IDS``."""
    items = bundled_items()
    return {panel_id: load_panel(_bundled_path(panel_id), items) for panel_id in PANEL_IDS}


def bundled_panel(panel_id: str) -> Panel:
    """One panel that comes with the package; the files of the others are not read.

    Raises
    ------
    PanelError
        If there is none of this name.
    """
    if panel_id not in PANEL_IDS:
        raise PanelError(explain_unknown("panel", panel_id, PANEL_IDS))
    return load_panel(_bundled_path(panel_id), bundled_items())


def bundled_items() -> tuple[Item, ...]:
    """The item manifest that comes with the package."""
    return load_items(_FOLDER / "items.csv")


def load_panel(path: Path, items: Sequence[Item]) -> Panel:
    """The panel of the TOML file at ``path``, over ``items``.

    Raises
    ------
    PanelError
        If the file cannot be read or anything in it cannot be used; the
        message names the file, the key and what was expected.
    """
    if not items:
        raise PanelError(f"{path}: a panel needs at least one item, and the manifest has none")
    try:
        values = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        # Besides its own error, which is a ValueError, tomllib lets through those for numbers
        # with too many digits and for arrays nested too deeply.
        raise PanelError(f"{path}: not valid TOML: {error}") from error
    return _panel(_Table(path, "", values), items)


def manifest_digest(panel: Panel) -> str:
    """SHA-256, in hexadecimal, over all that decides what is asked and how it is scored.

    That is the items, the forms and the verifier with its target. Titles,
    repetitions and decoding settings are not part of it.
    """
    content = {
        "panel": panel.panel_id,
        "verifier": panel.verifier,
        "target_from": panel.target_from,
        "fixed_target": panel.fixed_target,
        "forms": [dataclasses.asdict(form) for form in panel.forms],
        "items": [dataclasses.asdict(item) for item in panel.items],
    }
    canonical = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _bundled_path(panel_id: str) -> Path:
    return _FOLDER / f"{panel_id}.toml"


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


def _panel(table: _Table, items: Sequence[Item]) -> Panel:
    # The schema goes first: of a file from another version, nothing else is worth reporting.
    if table.values.get("schema") != PANEL_SCHEMA:
        raise table.expected("schema", f"'{PANEL_SCHEMA}', the one this version reads")
    table.refuse_others(
        "schema", "id", "title", "question", "reference", "bootstrap", "verifier", "defaults", "forms"
    )
    verifier, target_from, fixed_target = _verifier(table.table("verifier"), items)
    forms = _forms(table.table("forms"), target_from=target_from, fixed_target=fixed_target)
    defaults = table.table("defaults")
    defaults.refuse_others("repetitions", "max_tokens", "temperature")
    return Panel(
        panel_id=_panel_id(table),
        title=table.text("title"),
        question=table.text("question"),
        verifier=verifier.name,
        bootstrap=table.one_of("bootstrap", BOOTSTRAP_SCHEMES),
        reference=table.one_of("reference", [form.form_id for form in forms]),
        forms=forms,
        items=tuple(items),
        repetitions=defaults.count("repetitions"),
        decoding=Decoding(
            max_tokens=defaults.count("max_tokens"),
            temperature=defaults.number("temperature", high=MAX_TEMPERATURE),
        ),
        target_from=target_from,
        fixed_target=fixed_target,
    )


def _panel_id(table: _Table) -> str:
    panel_id = table.text("id")
    if not _PANEL_ID.fullmatch(panel_id):
        raise table.expected("id", "a name made of a-z, 0-9 and '_'")
    if panel_id != table.path.stem:
        raise table.expected("id", f"the name of the file, {table.path.stem!r}")
    return panel_id


def _verifier(table: _Table, items: Sequence[Item]) -> tuple[Verifier, str | None, Target | None]:
    """The verifier, and either the column its targets come from or the one target of all items."""
    table.refuse_others("id", "target_from", "target")
    name = table.text("id")
    try:
        verifier = get_verifier(name)
    except PanelError as error:
        raise table.fault("id", str(error)) from error
    if ("target" in table.values) == ("target_from" in table.values):
        raise table.fault("target_from", "expected exactly one of target_from and target")
    if "target" in table.values:
        value = table.values["target"]
        target: Target = tuple(value) if isinstance(value, list) else value
        try:
            verifier.check_target(target)
        except PanelError as error:
            raise table.fault("target", str(error)) from error
        return verifier, None, target
    column = table.one_of("target_from", _FIELD_OF_COLUMN)
    for item in items:
        try:
            verifier.check_target(getattr(item, column))
        except PanelError as error:
            raise table.fault("target_from", f"item {item.item_id!r}: {error}") from error
    return verifier, column, None


def _forms(table: _Table, *, target_from: str | None, fixed_target: Target | None) -> tuple[Form, ...]:
    form_of_template: dict[str, str] = {}
    for form_id in table.values:
        if not _FORM_ID.fullmatch(form_id):
            raise table.fault(form_id, "expected a form id made of A-Z, 0-9 and '_'")
        template = table.text(form_id)
        first = form_of_template.setdefault(template, form_id)
        if first != form_id:
            raise table.fault(form_id, f"expected another wording than that of {first}: {template!r}")
        _check_template(table, form_id, target_from=target_from, fixed_target=fixed_target)
    if len(form_of_template) < _MIN_FORMS:
        raise PanelError(
            f"{table.path}: key {table.name!r}: expected at least {_MIN_FORMS} forms to compare, "
            f"not {len(form_of_template)}"
        )
    return tuple(Form(form_id=form_id, template=template) for template, form_id in form_of_template.items())


def _check_template(
    table: _Table, form_id: str, *, target_from: str | None, fixed_target: Target | None
) -> None:
    """Refuse a template that does not ask for the panel's target, or asks for something else."""
    template = table.text(form_id)
    named = _fields_of(table, form_id, template)
    needed, literals = _carriers(target_from, fixed_target)
    for field in sorted(named - needed):
        if field not in TEMPLATE_FIELDS:
            known = [f"{{{name}}}" for name in sorted(needed)]
            raise table.fault(form_id, explain_unknown("field", f"{{{field}}}", known))
        raise table.fault(form_id, f"{{{field}}} does not hold what the verifier asks for in this panel")
    missing = [f"{{{field}}}" for field in sorted(needed - named)]
    missing += [
        repr(literal)
        for literal in literals
        if not re.search(rf"(?<!\w){re.escape(literal)}(?!\w)", template)
    ]
    if missing:
        raise table.fault(
            form_id, f"expected a text that names the target by {' and '.join(missing)}, not {template!r}"
        )


def _carriers(target_from: str | None, fixed_target: Target | None) -> tuple[frozenset[str], list[str]]:
    """The fields that a template must name, and the texts it must hold word for word."""
    if target_from is not None:
        return frozenset({_FIELD_OF_COLUMN[target_from]}), []
    if not isinstance(fixed_target, tuple):
        return frozenset(), [str(fixed_target)]
    if isinstance(fixed_target[0], int):
        return frozenset({"low", "high"}), []
    return frozenset(), [str(key) for key in fixed_target]


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

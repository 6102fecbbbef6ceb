"""The page: everything that it says is laid out here, and the templates only place it.

Called by ``writer``. jinja2 escapes every text; control and format characters
are written as code points before that, so that nothing can hide or reorder.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from wise_pytest.report import facts, objects, tables
from wise_pytest.report.columns import words
from wise_pytest.report.figures.catalog import cross_figure
from wise_pytest.report.figures.charts.values import reference_of
from wise_pytest.report.figures.theme import DARK, LIGHT, css_variables
from wise_pytest.report.html.baseline import view_baseline
from wise_pytest.report.html.blocks import view_figure
from wise_pytest.report.html.panels import view_panel
from wise_pytest.report.html.payload import pack_to_fit
from wise_pytest.report.html.provenance import Fact, Note, result_tables, run_facts, run_notes, run_tables
from wise_pytest.report.html.views import view_table
from wise_pytest.report.limitations import LIMITATIONS
from wise_pytest.report.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wise_pytest.records import CellKey, Row
    from wise_pytest.report.html.baseline import BaselineView
    from wise_pytest.report.html.panels import PanelView
    from wise_pytest.report.html.views import FigureView, TableView
    from wise_pytest.report.objects import Document

_TEMPLATES = Path(__file__).parent / "templates"
_CHECKS_SHOWN = 8
"""A longer table of checks is folded; those that fail are told above it."""
_GROUND = {
    "light": {
        "shade": "#f3f5f7",
        "chosen": "#e2edf8",
        "mark": "#fde9a9",
        "pass": "#0b6e4f",
        "fail": "#a8290f",
    },
    "dark": {
        "shade": "#1d242c",
        "chosen": "#1f3349",
        "mark": "#5c4a10",
        "pass": "#5fc79f",
        "fail": "#ff8f70",
    },
}


@dataclass(frozen=True, slots=True)
class VerdictView:
    """The verdict as the page opens with it."""

    status: str
    sentence: str
    word: str
    """Such as ``FAIL``."""
    rest: str
    """Such as ``2 of 5 checks``."""


@dataclass(frozen=True, slots=True)
class Page:
    """All that the template places."""

    policy: str
    style: Markup
    script: Markup
    packed: Markup
    """The rows; empty where there are none."""
    packed_note: str
    """What of the rows is not in the page."""
    references: str
    verdict: VerdictView
    partial: str | None
    failed: Sequence[str]
    unevaluated: Sequence[str]
    inconclusive: Sequence[str]
    deferred: str | None
    rule_notes: Sequence[str]
    wider_bounds: str | None
    checks: TableView
    facts: Sequence[Fact]
    notes: Sequence[Note]
    result_tables: Sequence[TableView]
    run_tables: Sequence[TableView]
    cross: FigureView | None
    cross_left_out: str
    baseline: BaselineView | None
    panels: Sequence[PanelView]
    limitations: Sequence[str]
    footer: str


def render_page(
    document: Document,
    rows: Iterable[Row] = (),
    *,
    manifest: Mapping[str, Any] | None = None,
    replies: Mapping[CellKey, str] | None = None,
    rows_note: str = "",
) -> str:
    """The whole page.

    Parameters
    ----------
    document
        The decoded ``audit.json``.
    rows
        The rows that it audits; without them the page has no list of generations.
    manifest
        The run's manifest, for how the run was made.
    replies
        Recorded bodies of replies, by the key of their row.
    rows_note
        Why there are no rows, in a sentence.

    Returns
    -------
    str
        HTML, the same for the same arguments; rows in any order, whatever their run.
    """
    panels = objects.panels_of(document)
    kept = list(rows)
    style = Markup(_style())  # noqa: S704 - from files of this package
    script = Markup(_read("page.js"))  # noqa: S704 - from a file of this package
    form_order = {name: list(map(str, objects.mapping(panel, "forms"))) for name, panel in panels.items()}
    packed = pack_to_fit(kept, form_order=form_order, replies=replies or {})
    over_all = cross_figure(document)
    left_out = objects.mapping(document, "cross", "left_out")
    page = Page(
        policy=_policy(style, script),
        style=style,
        script=script,
        packed=Markup(packed.content),  # noqa: S704 - base64
        packed_note=packed.note or rows_note,
        references=json.dumps({name: reference_of(panel) for name, panel in panels.items()}),
        verdict=_verdict(document),
        partial=facts.partial_reason(document),
        failed=facts.failed_checks(document),
        unevaluated=facts.unevaluated_checks(document),
        inconclusive=facts.inconclusive_checks(document),
        deferred=facts.deferred_limits(document),
        rule_notes=facts.gate_notes(document),
        wider_bounds=facts.wider_bounds(document),
        checks=_checks(document),
        facts=run_facts(document, manifest),
        notes=run_notes(document),
        result_tables=result_tables(document),
        run_tables=run_tables(manifest),
        cross=None if over_all is None else view_figure(over_all),
        cross_left_out=", ".join(f"{model} ({words(reason)})" for model, reason in left_out.items()),
        baseline=view_baseline(document),
        panels=[
            view_panel(name, panel, [row for row in kept if row.panel == name])
            for name, panel in panels.items()
        ],
        limitations=LIMITATIONS,
        footer=f"Made by wise-pytest {words(objects.mapping(document, 'run').get('wise_pytest'))}. "
        "Everything on this page is in this file; it asks nothing of the network.",
    )
    return page_template().render(page=page)


def _verdict(document: Document) -> VerdictView:
    verdict = facts.gate_verdict(document)
    word, _, rest = verdict.sentence.partition(": ")
    said = {
        "PASS": "The gate passes",
        "FAIL": "The gate fails",
        "NOT EVALUATED": "The gate was not evaluated",
    }.get(word, word)
    return VerdictView(verdict.status, verdict.sentence, said, rest[:1].upper() + rest[1:])


def _checks(document: Document) -> TableView:
    table = tables.gate_table(document)
    return view_table(table, folded=len(table.rows) > _CHECKS_SHOWN)


@functools.cache
def page_template() -> Template:
    """The template, compiled with those that it takes in; a run has that done while it waits for replies."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    for name in environment.list_templates(extensions=["j2"]):
        environment.get_template(name)  # it keeps what it has compiled
    return environment.get_template("page.html.j2")


def _plain(value: Any) -> Any:
    """A text with everything that does not show written as its code point; markup as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    # Only now, since a blank that does not break counts as one that does not show.
    return visible(value).replace(" %", "\u00a0%")


def _style() -> str:
    variables = {
        name: css_variables(theme) + "".join(f"--{role}:{colour};" for role, colour in _GROUND[name].items())
        for name, theme in (("light", LIGHT), ("dark", DARK))
    }
    return (
        f":root{{color-scheme:light;{variables['light']}}}\n"
        "@media (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{variables['dark']}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{variables['dark']}}}\n"
        f"@media print{{:root:root:root{{color-scheme:light;{variables['light']}}}}}\n"
        f"{_read('style.css')}"
    )


def _policy(style: str, script: str) -> str:
    """What the page may do: show its own style and run its own script, and ask for nothing."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")

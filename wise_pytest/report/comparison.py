"""What has changed since an earlier run: lines for the terminal, a section of markdown, tables for programs.

``terminal`` and ``markdown`` add these to the audit's own; ``wise compare``
shows them alone. Everything is read from the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.columns import Column, number, scalar, show, words
from wise_pytest.report.lines import Line
from wise_pytest.report.objects import listed, mapping
from wise_pytest.report.tables import FORM, MODEL, PANEL, REASON, Tidy, made_table
from wise_pytest.report.text import display_width, escape_markdown, pad, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wise_pytest.report.objects import Document, Record
    from wise_pytest.report.tables import Table

MAX_FLIPS = 20
"""Items under a form that a report for people names."""
WORSE, BETTER = "worse", "better"
BASELINE_MODEL = Column("Earlier model", "baseline_model", ("baseline_model",))
_CHANGES = (
    Column("Before", "before", ("before",), "rate"),
    Column("Now", "after", ("after",), "rate"),
    Column("Pairs", "n", ("n",), "count"),
    Column("Δ", "diff", ("diff",), "difference"),
    Column("95 % interval", "ci", (), "difference_interval", bounds=("ci_low", "ci_high")),
    Column("p", "p_raw", ("p_raw",), "p_value"),
    Column("p (Holm)", "p_holm", ("p_holm",), "p_value"),
    Column("Lost", "n_lost", ("n_lost",), "count"),
    Column("Gained", "n_gained", ("n_gained",), "count"),
    Column("Verdict", "verdict", ("verdict",)),
)
_SUMMARY = (
    Column("Figure", "figure", ("figure",)),
    Column("Before", "before", ("before",), "rate"),
    Column("Now", "after", ("after",), "rate"),
    Column("Δ", "diff", ("diff",), "difference"),
    Column("95 % interval", "diff_ci", ("diff_ci",), "difference_interval"),
)
_FLIPS = (
    Column("Item", "item", ("item",)),
    FORM,
    Column("Lost in repetition", "lost", ("lost",)),
    Column("Gained in repetition", "gained", ("gained",)),
)


def pairs_of(document: Document) -> list[Mapping[str, Any]]:
    """Every panel and model that was to be compared."""
    return [mapping(pair) for pair in listed(mapping(document, "comparison"), "pairs")]


def comparison_lines(document: Document, *, full: bool = False) -> list[Line]:
    """What has changed, in a few lines; nothing without a comparison.

    Parameters
    ----------
    document
        With a ``comparison``.
    full
        Show every form, not those alone that have changed.
    """
    lines = []
    for pair in pairs_of(document):
        name = (
            f"{_since(pair)}: {words(pair.get('panel'))}"
            if full
            else f"since the baseline: {pair_title(pair)}"
        )
        refused = listed(pair, "refused")
        if refused:
            lines.append(Line(f"{name}: not compared", "yellow"))
            lines += [Line(f"  {words(reason)}", "yellow") for reason in refused]
            continue
        n_worse = _n_forms(pair, WORSE)
        lines.append(Line(f"{name}: {_sentence(pair)}", "red" if n_worse else "plain"))
        lines += _form_lines(pair, full=full)
        lines += [Line(f"  note: {words(note)}", "yellow") for note in listed(pair, "notes")]
        lines += [Line(f"  {said}", "yellow") for said in _verifier_flips(pair)]
    lines += [Line(f"not in the baseline: {said}", "yellow") for said in _absent(document, "only_after")]
    mapping_hint = _how_to_map(
        document, "--map" if full else "--wise-baseline-map (wise audit: --baseline-map)"
    )
    if mapping_hint is not None:
        lines.append(Line(f"  {mapping_hint}", "yellow"))
    if full:
        lines += [
            Line(f"in the baseline only: {said}", "yellow") for said in _absent(document, "only_before")
        ]
    lines += [Line(words(note), "yellow") for note in listed(mapping(document, "comparison"), "notes")]
    return [Line(visible(line.text), line.style) for line in lines]


def comparison_sections(document: Document, render: Any) -> Iterator[str]:
    """Blocks of markdown; none without a comparison.

    Parameters
    ----------
    document
        With a ``comparison``.
    render
        Makes markdown of a table.
    """
    pairs = pairs_of(document)
    if not mapping(document, "comparison"):
        return
    yield "## Since the baseline" if "panels" in document else "## From the earlier run to the later"
    for sentence in how_compared(document):
        yield escape_markdown(sentence)
    for pair in pairs:
        yield f"### {escape_markdown(pair_title(pair))}"
        yield escape_markdown(pair_sentence(pair))
        remarks = pair_remarks(pair)
        if remarks:
            yield _bullets(remarks)
        for table in pair_tables(pair):
            if table.rows:
                yield f"#### {escape_markdown(table.title)}"
                yield render(table)
    for title, key in (("Not in the baseline", "only_after"), ("In the baseline only", "only_before")):
        absent = _absent(document, key)
        if absent:
            yield f"{title}:"
            yield _bullets(absent)


def how_compared(document: Document) -> list[str]:
    """How changes were estimated and tested, and what is to be known of all of them."""
    comparison = mapping(document, "comparison")
    bootstrap = mapping(comparison, "bootstrap")
    return [
        (
            "Cells that were scored in both runs, paired by panel, model, item, form and repetition. "
            f"Intervals and p values: {words(bootstrap.get('replicates'))} bootstrap replicates by item, "
            f"seed {words(bootstrap.get('seed'))}; no p value is below that of a sign-flip test. "
            "Holm's correction is over the forms of one model in one panel."
        ),
        *(words(note) for note in listed(comparison, "notes")),
    ]


def pair_title(pair: Mapping[str, Any]) -> str:
    """The panel and the model, with the name of the earlier one where it is another."""
    new, old = words(pair.get("model")), words(pair.get("baseline_model"))
    return f"{words(pair.get('panel'))}, {new}{'' if new == old else f' against {old}'}"


def _since(pair: Mapping[str, Any]) -> str:
    """What is compared with what, where no side is a session's baseline."""
    new, old = words(pair.get("model")), words(pair.get("baseline_model"))
    return f"{new}, from the earlier run to the later" if new == old else f"from {old} to {new}"


def _how_to_map(document: Document, option: str) -> str | None:
    """How to compare a model that the baseline lacks, where it has others."""
    comparison = mapping(document, "comparison")
    known = {
        *(words(mapping(pair).get("model")) for pair in listed(comparison, "only_before")),
        *(words(pair.get("baseline_model")) for pair in pairs_of(document)),
    }
    lacking = {words(mapping(pair).get("model")) for pair in listed(comparison, "only_after")} - known
    if not known or not lacking:
        return None
    return (
        f"the baseline has {', '.join(sorted(known))}: "
        f"name with {option} NEW=OLD which of them to compare {', '.join(sorted(lacking))} with"
    )


def pair_sentence(pair: Mapping[str, Any]) -> str:
    """What has changed, or that nothing was compared."""
    return "Not compared:" if listed(pair, "refused") else f"{_sentence(pair)}."


def pair_remarks(pair: Mapping[str, Any]) -> list[str]:
    """Why nothing was compared; or what was left out, and what a changed verifier has done."""
    refused = [words(reason) for reason in listed(pair, "refused")]
    return refused or [*(words(note) for note in listed(pair, "notes")), *_verifier_flips(pair)]


def pair_tables(pair: Mapping[str, Any]) -> tuple[Table, ...]:
    """Forms, figures over all forms, and the first flips; empty where nothing was compared."""
    flips = sorted(_flips(pair), key=lambda flip: -len(listed(flip, "lost_in")))
    shown = flips[:MAX_FLIPS]
    return (
        made_table("Forms, before and now", (FORM, *_CHANGES), _forms(pair)),
        made_table("Over all forms, before and now", _SUMMARY, _summaries(pair)),
        made_table(
            f"Verdicts that have changed: {len(shown)} of {len(flips)} items under a form", _FLIPS, shown
        ),
    )


def tidy_comparison() -> tuple[Tidy, ...]:
    """The tables of a comparison that are written as CSV."""
    return (
        Tidy("changes", (PANEL, MODEL, BASELINE_MODEL, FORM, *_CHANGES, REASON), _every(_forms)),
        Tidy("summary_changes", (PANEL, MODEL, BASELINE_MODEL, *_SUMMARY), _every(_summaries)),
        Tidy("flips", (PANEL, MODEL, BASELINE_MODEL, *_FLIPS), _every(_flips)),
    )


def _sentence(pair: Mapping[str, Any]) -> str:
    forms = mapping(pair, "forms")
    tested = sum(mapping(form).get("p_holm") is not None for form in forms.values())
    n_lost = sum(len(listed(flip, "lost")) for flip in listed(pair, "flips"))
    n_gained = sum(len(listed(flip, "gained")) for flip in listed(pair, "flips"))
    mean = mapping(pair, "summary", "mean")
    n_worse, n_better = _n_forms(pair, WORSE), _n_forms(pair, BETTER)
    moved = _mean_moved(mean)
    if not tested:
        parts = [f"{len(forms)} forms, no test of a change"]
    elif n_worse or n_better:
        parts = [f"{n_worse} of {len(forms)} forms worse, {n_better} better"]
    elif moved is not None:
        parts = [f"mean {moved}", "no single form beyond chance"]
    else:
        parts = [f"no change found in {len(forms)} forms"]
    if mean:
        before, now, diff, interval = (show(column.value(mean), column.kind) for column in _SUMMARY[1:])
        within = f" {interval}" if mean.get("diff_ci") else ""
        parts.append(f"mean {before} → {now}, {diff}{within}")
    if number(pair.get("n_paired")):
        parts.append(f"{words(pair.get('n_paired'))} cells paired, {n_lost} verdicts lost, {n_gained} gained")
    for key, where in (("n_only_before", "before"), ("n_only_after", "now")):
        if number(pair.get(key)):
            parts.append(f"{words(pair.get(key))} cells scored {where} only")
    return "; ".join(parts)


def _mean_moved(mean: Mapping[str, Any]) -> str | None:
    """Whether the whole interval of the mean's difference lies on one side of zero, and on which."""
    bounds = [number(bound) for bound in listed(mean, "diff_ci")]
    if not bounds or None in bounds:
        return None
    low, high = (bound or 0 for bound in bounds)
    return "lower" if high < 0 else "higher" if low > 0 else None


def _n_forms(pair: Mapping[str, Any], verdict: str) -> int:
    return sum(mapping(form).get("verdict") == verdict for form in mapping(pair, "forms").values())


def _form_lines(pair: Mapping[str, Any], *, full: bool) -> Iterator[Line]:
    records = [record for record in _forms(pair) if full or record.get("verdict") in {WORSE, BETTER}]
    if not records:
        return
    columns = (FORM, *_CHANGES)
    grid = [
        [column.header for column in columns],
        *([show(column.value(record), column.kind) for column in columns] for record in records),
    ]
    widths = [max(display_width(row[place]) for row in grid) for place in range(len(columns))]
    for row, record in zip(grid, [{}, *records], strict=True):
        cells = (
            pad(cell, width, right=column.align == "right")
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        style = "red" if record.get("verdict") == WORSE else "plain"
        yield Line(f"  {'  '.join(cells)}".rstrip(), "red" if style == "red" else "plain")


def _forms(pair: Mapping[str, Any]) -> Iterator[Record]:
    flips = [mapping(flip) for flip in listed(pair, "flips")]
    for form, change in mapping(pair, "forms").items():
        own = [flip for flip in flips if flip.get("form") == form]
        counted = {
            f"n_{way}": sum(len(listed(flip, way)) for flip in own)
            for way in ("lost", "gained")
            if number(pair.get("n_paired"))
        }
        yield {**mapping(change), "form": str(form), **counted}


def _summaries(pair: Mapping[str, Any]) -> Iterator[Record]:
    for figure, change in mapping(pair, "summary").items():
        yield {**mapping(change), "figure": str(figure)}


def _flips(pair: Mapping[str, Any]) -> Iterator[Record]:
    for flip in map(mapping, listed(pair, "flips")):
        yield {
            **flip,
            "lost_in": listed(flip, "lost"),
            "lost": _repetitions(flip, "lost"),
            "gained": _repetitions(flip, "gained"),
        }


def _repetitions(flip: Mapping[str, Any], way: str) -> str:
    return ", ".join(map(words, listed(flip, way)))


def _verifier_flips(pair: Mapping[str, Any]) -> list[str]:
    """What scoring again has changed, which is the verifier's doing."""
    flips = mapping(pair, "verifier_flips")
    if not flips:
        return []
    versions = ", ".join(map(words, listed(flips, "versions"))) or "the same verifiers"
    before, now = words(flips.get("n_before")), words(flips.get("n_after"))
    return [
        (
            f"scored again ({versions}): {before} verdicts of the earlier rows and {now} of these changed by "
            "the verifier alone, and count as no change of the model"
        ),
        *(words(example) for example in listed(flips, "examples")),
    ]


def _absent(document: Document, key: str) -> list[str]:
    return [
        f"{words(mapping(pair).get('panel'))}, {words(mapping(pair).get('model'))}"
        for pair in listed(mapping(document, "comparison"), key)
    ]


def _every(records: Any) -> Any:
    """Records of one pair, made into records of all pairs."""

    def of_all(document: Document) -> Iterator[Record]:
        for pair in pairs_of(document):
            shared = {key: scalar(pair.get(key)) for key in ("panel", "model", "baseline_model")}
            for record in records(pair):
                yield {**record, **shared}

    return of_all


def _bullets(entries: list[str]) -> str:
    return "\n".join(f"- {escape_markdown(entry)}" for entry in entries)

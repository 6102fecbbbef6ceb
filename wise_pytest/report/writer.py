"""Writes the reports of a run; called by ``finish``, ``wise audit`` and ``wise report``.

The only module here that touches a file. All texts are
ready before the first file is written, and each file is replaced whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wise_pytest.files import reason_of, write_whole
from wise_pytest.report.csvfiles import render_tables
from wise_pytest.report.markdown import fit_markdown, render_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wise_pytest.records import CellKey, Row
    from wise_pytest.report.kinds import ReportKind
    from wise_pytest.report.objects import Document

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable that names the summary page of a CI step."""
STEP_SUMMARY_BYTES = 1024 * 1024
"""GitHub drops a step's summary that is larger than this."""
COMMENT_BYTES = 65_536
"""GitHub refuses a comment of more characters than this; no text has more of them than bytes."""


@dataclass(frozen=True, slots=True)
class Generations:
    """What the page shows beside the audit: what was generated, and how."""

    rows: Iterable[Row] = ()
    manifest: Mapping[str, Any] | None = None
    """The run's, if it is one run's audit."""
    replies: Mapping[CellKey, str] = field(default_factory=dict)
    """Recorded bodies of replies, by the key of their row."""
    note: str = ""
    """Why rows are not there, for the page."""


def write_report(
    document: Document,
    directory: Path,
    kinds: Iterable[ReportKind],
    *,
    json_text: str,
    generations: Generations | None = None,
) -> list[Path]:
    """Write each report that is asked for, in order.

    Parameters
    ----------
    document
        The decoded ``audit.json``.
    directory
        The run's folder; made if needed.
    kinds
        What to write; one that names no path goes to its place in ``directory``.
    json_text
        The text of ``audit.json``.
    generations
        What the HTML shows beside the audit; without it, the audit alone.

    Returns
    -------
    list of Path
        The files, and the folders of tables and pictures; each once.

    Raises
    ------
    ReportError
        If a file cannot be written, or a picture not drawn; files that were there
        before and are not yet replaced stay as they were.
    """
    beside = Generations() if generations is None else generations
    ready = [(kind.target(directory), _files(document, kind, directory, json_text, beside)) for kind in kinds]
    for _, files in ready:
        for path, content in files.items():
            write_whole(path, content)
    return list(dict.fromkeys(target for target, _ in ready))


def append_step_summary(environ: Mapping[str, str], text: str) -> str | None:
    """Append markdown to the summary page of the CI step, if there is one.

    What the file already holds counts towards GitHub's cap; ``text`` is cut to
    what is left. Never raises: a summary page must not change a run's outcome.

    Returns
    -------
    str or None
        What happened, in one line, or ``None`` where ``GITHUB_STEP_SUMMARY`` is not set.
    """
    name = environ.get(STEP_SUMMARY)
    if not name:
        return None
    try:
        path = Path(name)
        held = path.stat().st_size if path.exists() else 0
        # A heading that follows a line without its end would become part of it.
        separator = "\n" if held else ""
        whole = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
        fitted = fit_markdown(whole, STEP_SUMMARY_BYTES - held - len(separator))
        # Part of a verdict is worse than none.
        if not fitted.startswith(whole.partition("\n")[0]) or not fitted:
            return f"step summary: {name} has no room left, nothing was added"
        with path.open("ab") as stream:
            stream.write(f"{separator}{fitted}".encode())
    except (OSError, ValueError) as problem:
        return f"step summary: {name} cannot be written: {reason_of(problem)}"
    return f"step summary: added to {name}" + ("" if fitted == whole else ", cut to fit its limit of 1 MiB")


def _files(
    document: Document, kind: ReportKind, directory: Path, json_text: str, beside: Generations
) -> Mapping[Path, str | bytes]:
    target = kind.target(directory)
    if kind.kind == "csv":
        return {target / name: text for name, text in render_tables(document).items()}
    if kind.kind in {"svg", "png"}:
        return {target / name: content for name, content in _pictures(document, kind.kind).items()}
    return {target: json_text if kind.kind == "json" else _text(document, kind.kind, beside)}


def _text(document: Document, kind: str, beside: Generations) -> str:
    if kind == "html":
        from wise_pytest.report.html.page import render_page

        return render_page(
            document, beside.rows, manifest=beside.manifest, replies=beside.replies, rows_note=beside.note
        )
    text = render_markdown(document)
    return fit_markdown(text, COMMENT_BYTES) if kind == "comment" else text


def _pictures(document: Document, kind: str) -> dict[str, str | bytes]:
    from wise_pytest.report.figures.catalog import figures_of
    from wise_pytest.report.figures.png import to_png

    drawn = {figure.name: figure.standalone() for figure in figures_of(document)}
    return {f"{name}.{kind}": to_png(svg) if kind == "png" else svg for name, svg in drawn.items()}

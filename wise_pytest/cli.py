"""The command ``wise``: what can be done with rows after a session, without pytest and without calls."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest import __version__
from wise_pytest.errors import ConfigError, OptionError
from wise_pytest.options import DEFAULT_CASSETTES, GATE_OPTIONS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from wise_pytest.audit.rows import Rescored
    from wise_pytest.cassettes.pack import RecordingKey

BOOTSTRAP_OPTIONS = ("seed", "replicates")
EXIT_GATE = 1
EXIT_USAGE = 2
MAX_FLIPS_SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 where all is well, 1 where the gate fails, 2 where the input cannot be used."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
    except ConfigError as error:
        _print([f"wise: error: {error}"], sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wise", description="Wording robustness of language models.")
    parser.add_argument("--version", action="version", version=f"wise-pytest {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    audit = commands.add_parser(
        "audit",
        help="audit rows of one or more runs, and judge the gate",
        description="Audit the rows of one or more runs: merge them, score again, judge the gate.",
    )
    audit.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    audit.add_argument("--out", type=Path, metavar="DIR", help="write audit.json, audit.md and tables/ there")
    audit.add_argument(
        "--rescore", action="store_true", help="verify every text again, and report verdicts that change"
    )
    helps = {option.name: option for option in OPTIONS}
    audit.add_argument("--exclude", action="append", default=[], metavar="MODEL", help=helps["exclude"].help)
    audit.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="KIND[:PATH]",
        help="markdown, json or csv, into DIR or to PATH, repeatable (default: all into DIR)",
    )
    for name in (*BOOTSTRAP_OPTIONS, *GATE_OPTIONS):
        audit.add_argument(f"--{name}", metavar=helps[name].metavar, help=helps[name].help)
    audit.set_defaults(run=_audit)
    cassettes = commands.add_parser("cassettes", help="see what is recorded")
    actions = cassettes.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list",
        help="list recordings: missing, orphaned and unplayed ones",
        description="List the recordings of each panel and model beside what the panel plans.",
    )
    listing.add_argument(
        "--cassettes", type=Path, default=Path(DEFAULT_CASSETTES), metavar="DIR", help=helps["cassettes"].help
    )
    listing.add_argument(
        "--rows", nargs="+", metavar="ROWS", help="rows of a run: say which recordings it has not played"
    )
    listing.add_argument("--cells", action="store_true", help="name every cell that is counted")
    listing.set_defaults(run=_list_cassettes)
    agreement = commands.add_parser(
        "agreement",
        help="how human annotators understand and rate the wording forms",
        description="Rates by form and annotator, Fleiss' kappa and ICC(2,k) of human ratings.",
    )
    agreement.add_argument(
        "ratings",
        type=Path,
        metavar="RATINGS.csv",
        help="columns item, form, target, annotator, exact_n (0/1, no/yes, false/true), and clarity, "
        "naturalness, ambiguity, complexity (1 to 5); one line for each item and annotator",
    )
    agreement.add_argument("--out", type=Path, metavar="DIR", help="write agreement.json, agreement.md there")
    for name in BOOTSTRAP_OPTIONS:
        agreement.add_argument(f"--{name}", metavar=helps[name].metavar, help=helps[name].help)
    agreement.set_defaults(run=_agreement)
    return parser


def _audit(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.audit import build_audit
    from wise_pytest.audit.document import dump, to_document
    from wise_pytest.audit.facts import row_facts
    from wise_pytest.audit.gate import evaluate_gate
    from wise_pytest.audit.rows import read_rows, rescore
    from wise_pytest.manifest import progress, read_expected_models, read_plans
    from wise_pytest.report.kinds import kinds_of_a_run, parse_report_option
    from wise_pytest.report.terminal import summary_lines
    from wise_pytest.report.writer import write_report
    from wise_pytest.settings import bootstrap_replicates, bootstrap_seed, thresholds

    limits = thresholds({name: getattr(parsed, name.replace("-", "_")) for name in GATE_OPTIONS}, prefix="")
    seed = bootstrap_seed(parsed.seed, "--seed")
    replicates = bootstrap_replicates(parsed.replicates, "--replicates")
    kinds = [parse_report_option(text, "--report") for text in parsed.report]
    exclude = [name for text in parsed.exclude for name in text.split(",")]
    rows = read_rows(parsed.rows)
    rescored = rescore(rows) if parsed.rescore else None
    if rescored is not None:
        rows = list(rescored.rows)
    done = progress(read_plans(parsed.rows), rows)
    provenance = {"wise_pytest": __version__, "partial": done.partial, **row_facts(rows)}
    audit = build_audit(
        rows,
        exclude=exclude,
        planned=done.n_cells,
        provenance=provenance,
        seed=seed,
        replicates=replicates,
    )
    gate = evaluate_gate(
        audit, limits, expected_models=read_expected_models(parsed.rows), partial=done.partial
    )
    document = to_document(audit, gate)
    text = dump(document)
    places = [kind for kind in kinds if kind.path is not None]
    if parsed.out is not None:
        places = [*kinds_of_a_run(kinds), *places]
    elif len(places) < len(kinds):
        raise OptionError("--report KIND needs a place: write --report KIND:PATH, or give --out DIR")
    written = write_report(document, parsed.out or Path.cwd(), places, json_text=text)
    width = shutil.get_terminal_size().columns
    _print((line.text for line in summary_lines(document, width=width, report_paths=written)), sys.stdout)
    if rescored is not None:
        _print(_rescored_lines(rescored), sys.stdout)
    return 0 if gate.status == "pass" else EXIT_GATE


def _list_cassettes(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.rows import read_rows
    from wise_pytest.cassettes.inventory import take_inventory, unplayed
    from wise_pytest.panels.loader import bundled_panels

    if not parsed.cassettes.is_dir():
        raise OptionError(f"{parsed.cassettes}: is no folder; name the recordings with --cassettes DIR")
    played: dict[tuple[str, str], list[RecordingKey]] = {}
    for row in read_rows(parsed.rows or []):
        played.setdefault((row.panel, row.model), []).append((row.item, row.form, row.repetition))
    for pack in take_inventory(parsed.cassettes, bundled_panels()):
        groups = {"missing": pack.missing, "orphaned": pack.orphaned}
        if parsed.rows:
            groups["unplayed"] = unplayed(pack.recorded, played.get((pack.panel, pack.model), []))
        planned = "an unknown panel" if pack.n_planned is None else str(pack.n_planned)
        counts = ", ".join(f"{len(keys)} {name}" for name, keys in groups.items())
        _print([f"{pack.panel}, {pack.model}: {pack.n_recorded} recorded of {planned}, {counts}"], sys.stdout)
        if parsed.cells:
            _print(
                (f"  {name}: {key}" for name, keys in groups.items() for key in map(_shown, keys)), sys.stdout
            )
    return 0


def _agreement(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.agreement import build_agreement, to_document
    from wise_pytest.audit.document import dump
    from wise_pytest.audit.ratings import read_ratings
    from wise_pytest.files import write_whole
    from wise_pytest.report.agreement import agreement_lines, render_agreement
    from wise_pytest.settings import bootstrap_replicates, bootstrap_seed

    seed = bootstrap_seed(parsed.seed, "--seed")
    replicates = bootstrap_replicates(parsed.replicates, "--replicates")
    audit = build_agreement(
        read_ratings(parsed.ratings),
        seed=seed,
        replicates=replicates,
        provenance={"wise_pytest": __version__},
    )
    document = to_document(audit)
    _print(agreement_lines(document), sys.stdout)
    if parsed.out is not None:
        texts = {"agreement.json": dump(document), "agreement.md": render_agreement(document)}
        written = [write_whole(parsed.out / name, text) for name, text in texts.items()]
        _print((f"report: {path}" for path in written), sys.stdout)
    return 0


def _shown(key: RecordingKey) -> str:
    item, form, repetition = key
    return f"{item}, {form}, repetition {repetition}"


def _rescored_lines(rescored: Rescored) -> list[str]:
    """What scoring again has changed, and what it could not reach."""
    lines = [
        f"scored again: {rescored.n_rescored} rows, {len(rescored.flips)} verdicts changed",
        *(f"  {flip}" for flip in rescored.flips[:MAX_FLIPS_SHOWN]),
    ]
    if len(rescored.flips) > MAX_FLIPS_SHOWN:
        lines.append(f"  … and {len(rescored.flips) - MAX_FLIPS_SHOWN} more")
    if rescored.n_kept:
        lines.append(f"not scored again: {rescored.n_kept} rows without text, target or verifier")
    return lines


def _print(lines: Iterable[str], stream: TextIO) -> None:
    """Print to a stream that may not carry every character."""
    from wise_pytest.report.text import degrade

    for line in lines:
        print(degrade(line, stream.encoding), file=stream)

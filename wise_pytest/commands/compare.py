"""``wise compare``: two runs, or two models of one run, form by form and verdict by verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest import __version__
from wise_pytest.commands.console import BOOTSTRAP_OPTIONS, add_shared, help_of, print_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from wise_pytest.audit.baseline import Baseline, Side
    from wise_pytest.audit.comparison import Comparison

SEPARATOR = "::"
"""Between a run and one of its models."""
EXIT_WORSE = 1
EXIT_REFUSED = 2


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    compare = commands.add_parser(
        "compare",
        help="compare two runs, or two models: which forms changed, by how much, how sure",
        description="Compare two runs of the same cells. RUN is a run's folder, rows, a saved baseline or "
        f"(before) an audit.json; RUN{SEPARATOR}MODEL is one model of it.",
    )
    compare.add_argument("before", metavar="BEFORE", help="the earlier run")
    compare.add_argument("after", metavar="AFTER", help="the later run; may be the same, with other models")
    compare.add_argument(
        "--map", action="append", default=[], metavar="NEW=OLD", help=help_of("baseline-map")
    )
    compare.add_argument("--shared", action="store_true", help="where runs differ, compare what they share")
    compare.add_argument(
        "--rescore",
        action="store_true",
        help="verify every text again with the newest verifiers first, and tell what that changes apart",
    )
    compare.add_argument(
        "--fail-if-worse",
        action="store_true",
        help="exit with 1 if any form is worse beyond chance, with 2 if any could not be tested",
    )
    compare.add_argument(
        "--out", type=Path, metavar="DIR", help="write comparison.json, comparison.md and tables/ there"
    )
    add_shared(compare, BOOTSTRAP_OPTIONS)
    compare.set_defaults(run=_compare)


def _compare(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.comparison import Asked, compare
    from wise_pytest.audit.comparison_document import comparison_document
    from wise_pytest.audit.document import dump
    from wise_pytest.files import write_whole
    from wise_pytest.report.comparison import comparison_lines
    from wise_pytest.report.csvfiles import render_comparison_tables
    from wise_pytest.report.markdown import render_comparison
    from wise_pytest.settings import catalog_of
    from wise_pytest.values import bootstrap_replicates, bootstrap_seed, parse_models_map

    catalog = catalog_of(Path.cwd())
    before, after, models = _sides(parsed, parse_models_map(parsed.map, "--map"))
    comparison = compare(
        before,
        after,
        Asked(
            replicates=bootstrap_replicates(parsed.replicates, "--replicates"),
            seed=bootstrap_seed(parsed.seed, "--seed"),
            models=models,
            shared=parsed.shared,
            rescore=parsed.rescore,
            panels=catalog,
            verifier_of=catalog.verifier,
        ),
    )
    document = {
        "schema": "wise.comparison/1",
        "wise_pytest": __version__,
        "comparison": comparison_document(comparison),
    }
    print_lines((line.text for line in comparison_lines(document, full=True)), sys.stdout)
    if parsed.out is not None:
        texts = {
            "comparison.json": dump(document),
            "comparison.md": render_comparison(document),
        }
        tables = render_comparison_tables(document)
        texts |= {f"tables/{name}": text for name, text in tables.items()}
        written = [write_whole(parsed.out / name, text) for name, text in texts.items()]
        print_lines((f"report: {path}" for path in written), sys.stdout)
    return _exit_status(comparison, fail_if_worse=parsed.fail_if_worse)


def _exit_status(comparison: Comparison, *, fail_if_worse: bool) -> int:
    compared = [pair.result for pair in comparison.pairs if pair.result is not None]
    if not compared or any(pair.refused for pair in comparison.pairs):
        return EXIT_REFUSED
    if not fail_if_worse:
        return 0
    untested = list(_untested(comparison))
    print_lines((f"wise: error: --fail-if-worse: {said}" for said in untested), sys.stderr)
    if any(change.worse for result in compared for change in result.forms.values()):
        return EXIT_WORSE
    return EXIT_REFUSED if untested else 0


def _untested(comparison: Comparison) -> Iterator[str]:
    """Forms that have counts on both sides and no test: of them nobody knows whether they are worse."""
    for pair in comparison.pairs:
        forms = {} if pair.result is None else pair.result.forms
        open_forms = {
            form: change
            for form, change in forms.items()
            if change.diff is not None and change.p_holm is None
        }
        if open_forms:
            why = pair.why_no_intervals or next(iter(open_forms.values())).reason or "not available"
            yield f"{pair.panel}, {pair.model}: {', '.join(open_forms)} could not be tested: {why}"


def _sides(parsed: argparse.Namespace, models: dict[str, str]) -> tuple[Baseline, Side, dict[str, str]]:
    """Both runs, and which models of theirs belong together."""
    from wise_pytest.audit.baseline import AuditSide
    from wise_pytest.errors import OptionError

    (before, old), (after, new) = map(_side, (parsed.before, parsed.after))
    if isinstance(after, AuditSide):
        raise OptionError(f"{parsed.after}: an audit holds no cells; give the rows of the later run")
    if (old is None) != (new is None) and not models:
        raise OptionError(
            f"name a model of both runs, BEFORE{SEPARATOR}OLD AFTER{SEPARATOR}NEW, or use --map NEW=OLD"
        )
    if old is not None and new is not None:
        models[new] = old
        before, after = before.only(old), after.only(new)
    elif not models:
        names = [sorted({model for _, model in side.pairs()}) for side in (before, after)]
        if len(names[0]) == len(names[1]) == 1:
            models = {names[1][0]: names[0][0]}
    return before, after, models


def _side(text: str) -> tuple[Baseline, str | None]:
    from wise_pytest.comparing import baseline_at

    place, separator, model = text.partition(SEPARATOR)
    if Path(text).exists():
        place, separator, model = text, "", ""
    return baseline_at(place), model if separator else None

"""``wise agreement``: how human annotators understand and rate the wording forms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest import __version__
from wise_pytest.commands.console import BOOTSTRAP_OPTIONS, add_shared, print_lines

if TYPE_CHECKING:
    import argparse


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
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
    agreement.add_argument(
        "--key", type=Path, metavar="KEY.csv", help="which form each code stands for, as wise review wrote it"
    )
    agreement.add_argument("--out", type=Path, metavar="DIR", help="write agreement.json, agreement.md there")
    add_shared(agreement, BOOTSTRAP_OPTIONS)
    agreement.set_defaults(run=_agreement)


def _agreement(parsed: argparse.Namespace) -> int:
    from wise_pytest.audit.agreement import build_agreement, to_document
    from wise_pytest.audit.document import dump
    from wise_pytest.audit.ratings import read_key, read_ratings, with_forms
    from wise_pytest.files import write_whole
    from wise_pytest.report.agreement import agreement_lines, render_agreement
    from wise_pytest.values import bootstrap_replicates, bootstrap_seed

    seed = bootstrap_seed(parsed.seed, "--seed")
    replicates = bootstrap_replicates(parsed.replicates, "--replicates")
    ratings = read_ratings(parsed.ratings)
    if parsed.key is not None:
        ratings = with_forms(ratings, read_key(parsed.key), where=parsed.key)
    audit = build_agreement(
        ratings,
        seed=seed,
        replicates=replicates,
        provenance={"wise_pytest": __version__},
    )
    document = to_document(audit)
    print_lines(agreement_lines(document), sys.stdout)
    if parsed.out is not None:
        texts = {"agreement.json": dump(document), "agreement.md": render_agreement(document)}
        written = [write_whole(parsed.out / name, text) for name, text in texts.items()]
        print_lines((f"report: {path}" for path in written), sys.stdout)
    return 0

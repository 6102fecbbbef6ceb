"""``wise plan-power``: how large a run must be to see a gap or a drop, and what it costs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wise_pytest.audit.rules import POINTS
from wise_pytest.commands.console import help_of, print_lines, print_table
from wise_pytest.commands.gate import SETTINGS_FILE
from wise_pytest.errors import OptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from wise_pytest.audit.table import RowTable
    from wise_pytest.endpoints.model import Price
    from wise_pytest.stats.bootstrap import ItemCounts
    from wise_pytest.stats.power import Question, Recorded

DEFAULT_ITEMS = "25,50,100"
DEFAULT_REPETITIONS = "1,3,5"
DEFAULT_POWER = "80"
DEFAULT_SIMULATIONS = "200"
DEFAULT_REPLICATES = "500"
MAX_SIZE = 100_000
MILLION = 1_000_000


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    power = commands.add_parser(
        "plan-power",
        help="how many items and repetitions it takes to see a gap or a drop, and what that costs",
        description="Simulate runs of several sizes from the rates of a recorded one, and test them as "
        "wise audit (a gap) or wise compare (a drop) would.",
    )
    power.add_argument("rows", nargs="+", metavar="ROWS", help="a generations.jsonl, or a run's folder")
    effect = power.add_mutually_exclusive_group(required=True)
    effect.add_argument("--drop", metavar="POINTS", help="see a form that drops by so much between two runs")
    effect.add_argument(
        "--gap", metavar="POINTS", help="see a form that lies so far below the reference form"
    )
    power.add_argument("--panel", metavar="ID", help="panel to plan for (default: the only one in the rows)")
    power.add_argument(
        "--model", metavar="NAME", help="model to plan for (default: the only one in the rows)"
    )
    power.add_argument(
        "--form", metavar="ID", help="form that drops or lies below (default: that with the most noise)"
    )
    power.add_argument(
        "--power",
        default=DEFAULT_POWER,
        metavar="PERCENT",
        help=f"how often it is to be seen (default: {DEFAULT_POWER})",
    )
    power.add_argument(
        "--items", default=DEFAULT_ITEMS, metavar="N,N…", help=f"sizes to try (default: {DEFAULT_ITEMS})"
    )
    power.add_argument(
        "--repetitions",
        default=DEFAULT_REPETITIONS,
        metavar="N,N…",
        help=f"repetitions to try (default: {DEFAULT_REPETITIONS})",
    )
    power.add_argument(
        "--simulations",
        default=DEFAULT_SIMULATIONS,
        metavar="N",
        help=f"simulated runs of each size (default: {DEFAULT_SIMULATIONS})",
    )
    power.add_argument(
        "--replicates",
        default=DEFAULT_REPLICATES,
        metavar="N",
        help=f"bootstrap replicates of each (default: {DEFAULT_REPLICATES})",
    )
    power.add_argument("--seed", metavar="N", help=help_of("seed"))
    power.set_defaults(run=_plan_power)


@dataclass(frozen=True, slots=True)
class _Size:
    """One size of run, and what came of it."""

    items: int
    repetitions: int
    n_requests: int
    power: float


def _plan_power(parsed: argparse.Namespace) -> int:
    import numpy as np

    from wise_pytest.audit.rows import read_table
    from wise_pytest.stats.power import simulate_power
    from wise_pytest.values import bootstrap_seed

    wanted = _percent(parsed.power, "--power")
    items, repetitions = _sizes(parsed.items, "--items"), _sizes(parsed.repetitions, "--repetitions")
    simulations = _size(parsed.simulations, "--simulations")
    replicates = _size(parsed.replicates, "--replicates")
    seed = bootstrap_seed(parsed.seed, "--seed")
    table = read_table(parsed.rows)
    panel, model = _chosen(table, "panel", parsed.panel), _chosen(table, "model", parsed.model)
    table = table.take(table.coded("panel").among([panel]) & table.coded("model").among([model]))
    recorded, question, notes = _question(parsed, table, panel)
    print_lines([_introduction(question, recorded, panel, model), *notes], sys.stdout)
    cost = _Cost.of(table, model)
    found = []
    for n_items in items:
        for n_repetitions in repetitions:
            # Each size has draws of its own: no figure depends on which others were asked for.
            rng = np.random.default_rng([seed, n_items, n_repetitions])
            rate = simulate_power(
                recorded,
                question,
                n_items=n_items,
                repetitions=n_repetitions,
                simulations=simulations,
                replicates=replicates,
                rng=rng,
            )
            n_requests = n_items * n_repetitions * len(recorded.forms)
            found.append(_Size(n_items, n_repetitions, n_requests, float(rate.value or 0)))
    print_table(_table(found, cost), sys.stdout, right=True)
    print_lines(_conclusion(found, wanted, simulations, cost, _available(panel)), sys.stdout)
    return 0


def _question(
    parsed: argparse.Namespace, table: RowTable, panel: str
) -> tuple[Recorded, Question, list[str]]:
    """What is to be found, in what was recorded, and what to know about that."""
    from wise_pytest.audit.tallies import tally_table
    from wise_pytest.settings import catalog_of
    from wise_pytest.stats.power import Question, shrunken_rates

    counts = tally_table(table, openings=(), items=True).items.get(panel)
    if counts is None:
        raise OptionError(f"panel {panel} has no scored row of this model to plan from")
    try:
        recorded = shrunken_rates(counts.forms, counts.n_compliant[0], counts.n[0])
    except ValueError as error:
        raise OptionError(f"panel {panel}: {error}") from error
    declared = catalog_of(Path.cwd()).get(panel)
    reference = declared.reference if declared is not None else "POS"
    effect, text = ("drop", parsed.drop) if parsed.drop is not None else ("gap", parsed.gap)
    size = _percent(text, f"--{effect}")
    if effect == "gap" and reference not in recorded.forms:
        raise OptionError(f"--gap: panel {panel} has no scored row of its reference form {reference}")
    form = parsed.form or _noisiest(recorded, reference if effect == "gap" else None)
    known = [name for name in recorded.forms if effect == "drop" or name != reference]
    if form not in known:
        raise OptionError(f"--form: {form!r} is not among the forms to choose from: {', '.join(known)}")
    source = form if effect == "drop" else reference
    if size > recorded.means[source]:
        raise OptionError(
            f"--{effect} {text}: the recorded rate of {source} is {POINTS * recorded.means[source]:.1f}, "
            "and no rate falls below 0"
        )
    notes = list(_notes(recorded, counts))
    question = Question(
        effect="drop" if effect == "drop" else "gap", size=size, form=form, reference=reference
    )
    return recorded, question, notes


def _noisiest(recorded: Recorded, reference: str | None) -> str:
    """The form whose rate is nearest to a half: what is true of it is easier to see in any other."""
    means = {form: mean for form, mean in recorded.means.items() if form != reference}
    return min(means, key=lambda form: (abs(means[form] - 0.5), form)) if means else ""


def _notes(recorded: Recorded, counts: ItemCounts) -> Iterator[str]:
    if int(counts.n.max()) == 1:
        yield "  one repetition was recorded: items cannot be told apart from noise, and the plan is cautious"
    elif recorded.alike:
        yield f"  no variance between items beyond noise in {', '.join(recorded.alike)}"
    yield f"  recorded: {len(recorded.rates)} items, rates " + ", ".join(
        f"{form} {POINTS * mean:.1f}" for form, mean in recorded.means.items()
    )


def _introduction(question: Question, recorded: Recorded, panel: str, model: str) -> str:
    points = f"{POINTS * question.size:g} points"
    if question.effect == "drop":
        before = POINTS * recorded.means[question.form]
        what = f"a drop of {question.form} by {points}, from {before:.1f}, between two runs"
    else:
        high = POINTS * recorded.means[question.reference]
        what = f"{question.form} {points} below {question.reference}, which has {high:.1f}"
    # The reference form is held against none.
    n_forms = len(recorded.forms) - (question.effect == "gap")
    return f"{panel}, {model}: to see {what} (Holm over {_counted(n_forms)}, p < 0.05)"


def _counted(n_forms: int) -> str:
    return f"{n_forms} form" if n_forms == 1 else f"{n_forms} forms"


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a request takes."""

    input_tokens: float | None
    output_tokens: float | None
    price: Price | None

    @classmethod
    def of(cls, table: RowTable, model: str) -> _Cost:
        from wise_pytest.endpoints.registry import load_registry
        from wise_pytest.settings import read_tool_table

        settings = read_tool_table(Path(SETTINGS_FILE))
        registry = load_registry(settings.get("models"), environ=os.environ)
        endpoint = registry.get(model)
        return cls(
            _mean(table, "usage.input_tokens"),
            _mean(table, "usage.output_tokens"),
            None if endpoint is None else endpoint.price,
        )

    def tokens(self, n_requests: int) -> float | None:
        """Tokens of so many requests, in and out."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return n_requests * (self.input_tokens + self.output_tokens)

    def usd(self, n_requests: int) -> float | None:
        """US dollars of so many requests."""
        if self.price is None or self.input_tokens is None or self.output_tokens is None:
            return None
        per_request = (
            self.input_tokens * self.price.input_usd + self.output_tokens * self.price.output_usd
        ) / MILLION
        return n_requests * per_request


def _table(found: Sequence[_Size], cost: _Cost) -> list[tuple[str, ...]]:
    grid: list[tuple[str, ...]] = [("items", "repetitions", "requests", "tokens", "USD", "power")]
    for size in found:
        tokens, usd = cost.tokens(size.n_requests), cost.usd(size.n_requests)
        grid.append(
            (
                str(size.items),
                str(size.repetitions),
                str(size.n_requests),
                "–" if tokens is None else f"{tokens:.0f}",
                "–" if usd is None else f"{usd:.2f}",
                f"{POINTS * size.power:.0f} %",
            )
        )
    return grid


def _available(panel: str) -> int | None:
    """The items that a run can have; ``None`` for a panel that is not known."""
    from wise_pytest.settings import catalog_of

    declared = catalog_of(Path.cwd()).get(panel)
    return None if declared is None else len(declared.items)


def _conclusion(
    found: Sequence[_Size], wanted: float, simulations: int, cost: _Cost, available: int | None
) -> Iterator[str]:
    asked = f"{POINTS * wanted:g} %"
    error = POINTS * (wanted * (1 - wanted) / simulations) ** 0.5
    enough = [
        size for size in found if size.power >= wanted and (available is None or size.items <= available)
    ]
    if enough:
        best = min(enough, key=lambda size: (size.n_requests, -size.power))
        usd = cost.usd(best.n_requests)
        price = "" if usd is None else f", about {usd:.2f} USD"
        yield (
            f"for {asked}: {best.items} items × {best.repetitions} repetitions, "
            f"{best.n_requests} requests a run{price}"
        )
    else:
        more = "--items" if available is None else f"--repetitions, or --items up to the panel's {available}"
        yield f"for {asked}: none of these sizes is enough; try more with {more}"
    yield f"each power is of {simulations} simulations, with a standard error of up to {error:.1f} points"
    if cost.price is not None:
        yield f"prices as of {cost.price.as_of}"


def _chosen(table: RowTable, name: str, asked: str | None) -> str:
    column = table.coded(name)
    known = sorted({column.values[code] for code in set(column.codes.tolist())})
    if asked is None and len(known) == 1:
        return str(known[0])
    if asked not in known:
        raise OptionError(f"--{name}: choose one of {', '.join(known) or 'none'}, not {asked!r}")
    return str(asked)


def _mean(table: RowTable, name: str) -> float | None:
    column = table.coded(name)
    known = [column.values[code] for code in column.codes.tolist() if code >= 0]
    return sum(known) / len(known) if known else None


def _percent(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < POINTS:
        raise OptionError(f"{name}: must be a number above 0 and below {POINTS}, not {text!r}")
    return value / POINTS


def _size(text: str, name: str) -> int:
    stripped = text.strip()
    # Leading zeros mean nothing; the length is checked first, since Python refuses to read very long numbers.
    digits = stripped.lstrip("0")
    if not (stripped.isascii() and stripped.isdigit() and digits and len(digits) <= len(str(MAX_SIZE))):
        digits = "0"
    if not 1 <= int(digits) <= MAX_SIZE:
        raise OptionError(f"{name}: must be a whole number from 1 to {MAX_SIZE}, not {text!r}")
    return int(digits)


def _sizes(text: str, name: str) -> list[int]:
    try:
        return [_size(part, name) for part in text.split(",")]
    except OptionError as error:
        raise OptionError(f"{name}: must be whole numbers from 1 to {MAX_SIZE}, not {text!r}") from error

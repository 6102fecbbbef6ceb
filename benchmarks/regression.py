"""How often a regression is found, and how often one is reported where there is none.

Each simulated pair is two runs of 100 items × 6 forms × 3 repetitions of one
model, compared as ``wise compare`` does. Items differ as much as those of the
bundled recordings do. One form drops by 0, 2, 5, 10 or 20 points; reported are
how often that form is found worse, and how often any other form is, which
Holm's correction must keep to 5 %. Then the gate, on runs whose true wording
gap is exactly the limit: how often it fails by the value alone, by the
percentile interval alone, and in the mode ``confident``.

    python benchmarks/regression.py [--pairs 200] [--replicates 2000] [--seed 0]
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from wise_pytest.audit.judging import Question
from wise_pytest.stats.bootstrap import ItemCounts, draw_panel
from wise_pytest.stats.paired import PairedCounts, compare_paired
from wise_pytest.stats.rates import Interval, Rate
from wise_pytest.stats.simultaneous import range_bounds
from wise_pytest.stats.summary_bootstrap import summary_intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMS = ("POS", "NEG", "NEVER", "AVOID1", "AVOID2", "CNEG")
ITEMS, REPETITIONS = 100, 3
BASES = (0.05, 0.30, 0.60, 0.90)
DROPS = (0, 2, 5, 10, 20)
ICC = 0.35
"""Of the verdicts on one item and form, about what the bundled recordings show."""
LIMIT = Fraction(1, 5)
TARGET = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200, help="simulated pairs of each kind (default: 200)")
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    print(
        f"{parsed.pairs} pairs of runs each, {ITEMS} items × {len(FORMS)} forms × {REPETITIONS} repetitions"
    )
    print(f"{'rate':>5}  {'drop':>4}  {'found':>7}  {'any other form worse':>20}  {'any form changed':>16}")
    for base in BASES:
        for drop in DROPS:
            if drop / 100 < base:
                found = regressions(base, drop / 100, parsed.pairs, parsed.replicates, parsed.seed)
                detection = f"{100 * found['found']:6.1f}%" if drop else "      –"
                print(
                    f"{100 * base:4.0f}%  {drop:>4}  {detection}  {100 * found['others']:19.1f}%  "
                    f"{100 * found['changed']:15.1f}%",
                    flush=True,
                )
    error = 100 * (TARGET * (1 - TARGET) / parsed.pairs) ** 0.5
    print(f"a share of 5 % has a standard error of {error:.1f} points over {parsed.pairs} pairs")
    print()
    print(f"true gap {100 * float(LIMIT):.0f} points, and the same limit: how often the gate fails")
    print(f"{'forms below':>11}  {'value':>6}  {'percentile':>10}  {'confident':>9}  {'inconclusive':>12}")
    for n_low in (1, 3, 5):
        gate = gates(n_low, parsed.pairs, parsed.replicates, parsed.seed)
        print(
            f"{n_low:>11}  {100 * gate['value']:5.1f}%  {100 * gate['percentile']:9.1f}%  "
            f"{100 * gate['confident']:8.1f}%  {100 * gate['inconclusive']:11.1f}%",
            flush=True,
        )


def item_rates(mean: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A rate for each item, with the spread between items that ``ICC`` says."""
    size = (1 - ICC) / ICC
    rates: NDArray[np.float64] = rng.beta(mean * size, (1 - mean) * size, size=ITEMS)
    return rates


def regressions(base: float, drop: float, pairs: int, replicates: int, seed: int) -> dict[str, float]:
    """Shares of pairs in which the dropped form is found, and in which another form is."""
    rng = np.random.default_rng([seed, round(1000 * base), round(1000 * drop)])
    counts = dict.fromkeys(("found", "others", "changed"), 0)
    for _ in range(pairs):
        before = np.repeat(item_rates(base, rng)[:, None], len(FORMS), axis=1)
        after = before.copy()
        after[:, 3] *= (base - drop) / base
        result = compare_paired(
            PairedCounts(
                items=tuple(map(str, range(ITEMS))),
                forms=FORMS,
                before=rng.binomial(REPETITIONS, before),
                after=rng.binomial(REPETITIONS, after),
                n=np.full(before.shape, REPETITIONS),
            ),
            replicates=replicates,
            rng=np.random.default_rng(seed),
        )
        others = [change for form, change in result.forms.items() if form != FORMS[3] or not drop]
        counts["found"] += result.forms[FORMS[3]].worse
        counts["others"] += any(change.worse for change in others)
        counts["changed"] += any(change.changed for change in others)
    return {name: count / pairs for name, count in counts.items()}


def gates(n_low: int, pairs: int, replicates: int, seed: int) -> dict[str, float]:
    """How often each way to judge fails runs whose true gap is the limit."""
    rng = np.random.default_rng([seed, n_low])
    question = Question("gap", LIMIT, "everywhere", "confident")
    counts = dict.fromkeys(("value", "percentile", "confident", "inconclusive"), 0)
    for _ in range(pairs):
        rates = np.repeat(item_rates(0.6, rng)[:, None], len(FORMS), axis=1)
        rates[:, -n_low:] *= (0.6 - float(LIMIT)) / 0.6
        # The true gap is over these very items, so that the limit is exactly what they have.
        gap = rates.mean(axis=0)
        rates[:, -n_low:] *= (gap[0] - float(LIMIT)) / gap[-1]
        compliant = rng.binomial(REPETITIONS, rates)
        run = ItemCounts(
            ("m",), tuple(map(str, range(ITEMS))), FORMS, compliant[None], np.full((1, ITEMS, 6), REPETITIONS)
        )
        draws = draw_panel(
            run,
            "item-cluster",
            reference="POS",
            providers={"m": "m"},
            replicates=replicates,
            rng=np.random.default_rng(seed),
        )
        found: Any = {
            form: Rate(int(n), ITEMS * REPETITIONS)
            for form, n in zip(FORMS, compliant.sum(axis=0), strict=True)
        }
        interval: Any = summary_intervals(draws, found, reference="POS").gap
        bounds: Any = range_bounds(list(found.values()), draws.rates).gap
        value = max(rate.fraction for rate in found.values()) - min(rate.fraction for rate in found.values())
        counts["value"] += value > LIMIT
        counts["percentile"] += interval.low > LIMIT
        judged = Interval(min(interval.low, bounds.low), max(interval.high, bounds.high))
        status = question.answer(value, judged).status
        counts["confident"] += status == "fail"
        counts["inconclusive"] += status == "inconclusive"
    return {name: count / pairs for name, count in counts.items()}


if __name__ == "__main__":
    main()

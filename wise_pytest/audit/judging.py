"""One value against one limit: exactly, or with its whole interval.

Called by ``gate``, which knows which values there are to judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from wise_pytest.audit.rules import POINTS
from wise_pytest.stats.rates import Interval

if TYPE_CHECKING:
    from fractions import Fraction

    from wise_pytest.audit.rules import GateMode, GateRules

CheckStatus: TypeAlias = Literal["pass", "fail", "inconclusive", "not_evaluated"]
Metric: TypeAlias = Literal[
    "coverage",
    "gap",
    "worst",
    "mean",
    "reversal",
    "tau_b",
    "max_rank_shift",
    "gap_increase",
    "form_drop",
]

RANKING_METRICS: tuple[Metric, ...] = ("reversal", "tau_b", "max_rank_shift")
ROUNDING = 1e-9
"""A bound of an interval nearer to the limit than this lies at the limit."""


@dataclass(frozen=True, slots=True)
class MetricRule:
    """How one metric is compared with its threshold."""

    threshold: str
    """Field of ``Thresholds``."""
    at_most: bool
    label: str
    points: bool = True
    """Whether the threshold is in percentage points of a rate."""
    low: float = 0.0
    """The least value that there can be; of measures of rankings alone."""
    high: float = 1.0


METRIC_RULES: dict[Metric, MetricRule] = {
    "coverage": MetricRule("min_coverage", at_most=False, label="coverage"),
    "gap": MetricRule("max_gap", at_most=True, label="gap"),
    "worst": MetricRule("min_worst", at_most=False, label="worst-form compliance"),
    "mean": MetricRule("min_mean", at_most=False, label="mean compliance"),
    "reversal": MetricRule("max_reversal", at_most=True, label="reversal rate"),
    "tau_b": MetricRule("min_tau", at_most=False, label="tau-b", points=False, low=-1.0),
    "max_rank_shift": MetricRule(
        "max_rank_shift", at_most=True, label="largest rank shift", points=False, high=float("inf")
    ),
    "gap_increase": MetricRule("max_gap_increase", at_most=True, label="gap's increase since the baseline"),
    "form_drop": MetricRule("max_form_drop", at_most=True, label="drop since the baseline"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One threshold held against one value."""

    panel: str | None
    model: str | None
    """``None`` for a ranking, which is over all primary models."""
    form: str | None
    """The form that was ranked or that has changed, or a model's worst form."""
    metric: Metric
    value: Fraction | float | None
    """A rate in 0..1, or tau, or ranks; ``None`` where it could not be computed."""
    limit: Fraction
    """In the unit of ``value``."""
    status: CheckStatus
    reason: str
    """The comparison in words, or why there is none."""
    rule: str
    """Which of the rules has set the limit."""
    interval: Interval | None = None
    """What the value was judged by in the mode ``confident``."""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to check, before its answer."""

    metric: Metric
    limit: Fraction
    """In the unit of the value."""
    rule: str
    mode: GateMode
    panel: str | None = None
    model: str | None = None
    form: str | None = None

    def answer(
        self, value: Fraction | float, interval: Interval | None = None, *, why_none: str | None = None
    ) -> Check:
        """Compare ``value``, or what ``interval`` says of it, with the limit.

        Parameters
        ----------
        value
            The point estimate.
        interval
            What it is judged by in the mode ``confident``; for coverage there is nothing.
        why_none
            Why there is no interval.
        """
        if self.mode == "point" or self.metric == "coverage":
            holds = self._holds(value)
            return self._check("pass" if holds else "fail", self._compared(value), value)
        if interval is None:
            return self._check("not_evaluated", f"no interval to judge it by: {why_none}", value)
        judged = self._reach(float(value), interval)
        return self._check(self._verdict(value, judged), self._compared(value, judged), value, judged)

    def leave_open(self, reason: str) -> Check:
        """Say why there is nothing to compare."""
        return self._check("not_evaluated", reason, None)

    def _holds(self, value: Fraction | float) -> bool:
        # Tau is irrational in general: it is held against the float that the user's decimal stands for.
        limit = float(self.limit) if isinstance(value, float) else self.limit
        return bool(value <= limit if METRIC_RULES[self.metric].at_most else value >= limit)

    def _verdict(self, value: Fraction | float, judged: Interval) -> CheckStatus:
        """Beyond the limit, within it, or neither; the value itself must lie on the same side, exactly."""
        limit = float(self.limit)
        if METRIC_RULES[self.metric].at_most:
            beyond, within = judged.low > limit + ROUNDING, judged.high <= limit + ROUNDING
        else:
            beyond, within = judged.high < limit - ROUNDING, judged.low >= limit - ROUNDING
        holds = self._holds(value)
        if beyond and not holds:
            return "fail"
        return "pass" if within and holds else "inconclusive"

    def _reach(self, value: float, interval: Interval) -> Interval:
        """The interval; that of a measure of rankings, joined with its mirror image about the value.

        Resampling adds noise, and noise makes a ranking less like another: the
        percentile interval of such a measure leans away from the truth as far as
        the measure itself does. Its mirror image, the basic bootstrap interval,
        leans as far to the other side.
        """
        if self.metric not in RANKING_METRICS:
            return interval
        rule = METRIC_RULES[self.metric]
        low = min(interval.low, 2 * value - interval.high)
        high = max(interval.high, 2 * value - interval.low)
        return Interval(max(low, rule.low), min(high, rule.high))

    def _compared(self, value: Fraction | float, judged: Interval | None = None) -> str:
        rule = METRIC_RULES[self.metric]
        shown, asked = _shown(value, self.limit, scale=POINTS if rule.points else 1)
        where = "" if self.form is None else f" under {self.form}"
        within = ""
        if judged is not None:
            scale, decimals = (POINTS, 1) if rule.points else (1, 2)
            within = f" [{scale * judged.low:.{decimals}f}, {scale * judged.high:.{decimals}f}]"
        bound = "most" if rule.at_most else "least"
        return f"{rule.label}{where} {shown}{within}, asked for at {bound} {asked}"

    def _check(
        self,
        status: CheckStatus,
        reason: str,
        value: Fraction | float | None,
        interval: Interval | None = None,
    ) -> Check:
        return Check(
            panel=self.panel,
            model=self.model,
            form=self.form,
            metric=self.metric,
            value=value,
            limit=self.limit,
            status=status,
            reason=reason,
            rule=self.rule,
            interval=interval,
        )


def question(
    rules: GateRules, metric: Metric, *, panel: str | None = None, model: str | None = None
) -> Question | None:
    """What the rules ask of a metric; ``None`` where they ask nothing."""
    rule = METRIC_RULES[metric]
    found = rules.limit(rule.threshold, panel=panel, model=model)
    if found is None:
        return None
    limit = found.value / POINTS if rule.points else found.value
    return Question(metric, limit, found.rule, rules.mode, panel=panel, model=model)


def _shown(value: Fraction | float, limit: Fraction, *, scale: int) -> tuple[str, str]:
    """Value and limit with as many decimals as it takes to tell them apart."""
    shown = asked = ""
    for decimals in range(1, 7):
        shown, asked = (f"{float(number * scale):.{decimals}f}" for number in (value, limit))
        if shown != asked or value == limit:
            break
    return shown, asked

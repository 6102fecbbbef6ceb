"""How far a live run is, in one line; and what it has spent. Pure; the session writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.report.text import display_width, shorten, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_MODELS = 20


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """How far one model is."""

    model: str
    n_done: int
    n_planned: int
    n_errors: int = 0


@dataclass(frozen=True, slots=True)
class ModelSpent:
    """What one model has cost."""

    model: str
    n_calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    """``None`` of a model without a price."""
    n_inexact: int
    """Tries whose cost the provider did not say, counted at the most they can have cost."""


def progress_line(
    models: Sequence[ModelProgress],
    *,
    rate: float | None,
    usd: float | None,
    width: int | None = None,
) -> str:
    """One line such as ``431/1800 (23%), 12.3/s, 1:51 left, 2 errors, $0.12 spent | m 431/900``.

    Parameters
    ----------
    rate
        Cells a second, lately; ``None`` where that is not known yet.
    usd
        Spent so far; ``None`` where nothing has a price.
    width
        Columns to keep to; ``None`` for no limit.
    """
    done, planned = sum(m.n_done for m in models), sum(m.n_planned for m in models)
    errors = sum(m.n_errors for m in models)
    parts = [f"{done}/{planned} ({100 * done // max(1, planned)}%)"]
    if rate:
        parts += [f"{rate:.1f}/s", f"{duration((planned - done) / rate)} left"]
    if errors:
        parts.append("1 error" if errors == 1 else f"{errors} errors")
    if usd is not None:
        parts.append(f"{money(usd)} spent")
    line = ", ".join(parts)
    if len(models) > 1:
        # Those under way first: of finished and of coming ones the totals say enough.
        ordered = sorted(models, key=lambda m: m.n_done in (0, m.n_planned))
        shown = (
            f"{visible(m.model)} {m.n_done}/{m.n_planned}{f' ({m.n_errors} errors)' if m.n_errors else ''}"
            for m in ordered
        )
        line += " | " + ", ".join(shown)
    return line if width is None or display_width(line) <= width else shorten(line, width)


def spent_lines(models: Sequence[ModelSpent], *, max_usd: float | None = None) -> list[str]:
    """What a run has spent, a line for each model and one for all."""
    if not models:
        return []
    lines = [f"spent on {visible(m.model)}: {_spent(m)}" for m in models[:_MAX_MODELS]]
    if len(models) > _MAX_MODELS:
        lines.append(f"… and {len(models) - _MAX_MODELS} more models")
    priced = [m.usd for m in models if m.usd is not None]
    if len(models) > 1 or max_usd is not None:
        limit = "" if max_usd is None else f" of at most {money(max_usd)}"
        n_calls = sum(m.n_calls for m in models)
        total = money(sum(priced)) if priced else "no model has a price"
        lines.append(f"spent in all: {_calls(n_calls)}, {total}{limit}")
    return lines


def spent_record(models: Sequence[ModelSpent]) -> Mapping[str, Mapping[str, object]]:
    """What a run has spent, by model, for its manifest."""
    return {
        m.model: {
            "calls": m.n_calls,
            "input_tokens": m.input_tokens,
            "output_tokens": m.output_tokens,
            "usd": m.usd,
            "inexact": m.n_inexact,
        }
        for m in models
    }


def money(usd: float) -> str:
    """US dollars; cents, and more places where cents would hide everything."""
    if usd == 0 or usd >= 1:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= 0.0001 else f"${usd:.7f}"  # noqa: PLR2004 - what four places can show


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, such as ``1:02:03`` or ``1:51``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _spent(spent: ModelSpent) -> str:
    parts = [_calls(spent.n_calls), f"{spent.input_tokens:,} tokens in", f"{spent.output_tokens:,} out"]
    if spent.usd is not None:
        parts.append(money(spent.usd))
    if spent.n_inexact:
        parts.append(f"{_calls(spent.n_inexact)} without a count, taken at most")
    return ", ".join(parts)


def _calls(n: int) -> str:
    return "1 call" if n == 1 else f"{n:,} calls"

"""What rows say of their making that no rate shows: technical errors, and models in another's place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wise_pytest.records import Row

MAX_REASONS = 20
"""Different reasons of technical errors that the audit lists; all are in the rows."""


def row_facts(rows: Iterable[Row]) -> dict[str, Any]:
    """Facts for the audit's ``run``, the same for equal rows in any order.

    Returns
    -------
    dict
        ``errors``: the most frequent reasons of technical errors with their
        counts; ``served_model_differs``: by model, who served it instead.
    """
    reasons: Counter[str] = Counter()
    served: dict[str, str] = {}
    for row in rows:
        if row.status == "error":
            reasons[row.reason or "no reason was given"] += 1
        if "served_model_differs" in row.flags and row.served_model is not None:
            served[row.model] = min(row.served_model, served.get(row.model, row.served_model))
    most_frequent = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_REASONS]
    return {
        "errors": [{"reason": reason, "n": count} for reason, count in most_frequent],
        "served_model_differs": dict(sorted(served.items())),
    }

"""What rows say of their making that no rate shows: technical errors, and models in another's place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wise_pytest.audit.table import RowTable

MAX_REASONS = 20
"""Different reasons of technical errors that the audit lists; all are in the rows."""
SERVED_BY_ANOTHER = "served_model_differs"


def row_facts(table: RowTable) -> dict[str, Any]:
    """Facts for the audit's ``run``, the same for equal rows in any order.

    Returns
    -------
    dict
        ``errors``: the most frequent reasons of technical errors with their
        counts; ``served_model_differs``: by model, who served it instead.
    """
    import numpy as np

    reason = table.coded("reason")
    failed = np.flatnonzero(table.coded("status").among(["error"]))
    reasons = Counter(reason.get(row) or "no reason was given" for row in failed.tolist())
    flags = table.coded("flags")
    flagged = flags.among(value for value in flags.values if SERVED_BY_ANOTHER in value)
    model, server = table.coded("model"), table.coded("served_model")
    served: dict[str, str] = {}
    for row in np.flatnonzero(flagged & (server.codes >= 0)).tolist():
        name, other = model.get(row), server.get(row)
        served[name] = min(other, served.get(name, other))
    most_frequent = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_REASONS]
    return {
        "errors": [{"reason": reason, "n": count} for reason, count in most_frequent],
        "served_model_differs": dict(sorted(served.items())),
    }

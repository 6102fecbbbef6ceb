"""Rows as a pandas data frame, for notebooks and for analyses that the audit does not make.

Nothing in the package calls this; it is the way out for researchers::

    from wise_pytest.audit.frame import read_frame
    frame = read_frame("reports/latest")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.audit.rows import read_table
from wise_pytest.audit.table import FIELDS, FLOAT_FIELDS, PACKED_FIELDS, Numbers, Packed
from wise_pytest.records import SCORED_STATUSES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from wise_pytest.audit.table import RowTable

_INTEGERS = frozenset(
    {"observed", "error", "attempts", "repetition", *(name for name in FIELDS if name.startswith("usage."))}
)


def read_frame(*paths: Path | str) -> pd.DataFrame:
    """Read rows files, merged as ``wise audit`` merges them.

    Parameters
    ----------
    paths
        Rows files, or folders of runs.

    Returns
    -------
    pandas.DataFrame
        As ``to_frame``.

    Raises
    ------
    RowsError
        If a file cannot be read, or two rows contradict each other.
    """
    return to_frame(read_table(paths))


def to_frame(table: RowTable) -> pd.DataFrame:
    """One line a row, one column a field, and ``scored``.

    Returns
    -------
    pandas.DataFrame
        Names and other repeated texts are categories; counts are nullable
        integers; ``compliant`` is a nullable truth; ``latency_s`` is a float;
        ``text``, ``target`` and ``flags`` are objects. ``scored`` tells whether
        a row is in the denominator of its rates.
    """
    import numpy as np
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in FIELDS:
        column = table.columns[name]
        if isinstance(column, Numbers):
            columns[name] = column.numbers
        elif isinstance(column, Packed):
            columns[name] = np.array([column.get(row) for row in range(len(column))], dtype=object)
        elif name in _CATEGORIES:
            ordered = column.ordered()
            # Plain objects: pandas' own text type cannot hold the lone surrogates that JSON may have.
            names = pd.Index(list(ordered.values), dtype=object)
            columns[name] = pd.Categorical.from_codes(ordered.codes.tolist(), categories=names)
        else:
            found = np.empty(len(column.values) + 1, dtype=object)
            found[:-1] = column.values  # noqa: PD011 - no data frame
            every = found[column.codes]
            columns[name] = pd.array(every, dtype=_KINDS[name]) if name in _KINDS else every
    frame = pd.DataFrame(columns)
    frame["scored"] = frame["status"].isin(SCORED_STATUSES)
    return frame


_KINDS: Mapping[str, Any] = {"compliant": "boolean", **dict.fromkeys(_INTEGERS, "Int64")}
_CATEGORIES = frozenset(FIELDS) - PACKED_FIELDS - FLOAT_FIELDS - _KINDS.keys() - {"target", "flags"}

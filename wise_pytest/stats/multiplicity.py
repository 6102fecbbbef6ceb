"""Holm's correction over the contrasts of one panel.

Called by the audit's ``uncertainty``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that were corrected together."""

    adjusted: Mapping[str, float | None]
    """Every test that was given; ``None`` for the untestable."""
    size: int
    """Tests with a p value: what the correction counts."""
    untestable: tuple[str, ...]
    """Tests without one, which are not in the family."""


def holm(p_values: Mapping[str, float | None]) -> Family:
    r"""Adjust p values by Holm's step-down procedure.

    Parameters
    ----------
    p_values
        Test to raw p value in 0..1; ``None`` or NaN for an untestable one.

    Returns
    -------
    Family
        Adjusted values in 0..1, in the order given.

    Raises
    ------
    ValueError
        If a p value is outside 0..1.

    Notes
    -----
    Of :math:`m` tested values in ascending order the adjusted one in place
    :math:`k` is :math:`\max_{j \le k} \min(1, (m - j + 1) p_j)`. The same as
    ``statsmodels.stats.multitest.multipletests`` with ``method="holm"``, which
    takes longer to import than a whole audit takes to compute.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure,
    Scandinavian Journal of Statistics 6, 65-70.
    """
    tested = {name: p for name, p in p_values.items() if p is not None and not math.isnan(p)}
    for name, p in tested.items():
        if not 0 <= p <= 1:
            raise ValueError(f"{name}: {p} is no p value")
    corrected: dict[str, float] = {}
    highest = 0.0
    for place, name in enumerate(sorted(tested, key=tested.__getitem__)):
        highest = max(highest, min(1.0, (len(tested) - place) * tested[name]))
        corrected[name] = highest
    return Family(
        adjusted={name: corrected.get(name) for name in p_values},
        size=len(tested),
        untestable=tuple(name for name in p_values if name not in tested),
    )

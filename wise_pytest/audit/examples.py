"""Matched failure examples: the same cell complies under the reference form and fails under another.

Appendices B and C of the paper; called by ``audit.build_audit``. Nobody picks
them: the choice follows from the rows' keys alone, and goes round the forms,
the directions of failure and the models, so that none is shown more often
than it must be.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wise_pytest.audit.merging import combined
from wise_pytest.audit.result import Example, Examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wise_pytest.audit.table import RowTable

    Ints: TypeAlias = NDArray[np.int64]
    Hashes: TypeAlias = NDArray[np.uint64]

MAX_EXAMPLES = 12
RULE = (
    "pairs of one model, item and repetition that comply under the reference form and not under another; "
    "chosen in turn from the form, then the direction, then the model with the fewest examples so far, "
    "within these by the smallest hash of the cell's key"
)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Pairs of one form, direction and model, in the order in which they are shown."""

    form: str
    direction: str
    model: str
    pairs: Iterator[tuple[int, int]]
    """Places of the row under the reference form and of its twin."""


def find_examples(
    table: RowTable,
    panel: str,
    *,
    reference: str,
    forms: Sequence[str],
    directions: Sequence[str],
    models: Sequence[str],
    limit: int = MAX_EXAMPLES,
) -> Examples | None:
    """A few pairs of one panel.

    Parameters
    ----------
    table
        Rows of any panels, without duplicates.
    panel
        Its name.
    reference
        The form that complies.
    forms
        The panel's forms, in its order.
    directions
        The verifier's directions, in its order.
    models
        The primary models.
    limit
        Pairs to choose, from 0.

    Returns
    -------
    Examples or None
        ``None`` where no row of the panel holds its output. A pair whose two
        rows name different targets is no pair.
    """
    import numpy as np

    coded = table.coded
    here = coded("panel").among([panel]) & coded("model").among(models) & table.packed("text").present
    places = np.flatnonzero(here)
    if not len(places):
        return None
    compliant = coded("compliant").among([True])[places]
    failing = coded("compliant").among([False])[places]
    is_reference = coded("form").among([reference])[places]
    key = combined([coded(name).take(places) for name in ("model", "item", "repetition", "target")])
    good, bad = np.flatnonzero(compliant & is_reference), np.flatnonzero(failing & ~is_reference)
    good = good[np.argsort(key[good], kind="stable")]
    if not len(good) or not len(bad):
        return Examples(0, ())
    at = np.minimum(np.searchsorted(key[good], key[bad]), len(good) - 1)
    matched = key[good][at] == key[bad]
    references, twins = places[good[at[matched]]], places[bad[matched]]
    chosen = _chosen(list(_strata(table, references, twins)), forms, directions, limit)
    return Examples(len(twins), tuple(_example(table, *pair) for pair in chosen))


def _strata(table: RowTable, references: Ints, twins: Ints) -> Iterator[_Stratum]:
    import numpy as np

    columns = [table.coded(name).take(twins).ordered() for name in ("form", "direction", "model")]
    keys = combined(columns)
    order = np.lexsort((_hashes(table, twins), keys))
    firsts = np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1])) if len(order) else order
    for group in np.split(order, firsts[1:]):
        if len(group):
            form, direction, model = (column.get(int(group[0])) for column in columns)
            yield _Stratum(
                form=form,
                direction=direction or "",
                model=model,
                pairs=zip(references[group].tolist(), twins[group].tolist(), strict=True),
            )


def _chosen(
    strata: list[_Stratum], forms: Sequence[str], directions: Sequence[str], limit: int
) -> list[tuple[int, int]]:
    """Pairs in turn, each from the stratum that has been drawn upon least."""
    of_form: Counter[str] = Counter()
    of_direction: Counter[tuple[str, str]] = Counter()
    of_model: Counter[str] = Counter()
    of_cell: Counter[tuple[str, str, str]] = Counter()
    form_place = {form: place for place, form in enumerate(forms)}
    direction_place = {direction: place for place, direction in enumerate(directions)}

    def wear(stratum: _Stratum) -> tuple[int | str, ...]:
        form, direction, model = stratum.form, stratum.direction, stratum.model
        return (
            of_form[form],
            of_direction[form, direction],
            of_model[model],
            of_cell[form, direction, model],
            form_place.get(form, len(forms)),
            direction_place.get(direction, len(directions)),
            model,
            form,
            direction,
        )

    chosen: list[tuple[str, str, str, tuple[int, int]]] = []
    while strata and len(chosen) < limit:
        stratum = min(strata, key=wear)
        pair = next(stratum.pairs, None)
        if pair is None:
            strata.remove(stratum)
            continue
        form, direction, model = stratum.form, stratum.direction, stratum.model
        of_form[form] += 1
        of_direction[form, direction] += 1
        of_model[model] += 1
        of_cell[form, direction, model] += 1
        chosen.append((form, direction, model, pair))
    # Shown by form, then direction, however they were drawn.
    chosen.sort(
        key=lambda each: (
            form_place.get(each[0], len(forms)),
            each[0],
            direction_place.get(each[1], len(directions)),
            each[1],
            each[2],
        )
    )
    return [pair for _, _, _, pair in chosen]


def _hashes(table: RowTable, rows: Ints) -> Hashes:
    """A number for each row that depends on its key alone, and on nothing that one could choose."""
    import numpy as np

    total = np.zeros(len(rows), dtype=np.uint64)
    for name in ("model", "item", "form", "repetition"):
        column = table.coded(name)
        own = np.array([_hash(name, value) for value in column.values], dtype=np.uint64)
        # Sums alone would order the items alike in every stratum: mixing in between makes each its own.
        total = _mixed(total + own[column.codes[rows]])
    return total


def _mixed(numbers: Hashes) -> Hashes:
    """The finalizer of SplitMix64; arithmetic modulo 2^64."""
    import numpy as np

    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def _hash(name: str, value: object) -> int:
    content = f"{name}\n{value}".encode("utf-8", errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def _example(table: RowTable, reference: int, twin: int) -> Example:
    good, bad = table.row(reference), table.row(twin)
    return Example(
        model=bad.model,
        form=bad.form,
        item=bad.item,
        repetition=bad.repetition,
        target=bad.target,
        direction=bad.direction,
        reference_text=good.text or "",
        reference_observed=good.observed,
        text=bad.text or "",
        observed=bad.observed,
        error=bad.error,
        status=bad.status,
    )

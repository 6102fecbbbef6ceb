"""In what two runs of one panel and model do not agree, in sentences that say what was found.

``comparison`` asks, and refuses the pair or compares what both sides share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from wise_pytest.audit.baseline import Side
    from wise_pytest.audit.conditions import Condition, Pair
    from wise_pytest.audit.table import RowTable

MAX_NAMED = 5
"""Items or cells that one sentence names."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which the two sides do not agree."""

    sentence: str
    shareable: bool = True
    """Whether something is left to compare."""
    of_a_model: bool = False
    """Whether two models may differ in it."""
    unknown: bool = False
    """Whether it is only that nobody can tell; that is said, and refuses nothing."""


def version_difference(before: Condition, after: Condition) -> list[Difference]:
    """Whether both asked for the same version of the panel, as far as anybody wrote it down."""
    old, new = before.digest, after.digest
    if old is None or new is None:
        silent = [name for name, digest in (("the baseline", old), ("this run", new)) if digest is None]
        said = f"{' and '.join(silent)} {'has' if len(silent) == 1 else 'have'} no digest of it"
        return [Difference(f"the panel's version could not be checked: {said}", unknown=True)]
    if old == new:
        return []
    return [
        Difference(
            "another version of the panel: its items, forms or verifier have changed "
            f"(digest {old[:12]} before, {new[:12]} now)"
        )
    ]


def decoding_difference(before: Condition, after: Condition) -> list[Difference]:
    """Whether both sent the same decoding settings, where both are known."""
    old, new = before.decoding, after.decoding
    if old is None or new is None or old == new:
        return []
    changed = [
        f"{name} {_value(old, name)} before, {_value(new, name)} now"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
    return [Difference(f"other decoding settings: {'; '.join(changed)}", shareable=False, of_a_model=True)]


def verifier_difference(old: RowTable, new: RowTable) -> Iterator[Difference]:
    """Whether the same verifiers scored both."""
    before, after = verifiers_of(old), verifiers_of(new)
    if before and after and before != after:
        yield Difference(
            f"other verifiers: {', '.join(before)} before, {', '.join(after)} now", shareable=False
        )


def grid_differences(old: RowTable, new: RowTable) -> Iterator[Difference]:
    """Items, forms and repetitions that one side alone has."""
    for field_name in ("item", "form", "repetition"):
        yield from one_sided(field_name, names_of(old, field_name), names_of(new, field_name))


def one_sided(what: str, before: AbstractSet[Any], after: AbstractSet[Any]) -> Iterator[Difference]:
    """The names that one side alone has."""
    parts = [
        f"{len(names)} only {where} ({_first_few(names)})"
        for names, where in ((before - after, "in the baseline"), (after - before, "in this run"))
        if names
    ]
    if parts:
        yield Difference(f"other {what}s: {', '.join(parts)}")


def incompleteness(before: Side, pair: Pair) -> Iterator[Difference]:
    """Whether the earlier run lacks cells that it had planned."""
    lacking = before.lacking.get(pair)
    if lacking is not None:
        yield Difference(f"the baseline is incomplete: {lacking}")


def names_of(table: RowTable, field_name: str) -> set[Any]:
    """The values that a field takes; rows without one are passed over."""
    column = table.coded(field_name)
    return {column.values[code] for code in set(column.codes.tolist()) if code >= 0}


def verifiers_of(table: RowTable) -> tuple[str, ...]:
    """The names of the verifiers that scored the rows, sorted."""
    return tuple(sorted(names_of(table, "verifier")))


def _first_few(names: Collection[Any]) -> str:
    ordered = [str(name) for name in sorted(names)]
    return ", ".join(ordered[:MAX_NAMED]) + (", …" if len(ordered) > MAX_NAMED else "")


def _value(decoding: Mapping[str, Any], name: str) -> str:
    value = decoding.get(name)
    return "not sent" if value is None else str(value)

"""What a run would ask and cost, worked out before anything is asked; for ``--wise-plan``.

Tokens are taken from recordings where there are any near: of the same model in
the same panel, else of other models in the panel. Where there are none they are
estimated from the length of the prompts and from the cap, and called so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wise_pytest.calling import charge
from wise_pytest.report.plan import PlannedCost
from wise_pytest.transport.ledger import NANO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wise_pytest.calling import CellCall
    from wise_pytest.cassettes.store import CassetteStore, Pack
    from wise_pytest.panels.model import Panel
    from wise_pytest.records import Usage

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, roughly, in today's tokenizers."""
TEMPLATE_TOKENS = 10
"""What a chat template adds to a prompt, roughly."""
SHARE_OF_CAP = 0.5
"""How much of its cap an answer uses where nothing is known of it."""
MAX_NEIGHBOURS = 200
"""Recordings that are read to measure; more say no more."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """Means over recordings."""

    tokens_per_character: float
    output_tokens: float


def plan_costs(
    calls: Iterable[CellCall], store: CassetteStore, panel_of: Callable[[str], Panel]
) -> list[PlannedCost]:
    """What the calls of a session would come to, by panel and model in their order.

    Parameters
    ----------
    calls
        Of all cells that are selected.
    store
        The recordings to measure with.
    panel_of
        The panel of an id.
    """
    groups: dict[tuple[str, str], list[CellCall]] = {}
    for call in calls:
        groups.setdefault((call.cell.panel, call.cell.model), []).append(call)
    return [_planned(panel_of(panel), model, group, store) for (panel, model), group in groups.items()]


def _planned(panel: Panel, model: str, group: Sequence[CellCall], store: CassetteStore) -> PlannedCost:
    asked = [call for call in group if call.wanted()]
    if group[0].target.record_mode == "none":
        asked = []  # whatever is not recorded: nothing is asked
    target = group[0].target
    measured, basis = _neighbours(panel, model, store)
    n_characters = sum(len(call.cell.prompt) for call in asked)
    if measured is not None:
        input_tokens = n_characters * measured.tokens_per_character
        output_tokens = len(asked) * measured.output_tokens
    else:
        input_tokens = n_characters / CHARACTERS_PER_TOKEN + TEMPLATE_TOKENS * len(asked)
        output_tokens = len(asked) * target.decoding.max_tokens * SHARE_OF_CAP
    likely = charge(
        target.endpoint,
        input_tokens=round(input_tokens),
        output_tokens=round(output_tokens),
        exact=False,
        at_peak=False,
    )
    priced = target.endpoint.price is not None
    return PlannedCost(
        panel=panel.panel_id,
        model=model,
        n_cells=len(group),
        n_requests=len(asked),
        input_tokens=likely.input_tokens,
        output_tokens=likely.output_tokens,
        basis=basis if asked else "nothing to ask",
        usd=likely.nano_usd / NANO if priced else None,
        most_usd=sum(call.most.nano_usd for call in asked) / NANO if priced else None,
        n_stale=sum(call.is_stale() for call in group),
        n_missing=sum(not call.is_recorded() for call in group),
    )


def _neighbours(panel: Panel, model: str, store: CassetteStore) -> tuple[_Measured | None, str]:
    own = _measure(panel, [store.pack(panel.panel_id, model)])
    if own is not None:
        return own, "measured"
    others = _measure(panel, (pack for pack in store.packs_of(panel.panel_id) if pack.model != model))
    return (None, "estimated") if others is None else (others, "measured on other models")


def _measure(panel: Panel, packs: Iterable[Pack]) -> _Measured | None:
    """Tokens of recordings whose providers counted them; ``None`` where there are none."""
    n_characters = n_input = n_output = n = 0
    for characters, usage in _usages(panel, packs):
        if usage.input_tokens and usage.output_tokens is not None:
            n += 1
            n_characters += characters
            n_input += usage.input_tokens
            n_output += usage.output_tokens
    return None if n == 0 else _Measured(n_input / n_characters, n_output / n)


def _usages(panel: Panel, packs: Iterable[Pack]) -> Iterator[tuple[int, Usage]]:
    """The length of the prompt and the tokens of some recordings, spread over each pack."""
    from wise_pytest.endpoints.protocols import PROTOCOLS

    items = {item.item_id: item for item in panel.items}
    forms = {form.form_id: form for form in panel.forms}
    for pack in packs:
        protocols = {str(session["id"]): str(session.get("protocol")) for session in pack.sessions}
        keys = [key for key in sorted(pack.keys()) if key[0] in items and key[1] in forms]
        for key in keys[:: max(1, len(keys) // MAX_NEIGHBOURS)]:
            recording = pack.get(key)
            protocol = None if recording is None else PROTOCOLS.get(protocols.get(recording.session, ""))
            if recording is None or protocol is None:
                continue
            exchange = recording.exchange
            reply = protocol.read_reply(exchange.status, {}, exchange.response_body)
            yield len(panel.prompt(items[key[0]], forms[key[1]])), reply.usage

"""Narrows a panel to the forms and items asked for. Called by ``settings``, the session and ``cells``.

What is chosen keeps the order of the panel or manifest, not that of the
request, so that every run plans its cells alike.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from wise_pytest.errors import PanelError
from wise_pytest.naming import explain_unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wise_pytest.panels.model import Form, Item, Panel

_T = TypeVar("_T")

_COUNT = re.compile(r"-?[0-9]{1,9}")


def select_forms(panel: Panel, form_ids: Iterable[str]) -> tuple[Form, ...]:
    """The forms of ``panel`` that have these ids.

    Raises
    ------
    PanelError
        If the panel has no such form; the message names those it has.
    """
    known = {form.form_id: form for form in panel.forms}
    return _choose(f"form of panel {panel.panel_id}", form_ids, known)


def select_items(items: Sequence[Item], text: str) -> tuple[Item, ...]:
    """The first N of ``items`` where ``text`` is a count, else those whose ids it lists between commas.

    The manifest goes round the target counts, so that the first N are balanced over them.

    Raises
    ------
    PanelError
        If an id is unknown, or there are fewer items than asked for.
    """
    if _COUNT.fullmatch(text.strip()):
        n_items = int(text)
        if not 1 <= n_items <= len(items):
            raise PanelError(f"cannot take {n_items} items: expected a number from 1 to {len(items)}")
        return tuple(items[:n_items])
    item_ids = [part.strip() for part in text.split(",") if part.strip()]
    if not item_ids:
        raise PanelError(f"expected a count of items or item ids with commas between them, not {text!r}")
    return items_of_ids(items, item_ids)


def items_of_ids(items: Sequence[Item], item_ids: Iterable[str]) -> tuple[Item, ...]:
    """Those of ``items`` that have these ids.

    Raises
    ------
    PanelError
        If an id is unknown.
    """
    return _choose("item", item_ids, {item.item_id: item for item in items})


def _choose(kind: str, asked: Iterable[str], known: dict[str, _T]) -> tuple[_T, ...]:
    wanted = set()
    for name in asked:
        if name not in known:
            raise PanelError(explain_unknown(kind, name, known))
        wanted.add(name)
    return tuple(value for name, value in known.items() if name in wanted)

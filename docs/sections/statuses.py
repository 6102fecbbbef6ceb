"""How each protocol's word for the end of a reply becomes a status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest.endpoints import anthropic, google, openai

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ENDINGS = {"openai": openai._ENDINGS, "anthropic": anthropic._ENDINGS, "google": google._ENDINGS}


def endings() -> str:
    """One row a protocol and ending."""
    rows = []
    for protocol, known in _ENDINGS.items():
        rows += [(code(protocol), code(word), code(status), "") for word, status in known.finished.items()]
        rows += [(code(protocol), code(word), code("error"), why) for word, why in known.failed.items()]
        missing = code("ok") if known.may_be_missing else code("error")
        why = (
            "flagged `finish_reason_missing`"
            if known.may_be_missing
            else "the reply does not say how it ended"
        )
        rows.append((code(protocol), "none", missing, why))
        rows.append((code(protocol), "any other", code("error"), "an ending that is not known"))
    return table(("Protocol", "Ending", "Status", "Why"), rows)


PARTS: Mapping[str, Callable[[], str]] = {"endings": endings}

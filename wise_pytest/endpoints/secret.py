"""A key, as a text that does not show itself."""

from __future__ import annotations

from wise_pytest.endpoints.messages import SCRUBBED


class Secret(str):
    """A text whose ``repr`` is ``[scrubbed]``, also inside a list or a table.

    pytest shows local values, and arguments of functions, by their ``repr``;
    what is formatted or sent is the text itself.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return SCRUBBED

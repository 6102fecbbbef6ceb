"""The point where VCR.py takes hold of an exchange.

The client sends every request through ``Front``, looked up here at each call.
While a cell's cassette is in use, VCR.py's ``custom_patches`` put another class
in its place (see ``cassettes.vcr``), which replays or records. httpx itself is
never patched, so that what else a test does over HTTP is not touched, and one
exchange is one interaction however many tries it took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from wise_pytest.endpoints.model import HttpRequest
    from wise_pytest.transport.call import Response


class Front:
    """Without a cassette: every exchange is live."""

    recorded = False
    """Whether a cassette is in use."""

    def exchange(self, request: HttpRequest, live: Callable[[HttpRequest], Response]) -> Response:
        """The final reply to ``request``."""
        return live(request)

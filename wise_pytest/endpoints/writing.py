"""What the protocols share in writing a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wise_pytest.endpoints.model import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABOUT_THE_BODY = {"accept": "application/json", "content-type": "application/json"}


def post(url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> HttpRequest:
    """A request whose body is ASCII.

    So a prompt with a lone surrogate can be sent, and equal requests are equal bytes.
    """
    return HttpRequest(
        method="POST",
        url=url,
        headers={**_ABOUT_THE_BODY, **headers},
        body=json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii"),
    )

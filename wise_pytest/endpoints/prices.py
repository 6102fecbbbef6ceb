"""What tokens cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wise_pytest.endpoints.model import Price

_MILLION = 1_000_000


def cost_usd(price: Price, *, input_tokens: float, output_tokens: float) -> float:
    """US dollars for so many tokens, outside peak hours where the provider has some.

    Parameters
    ----------
    output_tokens
        Reasoning included, as ``Usage.output_tokens`` counts them.
    """
    return (input_tokens * price.input_usd + output_tokens * price.output_usd) / _MILLION

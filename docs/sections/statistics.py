"""The bootstrap schemes, which panels they are of, and how often their intervals hold the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sections.markdown import code, table
from wise_pytest.audit.uncertainty import FEW_MODELS_COVERAGE, FEW_PROVIDERS_COVERAGE
from wise_pytest.panels.catalog import bundled_panels
from wise_pytest.stats.bootstrap import SCHEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DRAWN: Mapping[str, str] = {
    "provider-model-item": "providers; models within a drawn provider; items within a drawn model",
    "model-item": "models; items within a drawn model",
    "item-cluster": "items, jointly for all models",
    "equal-model-item": "items within each model; models weigh alike",
}
"""By scheme: what a replicate draws."""


def schemes() -> str:
    """Every scheme with the panels whose default it is."""
    rows = []
    for scheme in SCHEMES:
        panels = [code(name) for name, panel in bundled_panels().items() if panel.bootstrap == scheme]
        rows.append((code(scheme), DRAWN[scheme], ", ".join(panels) or "none"))
    return table(("Scheme", "Drawn with replacement, outermost first", "Default of"), rows)


def coverage() -> str:
    """What the slow test of coverage measures, and holds the audit's cautions to."""
    rows = [
        (
            code("provider-model-item"),
            "six providers with eleven models, as in the paper",
            _share(FEW_PROVIDERS_COVERAGE),
        ),
        (code("model-item"), "six models", _share(FEW_MODELS_COVERAGE)),
        (code("model-item"), "twenty models", "92 to 98 %"),
        (code("equal-model-item"), "eleven models, for the effect of these models", "92 to 98 %"),
    ]
    return table(("Scheme", "Units", "Held"), rows)


def _share(held: float) -> str:
    return f"{100 * held:.1f} %"


PARTS: Mapping[str, Callable[[], str]] = {"schemes": schemes, "coverage": coverage}

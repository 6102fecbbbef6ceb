"""The picture of the README: the report's own, of the bundled models."""

from __future__ import annotations

import json
from pathlib import Path

from wise_pytest.report.figures.catalog import panel_figures

SAMPLE = Path(__file__).parents[2] / "reports" / "sample" / "audit.json"
PANEL = "exact_count"
NAME = f"{PANEL}-models"


def svg() -> str:
    """Every bundled model under every form, from the sample report, which a test holds to the recordings."""
    panel = json.loads(SAMPLE.read_text("ascii"))["panels"][PANEL]
    (figure,) = (figure for figure in panel_figures(PANEL, panel) if figure.name == NAME)
    return figure.standalone()

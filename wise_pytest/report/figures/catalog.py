"""The pictures of a document, in the order in which a reader meets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wise_pytest.report.figures.charts.contrasts import contrasts
from wise_pytest.report.figures.charts.cross import cross
from wise_pytest.report.figures.charts.directions import directions
from wise_pytest.report.figures.charts.dumbbell import dumbbell
from wise_pytest.report.figures.charts.effects import effects
from wise_pytest.report.figures.charts.errors import errors
from wise_pytest.report.figures.charts.heat import heat_map
from wise_pytest.report.figures.charts.lengths import lengths
from wise_pytest.report.figures.charts.ranks import ranks
from wise_pytest.report.figures.charts.targets import targets
from wise_pytest.report.objects import panels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wise_pytest.report.figures.figure import Figure
    from wise_pytest.report.objects import Document

_OF_A_PANEL = (contrasts, effects, directions, errors, heat_map, dumbbell, ranks, targets, lengths)


def panel_figures(panel_id: str, panel: Mapping[str, Any]) -> list[Figure]:
    """The pictures of one panel that its data allow."""
    drawn = (chart(panel_id, panel) for chart in _OF_A_PANEL)
    return [figure for figure in drawn if figure is not None]


def cross_figure(document: Document) -> Figure | None:
    """The picture over all panels, where they share a model."""
    return cross(document)


def figures_of(document: Document) -> list[Figure]:
    """Every picture of the document."""
    over_all = cross_figure(document)
    of_panels = [
        figure for panel_id, panel in panels_of(document).items() for figure in panel_figures(panel_id, panel)
    ]
    return [*([] if over_all is None else [over_all]), *of_panels]

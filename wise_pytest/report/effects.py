"""The figure of a factorial panel: every effect with its interval, as SVG.

Called with the document of ``audit.factorial``; it computes nothing but places.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from wise_pytest.report.beyond import effect_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WIDTH = 860
_LEFT, _RIGHT = 330, 830
_ROW = 26
_TOP = 64
_BOTTOM = 52
_SPAN = 0.1
"""The axis reaches this far on both sides of 0 at least: small effects are to look small."""
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_MAX_TICKS = 9
_STYLE = (
    "text{font:13px Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}"
    ".soft{fill:#57606a}.head{font-weight:600}.tick{stroke:#d0d7de}.zero{stroke:#57606a;stroke-width:1.5}"
    ".bar{stroke:#0b5cad;stroke-width:2}.point{fill:#0b5cad;stroke:#0b5cad;stroke-width:2}"
    ".unclear{fill:#ffffff}.model{fill:none;stroke:#8c6d1f;stroke-width:1.5}"
)


def effects_svg(document: Mapping[str, Any]) -> str:
    """The pooled effects with their intervals, and each model's own estimate beside them.

    Parameters
    ----------
    document
        Of ``audit.factorial.to_document``.

    Returns
    -------
    str
        One SVG image with a title and a description. Filled points have
        intervals that do not hold 0. An effect without an estimate has its
        reason in the place of a point.
    """
    effects = document["pooled"]["effects"]
    models = {name: result["effects"] for name, result in document["by_model"].items()}
    several = models if len(models) > 1 else {}
    reach = _reach(effects, several.values())
    height = _TOP + _ROW * len(effects) + _BOTTOM
    title = f"Effects of each property of the wording on compliance: {document['panel']}"
    confidence = f"{100 * document['confidence']:g} %"
    described = "; ".join(f"{effect_name(effect)} {_said(effect)}" for effect in effects)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}">'
        ),
        f"<title>{html.escape(title)}</title><desc>{html.escape(described)}</desc><style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" class="head">{html.escape(title)}</text>',
        f'<text x="16" y="44" class="soft">{html.escape(_legend(confidence, document, several))}</text>',
        *_axis(reach, bottom=height - _BOTTOM),
    ]
    for row, effect in enumerate(effects):
        others = [found[row] for found in several.values()]
        parts += _effect(effect, others, y=_TOP + _ROW * (row + 0.5), reach=reach)
    return "".join([*parts, "</svg>\n"])


def _legend(confidence: str, document: Mapping[str, Any], several: Mapping[str, Any]) -> str:
    text = f"Pooled estimates with {confidence} intervals over {document['pooled']['n_items']} items"
    return f"{text}; open circles are the {len(several)} models." if several else f"{text}."


def _reach(effects: Sequence[Mapping[str, Any]], others: Any) -> float:
    ends = [
        abs(effect[key]) for effect in effects for key in ("estimate", "ci_low", "ci_high") if effect[key]
    ]
    ends += [abs(effect["estimate"]) for found in others for effect in found if effect["estimate"]]
    return 1.05 * float(max([_SPAN, *ends]))


def _axis(reach: float, *, bottom: float) -> Iterator[str]:
    step = next((step for step in _STEPS if 2 * reach / step < _MAX_TICKS), _STEPS[-1])
    n_steps = int(reach / step)
    for tick in range(-n_steps, n_steps + 1):
        x = _x(tick * step, reach)
        kind = "zero" if tick == 0 else "tick"
        yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom:.0f}"/>'
        yield (
            f'<text class="soft" x="{x:.1f}" y="{bottom + 18:.0f}" text-anchor="middle">'
            f"{_points(tick * step, digits=0)}</text>"
        )
    middle = (_LEFT + _RIGHT) / 2
    yield (
        f'<text class="soft" x="{middle:.0f}" y="{bottom + 38:.0f}" text-anchor="middle">'
        "change in compliance, percentage points</text>"
    )


def _effect(
    effect: Mapping[str, Any], others: Sequence[Mapping[str, Any]], *, y: float, reach: float
) -> Iterator[str]:
    name = html.escape(effect_name(effect))
    yield f'<text x="{_LEFT - 14}" y="{y + 4.5:.1f}" text-anchor="end">{name}</text>'
    if effect["estimate"] is None:
        yield f'<text class="soft" x="{_LEFT}" y="{y + 4.5:.1f}">{html.escape(effect["reason"])}</text>'
        return
    for other in others:
        if other["estimate"] is not None:
            yield f'<circle class="model" cx="{_x(other["estimate"], reach):.1f}" cy="{y:.1f}" r="4"/>'
    clear = False
    if effect["ci_low"] is not None:
        low, high = _x(effect["ci_low"], reach), _x(effect["ci_high"], reach)
        clear = effect["ci_low"] > 0 or effect["ci_high"] < 0
        yield f'<line class="bar" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    kind = "point" if clear else "point unclear"
    x = _x(effect["estimate"], reach)
    said = html.escape(f"{effect_name(effect)} {_said(effect)}")
    yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{said}</title></circle>'


def _said(effect: Mapping[str, Any]) -> str:
    if effect["estimate"] is None:
        return f"not available ({effect['reason']})"
    said = _points(effect["estimate"])
    if effect["ci_low"] is None:
        return said
    return f"{said} [{_points(effect['ci_low'])}, {_points(effect['ci_high'])}]"


def _points(value: float, *, digits: int = 1) -> str:
    text = f"{100 * value:+.{digits}f}"
    return "0" if float(text) == 0 and not digits else text.replace("-", "−")


def _x(value: float, reach: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value + reach) / (2 * reach)

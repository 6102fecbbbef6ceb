"""Colours of the pictures by what they mean, for a light and a dark ground, and as variables of the page.

Every scale of colours is also one of lightness, so that it reads in grey and
with any colour vision; marks that differ in meaning differ in shape as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Theme: TypeAlias = Mapping[str, str]
"""A colour for each role."""

N_HEAT = 9
"""Steps of the scale from nothing to everything."""
N_SEGMENTS = 6
"""Ways to fail that have a colour of their own; further ones share the last."""

_LIGHT_HEAT = "f3f7fb dfeaf5 c8dcef a8cae5 80b1d8 5f9dcd 2f73b0 135796 08366f"
_DARK_HEAT = "1c242d 1f3146 23405d 295178 306293 4f8abf 74a7d6 9dc5e8 d2e5f6"
_DARK_TEXT, _LIGHT_TEXT = "#10161d", "#ffffff"
_FIRST_STRONG = {"light": 6, "dark": 5}
"""The step from which on text on the scale changes its colour."""


def _scale(colours: str, first_strong: int, weak: str, strong: str) -> dict[str, str]:
    steps: dict[str, str] = {}
    for step, colour in enumerate(colours.split()):
        steps[f"heat-{step}"] = f"#{colour}"
        steps[f"heat-text-{step}"] = strong if step >= first_strong else weak
    return steps


LIGHT: Theme = {
    "paper": "#ffffff",
    "ink": "#1b2229",
    "soft": "#55606b",
    "rule": "#dfe4e9",
    "axis": "#7d8791",
    "accent": "#0b5cad",
    "warn": "#b03a06",
    "good": "#e4e8ec",
    "good-text": _DARK_TEXT,
    "segment-0": "#2b5d9b",
    "segment-text-0": _LIGHT_TEXT,
    "segment-1": "#f2a65a",
    "segment-text-1": _DARK_TEXT,
    "segment-2": "#0f6b5c",
    "segment-text-2": _LIGHT_TEXT,
    "segment-3": "#c3a5d6",
    "segment-text-3": _DARK_TEXT,
    "segment-4": "#6f3b1d",
    "segment-text-4": _LIGHT_TEXT,
    "segment-5": "#8fc7bd",
    "segment-text-5": _DARK_TEXT,
    **_scale(_LIGHT_HEAT, _FIRST_STRONG["light"], _DARK_TEXT, _LIGHT_TEXT),
}
DARK: Theme = {
    "paper": "#14191f",
    "ink": "#e7ecf1",
    "soft": "#a7b2bd",
    "rule": "#2c353e",
    "axis": "#74808c",
    "accent": "#6cb2f5",
    "warn": "#f59a63",
    "good": "#353d46",
    "good-text": "#f1f4f7",
    "segment-0": "#9ccafc",
    "segment-text-0": _DARK_TEXT,
    "segment-1": "#b5601a",
    "segment-text-1": _LIGHT_TEXT,
    "segment-2": "#7fd6c4",
    "segment-text-2": _DARK_TEXT,
    "segment-3": "#7d58a0",
    "segment-text-3": _LIGHT_TEXT,
    "segment-4": "#e8c3a6",
    "segment-text-4": _DARK_TEXT,
    "segment-5": "#2f7a6d",
    "segment-text-5": _LIGHT_TEXT,
    **_scale(_DARK_HEAT, _FIRST_STRONG["dark"], "#f1f4f7", _DARK_TEXT),
}
VARIABLES: Theme = {role: f"var(--fig-{role})" for role in LIGHT}
"""For a picture within a page that defines the variables, see ``css_variables``."""


def css_variables(theme: Theme) -> str:
    """The declarations that give a page the colours of a theme."""
    return "".join(f"--fig-{role}:{colour};" for role, colour in theme.items())


def heat_step(share: float) -> int:
    """The step of the scale for a share from 0 to 1."""
    return min(max(int(share * N_HEAT), 0), N_HEAT - 1)

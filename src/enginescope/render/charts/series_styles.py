"""Several models, sides or runs in one picture: each by its colour and by its shape or dashes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

from enginescope.render.base.palette import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from enginescope.render.html.spec import Spec

_COLORS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY)
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
_SHAPES = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")


def colored(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its colour."""
    colors = list(islice(cycle(_COLORS), len(names)))
    return _channel(field, names, colors, legend)


def dashed(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its dashes."""
    return _channel(field, names, list(islice(cycle(_DASHES), len(names))), legend)


def shaped(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its mark."""
    return _channel(field, names, list(islice(cycle(_SHAPES), len(names))), legend)


def _channel(
    field: str, names: Sequence[str], values: Sequence[object], legend: Spec | None
) -> Spec:
    scale: Spec = {"domain": list(names), "range": list(values)}
    return {"field": field, "type": "nominal", "title": None, "legend": legend, "scale": scale}

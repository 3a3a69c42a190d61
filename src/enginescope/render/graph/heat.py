"""Colours by time: viridis, each step twice as long as the one before, up to the slowest layer.

Steps of equal width would paint all of a plan alike but its one slow layer; how long the layers
are beside it is what their bars are for.
"""

from __future__ import annotations

import math

from enginescope.core.errors import UsageError
from enginescope.core.units import format_ms, format_significant
from enginescope.render.graph.categories import Category
from enginescope.render.graph.sketch import Sketch
from enginescope.render.palette import OTHER

#: Viridis at eight equal distances, dark for little.
STEPS = (
    *("#440154", "#46327e", "#365c8d", "#277f8e"),
    *("#1fa187", "#4ac16d", "#a0da39", "#fde725"),
)
_LIGHT_FROM = 4  # steps from here on carry dark text
_LIGHT, _DARK = "#ffffff", "#14171c"
UNTIMED = "no time"


def heat(given: Sketch) -> tuple[tuple[Category, ...], tuple[str | None, ...]]:
    """Return the steps that occur, the slowest first, and each node's.

    Raises
    ------
    UsageError
        There are no times.
    """
    times = given.times
    if times is None:
        raise UsageError(
            "colours by time need layer times",
            hint="--profile FILE, as trtexec --exportProfile writes it",
        )
    of_nodes = [times.sum_of_ms(node.held_layers) for node in given.graph.nodes]
    slowest = max((one for one in of_nodes if one is not None), default=0.0)
    steps = [_step(mean_ms, slowest) for mean_ms in of_nodes]
    members: dict[int | None, list[float]] = {}
    for node, step, mean_ms in zip(given.graph.nodes, steps, of_nodes, strict=True):
        if node.held_layers:
            members.setdefault(step, []).append(mean_ms or 0.0)
    found = [
        _category(step, values, slowest, times.sum_ms)
        for step, values in sorted(
            members.items(), key=lambda one: -1 if one[0] is None else one[0], reverse=True
        )
    ]
    return tuple(found), tuple(
        _name(step) if node.held_layers else None
        for node, step in zip(given.graph.nodes, steps, strict=True)
    )


def _step(mean_ms: float | None, slowest: float) -> int | None:
    if mean_ms is None:
        return None
    if not mean_ms > 0:
        return 0
    return max(0, len(STEPS) - 1 - math.floor(math.log2(slowest / mean_ms)))


def _name(step: int | None) -> str:
    return UNTIMED if step is None else str(step)


def _category(step: int | None, values: list[float], slowest: float, sum_ms: float) -> Category:
    count = f"{len(values):,} layer{'s' if len(values) != 1 else ''}"
    if step is None:
        return Category(name=UNTIMED, color=OTHER, text=f"no time: {count}")
    high = format_ms(slowest / 2 ** (len(STEPS) - 1 - step), 3)
    low = format_ms(slowest / 2 ** (len(STEPS) - step), 3).removesuffix(" ms") if step else "0"
    share = f" · {format_significant(100 * sum(values) / sum_ms, 3)} %" if sum_ms else ""
    return Category(
        name=_name(step),
        color=STEPS[step],
        ink=_DARK if step >= _LIGHT_FROM else _LIGHT,
        text=f"{low} … {high}: {count}{share}",
    )

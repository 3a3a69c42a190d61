"""Logarithmic axes that fit their values and name round ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from enginescope.render.html.spec import Spec

_MOST_TICKS = 9
#: Fine to coarse.
_STEPS = (
    tuple(1 + at / 20 for at in range(180)),
    tuple(1 + at / 5 for at in range(45)),
    (1, 1.5, 2, 3, 4, 5, 6, 8),
    (1, 2, 5),
    (1, 3),
    (1,),
)
#: 12k rather than 12,000, but 0.2 rather than 200m.
_LABEL = "datum.value < 1000 ? format(datum.value, '~r') : format(datum.value, '~s')"


def log_axis(values: Sequence[float]) -> Spec:
    """Return `scale` and `axis` of a channel over `values`, which are positive; at least one."""
    low, high = min(values), max(values)
    margin = max(10 ** (0.04 * _decades(low, high)), 1.15)
    domain = [low / margin or low, min(high * margin, sys.float_info.max)]
    return {
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": {"values": _ticks(*domain), "labelExpr": _LABEL},
    }


def _decades(low: float, high: float) -> float:
    return math.log10(high) - math.log10(low)  # high ÷ low may be too large a number


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two: as many as can be read."""
    powers: Sequence[int] = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for steps in _STEPS:
        if steps != _STEPS[-1] and len(steps) * _decades(low, high) > 10 * _MOST_TICKS:
            continue  # far too many
        every = (float(f"{step:.6g}e{power}") for power in powers for step in steps)
        found = [one for one in every if low <= one <= high]
        if len(found) <= _MOST_TICKS:
            return found
    return found[:: max(1, -(-len(found) // _MOST_TICKS))]

"""What the processes of one cell come to together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from enginescope.model.suite import CellFigure
from enginescope.stats.few_processes import level_of_processes

#: Ends of the interval of the median, which of several processes comes from between them.
_ENDS = ("latency_low", "latency_high")
#: Metric -> what those of all processes come to, where it is not their median.
_POOLED: dict[str, Callable[[Sequence[float]], float]] = {"samples": sum, "min": min, "max": max}
#: Of what only the first process may have to do: the later ones find it kept.
_OF_THE_FIRST = "cold_"


def pooled_figures(of_each: Sequence[tuple[CellFigure, ...]]) -> tuple[CellFigure, ...]:
    """Return the figures of all processes together; those of one as they are.

    Each is the median of the processes' figures, as in a comparison, and left out where a process
    does not have it; samples are added, ``min`` and ``max`` are those of all. ``latency_low`` and
    ``latency_high`` are the ends of the interval of the level that the processes scatter about.
    """
    if len(of_each) < 2:
        return of_each[0] if of_each else ()
    kinds = {one.metric: one for figures in of_each for one in figures}
    values = {
        name: [one.value for figures in of_each for one in figures if one.metric == name]
        for name in kinds
    }
    found: list[CellFigure] = []
    for name, kind in kinds.items():
        known = values[name]
        if name in _ENDS or (len(known) < len(of_each) and not name.startswith(_OF_THE_FIRST)):
            continue
        value = float(_POOLED.get(name, np.median)(known))
        found.append(CellFigure(metric=name, value=value, unit=kind.unit))
        if name == "latency":
            found += _interval(known, kind.unit)
    return tuple(found)


def _interval(medians: Sequence[float], unit: str) -> list[CellFigure]:
    interval = level_of_processes(medians)
    if interval is None:
        return []
    ends = zip(_ENDS, (interval.low, interval.high), strict=True)
    return [CellFigure(metric=name, value=value, unit=unit) for name, value in ends]

"""The percentile curve.

Logarithmic axes that fit their values and name round ones.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from enginescope.analysis.claims.percentile import percentile_name, range_or_mark
from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.samples import Percentile
from enginescope.judge.units import format_significant
from enginescope.render.base.phrases import metric_title
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_TICKS = (0, 50, 75, 90, 95, 99, 99.9)
_ALL_MARKED = 90


def percentiles(view: RunView) -> Chart | None:
    """Latency against percentile, the tail spread out; hollow where samples are too few.

    ``None`` without samples.
    """
    latency = view.latency
    if latency is None:
        return None
    rows = [_row(one) for one in view.percentile_curve]
    marked = [one for one in rows if one["marked"]]
    enough = [one for one in marked if one["stated"]]
    few = [one for one in marked if not one["stated"]]
    layers = [*_intervals(enough), _line(rows)]
    layers += [_points(enough, filled=True)] if enough else []
    layers += [_points(few, filled=False)] if few else []
    return Chart(
        key="percentiles",
        title=f"{metric_title(latency.metric)} by percentile",
        subtitle=("Hollow: too few samples to state it with an interval. Bars: 95 % intervals",),
        spec={"layer": layers},
        table=ChartTable(
            headers=("Percentile", "Latency, ms", "Effective n", "95 % CI"),
            rows=tuple(
                (row["name"], format_significant(row["y"], 4), row["effective"], row["sure"])
                for row in rows
            ),
        ),
    )


def _spread(p: float) -> float:
    """Return how many samples there are for one beyond `p`: the axis that spreads the tail."""
    return 1 / (1 - p / 100)


def _row(one: Percentile) -> Spec:
    ends = {"low": one.interval.low, "high": one.interval.high} if one.interval else {}
    return {
        "x": _spread(one.p),
        "name": percentile_name(one.p),
        "y": one.value_ms,
        "stated": one.mark is None,
        "marked": one.p >= _ALL_MARKED or one.p % 10 == 0,
        "sure": range_or_mark(one),
        "effective": f"{int(one.effective_n):,}",
        **ends,
    }


def _x() -> Spec:
    values = [_spread(p) for p in _TICKS]
    label = "'p' + format(100 * (1 - 1 / datum.value), '~g')"
    return quantity(
        "x",
        "percentile",
        scale={"type": "log", "nice": False},
        axis={"values": values, "labelExpr": label},
    )


def _line(rows: list[Spec]) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.5},
        "encoding": {"x": _x(), "y": quantity("y", "latency, ms", scale={"zero": False})},
    }


def _points(rows: list[Spec], *, filled: bool) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 30, "filled": filled},
        "encoding": {
            "x": _x(),
            "y": quantity("y", "latency, ms"),
            "tooltip": tooltip(name="percentile", y="latency, ms#", sure="sure"),
        },
    }


def _intervals(rows: list[Spec]) -> list[Spec]:
    if not rows:
        return []
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "bar", "style": "accent-band", "width": 9},
            "encoding": {
                "x": _x(),
                "y": quantity("low", "latency, ms"),
                "y2": {"field": "high"},
                "tooltip": tooltip(name="percentile", low="95 % from, ms#", high="to, ms#"),
            },
        }
    ]


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

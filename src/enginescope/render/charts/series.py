"""How latency went over time."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.run_view import RunView
from enginescope.core.units import format_significant
from enginescope.model.samples import Array, Samples
from enginescope.render.charts.downsample import MAX_POINTS, extremes
from enginescope.render.charts.spec import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.phrases import metric_title

_TABLE_ROWS = 24


def latency_series(view: RunView) -> Chart | None:
    """Every sample in order, or the extremes of equal stretches when there are too many.

    ``None`` without samples.
    """
    samples, latency = view.run.headline, view.latency
    if samples is None or latency is None:
        return None
    x, x_title = _axis(samples)
    whole = len(samples) <= MAX_POINTS
    layer = _points(x, samples.values_ms, x_title) if whole else _band(x, samples, x_title)
    drawn = f"each of {len(samples):,} samples" if whole else _band_text(x, samples)
    return Chart(
        key="latency_series",
        title=f"{metric_title(samples.metric)} over the run: {drawn}",
        subtitle=("The dashed line is the median",),
        spec={"layer": [layer, _median(latency.median_ms)]},
        table=_table(x, x_title, samples.values_ms),
        height=220,
    )


def _table(x: Array, x_title: str, values_ms: Array) -> ChartTable:
    rows = (
        tuple(format_significant(value, 4) for value in (one.x, one.low, one.high))
        for one in extremes(x, values_ms, _TABLE_ROWS)
    )
    headers = (f"From, {x_title}", "Least, ms", "Greatest, ms")
    return ChartTable(headers=headers, rows=tuple(rows))


def _axis(samples: Samples) -> tuple[Array, str]:
    if samples.start_ms is None:
        return np.arange(len(samples), dtype=np.float64), "sample"
    return samples.start_ms / 1e3, "time since the first sample, s"


def _points(x: Array, values_ms: Array, x_title: str) -> Spec:
    rows = zip(x.tolist(), values_ms.tolist(), strict=True)
    return {
        "data": {"values": [{"x": at, "y": value, "i": i} for i, (at, value) in enumerate(rows)]},
        "mark": {"type": "point", "filled": True, "size": 9, "opacity": 0.45},
        "encoding": {
            "x": quantity("x", x_title, scale={"nice": False}),
            "y": quantity("y", "latency, ms", scale={"zero": False}),
            "tooltip": tooltip(**{"i": "sample", "x": f"{x_title}#", "y": "latency, ms#"}),
        },
    }


def _band_text(x: Array, samples: Samples) -> str:
    count = len(extremes(x, samples.values_ms))
    return f"least and greatest of {count:,} stretches of {len(samples):,} samples"


def _band(x: Array, samples: Samples, x_title: str) -> Spec:
    rows = [
        {"x": one.x, "low": one.low, "high": one.high} for one in extremes(x, samples.values_ms)
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "bar", "width": 1.4},
        "encoding": {
            "x": quantity("x", x_title, scale={"nice": False}),
            "y": quantity("low", "latency, ms", scale={"zero": False}),
            "y2": {"field": "high"},
            "tooltip": tooltip(
                **{"x": f"from, {x_title}#", "low": "least, ms#", "high": "greatest, ms#"}
            ),
        },
    }


def _median(median_ms: float) -> Spec:
    return {
        "data": {"values": [{"y": median_ms}]},
        "mark": {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.2},
        "encoding": {"y": quantity("y", "latency, ms"), "tooltip": tooltip(y="median, ms#")},
    }

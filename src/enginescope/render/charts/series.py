"""Latency and memory over time: of one run, and of several models, sides or workers in one picture.

Long series are made short enough to draw, without losing a spike.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record
from enginescope.core.units import format_bytes
from enginescope.judge.samples import Array, Samples
from enginescope.judge.units import format_significant
from enginescope.render.base.palette import BLUE, GREEN, ORANGE, PURPLE, SIDES, SKY, VERMILLION
from enginescope.render.base.phrases import metric_title
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    quantity,
    tooltip,
    zoomable,
)

#: Up to so many points are drawn large enough to see each one.
_FEW = 200
#: More points than this are not drawn one by one.
MAX_POINTS = 5_000
BUCKETS = 600


class Bucket(Record, frozen=True, kw_only=True):
    """A stretch of a series: where it begins, and the extremes within it."""

    x: float
    low: float
    high: float


def extremes(x: Array, values: Array, buckets: int = BUCKETS) -> tuple[Bucket, ...]:
    """Return the least and greatest value of each of `buckets` stretches of equal count.

    Args:
        x, values: Any unit; n of at least 1.
    """
    starts = np.unique(np.linspace(0, values.size, min(buckets, values.size) + 1).astype(int)[:-1])
    lows = np.minimum.reduceat(values, starts)
    highs = np.maximum.reduceat(values, starts)
    return tuple(
        Bucket(x=float(at), low=float(low), high=float(high))
        for at, low, high in zip(x[starts], lows, highs, strict=True)
    )


_TABLE_ROWS = 24


def latency_series(view: RunView) -> Chart | None:
    """Every sample in order, or the extremes of equal stretches when there are too many.

    Samples that the histogram folds away stand at the upper edge, so that one spike does not
    flatten the rest. ``None`` without samples.
    """
    samples, latency, histogram = view.run.headline, view.latency, view.histogram
    if samples is None or latency is None or histogram is None:
        return None
    x, x_title = _axis(samples)
    limit = float(histogram.edges_ms[-1]) if histogram.n_above else float(latency.max_ms)
    whole = len(samples) <= MAX_POINTS
    rows = _points(x, samples.values_ms) if whole else _stretches(x, samples.values_ms)
    drawn = (
        f"each of {len(samples):,} samples"
        if whole
        else f"least and greatest in {len(rows):,} blocks of {len(samples):,} samples"
    )
    layers = [_marks(rows, x_title, limit, whole=whole), _median(latency.median_ms)]
    subtitle = ["The dashed line is the median"]
    if histogram.n_above:
        layers.append(_beyond(rows, x_title, limit))
        above = f"{histogram.n_above:,} above {format_significant(limit, 4)} ms"
        subtitle.append(f"Triangles at the upper edge: {above}")
    return Chart(
        key="latency_series",
        title=f"{metric_title(samples.metric)} over the run: {drawn}",
        subtitle=tuple(subtitle),
        spec=zoomable(layers),
        table=_table(x, x_title, samples.values_ms),
        height=220,
    )


def _axis(samples: Samples) -> tuple[Array, str]:
    if samples.start_ms is None:
        return np.arange(len(samples), dtype=np.float64), "sample"
    return samples.start_ms / 1e3, "time since the first sample, s"


def _points(x: Array, values_ms: Array) -> list[Spec]:
    rows = zip(x.tolist(), values_ms.tolist(), strict=True)
    return [{"x": at, "low": value, "high": value} for at, value in rows]


def _stretches(x: Array, values_ms: Array) -> list[Spec]:
    return [
        {"x": extreme.x, "low": extreme.low, "high": extreme.high}
        for extreme in extremes(x, values_ms)
    ]


def _marks(rows: list[Spec], x_title: str, limit: float, *, whole: bool) -> Spec:
    look = {"size": 9, "opacity": 0.45} if len(rows) > _FEW else {"size": 30, "opacity": 0.75}
    point = {"type": "point", "filled": True, **look, "clip": True}
    stretch = {"type": "bar", "width": 1.4, "clip": True}
    least = min(row["low"] for row in rows)
    margin = 0.06 * (limit - least) or 0.01 * limit
    scale = {"zero": False, "domain": [least - margin, limit + margin], "nice": False}
    return {
        "data": {"values": rows},
        "mark": point if whole else stretch,
        "encoding": {
            "x": quantity("x", x_title, scale={"nice": False}, axis=X_TICKS),
            "y": quantity("low", "latency, ms", scale=scale, axis={"tickCount": 6}),
            **({} if whole else {"y2": {"field": "high"}}),
            "tooltip": _tooltip(x_title),
        },
    }


def _beyond(rows: list[Spec], x_title: str, limit: float) -> Spec:
    return {
        "data": {"values": [row for row in rows if row["high"] > limit]},
        "mark": {"type": "point", "shape": "triangle-up", "filled": True, "size": 45},
        "encoding": {"x": quantity("x", x_title), "y": {"value": 5}, "tooltip": _tooltip(x_title)},
    }


def _median(median_ms: float) -> Spec:
    return {
        "data": {"values": [{"y": median_ms}]},
        "mark": {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.2},
        "encoding": {"y": quantity("y", "latency, ms"), "tooltip": tooltip(y="median, ms#")},
    }


def _tooltip(x_title: str) -> list[Spec]:
    return tooltip(x=f"{x_title}#", low="least, ms#", high="greatest, ms#")


def _table(x: Array, x_title: str, values_ms: Array) -> ChartTable:
    rows = (
        tuple(format_significant(value, 4) for value in (extreme.x, extreme.low, extreme.high))
        for extreme in extremes(x, values_ms, _TABLE_ROWS)
    )
    headers = (f"From, {x_title}", "Least, ms", "Greatest, ms")
    return ChartTable(headers=headers, rows=tuple(rows))


_COLORS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY)
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
_SHAPES = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")


def colored(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its color."""
    colors = list(islice(cycle(SIDES if field == "side" else _COLORS), len(names)))
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


_MIB = 1 << 20
_POINTS = 1_000


def memory_series(view: RunView) -> Chart | None:
    """Resident memory of the worker; ``None`` where it was not sampled."""
    telemetry = view.run.telemetry
    values = telemetry.channel("rss_bytes") if telemetry else None
    if telemetry is None or values is None or not np.isfinite(values).any():
        return None
    seen = np.isfinite(values)
    time_ms, rss = telemetry.time_ms[seen], values[seen]
    rows = [
        {"x": extreme.x / 1e3, "y": extreme.high / _MIB}
        for extreme in extremes(time_ms, rss, _POINTS)
    ]
    until_loop, peak = view.run.peak_memory_bytes, int(rss.max())
    title = f"Resident memory of the worker: peak {format_bytes(max(peak, until_loop or 0))}"
    if until_loop is not None and until_loop < peak:
        title += f", {format_bytes(until_loop)} until the timed loop ended"
    return Chart(
        key="memory",
        title=title,
        spec={
            "data": {"values": rows},
            "mark": {"type": "area", "line": True, "opacity": 0.35},
            "encoding": {
                "x": quantity(
                    "x", "time since the worker was started, s", scale={"nice": False}, axis=X_TICKS
                ),
                "y": quantity("y", "resident memory, MiB", axis={"tickCount": 5}),
                "tooltip": tooltip(x="time, s#", y="MiB#"),
            },
        },
        table=_memory_table(time_ms, rss),
        height=160,
    )


def _memory_table(time_ms: Array, rss: Array) -> ChartTable:
    rows = (
        (format_significant(extreme.x / 1e3), format_significant(extreme.high / _MIB, 4))
        for extreme in extremes(time_ms, rss, _TABLE_ROWS)
    )
    return ChartTable(headers=("From, s", "Greatest resident memory, MiB"), rows=tuple(rows))


_WORKER_POINTS = 400


def worker_memory(
    labelled: Sequence[tuple[str, RunView]], *, subtitle: tuple[str, ...] = ()
) -> Chart:
    """Resident memory of each worker, one line each; an empty plot says that there is none."""
    rows: list[Spec] = []
    peaks = []
    for label, view in labelled:
        telemetry = view.run.telemetry
        values = telemetry.channel("rss_bytes") if telemetry else None
        if telemetry is None or values is None or not np.isfinite(values).any():
            continue
        seen = np.isfinite(values)
        points = extremes(telemetry.time_ms[seen], values[seen], _WORKER_POINTS)
        rows += [{"run": label, "x": point.x / 1e3, "y": point.high / _MIB} for point in points]
        peaks.append((label, format_significant(float(values[seen].max()) / _MIB, 4)))
    drawn = "Drawn instead: resident memory of each worker"
    return Chart(
        key="worker_memory",
        title="No GPU was sampled",
        subtitle=(*subtitle, drawn if rows else "Memory of the workers is not known either"),
        spec=_workers_spec(rows, [label for label, _ in labelled]),
        table=ChartTable(headers=("Model", "Greatest, MiB"), rows=tuple(peaks)),
        height=260,
    )


def _workers_spec(rows: list[Spec], names: list[str]) -> Spec:
    legend: Spec = {"title": None, "columns": 1, "labelLimit": 600}
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {
            "x": quantity(
                "x", "time since the worker was started, s", scale={"nice": False}, axis=X_TICKS
            ),
            "y": quantity("y", "resident memory, MiB", axis={"tickCount": 5}),
            "color": colored("run", names, legend=legend),
            "strokeDash": dashed("run", names, legend=legend),
            "tooltip": tooltip(run="model", x="time, s#", y="MiB#"),
        },
    }

"""Latency and memory over time: of one run, and of several models, sides or workers in one picture.

Long series are made short enough to draw, without losing a spike.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from enginescope.analysis.runs.run_view import RunView
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
    marks,
    quantity,
    tooltip,
    zoomable,
)

#: Up to so many points are drawn large enough to see each one.
_FEW = 200
#: More points than this are not drawn one by one.
MAX_POINTS = 5_000
BUCKETS = 600


class Bucket(NamedTuple):
    """A stretch of a series: where it begins, and the extremes within it; NaN: no value."""

    x: float
    low: float
    high: float


def extremes(x: Array, values: Array, buckets: int = BUCKETS) -> tuple[Bucket, ...]:
    """Return the least and greatest value of each of `buckets` stretches of equal count.

    Args:
        x, values: Any unit; n of at least 1.
    """
    starts = np.unique(np.linspace(0, values.size, min(buckets, values.size) + 1).astype(int)[:-1])
    ends = (np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts))
    return tuple(map(Bucket, x[starts].tolist(), *(of.tolist() for of in ends)))


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
    values = samples.values_ms
    found = map(Bucket, x.tolist(), values.tolist(), values.tolist())
    rows = [one._asdict() for one in (found if whole else extremes(x, values))]
    drawn = (
        f"each of {len(samples):,} samples"
        if whole
        else f"least and greatest in {len(rows):,} blocks of {len(samples):,} samples"
    )
    rule = {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.2}
    at_median = {"y": quantity("y", "latency, ms"), "tooltip": tooltip(y="median, ms#")}
    tips = tooltip(x=f"{x_title}#", low="least, ms#", high="greatest, ms#")
    layers = [
        _samples(rows, x_title, limit, tips, whole=whole),
        marks([{"y": latency.median_ms}], rule, **at_median),
    ]
    subtitle = ["The dashed line is the median"]
    if histogram.n_above:
        triangle = {"type": "point", "shape": "triangle-up", "filled": True, "size": 45}
        beyond = [row for row in rows if row["high"] > limit]
        edge: Spec = {"x": quantity("x", x_title), "y": {"value": 5}, "tooltip": tips}
        layers.append(marks(beyond, triangle, **edge))
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


def _samples(rows: list[Spec], x_title: str, limit: float, tips: Any, *, whole: bool) -> Spec:
    look = {"size": 9, "opacity": 0.45} if len(rows) > _FEW else {"size": 30, "opacity": 0.75}
    point = {"type": "point", "filled": True, **look, "clip": True}
    least = min(row["low"] for row in rows)
    margin = 0.06 * (limit - least) or 0.01 * limit
    scale = {"zero": False, "domain": [least - margin, limit + margin], "nice": False}
    return marks(
        rows,
        point if whole else {"type": "area", "clip": True},
        x=quantity("x", x_title, scale={"nice": False}, axis=X_TICKS),
        y=quantity("low", "latency, ms", scale=scale, axis={"tickCount": 6}),
        **({} if whole else {"y2": {"field": "high"}}),
        tooltip=tips,
    )


def _table(x: Array, x_title: str, values_ms: Array) -> ChartTable:
    rows = (
        tuple(format_significant(value, 4) for value in bucket)
        for bucket in extremes(x, values_ms, _TABLE_ROWS)
    )
    headers = (f"From, {x_title}", "Least, ms", "Greatest, ms")
    return ChartTable(headers=headers, rows=tuple(rows))


_COLORS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY)
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
_SHAPES = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")


def colored(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its color."""
    return _channel(field, names, SIDES if field == "side" else _COLORS, legend)


def dashed(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its dashes."""
    return _channel(field, names, _DASHES, legend)


def shaped(field: str, names: Sequence[str], *, legend: Spec | None) -> Spec:
    """Return the channel that gives each name its mark."""
    return _channel(field, names, _SHAPES, legend)


def _channel(
    field: str, names: Sequence[str], values: Sequence[object], legend: Spec | None
) -> Spec:
    scale: Spec = {"domain": list(names), "range": list(islice(cycle(values), len(names)))}
    return {"field": field, "type": "nominal", "title": None, "legend": legend, "scale": scale}


def lines_of_runs(names: Sequence[str], *, has_legend: bool = True) -> Spec:
    """Return the channels that tell the lines of runs apart, in the field ``run``."""
    legend: Spec | None = {"title": None, "columns": 1, "labelLimit": 600} if has_legend else None
    return {
        "color": colored("run", names, legend=legend),
        "strokeDash": dashed("run", names, legend=legend),
    }


_MIB = 1 << 20
_POINTS = 400
_STARTED = "time since the worker was started, s"


def _memory(view: RunView) -> tuple[Array, Array] | None:
    """Times in s and resident memory in MiB, instants without a value left out."""
    telemetry = view.run.telemetry
    values = telemetry.channel("rss_bytes") if telemetry else None
    if telemetry is None or values is None or not np.isfinite(values).any():
        return None
    seen = np.isfinite(values)
    return telemetry.time_ms[seen] / 1e3, values[seen] / _MIB


def _memory_spec(rows: list[Spec], mark: Spec, tips: dict[str, str], **more: Any) -> Spec:
    return marks(
        rows,
        mark,
        x=quantity("x", _STARTED, scale={"nice": False}, axis=X_TICKS),
        y=quantity("y", "resident memory, MiB", axis={"tickCount": 5}),
        tooltip=tooltip(**tips, x="time, s#", y="memory, MiB#"),
        **more,
    )


def memory_series(view: RunView) -> Chart | None:
    """Resident memory of the worker; ``None`` where it was not sampled."""
    found = _memory(view)
    if found is None:
        return None
    rows = [{"x": bucket.x, "y": bucket.high} for bucket in extremes(*found, _POINTS)]
    until_loop, peak = view.run.peak_memory_bytes, int(found[1].max() * _MIB)
    title = f"Resident memory of the worker: peak {format_bytes(max(peak, until_loop or 0))}"
    if until_loop is not None and until_loop < peak:
        title += f", {format_bytes(until_loop)} until the timed loop ended"
    cells = (
        (format_significant(bucket.x), format_significant(bucket.high, 4))
        for bucket in extremes(*found, _TABLE_ROWS)
    )
    return Chart(
        key="memory",
        title=title,
        spec=_memory_spec(rows, {"type": "area", "line": True, "opacity": 0.35}, {}),
        table=ChartTable(headers=("From, s", "Greatest resident memory, MiB"), rows=tuple(cells)),
        height=160,
    )


def worker_memory(
    labelled: Sequence[tuple[str, RunView]], *, subtitle: tuple[str, ...] = ()
) -> Chart:
    """Resident memory of each worker, one line each; an empty plot says that there is none."""
    found = [(label, memory) for label, view in labelled if (memory := _memory(view)) is not None]
    rows = [
        {"run": label, "x": bucket.x, "y": bucket.high}
        for label, memory in found
        for bucket in extremes(*memory, _POINTS)
    ]
    peaks = ((label, format_significant(float(mib.max()), 4)) for label, (_, mib) in found)
    drawn = "Drawn instead: resident memory of each worker"
    look = lines_of_runs([label for label, _ in labelled])
    return Chart(
        key="worker_memory",
        title="No GPU was sampled",
        subtitle=(*subtitle, drawn if rows else "Memory of the workers is not known either"),
        spec=_memory_spec(rows, {"type": "line", "strokeWidth": 1.6}, {"run": "model"}, **look),
        table=ChartTable(headers=("Model", "Greatest, MiB"), rows=tuple(peaks)),
        height=260,
    )

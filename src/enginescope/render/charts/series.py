"""Latency and memory of a run over time, short enough to draw, and how series are told apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.judge.samples import Array
from enginescope.judge.units import format_significant
from enginescope.render.base.palette import BLUE, GREEN, ORANGE, PURPLE, SIDES, SKY, VERMILLION
from enginescope.render.base.phrases import metric_title
from enginescope.render.charts.tip_table import table_of_tips
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    category,
    marks,
    quantity,
    tooltip,
    zoomable,
)

#: More points than this are not drawn one by one.
MAX_POINTS = 5_000
BUCKETS = 600


def downsampled(x: Array, values: Array, most: int = BUCKETS) -> list[Spec]:
    """Return where each of at most `most` blocks of equal count begins, and its extremes.

    Args:
        x, values: Any unit; at least one. NaN: no value.
    """
    starts = np.unique(np.linspace(0, values.size, min(most, values.size) + 1).astype(int)[:-1])
    ends = (np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts))
    return [
        {"x": at, "low": low, "high": high} if low == low else {"x": at, "low": None, "high": None}
        for at, low, high in zip(x[starts].tolist(), *(of.tolist() for of in ends), strict=True)
    ]


def downsampled_table(x: Array, x_title: str, values: Array, y_title: str) -> ChartTable:
    """Return the extremes of a few blocks of a series."""
    tips = {"x": f"from, {x_title}#", "low": f"least, {y_title}#", "high": f"greatest, {y_title}#"}
    return table_of_tips(downsampled(x, values, 24), tips)


def latency_series(view: RunView) -> Chart | None:
    """Every sample in order, or the extremes of equal blocks when there are too many.

    Samples that the histogram folds away stand at the upper edge, so that one spike does not
    flatten the rest. ``None`` without samples.
    """
    samples, latency, histogram = view.run.headline, view.latency, view.histogram
    if samples is None or latency is None or histogram is None:
        return None
    x, x_title = np.arange(len(samples), dtype=np.float64), "sample"
    if samples.start_ms is not None:
        x, x_title = samples.start_ms / 1e3, "time since the first sample, s"
    limit = float(histogram.edges_ms[-1]) if histogram.n_above else float(latency.max_ms)
    whole = len(samples) <= MAX_POINTS
    values = samples.values_ms
    rows = downsampled(x, values, values.size if whole else BUCKETS)
    drawn = f"{'each of ' if whole else ''}{len(samples):,} samples"
    if not whole:
        drawn = f"least and greatest in {len(rows):,} blocks of {drawn}"
    rule = {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.2}
    at_median = {"y": quantity("y", "latency, ms"), "tooltip": tooltip(y="median, ms#")}
    tips = tooltip(x=f"{x_title}#", low="least, ms#", high="greatest, ms#")
    median = marks([{"y": latency.median_ms}], rule, **at_median)
    layers = [_samples(rows, x_title, limit, tips, whole=whole), median]
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
        table=downsampled_table(x, x_title, values, "ms"),
        height=220,
    )


def _samples(rows: list[Spec], x_title: str, limit: float, tips: Any, *, whole: bool) -> Spec:
    # up to so many points are large enough to see each one
    look = {"size": 9, "opacity": 0.45} if len(rows) > 200 else {"size": 30, "opacity": 0.75}
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


def told_apart(
    field: str, names: Sequence[str], *channels: str, legend: Spec | None
) -> dict[str, Spec]:
    """Return ``color``, ``strokeDash`` or ``shape`` of each name.

    A seventh name has the first one's color, with other dashes and another mark.
    """
    turns: dict[str, Sequence[object]] = {
        "color": SIDES if field == "side" else (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY),
        "strokeDash": ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]),
        "shape": ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross"),
    }
    found: dict[str, Spec] = {}
    for channel in channels:
        is_color, values = channel == "color", turns[channel]
        rounds = [divmod(at, len(values)) for at in range(len(names))]
        turn = [values[at if is_color else (at + past) % len(values)] for past, at in rounds]
        look = dict(zip(names, turn, strict=True))
        found[channel] = category(field, look, title=None, legend=legend)
    return found


def memory_series(view: RunView) -> Chart | None:
    """Resident memory of the worker; ``None`` where it was not sampled."""
    telemetry = view.run.telemetry
    values = telemetry.channel("rss_bytes") if telemetry else None
    if telemetry is None or values is None or not (seen := np.isfinite(values)).any():
        return None
    time_s, mib = telemetry.time_ms[seen] / 1e3, values[seen] / 2**20
    rows = [{"x": one["x"], "y": one["high"]} for one in downsampled(time_s, mib, 400)]
    until_loop, peak = view.run.peak_memory_bytes, int(mib.max() * 2**20)
    title = f"Resident memory of the worker: peak {format_bytes(max(peak, until_loop or 0))}"
    if until_loop is not None and until_loop < peak:
        title += f", {format_bytes(until_loop)} until the timed loop ended"
    started = "time since the worker was started, s"
    spec = marks(
        rows,
        {"type": "area", "line": True, "opacity": 0.35},
        x=quantity("x", started, scale={"nice": False}, axis=X_TICKS),
        y=quantity("y", "resident memory, MiB", axis={"tickCount": 5}),
        tooltip=tooltip(x="time, s#", y="memory, MiB#"),
    )
    table = downsampled_table(time_s, "s", mib, "MiB")
    return Chart(key="memory", title=title, spec=spec, table=table, height=160)

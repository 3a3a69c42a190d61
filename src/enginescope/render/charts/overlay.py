"""Distributions over each other: several series of samples in one picture, on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.records.samples import Array
from enginescope.render.charts.series import colored, dashed
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip, zoomable
from enginescope.stats.describe import shown_range

#: More series than these are not told apart by color and dashes.
MOST_OVERLAID = 6
#: Areas are pale, their marks in the legend need not be.
SIDES_LEGEND: Spec = {
    "symbolOpacity": 1,
    "orient": "top",
    "columns": 1,
    "labelLimit": 320,
}
_BINS = 60
#: Times the lowest from which on the scale is logarithmic.
_WIDE = 8.0


def overlaid(
    series: Sequence[tuple[str, Array]],
    medians: Sequence[float | None],
    *,
    key: str,
    title: str,
    what: str,
    lines: tuple[str, ...] = (),
) -> Chart:
    """Return the share of each series' samples by time.

    What lies far from the rest of its series is left out, and counted in the subtitle. The scale is
    logarithmic, and so are the bins, where the series are far apart.

    Args:
        series: Labels that differ, and samples in ms; at least one each.
        what: What a series is: ``side``, ``run``.
    """
    labels = [label for label, _ in series]
    ends = [shown_range(values) for _, values in series]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    is_log = low > 0 and high > _WIDE * low
    edges = _edges(low, high, is_log=is_log)
    shares = tuple(100 * np.histogram(values, edges)[0] / values.size for _, values in series)
    rules = [
        {what: label, "x": median, "label": f"{label} {format_ms(median)}"}
        for label, median in zip(labels, medians, strict=True)
        if median is not None and edges[0] <= median <= edges[-1]
    ]
    left = _left_out(series, edges)
    return Chart(
        key=key,
        title=title,
        subtitle=(*lines, *((f"Samples outside the scale: {left}",) if left else ())),
        spec=_spec(what, labels, _Bars(edges=edges, shares=shares, is_log=is_log), rules),
        table=_table(labels, edges, shares),
        height=230,
        is_wide=True,
    )


class _Bars(Record, frozen=True, kw_only=True, eq=False):
    """Shares of each series in common bins."""

    edges: Array
    shares: tuple[Array, ...]
    is_log: bool

    def rows(self, what: str, labels: Sequence[str]) -> list[Spec]:
        """Return a row for each bin of each series; the step's last edge has to be drawn too."""
        edges = self.edges
        return [
            {what: label, "low": float(low), "high": float(high), "share": float(share)}
            for label, of in zip(labels, self.shares, strict=True)
            for low, high, share in zip(edges, [*edges[1:], edges[-1]], [*of, 0.0], strict=True)
        ]


def _edges(low: float, high: float, *, is_log: bool) -> Array:
    if is_log:
        return np.geomspace(low / 1.02, high * 1.02, 2 * _BINS + 1)
    margin = 0.02 * (high - low) or 0.01 * high
    return np.linspace(low - margin, high + margin, _BINS + 1)


def _left_out(series: Sequence[tuple[str, Array]], edges: Array) -> str:
    outside = (
        (label, int(values.size - np.count_nonzero((values >= edges[0]) & (values <= edges[-1]))))
        for label, values in series
    )
    return ", ".join(f"{count:,} of {label}" for label, count in outside if count)


def _spec(what: str, labels: Sequence[str], bars: _Bars, rules: list[Spec]) -> Spec:
    edges, rows = bars.edges, bars.rows(what, labels)
    scale: Spec = {"nice": False, "domain": [float(edges[0]), float(edges[-1])]}
    scale |= {"type": "log"} if bars.is_log else {"zero": False}
    axis = {"tickCount": 8, "grid": False, **({"format": ".3~g"} if bars.is_log else {})}
    title = "time, ms (log)" if bars.is_log else "time, ms"
    color, dashes = (
        colored(what, labels, legend=SIDES_LEGEND),
        dashed(what, labels, legend=SIDES_LEGEND),
    )
    encoding = {
        "x": quantity("low", title, scale=scale, axis=axis),
        "y": quantity("share", f"samples of the {what}, %", stack=None, axis={"tickCount": 5}),
        "color": color,
        "tooltip": tooltip(**{what: what}, low="from, ms#", high="to, ms#", share="samples, %#"),
    }
    step = {"interpolate": "step-after", "clip": True}
    return zoomable(
        [
            {
                "data": {"values": rows},
                "mark": {"type": "area", "fillOpacity": 0.22, **step},
                "encoding": encoding,
            },
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 1.6, **step},
                "encoding": {**encoding, "strokeDash": dashes},
            },
            {
                "data": {"values": rules},
                "mark": {"type": "rule", "strokeWidth": 1.6, "clip": True},
                "encoding": {
                    "x": quantity("x", title),
                    "color": color,
                    "strokeDash": dashes,
                    "tooltip": tooltip(**{what: what}, x="median, ms#"),
                },
            },
        ]
    )


def _table(labels: Sequence[str], edges: Array, shares: Sequence[Array]) -> ChartTable:
    rows = (
        (
            format_significant(float(edges[at]), 5),
            format_significant(float(edges[at + 1]), 5),
            *(f"{of[at]:.2f}" for of in shares),
        )
        for at in range(len(edges) - 1)
        if any(of[at] for of in shares)
    )
    headers = ("From, ms", "To, ms", *(f"{label}, %" for label in labels))
    return ChartTable(headers=headers, rows=tuple(rows))

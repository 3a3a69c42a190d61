"""Several series of samples over each other, on one scale; sides, and medians of processes."""

import math
from collections.abc import Sequence
from itertools import chain, pairwise
from operator import itemgetter

import numpy as np

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.record import Record
from enginescope.judge.samples import Array
from enginescope.judge.stats.describe import percentile, shown_range
from enginescope.judge.units import format_ms, format_significant, range_text
from enginescope.render.base.data_table import UNKNOWN
from enginescope.render.base.phrases import in_text
from enginescope.render.charts.series import told_apart
from enginescope.render.charts.tip_table import table_of_tips
from enginescope.render.html import images

#: More series than these are not told apart by color and dashes.
MOST_OVERLAID = 6


def series_legend(labels: Sequence[str]) -> images.Spec:
    """Return the legend above series; areas are pale, their marks in it need not be.

    Entries with labels of more than 16 letters have a line each.
    """
    legend: images.Spec = {"symbolOpacity": 1, "orient": "top", "labelLimit": 320}
    return {**legend, "columns": 1} if max(map(len, labels)) > 16 else legend


class Overlay(Record, frozen=True, kw_only=True, eq=False):
    """Samples of several series by time.

    Attributes:
        what: What a series is: ``side``, ``run``.
        medians: Of each series in ms, as it is stated elsewhere; ``None``: not drawn.
        edges: Of the bins that all share, in ms.
        shares: Of each series' samples in the bins, in %.
        outside: Samples of each series that lie far from the rest of it, and in no bin.
        cuts: Stretches without samples that the axis leaves out, in ms.
    """

    what: str
    labels: tuple[str, ...]
    medians: tuple[float | None, ...]
    edges: Array
    shares: tuple[Array, ...]
    outside: tuple[int, ...]
    is_log: bool
    cuts: tuple[tuple[float, float], ...] = ()

    def chart(self, key: str, title: str, lines: tuple[str, ...] = ()) -> images.Chart:
        """Return the series over each other; the subtitle counts samples outside the scale."""
        pairs = zip(self.labels, self.outside, strict=True)
        left = ", ".join(f"{count:,} of {label}" for label, count in pairs if count)
        cuts = " and ".join(f"{range_text(low, high, 3)} ms" for low, high in self.cuts)
        cut = f"The axis leaves out {cuts}, without samples; each part has a scale of its own"
        outside = f"Samples outside the scale: {left}"
        return images.Chart(
            key=key,
            title=title,
            subtitle=(*lines, *([cut] if cuts else []), *([outside] if left else [])),
            spec=self._spec(),
            table=self._table(),
            height=230,
            is_wide=True,
        )

    def _spec(self) -> images.Spec:
        what = self.what
        legend = {**series_legend(self.labels), "symbolType": "stroke", "symbolSize": 500}
        color = told_apart(what, self.labels, "color", legend=legend)
        dashes = told_apart(what, self.labels, "strokeDash", legend=legend)
        title = "time, ms (log)" if self.is_log else "time, ms"
        scale, axis = self._axis()
        y = images.quantity("share", f"samples of the {what}, %", stack=None, axis={"tickCount": 5})
        ends = {"low": "from, ms#", "high": "to, ms#", "share": "samples, %#"}
        encoding: images.Spec = {
            "x": images.quantity("low", title, scale=scale, axis=axis),
            "y": y,
            **color,
            "tooltip": images.tooltip(**{what: what}, **ends),
        }
        tips = images.tooltip(**{what: what}, x="median, ms#")
        first, last = self.edges[0], self.edges[-1]
        medians = [
            {what: label, "x": median}
            for label, median in zip(self.labels, self.medians, strict=True)
            if median is not None and first <= median <= last
        ]
        rows, rule = self._rows(), {"type": "rule", "strokeWidth": 1.6, "clip": True}
        step = {"interpolate": "step-after", "clip": True}
        layers = [
            images.marks(rows, {"type": "area", "fillOpacity": 0.12, **step}, **encoding),
            images.marks(rows, {"type": "line", "strokeWidth": 1.6, **step}, **encoding, **dashes),
            images.marks(
                medians, rule, x=images.quantity("x", title), **color, tooltip=tips, **dashes
            ),
        ]
        if not self.cuts:
            return images.zoomable(layers)
        middles = [{"x": (low + high) / 2} for low, high in self.cuts]
        cut = {"type": "rule", "strokeDash": [2, 3], "style": "folded", "strokeWidth": 4}
        return {"layer": [*layers, images.marks(middles, cut, x=images.quantity("x", title))]}

    def _axis(self) -> tuple[images.Spec, images.Spec]:
        """Return scale and axis of the times; what a cut leaves out takes no room."""
        ends = [float(self.edges[0]), *chain.from_iterable(self.cuts), float(self.edges[-1])]
        scale: images.Spec = {"nice": False, "domain": ends}
        axis: images.Spec = {"tickCount": 8, "grid": False}
        if self.is_log:
            return {**scale, "type": "log"}, {**axis, "format": ".3~g"}
        if not self.cuts:
            return {**scale, "zero": False}, axis
        parts, gap = list(zip(ends[::2], ends[1::2], strict=True)), 0.04  # of the width
        room = (1 - gap * len(self.cuts)) / len(parts)
        starts = [at * (room + gap) for at in range(len(parts))]
        places = [place for start in starts for place in (start, start + room)]
        pixels = [{"expr": f"{place:.4f} * width"} for place in places]
        ticks = [tick for part in parts for tick in _ticks(*part)]
        decimals = max(len(f"{tick:.6g}".partition(".")[2]) for tick in ticks)
        return (
            {**scale, "zero": False, "range": pixels},
            # Vega bounds labels by the first part of the scale
            {**axis, "values": ticks, "format": f".{decimals}f", "labelBound": False},
        )

    def _rows(self) -> list[images.Spec]:
        """Return a row for each bin of each series; the step's last edge has to be drawn too."""
        edges = [*self.edges, self.edges[-1]]
        return [
            {self.what: label, "low": float(low), "high": float(high), "share": float(share)}
            for label, shares in zip(self.labels, self.shares, strict=True)
            for low, high, share in zip(edges, edges[1:], [*shares, 0.0], strict=False)
        ]

    def _table(self) -> images.ChartTable:
        rows = (
            (
                *(format_significant(float(end), 5) for end in (low, high)),
                *(f"{share:.2f}" for share in shares),
            )
            for low, high, *shares in zip(self.edges, self.edges[1:], *self.shares, strict=False)
            if any(shares)
        )
        names = (f"{label}, %" for label in self.labels)
        return images.ChartTable(headers=("From, ms", "To, ms", *names), rows=tuple(rows))


def overlay(
    what: str, series: Sequence[tuple[str, Array]], medians: Sequence[float | None]
) -> Overlay:
    """Count the samples of each series in bins that all share.

    What lies far from the rest of its series is left out. Where series are far apart, the axis
    leaves out what is between. Scale and bins are logarithmic where the highest is over 8 times the
    lowest, or a series is skewed.

    Args:
        what: What a series is: ``side``, ``run``.
        series: Labels that differ, and samples in ms; at least one each.
        medians: In ms.
    """
    parts = _parts([shown_range(values) for _, values in series])
    low, high = parts[0][0], parts[-1][1]
    is_log = len(parts) == 1 and low > 0
    is_log &= high > 8 * low or any(is_skewed(values) for _, values in series)
    bins = 120 if is_log else -(-60 // len(parts))
    space = np.geomspace if is_log else np.linspace
    edges = np.concatenate([space(*part, bins + 1) for part in parts])
    counts = [np.histogram(values, edges)[0] for _, values in series]
    for of in counts:
        of[bins :: bins + 1] = 0  # no bin lies across what the axis leaves out
    sized = [(of, values.size) for of, (_, values) in zip(counts, series, strict=True)]
    return Overlay(
        what=what,
        labels=tuple(label for label, _ in series),
        medians=tuple(medians),
        edges=edges,
        shares=tuple(100 * of / size for of, size in sized),
        outside=tuple(size - int(of.sum()) for of, size in sized),
        is_log=is_log,
        cuts=tuple((first[1], second[0]) for first, second in pairwise(parts)),
    )


def is_skewed(values_ms: Array) -> bool:
    """Whether p95 is over three medians: on a scale of equal steps, most samples are one bar."""
    return bool(values_ms.min() > 0) and percentile(values_ms, 95) > 3 * float(np.median(values_ms))


def _parts(ends: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the stretches to draw; a gap over half as wide as all of them is not drawn."""
    joined: list[tuple[float, float]] = []
    for low, high in sorted(ends):
        margin = 0.02 * (high - low) or 0.01 * high
        first, last = (low - margin if low > margin else low / 1.02), high + margin
        if joined and first <= joined[-1][1]:
            before = joined.pop()
            first, last = before[0], max(before[1], last)
        joined.append((first, last))
    width = sum(high - low for low, high in joined)
    parts = joined[:1]
    for low, high in joined[1:]:
        if 2 * (low - parts[-1][1]) > width:
            parts.append((low, high))
        else:
            parts[-1] = (parts[-1][0], high)
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Return two to four round numbers between two."""
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step * power for step in (1, 2, 5, 10) if high - low <= 4 * step * power)
    return [at * step for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def side_distributions(found: MeasuredComparison) -> tuple[images.Chart, ...]:
    """Share of each side's samples by time, on one scale; none without samples of one metric."""
    metric = found.pairs[0].headline.metric
    series = []
    for side in found.sides:
        own = [one.values_ms for run in side.measured if (one := run.series(metric)) is not None]
        series.append((side.label, np.concatenate(own) if own else np.empty(0)))
    if len(series) > MOST_OVERLAID or any(values.size == 0 for _, values in series):
        return ()
    verdicts = [pair.headline for pair in found.pairs]
    medians = [verdicts[0].a, *(verdict.b for verdict in verdicts)]
    told = [UNKNOWN if one is None else format_ms(one) for one in medians]
    (a, *others), (first, *rest) = (label for label, _ in series), told
    each = ", ".join(f"{label}'s is {of}" for label, of in zip(others, rest, strict=True))
    title = f"{a}'s median {in_text(metric)} is {first}, {each}"
    lines = ("Vertical lines are medians",)
    if any(len(side.measured) > 1 for side in found.sides):
        lines = ("All processes of each side; vertical lines are the medians of their medians",)
    return (overlay("side", series, medians).chart("sides_hist", title, lines),)


def process_medians(found: MeasuredComparison) -> images.Chart | None:
    """Median of every process, in the order of the rounds; ``None`` of single processes."""
    metric = found.pairs[0].headline.metric
    rows: list[images.Spec] = [
        {
            "x": (run.turn.round if run.turn else at) + 1,
            "side": side.label,
            "median": float(np.median(samples.values_ms)),
            "run": run.id[:8],
        }
        for side in found.sides
        for at, run in enumerate(side.measured)
        if (samples := run.series(metric)) is not None and len(samples)
    ]
    if len(rows) <= len(found.sides):
        return None
    in_turn, labels = found.comparison is not None, [side.label for side in found.sides]
    each = "round" if in_turn else "process"
    how = "In the order of measurement; the sides were not interleaved"
    if in_turn:
        how = "Sides of one round ran one after the other, in an order drawn for the round"
    tips = {"x": f"{each}#", "side": "side", "median": "median, ms#", "run": "run"}
    scale: images.Spec = {"nice": False, "zero": False, "padding": 12}
    whole = {"tickMinStep": 1, "format": "d", "tickCount": 12, "grid": False}
    return images.Chart(
        key="sides_processes",
        title=f"Median {in_text(metric)} of each process" + (", round by round" if in_turn else ""),
        subtitle=(how,),
        spec=images.marks(
            rows,
            {"type": "point", "filled": True, "size": 62, "opacity": 0.9},
            x=images.quantity("x", each, scale=scale, axis=whole),
            y=images.quantity("median", "median, ms", scale=scale, axis={"tickCount": 5}),
            **told_apart("side", labels, "color", "shape", legend=series_legend(labels)),
            tooltip=images.tooltip(**tips),
        ),
        table=table_of_tips(sorted(rows, key=itemgetter("x", "side")), tips),
        height=200,
        is_wide=True,
    )

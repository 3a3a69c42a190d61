"""Measured sides on one scale: all their samples, and the median of each process."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.records.samples import Array
from enginescope.render.base.palette import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from enginescope.render.base.phrases import in_text, metric_title, shorten
from enginescope.render.base.shared_options import told_apart
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.stats.describe import shown_range

_COLORS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY)
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
_SHAPES = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")
_BINS = 60
_NAME = 48


class _Shares(Record, frozen=True, kw_only=True, eq=False):
    """Samples of sides by time: shares in % between common edges in ms.

    Attributes:
        outside: Samples of each side that lie far from the rest of it.
    """

    metric: str
    labels: list[str]
    edges: Array
    shares: list[Array]
    outside: list[int]


def _shares(found: MeasuredComparison) -> _Shares | None:
    metric = found.pairs[0].headline.metric
    series = [_pooled(side, metric) for side in found.sides]
    if any(one.size == 0 for one in series):
        return None
    ends = [shown_range(one) for one in series]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    margin = 0.02 * (high - low) or 0.01 * high
    edges = np.linspace(low - margin, high + margin, _BINS + 1)
    shares = [100 * np.histogram(one, edges)[0] / one.size for one in series]
    outside = [
        int(one.size - np.count_nonzero((one >= edges[0]) & (one <= edges[-1]))) for one in series
    ]
    labels = [side.label for side in found.sides]
    return _Shares(metric=metric, labels=labels, edges=edges, shares=shares, outside=outside)


def side_distributions(found: MeasuredComparison) -> tuple[Chart, ...]:
    """Share of each side's samples by time, on one scale; none without samples of one metric.

    Two sides share a chart; of more, each has its own. What lies far from the rest of its side is
    left out, and counted in the subtitle.
    """
    known = _shares(found)
    if known is None:
        return ()
    if len(known.labels) > 2:
        return tuple(_side_chart(found, known, at) for at in range(len(known.labels)))
    labels, edges, shares = known.labels, known.edges, known.shares
    pairs = zip(labels, known.outside, strict=True)
    left = ", ".join(f"{count:,} of {label}" for label, count in pairs if count)
    chart = Chart(
        key="sides_hist",
        title=f"Distribution of {in_text(known.metric)}: all processes of each side, on one scale",
        subtitle=(
            "Vertical lines are the medians of the processes' medians",
            *((f"Samples outside the scale: {left}",) if left else ()),
        ),
        spec=_distribution_spec(labels, edges, shares, _medians(found)),
        table=_distribution_table(labels, edges, shares),
        height=230,
        is_wide=True,
    )
    return (chart,)


def _side_chart(found: MeasuredComparison, known: _Shares, at: int) -> Chart:
    """One side on the scale of all, with the first side's median beside its own."""
    medians, side = _medians(found), found.sides[at]
    own = next((one for one in medians if one["side"] == side.label), None)
    shown = [one for one in medians if one["side"] in (side.label, known.labels[0])]
    outside = known.outside[at]
    names = told_apart([one.name for one in found.sides]).labels
    name = f"{side.label}: {shorten(names[at], _NAME)}"
    return Chart(
        key=f"side_{side.label}",
        title=f"{name}, median {format_ms(own['x'])}" if own else name,
        subtitle=(
            *((f"{metric_title(known.metric)}, every side on one scale",) if at == 0 else ()),
            *((f"Samples outside the scale: {outside:,}",) if outside else ()),
        ),
        spec=_distribution_spec(known.labels, known.edges, known.shares, shown, only=side.label),
        table=_distribution_table([side.label], known.edges, [known.shares[at]]),
        height=74,
        is_wide=True,
    )


def process_medians(found: MeasuredComparison) -> Chart | None:
    """Median of every process, in the order of the rounds; ``None`` of single processes."""
    metric = found.pairs[0].headline.metric
    rows: list[Spec] = [
        {
            "side": side.label,
            "x": (run.turn.round if run.turn else at) + 1,
            "median": float(np.median(samples.values_ms)),
            "run": run.id[:8],
        }
        for side in found.sides
        for at, run in enumerate(side.measured)
        if (samples := run.series(metric)) is not None and len(samples)
    ]
    if len(rows) <= len(found.sides):
        return None
    in_turn = found.comparison is not None
    each = "round" if in_turn else "process"
    return Chart(
        key="sides_processes",
        title=f"Median {in_text(metric)} of each process" + (", round by round" if in_turn else ""),
        subtitle=(
            ("Sides of one round ran one after the other, in an order drawn for the round",)
            if in_turn
            else ("In the order of measurement; the sides were not interleaved",)
        ),
        spec=_process_spec(rows, [side.label for side in found.sides], each),
        table=ChartTable(
            headers=(each.capitalize(), "Side", "Median, ms", "Run"),
            rows=tuple(
                (str(one["x"]), one["side"], format_significant(one["median"], 5), one["run"])
                for one in sorted(rows, key=lambda row: (row["x"], row["side"]))
            ),
        ),
        height=200,
        is_wide=True,
    )


def _pooled(side: MeasuredSide, metric: str) -> Array:
    series = [one.values_ms for run in side.measured if (one := run.series(metric)) is not None]
    return np.concatenate(series) if series else np.empty(0)


def _medians(found: MeasuredComparison) -> list[Spec]:
    verdicts = [pair.headline for pair in found.pairs]
    values = [verdicts[0].a, *(verdict.b for verdict in verdicts)]
    return [
        {"side": side.label, "x": value, "label": f"{side.label} {format_ms(value)}"}
        for side, value in zip(found.sides, values, strict=True)
        if value is not None
    ]


def _colored(labels: list[str], *, with_legend: bool = True) -> Spec:
    colors = [_COLORS[at % len(_COLORS)] for at in range(len(labels))]
    scale = {"domain": labels, "range": colors}
    legend = (
        {"symbolOpacity": 1} if with_legend else None
    )  # areas are pale, their marks in the legend need not be
    return {"field": "side", "type": "nominal", "title": "side", "scale": scale, "legend": legend}


def _dashed(labels: list[str], *, with_legend: bool = True) -> Spec:
    dashes = [_DASHES[at % len(_DASHES)] for at in range(len(labels))]
    scale = {"domain": labels, "range": dashes}
    found: Spec = {"field": "side", "type": "nominal", "title": "side", "scale": scale}
    return found if with_legend else {**found, "legend": None}


def _distribution_spec(
    labels: list[str],
    edges: Array,
    shares: list[Array],
    medians: list[Spec],
    *,
    only: str | None = None,
) -> Spec:
    rows: list[Spec] = [
        {"side": label, "low": float(low), "high": float(high), "share": float(share)}
        for label, of in zip(labels, shares, strict=True)
        for low, high, share in zip(edges[:-1], edges[1:], of, strict=True)
    ]
    # the step's last edge has to be drawn too
    rows += [
        {"side": label, "low": float(edges[-1]), "high": float(edges[-1]), "share": 0.0}
        for label in labels
    ]
    most = max(float(of.max()) for of in shares)
    if only is not None:
        rows = [row for row in rows if row["side"] == only]
    scale = {"zero": False, "nice": False, "domain": [float(edges[0]), float(edges[-1])]}
    encoding = {
        "x": quantity("low", "time, ms", scale=scale, axis={"tickCount": 8, "grid": False}),
        "y": quantity(
            "share",
            "samples of the side, %" if only is None else "samples, %",
            stack=None,
            axis={"tickCount": 5},
            **({} if only is None else {"scale": {"domain": [0, most]}}),
        ),
        "color": _colored(labels, with_legend=only is None),
        "tooltip": tooltip(side="side", low="from, ms#", high="to, ms#", share="samples, %#"),
    }
    return {
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "area", "interpolate": "step-after", "fillOpacity": 0.22},
                "encoding": encoding,
            },
            {
                "data": {"values": rows},
                "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6},
                "encoding": {**encoding, "strokeDash": _dashed(labels, with_legend=only is None)},
            },
            {
                "data": {
                    "values": [median for median in medians if edges[0] <= median["x"] <= edges[-1]]
                },
                "mark": {"type": "rule", "strokeWidth": 1.6},
                "encoding": {
                    "x": quantity("x", "time, ms"),
                    "color": _colored(labels, with_legend=only is None),
                    "strokeDash": _dashed(labels, with_legend=only is None),
                    "tooltip": tooltip(side="side", x="median, ms#"),
                },
            },
        ]
    }


def _distribution_table(labels: list[str], edges: Array, shares: list[Array]) -> ChartTable:
    rows = (
        (
            format_significant(float(edges[at]), 5),
            format_significant(float(edges[at + 1]), 5),
            *(f"{of[at]:.2f}" for of in shares),
        )
        for at in range(_BINS)
        if any(of[at] for of in shares)
    )
    headers = ("From, ms", "To, ms", *(f"{label}, %" for label in labels))
    return ChartTable(headers=headers, rows=tuple(rows))


def _process_spec(rows: list[Spec], labels: list[str], each: str) -> Spec:
    shapes = [_SHAPES[at % len(_SHAPES)] for at in range(len(labels))]
    values = [row["median"] for row in rows]
    margin = 0.06 * (max(values) - min(values)) or 0.01 * max(values)
    domain = [min(values) - margin, max(values) + margin]
    whole = {"tickMinStep": 1, "format": "d", "tickCount": 12, "grid": False}
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 62, "opacity": 0.9},
        "encoding": {
            "x": quantity(
                "x", each, scale={"nice": False, "zero": False, "padding": 12}, axis=whole
            ),
            "y": quantity(
                "median",
                "median, ms",
                scale={"zero": False, "nice": False, "domain": domain},
                axis={"tickCount": 5},
            ),
            "color": _colored(labels),
            "shape": {
                "field": "side",
                "type": "nominal",
                "title": "side",
                "scale": {"domain": labels, "range": shapes},
            },
            "tooltip": tooltip(side="side", x=f"{each}#", median="median, ms#", run="run"),
        },
    }

"""How latency is distributed.

Also latency of several runs as boxes on one scale.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from enginescope.analysis.claims.percentile import (
    MARKED,
    SHOWN,
    cell,
    mark_text,
    percentile_name,
    range_or_mark,
    shown_texts,
)
from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.samples import Array, Percentile, Summary
from enginescope.judge.stats.describe import Histogram, describe_values
from enginescope.judge.units import format_ms, format_significant
from enginescope.render.base.figures import figure
from enginescope.render.base.phrases import count_text, in_text, metric_title
from enginescope.render.charts.overlay import is_skewed
from enginescope.render.charts.series import colored
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    quantity,
    tooltip,
    zoomable,
)

_LABEL_TOP = 8
_LABEL_STEP = 16
#: What a character of a label takes of the width of a picture on a phone.
_CHARACTER = 0.02
#: Bins of a logarithmic axis.
_LOG_BINS = 60
_LOG = "The axis is logarithmic: p95 is over three medians"
_X_SCALE = {"zero": False, "nice": False}
_X_AXIS = {**X_TICKS, "grid": False}


def latency_distribution(view: RunView) -> Chart | None:
    """Histogram of the headline series with median, its interval, p95 and p99.

    Samples far outside are folded into an end bin that says how many they are, so that one spike
    does not flatten the rest. ``None`` without samples.
    """
    latency, histogram, samples = view.latency, view.histogram, view.run.headline
    if latency is None or histogram is None or samples is None:
        return None
    is_log = is_skewed(samples.values_ms)
    bins = _log_bins(samples.values_ms) if is_log else _bins(histogram)
    ends = (bins[0]["low"], bins[-1]["high"])
    rules = _rules(latency, *ends, is_log=is_log)
    x = log_axis(ends) if is_log else {"scale": _X_SCALE, "axis": _X_AXIS}
    layers = [_bars(bins, x), *_interval(latency), *map(_rule, rules), *_labels(rules)]
    return Chart(
        key="latency_hist",
        title=f"Distribution of {in_text(latency.metric)}",
        subtitle=(
            " · ".join((f"{_median(latency)}, {count_text(latency)}", *shown_texts(latency))),
            *((_LOG,) if is_log else _folded_text(histogram)),
        ),
        spec=zoomable(layers),
        table=_table(bins),
    )


def _median(latency: Summary) -> str:
    return f"median {format_ms(latency.median_ms)}"


def _log_bins(values_ms: Array) -> list[Spec]:
    """Return bins of equal ratio over all samples."""
    edges = np.geomspace(values_ms.min(), values_ms.max(), _LOG_BINS + 1)
    edges[-1] = values_ms.max()  # rounding leaves out no sample
    counts, _ = np.histogram(values_ms, edges)
    return [
        {"low": float(low), "high": float(high), "n": int(n), "folded": False, "where": ""}
        for low, high, n in zip(edges, edges[1:], counts, strict=False)
    ]


def _bins(histogram: Histogram) -> list[Spec]:
    edges, counts = histogram.edges_ms, histogram.counts
    bins = [
        {"low": float(low), "high": float(high), "n": int(n), "folded": False, "where": ""}
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    width = float(edges[1] - edges[0])
    if histogram.n_below:
        start = float(edges[0]) - 2 * width
        below = {"low": start, "high": start + 1.6 * width, "n": histogram.n_below}
        bins.insert(0, {**below, "folded": True, "where": f"all below {edges[0]:.4g} ms"})
    if histogram.n_above:
        start = float(edges[-1]) + 0.4 * width
        above = {"low": start, "high": start + 1.6 * width, "n": histogram.n_above}
        bins.append({**above, "folded": True, "where": f"all above {edges[-1]:.4g} ms"})
    return bins


def _table(bins: list[Spec]) -> ChartTable:
    rows = (
        (one["where"],) * 2 if one["folded"] else (_ms(one["low"]), _ms(one["high"]))
        for one in bins
    )
    counts = (f"{one['n']:,}" for one in bins)
    return ChartTable(
        headers=("From, ms", "To, ms", "Samples"),
        rows=tuple((*row, n) for row, n in zip(rows, counts, strict=True)),
    )


def _ms(value: float) -> str:
    return format_significant(value, 4)


def _folded_text(histogram: Histogram) -> tuple[str, ...]:
    parts = []
    if histogram.n_below:
        parts.append(f"{histogram.n_below:,} below {histogram.edges_ms[0]:.4g} ms")
    if histogram.n_above:
        parts.append(f"{histogram.n_above:,} above {histogram.edges_ms[-1]:.4g} ms")
    return (f"Folded into the gray end bars: {', '.join(parts)}",) if parts else ()


def _bars(bins: list[Spec], x: Spec) -> Spec:
    most = max(one["n"] for one in bins)
    folded = any(one["folded"] for one in bins)
    return {
        "data": {"values": bins},
        "layer": [
            _bar_layer("datum.folded == false", "bar", most, x),
            *([_bar_layer("datum.folded == true", "folded", most, x)] if folded else []),
        ],
    }


def _bar_layer(only: str, style: str, most: int, x: Spec) -> Spec:
    counted = {"domain": [0, most * 1.3], "nice": False}
    return {
        "transform": [{"filter": only}],
        "mark": {"type": "bar", "style": style, "binSpacing": 1, "clip": True},
        "encoding": {
            "x": quantity("low", "latency, ms", bin="binned", **x),
            "x2": {"field": "high"},
            "y": quantity("n", "samples", scale=counted, axis={"tickCount": 5}),
            "tooltip": tooltip(low="from, ms#", high="to, ms#", n="samples", where="folded"),
        },
    }


def _interval(latency: Summary) -> list[Spec]:
    interval = latency.median_interval
    if interval is None:
        return []
    return [
        {
            "data": {"values": [{"low": interval.low, "high": interval.high}]},
            "mark": {"type": "rect", "style": "accent-band", "clip": True},
            "encoding": {"x": quantity("low", ""), "x2": {"field": "high"}},
        }
    ]


def _rules(latency: Summary, low: float, high: float, *, is_log: bool) -> list[Spec]:
    rules: list[Spec] = [{"x": latency.median_ms, "label": _median(latency), "weak": ""}]
    for found in (percentile for percentile in latency.percentiles if percentile.p in SHOWN):
        label = f"{percentile_name(found.p)} {format_ms(found.value_ms)}"
        rules.append({"x": found.value_ms, "label": label, "weak": mark_text(found) or ""})
    shown = [rule for rule in rules if low <= rule["x"] <= high]
    for rule in shown:
        part = math.log(rule["x"] / low, high / low) if is_log else (rule["x"] - low) / (high - low)
        rule["part"] = part
    return _placed(shown)


def _placed(rules: list[Spec]) -> list[Spec]:
    """Give each rule the row of its label, where it begins, and the side that the label is on.

    A label is on the right of its rule unless it would leave the picture, or meet one that is on
    the left of its own rule. Rules begin at their labels, so that none crosses another label.
    """
    bound = 1.0
    for one in reversed(rules):
        reach = len(one["label"]) * _CHARACTER
        one["right"] = one["part"] + reach > 1 or one["part"] > bound
        bound = one["part"] - reach if one["right"] else bound
    onward = [rule for rule in rules if not rule["right"]]
    for row, one in enumerate((*onward, *(rule for rule in reversed(rules) if rule["right"]))):
        one["row"] = _LABEL_TOP + row * _LABEL_STEP
    return rules


def _rule(rule: Spec) -> Spec:
    dash = {"strokeDash": [4, 3]} if rule["weak"] else {}
    return {
        "data": {"values": [rule]},
        "mark": {"type": "rule", "strokeWidth": 1.4, "clip": True, **dash},
        "encoding": {
            "x": quantity("x", "latency, ms"),
            "y": {"value": rule["row"] - _LABEL_STEP / 2},
            "y2": {"value": "height"},
            "tooltip": tooltip(label="mark", x="ms#"),
        },
    }


def _labels(rules: list[Spec]) -> list[Spec]:
    # Each twice: first as a halo that keeps the letters apart from bars and lines.
    return [_label(rule, style) for rule in rules for style in ("halo", "text")]


def _label(rule: Spec, style: str) -> Spec:
    side = {"align": "right", "dx": -6} if rule["right"] else {"align": "left", "dx": 6}
    return {
        "data": {"values": [rule]},
        "mark": {"type": "text", "style": style, "baseline": "middle", "clip": True, **side},
        "encoding": {
            "x": quantity("x", ""),
            "y": {"value": rule["row"]},
            "text": {"field": "label"},
        },
    }


_ROW = 46
#: Ends of whiskers and boxes.
_ENDS = (5.0, 25.0, 75.0, 95.0)


def latency_boxes(
    labelled: Sequence[tuple[str, RunView]],
    *,
    key: str = "latency_boxes",
    title: str = "Latency of single images",
) -> Chart | None:
    """Quartiles, median with its interval, p5 and p95 of each run; ``None`` without samples."""
    rows = [row for label, view in labelled if (row := _row(label, view)) is not None]
    if not rows:
        return None
    return Chart(
        key=key,
        title=title,
        subtitle=(
            "Box: quartiles; line: median, dark band: its 95 % interval; whiskers: p5 … p95",
            f"Samples beyond the whiskers are counted at their right; in the table {MARKED}",
        ),
        spec=_spec(rows),
        table=ChartTable(
            headers=("Model", "p5, ms", "p25, ms", "Median, ms", "p75, ms", "p95, ms", "n"),
            rows=tuple(
                (
                    row["run"],
                    *row["cells"][:2],
                    figure(row["m"]),
                    *row["cells"][2:],
                    f"{row['n']:,}",
                )
                for row in rows
            ),
        ),
        height=_ROW * len(rows) + 20,
    )


def _row(label: str, view: RunView) -> Spec | None:
    samples, latency = view.run.headline, view.latency
    if samples is None or latency is None:
        return None
    values = samples.values_ms
    stated = describe_values(values, percentiles=_ENDS).percentiles
    p5, q1, q3, p95 = (one.value_ms for one in stated)
    interval = latency.median_interval
    return {
        "run": label,
        "p5": p5,
        "q1": q1,
        "m": latency.median_ms,
        "q3": q3,
        "p95": p95,
        "cells": [cell(one, figure) for one in stated],
        "low": interval.low if interval else latency.median_ms,
        "high": interval.high if interval else latency.median_ms,
        "n": int(values.size),
        "beyond": f"{int((values > p95).sum()):,} beyond, to {format_significant(values.max())} ms",
    }


def _spec(rows: list[Spec]) -> Spec:
    low, high = min(row["p5"] for row in rows), max(row["p95"] for row in rows)
    margin = 0.06 * (high - low) or 0.01 * high
    domain = [max(0.0, low - margin), high + 5 * margin]  # room for what is said at the right
    names = [row["run"] for row in rows]
    y = {
        "field": "run",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": 260, "ticks": False, "domain": False, "labelPadding": 8},
    }
    color = colored("run", names, legend=None)
    scale = {"zero": False, "nice": False, "domain": domain}
    tips = tooltip(run="run", m="median, ms#", q1="p25, ms#", q3="p75, ms#", p95="p95, ms#")

    def layer(mark: Spec, x: str, x2: str | None = None, **more: Spec) -> Spec:
        ends: Spec = {"x2": {"field": x2}} if x2 else {}
        where = quantity(x, "latency, ms", scale=scale, axis={"tickCount": 8})
        return {"mark": mark, "encoding": {"x": where, "y": y, **ends, "tooltip": tips, **more}}

    return {
        "data": {"values": rows},
        "layer": [
            layer({"type": "rule", "strokeWidth": 1.4}, "p5", "p95", color=color),
            layer({"type": "tick", "size": 12, "thickness": 1.4}, "p5", color=color),
            layer({"type": "tick", "size": 12, "thickness": 1.4}, "p95", color=color),
            layer({"type": "bar", "size": 24, "opacity": 0.45}, "q1", "q3", color=color),
            layer({"type": "bar", "size": 24}, "low", "high", color=color),
            layer({"type": "tick", "size": 24, "thickness": 2}, "m"),
            layer(
                {"type": "text", "align": "left", "dx": 8, "fontSize": 11},
                "p95",
                text={"field": "beyond"},
            ),
        ],
    }


_TICKS = (0, 50, 75, 90, 95, 99, 99.9)
_ALL_MARKED = 90


def percentiles(view: RunView) -> Chart | None:
    """Latency against percentile, the tail spread out; hollow where samples are too few.

    ``None`` without samples.
    """
    latency = view.latency
    if latency is None:
        return None
    rows = [_curve_row(one) for one in view.percentile_curve]
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


def _curve_row(one: Percentile) -> Spec:
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

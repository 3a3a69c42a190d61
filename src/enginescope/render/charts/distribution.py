"""How latency is distributed."""

import math
import sys
from collections.abc import Sequence

import numpy as np

from enginescope.analysis.claims import run_claims as claims
from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.samples import Summary
from enginescope.judge.units import format_ms
from enginescope.render.base.phrases import count_text, in_text, metric_title
from enginescope.render.charts.overlay import is_skewed
from enginescope.render.charts.tip_table import table_of_tips
from enginescope.render.html.images import X_TICKS, Chart, Spec, marks, quantity, tooltip, zoomable

_LABEL_STEP = 16
_BIN = {"low": "from, ms#", "high": "to, ms#", "n": "samples"}


def latency_distribution(view: RunView) -> Chart | None:
    """Histogram of the headline series with median, its interval, p95 and p99.

    Samples far outside are counted in the subtitle, so that one spike does not flatten the rest.
    ``None`` without samples.
    """
    latency, histogram, samples = view.latency, view.histogram, view.run.headline
    if latency is None or histogram is None or samples is None:
        return None
    edges, counts = np.asarray(histogram.edges_ms), np.asarray(histogram.counts)
    if is_log := is_skewed(values_ms := samples.values_ms):
        edges = np.geomspace(values_ms.min(), values_ms.max(), 61)
        edges[-1] = values_ms.max()  # rounding leaves out no sample
        counts, _ = np.histogram(values_ms, edges)
    pairs = zip(edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False)
    bins = [{"low": low, "high": high, "n": n} for low, high, n in pairs]
    ends = (bins[0]["low"], bins[-1]["high"])
    median = f"median {format_ms(latency.median_ms)}"
    rules = _rules(latency, median, *ends, is_log=is_log)
    x: Spec = {"scale": {"zero": False, "nice": False}, "axis": {**X_TICKS, "grid": False}}
    # Each twice: first as a halo that keeps the letters apart from bars and lines.
    labels = [_label(rule, style) for rule in rules for style in ("halo", "text")]
    layers = [_bars(bins, log_axis(ends) if is_log else x)]
    if interval := latency.median_interval:
        band = {"type": "rect", "style": "accent-band", "clip": True}
        low_high = [{"low": interval.low, "high": interval.high}]
        layers.append(marks(low_high, band, x=quantity("low", ""), x2={"field": "high"}))
    beyond = (
        (histogram.n_below, f"below {histogram.edges_ms[0]:.4g} ms"),
        (histogram.n_above, f"above {histogram.edges_ms[-1]:.4g} ms"),
    )
    outside = ", ".join(f"{count:,} {where}" for count, where in beyond if count)
    how = outside and f"Samples outside the scale: {outside}"
    if is_log:
        how = "The axis is logarithmic: p95 is over three medians"
    return Chart(
        key="latency_hist",
        title=f"Distribution of {in_text(latency.metric)}",
        subtitle=(
            " · ".join((f"{median}, {count_text(latency)}", *claims.shown_texts(latency))),
            *((how,) if how else ()),
        ),
        spec=zoomable([*layers, *map(_rule, rules), *labels]),
        table=table_of_tips(bins, _BIN),
    )


def _bars(bins: list[Spec], x: Spec) -> Spec:
    scale = {"domain": [0, 1.3 * max(one["n"] for one in bins)], "nice": False}
    return marks(
        bins,
        {"type": "bar", "binSpacing": 1, "clip": True},
        x=quantity("low", "latency, ms", bin="binned", **x),
        x2={"field": "high"},
        y=quantity("n", "samples", scale=scale, axis={"tickCount": 5}),
        tooltip=tooltip(**_BIN),
    )


def _rules(latency: Summary, median: str, low: float, high: float, *, is_log: bool) -> list[Spec]:
    rules: list[Spec] = [{"x": latency.median_ms, "label": median, "weak": ""}]
    for found in (percentile for percentile in latency.percentiles if percentile.p in claims.SHOWN):
        label = f"{claims.percentile_name(found.p)} {format_ms(found.value_ms)}"
        rules.append({"x": found.value_ms, "label": label, "weak": claims.mark_text(found) or ""})
    shown = [rule for rule in rules if low <= rule["x"] <= high]
    for rule in shown:
        x = rule["x"]
        rule["part"] = math.log(x / low, high / low) if is_log else (x - low) / (high - low)
    return _placed(shown)


def _placed(rules: list[Spec]) -> list[Spec]:
    """Give each rule the row of its label, where it begins, and the side that the label is on.

    A label is on the right of its rule unless it would leave the picture, or meet one that is on
    the left of its own rule. Rules begin at their labels, so that none crosses another label.
    """
    bound = 1.0
    for one in reversed(rules):
        reach = 0.023 * (len(one["label"]) + 1)  # of a picture on a phone
        one["right"] = one["part"] + reach > 1 or one["part"] > bound
        bound = one["part"] - reach if one["right"] else bound
    onward = [rule for rule in rules if not rule["right"]]
    for row, one in enumerate((*onward, *(rule for rule in reversed(rules) if rule["right"]))):
        one["row"] = 8 + row * _LABEL_STEP
    return rules


def _rule(rule: Spec) -> Spec:
    dash = {"strokeDash": [4, 3]} if rule["weak"] else {}
    return marks(
        [rule],
        {"type": "rule", "strokeWidth": 1.4, "clip": True, **dash},
        x=quantity("x", "latency, ms"),
        y={"value": rule["row"] - _LABEL_STEP / 2},
        y2={"value": "height"},
        tooltip=tooltip(label="mark", x="latency, ms#"),
    )


def _label(rule: Spec, style: str) -> Spec:
    side = {"align": "right", "dx": -6} if rule["right"] else {"align": "left", "dx": 6}
    text = {"type": "text", "style": style, "baseline": "middle", "clip": True, **side}
    place = {"x": quantity("x", ""), "y": {"value": rule["row"]}}
    return marks([rule], text, **place, text={"field": "label"})


_POINT = {"name": "percentile", "y": "latency, ms#", "effective": "effective n", "sure": "95 % CI"}


def percentiles(view: RunView) -> Chart | None:
    """Latency against percentile, the tail spread out; hollow where samples are too few.

    ``None`` without samples.
    """
    latency = view.latency
    if latency is None:
        return None
    rows: list[Spec] = [
        {
            "x": _spread(one.p),
            "name": claims.percentile_name(one.p),
            "y": one.value_ms,
            "stated": one.mark is None,
            "marked": one.p >= 90 or one.p % 10 == 0,
            "sure": claims.range_or_mark(one),
            "effective": f"{int(one.effective_n):,}",
            **({"low": one.interval.low, "high": one.interval.high} if one.interval else {}),
        }
        for one in view.percentile_curve
    ]
    marked = [one for one in rows if one["marked"]]
    enough = [one for one in marked if one["stated"]]
    few = [one for one in marked if not one["stated"]]
    ends = {"y": quantity("low", "latency, ms"), "y2": {"field": "high"}}
    ends_tips = tooltip(name="percentile", low="95 % from, ms#", high="to, ms#")
    band = {"type": "rule", "style": "accent-band", "strokeWidth": 9}
    line = {"type": "line", "strokeWidth": 1.5}
    tips = tooltip(**_POINT)
    y = quantity("y", "latency, ms", scale={"zero": False})
    layers = [marks(enough, band, x=_x(), **ends, tooltip=ends_tips)] if enough else []
    layers += [marks(rows, line, x=_x(), y=y)]
    for points, is_filled in ((enough, True), (few, False)):
        point = {"type": "point", "size": 30, "filled": is_filled}
        layers += [marks(points, point, x=_x(), y=y, tooltip=tips)] if points else []
    return Chart(
        key="percentiles",
        title=f"{metric_title(latency.metric)} by percentile",
        subtitle=("Hollow: too few samples to state it with an interval. Bars: 95 % intervals",),
        spec={"layer": layers},
        table=table_of_tips(rows, _POINT),
    )


def _spread(p: float) -> float:
    """Return how many samples there are for one beyond `p`: the axis that spreads the tail."""
    return 1 / (1 - p / 100)


def _x() -> Spec:
    values = [_spread(p) for p in (0, 50, 75, 90, 95, 99, 99.9)]
    axis = {"values": values, "labelExpr": "'p' + format(100 * (1 - 1 / datum.value), '~g')"}
    return quantity("x", "percentile", scale={"type": "log", "nice": False}, axis=axis)


def log_axis(values: Sequence[float]) -> Spec:
    """Return `scale` and `axis` of a channel over `values`, which are positive; at least one."""
    low, high = min(values), max(values)
    decades = math.log10(high) - math.log10(low)  # high ÷ low may be too large a number
    margin = max(10 ** (0.04 * decades), 1.15)
    domain = [low / margin or low, min(high * margin, sys.float_info.max)]
    return {
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": {"tickCount": 6, "format": ".6~g"},
    }

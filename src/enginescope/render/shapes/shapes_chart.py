"""Pictures of a sweep of shapes: throughput with its knee, and latency."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant, range_text
from enginescope.records.verdict.shapes import ShapeLevel, ShapesReport
from enginescope.render.base.data_table import UNKNOWN, printable
from enginescope.render.base.palette import BLUE, GREY, ORANGE, VERMILLION
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

#: From here on the axis of sizes is logarithmic.
_LOG_FROM = 8


def ms(value: float | None) -> str:
    """Return milliseconds with four significant digits; an em dash for none."""
    return UNKNOWN if value is None else format_significant(value, 4)


def rate_text(value: float | None) -> str:
    """Return items per second, in whole items from 1,000 up."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value >= 1_000 else format_significant(value, 4)


def interval_text(interval: Interval | None) -> str:
    """Return ``1.61 … 1.64``; an em dash if it is not known."""
    return UNKNOWN if interval is None else range_text(interval.low, interval.high)


def shapes_charts(report: ShapesReport) -> tuple[Chart, ...]:
    """Return throughput and latency by shape."""
    knee, measured = report.shape_to_run, report.measured
    rates = [_row(report, level, level.items_per_s, level.items_interval) for level in measured]
    times = [_row(report, level, level.latency_ms, level.interval) for level in measured]
    slow = [row for row in times if row["shape"] in {cliff.label for cliff in report.cliffs}]
    dashed = f"; the dashed line is the knee, {printable(report.dimension)} {knee}" if knee else ""
    rings = "" if report.knee.low is None else "; rings: 95 % interval of the knee"
    mark = {"type": "point", "shape": "triangle-down", "size": 260, "filled": True}
    y, color = quantity("y", "latency, ms"), {"value": VERMILLION}
    triangles = {
        "data": {"values": slow},
        "mark": mark,
        "encoding": {"x": _x(report), "y": y, "color": color},
    }
    curve = _curve(rates, _x(report), "items per second", BLUE)
    slower = "; triangles take longer than a larger shape" if slow else ""
    late = _curve(times, _x(report), "latency, ms", ORANGE)
    return (
        Chart(
            key="shapes_throughput",
            title=f"Throughput by shape{dashed}",
            subtitle=(f"One request at a time; bars are 95 % intervals{rings}",),
            spec={"layer": [*curve, *_knee_layers(report, rates)]},
            table=_table(report, "items/s", [rate_text(row["y"]) for row in rates], rates),
        ),
        Chart(
            key="shapes_latency",
            title=f"Latency by shape{slower}",
            subtitle=("Bars are 95 % intervals",),
            spec={"layer": [*late, *([triangles] if slow else [])]},
            table=_table(report, "ms", [ms(row["y"]) for row in times], times),
        ),
    )


def _row(
    report: ShapesReport, level: ShapeLevel, value: float | None, interval: Interval | None
) -> Spec:
    place = level.label if _is_whole(report) else level.size
    row: Spec = {"x": place, "shape": level.label, "y": value}
    if interval is not None:
        row |= {"low": interval.low, "high": interval.high, "ends": interval_text(interval)}
    return row


def _table(
    report: ShapesReport, unit: str, texts: Sequence[str], rows: Sequence[Spec]
) -> ChartTable:
    return ChartTable(
        headers=(printable(report.dimension), unit, "95 % interval"),
        rows=tuple(
            (row["shape"], text, row.get("ends", UNKNOWN))
            for text, row in zip(texts, rows, strict=True)
        ),
    )


def _is_whole(report: ShapesReport) -> bool:
    return any(not one.label.isdecimal() for one in report.levels)


def _x(report: ShapesReport) -> Spec:
    """Return the channel of sizes; of whole shapes, their names in order."""
    title = printable(report.dimension)
    if _is_whole(report):
        return {
            "field": "x",
            "type": "ordinal",
            "sort": None,
            "title": title,
            "axis": {"labelAngle": -30, "labelOverlap": True},
        }
    sizes = [one.size for one in report.measured]
    axis = {"values": sizes, "labelOverlap": "greedy", "format": "d", "grid": False}
    if sizes[-1] >= _LOG_FROM * sizes[0]:
        scale: Spec = {"type": "log", "base": 2, "nice": False, "padding": 12}
        return quantity("x", f"{title} (log)", scale=scale, axis=axis)
    return quantity("x", title, scale={"zero": False, "nice": False, "padding": 12}, axis=axis)


def _curve(rows: list[Spec], x: Spec, title: str, color: str) -> list[Spec]:
    y = quantity("y", title, scale={"zero": True})
    tips = tooltip(shape="shape", y=f"{title}#", ends="95 % interval")
    shared = {"x": x, "color": {"value": color}}
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {**shared, "y": y},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.6},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {**shared, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {**shared, "y": y, "tooltip": tips},
        },
    ]


def _knee_layers(report: ShapesReport, rows: list[Spec]) -> list[Spec]:
    """Return the line of the knee, and the points that its interval spans."""
    knee = report.knee
    labels = [row["shape"] for row in rows]
    layers: list[Spec] = []
    if knee.named is not None:
        line = {"type": "rule", "strokeDash": [6, 3], "color": GREY, "strokeWidth": 1.4}
        values = [{"x": rows[labels.index(knee.named)]["x"]}]
        layers.append({"data": {"values": values}, "mark": line, "encoding": {"x": _x(report)}})
    if knee.low is not None:
        last = labels.index(knee.high) if knee.high is not None else len(rows) - 1
        ring = {"type": "point", "size": 190, "strokeWidth": 1.6, "filled": False}
        y, color = quantity("y", "items per second"), {"value": GREY}
        layers.append(
            {
                "data": {"values": rows[labels.index(knee.low) : last + 1]},
                "mark": ring,
                "encoding": {"x": _x(report), "y": y, "color": color},
            }
        )
    return layers

"""Pictures of a sweep of shapes: throughput with its knee, and latency."""

from __future__ import annotations

from enginescope.judge.samples import Interval
from enginescope.records.verdict.shapes import ShapeLevel, ShapesReport
from enginescope.render.base.data_table import printable
from enginescope.render.base.palette import BLUE, GREY, ORANGE, VERMILLION
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.shapes.shapes_phrases import interval_text, ms, rate_text

#: From here on the axis of sizes is logarithmic.
_LOG_FROM = 8


def shapes_charts(report: ShapesReport) -> tuple[Chart, ...]:
    """Return throughput and latency by shape; throughput alone where items are all the same."""
    return (_throughput(report), _latency(report))


def _throughput(report: ShapesReport) -> Chart:
    rows = [
        _point(report, level, level.items_per_s, level.items_interval) for level in report.measured
    ]
    layers = [*_curve(rows, _x(report), "items per second", BLUE), *_knee_layers(report, rows)]
    knee = report.shape_to_run
    title = "Throughput by shape"
    if knee is not None:
        title += f"; the dashed line is the knee, {printable(report.dimension)} {knee}"
    return Chart(
        key="shapes_throughput",
        title=title,
        subtitle=(
            "One request at a time; bars are 95 % intervals"
            + ("" if report.knee.low is None else "; rings: 95 % interval of the knee"),
        ),
        spec={"layer": layers},
        table=ChartTable(
            headers=(printable(report.dimension), "items/s", "95 % interval"),
            rows=tuple(
                (level.label, rate_text(level.items_per_s), interval_text(level.items_interval))
                for level in report.measured
            ),
        ),
    )


def _latency(report: ShapesReport) -> Chart:
    cliffs = {cliff.label for cliff in report.cliffs}
    rows = [_point(report, level, level.latency_ms, level.interval) for level in report.measured]
    layers = _curve(rows, _x(report), "latency, ms", ORANGE)
    slow = [row for row in rows if row["shape"] in cliffs]
    if slow:
        layers.append(
            {
                "data": {"values": slow},
                "mark": {"type": "point", "shape": "triangle-down", "size": 260, "filled": True},
                "encoding": {
                    "x": _x(report),
                    "y": quantity("y", "latency, ms"),
                    "color": {"value": VERMILLION},
                },
            }
        )
    note = "; triangles take longer than a larger shape" if slow else ""
    return Chart(
        key="shapes_latency",
        title=f"Latency by shape{note}",
        subtitle=("Bars are 95 % intervals",),
        spec={"layer": layers},
        table=ChartTable(
            headers=(printable(report.dimension), "ms", "95 % interval"),
            rows=tuple(
                (level.label, ms(level.latency_ms), interval_text(level.interval))
                for level in report.measured
            ),
        ),
    )


def _point(
    report: ShapesReport, level: ShapeLevel, value: float | None, interval: Interval | None
) -> Spec:
    row: Spec = {"x": _place(report, level), "shape": level.label, "y": value}
    if interval is not None:
        row |= {"low": interval.low, "high": interval.high}
        row["ends"] = interval_text(interval)
    return row


def _place(report: ShapesReport, level: ShapeLevel) -> int | str:
    return level.label if _is_whole(report) else level.size


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

"""Picture of error against time: cumulative models with their front, and layers alone."""

from __future__ import annotations

import math

from enginescope.judge.samples import Interval
from enginescope.records.verdict.sensitivity import ConvertedModel, SensitivityReport
from enginescope.render.base.data_table import printable
from enginescope.render.base.palette import BLUE, GREY, VERMILLION
from enginescope.render.html.images import Chart, Spec, quantity, tooltip
from enginescope.render.sensitivity.sensitivity_phrases import error_text, point_name

#: Drawn below the smallest error that is there: FP32's error of 0 has no logarithm.
_BELOW = 10.0
_LEAST = 1e-9
_ALONE = "alone"
#: Parts of the picture's width and height that a label takes.
_LABEL_WIDTH, _LABEL_HEIGHT = 0.22, 0.08


def error_time_chart(report: SensitivityReport) -> Chart | None:
    """Return error against time; ``None`` where no converted model has both."""
    timed = [(at, model) for at, model in enumerate(report.cumulative) if at and _is_drawn(model)]
    if not timed:
        return None
    alone = [layer for layer in report.layers if _is_drawn(layer.alone)]
    errors = [model.error for _, model in timed] + [layer.alone.error for layer in alone]
    floor = min((error for error in errors if error), default=_LEAST) / _BELOW
    rows = [_row(report.cumulative[0], "FP32", floor)]
    rows += [_row(model, point_name(report, at), floor) for at, model in timed]
    single = [_row(layer.alone, printable(layer.name), floor) for layer in alone]
    numbers = [0, *(at for at, _ in timed)]
    front = [rows[numbers.index(point.number)] for point in report.front]
    for row, at in zip(rows, numbers, strict=True):
        row["kind"] = "proposed" if at == report.proposed else f"{report.by}s together"
    kinds = [f"{report.by}s together", "proposed", f"one {report.by} {_ALONE}"]
    for row in single:
        row["kind"] = kinds[-1]
    subtitle = ["The line joins the best models: no other one is both faster and closer to FP32"]
    subtitle.append("Bars: 95 % intervals. FP32's error of 0 is drawn at the lower edge")
    missing = len(report.cumulative) - 1 - len(timed) + len(report.layers) - len(alone)
    if missing:
        subtitle.append(f"{missing} without a finite error or a time are in the tables alone")
    every = [*single, *rows]
    return Chart(
        key="error_time",
        title="Error against time",
        subtitle=tuple(subtitle),
        spec={"layer": [_line(front), *_points(every, kinds), *_labels(rows, every)]},
        height=320,
    )


def _is_drawn(model: ConvertedModel) -> bool:
    return model.error is not None and model.time is not None


def _row(model: ConvertedModel, name: str, floor: float) -> Spec:
    ratio = model.time.ratio if model.time is not None else None
    at = ratio.ratio if ratio is not None else 1.0
    ends = (ratio.interval if ratio is not None else None) or Interval(low=at, high=at)
    return {
        "name": name,
        "x": at,
        "low": ends.low,
        "high": ends.high,
        "error": max(model.error or floor, floor),
        "shown": error_text(model),
    }


def _x() -> Spec:
    return quantity("x", "time ÷ FP32's", scale={"zero": False, "nice": True, "padding": 18})


def _y() -> Spec:
    scale = {"type": "log", "nice": False, "padding": 22}
    return quantity("error", "RMSE ÷ spread of the worst output", scale=scale)


def _line(front: list[Spec]) -> Spec:
    return {
        "data": {"values": front},
        "mark": {"type": "line", "interpolate": "step-after", "color": GREY},
        "encoding": {"x": _x(), "y": _y(), "order": {"field": "x", "type": "quantitative"}},
    }


def _points(rows: list[Spec], kinds: list[str]) -> list[Spec]:
    present = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
    colors = dict(zip(kinds, (BLUE, VERMILLION, GREY), strict=True))
    shapes = dict(zip(kinds, ("circle", "diamond", "cross"), strict=True))
    legend = {"title": None, "orient": "top", "columns": 1, "symbolSize": 80}
    kind: Spec = {"field": "kind", "type": "nominal", "legend": legend}
    color = {**kind, "scale": {"domain": present, "range": [colors[one] for one in present]}}
    shape = {**kind, "scale": {"domain": present, "range": [shapes[one] for one in present]}}
    bars: Spec = {
        "data": {"values": rows},
        "mark": {"type": "rule", "opacity": 0.45},
        "encoding": {"x": {**_x(), "field": "low"}, "x2": {"field": "high"}, "y": _y()},
    }
    points: Spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {
            "x": _x(),
            "y": _y(),
            "color": color,
            "shape": shape,
            "tooltip": tooltip(name="converted", x="time ÷ FP32's#", shown="RMSE ÷ spread"),
        },
    }
    return [bars, points]


def _labels(rows: list[Spec], every: list[Spec]) -> list[Spec]:
    """Return names beside cumulative models, where they cover no point and no other name.

    A name stands below its point to the left, where a point of the front has no other point, or
    above to the right. FP32, the proposal and all layers come first. A name without room is in the
    tooltip alone.
    """
    lows, highs = [row["low"] for row in every], [row["high"] for row in every]
    width = (max(highs) - min(lows)) or 1.0
    logs = [math.log(row["error"]) for row in every]
    height = (max(logs) - min(logs)) or 1.0

    def place(row: Spec) -> tuple[float, float]:
        return (row["x"] - min(lows)) / width, (math.log(row["error"]) - min(logs)) / height

    taken = [place(row) for row in every]
    boxes: list[tuple[float, float]] = []
    chosen: list[Spec] = []
    ends = [row for row in rows if row["kind"] == "proposed"] + [rows[0], rows[-1]]
    for row in [*ends, *rows]:
        x, y = place(row)
        if any(row["name"] == other["name"] for other in chosen):
            continue
        for side in (1, -1) if x < _LABEL_WIDTH else (-1, 1):
            center = x + side * _LABEL_WIDTH / 2, y + side * _LABEL_HEIGHT / 2
            covers = any(point != (x, y) and _is_within(point, center, 0.5) for point in taken)
            is_inside = 0 <= center[0] <= 1
            if is_inside and not covers and not any(_is_within(box, center, 1) for box in boxes):
                boxes.append(center)
                chosen.append({**row, "is_above": side > 0})
                break
    return [
        _names([row for row in chosen if row["is_above"] is is_above], is_above=is_above)
        for is_above in (True, False)
        if any(row["is_above"] is is_above for row in chosen)
    ]


def _is_within(point: tuple[float, float], center: tuple[float, float], reach: float) -> bool:
    """Whether a point is nearer than so much of a label's size in both directions."""
    across, along = abs(point[0] - center[0]), abs(point[1] - center[1])
    return across < reach * _LABEL_WIDTH and along < reach * _LABEL_HEIGHT


def _names(rows: list[Spec], *, is_above: bool) -> Spec:
    place = {"align": "left", "dx": 9, "dy": -10} if is_above else {"align": "right", "dx": -7}
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "dy": 11, "fontSize": 12, **place},
        "encoding": {"x": _x(), "y": _y(), "text": {"field": "name"}},
    }

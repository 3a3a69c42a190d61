"""A suite's matrix as a picture: latency, or how the cell ended."""

from __future__ import annotations

import math
from collections.abc import Sequence

from enginescope.core.record import replace
from enginescope.judge.units import format_significant
from enginescope.records.notice import UNSTABLE
from enginescope.records.suite.suite import CellStatus, SuiteResult
from enginescope.render.base.palette import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    OTHER,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    color_at,
    ink_on,
)
from enginescope.render.base.text_table import shorten_apart
from enginescope.render.html.images import Chart, Spec, tooltip
from enginescope.render.suites.suite_phrases import (
    PENDING,
    MatrixCell,
    MatrixLine,
    backend_names,
    matrix,
    status_text,
)

#: Pixels of a line of the matrix: at most, and where there are many.
_TALL, _LOW = 24, 2
#: Pixels of the whole matrix, where lines can be made lower for it.
_HEIGHT = 1_100
#: Lines lower than this have neither names nor words.
_NAMED = 11
#: More columns than these leave no room for words.
_WORDY_COLUMNS = 9
_NAME_LENGTH = 34
#: Pixels that a cell has for its words, and a backend for its name.
_ROOM = "max(bandwidth('x') - 4, 12)"
#: Pixels that names and a cell with its words need.
_NAMES, _CELL = 220, 72
_FLAT = {"labelAngle": 0, "labelLimit": {"expr": _ROOM}, "labelOverlap": False}
#: What a cell says of requests whose tensors stay on the device.
_COPIES = {"device_latency": "without copies, ms#", "copies": "copies, ms#"}
_MIDDLE = "#C3C8D0"
#: From the fastest to the slowest.
_SPEEDS = (BLUE, _MIDDLE, VERMILLION)
#: Between two colors nothing else: other ways round the wheel pass pink.
_IN_RGB = {"interpolate": "rgb"}
_STATUS_COLORS = {
    status_text(CellStatus.OK): BLUE,
    status_text(CellStatus.WRONG): YELLOW,
    status_text(CellStatus.FAILED): ORANGE,
    status_text(CellStatus.CRASHED): PURPLE,
    status_text(CellStatus.TIMED_OUT): SKY,
    status_text(CellStatus.OUT_OF_MEMORY): GREEN,
    status_text(CellStatus.UNSUPPORTED): GREY,
    PENDING: OTHER,
}


def suite_charts(result: SuiteResult) -> tuple[Chart, ...]:
    """Return the matrix as a picture, where two backends have a latency for the same."""
    lines = matrix(result)
    points = [_point(one, cell) for one in _named(lines) for cell in one.cells if cell.is_asked]
    known = [point for point in points if "log2" in point]
    others = [point for point in points if "log2" not in point]
    most = max([1.0, *(float(point["log2"]) for point in known)])
    for point in known:  # words that are legible on the color of the cell
        point["ink"] = ink_on(color_at(_SPEEDS, point["log2"] / most))
    if not known:
        return ()
    backends = list(backend_names(result).values())
    chart = Chart(
        key="suite_heat",
        title="Latency, colored by its ratio to the fastest of the row",
        spec=_matrix_spec(lines, backends, known, others, _speed_color(most)),
        height=math.ceil(_step(lines) * len(lines)),
        is_wide=True,
        least_width=_NAMES + _CELL * len(backends) if len(backends) <= _WORDY_COLUMNS else 0,
    )
    return (chart,)


def _named(lines: Sequence[MatrixLine]) -> list[MatrixLine]:
    names = shorten_apart([line.name for line in lines], _NAME_LENGTH)
    return [replace(one, model=name, case="") for one, name in zip(lines, names, strict=True)]


def _point(line: MatrixLine, cell: MatrixCell) -> Spec:
    row = cell.row
    latency = cell.figure("latency")
    status = status_text(row.status) if row is not None else PENDING
    named = {"model": line.name, "backend": cell.backend, "spec": cell.spec}
    point: Spec = {**named, "status": status}
    if row is not None and row.reason:
        point["reason"] = row.reason
    if latency is not None:
        point["latency"] = latency
        point["text"] = f"{format_significant(latency)} ms"
    for name in _COPIES:
        value = cell.figure(name)
        if value is not None:
            point[name] = value
    if cell.speed_up is not None:
        point["speed_up"] = cell.speed_up
    if cell.of_best is not None:
        point["of_best"] = cell.of_best
        point["log2"] = math.log2(cell.of_best)
    if row is not None and row.is_unstable and latency is not None:
        point["text"] += " !"
        point["unstable"] = UNSTABLE
    point.setdefault("text", status)
    point["ink"] = ink_on(_ended_color(status))
    return point


def _speed_color(most: float) -> Spec:
    return {
        "field": "log2",
        "type": "quantitative",
        "scale": {"domain": [0, most / 2, most], "range": list(_SPEEDS), **_IN_RGB},
        "legend": {
            "title": "times the shortest latency of the row",
            "orient": "top",
            "gradientLength": 220,
            "labelExpr": "format(pow(2, datum.value), '.2~r') + ' ×'",
        },
    }


def _step(lines: Sequence[MatrixLine]) -> float:
    return min(_TALL, max(_LOW, _HEIGHT / max(1, len(lines))))


def _matrix_spec(
    lines: Sequence[MatrixLine],
    backends: Sequence[str],
    known: list[Spec],
    others: list[Spec],
    color: Spec,
) -> Spec:
    step = _step(lines)
    names = [one.name for one in _named(lines)]
    y_axis = {"labels": step >= _NAMED, "ticks": False, "labelLimit": 260, "domain": False}
    x_axis: Spec = _FLAT if len(backends) <= _WORDY_COLUMNS else {"labelAngle": -40}
    place = {
        "y": _band("model", "model" if step < _NAMED else None, names, y_axis),
        "x": _band(
            "backend",
            None,
            list(backends),
            {**x_axis, "orient": "top", "ticks": False, "domain": False},
        ),
    }
    shown = tooltip(
        model="model",
        spec="backend",
        status="status",
        latency="median, ms#",
        **(_COPIES if any("copies" in one for one in known) else {}),
        of_best="times the shortest of the row#",
        speed_up="times as fast as the baseline#",
        reason="why",
        **({"unstable": "!"} if any("unstable" in point for point in known) else {}),
    )
    layers: list[Spec] = [
        {
            "data": {"values": known},
            "mark": {"type": "rect", "cornerRadius": 2 if step >= _NAMED else 0},
            "encoding": {**place, "color": color, "tooltip": shown},
        }
    ]
    if others:
        layers.append(_ended(others, place, shown))
    if step >= _NAMED and len(backends) <= _WORDY_COLUMNS:
        layers += [_words(points, place) for points in (known, others) if points]
    return {"layer": layers, "resolve": {"scale": {"color": "independent"}}}


def _band(field: str, title: str | None, domain: list[str], axis: Spec) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "title": title,
        "sort": None,
        "scale": {"domain": domain, "paddingInner": 0.04},
        "axis": {**axis, "grid": False},
    }


def _ended(others: list[Spec], place: Spec, shown: list[Spec]) -> Spec:
    found = [one for one in _STATUS_COLORS if any(each["status"] == one for each in others)]
    color = {
        "field": "status",
        "type": "nominal",
        "scale": {"domain": found, "range": [_ended_color(one) for one in found]},
        "legend": {"title": "how it ended", "orient": "bottom"},
    }
    return {
        "data": {"values": others},
        "mark": {"type": "rect"},
        "encoding": {**place, "color": color, "tooltip": shown},
    }


def _ended_color(status: str) -> str:
    """Return a color; what is well and has no figure is as neutral as a speed-up of 1."""
    return _MIDDLE if status == status_text(CellStatus.OK) else _STATUS_COLORS[status]


def _words(points: list[Spec], place: Spec) -> Spec:
    mark: Spec = {"type": "text", "fontSize": 11, "tooltip": False, "limit": {"expr": _ROOM}}
    ink: Spec = {"field": "ink", "type": "nominal", "scale": None, "legend": None}
    encoding = {**place, "text": {"field": "text"}, "color": ink}
    return {"data": {"values": points}, "mark": mark, "encoding": encoding}

"""A suite's matrix as pictures: speed-up, how cells ended, what accelerators took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from enginescope.judge.units import format_significant
from enginescope.records.notice import UNSTABLE
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.base.palette import (
    AMOUNT_STOPS,
    AMOUNTS,
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
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
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
#: From the slowest to the fastest.
_SPEEDS = (VERMILLION, _MIDDLE, BLUE)
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
    """Return the pictures that a suite has figures for; the one that matters most first."""
    lines = matrix(result)
    made = (_heat(result, lines), _statuses(result, lines), _coverage(result, lines))
    return tuple(one for one in made if one is not None)


def _heat(result: SuiteResult, lines: Sequence[MatrixLine]) -> Chart:
    compared = any(
        cell.speed_up is not None and not cell.is_baseline for line in lines for cell in line.cells
    )
    field = "log2" if compared else "latency"
    points = [_point(one, cell) for one in _named(lines) for cell in one.cells if cell.is_asked]
    known = [point for point in points if point.get(field) is not None]
    others = [point for point in points if point.get(field) is None]
    color = _speed_color(known) if compared else _latency_color()
    for point, ink in zip(known, _inks(known, field), strict=True):
        point["ink"] = ink
    title = "Speed-up over the baseline" if compared else "Latency, median"
    if not known:
        title = "How every cell ended"
    backends = list(backend_names(result).values())
    return Chart(
        key="suite_heat",
        title=f"{title}, by model and backend",
        spec=_matrix_spec(lines, backends, known, others, color),
        height=_height(lines),
        is_wide=True,
        least_width=_NAMES + _CELL * len(backends) if len(backends) <= _WORDY_COLUMNS else 0,
    )


def _named(lines: Sequence[MatrixLine]) -> list[MatrixLine]:
    from enginescope.core.record import replace

    names = shorten_apart([line.name for line in lines], _NAME_LENGTH)
    return [replace(one, model=name, case="") for one, name in zip(lines, names, strict=True)]


def _backend(cell: MatrixCell) -> Spec:
    """Return what the backend is called, and for the tooltip all of it."""
    return {"backend": cell.backend, "spec": cell.spec}


def _point(line: MatrixLine, cell: MatrixCell) -> Spec:
    row = cell.row
    latency = row.figure("latency") if row is not None else None
    status = status_text(row.status) if row is not None else PENDING
    point: Spec = {"model": line.name, **_backend(cell), "status": status}
    if row is not None and row.reason:
        point["reason"] = row.reason
    if latency is not None:
        point["latency"] = latency
        point["text"] = f"{format_significant(latency)} ms"
    for name in _COPIES:
        value = row.figure(name) if row is not None else None
        if value is not None:
            point[name] = value
    if cell.speed_up is not None:
        point["log2"] = math.log2(cell.speed_up)
        point["speed_up"] = cell.speed_up
        if not cell.is_baseline:
            point["text"] = f"{format_significant(cell.speed_up)} ×"
    if row is not None and row.is_unstable and latency is not None:
        point["text"] += " !"
        point["unstable"] = UNSTABLE
    point.setdefault("text", status)
    point["ink"] = ink_on(_ended_color(status))
    return point


def _most(known: Sequence[Spec]) -> float:
    """Return where the scale of speed-ups ends, as a power of two."""
    return max([1.0, *(abs(float(point["log2"])) for point in known)])


def _inks(known: Sequence[Spec], field: str) -> list[str]:
    """Return the color of the words of each cell: legible on the color of the cell."""
    if field == "log2":
        most = _most(known)
        return [ink_on(color_at(_SPEEDS, (point[field] / most + 1) / 2)) for point in known]
    logs = [math.log(max(point[field], 1e-12)) for point in known]
    low, span = min(logs, default=0.0), max(logs, default=0.0) - min(logs, default=0.0)
    return [ink_on(color_at(AMOUNT_STOPS, (log - low) / span if span else 0.5)) for log in logs]


def _speed_color(known: Sequence[Spec]) -> Spec:
    most = _most(known)
    return {
        "field": "log2",
        "type": "quantitative",
        "scale": {"domain": [-most, 0, most], "range": list(_SPEEDS), **_IN_RGB},
        "legend": {
            "title": "times as fast as the baseline",
            "orient": "top",
            "gradientLength": 220,
            "labelExpr": "format(pow(2, datum.value), '.2~r') + ' ×'",
        },
    }


def _latency_color() -> Spec:
    return {
        "field": "latency",
        "type": "quantitative",
        "scale": {"type": "log", "scheme": AMOUNTS},
        "legend": {"title": "latency, ms", "orient": "top", "gradientLength": 220},
    }


def _step(lines: Sequence[MatrixLine]) -> float:
    return min(_TALL, max(_LOW, _HEIGHT / max(1, len(lines))))


def _height(lines: Sequence[MatrixLine]) -> int:
    return math.ceil(_step(lines) * max(1, len(lines)))


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
        speed_up="times as fast#",
        reason="why",
        **({"unstable": "!"} if any("unstable" in point for point in known) else {}),
    )
    layers: list[Spec] = []
    if known:
        layers.append(
            {
                "data": {"values": known},
                "mark": {"type": "rect", "cornerRadius": 2 if step >= _NAMED else 0},
                "encoding": {**place, "color": color, "tooltip": shown},
            }
        )
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


def _statuses(result: SuiteResult, lines: Sequence[MatrixLine]) -> Chart | None:
    called = backend_names(result)
    counts: dict[tuple[str, str], int] = {}
    for line in lines:
        for cell in line.cells:
            if cell.is_asked:
                status = status_text(cell.row.status) if cell.row is not None else PENDING
                counts[cell.spec, status] = counts.get((cell.spec, status), 0) + 1
    found = [one for one in _STATUS_COLORS if any(status == one for _, status in counts)]
    values = [
        {
            "backend": called[spec],
            "spec": spec,
            "status": status,
            "cells": count,
            "order": found.index(status),
        }
        for (spec, status), count in counts.items()
    ]
    return Chart(
        key="suite_status",
        title="How cells ended, by backend",
        spec={
            "data": {"values": values},
            "mark": {"type": "bar"},
            "encoding": {
                "y": {
                    "field": "backend",
                    "type": "nominal",
                    "sort": None,
                    "title": None,
                    "scale": {"domain": list(called.values())},
                },
                "x": quantity("cells", "cells", axis={"tickMinStep": 1}),
                "order": {"field": "order", "type": "quantitative"},
                "color": {
                    "field": "status",
                    "type": "nominal",
                    "title": None,
                    "scale": {"domain": found, "range": [_STATUS_COLORS[one] for one in found]},
                    "legend": {"orient": "top"},
                },
                "tooltip": tooltip(spec="backend", status="status", cells="cells#"),
            },
        },
        table=_status_table(list(called), found, counts),
        height=max(60, 26 * len(called)),
        is_wide=True,
    )


def _status_table(
    specs: Sequence[str], found: Sequence[str], counts: dict[tuple[str, str], int]
) -> ChartTable:
    rows = tuple((spec, *(str(counts.get((spec, one), 0)) for one in found)) for spec in specs)
    return ChartTable(headers=("backend", *found), rows=rows)


def _coverage(result: SuiteResult, lines: Sequence[MatrixLine]) -> Chart | None:
    """Share of the nodes that providers other than the CPU's took; ``None`` where none could."""
    named = _named(lines)
    values = [
        {"model": line.name, **_backend(cell), **share}
        for line in named
        for cell in line.cells
        if cell.row is not None and (share := _shares(cell.row)) is not None
    ]
    if not any(value["nodes_pct"] for value in values):
        return None
    drawn = {value["backend"] for value in values}
    backends = [name for name in backend_names(result).values() if name in drawn]
    color: dict[str, Any] = {
        "field": "nodes_pct",
        "type": "quantitative",
        "scale": {"scheme": AMOUNTS, "domain": [0, 100]},
        "legend": {"title": "% of the nodes", "orient": "top", "gradientLength": 220},
    }
    step = _step(lines)
    axis = {"labels": step >= _NAMED, "ticks": False, "labelLimit": 260, "domain": False}
    shown = tooltip(
        model="model",
        spec="backend",
        nodes_pct="% of the nodes#",
        time_pct="% of the layers' time#",
        providers="providers",
    )
    return Chart(
        key="suite_coverage",
        title="Share of the nodes that accelerators took",
        subtitle=("Nodes on any provider but the CPU's, of all that were placed",),
        spec={
            "data": {"values": values},
            "mark": {"type": "rect"},
            "encoding": {
                "y": _band("model", None, [one.name for one in named], axis),
                "x": _band("backend", None, backends, {**_FLAT, "orient": "top"}),
                "color": color,
                "tooltip": shown,
            },
        },
        height=_height(lines),
        is_wide=True,
    )


def _shares(row: CellRow) -> Spec | None:
    nodes = sum(provider.nodes or 0 for provider in row.providers)
    if not nodes or row.cell.job.backend.name == "ort-cpu":
        return None
    away = [provider for provider in row.providers if not provider.provider.startswith("CPU")]
    times = [provider.time_ms for provider in row.providers if provider.time_ms is not None]
    whole = sum(times)
    part = sum(one.time_ms or 0.0 for one in away)
    return {
        "nodes_pct": 100 * sum(one.nodes or 0 for one in away) / nodes,
        **({"time_pct": 100 * part / whole} if whole else {}),
        "providers": ", ".join(
            f"{provider.provider} {provider.nodes}" for provider in row.providers
        ),
    }

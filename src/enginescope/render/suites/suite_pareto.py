"""Error against time, one picture a model, with the backends that none beats in both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

from enginescope.analysis.suites.suite_table import Case, case_of, lost_fp16
from enginescope.judge.units import format_significant
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.charts.series import colored
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.suites.suite_phrases import backend_names, status_text

#: Pictures; the table has the other models.
MOST_PARETO = 12
#: Errors below this count as this on the logarithmic axis where none is above 0.
_LEAST_ERROR = 1e-9
_FRONT, _BEATEN = "no backend is faster and closer", "beaten in both"
_UNRANKED = "not FP16, so not ranked"
#: A seventh backend has the first one's color and another shape.
_SHAPES = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")


def pareto_charts(result: SuiteResult) -> tuple[Chart, ...]:
    """Return the pictures of models whose outputs were compared on two backends or more."""
    called = backend_names(result)
    by_case: dict[Case, list[CellRow]] = {}
    for row in result.rows:
        if row.figure("latency") and row.figure("max_abs_error") is not None:
            by_case.setdefault(case_of(row.cell), []).append(row)
    found = ((case, rows) for case, rows in by_case.items() if len(rows) > 1)
    made = (_chart(at, case, rows, called) for at, (case, rows) in enumerate(found))
    return tuple(islice(made, MOST_PARETO))


def _chart(at: int, case: Case, rows: Sequence[CellRow], called: dict[str, str]) -> Chart:
    points = _points(rows, called)
    name = " · ".join(one for one in case if one)
    return Chart(
        key=f"suite_pareto_{at + 1}",
        title=f"{name}: error against time",
        subtitle=(
            "Left and low is better; no backend beats a large mark, joined by the line, in both",
        ),
        spec=_spec(points, list(called.values())),
        table=ChartTable(
            headers=("Backend", "Median, ms", "Largest error", "Status", ""),
            rows=tuple(
                (
                    point["backend"],
                    format_significant(point["latency"], 4),
                    format_significant(point["error"], 3),
                    point["status"],
                    point["front"],
                )
                for point in points
            ),
        ),
        height=170,
    )


def _points(rows: Iterable[CellRow], called: dict[str, str]) -> list[Spec]:
    """Return the backends by time, each with whether another is faster and closer."""
    points: list[Spec] = []
    least: float | None = None
    pairs = [(row.figure("latency"), row.figure("max_abs_error"), row) for row in rows]
    known = [(ms, error, row) for ms, error, row in pairs if ms is not None and error is not None]
    floor = min((error for _, error, _ in known if error > 0), default=_LEAST_ERROR) / 10
    for ms, error, row in sorted(known, key=lambda one: one[:2]):
        is_ranked = row.status is CellStatus.OK and not lost_fp16(row)
        is_front = is_ranked and (least is None or error < least)
        least = error if is_front else least
        points.append(
            {
                "backend": called[row.cell.spec],
                "spec": row.cell.spec,
                "latency": ms,
                "error": error,
                "drawn": max(error, floor),
                "low": row.figure("latency_low") or ms,
                "high": row.figure("latency_high") or ms,
                "status": status_text(row.status),
                "front": _UNRANKED if lost_fp16(row) else _FRONT if is_front else _BEATEN,
            }
        )
    return points


def _axes(points: list[Spec]) -> tuple[Spec, Spec]:
    """Return both channels, logarithmic; an error of 0 has the lowest tick."""
    axis: Spec = {"tickCount": 5, "format": ".1~e"}
    if any(point["error"] == 0 for point in points):
        floor = min(point["drawn"] for point in points)
        words = f"datum.value < {1.01 * floor!r} ? '0' : format(datum.value, '.1~e')"
        axis = {"values": [floor, *_steps(points)], "labelExpr": words}
    x = quantity(
        "latency",
        "latency, median, ms (log)",
        scale={"type": "log", "nice": False, "padding": 40},
        axis={"tickCount": 5, "format": ".3~g", "grid": False},
    )
    y = quantity(
        "drawn",
        "largest absolute error (log)",
        scale={"type": "log", "nice": False, "padding": 22},
        axis=axis,
    )
    return x, y


def _steps(points: list[Spec]) -> list[float]:
    """Return powers of ten, or 1, 2 and 5 of each, from the smallest error but 0 to the largest."""
    errors = [point["error"] for point in points if point["error"] > 0]
    if not errors:
        return []
    first, last = (math.floor(math.log10(one)) for one in (min(errors), max(errors)))
    shares = (1,) if last - first > 1 else (1, 2, 5)
    steps = [share * 10.0**power for power in range(first, last + 2) for share in shares]
    return [step for step in steps if min(errors) / 2 < step < 2 * max(errors)]


def _spec(points: list[Spec], names: list[str]) -> Spec:
    x, y = _axes(points)
    tips = tooltip(
        spec="backend",
        latency="median, ms#",
        low="95 % CI from, ms#",
        high="to, ms#",
        error="largest error#",
        status="status",
        front="compared",
    )
    legend: Spec = {"orient": "top", "columns": 1, "title": None, "labelLimit": 300}
    color = colored("backend", names, legend=legend)
    shapes = [_SHAPES[(at + at // len(_SHAPES)) % len(_SHAPES)] for at in range(len(names))]
    shape = {**color, "scale": {"domain": names, "range": shapes}}
    front = [point for point in points if point["front"] == _FRONT]
    return {
        "layer": [
            {
                "data": {"values": front},
                "mark": {"type": "line", "interpolate": "step-after", "strokeDash": [4, 3]},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": points},
                "mark": {"type": "rule", "strokeWidth": 1.4},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": color,
                    "shape": shape,
                    "size": {
                        "condition": {"test": f"datum.front === '{_FRONT}'", "value": 110},
                        "value": 45,
                    },
                    "tooltip": tips,
                },
            },
        ]
    }

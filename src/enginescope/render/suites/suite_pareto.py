"""Error against time, one picture a model, with the backends that none beats in both."""

from collections.abc import Iterable, Sequence
from itertools import islice

from enginescope.analysis.suites.suite_table import Case, case_of, lost_fp16
from enginescope.judge.units import format_significant
from enginescope.records.suite.suite import CellRow, CellStatus, SuiteResult
from enginescope.render.charts.error_time import error_time
from enginescope.render.charts.series import told_apart
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.suites.suite_answer import backend_names, status_text

#: Pictures; the table has the other models.
MOST_PARETO = 12
_FRONT, _BEATEN = "no backend is faster and closer", "beaten in both"
_BETTER = "Left and low is better; no backend beats a large mark, joined by the line, in both"
_UNRANKED = "not FP16, so not ranked"


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
    points, names = _points(rows, called), list(called.values())
    look = told_apart("kind", names, "color", "shape", legend=None).values()
    marks = zip(*(channel["scale"]["range"] for channel in look), strict=True)
    scale = {"type": "log", "nice": False, "padding": 40}
    axis = {"tickCount": 5, "format": ".3~g", "grid": False}
    figures = {"time": "median, ms#", "low": "95 % CI from, ms#", "high": "to, ms#"}
    words = {"error": "largest error#", "status": "status", "front": "compared"}
    layers = error_time(
        points,
        x=quantity("time", "latency, median, ms (log)", scale=scale, axis=axis),
        y_title="largest absolute error",
        marks=dict(zip(names, marks, strict=True)),
        tips=tooltip(spec="backend", **figures, **words),
    )
    name = " · ".join(filter(None, case))
    key = f"suite_pareto_{at + 1}"
    title = f"{name}: error against time"
    table = ChartTable(
        headers=("Backend", "Median, ms", "Largest error", "Status", ""),
        rows=tuple(
            (
                *(one["kind"], format_significant(one["time"], 4)),
                *(format_significant(one["error"], 3), one["status"], one["front"]),
            )
            for one in points
        ),
    )
    return Chart(
        key=key, title=title, subtitle=(_BETTER,), spec={"layer": layers}, table=table, height=170
    )


def _points(rows: Iterable[CellRow], called: dict[str, str]) -> list[Spec]:
    points: list[Spec] = []
    least: float | None = None
    pairs = [(row.figure("latency"), row.figure("max_abs_error"), row) for row in rows]
    known = [(ms, error, row) for ms, error, row in pairs if ms is not None and error is not None]
    for ms, error, row in sorted(known, key=lambda one: one[:2]):
        is_ranked = row.status is CellStatus.OK and not lost_fp16(row)
        is_front = is_ranked and (least is None or error < least)
        least = error if is_front else least
        points.append(
            {
                "kind": called[row.cell.spec],
                "spec": row.cell.spec,
                "time": ms,
                "error": error,
                "low": row.figure("latency_low") or ms,
                "high": row.figure("latency_high") or ms,
                "status": status_text(row.status),
                "is_best": is_front,
                "front": _UNRANKED if lost_fp16(row) else _FRONT if is_front else _BEATEN,
            }
        )
    return points

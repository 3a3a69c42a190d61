"""Memory over time.

Memory of several workers over time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes, format_significant
from enginescope.records.samples import Array
from enginescope.render.charts.series import colored, dashed, extremes
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_MIB = 1 << 20
_POINTS = 1_000
_TABLE_ROWS = 24


def memory_series(view: RunView) -> Chart | None:
    """Resident memory of the worker; ``None`` where it was not sampled."""
    telemetry = view.run.telemetry
    values = telemetry.channel("rss_bytes") if telemetry else None
    if telemetry is None or values is None or not np.isfinite(values).any():
        return None
    seen = np.isfinite(values)
    time_ms, rss = telemetry.time_ms[seen], values[seen]
    rows = [
        {"x": extreme.x / 1e3, "y": extreme.high / _MIB}
        for extreme in extremes(time_ms, rss, _POINTS)
    ]
    until_loop, peak = view.run.peak_memory_bytes, int(rss.max())
    title = f"Resident memory of the worker: peak {format_bytes(max(peak, until_loop or 0))}"
    if until_loop is not None and until_loop < peak:
        title += f", {format_bytes(until_loop)} until the timed loop ended"
    return Chart(
        key="memory",
        title=title,
        spec={
            "data": {"values": rows},
            "mark": {"type": "area", "line": True, "opacity": 0.35},
            "encoding": {
                "x": quantity(
                    "x",
                    "time since the worker was started, s",
                    scale={"nice": False},
                    axis={"tickCount": 10},
                ),
                "y": quantity("y", "resident memory, MiB", axis={"tickCount": 5}),
                "tooltip": tooltip(x="time, s#", y="MiB#"),
            },
        },
        table=_table(time_ms, rss),
        height=160,
    )


def _table(time_ms: Array, rss: Array) -> ChartTable:
    rows = (
        (format_significant(extreme.x / 1e3), format_significant(extreme.high / _MIB, 4))
        for extreme in extremes(time_ms, rss, _TABLE_ROWS)
    )
    return ChartTable(headers=("From, s", "Greatest resident memory, MiB"), rows=tuple(rows))


_WORKER_MIB = 1 << 20
_WORKER_POINTS = 400


def worker_memory(
    labelled: Sequence[tuple[str, RunView]], *, title: str, subtitle: tuple[str, ...] = ()
) -> Chart:
    """Resident memory of each worker, one line each; an empty plot says that there is none."""
    rows: list[Spec] = []
    peaks = []
    for label, view in labelled:
        telemetry = view.run.telemetry
        values = telemetry.channel("rss_bytes") if telemetry else None
        if telemetry is None or values is None or not np.isfinite(values).any():
            continue
        seen = np.isfinite(values)
        points = extremes(telemetry.time_ms[seen], values[seen], _WORKER_POINTS)
        rows += [
            {"run": label, "x": point.x / 1e3, "y": point.high / _WORKER_MIB} for point in points
        ]
        peaks.append((label, format_significant(float(values[seen].max()) / _WORKER_MIB, 4)))
    drawn = "Drawn instead: resident memory of each worker"
    return Chart(
        key="worker_memory",
        title=title,
        subtitle=(*subtitle, drawn if rows else "Memory of the workers is not known either"),
        spec=_spec(rows, [label for label, _ in labelled]),
        table=ChartTable(headers=("Model", "Greatest, MiB"), rows=tuple(peaks)),
        height=260,
    )


def _spec(rows: list[Spec], names: list[str]) -> Spec:
    legend: Spec = {"title": None, "columns": 1, "labelLimit": 600}
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {
            "x": quantity(
                "x",
                "time since the worker was started, s",
                scale={"nice": False},
                axis={"tickCount": 10},
            ),
            "y": quantity("y", "resident memory, MiB", axis={"tickCount": 5}),
            "color": colored("run", names, legend=legend),
            "strokeDash": dashed("run", names, legend=legend),
            "tooltip": tooltip(run="model", x="time, s#", y="MiB#"),
        },
    }

"""Memory over time."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_bytes, format_significant
from enginescope.records.samples import Array
from enginescope.render.charts.downsample import extremes
from enginescope.render.html.spec import Chart, ChartTable, quantity, tooltip

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
    peak = view.run.peak_memory_bytes
    title = "Resident memory of the worker" + (f": peak {format_bytes(peak)}" if peak else "")
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

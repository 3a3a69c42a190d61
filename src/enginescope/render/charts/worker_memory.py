"""Memory of several workers over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_significant
from enginescope.render.charts.downsample import extremes
from enginescope.render.charts.series_styles import colored, dashed
from enginescope.render.html.spec import Chart, ChartTable, Spec, quantity, tooltip

_MIB = 1 << 20
_POINTS = 400


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
        points = extremes(telemetry.time_ms[seen], values[seen], _POINTS)
        rows += [{"run": label, "x": point.x / 1e3, "y": point.high / _MIB} for point in points]
        peaks.append((label, format_significant(float(values[seen].max()) / _MIB, 4)))
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

"""What GPUs reported over time: one picture for each quantity, one line for each run."""

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record
from enginescope.judge.samples import Array
from enginescope.judge.units import format_significant
from enginescope.records.run import telemetry as channel
from enginescope.render.base import short_names
from enginescope.render.base.facts import backend_text
from enginescope.render.charts.series import downsampled, downsampled_table, told_apart
from enginescope.render.html.images import Chart, ChartTable, Spec, marks, quantity, tooltip

_PERCENT = (0, 100)
_BUCKETS = 400
_TIME = "time since requests began, s"


class Panel(Record, frozen=True):
    """One quantity.

    Attributes:
        channels: The first of these that a run has is drawn.
        scale: What its values are multiplied by.
        domain: Of its axis; ``None``: as the values are.
    """

    key: str
    title: str
    axis: str
    channels: tuple[str, ...]
    scale: float = 1.0
    domain: tuple[float, float] | None = None
    from_zero: bool = True


PANELS: tuple[Panel, ...] = (
    Panel("gpu_utilization", "GPU utilization", "GPU, %", (channel.UTILIZATION,), domain=_PERCENT),
    Panel(
        *("gpu_memory_utilization", "Memory utilization", "memory, %"),
        (channel.MEMORY_UTILIZATION,),
        domain=_PERCENT,
    ),
    Panel("gpu_memory", "Device memory in use", "in use, MiB", (channel.DEVICE_MEMORY,), 2**-20),
    Panel("gpu_sm_clock", "SM clock", "SM clock, MHz", (channel.SM_CLOCK,), from_zero=False),
    Panel("gpu_power", "Power", "power, W", (channel.POWER_INSTANT, channel.POWER)),
    Panel(
        "gpu_temperature", "Temperature", "temperature, °C", (channel.TEMPERATURE,), from_zero=False
    ),
)


class _Line(Record, frozen=True, kw_only=True, eq=False):
    run: str
    time_s: Array
    values: Array


def telemetry_charts(views: Sequence[RunView], *, prefix: str = "") -> tuple[Chart, ...]:
    """Return a picture for each quantity that any of the runs reports.

    Args:
        prefix: Before the keys of the pictures, where a page has them more than once.
    """
    found = (_chart(panel, views, prefix) for panel in PANELS)
    return tuple(one for one in found if one is not None)


def telemetry_picture(
    views: Sequence[RunView],
    quantities: Sequence[Panel] = PANELS,
    labels: Sequence[str] | None = None,
) -> Chart | None:
    """Return quantities stacked over one time axis, as one picture; ``None`` without any.

    Args:
        labels: What the runs are called, each by another name.
    """
    labelled = list(zip(views, labels or _labels(views), strict=True))
    panels = [(panel, lines) for panel in quantities if (lines := _lines(panel, labelled))]
    if not panels:
        return None
    return Chart(
        key="gpu_telemetry",
        title="The GPU over the telemetry pass",
        subtitle=("Left of 0 the model is loaded and idle; a gap means that nothing was reported",),
        spec={"vconcat": [_spec(panel, lines, with_legend=True) for panel, lines in panels]},
        height=110,
    )


def _chart(panel: Panel, views: Sequence[RunView], prefix: str) -> Chart | None:
    lines = _lines(panel, list(zip(views, _labels(views), strict=True)))
    if not lines:
        return None
    known = np.concatenate([line.values[np.isfinite(line.values)] for line in lines])
    low, high = (format_significant(one) for one in (known.min(), known.max()))
    unit = panel.axis.rpartition(", ")[2]
    span = f"{low} {unit}" if low == high else f"{low} … {high} {unit}"
    return Chart(
        key=f"{prefix}{panel.key}",
        title=f"{panel.title}: {span}",
        spec=_spec(panel, lines, with_legend=panel is PANELS[0]),
        table=_table(panel, lines),
        height=110,
    )


def _lines(panel: Panel, labelled: Sequence[tuple[RunView, str]]) -> list[_Line]:
    found = []
    for view, label in labelled:
        gpu = view.run.gpu
        series, idle = (gpu.series, gpu.span("idle")) if gpu else (None, None)
        known = map(series.channel, panel.channels) if series else ()
        values = next((one for one in known if one is not None), None)
        if series is None or values is None:
            continue
        time_s = (series.time_ms - (idle.to_ms if idle else float(series.time_ms[0]))) / 1e3
        found.append(_Line(run=label, time_s=time_s, values=values * panel.scale))
    return found


def _labels(views: Sequence[RunView]) -> tuple[str, ...]:
    jobs = [(view.id[:6], view.run.job) for view in views]
    names = [f"{job.subject.name} · {backend_text(job.backend)} ({name})" for name, job in jobs]
    return short_names.told_apart(names).labels


def _spec(panel: Panel, lines: Sequence[_Line], *, with_legend: bool) -> Spec:
    rows = [row for line in lines for row in _rows(line)]
    scale: Spec = {"zero": panel.from_zero}
    known = {float(one) for line in lines for one in line.values[np.isfinite(line.values)]}
    if panel.domain:
        scale["domain"] = list(panel.domain)
    elif len(known) == 1:  # a single value has no axis without room around it
        (value,) = known
        scale["domain"] = [0.9 * value, 1.1 * value] if value else [0.0, 1.0]
    legend: Spec = {"title": None, "columns": 1, "labelLimit": 600}
    looks = told_apart(
        *("run", [line.run for line in lines], "color", "strokeDash"),
        legend=legend if with_legend else None,
    )
    # pictures below each other have one time axis
    return marks(
        rows,
        # a path breaks where there was no value
        {"type": "line", "invalid": "break-paths-filter-domains", "strokeWidth": 1.6},
        x=quantity("x", _TIME, scale={"nice": False}, axis={"tickCount": 10}),
        y=quantity("y", panel.axis, scale=scale, axis={"tickCount": 4, "minExtent": 58}),
        **(looks if len(lines) > 1 else {}),
        tooltip=tooltip(run="run", x=f"{_TIME}#", y=f"{panel.axis}#"),
    )


def _rows(line: _Line) -> list[Spec]:
    """Return the points of a line; of a long one the least and the greatest of each block."""
    is_short = line.values.size <= 2 * _BUCKETS
    ends = ("low",) if is_short else ("low", "high")
    found = downsampled(line.time_s, line.values, line.values.size if is_short else _BUCKETS)
    return [{"run": line.run, "x": one["x"], "y": one[end]} for one in found for end in ends]


def _table(panel: Panel, lines: Sequence[_Line]) -> ChartTable:
    tables = [downsampled_table(line.time_s, "s", line.values, panel.axis) for line in lines]
    if len(lines) == 1:
        return tables[0]
    named = zip(lines, tables, strict=True)
    rows = tuple((line.run, *row) for line, table in named for row in table.rows)
    return ChartTable(headers=("Run", *tables[0].headers), rows=rows)

"""The picture of a load test: latency by rate, or latency and its parts by percentile."""

from __future__ import annotations

from enginescope.analysis.claims.percentile import cell, percentile_name, range_or_mark
from enginescope.records.verdict.load import LoadKind, LoadReport, LoadTrial
from enginescope.render.base.figures import figure
from enginescope.render.base.palette import BLUE, ORANGE, SKY, VERMILLION
from enginescope.render.base.phrases import metric_title
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.load.load_phrases import (
    STEP_HEADERS,
    part,
    percentile_of,
    rate_of,
    slo_text,
    step_rows,
)

_PARTS = ("latency", "queueing", "service")
_PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_KINDS = {LoadKind.MET: BLUE, LoadKind.INCONCLUSIVE: ORANGE, LoadKind.MISSED: VERMILLION}
_SHAPES = {
    LoadKind.MET: "circle",
    LoadKind.INCONCLUSIVE: "diamond",
    LoadKind.MISSED: "triangle-up",
}


def load_chart(report: LoadReport) -> Chart | None:
    """Return the picture; ``None`` where there is nothing to compare."""
    return _by_rate(report) if report.is_search else parts_chart(report.trials[0])


def _by_rate(report: LoadReport) -> Chart:
    name = percentile_name(percentile_of(report))
    rows = [
        {
            "x": rate_of(step),
            "y": trial.percentile.value_ms,
            "verdict": trial.kind.value,
            "sure": range_or_mark(trial.percentile),
            "stated": trial.percentile.mark is None,
        }
        for step in report.steps
        for trial in step.trials
        if trial.percentile is not None
    ]
    kinds = [kind for kind in _KINDS if any(row["verdict"] == kind.value for row in rows)]
    domain = [kind.value for kind in kinds]
    rate = quantity("x", "queries per second", axis={"grid": False})
    ticks = {"tickCount": 6, "format": ",~g"}
    latency = quantity("y", f"{name} latency, ms (log)", scale={"type": "log"}, axis=ticks)
    points: Spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 60, "filled": True},
        "encoding": {
            "x": rate,
            "y": latency,
            "color": {
                "field": "verdict",
                "type": "nominal",
                "scale": {"domain": domain, "range": [_KINDS[kind] for kind in kinds]},
                "legend": {"orient": "top", "title": None},
            },
            "shape": {
                "field": "verdict",
                "type": "nominal",
                "scale": {"domain": domain, "range": [_SHAPES[kind] for kind in kinds]},
                "legend": {"orient": "top", "title": None},
            },
            "opacity": {"condition": {"test": "datum.stated", "value": 1}, "value": 0.35},
            "tooltip": tooltip(x="queries/s#", y="latency, ms#", sure="95 % CI", verdict="verdict"),
        },
    }
    layers = [points]
    if report.slo is not None:
        limit = {"data": {"values": [{"y": report.slo.limit_ms}]}}
        rule = {"type": "rule", "strokeDash": [6, 3]}
        layers.append({**limit, "mark": rule, "encoding": {"y": latency}})
    goal = slo_text(report.slo) if report.slo else ""
    return Chart(
        key="load",
        title=f"{name} latency by rate; the dashed line is the objective {goal}",
        subtitle=("Pale: too few samples to state it with an interval",),
        spec={"layer": layers},
        table=ChartTable(headers=STEP_HEADERS, rows=step_rows(report)),
        is_wide=True,
    )


def parts_chart(trial: LoadTrial) -> Chart | None:
    """Return latency and its parts by percentile; ``None`` of a closed loop."""
    times = [
        (percentile_name(one.p), metric_title(metric), one)
        for metric in _PARTS
        if (summary := part(trial, metric)) is not None
        for one in summary.percentiles
        if one.p in _PERCENTILES and one.mark is None
    ]
    rows = [{"percentile": p, "part": name, "y": one.value_ms} for p, name, one in times]
    names = [metric_title(metric) for metric in _PARTS if part(trial, metric) is not None]
    if len(names) < len(_PARTS) or not times:
        return None
    return Chart(
        key="load",
        title="Latency, queueing time and service time by percentile",
        subtitle=(
            "Each percentile is of its own times, so the parts do not add up to the whole",
            "Percentiles with too few samples are left out",
        ),
        spec={
            "data": {"values": rows},
            "mark": {"type": "bar"},
            "encoding": {
                "x": {
                    "field": "percentile",
                    "type": "nominal",
                    "sort": None,
                    "title": None,
                    "axis": {"labelAngle": 0},
                },
                "xOffset": {"field": "part", "sort": names},
                "y": quantity("y", "time, ms"),
                "color": {
                    "field": "part",
                    "type": "nominal",
                    "sort": names,
                    "scale": {"domain": names, "range": [BLUE, ORANGE, SKY]},
                    "legend": {"orient": "top", "title": None},
                },
                "tooltip": tooltip(part="time", percentile="percentile", y="ms#"),
            },
        },
        table=ChartTable(
            headers=("Percentile", "Time", "ms (95 % CI)"),
            rows=tuple((p, name, cell(one, figure)) for p, name, one in times),
        ),
        is_wide=True,
    )

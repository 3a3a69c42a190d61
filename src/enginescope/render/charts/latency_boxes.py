"""Latency of several runs as boxes on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.claims.percentile import MARKED, cell
from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.stats.describe import describe_values
from enginescope.judge.units import format_significant
from enginescope.render.base.figures import figure
from enginescope.render.charts.series import colored
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_ROW = 46
#: Ends of whiskers and boxes.
_ENDS = (5.0, 25.0, 75.0, 95.0)


def latency_boxes(
    labelled: Sequence[tuple[str, RunView]],
    *,
    key: str = "latency_boxes",
    title: str = "Latency of single images",
) -> Chart | None:
    """Quartiles, median with its interval, p5 and p95 of each run; ``None`` without samples."""
    rows = [row for label, view in labelled if (row := _row(label, view)) is not None]
    if not rows:
        return None
    return Chart(
        key=key,
        title=title,
        subtitle=(
            "Box: quartiles; line: median, dark band: its 95 % interval; whiskers: p5 … p95",
            f"Samples beyond the whiskers are counted at their right; in the table {MARKED}",
        ),
        spec=_spec(rows),
        table=ChartTable(
            headers=("Model", "p5, ms", "p25, ms", "Median, ms", "p75, ms", "p95, ms", "n"),
            rows=tuple(
                (
                    row["run"],
                    *row["cells"][:2],
                    figure(row["m"]),
                    *row["cells"][2:],
                    f"{row['n']:,}",
                )
                for row in rows
            ),
        ),
        height=_ROW * len(rows) + 20,
    )


def _row(label: str, view: RunView) -> Spec | None:
    samples, latency = view.run.headline, view.latency
    if samples is None or latency is None:
        return None
    values = samples.values_ms
    stated = describe_values(values, percentiles=_ENDS).percentiles
    p5, q1, q3, p95 = (one.value_ms for one in stated)
    interval = latency.median_interval
    return {
        "run": label,
        "p5": p5,
        "q1": q1,
        "m": latency.median_ms,
        "q3": q3,
        "p95": p95,
        "cells": [cell(one, figure) for one in stated],
        "low": interval.low if interval else latency.median_ms,
        "high": interval.high if interval else latency.median_ms,
        "n": int(values.size),
        "beyond": f"{int((values > p95).sum()):,} beyond, to {format_significant(values.max())} ms",
    }


def _spec(rows: list[Spec]) -> Spec:
    low, high = min(row["p5"] for row in rows), max(row["p95"] for row in rows)
    margin = 0.06 * (high - low) or 0.01 * high
    domain = [max(0.0, low - margin), high + 5 * margin]  # room for what is said at the right
    names = [row["run"] for row in rows]
    y = {
        "field": "run",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": 260, "ticks": False, "domain": False, "labelPadding": 8},
    }
    color = colored("run", names, legend=None)
    scale = {"zero": False, "nice": False, "domain": domain}
    tips = tooltip(run="run", m="median, ms#", q1="p25, ms#", q3="p75, ms#", p95="p95, ms#")

    def layer(mark: Spec, x: str, x2: str | None = None, **more: Spec) -> Spec:
        ends: Spec = {"x2": {"field": x2}} if x2 else {}
        where = quantity(x, "latency, ms", scale=scale, axis={"tickCount": 8})
        return {"mark": mark, "encoding": {"x": where, "y": y, **ends, "tooltip": tips, **more}}

    return {
        "data": {"values": rows},
        "layer": [
            layer({"type": "rule", "strokeWidth": 1.4}, "p5", "p95", color=color),
            layer({"type": "tick", "size": 12, "thickness": 1.4}, "p5", color=color),
            layer({"type": "tick", "size": 12, "thickness": 1.4}, "p95", color=color),
            layer({"type": "bar", "size": 24, "opacity": 0.45}, "q1", "q3", color=color),
            layer({"type": "bar", "size": 24}, "low", "high", color=color),
            layer({"type": "tick", "size": 24, "thickness": 2}, "m"),
            layer(
                {"type": "text", "align": "left", "dx": 8, "fontSize": 11},
                "p95",
                text={"field": "beyond"},
            ),
        ],
    }

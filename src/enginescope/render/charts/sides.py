"""Measured sides on one scale: all their samples, and the median of each process."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.judge.samples import Array
from enginescope.judge.units import format_ms, format_significant
from enginescope.render.base.phrases import in_text, metric_title, shorten
from enginescope.render.base.shared_options import told_apart
from enginescope.render.charts.overlay import overlay, series_legend
from enginescope.render.charts.series import colored, shaped
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_NAME = 48


def side_distributions(found: MeasuredComparison) -> tuple[Chart, ...]:
    """Share of each side's samples by time, on one scale; none without samples of one metric.

    Two sides share a chart; of more, each has its own.
    """
    metric = found.pairs[0].headline.metric
    series = [(side.label, _pooled(side, metric)) for side in found.sides]
    if any(values.size == 0 for _, values in series):
        return ()
    verdicts = [pair.headline for pair in found.pairs]
    medians = [verdicts[0].a, *(verdict.b for verdict in verdicts)]
    drawn = overlay("side", series, medians)
    if len(series) <= 2:
        title = f"Distribution of {in_text(metric)}: all processes of each side, on one scale"
        lines = ("Vertical lines are the medians of the processes' medians",)
        return (drawn.chart("sides_hist", title, lines),)
    names = told_apart([side.name for side in found.sides]).labels
    scale = (f"{metric_title(metric)}, every side on one scale",)
    return tuple(
        drawn.chart(
            f"side_{label}",
            f"{label}: {shorten(name, _NAME)}"
            + (f", median {format_ms(median)}" if median is not None else ""),
            scale if at == 0 else (),
            only=label,
        )
        for at, (label, name, median) in enumerate(zip(drawn.labels, names, medians, strict=True))
    )


def process_medians(found: MeasuredComparison) -> Chart | None:
    """Median of every process, in the order of the rounds; ``None`` of single processes."""
    metric = found.pairs[0].headline.metric
    rows: list[Spec] = [
        {
            "side": side.label,
            "x": (run.turn.round if run.turn else at) + 1,
            "median": float(np.median(samples.values_ms)),
            "run": run.id[:8],
        }
        for side in found.sides
        for at, run in enumerate(side.measured)
        if (samples := run.series(metric)) is not None and len(samples)
    ]
    if len(rows) <= len(found.sides):
        return None
    in_turn = found.comparison is not None
    each = "round" if in_turn else "process"
    return Chart(
        key="sides_processes",
        title=f"Median {in_text(metric)} of each process" + (", round by round" if in_turn else ""),
        subtitle=(
            ("Sides of one round ran one after the other, in an order drawn for the round",)
            if in_turn
            else ("In the order of measurement; the sides were not interleaved",)
        ),
        spec=_process_spec(rows, [side.label for side in found.sides], each),
        table=ChartTable(
            headers=(each.capitalize(), "Side", "Median, ms", "Run"),
            rows=tuple(
                (str(one["x"]), one["side"], format_significant(one["median"], 5), one["run"])
                for one in sorted(rows, key=lambda row: (row["x"], row["side"]))
            ),
        ),
        height=200,
        is_wide=True,
    )


def _pooled(side: MeasuredSide, metric: str) -> Array:
    series = [one.values_ms for run in side.measured if (one := run.series(metric)) is not None]
    return np.concatenate(series) if series else np.empty(0)


def _process_spec(rows: list[Spec], labels: list[str], each: str) -> Spec:
    legend = series_legend(labels)
    values = [row["median"] for row in rows]
    margin = 0.06 * (max(values) - min(values)) or 0.01 * max(values)
    domain = [min(values) - margin, max(values) + margin]
    whole = {"tickMinStep": 1, "format": "d", "tickCount": 12, "grid": False}
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 62, "opacity": 0.9},
        "encoding": {
            "x": quantity(
                "x", each, scale={"nice": False, "zero": False, "padding": 12}, axis=whole
            ),
            "y": quantity(
                "median",
                "median, ms",
                scale={"zero": False, "nice": False, "domain": domain},
                axis={"tickCount": 5},
            ),
            "color": colored("side", labels, legend=legend),
            "shape": shaped("side", labels, legend=legend),
            "tooltip": tooltip(side="side", x=f"{each}#", median="median, ms#", run="run"),
        },
    }

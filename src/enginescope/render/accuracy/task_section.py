"""A task's figures on the page."""

from __future__ import annotations

import math

from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant
from enginescope.render.accuracy.task_words import (
    MOST_PARTS,
    broken_text,
    interval_texts,
    left_out_lines,
    part_table,
    task_notices,
    task_table,
    task_title,
)
from enginescope.render.base.figures import Figures
from enginescope.render.charts.series import colored, shaped
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

#: Samples that are drawn, those farthest from the mean's better side first; rows of the table.
_MOST_DRAWN, _MOST_ROWS = 1_000, 24


def task_samples(report: TaskReport) -> Chart:
    """Samples in the order of the first side's figure, the worst first; a mark for each side."""
    metric = report.metrics[0]
    held = [
        {sample.name: sample.score.values.get(metric.name) for sample in side.samples}
        for side in report.sides
    ]
    known = [(value, name) for name, value in held[0].items() if value is not None]
    order = [name for _, name in sorted(known, reverse=metric.better == "lower")][:_MOST_DRAWN]
    labels = [one.label for one in report.sides]
    rows: list[Spec] = [
        {"side": label, "sample": name, "x": at, "y": values[name]}
        for at, name in enumerate(order, start=1)
        for label, values in zip(labels, held, strict=True)
        if values.get(name) is not None
    ]
    cut = f"The {_MOST_DRAWN:,} worst" if len(known) > _MOST_DRAWN else "All"
    return Chart(
        key="task_samples",
        title=f"{metric.title} of each sample",
        subtitle=(f"{cut} samples, the worst of {labels[0]} first",),
        spec=_spec(rows, labels, metric.title + (f", {metric.unit}" if metric.unit else "")),
        table=ChartTable(
            headers=("Sample", *labels),
            rows=tuple(
                (name, *(_cell(values.get(name)) for values in held)) for name in order[:_MOST_ROWS]
            ),
        ),
        height=220,
        is_wide=True,
    )


def _cell(value: float | None) -> str:
    return "—" if value is None else format_significant(value, 4)


def _spec(rows: list[Spec], labels: list[str], axis: str) -> Spec:
    legend: Spec = {"title": None}
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.85},
        "encoding": {
            "x": quantity(
                "x",
                "rank of the sample",
                scale={"nice": False, "zero": False},
                axis={"tickMinStep": 1, "format": "d"},
            ),
            "y": quantity("y", axis, axis={"tickCount": 5}),
            "color": colored("side", labels, legend=legend),
            "shape": shaped("side", labels, legend=legend),
            "tooltip": tooltip(sample="sample", side="side", y=f"{axis}#"),
        },
    }


class TaskSection(Record, frozen=True, kw_only=True):
    """What the page shows of it."""

    title: str
    table: Figures
    parts: Figures | None
    more_parts: int
    reasons: tuple[str, ...]
    intervals: tuple[str, ...]
    left_out: tuple[str, ...]
    notices: tuple[Notice, ...]
    chart: Chart | None


def task_section(report: TaskReport) -> TaskSection:
    """Return the section."""
    counts = [len(one.scores.parts) for one in report.sides]
    return TaskSection(
        title=task_title(report),
        table=task_table(report),
        parts=part_table(report),
        more_parts=max(0, max(counts, default=0) - MOST_PARTS),
        reasons=tuple(
            broken_text(report, side, one.metric) for side in report.sides for one in side.broken
        ),
        intervals=tuple(interval_texts(report)),
        left_out=tuple(": ".join(filter(None, pair)) for pair in left_out_lines(report)),
        notices=task_notices(report),
        chart=task_samples(report) if _scatter(report) else None,
    )


def _scatter(report: TaskReport) -> bool:
    """Whether samples have figures between none and all of it, which is worth drawing."""
    name = report.metrics[0].name
    values = {sample.score.values.get(name) for side in report.sides for sample in side.samples}
    known = {value for value in values if value is not None and math.isfinite(value)}
    return len(known) > 2

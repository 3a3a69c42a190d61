"""A task's first figure, sample by sample."""

from __future__ import annotations

from enginescope.analysis.task_report import TaskReport
from enginescope.core.units import format_significant
from enginescope.render.charts.spec import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.charts.told_apart import colored, shaped

#: Samples that are drawn, those farthest from the mean's better side first; rows of the table.
_MOST_DRAWN, _MOST_ROWS = 1_000, 24


def task_samples(report: TaskReport) -> Chart:
    """Samples in the order of the first side's figure, the worst first; a mark for each side."""
    metric = report.metrics[0]
    held = [
        {one.name: one.score.values.get(metric.name) for one in side.samples}
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

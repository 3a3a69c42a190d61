"""The figures of a task, for terminal, Markdown, page and JSON alike."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from enginescope.analysis.tasks.task_scoring import TaskReport, TaskSide
from enginescope.core.record import replace
from enginescope.judge.units import counted, format_significant, range_text
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.figures import UNKNOWN, TextTable
from enginescope.render.charts.series import told_apart
from enginescope.render.html.answer_page import Part
from enginescope.render.html.images import Chart, ChartTable, Spec, marks, quantity, tooltip

#: Classes in a table, names in a line, and samples that are drawn, the worst first.
MOST_PARTS, _MOST_NAMES, _MOST_DRAWN = 40, 3, 1_000


def task_part(report: TaskReport) -> Part:
    """Return the figures of each side, the limits that they break, and each class."""
    broken = [(side, limit.metric) for side in report.sides for limit in side.broken]
    classes, has_sides = class_table(report), len(report.sides) > 1
    targets = "the targets in " if report.against == "targets" else ""
    samples = counted(report.counted, "sample")
    return Part(
        key="task",
        title="Task",
        answer=f"{report.title} against {targets}{report.source}, {samples}",
        facts=(
            *stated(("averaged", report.averaged)),
            *(("interval", text) for text in _interval_texts(report)),
            *stated(("least", _worst_classes(report))),
            *(("fails", broken_text(report, *each)) for each in broken),
            *left_out_facts(report),
        ),
        tables=(score_table(report), *((classes,) if classes else ())),
        notices=tuple(
            replace(notice, message=f"{side.label}: {notice.message}") if has_sides else notice
            for side in report.sides
            for notice in side.scores.notices
        ),
        charts=(_sample_chart(report),) if _scatter(report) else (),
    )


def score_table(report: TaskReport, labels: Sequence[str] | None = None) -> TextTable:
    """Return a row for each side.

    Args:
        labels: Of the sides, where they have others here.
    """
    headers = tuple(f"{metric.title} {metric.unit}".rstrip() for metric in report.metrics)
    labels = labels or [side.label for side in report.sides]
    return TextTable(
        title=report.title,
        headers=("side", *headers),
        rows=tuple(
            (label, *(task_figure(side.scores.values.get(one.name)) for one in report.metrics))
            for label, side in zip(labels, report.sides, strict=True)
        ),
        numbers=headers,
        shortened={"side": 0},
        is_divided=True,
    )


def class_table(report: TaskReport) -> TextTable | None:
    """Return a row for each class and a column for each side; ``None`` without classes."""
    names = dict.fromkeys(part.name for side in report.sides for part in side.scores.parts)
    if not names:
        return None
    (metric,) = {key for side in report.sides for part in side.scores.parts for key in part.values}
    values = [{part.name: part.values[metric] for part in one.scores.parts} for one in report.sides]
    kept = list(names)
    if len(kept) > MOST_PARTS:  # the least of the first side say most
        kept.sort(key=lambda name: math.inf if (one := values[0].get(name)) is None else one)
    labels, shown = tuple(side.label for side in report.sides), kept[:MOST_PARTS]
    which = "each class" if len(kept) <= MOST_PARTS else f"the {MOST_PARTS} least of {len(kept):,}"
    title = f"{metric} of {which}"
    rows = tuple((name, *(task_figure(one.get(name)) for one in values)) for name in shown)
    return TextTable(
        title=title, headers=("class", *labels), rows=rows, numbers=labels, is_detail=True
    )


def task_figure(value: float | None, unit: str = "") -> str:
    """Return a figure of a task to four digits, at most four decimals where it is not small."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.4f}" if abs(value) < 10 else format_significant(value, 4)
    if value and abs(value) < 1e-3:
        text = f"{value:.2e}"
    return f"{text} {unit}".rstrip()


def task_answer(report: TaskReport) -> str:
    """Return the result of the limits, or the first figures, in one sentence."""
    if report.limits:
        broken = [(side, one) for side in report.sides for one in side.broken]
        if not broken:
            return f"{report.title}: every limit is kept"
        side, first = broken[0]
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        return f"{broken_text(report, side, first.metric)}{more}"
    side = report.sides[0]
    values = ((one, side.scores.values.get(one.name)) for one in report.metrics[:2])
    shown = (f"{one.title} {task_figure(value, one.unit)}" for one, value in values)
    return f"{side.label}: {', '.join(shown)}"


def broken_text(report: TaskReport, side: TaskSide, metric: str) -> str:
    """Return which limit a side breaks, and by what figure."""
    known = next(one for one in report.metrics if one.name == metric)
    limit = next(one.value for one in side.broken if one.metric == metric)
    value = task_figure(side.scores.values.get(metric), known.unit)
    which = "above" if known.better == "lower" else "below"
    if value == UNKNOWN:
        return f"{side.label}: {known.title} cannot be stated, its limit is {limit:g}"
    return f"{side.label}: {known.title} {value} is {which} its limit of {limit:g}"


def left_out_facts(report: TaskReport) -> Iterator[tuple[str, str]]:
    """Yield what was not counted; the rest of a long list by its number."""
    for one in report.left_out[:_MOST_NAMES]:
        yield "left out", f"{one.sample}: {one.why}"
    more = len(report.left_out) - _MOST_NAMES
    if more > 0:
        yield "left out", f"{more:,} more, all of them in the JSON"
    if report.unused:
        rest = " …" if len(report.unused) > _MOST_NAMES else ""
        names = ", ".join(report.unused[:_MOST_NAMES])
        yield "no sample", f"for {counted(len(report.unused), 'target')}: {names}{rest}"


def _interval_texts(report: TaskReport) -> Iterator[str]:
    metric = report.metrics[0]
    for side in report.sides:
        low, high = (side.scores.more.get(f"{metric.name}_{end}") for end in ("low", "high"))
        if low is not None and high is not None:
            unit = f" {metric.unit}" if metric.unit else ""
            text = f"{metric.title} 95 % CI {range_text(low, high, 3)}{unit}"
            yield f"{side.label}: {text}" if len(report.sides) > 1 else text


def _worst_classes(report: TaskReport) -> str | None:
    """Return the classes of the first side with the least figures; ``None`` if all are alike."""
    parts = report.sides[0].scores.parts
    values = [(next(iter(part.values.values())), part.name) for part in parts]
    known = [(value, name) for value, name in values if value is not None]
    if len({value for value, _ in known}) < 2:
        return None
    return ", ".join(f"{name} {value:.3f}" for value, name in sorted(known)[:_MOST_NAMES])


def _sample_chart(report: TaskReport) -> Chart:
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
    axis = metric.title + (f", {metric.unit}" if metric.unit else "")
    scale, ticks = {"nice": False, "zero": False}, {"tickMinStep": 1, "format": "d"}
    return Chart(
        key="task_samples",
        title=f"{metric.title} of each sample",
        subtitle=(f"{cut} samples, the worst of {labels[0]} first",),
        spec=marks(
            rows,
            {"type": "point", "filled": True, "size": 42, "opacity": 0.85},
            x=quantity("x", "rank of the sample", scale=scale, axis=ticks),
            y=quantity("y", axis, axis={"tickCount": 5}),
            **told_apart("side", labels, "color", "shape", legend={"title": None}),
            tooltip=tooltip(sample="sample", side="side", y=f"{axis}#"),
        ),
        table=ChartTable(
            headers=("Sample", *labels),
            rows=tuple(
                (name, *(task_figure(values.get(name)) for values in held)) for name in order[:24]
            ),
        ),
        height=220,
        is_wide=True,
    )


def _scatter(report: TaskReport) -> bool:
    """Whether samples have figures between none and all of it, which is worth drawing."""
    name = report.metrics[0].name
    values = {sample.score.values.get(name) for side in report.sides for sample in side.samples}
    return len({value for value in values if value is not None and math.isfinite(value)}) > 2


def task_data(report: TaskReport) -> dict[str, Any]:
    """Return a report without the figures of each sample."""
    names = ("task", "against", "source", "averaged", "passes")
    return {
        **{name: getattr(report, name) for name in names},
        "num_samples": report.counted,
        "metrics": report.metrics,
        "limits": report.limits,
        "sides": [
            {
                "side": side.label,
                "values": side.scores.values,
                "more": side.scores.more,
                "parts": side.scores.parts,
                "broken_limits": side.broken,
                "notices": side.scores.notices,
            }
            for side in report.sides
        ],
        "left_out": report.left_out,
        "targets_without_sample": report.unused,
    }


def task_samples_data(report: TaskReport) -> list[dict[str, Any]]:
    """Return the figures of every sample, side by side."""
    return [
        {
            "side": side.label,
            "samples": [
                {"sample": one.sample, "name": one.name, "left_out": one.score.left_out}
                | one.score.values
                for one in side.samples
            ],
        }
        for side in report.sides
    ]

"""A task's figures in words and cells."""

from __future__ import annotations

import math

from enginescope.analysis.tasks.base import TaskMetric
from enginescope.analysis.tasks.task_scoring import TaskReport, TaskSide
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_significant, range_text
from enginescope.render.base.figures import UNKNOWN, Figures

#: Parts and names that the screen and the page list.
MOST_PARTS, MOST_NAMES = 40, 3


def task_cells(report: TaskReport, label: str) -> tuple[str, ...]:
    """Return a side's figures by metric."""
    side = next((one for one in report.sides if one.label == label), None)
    values = side.scores.values if side else {}
    return tuple(task_figure(values.get(metric.name)) for metric in report.metrics)


def metric_header(one: TaskMetric) -> str:
    """Return a metric's heading, with its unit."""
    return f"{one.title} {one.unit}".rstrip()


def task_figure(value: float | None, unit: str = "") -> str:
    """Return a figure of a task to four digits, at most four decimals where it is not small."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value and abs(value) < 1e-3:
        text = f"{value:.2e}"
    else:
        text = f"{value:.4f}" if abs(value) < 10 else format_significant(value, 4)
    return f"{text} {unit}".rstrip()


def interval_texts(report: TaskReport) -> list[str]:
    """Return the 95 % interval of the sides' first figures, where one can be stated."""
    metric = report.metrics[0]
    made = []
    for side in report.sides:
        low, high = (side.scores.more.get(f"{metric.name}_{end}") for end in ("low", "high"))
        if low is None or high is None:
            continue
        unit = f" {metric.unit}" if metric.unit else ""
        said = f"{metric.title} 95 % CI {range_text(low, high, 3)}{unit}"
        made.append(f"{side.label}: {said}" if len(report.sides) > 1 else said)
    return made


def task_title(report: TaskReport) -> str:
    """Return against what the figures are, and of how many samples."""
    counted = f"{report.counted:,} sample{'' if report.counted == 1 else 's'}"
    if report.against == "targets":
        return f"{report.title} against the targets in {report.source}, {counted}"
    return f"{report.title} against {report.source}, {counted}"


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
    shown = ", ".join(
        f"{metric.title} {task_figure(side.scores.values.get(metric.name), metric.unit)}"
        for metric in report.metrics[:2]
    )
    return f"{side.label}: {shown}"


def broken_text(report: TaskReport, side: TaskSide, metric: str) -> str:
    """Return which limit a side breaks, and by what figure."""
    known = next(one for one in report.metrics if one.name == metric)
    limit = next(one.value for one in side.broken if one.metric == metric)
    value = task_figure(side.scores.values.get(metric), known.unit)
    which = "above" if known.better == "lower" else "below"
    if value == UNKNOWN:
        return f"{side.label}: {known.title} cannot be stated, its limit is {limit:g}"
    return f"{side.label}: {known.title} {value} is {which} its limit of {limit:g}"


def left_out_lines(report: TaskReport) -> list[tuple[str, str]]:
    """Return what was not counted, as label and text; the rest of a long list by its number."""
    lines = [("left out", f"{one.sample}: {one.why}") for one in report.left_out[:MOST_NAMES]]
    more = len(report.left_out) - MOST_NAMES
    if more > 0:
        lines.append(("", f"{more:,} more, all of them in the JSON"))
    if report.unused:
        rest = " …" if len(report.unused) > MOST_NAMES else ""
        shown = ", ".join(report.unused[:MOST_NAMES])
        targets = f"{len(report.unused):,} target{'' if len(report.unused) == 1 else 's'}"
        lines.append(("no sample", f"for {targets}: {shown}{rest}"))
    return lines


def task_notices(report: TaskReport) -> tuple[Notice, ...]:
    """Return the notices on the figures; with several sides, each names its side."""
    return tuple(
        Notice(
            code=notice.code,
            message=f"{side.label}: {notice.message}" if len(report.sides) > 1 else notice.message,
            evidence=notice.evidence,
            level=notice.level,
        )
        for side in report.sides
        for notice in side.scores.notices
    )


def task_table(report: TaskReport) -> Figures:
    """Return a row for each side."""
    return Figures(
        caption=f"{report.title}: {report.averaged}",
        headers=("Side", *map(metric_header, report.metrics)),
        rows=tuple((side.label, *task_cells(report, side.label)) for side in report.sides),
        numbers=tuple(range(1, len(report.metrics) + 1)),
    )


def part_table(report: TaskReport) -> Figures | None:
    """Return a row for each class and a column for each side; ``None`` without classes."""
    names = dict.fromkeys(part.name for side in report.sides for part in side.scores.parts)
    if not names:
        return None
    (metric,) = {key for side in report.sides for part in side.scores.parts for key in part.values}
    held = [{part.name: part.values[metric] for part in one.scores.parts} for one in report.sides]
    kept = list(names)
    if len(kept) > MOST_PARTS:  # the least of the first side say most
        kept.sort(key=lambda name: math.inf if (one := held[0].get(name)) is None else one)
    rows = [(name, *(task_figure(one.get(name)) for one in held)) for name in kept]
    which = "each class" if len(kept) <= MOST_PARTS else f"the {MOST_PARTS} least of {len(kept):,}"
    return Figures(
        caption=f"{metric} of {which}",
        headers=("Class", *(one.label for one in report.sides)),
        rows=tuple(rows[:MOST_PARTS]),
        numbers=tuple(range(1, len(report.sides) + 1)),
    )


def column_groups(report: TaskReport, width: int, least: int = 18) -> list[tuple[int, int]]:
    """Return metrics from … to, for tables that leave `least` letters to the labels of sides."""
    groups, start, used = [], 0, 0
    for at, one in enumerate(report.metrics):
        column = max(len(metric_header(one)), 6) + 2
        if at > start and used + column > width - least:
            groups.append((start, at))
            start, used = at, 0
        used += column
    return [*groups, (start, len(report.metrics))]


def label_room(report: TaskReport, group: tuple[int, int], width: int, least: int = 10) -> int:
    """Return how many letters the labels of sides have beside a group of figures."""
    metrics = report.metrics[group[0] : group[1]]
    return max(least, width - sum(max(len(metric_header(metric)), 6) + 2 for metric in metrics))

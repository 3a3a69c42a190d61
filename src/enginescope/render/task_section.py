"""A task's figures on the page."""

from __future__ import annotations

import math

from enginescope.analysis.task_report import TaskReport
from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.render.charts.spec import Chart
from enginescope.render.charts.task_samples import task_samples
from enginescope.render.figures import Figures
from enginescope.render.task_words import (
    MOST_PARTS,
    broken_text,
    interval_texts,
    left_out_lines,
    part_table,
    task_notices,
    task_table,
    task_title,
)


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
    values = {one.score.values.get(name) for side in report.sides for one in side.samples}
    known = {one for one in values if one is not None and math.isfinite(one)}
    return len(known) > 2

"""A task's figures on the terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from enginescope.analysis.task_report import TaskReport
from enginescope.render.phrases import shorten_apart
from enginescope.render.task_words import (
    MOST_NAMES,
    broken_text,
    interval_texts,
    left_out_lines,
    metric_columns,
    metric_header,
    part_table,
    task_cells,
    task_notices,
    task_title,
)
from enginescope.render.text import label_row, notice_lines, table


def task_lines(report: TaskReport, *, width: int = 80) -> list[RenderableType]:
    """Return title, figures, limits that are not kept, and what was not counted."""
    lines: list[RenderableType] = [Text(task_title(report), style="bold")]
    lines += [label_row("averaged", report.averaged), Text()]
    labels = shorten_apart([one.label for one in report.sides], metric_columns(report, width))
    rows = [
        [label, *task_cells(report, one.label)]
        for label, one in zip(labels, report.sides, strict=True)
    ]
    headers = ["", *map(metric_header, report.metrics)]
    lines += [table(headers, rows, right=tuple(headers[1:])), Text()]
    lines += [label_row("interval", one) for one in interval_texts(report)]
    lines += _worst_classes(report)
    for side in report.sides:
        for one in side.broken:
            lines.append(label_row("✗", broken_text(report, side, one.metric)))
    lines += [label_row(label, text) for label, text in left_out_lines(report)]
    return [*lines, *notice_lines(task_notices(report))]


def _worst_classes(report: TaskReport) -> list[RenderableType]:
    """Return the classes of the first side with the least figures."""
    found = part_table(report)
    if found is None:
        return []
    parts = [one for one in report.sides[0].scores.parts if any(one.values.values())]
    worst = sorted(parts, key=lambda one: next(iter(one.values.values())) or 0.0)[:MOST_NAMES]
    shown = ", ".join(f"{one.name} {next(iter(one.values.values())):.3f}" for one in worst)
    return [label_row("least", f"{shown}; every class: --output DIR")] if worst else []

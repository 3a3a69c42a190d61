"""Writers of a task's figures: terminal and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.render.accuracy.task_words import (
    MOST_NAMES,
    broken_text,
    column_groups,
    interval_texts,
    label_room,
    left_out_lines,
    metric_header,
    part_table,
    task_cells,
    task_notices,
    task_title,
)
from enginescope.render.base.phrases import shorten_apart
from enginescope.render.base.text import label_row, notice_lines, table


def task_lines(report: TaskReport, *, width: int = 80) -> list[RenderableType]:
    """Return title, figures, limits that are not kept, and what was not counted."""
    lines: list[RenderableType] = [Text(task_title(report), style="bold")]
    lines += [label_row("averaged", report.averaged), Text()]
    lines += score_tables(report, [one.label for one in report.sides], width)
    lines += [label_row("interval", one) for one in interval_texts(report)]
    lines += _worst_classes(report)
    for side in report.sides:
        for one in side.broken:
            lines.append(label_row("✗", broken_text(report, side, one.metric)))
    lines += [label_row(label, text) for label, text in left_out_lines(report)]
    return [*lines, *notice_lines(task_notices(report))]


def score_tables(report: TaskReport, labels: Sequence[str], width: int) -> list[RenderableType]:
    """Return the sides' figures, in as many tables as the width asks for.

    Args:
        labels: Of the report's sides.
    """
    lines: list[RenderableType] = []
    for group in column_groups(report, width):
        short = shorten_apart(labels, label_room(report, group, width))
        headers = ["", *map(metric_header, report.metrics[slice(*group)])]
        rows = [
            [label, *task_cells(report, one.label)[slice(*group)]]
            for label, one in zip(short, report.sides, strict=True)
        ]
        lines += [table(headers, rows, right=tuple(headers[1:])), Text()]
    return lines


def _worst_classes(report: TaskReport) -> list[RenderableType]:
    """Return the classes of the first side with the least figures."""
    found = part_table(report)
    if found is None:
        return []
    parts = [part for part in report.sides[0].scores.parts if None not in part.values.values()]
    figures = {next(iter(part.values.values())) for part in parts}
    if len(figures) < 2:  # none is worse than another
        return []
    worst = sorted(parts, key=lambda one: next(iter(one.values.values())) or 0.0)[:MOST_NAMES]
    shown = ", ".join(f"{one.name} {next(iter(one.values.values())):.3f}" for one in worst)
    return [label_row("least", f"{shown}; every class: --output DIR")] if worst else []


def task_data(report: TaskReport) -> dict[str, Any]:
    """Return a report without the figures of each sample."""
    return {
        "task": report.task,
        "against": report.against,
        "source": report.source,
        "averaged": report.averaged,
        "passes": report.passes,
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
                {
                    "sample": sample.sample,
                    "name": sample.name,
                    "left_out": sample.score.left_out,
                    **sample.score.values,
                }
                for sample in side.samples
            ],
        }
        for side in report.sides
    ]

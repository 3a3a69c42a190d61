"""A task's figures as JSON."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.task_report import TaskReport


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
                "side": one.label,
                "values": one.scores.values,
                "more": one.scores.more,
                "parts": one.scores.parts,
                "broken_limits": one.broken,
                "notices": one.scores.notices,
            }
            for one in report.sides
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
                    "sample": one.sample,
                    "name": one.name,
                    "left_out": one.score.left_out,
                    **one.score.values,
                }
                for one in side.samples
            ],
        }
        for side in report.sides
    ]

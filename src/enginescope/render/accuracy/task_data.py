"""A task's figures as JSON."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.tasks.task_report import TaskReport


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

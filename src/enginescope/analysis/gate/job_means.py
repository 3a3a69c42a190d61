"""What became of a metric over all jobs of a gate."""

from __future__ import annotations

from enginescope.analysis.verdicts.model_mean import ModelMean, model_mean
from enginescope.records.verdict.gate import GateReport


def gate_means(report: GateReport) -> tuple[ModelMean, ...]:
    """Return the mean of each metric that at least two jobs have.

    Where the sides were measured in different sessions, what differs between sessions moves all
    jobs alike, and does not average out.
    """
    metrics = dict.fromkeys(row.metric for row in report.rows if row.metric is not None)
    means = []
    for metric in metrics:
        rows = [row for row in report.rows if row.metric in (metric, None)]
        given = [(row.job, row.verdict, row.outcome.value) for row in rows]
        is_shared = any(row.sessions is not None for row in rows)
        means.append(model_mean(metric, given, is_shared=is_shared))
    return tuple(mean for mean in means if mean is not None)

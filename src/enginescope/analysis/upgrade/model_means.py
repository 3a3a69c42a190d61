"""What an upgrade does to a metric, over all models."""

from __future__ import annotations

from enginescope.analysis.verdicts.model_mean import ModelMean, model_mean
from enginescope.records.verdict.upgrade import OUTPUTS, UpgradedModel, UpgradeReport
from enginescope.records.verdict.verdict import Verdict


def upgrade_means(report: UpgradeReport) -> tuple[ModelMean, ...]:
    """Return the mean of each metric that counts and that at least two models have."""
    rows = [row for model in report.models for row in model.rows]
    metrics = dict.fromkeys(row.metric for row in rows if row.decides and row.verdict is not None)
    means = (
        model_mean(metric, [_of_model(model, metric) for model in report.models])
        for metric in metrics
    )
    return tuple(mean for mean in means if mean is not None)


def _of_model(model: UpgradedModel, metric: str) -> tuple[str, Verdict | None, str]:
    """Return a model's name, its verdict, and why it may have none."""
    row = next((row for row in model.rows if row.metric == metric), None)
    name = f"{model.model} · {model.backend}"
    if row is not None:
        return name, row.verdict, row.reason
    reasons = [row.reason for row in model.rows if row.metric != OUTPUTS and row.verdict is None]
    return name, None, reasons[0] if reasons else "missing"

"""The mean ratio of a metric over all models of a report: of a gate, and of an upgrade."""

from collections.abc import Iterable

from enginescope.core.record import Record
from enginescope.judge.comparison.ratio import MeasuredRatio, mean_ratio
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import Reason, Verdict, VerdictKind
from enginescope.records.verdict.gate import GateReport
from enginescope.records.verdict.upgrade import OUTPUTS, UpgradedModel, UpgradeReport


class ModelMean(Record, frozen=True, kw_only=True):
    """The geometric mean of new ÷ old over models.

    Attributes:
        interval: Of the mean over just these models; ``None``: a ratio has none.
        models: Names of those in the mean.
        left_out: Name of each model without a valid ratio, and why.
    """

    metric: str
    ratio: float
    interval: Interval | None
    models: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def model_mean(
    metric: str, rows: Iterable[tuple[str, Verdict | None, str]], *, is_shared: bool = False
) -> ModelMean | None:
    """Return the mean over models; ``None`` where fewer than two have a valid ratio.

    Args:
        rows: Name, verdict and, where the verdict has no ratio, why.
        is_shared: See `mean_ratio`.
    """
    ratios: dict[str, MeasuredRatio] = {}
    left_out: dict[str, str] = {}
    for name, verdict, why in rows:
        ratio = _ratio(verdict)
        if ratio is None:
            left_out[name] = why
        else:
            ratios[name] = ratio
    if len(ratios) < 2:
        return None
    mean, interval = mean_ratio(tuple(ratios.values()), is_shared=is_shared)
    return ModelMean(
        metric=metric,
        ratio=mean,
        interval=interval,
        models=tuple(ratios),
        left_out=tuple((name, why) for name, why in left_out.items() if name not in ratios),
    )


def _ratio(verdict: Verdict | None) -> MeasuredRatio | None:
    if verdict is None or verdict.kind is VerdictKind.INCOMPARABLE:
        return None
    if verdict.estimate is not None:
        return MeasuredRatio(verdict.estimate.ratio, verdict.estimate.interval)
    if not verdict.a or not verdict.b:
        return None
    return MeasuredRatio(verdict.b / verdict.a, None, is_exact=verdict.reason is Reason.EXACT)


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


def upgrade_means(report: UpgradeReport) -> tuple[ModelMean, ...]:
    """Return the mean of each metric that counts and that at least two models have."""
    rows = [row for model in report.models for row in model.rows]
    metrics = dict.fromkeys(row.metric for row in rows if row.decides and row.verdict is not None)
    rows_of = ([_of_model(model, metric) for model in report.models] for metric in metrics)
    means = (model_mean(*pair) for pair in zip(metrics, rows_of, strict=True))
    return tuple(mean for mean in means if mean is not None)


def _of_model(model: UpgradedModel, metric: str) -> tuple[str, Verdict | None, str]:
    """Return a model's name, its verdict, and why it may have none."""
    row = next((row for row in model.rows if row.metric == metric), None)
    name = f"{model.model} · {model.backend}"
    if row is not None:
        return name, row.verdict, row.reason
    reasons = [row.reason for row in model.rows if row.metric != OUTPUTS and row.verdict is None]
    return name, None, reasons[0] if reasons else "missing"

"""A history computes what it shows: one interval for a run, of one metric."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.history import histories
from enginescope.judge.samples import Samples, frozen
from enginescope.judge.stats import autocorrelation
from tests.store.stored_runs import a_run

SERIES = ("latency", "gpu_compute", "h2d", "d2h", "enqueue", "host_latency")


def many_series(number: int):
    random = np.random.default_rng(number)
    samples = tuple(
        Samples(metric=name, values_ms=frozen(random.gamma(9, 0.1, 200))) for name in SERIES
    )
    return a_run(samples=samples, at=number)


def counted(monkeypatch) -> list[int]:
    """Intervals that are computed, wherever they are asked for."""
    calls, real = [], autocorrelation.quantile_interval
    monkeypatch.setattr(
        "enginescope.judge.stats.describe.quantile_interval",
        lambda *a, **k: calls.append(1) or real(*a, **k),
    )
    monkeypatch.setattr(
        "enginescope.analysis.verdicts.history.quantile_interval",
        lambda *a, **k: calls.append(1) or real(*a, **k),
        raising=False,
    )
    return calls


def test_a_history_computes_one_interval_for_each_run(monkeypatch) -> None:
    calls = counted(monkeypatch)
    runs = [many_series(number) for number in range(12)]
    (found,) = histories(runs, sitting_s=0)
    assert len(found.points) == 12
    assert len(calls) == 12
    assert found.points[0].lowest == RunView(runs[0]).latency.median_interval.low


def test_one_metric_of_a_run_is_described_alone(monkeypatch) -> None:
    calls = counted(monkeypatch)
    view = RunView(many_series(1))
    assert view.summary("gpu_compute").metric == "gpu_compute"
    assert len(calls) == 1  # the median
    assert [one.metric for one in view.summaries] == list(SERIES)
    assert len(calls) == len(SERIES)

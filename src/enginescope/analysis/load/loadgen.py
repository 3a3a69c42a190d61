"""Figures of MLPerf Inference's scenarios, as LoadGen computes them from the same latencies.

https://github.com/mlcommons/inference_policies and LoadGen's ``results.cc``: percentiles by the
place ``int(n · p)`` of the sorted latencies, means in whole nanoseconds, and early stopping.
"""

from __future__ import annotations

import numpy as np

from enginescope.core.record import replace
from enginescope.judge.samples import Array
from enginescope.judge.stats.early_stopping import discarded_queries, needed_queries
from enginescope.records.run.load import Scenario
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import LoadGenFigures, Slo

#: Percentile of each scenario.
TARGETS: dict[Scenario, float] = {
    "single-stream": 90.0,
    "multi-stream": 99.0,
    "server": 99.0,
    "offline": 99.0,
}
#: The percentiles that LoadGen prints.
STATED = (50.0, 90.0, 95.0, 97.0, 99.0, 99.9)
_SINGLE_AS_MULTI = 99.0


def loadgen_figures(run: Run, scenario: Scenario, slo: Slo | None = None) -> LoadGenFigures | None:
    """Return the figures of a run; ``None`` without latencies.

    Args:
        slo: Its percentile takes the place of the scenario's; in the scenario server its limit is
            the target latency.
    """
    latency = run.series("latency")
    if latency is None or not len(latency):
        return None
    arrivals_ms = latency.start_ms if latency.start_ms is not None else np.zeros(len(latency))
    batch = run.job.workload.batch or 1
    per_query = batch if scenario == "offline" else 1
    return figures_of(latency.values_ms, arrivals_ms, scenario, slo, samples_per_query=per_query)


def figures_of(
    latencies_ms: Array,
    arrivals_ms: Array,
    scenario: Scenario,
    slo: Slo | None = None,
    *,
    samples_per_query: int = 1,
) -> LoadGenFigures:
    """Return the figures of latencies, each with its arrival.

    Args:
        latencies_ms: At least one, to the nanosecond.
        samples_per_query: In the scenario offline, samples of each latency.
    """
    p = slo.p if slo else TARGETS[scenario]
    order = np.sort(np.rint(latencies_ms * 1e6).astype(np.int64))
    n = int(order.size)
    figures = LoadGenFigures(
        scenario=scenario,
        queries=n,
        p=p,
        percentile_ms=_at(order, p),
        mean_ms=int(order.sum()) // n / 1e6,
        min_ms=int(order[0]) / 1e6,
        max_ms=int(order[-1]) / 1e6,
        percentiles=tuple((stated, _at(order, stated)) for stated in STATED),
    )
    if scenario == "offline":
        return replace(figures, per_s=n * samples_per_query / (int(order[-1]) / 1e9))
    if scenario == "server":
        return _server(figures, order, latencies_ms, arrivals_ms, slo=slo)
    is_single = scenario == "single-stream"
    return replace(
        figures,
        estimate_ms=_early_stopping(order, p),
        estimate_p99_ms=_early_stopping(order, _SINGLE_AS_MULTI) if is_single else None,
        needed=needed_queries(1, p),
    )


def _at(order: Array, p: float) -> float:
    return int(order[int(order.size * (p / 100))]) / 1e6


def _early_stopping(order: Array, p: float) -> float | None:
    """Return the estimate of a percentile; ``None`` with too few queries."""
    place = discarded_queries(order.size, p)
    return None if place is None else int(order[order.size - place]) / 1e6


def _server(
    figures: LoadGenFigures,
    order: Array,
    latencies_ms: Array,
    arrivals_ms: Array,
    *,
    slo: Slo | None,
) -> LoadGenFigures:
    # the first query is scheduled when the test starts
    n, times_ms = figures.queries, arrivals_ms - arrivals_ms[0]
    last_ms, end_ms = float(times_ms[-1]), float((times_ms + latencies_ms).max())
    figures = replace(
        figures,
        per_s=1e3 * (n - 1) / last_ms if last_ms else None,
        completed_per_s=1e3 * (n - 1) / end_ms if end_ms else None,
    )
    if slo is None:
        return figures
    slow = int(np.count_nonzero(order > round(slo.limit_ms * 1e6)))
    needed = needed_queries(slow, slo.p)
    is_within = figures.percentile_ms <= slo.limit_ms
    return replace(figures, slow=slow, needed=needed, is_passed=n >= needed and is_within)

"""Runs of a load test as trials with a verdict, and as the scenarios of MLPerf Inference.

The figures of a scenario are those that LoadGen computes from the same latencies,
https://github.com/mlcommons/inference_policies and its ``results.cc``: percentiles by the place
``int(n · p)`` of the sorted latencies, means in whole nanoseconds, and early stopping.
"""

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.claims.run_claims import highest
from enginescope.core.record import copied, replace
from enginescope.judge.samples import Array, Percentile, Samples, Summary
from enginescope.judge.stats.autocorrelation import integrated_time
from enginescope.judge.stats.describe import describe
from enginescope.judge.stats.mlperf_queries import discarded_queries, needed_queries, share_is_below
from enginescope.records.run.load_and_contention import LoadOutcome, Scenario
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import (
    LoadGenFigures,
    LoadKind,
    LoadStep,
    LoadTrial,
    QueryParts,
    Slo,
)

#: Probability that a trial is called met, or missed, when it is not.
ERROR = 0.025
#: Percentile of a load test without an objective.
HEADLINE = 99.0
#: Notice of a late generator.
LATE = "W-LATE"
#: Percentile of each scenario.
TARGETS: dict[Scenario, float] = {
    "single-stream": 90.0,
    "multi-stream": 99.0,
    "server": 99.0,
    "offline": 99.0,
}
#: The percentiles that LoadGen prints.
STATED = (50.0, 90.0, 95.0, 97.0, 99.0, 99.9)


def trial_of(run: Run, slo: Slo | None) -> LoadTrial:
    """Return the figures of a run that succeeded, and its verdict on `slo`."""
    latency = run.series("latency")
    served = len(latency) if latency is not None else 0
    outcome = run.load or LoadOutcome(planned=served)
    summary = _described(latency, slo)
    is_late = any(notice.code == LATE for notice in run.notices)
    kind, slow, percentile = LoadKind.MEASURED, None, None
    if slo is not None and latency is not None and summary is not None:
        percentile = summary.percentile(slo.p)
        above = latency.values_ms > slo.limit_ms
        slow = int(np.count_nonzero(above)) + outcome.planned - served
        # a late generator makes latencies longer, but no query fail
        certain = outcome.failed if is_late and run.load else slow
        kind = _verdict(slow, certain, outcome.planned, slo, _queries_an_event(above, percentile))
    return copied(
        LoadTrial,
        outcome,
        run=run.id,
        kind=kind,
        served=served,
        slow=slow,
        percentile=percentile,
        is_late=is_late,
        latency=summary,
        service=_described(run.series("service"), slo),
        queueing=_described(run.series("queueing"), slo),
        lateness=_described(run.series("lateness"), None),
        parts=_parts(run, summary, slo) if summary else None,
    )


def _parts(run: Run, summary: Summary, slo: Slo | None) -> QueryParts | None:
    latency, queueing = run.series("latency"), run.series("queueing")
    service = run.series("service")
    if latency is None or queueing is None or service is None:
        return None
    stated = highest(summary, slo.p if slo else HEADLINE)
    value_ms = stated.value_ms if stated else summary.max_ms
    at = int(np.argmax(latency.values_ms == value_ms))
    return QueryParts(
        p=stated.p if stated else 100.0,
        latency_ms=value_ms,
        queueing_ms=float(queueing.values_ms[at]),
        service_ms=float(service.values_ms[at]),
    )


def _described(samples: Samples | None, slo: Slo | None) -> Summary | None:
    if samples is None or not len(samples):
        return None
    stated = tuple(sorted({*STATED, *((slo.p,) if slo else ())}))
    return describe(samples, one_in_flight=False, percentiles=stated)


def _queries_an_event(above: Array, percentile: Percentile | None) -> float:
    """Return for how many queries one stands: those that wait for each other are slow together."""
    known = [integrated_time(above)] if above.size >= 4 else [1.0]
    if percentile is not None:
        known.append(above.size / percentile.effective_n)
    return max(known)


def _verdict(slow: int, certain: int, planned: int, slo: Slo, each: float) -> LoadKind:
    """Return whether the objective holds.

    Args:
        certain: Queries that are slow beyond doubt.
        each: Queries that stand for one event.
    """

    def is_met(count: int) -> bool | None:
        return share_is_below(count / each, planned / each, 1 - slo.p / 100, ERROR)

    if is_met(slow):
        return LoadKind.MET
    return LoadKind.MISSED if is_met(certain) is False else LoadKind.INCONCLUSIVE


def step_of(rate_per_s: float | None, trials: Sequence[LoadTrial]) -> LoadStep:
    """Return the trials at one rate with their common verdict; mixed verdicts are inconclusive."""
    kinds = {trial.kind for trial in trials}
    kind = kinds.pop() if len(kinds) == 1 else LoadKind.INCONCLUSIVE
    return LoadStep(kind=kind, trials=tuple(trials), rate_per_s=rate_per_s)


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
        return _server(figures, order, latencies_ms, arrivals_ms, slo)
    is_single = scenario == "single-stream"
    return replace(
        figures,
        estimate_ms=_early_stopping(order, p),
        estimate_p99_ms=_early_stopping(order, 99.0) if is_single else None,
        needed=needed_queries(1, p),
    )


def _at(order: Array, p: float) -> float:
    return int(order[int(order.size * (p / 100))]) / 1e6


def _early_stopping(order: Array, p: float) -> float | None:
    place = discarded_queries(order.size, p)
    return None if place is None else int(order[order.size - place]) / 1e6


def _server(
    figures: LoadGenFigures, order: Array, latencies_ms: Array, arrivals_ms: Array, slo: Slo | None
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

"""Runs of a load test as trials, with a verdict on the objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.claims.percentile import highest
from enginescope.analysis.load.loadgen import STATED
from enginescope.core.record import Record
from enginescope.judge.samples import Percentile, Samples, Summary
from enginescope.judge.stats.autocorrelation import integrated_time
from enginescope.judge.stats.describe import describe
from enginescope.judge.stats.early_stopping import share_is_below
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import LoadKind, LoadStep, LoadTrial, QueryParts, Slo

#: Probability that a trial is called met, or missed, when it is not.
ERROR = 0.025
#: Percentile of a load test without an objective.
HEADLINE = 99.0
#: Notice of a late generator.
LATE = "W-LATE"


class _Slow(Record, frozen=True, kw_only=True):
    """How many queries were above a limit, and their effective number."""

    slow: int
    planned: int
    time: float


def trial_of(run: Run, slo: Slo | None) -> LoadTrial:
    """Return the figures of a run that succeeded, and its verdict on `slo`."""
    latency, outcome = run.series("latency"), run.load
    served = len(latency) if latency is not None else 0
    planned = outcome.planned if outcome else served
    missing = planned - served
    summary = _described(latency, slo)
    is_late = any(notice.code == LATE for notice in run.notices)
    kind, slow, percentile = LoadKind.MEASURED, None, None
    if slo is not None and latency is not None and summary is not None:
        percentile = summary.percentile(slo.p)
        counted = _slow(latency, missing, slo, percentile)
        slow = counted.slow
        # a late generator makes latencies longer, but no query fail
        certain = outcome.failed if is_late and outcome else counted.slow
        kind = _verdict(counted, slo, certain)
    return LoadTrial(
        run=run.id,
        kind=kind,
        planned=planned,
        served=served,
        unserved=outcome.unserved if outcome else 0,
        failed=outcome.failed if outcome else 0,
        rate_per_s=outcome.rate_per_s if outcome else None,
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


def _slow(latency: Samples, missing: int, slo: Slo, percentile: Percentile | None) -> _Slow:
    above = latency.values_ms > slo.limit_ms
    # queries that wait for each other are slow together: a stretch of them is one event
    times = [integrated_time(above)] if above.size >= 4 else [1.0]
    if percentile is not None:
        times.append(len(latency) / percentile.effective_n)
    return _Slow(
        slow=int(np.count_nonzero(above)) + missing,
        planned=len(latency) + missing,
        time=max(times),
    )


def _verdict(counted: _Slow, slo: Slo, certain: int) -> LoadKind:
    def is_met(slow: int) -> bool | None:
        n = counted.planned / counted.time
        return share_is_below(slow / counted.time, n, 1 - slo.p / 100, ERROR)

    if is_met(counted.slow):
        return LoadKind.MET
    return LoadKind.MISSED if is_met(certain) is False else LoadKind.INCONCLUSIVE


def step_of(rate_per_s: float | None, trials: Sequence[LoadTrial]) -> LoadStep:
    """Return the trials at one rate with their common verdict; mixed verdicts are inconclusive."""
    kinds = {trial.kind for trial in trials}
    kind = kinds.pop() if len(kinds) == 1 else LoadKind.INCONCLUSIVE
    return LoadStep(kind=kind, trials=tuple(trials), rate_per_s=rate_per_s)

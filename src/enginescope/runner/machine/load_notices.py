"""Warnings about the figures of a load test."""

from __future__ import annotations

import numpy as np

from enginescope.judge.notice import Notice
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.run.run import Run

#: The generator is late if 1 % of the queries started later than this share of the service time.
LATE_SHARE = 0.05


def _late(run: Run) -> Notice | None:
    lateness, service = run.series("lateness"), run.series("service")
    if lateness is None or service is None or not len(service):
        return None
    p99_ms = float(np.percentile(lateness.values_ms, 99))
    share = p99_ms / float(np.median(service.values_ms))
    if share <= LATE_SHARE:
        return None
    part = f"{format_significant(share, 2)} ×" if share >= 1 else f"{100 * share:.0f} % of"
    return Notice(
        code="W-LATE",
        message=f"the load generator was late: 1 % of the queries started {format_ms(p99_ms, 2)} "
        f"or more after they could ({part} the median service time); measure again on an idle "
        "machine, or with fewer workers",
        evidence={"p99_ms": p99_ms, "share_pct": 100 * share},
    )


def _overload(run: Run) -> Notice | None:
    service, rule, outcome = run.series("service"), run.job.load, run.load
    if service is None or rule is None or outcome is None or outcome.rate_per_s is None:
        return None
    served_per_s = rule.workers * 1e3 / float(service.values_ms.mean())
    if outcome.rate_per_s < served_per_s:
        return None
    workers = "1 worker serves" if rule.workers == 1 else f"{rule.workers} workers serve"
    return Notice(
        code="W-OVERLOAD",
        message=f"{format_significant(outcome.rate_per_s)} queries/s arrive and {workers} "
        f"{format_significant(served_per_s)}/s: the queue grows, so latency depends on the length "
        "of the test; lower --rate",
        evidence={"rate_per_s": outcome.rate_per_s, "served_per_s": served_per_s},
    )


def _unserved(run: Run) -> Notice | None:
    outcome = run.load
    if outcome is None or not outcome.unserved:
        return None
    return Notice(
        code="W-UNSERVED",
        message=f"{outcome.unserved:,} of {outcome.planned:,} queries were still waiting when the "
        "test ended; they count as slower than any limit, and the percentiles leave them out",
        evidence={"unserved": outcome.unserved, "planned": outcome.planned},
    )


def _failed(run: Run) -> Notice | None:
    outcome = run.load
    if outcome is None or not outcome.failed:
        return None
    return Notice(
        code="W-QUERIES-FAILED",
        message=f"{outcome.failed:,} of {outcome.planned:,} queries failed, the first with: "
        f"{outcome.error}",
        evidence={"failed": outcome.failed, "planned": outcome.planned},
    )


LOAD_RULES = (_late, _overload, _unserved, _failed)

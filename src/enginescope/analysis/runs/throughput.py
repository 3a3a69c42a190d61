"""Requests or items per second, and what that means for the run at hand."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record
from enginescope.records.run.run import Run
from enginescope.records.samples import Samples, Summary


class Throughput(Record, frozen=True, kw_only=True):
    """A rate and its definition.

    Attributes:
        unit: Items: elements of the batch; queries: whole requests, whatever their batch.
        definition: For people: how it was arrived at.
    """

    per_s: float
    unit: Literal["items", "queries"]
    definition: str


def throughput_of(run: Run, headline: Summary | None) -> Throughput | None:
    """Return a run's throughput by the first definition that applies.

    1. What the tool printed (trtexec: kept queries ÷ (last D2H end − first H2D start)).
    2. Queries ÷ the wall time that the tool printed.
    3. Batch × queries ÷ the GPU time they span, where queries overlap.
    4. Queries ÷ (last start + its latency − first start), from exported times: trtexec's
       definition, but for gaps between the copies and the computation of the last query.
    5. Batch ÷ mean latency, with one request in flight.
    """
    tool = run.tool
    samples = run.headline
    if tool and tool.throughput_per_s is not None:
        return Throughput(
            per_s=tool.throughput_per_s, unit="queries", definition=f"as {tool.tool} printed it"
        )
    if tool and tool.host_walltime_s and samples:
        return Throughput(
            per_s=len(samples) / tool.host_walltime_s,
            unit="queries",
            definition=f"queries ÷ the wall time that {tool.tool} printed",
        )
    if run.wall_ms and samples:
        batch = run.job.workload.batch or 1
        definition = "batch × queries ÷ the GPU time that they span"
        per_s = 1e3 * batch * len(samples) / run.wall_ms
        return Throughput(per_s=per_s, unit="items", definition=definition)
    if headline is None:
        return None
    if headline.throughput_per_s is not None:
        return Throughput(
            per_s=headline.throughput_per_s, unit="items", definition="batch ÷ mean latency"
        )
    return _from_starts(samples) if samples else None


def _from_starts(samples: Samples) -> Throughput | None:
    if samples.start_ms is None or samples.start_ms.size < 2:
        return None
    span_ms = float(samples.start_ms[-1] + samples.values_ms[-1] - samples.start_ms[0])
    if span_ms <= 0:
        return None
    return Throughput(
        per_s=1e3 * len(samples) / span_ms,
        unit="queries",
        definition="queries ÷ time from the first start to the last end",
    )

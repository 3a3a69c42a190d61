"""Requests or items per second, and what that means for the run at hand.

What a request's time consists of: copies, computation, and what lies outside the GPU's work; and
when each part begins and ends.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from enginescope.core.record import Record
from enginescope.judge.samples import Samples, Summary
from enginescope.records.run.run import Run
from enginescope.records.samples import QueryTrace

#: Definition of the throughput of one request in flight.
OF_MEAN = "batch ÷ mean latency"


class Throughput(Record, frozen=True):
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
    3. Batch × queries ÷ the GPU time they span, where queries overlap. Of an unknown batch, or of
       no items, queries are counted.
    4. Queries ÷ (last start + its latency − first start), from exported times: trtexec's
       definition, but for gaps between the copies and the computation of the last query.
    5. Batch ÷ mean latency, with one request in flight.
    """
    tool = run.tool
    samples = run.headline
    if tool and tool.throughput_per_s is not None:
        return Throughput(tool.throughput_per_s, "queries", f"as {tool.tool} printed it")
    if tool and tool.host_walltime_s and samples:
        how = f"queries ÷ the wall time that {tool.tool} printed"
        return Throughput(len(samples) / tool.host_walltime_s, "queries", how)
    batch = run.job.workload.batch
    unit: Literal["items", "queries"] = "items" if batch else "queries"
    if run.wall_ms and samples:
        clock = "time" if samples.metric == "latency" else "GPU time"
        per_query = "batch × queries" if batch else "queries"
        per_s = 1e3 * (batch or 1) * len(samples) / run.wall_ms
        return Throughput(per_s, unit, f"{per_query} ÷ the {clock} that they span")
    if headline is None:
        return None
    if headline.throughput_per_s is not None:
        definition = OF_MEAN if batch else "1 ÷ mean latency: the batch is unknown, or 0"
        return Throughput(headline.throughput_per_s, unit, definition)
    return _from_starts(samples) if samples else None


def _from_starts(samples: Samples) -> Throughput | None:
    if samples.start_ms is None or samples.start_ms.size < 2:
        return None
    span_ms = float(samples.start_ms[-1] + samples.values_ms[-1] - samples.start_ms[0])
    if span_ms <= 0:
        return None
    how = "queries ÷ time from the first start to the last end"
    return Throughput(1e3 * len(samples) / span_ms, "queries", how)


class RoundTrip(Record, frozen=True, kw_only=True):
    """Medians of the parts of a request, milliseconds.

    Attributes:
        whole_ms: Round trip on the host's clock.
        parts: Metric and median, on the GPU's clock, in order.
        outside_ms: Median of the round trip less its parts: launching, recording events, waiting,
            and, where `loop` is ``python``, the interpreter between them.
        enqueue_ms: The enqueue call alone, on the host; it overlaps with the computation.
    """

    whole_ms: float
    parts: tuple[tuple[str, float], ...]
    outside_ms: float
    enqueue_ms: float | None = None
    loop: str | None = None


class Pipeline(Record, frozen=True, kw_only=True):
    """Queries that overlap, milliseconds.

    Attributes:
        period_ms: From one query to the next: GPU time of all ÷ queries.
        compute_ms: Mean GPU compute time.
        gap_ms: `period_ms` − `compute_ms`: what the GPU computes nothing for. Below 0 where several
            streams compute at the same time.
        enqueue_ms: Median.
        loop_ms: Median host time of the loop's other calls.
    """

    period_ms: float
    compute_ms: float
    gap_ms: float
    enqueue_ms: float | None = None
    loop_ms: float | None = None


def round_trip(run: Run) -> RoundTrip | None:
    """Return the parts of a round trip; ``None`` where they were not timed one by one."""
    whole, compute = run.series("latency"), run.series("gpu_compute")
    if whole is None or compute is None or len(whole) != len(compute) or not len(whole):
        return None
    every = ((name, run.series(name)) for name in ("h2d", "gpu_compute", "d2h"))
    known = [(name, one) for name, one in every if one is not None]
    rest = whole.values_ms - sum(one.values_ms for _, one in known)
    return RoundTrip(
        whole_ms=float(np.median(whole.values_ms)),
        parts=tuple((name, float(np.median(one.values_ms))) for name, one in known),
        outside_ms=float(np.median(rest)),
        enqueue_ms=_median(run, "enqueue"),
        loop=run.job.workload.mode.loop,
    )


def pipeline(run: Run) -> Pipeline | None:
    """Return how queries that overlap follow each other; ``None`` where they do not overlap."""
    compute = run.series("gpu_compute")
    if run.wall_ms is None or compute is None or not len(compute):
        return None
    period = run.wall_ms / len(compute)
    mean = float(compute.values_ms.mean())
    return Pipeline(
        period_ms=period,
        compute_ms=mean,
        gap_ms=period - mean,
        enqueue_ms=_median(run, "enqueue"),
        loop_ms=run.loop_ms,
    )


def _median(run: Run, metric: str) -> float | None:
    found = run.series(metric)
    return float(np.median(found.values_ms)) if found is not None and len(found) else None


#: Queries at the beginning find an empty queue.
_FIRST = 2
#: Part -> name of its stamps in `QueryTrace`.
PARTS = {"enqueue": "enqueue", "H2D": "h2d", "compute": "compute", "D2H": "d2h"}


class PartSpan(Record, frozen=True, kw_only=True):
    """One part of a query, as its stamps have it.

    Attributes:
        query: From 0, in the order of the trace.
        stream: ``None`` where the stamps do not say it.
        start_ms, end_ms: On the trace's clocks: the host's for enqueue, else the GPU's.
    """

    part: str
    query: int
    stream: int | None
    start_ms: float
    end_ms: float


def part_spans(trace: QueryTrace, queries: Sequence[int] | None = None) -> tuple[PartSpan, ...]:
    """Return the parts that queries have, of all queries unless some are named."""
    spans = []
    for query in range(len(trace)) if queries is None else queries:
        stream = None if trace.stream is None else int(trace.stream[query])
        for part, name in PARTS.items():
            start, end = (float(getattr(trace, f"{name}_{one}")[query]) for one in ("start", "end"))
            # A copy without length was none; an enqueue was shorter than its stamps can tell.
            if end > start or part == "enqueue":
                spans.append(
                    PartSpan(part=part, query=query, stream=stream, start_ms=start, end_ms=end)
                )
    return tuple(spans)


def typical_query(trace: QueryTrace) -> int:
    """Return the first query whose time on the GPU is about the median.

    Stamps of six digits are finest at the beginning.
    """
    times = trace.d2h_end - trace.h2d_start
    distance = np.abs(times - np.median(times))
    near = np.flatnonzero(distance <= 0.02 * np.median(times))
    settled = near[near >= _FIRST] if near.size and near[-1] >= _FIRST else near
    return int(settled[0]) if settled.size else int(np.argmin(distance))


def clocks_differ_ms(trace: QueryTrace) -> float | None:
    """Return by how much the clocks of host and GPU differ at least; ``None`` where none shows.

    No query can begin on the GPU before the host enqueues it.
    """
    begin = np.where(trace.h2d_end > trace.h2d_start, trace.h2d_start, trace.compute_start)
    early = float(np.max(trace.enqueue_start - begin))
    return early if early > 0 else None

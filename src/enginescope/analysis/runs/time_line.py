"""What happens when: the layers of one inference, and the parts of one request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.core.record import Record
from enginescope.records.plan.build_trace import QueryTrace

#: A query's latency may be so far from the median, as a part of it, to stand for the others.
_TYPICAL = 0.02
#: Queries at the beginning find an empty queue.
_FIRST = 2
#: Part -> name of its stamps in `QueryTrace`.
PARTS = {"enqueue": "enqueue", "H2D": "h2d", "compute": "compute", "D2H": "d2h"}


class LayerSpan(Record, frozen=True, kw_only=True):
    """A layer's place in an inference.

    Attributes:
        start_ms: Since the first layer began.
    """

    row: LayerRow
    start_ms: float
    ms: float


def layer_spans(rows: Iterable[LayerRow]) -> tuple[LayerSpan, ...]:
    """Return the layers that take time, by their mean times, the first one first.

    They begin where the profile says so of all of them. Other profiles have durations and no
    starts: gaps and overlap are not in them, and the layers follow each other end to end.

    Args:
        rows: In the order in which they run.
    """
    timed = [(row, row.mean_ms) for row in rows if row.mean_ms and not row.is_container]
    starts = [row.start_ms for row, _ in timed if row.start_ms is not None]
    if len(starts) < len(timed):
        starts = list(accumulate((ms for _, ms in timed[:-1]), initial=0.0))
    spans = (
        LayerSpan(row=row, start_ms=start_ms, ms=ms)
        for (row, ms), start_ms in zip(timed, starts, strict=False)
    )
    return tuple(sorted(spans, key=lambda span: span.start_ms))


def is_stamped(spans: Sequence[LayerSpan]) -> bool:
    """Whether the layers have the starts of their profile."""
    return all(span.row.start_ms is not None for span in spans)


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
                    PartSpan(
                        part=part,
                        query=query,
                        stream=stream,
                        start_ms=start,
                        end_ms=end,
                    )
                )
    return tuple(spans)


def typical_query(trace: QueryTrace) -> int:
    """Return the first query whose time on the GPU is about the median.

    Stamps of six digits are finest at the beginning.
    """
    times = trace.d2h_end - trace.h2d_start
    distance = np.abs(times - np.median(times))
    near = np.flatnonzero(distance <= _TYPICAL * np.median(times))
    settled = near[near >= _FIRST] if near.size and near[-1] >= _FIRST else near
    return int(settled[0]) if settled.size else int(np.argmin(distance))


def clocks_differ_ms(trace: QueryTrace) -> float | None:
    """Return by how much the clocks of host and GPU differ at least; ``None`` where none shows.

    No query can begin on the GPU before the host enqueues it.
    """
    begin = np.where(trace.h2d_end > trace.h2d_start, trace.h2d_start, trace.compute_start)
    early = float(np.max(trace.enqueue_start - begin))
    return early if early > 0 else None

"""When each query began and ended, on the host and on the GPU."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.records.samples import Array


class QueryTrace(Record, frozen=True, kw_only=True, eq=False):
    """Stamps of every timed query, in the order of their start.

    Milliseconds; host stamps since the host clock was started, device stamps since the event that
    was recorded at the same moment. All arrays have the shape (n,). Without transfers the copies
    have no length: H2D lies at the start of the computation, D2H at its end.

    Attributes:
        stream: Inference stream of the query.
        enqueue_start, enqueue_end: Host clock, around the enqueue call alone.
        h2d_start, h2d_end, compute_start, compute_end, d2h_start, d2h_end: GPU events.
    """

    stream: Array
    enqueue_start: Array
    enqueue_end: Array
    h2d_start: Array
    h2d_end: Array
    compute_start: Array
    compute_end: Array
    d2h_start: Array
    d2h_end: Array

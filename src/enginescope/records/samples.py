"""Stamps of queries, and statistics that another tool printed."""

from enginescope.core.record import Record
from enginescope.judge.samples import Array


class ReportedSummary(Record, frozen=True, kw_only=True):
    """Statistics as another tool printed them: evidence, not our computation.

    Attributes:
        percentiles: Pairs of p and milliseconds.
    """

    metric: str
    min_ms: float | None = None
    max_ms: float | None = None
    mean_ms: float | None = None
    median_ms: float | None = None
    percentiles: tuple[tuple[float, float], ...] = ()

    @property
    def figures(self) -> dict[str, float | None]:
        """Its statistics by name, ``p99`` for a percentile, in milliseconds."""
        plain = {name: getattr(self, f"{name}_ms") for name in ("min", "max", "mean", "median")}
        return plain | {f"p{p:g}": value for p, value in self.percentiles}


class QueryTrace(Record, frozen=True, kw_only=True, eq=False):
    """Stamps of every timed query, in the order of their start.

    Milliseconds; host stamps since the host clock was started, device stamps since the event that
    was recorded at the same moment. All arrays have the shape (n,). Without transfers the copies
    have no length: H2D lies at the start of the computation, D2H at its end.

    Attributes:
        stream: Inference stream of the query; ``None`` where the source does not say it.
        enqueue_start, enqueue_end: Host clock, around the enqueue call alone.
        h2d_start, h2d_end, compute_start, compute_end, d2h_start, d2h_end: GPU events.
    """

    enqueue_start: Array
    enqueue_end: Array
    h2d_start: Array
    h2d_end: Array
    compute_start: Array
    compute_end: Array
    d2h_start: Array
    d2h_end: Array
    stream: Array | None = None

    def __len__(self) -> int:
        """Return the number of queries."""
        return int(self.h2d_start.size)

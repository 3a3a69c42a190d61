"""When the queries of a load test arrive, and which contenders run at the same time."""

from typing import Literal, get_args

from enginescope.core.record import Record

Arrivals = Literal["poisson", "constant", "trace", "closed", "burst"]
#: MLPerf Inference's four, by the names of its rules.
Scenario = Literal["single-stream", "multi-stream", "server", "offline"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)


class LoadRule(Record, frozen=True, kw_only=True):
    """How queries arrive, and how many workers serve them.

    Attributes:
        arrivals: ``closed``: a query is issued when the one before has ended. ``burst``: all at
            once. The times of the others are drawn before the first query.
        rate_per_s: Queries per second; ``None``: `share` of the closed loop's rate, or the trace.
        share: Of the rate of the closed loop, which the warm-up measures, 1 for all of it.
        duration_ms: Queries arrive for so long, unless `queries` are counted.
        queries: Exactly so many.
        least_queries: Without `queries`: the duration is extended until there are so many.
        seed: Of the gaps between arrivals.
        times_ms: Of a trace, rising.
        workers: Sessions that serve queries at the same time.
        samples_per_query: Requests that make one query.
    """

    arrivals: Arrivals = "poisson"
    rate_per_s: float | None = None
    share: float = 0.5
    duration_ms: float = 10_000.0
    queries: int | None = None
    least_queries: int = 1
    seed: int = 0
    times_ms: tuple[float, ...] = ()
    workers: int = 1
    samples_per_query: int = 1
    scenario: Scenario | None = None

    @property
    def is_open(self) -> bool:
        """Whether queries arrive whether or not earlier ones have ended."""
        return self.arrivals != "closed"

    @property
    def text(self) -> str:
        """What makes two load tests comparable: arrivals, rate and workers."""
        name = self.scenario or self.arrivals
        share = f"{100 * self.share:g} % of the closed loop"
        rate = f"{self.rate_per_s:g}/s" if self.rate_per_s is not None else share
        parts = (
            name if self.samples_per_query == 1 else f"{name} × {self.samples_per_query}",
            rate if self.arrivals in ("poisson", "constant") else None,
            f"{self.workers} workers" if self.workers > 1 else None,
        )
        return ", ".join(part for part in parts if part)


class LoadOutcome(Record, frozen=True, kw_only=True):
    """What became of the queries.

    Attributes:
        planned: Queries that arrived, or that the closed loop issued.
        unserved: Still waiting when the time limit ended the test.
        failed: Answered with an error, which says `error`.
        rate_per_s: At which queries arrived on average; ``None``: closed loop, or all at once.
        closed_ms: Median time of a request in the closed loop, one worker alone, before the test.
        closed_per_s: Requests per second of that loop.
        span_ms: From the first arrival to the end of the last query.
        last_arrival_ms: From the first moment of the test.
    """

    planned: int
    unserved: int = 0
    failed: int = 0
    error: str | None = None
    rate_per_s: float | None = None
    closed_ms: float | None = None
    closed_per_s: float | None = None
    span_ms: float = 0.0
    last_arrival_ms: float = 0.0


#: ``processes``: each contender in a process of its own. ``streams``: each in a thread, and on a
#: GPU in a stream, of one process.
Share = Literal["processes", "streams"]


class ContentionRule(Record, frozen=True, kw_only=True):
    """Contenders that are timed in one window, and the place of this job among them.

    Attributes:
        contenders: Names of all that run at the same time; one: it runs alone.
        place: From 0.
    """

    contenders: tuple[str, ...]
    place: int = 0
    share: Share = "processes"

    @property
    def text(self) -> str | None:
        """What makes two runs comparable: what ran beside this one; ``None``: it ran alone."""
        others = [name for at, name in enumerate(self.contenders) if at != self.place]
        return f"beside {', '.join(others)} ({self.share})" if others else None


class ContentionOutcome(Record, frozen=True, kw_only=True):
    """The window that all contenders share.

    Attributes:
        window_ms: All contenders issued requests from its first moment to its last.
        before, after: Requests of this contender that began before the window, and those that
            ended after it; the samples leave them out.
        cores: Mean number of cores that this contender's process kept busy.
        has_mps: Whether NVIDIA's Multi-Process Service computed for the GPU; ``None``: no GPU was
            seen.
    """

    window_ms: float
    before: int
    after: int
    cores: float | None = None
    has_mps: bool | None = None

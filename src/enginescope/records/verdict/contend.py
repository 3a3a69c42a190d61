"""Record a contention test: what each contender loses beside others."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import RatioEstimate, VerdictKind
from enginescope.records.run.load_and_contention import Share
from enginescope.records.run.rounds import RoundsReport

#: NVIDIA's Multi-Process Service. ``serves``: its server computed for the GPU. ``running``: its
#: daemon runs, and no server was seen on the GPU.
Mps = Literal["serves", "running", "off"]


class ContendKind(Enum):
    """What may be said of all contenders together."""

    SLOWED = "slowed"
    UNAFFECTED = "unaffected"
    INCONCLUSIVE = "inconclusive"


class Contender(Record, frozen=True, kw_only=True):
    """A model on a backend.

    Attributes:
        name: ``"A"``, ``"B"``, …
        threads: Threads of its session, where it computes on the processor.
    """

    name: str
    model: str
    backend: str
    threads: str | None = None


class ContenderTimes(Record, frozen=True, kw_only=True):
    """Latency of a contender, alone or beside others.

    Attributes:
        beside: Names of the others; empty: alone.
        p50_ms, p99_ms: Median over the processes of each process's percentile. No p99: a process
            has fewer than 100 requests in its window.
        p50_interval, p99_interval: 95 %, of the level that the processes scatter about.
        per_s: Requests per second, 1 ÷ mean latency; median over the processes.
        requests: In the windows of all processes.
        outside: Requests that lie not wholly within the window, and do not count.
    """

    contender: str
    beside: tuple[str, ...]
    p50_ms: float
    p50_interval: Interval | None
    p99_ms: float | None
    p99_interval: Interval | None
    per_s: float
    requests: int
    outside: int


class SlowDown(Record, frozen=True, kw_only=True):
    """How many times longer a request takes beside others than alone.

    Attributes:
        factor: Of the mean latencies, over the rounds. Where contenders take turns, some requests
            wait for a whole turn and most for none, so that the median shows nothing.
        p99_factor: Of the 99th percentiles.
    """

    contender: str
    beside: tuple[str, ...]
    factor: RatioEstimate
    kind: VerdictKind
    p99_factor: RatioEstimate | None = None


class ContenderSet(Record, frozen=True, kw_only=True):
    """Contenders that ran at the same time.

    Attributes:
        per_s: Requests per second of all together; median over the rounds.
        alone_per_s: The sum of what each has alone.
        share: Together ÷ that sum.
        fairness: Jain's index of the slow-downs, (Σx)² ÷ (n Σx²): 1 where all are slowed alike,
            down to 1 ÷ n. Median over the rounds.
    """

    contenders: tuple[str, ...]
    per_s: float
    alone_per_s: float
    share: RatioEstimate
    fairness: float
    fairness_interval: Interval | None = None


class ContendReport(Result, RoundsReport, frozen=True, kw_only=True):
    """What each contender loses beside others.

    Attributes:
        kind: Of all contenders together.
        threshold_pct: Smaller slow-downs do not matter.
        mps: ``None``: no GPU was seen.
    """

    kind: ContendKind
    contenders: tuple[Contender, ...]
    share: Share
    threshold_pct: float
    times: tuple[ContenderTimes, ...]
    slow_downs: tuple[SlowDown, ...]
    sets: tuple[ContenderSet, ...]
    mps: Mps | None = None

    @property
    def together(self) -> tuple[SlowDown, ...]:
        """The slow-downs of all contenders together."""
        others = len(self.contenders) - 1
        return tuple(slowed for slowed in self.slow_downs if len(slowed.beside) == others)

    def slow_down(self, contender: str, *beside: str) -> SlowDown | None:
        """Return the slow-down of a contender beside these; ``None`` if it was not measured."""
        wanted = (contender, sorted(beside))
        pairs = (((slowed.contender, sorted(slowed.beside)), slowed) for slowed in self.slow_downs)
        return next((slowed for key, slowed in pairs if key == wanted), None)

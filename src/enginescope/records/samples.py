"""Raw samples, and the shape of what is computed from them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from enginescope.core.record import Record

Array: TypeAlias = np.ndarray


class Samples(Record, frozen=True, kw_only=True, eq=False):
    """Raw measurements of one metric, in the order they were taken.

    Attributes:
        metric: Tag of a `Metric`.
        values_ms: Milliseconds.
        warmup_ms: What the warm-up measured, kept apart.
        start_ms: When each sample began, milliseconds since the first.
    """

    metric: str
    values_ms: Array
    warmup_ms: Array | None = None
    start_ms: Array | None = None

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self.values_ms.size)


class Interval(Record, frozen=True, kw_only=True):
    """A confidence interval."""

    low: float
    high: float
    confidence: float = 0.95

    @property
    def half_width_pct(self) -> float | None:
        """Half the width as a percentage of the center; ``None`` at a center of 0."""
        centre = (self.low + self.high) / 2
        return 50 * (self.high - self.low) / centre if centre else None


class Percentile(Record, frozen=True, kw_only=True):
    """One percentile and whether the samples can carry it.

    Attributes:
        p: 0…100.
        value_ms: By nearest rank, as trtexec has it.
        effective_n: Samples after autocorrelation, for this percentile.
        needed_n: Independent samples needed to state it at 99 % confidence.
        n: Samples.
        weak_below: Lowest percentile between the median and this one that lacks effective samples.
            A tail beyond a percentile that the samples cannot carry is not carried either.
    """

    p: float
    value_ms: float
    effective_n: float
    needed_n: int
    interval: Interval | None = None
    n: int | None = None
    weak_below: float | None = None

    @property
    def is_supported(self) -> bool:
        """Whether there are enough effective samples to state it and every lower percentile."""
        return self.weak_below is None and self.effective_n >= self.needed_n


class Summary(Record, frozen=True, kw_only=True):
    """Statistics of one `Samples`. Computed when asked, never stored as truth.

    Attributes:
        effective_n: n divided by the integrated autocorrelation time.
        std_ms: Standard deviation, n − 1 in its denominator, as hyperfine, nvbench and Google
            Benchmark have it; ``None`` of one sample.
        cv_pct: `std_ms` / `mean_ms`, in percent; ``None`` at a mean of 0, and of one sample.
        median_interval: 95 %, from twelve batch means; ``None`` with fewer than 10 effective
            samples.
        throughput_per_s: Batch ÷ mean latency, for one request in flight.
    """

    metric: str
    n: int
    effective_n: float
    min_ms: float
    max_ms: float
    mean_ms: float
    median_ms: float
    std_ms: float | None
    cv_pct: float | None
    median_interval: Interval | None
    percentiles: tuple[Percentile, ...]
    throughput_per_s: float | None = None

    def percentile(self, p: float) -> Percentile | None:
        """Return the percentile `p` if it was computed."""
        return next((one for one in self.percentiles if one.p == p), None)

    @property
    def p90_ms(self) -> float | None:
        """90th percentile, milliseconds."""
        return self._value(90)

    @property
    def p95_ms(self) -> float | None:
        """95th percentile, milliseconds."""
        return self._value(95)

    @property
    def p99_ms(self) -> float | None:
        """99th percentile, milliseconds."""
        return self._value(99)

    def _value(self, p: float) -> float | None:
        found = self.percentile(p)
        return found.value_ms if found else None


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


def frozen(values: Any) -> Array:
    """Return `values` as a read-only float64 array."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


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

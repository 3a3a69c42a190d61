"""Raw samples, and the shape of what is computed from them."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    confidence: float = 0.95

    @property
    def half_width_pct(self) -> float | None:
        """Half the width as a percentage of the center; ``None`` at a center of 0."""
        centre = (self.low + self.high) / 2
        return 50 * (self.high - self.low) / centre if centre else None


class Mark(Enum):
    """Why a percentile may not be stated without a mark.

    Attributes:
        SAMPLES: It has fewer effective samples than it needs.
        LOWER: A lower percentile has too few: the process changes too slowly for any tail.
        SLOW: The whole series has too few effective samples for an interval.
        EXTREMES: The interval would reach beyond the smallest or the largest sample.
        EQUAL: All samples between the ends of the interval are equal.
    """

    SAMPLES = "effective-samples"
    LOWER = "lower-percentile"
    SLOW = "slow-changes"
    EXTREMES = "beyond-extremes"
    EQUAL = "equal-samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """One percentile, with its interval or its mark.

    Attributes:
        p: 0…100.
        value_ms: By nearest rank, as trtexec has it.
        effective_n: Samples after autocorrelation, for this percentile.
        needed_n: Independent samples needed to state it at 99 % confidence.
        interval: 95 %; ``None`` where the samples cannot carry one.
        mark: Why it is not stated as it is; ``None``: it has its samples and its interval.
        n: Samples.
        weak_below: Lowest percentile between the median and this one that lacks effective samples.
            A tail beyond a percentile that the samples cannot carry is not carried either.
    """

    p: float
    value_ms: float
    effective_n: float
    needed_n: int
    interval: Interval | None = None
    mark: Mark | None = None
    n: int | None = None
    weak_below: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
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


def frozen(values: Any) -> Array:
    """Return `values` as a read-only float64 array."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array

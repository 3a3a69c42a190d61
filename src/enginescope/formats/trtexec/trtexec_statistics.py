"""Statistics by trtexec's own rules, to hold its printed summary against its exported times."""

from __future__ import annotations

import numpy as np

from enginescope.formats.trtexec.clock_step import on_the_clock
from enginescope.records.samples import Array, ReportedSummary, Samples


def as_trtexec_prints(samples: Samples, percentiles: tuple[float, ...]) -> ReportedSummary:
    """Return what trtexec prints of a series, before rounding to six digits.

    Median: the mean of the two middle values of an even number. Percentile p:
    ``sorted[max(n - 1 - int((1 - p / 100) * n), 0)]`` in 32-bit floats. Mean: 32-bit accumulation
    over the sorted values, which differs from the true mean in the sixth digit. The rounding of the
    exported values is undone first.

    Args:
        samples: At least one value.
        percentiles: 0…100.
    """
    ordered = np.sort(on_the_clock(samples.values_ms).astype(np.float32))
    n = ordered.size
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / np.float32(2)
    mean = np.cumsum(ordered, dtype=np.float32)[-1] / np.float32(n)
    return ReportedSummary(
        metric=samples.metric,
        min_ms=float(ordered[0]),
        max_ms=float(ordered[-1]),
        mean_ms=float(mean),
        median_ms=float(middle),
        percentiles=tuple((p, _percentile(ordered, p)) for p in percentiles),
    )


def _percentile(ordered: Array, p: float) -> float:
    share = np.float32(1) - np.float32(p) / np.float32(100)
    exclude = int(share * np.float32(ordered.size))
    return float(ordered[max(ordered.size - 1 - exclude, 0)])

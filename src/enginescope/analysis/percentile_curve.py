"""The headline's percentiles from 0 to 100."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record
from enginescope.model.samples import Samples, Summary
from enginescope.stats.percentile import nearest_rank, needed_samples

#: Every whole percentile, and two more in the tail.
POINTS = (*(float(p) for p in range(100)), 99.5, 99.9, 100.0)


class CurvePoint(Record, frozen=True, kw_only=True):
    """One point of a percentile curve.

    Attributes
    ----------
    p : float
        0…100.
    value_ms : float
        By nearest rank, as trtexec has it.
    effective_n : float
        Of the whole series.
    needed_n : int or None
        Independent samples needed to state it at 99 % confidence; ``None`` at 0 and 100, which
        no number of samples settles.
    """

    p: float
    value_ms: float
    effective_n: float
    needed_n: int | None

    @property
    def is_supported(self) -> bool:
        """Whether there are enough effective samples to state it."""
        return self.needed_n is not None and self.effective_n >= self.needed_n


def percentile_curve(samples: Samples, summary: Summary) -> tuple[CurvePoint, ...]:
    """Return the curve of `samples`; where `summary` has a percentile, with its effective n."""
    ordered = np.sort(samples.values_ms)
    known = {one.p: one.effective_n for one in summary.percentiles}
    return tuple(
        CurvePoint(
            p=p,
            value_ms=float(ordered[nearest_rank(p, ordered.size)]),
            effective_n=known.get(p, summary.effective_n),
            needed_n=needed_samples(p) if 0 < p < 100 else None,
        )
        for p in POINTS
    )

"""Which rounds of an interleaved comparison count.

While something else takes the processors, the median of one process is hardly known, and its
distance from the other side's says little. A round is left out where that is so of any of its
processes. Which side it was makes no difference to that, so where both sides do the same work the
differences that are left are as symmetric as before, and `stats.hodges_lehmann` needs nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginescope.model.samples import Array
from enginescope.stats.bootstrap import MIN_EFFECTIVE, quantile_interval
from enginescope.stats.stability import WIDE_PCT

#: Where processes are as uncertain as this times the steadier quarter of them, that is how the
#: work is, and no reason to leave any out.
_USUAL = 3.0
#: Of samples that are many and cannot carry an interval, this middle share holds the median.
_MIDDLE = (0.025, 0.975)


def uncertainty_pct(values: Array) -> float | None:
    """Return what the median of a process is known to, ± in percent.

    Samples that drift or wander so far that hardly any of them counts on its own carry no
    interval. Their median is taken to lie anywhere among the middle 95 % of them.

    Parameters
    ----------
    values : array_like, shape (n,)
        In the order they were taken.

    Returns
    -------
    float or None
        ``None``: there are too few of them to tell, which is no sign of load.
    """
    interval = quantile_interval(values, 0.5)
    if interval is not None:
        return interval.half_width_pct
    if len(values) < MIN_EFFECTIVE:
        return None
    low, median, high = np.quantile(values, (_MIDDLE[0], 0.5, _MIDDLE[1]))
    return float(50 * (high - low) / median) if median > 0 else None


def steady_rounds(uncertainties_pct: Sequence[Sequence[float | None]]) -> tuple[bool, ...]:
    """Return which rounds count.

    Parameters
    ----------
    uncertainties_pct : sequence of (sequence of (float or None))
        Of each side's processes, round by round; ``None`` where samples are too few to know it.

    Returns
    -------
    tuple of bool
        One a round. A round counts where every process' median is known to ±5 %, or to three times
        what the steadier quarter of the rounds is.
    """
    worst = [
        max((one for one in row if one is not None), default=0.0)
        for row in zip(*uncertainties_pct, strict=True)
    ]
    if not worst:
        return ()
    limit = max(WIDE_PCT, _USUAL * float(np.quantile(worst, 0.25)))
    return tuple(one <= limit for one in worst)

"""Whether a series has two levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from enginescope.judge.samples import Array
from enginescope.judge.stats.series import as_series, quantum

MIN_VALUES = 100
#: Each mode holds at least this share of the samples.
MIN_SHARE = 0.1
#: The density between the modes falls below this share of the lower one's.
VALLEY = 0.2
#: The modes lie at least this far apart, relative to the lower.
MIN_GAP = 0.005
_CELLS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Two levels of a series.

    Attributes:
        low, high: Median of the samples on either side of the valley, in their unit.
        valley: Where the density between them is least.
        share_high: Share of the samples beyond the valley, 0…1.
    """

    low: float
    high: float
    valley: float
    share_high: float


def two_modes(values: Any) -> Modes | None:
    """Return the two levels the samples keep to, or ``None`` where there is one.

    The outer 2.5 % on either side are left out, so that a few spikes make no mode. The rest
    is split in two where that leaves the least variance within (Otsu 1979), the parts' widths give
    the bandwidth of a kernel density, and between the parts' medians that density has to fall to a
    fifth of the lower of its two peaks. The bandwidth is never below the `quantum`: the steps of
    a clock are not modes.

    Args:
        values: Fewer than 100 show no modes.
    """
    ordered = np.sort(as_series(values))
    cut = ordered.size // 40
    middle = ordered[cut : ordered.size - cut]
    if ordered.size < MIN_VALUES or middle[0] == middle[-1]:
        return None
    low, high = np.split(middle, [_split(middle)])
    centres = float(np.median(low)), float(np.median(high))
    width = _bandwidth(low, high, quantum(ordered))
    valley = _valley(middle, centres, width)
    if valley is None or centres[1] - centres[0] < MIN_GAP * abs(centres[0]):
        return None
    share = float(np.mean(ordered > valley))
    if not MIN_SHARE <= share <= 1 - MIN_SHARE:
        return None
    return Modes(low=centres[0], high=centres[1], valley=valley, share_high=share)


def _split(ordered: Array) -> int:
    """Return how many of the sorted values belong to the lower part, by Otsu's criterion."""
    n = ordered.size
    count = np.arange(1, n)
    total = np.cumsum(ordered - ordered[0])
    gap = total[:-1] / count - (total[-1] - total[:-1]) / (n - count)
    return int(np.argmax(count * (n - count) * gap**2)) + 1


def _bandwidth(low: Array, high: Array, step: float | None) -> float:
    """Return the geometric mean of Silverman's bandwidths of two parts, at least one `step`."""
    widths = [
        0.9 * 1.4826 * float(np.median(np.abs(part - np.median(part)))) * part.size**-0.2
        for part in (low, high)
    ]
    return max(math.sqrt(widths[0] * widths[1]), step or 0.0)


def _valley(ordered: Array, centres: tuple[float, float], width: float) -> float | None:
    """Return where the density between two centers falls low enough to part them."""
    start, span = float(ordered[0]), float(ordered[-1] - ordered[0])
    counts, edges = np.histogram(ordered, bins=_CELLS, range=(start, start + span))
    cell = span / _CELLS
    reach = int(min(4 * width / cell, _CELLS)) + 1
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * cell / max(width, cell)) ** 2)
    density = np.convolve(np.pad(counts, reach), kernel, mode="valid")
    left, right = (min(int((centre - start) / cell), _CELLS - 1) for centre in centres)
    if right - left < 2:
        return None
    bottom = left + int(np.argmin(density[left : right + 1]))
    peak = min(float(density[: bottom + 1].max()), float(density[bottom:].max()))
    middle = (float(edges[bottom]) + float(edges[bottom + 1])) / 2
    return middle if float(density[bottom]) < VALLEY * peak else None

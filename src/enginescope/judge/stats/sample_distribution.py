"""Distributions behind a series of samples: as they are, and where a clock rounded them."""

from __future__ import annotations

import math

import numpy as np

from enginescope.judge.samples import Array


class SampleDistribution:
    """The distribution of samples as they are."""

    def __init__(self, series: Array) -> None:
        self._series = series
        self._ordered = np.sort(series)

    def share_below(self, q: float) -> Array:
        """Return 1 for each sample at or below quantile `q`, else 0.

        Where no sample lies above the quantile, only samples below it count.
        """
        value = self._ordered[math.ceil(q * self._ordered.size) - 1]
        below = self._series <= value
        return np.asarray(self._series < value if below.all() else below, dtype=np.float64)

    def between(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the samples at two shares of the distribution; ``None`` beyond the extremes."""
        n = self._ordered.size
        first, last = round(low * n - 0.5), round(high * n - 0.5)
        if first < 0 or last > n - 1:
            return None
        return float(self._ordered[first]), float(self._ordered[last])


class SteppedDistribution:
    """The distribution behind values that a clock or a printer rounded to steps.

    A value stands for all times within half a step of it, each as likely: the distribution function
    rises in a straight line over that step.

    Args:
        step: Above 0.
    """

    def __init__(self, series: Array, step: float) -> None:
        self._series = series
        self._step = step
        self._origin = float(series.min())
        levels, counts = np.unique(series - self._origin, return_counts=True)
        edges = np.unique(np.concatenate((levels - step / 2, levels + step / 2)))
        edges = edges[np.diff(edges, prepend=-np.inf) > 1e-9 * step]
        count = np.concatenate(([0.0], np.cumsum(counts)))
        total = np.concatenate(([0.0], np.cumsum(counts * levels)))
        below = np.searchsorted(levels, edges - step / 2, side="right")
        reached = np.searchsorted(levels, edges + step / 2, side="left")
        partly = (
            (count[reached] - count[below]) * (edges + step / 2) - total[reached] + total[below]
        )
        self._levels = levels
        self._level_shares = count[1:] / series.size
        # values of a quantity that is never negative, such as a time, stand for nothing below 0
        self._least = -self._origin if self._origin >= 0 else -math.inf
        self._edges = edges
        self._shares = (count[below] + partly / step) / series.size

    def share_below(self, q: float) -> Array:
        """Return which share of each sample's step lies below quantile `q`."""
        place = float(np.interp(q, self._shares, self._edges)) + self._origin
        return np.clip((place - self._series) / self._step + 0.5, 0.0, 1.0)

    def between(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the values at two shares, moved apart by what the steps hide.

        A straight line over a step is a guess. With all samples on one step the truth may lie
        anywhere on it; the more steps share the samples, the less a line is wrong. Each end moves
        outwards by half a step, times the largest share of the samples on one step between the
        ends, but not beyond the step of the sample at its share. Simulation shows that the interval
        then covers (``docs/explanation/intervals.md``). It holds the sample in its middle, which is
        printed with it.
        """
        if low < 0 or high > 1:
            return None
        first = float(np.interp(low, self._shares, self._edges))
        last = float(np.interp(high, self._shares, self._edges))
        begin = max(int(np.searchsorted(self._edges, first, side="right")) - 1, 0)
        end = int(np.searchsorted(self._edges, last, side="left")) + 1
        rise = np.diff(self._shares[begin:end]) / np.diff(self._edges[begin:end])
        hidden = self._step / 2 * min(1.0, float(rise.max()) * self._step)
        first = max(first - hidden, self._level_at(low) - self._step / 2)
        last = min(last + hidden, self._level_at(high) + self._step / 2)
        middle, rank = (low + high) / 2, 1 / self._series.size
        first = min(first, self._level_at(middle - rank))
        last = max(last, self._level_at(middle + rank))
        first = max(first, self._least)
        return first + self._origin, last + self._origin

    def _level_at(self, share: float) -> float:
        """Return the sample at a share of the distribution, less the origin."""
        index = int(np.searchsorted(self._level_shares, share))
        return float(self._levels[min(index, self._levels.size - 1)])

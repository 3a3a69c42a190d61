"""Confidence interval of a quantile of a dependent series, by block bootstrap."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from enginescope.model.samples import Array, Interval
from enginescope.stats.autocorrelation import integrated_time
from enginescope.stats.series import as_series

RESAMPLES = 2_000
BLOCK_TIMES = 4.0
MIN_BLOCKS = 4.0
MAX_PIECES = 512
MAX_EDGES = 128
PIECES_PER_BLOCK = 4
_SEED = 20_111


def quantile_interval(values: Any, q: float, *, confidence: float = 0.95) -> Interval | None:
    """Return the confidence interval of quantile `q`."""
    series = as_series(values)
    n = series.size
    if n < 4:
        return None
    ordered = np.sort(series)
    point = ordered[min(n - 1, max(0, math.ceil(q * n) - 1))]
    if ordered[0] == ordered[-1]:
        return Interval(low=float(point), high=float(point), confidence=confidence)
    tau = integrated_time(series <= point)
    if max(q, 1 - q) ** (n / tau) > (1 - confidence) / 2:
        return None
    length = BLOCK_TIMES * tau if tau > 1.2 else 1.0
    if n / length < MIN_BLOCKS:
        return None
    edges = _edges(ordered, q, tau)
    piece = max(1, int(length / PIECES_PER_BLOCK), -(-n // MAX_PIECES))
    window = max(1, round(length / piece))
    counts = _cumulative_counts(series, edges, piece)
    sizes = counts[:, -1]
    pieces = counts.shape[0]
    draws = max(1, round(pieces / window))
    weights = _weights(pieces, draws, window)
    totals = weights @ sizes
    below = weights @ counts
    found = _read(edges, below, totals * q)
    inflate = math.sqrt(draws * window / pieces) * _student(confidence, draws) / _z(confidence)
    tail = NormalDist().cdf(-inflate * _z(confidence))
    low, high = np.quantile(found, [tail, 1 - tail])
    centre = float(np.median(series)) if q == 0.5 else float(point)
    return Interval(
        low=min(float(low), centre), high=max(float(high), centre), confidence=confidence
    )


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def _student(confidence: float, freedom: float) -> float:
    z = _z(confidence)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _edges(ordered: Array, q: float, tau: float) -> Array:
    n = ordered.size
    spread = math.sqrt(q * (1 - q) * tau * n)
    steps = np.linspace(-1, 1, MAX_EDGES)
    ranks = q * n + 8 * spread * (0.5 * steps + 0.5 * steps**3)
    ranks = np.clip(np.rint(ranks), 0, n - 1).astype(np.int64)
    return np.unique(ordered[np.concatenate(([0], ranks, [n - 1]))])


def _cumulative_counts(series: Array, edges: Array, piece: int) -> Array:
    n = series.size
    pieces = -(-n // piece)
    column = np.searchsorted(edges, series, side="left")
    row = np.arange(n) // piece
    flat = np.bincount(row * edges.size + column, minlength=pieces * edges.size)
    counts: Array = flat.reshape(pieces, edges.size).cumsum(axis=1).astype(np.float32)
    return counts


def _weights(pieces: int, draws: int, window: int) -> Array:
    rng = np.random.default_rng(_SEED)
    starts = rng.integers(pieces, size=(RESAMPLES, draws))
    flat = np.bincount(
        (starts + np.arange(RESAMPLES)[:, None] * pieces).ravel(), minlength=RESAMPLES * pieces
    )
    drawn = flat.reshape(RESAMPLES, pieces)
    if window > 1:
        total = np.cumsum(np.concatenate((drawn[:, -window + 1 :], drawn), axis=1), axis=1)
        total = np.concatenate((np.zeros((RESAMPLES, 1), dtype=total.dtype), total), axis=1)
        drawn = total[:, window:] - total[:, :-window]
    return drawn.astype(np.float32)


def _read(edges: Array, below: Array, target: Array) -> Array:
    low = np.argmax(below >= target[:, None], axis=1)
    high = np.argmax(below > target[:, None], axis=1)
    high = np.where(below[:, -1] > target, high, edges.size - 1)
    return (edges[low] + edges[high]) / 2

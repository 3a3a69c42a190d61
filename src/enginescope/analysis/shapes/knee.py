"""The knee of a throughput curve with its uncertainty, and shapes slower than larger ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from enginescope.core.record import replace
from enginescope.judge.comparison.hodges_lehmann import student_paired_shift
from enginescope.judge.samples import Array, Interval
from enginescope.records.run.job import ShapePoint
from enginescope.records.verdict.shapes import Cliff, Knee

#: Fewer processes give so few different resamples that their range says little.
LEAST_PROCESSES = 6
_RESAMPLES = 2_000
_CONFIDENCE = 0.95


def knee_of(
    points: Sequence[ShapePoint], medians: Sequence[Mapping[int, float]], gain_pct: float
) -> Knee:
    """Return the smallest shape at which no larger one has `gain_pct` more items per second.

    Args:
        medians: Of each process, latency by point in ms.
    """
    measured = [at for at in range(len(points)) if any(at in process for process in medians)]
    items = np.array([points[at].items for at in measured], dtype=float)
    if len(measured) < 2:
        return Knee(gain_pct=gain_pct, why="fewer than two shapes were measured")
    if (items == items[0]).all():
        return Knee(gain_pct=gain_pct, why="all shapes have the same number of items")
    whole = [process for process in medians if all(at in process for at in measured)]
    if not whole:
        return Knee(gain_pct=gain_pct, why="no process measured all shapes")
    times = np.array([[process[at] for at in measured] for process in whole])
    labels = [points[at].label for at in measured]
    last = len(labels) - 1
    at = int(_knees(np.median(times, axis=0)[None], items, gain_pct)[0])
    knee = Knee(gain_pct=gain_pct, label=labels[at] if at < last else None)
    if len(whole) < LEAST_PROCESSES:
        return knee
    draw = np.random.default_rng(0)
    drawn = times[draw.integers(len(whole), size=(_RESAMPLES, len(whole)))]
    knees = _knees(np.median(drawn, axis=1), items, gain_pct)
    tail = (1 - _CONFIDENCE) / 2
    low, high = (int(np.sort(knees)[round(share * (_RESAMPLES - 1))]) for share in (tail, 1 - tail))
    return replace(
        knee,
        low=labels[min(low, at)],
        high=labels[max(high, at)] if max(high, at) < last else None,
        support=float(np.mean(knees == at)),
    )


def _knees(times: Array, items: Array, gain_pct: float) -> Array:
    """Return the place of the knee in each row; the last place: none below the largest."""
    rates = items / times
    best = np.maximum.accumulate(rates[:, ::-1], axis=1)[:, ::-1]  # from here on
    is_knee = best[:, 1:] < rates[:, :-1] * (1 + gain_pct / 100)
    found: Array = np.where(is_knee.any(axis=1), is_knee.argmax(axis=1), times.shape[1] - 1)
    return found


def cliffs_of(
    points: Sequence[ShapePoint], medians: Sequence[Mapping[int, float]]
) -> tuple[Cliff, ...]:
    """Return shapes that are significantly slower than a larger one, with the fastest of these.

    Latencies of one process are pairs. Student's t of their logarithms has a confidence of 95 % for
    all pairs of shapes together, which signed ranks of a few processes cannot have.
    """
    count = math.comb(len(points), 2)
    cliffs: list[Cliff] = []
    for at, point in enumerate(points):
        slower = []
        for to in range(at + 1, len(points)):
            logs = [
                math.log(process[at] / process[to])
                for process in medians
                if at in process and to in process
            ]
            if len(logs) < 2 or points[to].size <= point.size:
                continue
            shift = student_paired_shift(logs, confidence=1 - (1 - _CONFIDENCE) / count)
            if shift.low is not None and shift.high is not None and shift.low > 0:
                ends = Interval(low=math.exp(shift.low), high=math.exp(shift.high))
                slower.append(
                    Cliff(
                        label=point.label,
                        faster=points[to].label,
                        ratio=math.exp(shift.value),
                        interval=ends,
                    )
                )
        cliffs += [max(slower, key=lambda cliff: cliff.ratio)] if slower else []
    return tuple(cliffs)

"""Latency of each shape, the knee, slow shapes, costs of changes, and profiles to build."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from enginescope.analysis.ladder.rungs import shift_interval
from enginescope.core.record import copied, replace
from enginescope.judge.comparison.hodges_lehmann import level_of_processes, student_paired_shift
from enginescope.judge.samples import Array, Interval
from enginescope.records.run.job import ShapePoint
from enginescope.records.run.run import ShapeOutcome
from enginescope.records.verdict.shapes import (
    Cliff,
    CostKind,
    Knee,
    ProposedProfile,
    ShapeCost,
    ShapeLevel,
    TraceUse,
)

#: Of each process, latency by point in ms.
Medians: TypeAlias = Sequence[Mapping[int, float]]
#: Fewer processes give so few different resamples that their range says little.
LEAST_PROCESSES = 6
_RESAMPLES = 2_000
_CONFIDENCE = 0.95


def levels_of(
    points: Sequence[ShapePoint], outcomes: Sequence[ShapeOutcome]
) -> tuple[ShapeLevel, ...]:
    """Return the level of each shape; each process is one figure."""
    medians = [outcome.later_medians for outcome in outcomes]
    return tuple(_level(at, point, outcomes, medians) for at, point in enumerate(points))


def _level(
    at: int, point: ShapePoint, outcomes: Sequence[ShapeOutcome], medians: Medians
) -> ShapeLevel:
    values = [process[at] for process in medians if at in process]
    last = next((process for process in outcomes if process.why[at] is not None), outcomes[-1])
    at_last = {"inputs": last.inputs[at], "profile": last.profiles[at], "why": last.why[at]}
    known = copied(ShapeLevel, point, **at_last)
    if not values:
        return known
    latency, interval = float(np.median(values)), level_of_processes(values)
    per_s = 1e3 * point.items
    return replace(
        known,
        latency_ms=latency,
        interval=interval,
        items_per_s=per_s / latency,
        items_interval=interval and Interval(low=per_s / interval.high, high=per_s / interval.low),
        processes=len(values),
        why=None,
        costs=tuple(first_costs(outcomes, at)),
    )


def first_costs(outcomes: Sequence[ShapeOutcome], at: int | None = None) -> Iterator[ShapeCost]:
    """Yield what a first request takes above one without a change: of new shapes, and again.

    Args:
        at: Of this shape; ``None``: of each process the median over all its shapes.
    """
    kinds: tuple[tuple[CostKind, bool], ...] = (("new", True), ("again", False))
    for kind, is_new in kinds:
        extra, ratios, changes = [], [], 0
        for outcome in outcomes:
            visits = [
                visit
                for visit in outcome.visits
                if visit.is_change and visit.is_new is is_new and at in (None, visit.point)
            ]
            if visits:
                times = [1 + visit.change_ms / visit.same_ms for visit in visits]
                extra.append(float(np.median([visit.change_ms for visit in visits])))
                ratios.append(float(np.median(times)))
                changes += len(visits)
        if extra:
            yield _cost(kind, extra, changes, ratio=float(np.median(ratios)))


def part_costs(outcomes: Sequence[ShapeOutcome]) -> Iterator[ShapeCost]:
    """Yield what each part of a change takes, without the first request."""
    parts: tuple[CostKind, ...] = ("profile", "bind", "graph")
    for kind in parts:
        values, changes = [], 0
        for outcome in outcomes:
            visits = [visit for visit in outcome.visits if visit.is_change]
            times = [visit.parts_ms[kind] for visit in visits if kind in visit.parts_ms]
            if times:
                values.append(float(np.median(times)))
                changes += len(times)
        if values:
            yield _cost(kind, values, changes)


def _cost(
    kind: CostKind, values: Sequence[float], changes: int, ratio: float | None = None
) -> ShapeCost:
    value_ms = float(np.median(values))
    interval = shift_interval(values, value_ms)
    return ShapeCost(kind=kind, value_ms=value_ms, interval=interval, ratio=ratio, changes=changes)


def weighted(
    levels: Sequence[ShapeLevel], weights: Mapping[str, float] | None
) -> tuple[ShapeLevel, ...]:
    """Return the levels with their shares of the requests; only measured shapes have one.

    Args:
        weights: By label, any unit; ``None``: the same for all.
    """
    shares = {
        level.label: (1.0 if weights is None else weights.get(level.label, 0.0))
        for level in levels
        if level.latency_ms is not None
    }
    total = sum(shares.values())
    return tuple(
        replace(level, weight=shares.get(level.label, 0.0) / total if total else 0.0)
        for level in levels
    )


def propose(levels: Sequence[ShapeLevel], count: int) -> tuple[ProposedProfile, ...]:
    """Return at most `count` profiles that together span all shapes that have a weight.

    TensorRT chooses tactics for the optimum of a profile, so that a request is the better served
    the closer its shape is to an optimum. Profiles are stretches of the sizes; stretches and optima
    minimize the distance of the logarithms of size and optimum, weighted by the time of each shape.
    """
    used = [one for one in levels if one.weight > 0 and one.latency_ms is not None]
    whole = sum(_time(one) for one in used)
    return tuple(_profile(group, whole) for group in _stretches(used, min(count, len(used))))


def _time(level: ShapeLevel) -> float:
    return level.weight * (level.latency_ms or 0.0)


def _profile(group: Sequence[ShapeLevel], whole: float) -> ProposedProfile:
    low, opt, high = group[0], _optimum(group)[0], group[-1]
    return ProposedProfile(
        low=low.label,
        opt=opt.label,
        high=high.label,
        requests=sum(one.weight for one in group),
        time=sum(map(_time, group)) / whole,
        min_shapes=low.inputs,
        opt_shapes=opt.inputs,
        max_shapes=high.inputs,
    )


def _optimum(group: Sequence[ShapeLevel]) -> tuple[ShapeLevel, float]:
    """Return the shape of a group with the least weighted distance, and that distance."""
    sums = [
        sum(_time(one) * abs(math.log(max(one.size, 1) / max(opt.size, 1))) for one in group)
        for opt in group
    ]
    at = min(range(len(group)), key=sums.__getitem__)
    return group[at], sums[at]


def _stretches(used: Sequence[ShapeLevel], count: int) -> list[Sequence[ShapeLevel]]:
    """Cut shapes into `count` stretches with the least sum of distances."""
    best: dict[tuple[int, int], tuple[float, list[int]]] = {(0, 0): (0.0, [])}
    for parts in range(1, count + 1):
        for end in range(parts, len(used) + 1):
            best[parts, end] = min(
                (before + _optimum(used[start:end])[1], [*cuts, end])
                for start in range(parts - 1, end)
                if (known := best.get((parts - 1, start))) is not None
                for before, cuts in (known,)
            )
    cuts = best[count, len(used)][1]
    return [used[start:end] for start, end in pairwise([0, *cuts])]


def trace_weights(
    levels: Sequence[ShapeLevel], sizes: Sequence[int], again: ShapeCost | None
) -> tuple[dict[str, float], TraceUse]:
    """Return the weights that a trace gives, and what its changes cost.

    A request runs as the smallest measured shape that holds it; larger ones are left out.

    Args:
        sizes: Of the swept dimension, as they come.
        again: Of a change to a shape that the process ran before.
    """
    known = (level for level in levels if level.latency_ms is not None)
    measured = sorted(known, key=lambda level: level.size)
    run = [next((level for level in measured if level.size >= size), None) for size in sizes]
    fitting = [level for level in run if level is not None]
    changes = sum(a.label != b.label for a, b in pairwise(fitting))
    steady_ms = sum(level.latency_ms or 0.0 for level in fitting)
    changes_ms = changes * max(again.value_ms, 0.0) if again else None
    share = changes_ms / (steady_ms + changes_ms) if changes_ms is not None and steady_ms else None
    padded = (level and level.size != size for level, size in zip(run, sizes, strict=True))
    use = TraceUse(
        requests=len(sizes),
        padded=sum(map(bool, padded)),
        beyond=run.count(None),
        changes=changes,
        change_share=share,
    )
    counts = Counter(level.label for level in fitting)
    return {label: float(number) for label, number in counts.items()}, use


def knee_of(points: Sequence[ShapePoint], medians: Medians, gain_pct: float) -> Knee:
    """Return the smallest shape at which no larger one has `gain_pct` more items per second."""
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


def cliffs_of(points: Sequence[ShapePoint], medians: Medians) -> tuple[Cliff, ...]:
    """Return shapes that are significantly slower than a larger one, with the fastest of these.

    Latencies of one process are pairs. Student's t of their logarithms has a confidence of 95 % for
    all pairs of shapes together, which signed ranks of a few processes cannot have.
    """
    count = math.comb(len(points), 2)
    cliffs: list[Cliff] = []
    for at, point in enumerate(points):
        slower = []
        for to in range(at + 1, len(points)):
            both = (process for process in medians if at in process and to in process)
            logs = [math.log(process[at] / process[to]) for process in both]
            if len(logs) < 2 or points[to].size <= point.size:
                continue
            shift = student_paired_shift(logs, confidence=1 - (1 - _CONFIDENCE) / count)
            if shift.low is not None and shift.high is not None and shift.low > 0:
                ends = Interval(low=math.exp(shift.low), high=math.exp(shift.high))
                ratio, faster = math.exp(shift.value), points[to].label
                cliff = Cliff(label=point.label, faster=faster, ratio=ratio, interval=ends)
                slower.append(cliff)
        cliffs += [max(slower, key=lambda cliff: cliff.ratio)] if slower else []
    return tuple(cliffs)

"""Latency of each shape, costs of changes, and profiles to build, from visits of processes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from enginescope.analysis.ladder.rungs import shift_interval
from enginescope.core.record import replace
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.samples import Interval
from enginescope.records.run.job import ShapePoint
from enginescope.records.run.run import ShapeOutcome
from enginescope.records.verdict.shapes import (
    CostKind,
    ProposedProfile,
    ShapeCost,
    ShapeLevel,
    TraceUse,
)

_PARTS: tuple[CostKind, ...] = ("profile", "bind", "graph")


def levels_of(
    points: Sequence[ShapePoint], outcomes: Sequence[ShapeOutcome]
) -> tuple[ShapeLevel, ...]:
    """Return the level of each shape; each process is one figure."""
    medians = [outcome.later_medians for outcome in outcomes]
    return tuple(_level(at, point, outcomes, medians) for at, point in enumerate(points))


def _level(
    at: int,
    point: ShapePoint,
    outcomes: Sequence[ShapeOutcome],
    medians: Sequence[Mapping[int, float]],
) -> ShapeLevel:
    values = [process[at] for process in medians if at in process]
    last = next((process for process in outcomes if process.why[at] is not None), outcomes[-1])
    known = ShapeLevel(
        label=point.label,
        size=point.size,
        items=point.items,
        inputs=last.inputs[at],
        profile=last.profiles[at],
        why=last.why[at],
    )
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
    for kind in _PARTS:
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
    groups = _stretches(used, min(count, len(used)))
    return tuple(_profile(group, whole) for group in groups)


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
    measured = sorted(
        (level for level in levels if level.latency_ms is not None), key=lambda level: level.size
    )
    run = [next((level for level in measured if level.size >= size), None) for size in sizes]
    fitting = [level for level in run if level is not None]
    changes = sum(a.label != b.label for a, b in pairwise(fitting))
    steady_ms = sum(level.latency_ms or 0.0 for level in fitting)
    changes_ms = changes * max(again.value_ms, 0.0) if again else None
    share = None
    if changes_ms is not None and steady_ms:
        share = changes_ms / (steady_ms + changes_ms)
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

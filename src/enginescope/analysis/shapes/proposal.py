"""Optimization profiles for weighted shapes, and what a trace of shapes costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from enginescope.core.record import replace
from enginescope.records.verdict.shapes import (
    ProposedProfile,
    ShapeCost,
    ShapeLevel,
    TraceUse,
)


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
    use = TraceUse(
        requests=len(sizes),
        padded=sum(
            level is not None and level.size != size for level, size in zip(run, sizes, strict=True)
        ),
        beyond=run.count(None),
        changes=changes,
        change_share=share,
    )
    counts = Counter(level.label for level in fitting)
    return {label: float(number) for label, number in counts.items()}, use

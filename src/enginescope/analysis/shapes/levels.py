"""Latency of each shape and costs of changes, from the visits of several processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from enginescope.core.record import replace
from enginescope.judge.comparison.hodges_lehmann import (
    level_of_processes,
    paired_shift,
    student_paired_shift,
)
from enginescope.judge.samples import Interval
from enginescope.records.run.job import ShapePoint
from enginescope.records.run.run import ShapeOutcome, ShapeVisit
from enginescope.records.verdict.shapes import CostKind, ShapeCost, ShapeLevel

CONFIDENCE = 0.95
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
            times = [visit.parts_ms[kind] for visit in outcome.visits if _has_part(visit, kind)]
            if times:
                values.append(float(np.median(times)))
                changes += len(times)
        if values:
            yield _cost(kind, values, changes)


def _has_part(visit: ShapeVisit, kind: str) -> bool:
    return visit.is_change and kind in visit.parts_ms


def _cost(
    kind: CostKind, values: Sequence[float], changes: int, ratio: float | None = None
) -> ShapeCost:
    return ShapeCost(
        kind=kind,
        value_ms=float(np.median(values)),
        interval=shift_interval(values, CONFIDENCE),
        ratio=ratio,
        changes=changes,
    )


def shift_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """Return the interval of a difference, one value a process; ``None`` of fewer than two.

    By signed ranks where there are enough values, else by Student's t.
    """
    if len(values) < 2:
        return None
    shift = paired_shift(values, confidence=confidence)
    if shift.low is None or shift.high is None:
        shift = student_paired_shift(values, confidence=confidence)
    middle = float(np.median(values))
    low, high = (middle if end is None else end for end in (shift.low, shift.high))
    return Interval(low=min(low, middle), high=max(high, middle), confidence=confidence)

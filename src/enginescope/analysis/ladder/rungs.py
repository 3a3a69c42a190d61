"""Rungs, steps and sums from the figures of interleaved processes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from enginescope.core.record import Record, replace
from enginescope.judge.comparison.hodges_lehmann import (
    level_of_processes,
    paired_shift,
    student_paired_shift,
)
from enginescope.judge.samples import Interval
from enginescope.records.verdict.ladder import LadderStep, LadderSum, Rung, RungKey

#: Figures of one rung in ms, by round.
Figures = Mapping[int, float]
CONFIDENCE = 0.95


class Climb(Record, frozen=True, kw_only=True):
    """Rungs with their figures, the steps between them and what these add up to."""

    rungs: tuple[Rung, ...]
    steps: tuple[LadderStep, ...]
    sums: tuple[LadderSum, ...]


def climb(rungs: Sequence[Rung], figures: Mapping[RungKey, Figures]) -> Climb:
    """Return the rungs with their levels, and all steps.

    The step to a rung starts from its base, or from the base of that where the base has no figure.

    Args:
        rungs: In the order of the ladder; `Rung.base` says where a step starts.
        figures: Of the rungs that were measured.
    """
    bases = {rung.key: rung.base for rung in rungs}
    rungs = [_measured(rung, figures) for rung in rungs]
    steps = []
    for at, rung in enumerate(rungs):
        base = rung.base
        while base is not None and base not in figures:
            base = bases.get(base)
        rungs[at] = replace(rung, base=base)
        if base is not None and rung.key in figures:
            step = step_between(base, rung.key, figures)
            steps += [step] if step else []
    return Climb(rungs=tuple(rungs), steps=tuple(steps), sums=tuple(_sums(steps, figures)))


def _measured(rung: Rung, figures: Mapping[RungKey, Figures]) -> Rung:
    values = list(figures.get(rung.key, {}).values())
    if not values:
        return rung
    return replace(
        rung,
        value_ms=float(np.median(values)),
        interval=level_of_processes(values, confidence=CONFIDENCE),
        processes=len(values),
        why=None,
    )


def step_between(
    base: RungKey, to: RungKey, figures: Mapping[RungKey, Figures]
) -> LadderStep | None:
    """Return the difference of two rungs over the rounds that have both; ``None`` without any.

    By signed ranks from six rounds up; of fewer by Student's t.
    """
    first, second = figures[base], figures[to]
    rounds = [number for number in second if number in first]
    if not rounds:
        return None
    differences = np.array([second[number] - first[number] for number in rounds])
    shift = paired_shift(differences, confidence=CONFIDENCE)
    if shift.low is None and len(rounds) > 1:
        shift = student_paired_shift(differences, confidence=CONFIDENCE)
    interval = None
    if shift.low is not None and shift.high is not None:
        low, high = min(shift.low, shift.value), max(shift.high, shift.value)
        interval = Interval(low=low, high=high, confidence=CONFIDENCE)
    return LadderStep(base=base, to=to, value_ms=shift.value, interval=interval, rounds=len(rounds))


def _sums(steps: Sequence[LadderStep], figures: Mapping[RungKey, Figures]) -> Iterator[LadderSum]:
    """Yield a sum for each rung that no other step starts from."""
    by_end = {step.to: step for step in steps}
    starts = {step.base for step in steps}
    for step in steps:
        if step.to in starts:
            continue
        way = [step]
        while way[0].base in by_end:
            way.insert(0, by_end[way[0].base])
        whole = step_between(way[0].base, step.to, figures)
        if len(way) > 1 and whole is not None:
            yield _sum(way, whole)


def _sum(way: Sequence[LadderStep], whole: LadderStep) -> LadderSum:
    steps_ms = sum(step.value_ms for step in way)
    intervals = [step.interval for step in (*way, whole)]
    is_consistent = None
    if all(intervals):
        *halves, reach = ((ends.high - ends.low) / 2 for ends in intervals if ends)
        is_consistent = abs(steps_ms - whole.value_ms) <= math.hypot(*halves) + reach
    return LadderSum(steps_ms=steps_ms, whole=whole, is_consistent=is_consistent)

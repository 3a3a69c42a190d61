"""Figures of a ladder: of one process, of its rungs and steps, and of a user, placed on it."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from enginescope.analysis.claims.layer_claims import layer_times
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.core.units import parse_duration_ms
from enginescope.judge.comparison import hodges_lehmann
from enginescope.judge.samples import Interval
from enginescope.records.run.run import Run
from enginescope.records.verdict.ladder import (
    LadderReport,
    LadderStep,
    LadderSum,
    Placement,
    Rung,
    RungKey,
)

#: Reads a figure in ms; ``None``: the run has none.
Reader = Callable[[Run], float | None]
#: Figures of one rung in ms, by round.
Figures = Mapping[int, float]
CONFIDENCE = 0.95


def median_of(metric: str) -> Reader:
    """Return a reader of the median of a metric."""

    def read(run: Run) -> float | None:
        samples = run.series(metric)
        return float(np.median(samples.values_ms)) if samples is not None and len(samples) else None

    return read


def graph_compute(run: Run) -> float | None:
    """Return the median GPU compute time of a run that launched a CUDA graph."""
    return median_of("gpu_compute")(run) if run.job.workload.mode.cuda_graph else None


def layer_sum(run: Run) -> float | None:
    """Return the sum of the layers' times: their own times where they were gated.

    ``None`` for times of a host that enqueues layers of a GPU.
    """
    if run.profile is None or run.profile.mode == "host":
        return None
    return layer_times(run.profile).sum_ms


def period(run: Run) -> float | None:
    """Return the time per query where several are in flight."""
    headline = run.headline
    if not run.wall_ms or headline is None or not len(headline):
        return None
    return run.wall_ms / len(headline)


def climb(
    rungs: Sequence[Rung], figures: Mapping[RungKey, Figures], *, model: str = "", backend: str = ""
) -> LadderReport:
    """Return the rungs with their levels, all steps and what these add up to.

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
    sums = tuple(_sums(steps, figures))
    return LadderReport(
        model=model, backend=backend, rungs=tuple(rungs), steps=tuple(steps), sums=sums
    )


def _measured(rung: Rung, figures: Mapping[RungKey, Figures]) -> Rung:
    values = list(figures.get(rung.key, {}).values())
    if not values:
        return rung
    return replace(
        rung,
        value_ms=float(np.median(values)),
        interval=hodges_lehmann.level_of_processes(values, confidence=CONFIDENCE),
        processes=len(values),
        why=None,
    )


def step_between(
    base: RungKey, to: RungKey, figures: Mapping[RungKey, Figures]
) -> LadderStep | None:
    """Return the difference of two rungs over the rounds that have both; ``None`` without any."""
    first, second = figures[base], figures[to]
    differences = [value - first[number] for number, value in second.items() if number in first]
    if not differences:
        return None
    value_ms = hodges_lehmann.paired_shift(differences, confidence=CONFIDENCE).value
    interval = shift_interval(differences, value_ms)
    rounds = len(differences)
    return LadderStep(base=base, to=to, value_ms=value_ms, interval=interval, rounds=rounds)


def shift_interval(values: Sequence[float], middle: float) -> Interval | None:
    """Return the 95 % interval of differences, one a process; ``None`` of fewer than two.

    By signed ranks where there are enough values, else by Student's t. It holds `middle`.
    """
    if len(values) < 2:
        return None
    shift = hodges_lehmann.paired_shift(values, confidence=CONFIDENCE)
    if shift.low is None or shift.high is None:
        shift = hodges_lehmann.student_paired_shift(values, confidence=CONFIDENCE)
    low, high = (middle if end is None else end for end in (shift.low, shift.high))
    return Interval(low=min(low, middle), high=max(high, middle), confidence=CONFIDENCE)


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


def read_figure(text: str) -> tuple[float, float]:
    """Return a duration in ms, and half a step of its last digit: 1.9 ms ± 0.05 ms.

    Raises:
        UsageError: No duration, or not above 0.
    """
    value_ms = parse_duration_ms(text)
    if value_ms <= 0:
        raise UsageError(f"`mine` {text}", why="a latency is above 0", hint="`mine` 1.9ms")
    stripped = text.strip()
    match = re.match(r"[0-9]*\.?([0-9]*)(?:[eE]([-+]?[0-9]+))?", stripped)
    assert match is not None
    unit = stripped[match.end() :].strip()
    decimals = len(match[1]) if "." in match[0] else 0
    step = parse_duration_ms(f"1{unit}") * 10.0 ** (int(match[2] or 0) - decimals)
    return value_ms, min(step / 2, value_ms / 2)


def placed(text: str, rungs: Sequence[Rung]) -> Placement | None:
    """Return where a figure is on the ladder; ``None`` if no rung was measured.

    The figure fits a rung whose interval overlaps what its digits stand for.

    Raises:
        UsageError: As `read_figure`.
    """
    value_ms, half_ms = read_figure(text)
    low_ms, high_ms = value_ms - half_ms, value_ms + half_ms
    known = [(rung.value_ms, rung) for rung in rungs if rung.value_ms]
    if not known:
        return None
    nearest = min(known, key=lambda pair: abs(math.log(value_ms / pair[0])))[1]
    alike = []
    for level_ms, rung in known:
        ends = rung.interval or Interval(low=level_ms, high=level_ms)
        if ends.low <= high_ms and ends.high >= low_ms:
            alike.append(rung.key)
    less = [pair for pair in known if pair[0] < low_ms and pair[1].key not in alike]
    more = [pair for pair in known if pair[0] > high_ms and pair[1].key not in alike]
    return Placement(
        text=text,
        value_ms=value_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        nearest=nearest.key,
        alike=tuple(alike),
        below=max(less, key=lambda pair: pair[0])[1].key if less else None,
        above=min(more, key=lambda pair: pair[0])[1].key if more else None,
    )

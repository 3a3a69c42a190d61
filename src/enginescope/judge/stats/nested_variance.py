"""Variance components of builds, processes and iterations, and the best number of each.

A random effect at each level (Kalibera and Tůma 2006, *Precise regression benchmarking with random
effects*): a process's median is that of its build, moved by the process and by its iterations. Mean
squares of a balanced design give unbiased components; they are differences, so that an estimate may
lie below 0.

Intervals are generalized ones (Weerahandi 1993, *Generalized confidence intervals*): each mean
square over its own chi-squared, drawn many times. The interval between builds leaves out 0 exactly
where the F test of the mean squares rejects that builds are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array
from enginescope.judge.stats.autocorrelation import BATCHES, integrated_time, student_quantile
from enginescope.judge.stats.series import as_series

#: What repeats, the outermost first.
Level = Literal["build", "process", "iteration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponent:
    """Variation of one level, in logarithms of the latency.

    The variances of the three levels add up to that of one process's median. The iteration's is
    what so many iterations leave uncertain of it.

    Attributes:
        variance: Unbiased; below 0 where the levels below explain more than all that is seen.
        sd_pct: Standard deviation, in percent; 0 where `variance` is not above 0.
        low_pct, high_pct: 95 % interval of the standard deviation; 0 where it reaches down to none.
        share_pct: Of the variance of one process's median; ``None`` where nothing varies.
    """

    level: Level
    variance: float
    sd_pct: float
    low_pct: float
    high_pct: float
    share_pct: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCosts:
    """Time that each level costs by itself, in seconds.

    Attributes:
        process_s: Start, load and warm-up of a process, without the timed iterations.
    """

    build_s: float
    process_s: float
    iteration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """How often to repeat each level.

    Attributes:
        processes: Of each build.
        iterations: Of each process.
        half_width_pct: Half the width of the 95 % interval of the mean latency that this gives;
            ``None``: of a single build, where builds differ.
    """

    builds: int
    processes: int
    iterations: int
    duration_s: float
    half_width_pct: float | None = None


#: Draws of each chi-squared; an end of an interval is uncertain by some 1 % of itself.
_DRAWS = 40_000
_CONFIDENCE = 0.95
#: Times the autocorrelation time, divided by the number of iterations: by so much the scatter of
#: batches is too small, since neighboring batches depend on each other.
_SHARED = 3.0


class ProcessFigure(NamedTuple):
    """What a process contributes.

    Attributes:
        level: Logarithm of its median.
        error: Variance of `level` that its iterations alone cause.
        iterations: Number of them.
    """

    level: float
    error: float
    iterations: int


def process_figure(values: Any) -> ProcessFigure:
    """Return the median of a process, and what its iterations leave uncertain.

    The series is cut into twelve batches of consecutive iterations, as for `quantile_interval`. How
    their medians scatter holds the dependence of neighbors; what a batch shares with the next one
    is put back by the autocorrelation time.

    Args:
        values: Times in the order they were taken, above 0; at least 24.
    """
    series = as_series(values, name="iterations of a process", at_least=2 * BATCHES)
    if (series <= 0).any():
        raise UsageError("iterations of a process", why="one is not above 0")
    logs = np.log(series)
    medians = [float(np.median(batch)) for batch in np.array_split(logs, BATCHES)]
    level = float(np.median(logs))
    time = integrated_time(logs <= level)
    error = float(np.var(medians, ddof=1)) / BATCHES * (1 + _SHARED * time / logs.size) ** 2
    return ProcessFigure(level=level, error=error, iterations=series.size)


class _Squares(NamedTuple):
    mean: float
    freedom: int

    def draws(self, draw: np.random.Generator) -> Array:
        """Return values that the expected mean square may have."""
        return self.mean * self.freedom / draw.chisquare(self.freedom, _DRAWS)


def variance_components(
    builds: Sequence[Sequence[ProcessFigure]],
) -> tuple[VarianceComponent, VarianceComponent, VarianceComponent]:
    """Return the components of build, process and iteration.

    They add up to the variance of a process's median; the iteration's is what its iterations leave
    uncertain of it.

    Args:
        builds: The processes of each; two builds or more of as many processes each, two or more.
    """
    processes = len(builds[0]) if builds else 0
    if len(builds) < 2 or processes < 2 or any(len(build) != processes for build in builds):
        raise UsageError(
            f"{len(builds)} builds of {', '.join(sorted({str(len(build)) for build in builds}))} "
            "processes",
            why="components need two or more builds, each in the same number of processes, 2 or "
            "more",
        )
    levels = np.array([[process.level for process in build] for build in builds])
    flat = [process for build in builds for process in build]
    error = float(np.mean([process.error for process in flat]))
    within = _Squares(error, (BATCHES - 1) * len(flat))
    between_processes = _Squares(
        float(np.mean(np.var(levels, axis=1, ddof=1))), len(builds) * (processes - 1)
    )
    variance = processes * float(np.var(levels.mean(axis=1), ddof=1))
    between_builds = _Squares(variance, len(builds) - 1)
    draw = np.random.default_rng(0)
    top, middle, low = (
        squares.draws(draw) for squares in (between_builds, between_processes, within)
    )
    estimates = (
        ("build", (between_builds.mean - between_processes.mean) / processes),
        ("process", between_processes.mean - within.mean),
        ("iteration", within.mean),
    )
    drawn = ((top - middle) / processes, middle - low, low)
    parts = [max(variance, 0.0) for _, variance in estimates]
    whole = sum(parts)
    shares = [100 * part / whole if whole > 0 else None for part in parts]
    build, process, iteration = (
        _component(level, variance, draws, share)  # type: ignore[arg-type]
        for (level, variance), draws, share in zip(estimates, drawn, shares, strict=True)
    )
    return build, process, iteration


def _component(
    level: Level, variance: float, draws: Array, share: float | None
) -> VarianceComponent:
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(draws, (tail, 1 - tail))
    return VarianceComponent(
        level=level,
        variance=variance,
        sd_pct=_sd_pct(variance),
        low_pct=_sd_pct(float(low)),
        high_pct=_sd_pct(float(high)),
        share_pct=share,
    )


def _sd_pct(variance: float) -> float:
    """Return a standard deviation in percent; of a variance below 0 there is none."""
    return 100 * math.expm1(math.sqrt(max(variance, 0.0)))


def best_allocation(
    components: Sequence[VarianceComponent], iterations: int, costs: LevelCosts, time_s: float
) -> Allocation:
    """Return how many builds, processes and iterations make the mean most exact in a given time.

    Kalibera and Jones 2013, *Rigorous benchmarking in reasonable time*: a level is repeated as
    often as the root of what the level above costs more, times what it varies more. A level without
    variance of its own is not repeated; without a variance of builds, there is one build.

    Args:
        components: Of build, process and iteration.
        iterations: In each process that the components come from.
        time_s: For everything; at least one iteration is run, whatever it costs.
    """
    build, process, median = (max(one.variance, 0.0) for one in components)
    iteration = median * iterations  # of a single one
    outer_s, outer = (costs.process_s, process) if process else (_above(costs), build)
    count = _repeats(outer_s / costs.iteration_s, iteration, outer)
    if count is None:  # nothing but iterations varies
        count = max(1, int((time_s - _above(costs)) / costs.iteration_s))
    process_s = costs.process_s + count * costs.iteration_s
    processes = _repeats(costs.build_s / costs.process_s, process, build)
    if processes is None:  # no build differs from another
        processes = max(1, int((time_s - costs.build_s) / process_s)) if process else 1
    build_s = costs.build_s + processes * process_s
    builds = max(1, int(time_s / build_s)) if build else 1
    units = builds if build else processes
    variance = (build + (process + iteration / count) / processes) / builds
    half = None
    if units > 1:
        quantile = student_quantile((1 + _CONFIDENCE) / 2, units - 1)
        half = 100 * math.expm1(quantile * math.sqrt(variance))
    return Allocation(
        builds=builds,
        processes=processes,
        iterations=count,
        duration_s=builds * build_s,
        half_width_pct=half,
    )


def _above(costs: LevelCosts) -> float:
    return costs.build_s + costs.process_s


def _repeats(cost: float, variance: float, above: float) -> int | None:
    """Return how often to repeat a level; ``None`` where the level above does not vary.

    Args:
        cost: Of the level above, in units of this level's.
    """
    return max(1, math.ceil(math.sqrt(cost * variance / above))) if above > 0 else None

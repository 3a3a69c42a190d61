"""Processes that change between shapes, with times that are known."""

from collections.abc import Sequence

import numpy as np

from enginescope.analysis.shapes.levels import (
    cliffs_of,
    first_costs,
    knee_of,
    levels_of,
    part_costs,
    propose,
    weighted,
)
from enginescope.records.run.job import InputShape, ShapePoint, Workload
from enginescope.records.run.run import ShapeOutcome, ShapeVisit
from enginescope.records.verdict.shapes import ShapesReport

SIZES = (1, 2, 4, 8, 16)
#: Throughput doubles up to 4, then grows by 5 % and 2 %.
TIMES_MS = (1.0, 1.0, 1.0, 1.9, 3.73)


def points(sizes: Sequence[int] = SIZES) -> tuple[ShapePoint, ...]:
    return tuple(
        ShapePoint(label=str(size), size=size, items=size, workload=Workload(batch=size))
        for size in sizes
    )


def outcomes(
    times_ms: Sequence[float] = TIMES_MS,
    *,
    processes: int = 8,
    noise: float = 0.01,
    new_ms: float = 0.5,
    again_ms: float = 0.1,
    switch_ms: float | None = None,
    why: Sequence[str | None] | None = None,
    seed: int = 0,
) -> list[ShapeOutcome]:
    """Return visits with a level of each process and shape, and costs of changes."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(processes):
        levels = np.array(times_ms) * np.exp(noise * draw.standard_normal(len(times_ms)))
        visits = []
        for number in range(2):
            for point, level in enumerate(levels):
                if why is not None and why[point] is not None:
                    continue
                parts = {} if switch_ms is None else {"profile": switch_ms}
                visits.append(
                    ShapeVisit(
                        point=point,
                        is_new=number == 0,
                        parts_ms=parts,
                        first_ms=level + ((again_ms if number else new_ms) - sum(parts.values())),
                        later_ms=(level, level, level),
                        same_ms=level,
                    )
                )
        made.append(
            ShapeOutcome(
                visits=tuple(visits),
                inputs=tuple((InputShape(name="x", dims=(size, 4)),) for size in SIZES),
                profiles=(None,) * len(times_ms),
                why=tuple(why or (None,) * len(times_ms)),
            )
        )
    return made


def report(times_ms: Sequence[float] = TIMES_MS, *, count: int = 1, **more: object) -> ShapesReport:
    runs = outcomes(times_ms, **more)
    medians = [run.later_medians for run in runs]
    levels = weighted(levels_of(points(), runs), None)
    return ShapesReport(
        model="net.onnx",
        backend="ort-cpu",
        file="net.onnx",
        dimension="batch",
        levels=levels,
        knee=knee_of(points(), medians, 10.0),
        cliffs=cliffs_of(points(), medians),
        costs=(*first_costs(runs), *part_costs(runs)),
        profiles=propose(levels, count),
        rounds=len(runs),
    )

"""``shapes``: which shapes to run and build for, and what does a change of shape cost?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.shapes.levels import (
    cliffs_of,
    first_costs,
    knee_of,
    levels_of,
    part_costs,
    propose,
    trace_weights,
    weighted,
)
from enginescope.backends.changing import Changing
from enginescope.backends.registry import load_backend
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.experiment import Ended
from enginescope.judge.notice import Notice
from enginescope.records.run.job import ShapeRule
from enginescope.records.verdict.shapes import ShapeLevel, ShapesReport
from enginescope.services.measurement.declared import python_function
from enginescope.services.measurement.jobs import LEAST_ROUNDS, jobs_of, raise_unless_ok
from enginescope.services.measurement.merged_notices import merged_notices
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import Pacing, keep_rounds, used_rounds
from enginescope.services.shapes.sweep import (
    ShapesRequest,
    check_shapes_request,
    read_shape_trace,
    spanning,
    sweep_points,
)
from enginescope.services.store_access import writable_store

if TYPE_CHECKING:
    from enginescope.records.run.job import Job
    from enginescope.records.run.run import Run
    from enginescope.store.archive import Store


def sweep_shapes(request: ShapesRequest, observer: MeasurementObserver) -> ShapesReport:
    """Measure a model with several shapes: latency, the knee, and what a change of shape costs.

    Answers which shapes to run and to build for. Every process measures every shape, in random
    order. A process that was disturbed twice does not count. `workload` gives other inputs, seed
    and mode; stop rule and warm-up are not used.

    Returns:
        ``report.knee.label``, ``report.levels`` and ``report.profiles``.

    Raises:
        UsageError: A dimension is fixed, or a request contradicts the model.
        StoreError: The store cannot be written.
        BackendError: Fewer than three processes succeeded.
    """
    check_shapes_request(request)
    trace = read_shape_trace(Path(request.trace)) if request.trace is not None else None
    store = writable_store(request.store)
    job = _job_of(request, store)
    pacing = Pacing(looks=(request.rounds,), seed=request.workload.seed)
    rounds, ended = keep_rounds((job,), pacing, request.jobs(request.path), store, observer)
    (runs,) = rounds.sides
    rows, disturbed = used_rounds([runs])
    used = [run for (run,) in rows]
    if len(used) < LEAST_ROUNDS and ended in (Ended.GIVEN_UP, Ended.LAST_LOOK):
        raise_unless_ok(next(run for run in reversed(runs) if not run.is_ok))
    if not used:
        raise_unless_ok(runs[-1])
    report = _report(job, used, request, trace)
    return replace(
        report,
        notices=(*rounds.notices(), *_lost(runs), *disturbed, *report.notices),
        **rounds.report_fields(len(used)),
    )


def _job_of(request: ShapesRequest, store: Store) -> Job:
    points = sweep_points(request.path, request.swept, request.workload)
    middle = points[len(points) // 2].workload
    backends = (request.on,) if request.on else ()
    base = request.jobs(request.path, backends=backends, data="none")
    (job,) = jobs_of(base, store)
    if not isinstance(load_backend(job.backend.name), Changing):
        raise UsageError(
            f"{job.backend.name} cannot change shapes",
            hint="--on trt, or --on ort-cpu for an ONNX model",
        )
    seed = request.workload.seed
    rule = ShapeRule(points=points, visits=request.visits, requests=request.requests, seed=seed)
    return replace(spanning(job, points), workload=middle, shapes=rule)


def _report(
    job: Job, runs: Sequence[Run], request: ShapesRequest, trace: Sequence[int] | None
) -> ShapesReport:
    assert job.shapes is not None
    points = job.shapes.points
    outcomes = [run.shapes for run in runs if run.shapes is not None]
    medians = [outcome.later_medians for outcome in outcomes]
    levels = levels_of(points, outcomes)
    costs = (*first_costs(outcomes), *part_costs(outcomes))
    weights, use = request.share_of or None, None
    if trace is not None:
        again = next((cost for cost in costs if cost.kind == "again"), None)
        weights, use = trace_weights(levels, trace, again)
    levels = weighted(levels, weights)
    return ShapesReport(
        model=job.subject.name,
        backend=request.on or str(job.backend.name),
        file=str(request.path),
        dimension=request.swept.name,
        levels=levels,
        knee=knee_of(points, medians, request.gain_pct),
        cliffs=cliffs_of(points, medians),
        costs=costs,
        profiles=propose(levels, request.profiles),
        weights="trace" if trace is not None else "uniform" if weights is None else "given",
        trace=use,
        notices=(*_left_out(levels), *_without_graph(runs), *merged_notices(runs)),
    )


def _left_out(levels: Sequence[ShapeLevel]) -> Iterator[Notice]:
    missing = [level for level in levels if level.latency_ms is None]
    if missing:
        named = "; ".join(f"{level.label}: {level.why or 'unknown'}" for level in missing)
        yield Notice(
            code="W-SHAPE-LEFT-OUT",
            message=f"{len(missing)} of {len(levels)} shapes are not measured: {named}",
            evidence={"shapes": [level.label for level in missing]},
        )


def _without_graph(runs: Sequence[Run]) -> Iterator[Notice]:
    """Yield a note, if a CUDA graph was not declined and cannot be captured."""
    reasons = [run.shapes.why_no_graph for run in runs if run.shapes is not None]
    reason = next(filter(None, reasons), None)
    if reason is not None:
        yield Notice(
            code="I-NO-CUDA-GRAPH",
            message=f"measured without a CUDA graph: {reason}",
            evidence={"asked": None},
            level="info",
        )


def _lost(runs: Sequence[Run]) -> Iterator[Notice]:
    failed = [run for run in runs if not run.is_ok]
    if failed:
        yield Notice(
            code="W-LOST-PROCESSES",
            message=f"{len(failed)} of {len(runs)} processes failed: {failed[-1].outcome.message}",
            evidence={"failed": len(failed), "processes": len(runs)},
        )


shapes = python_function("shapes", ShapesRequest, sweep_shapes)

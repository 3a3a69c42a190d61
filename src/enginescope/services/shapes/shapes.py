"""``shapes``: which shapes to run and build for, and what does a change of shape cost?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
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
from enginescope.backends.registry import backends_that, load_backend
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.experiment import Ended
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Limits, ShapeRule, Workload
from enginescope.records.verdict.shapes import ShapeLevel, ShapesReport
from enginescope.services.measurement.jobs import LEAST_ROUNDS, ROUNDS, jobs_of, raise_unless_ok
from enginescope.services.measurement.merged_notices import merged_notices
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import Pacing, keep_rounds, used_rounds
from enginescope.services.own_command import stored_fields
from enginescope.services.shapes.sweep import (
    BATCHES,
    GAIN_PCT,
    PROFILES,
    REQUESTS,
    VISITS,
    ShapesRequest,
    Sweep,
    check_shapes_request,
    parse_sweep,
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
    """Measure every shape in every process, in random order, and what changes between them cost.

    A process that was disturbed twice does not count. Of an unstable report, as `used_rounds` has
    it, no shape is recommended. Raise as `shapes` and `jobs_of`.
    """
    check_shapes_request(request)
    trace = read_shape_trace(request.trace) if request.trace is not None else None
    store = writable_store(request.store)
    job = _job_of(request, store)
    pacing = Pacing(looks=(request.rounds,), seed=request.workload.seed)
    rounds, ended = keep_rounds((job,), pacing, request.jobs(request.model), store, observer)
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
    points = sweep_points(request.model, request.sweep, request.workload)
    middle = points[len(points) // 2].workload
    backends = (request.backend,) if request.backend else ()
    base = request.jobs(request.model, backends=backends, data="none")
    (job,) = jobs_of(base, store)
    if not isinstance(load_backend(job.backend.name), Changing):
        hint = f"--on {' or '.join(backends_that(Changing))}"
        raise UsageError(f"{job.backend.name} cannot change shapes", hint=hint)
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
    weights, use = request.weights, None
    if trace is not None:
        again = next((cost for cost in costs if cost.kind == "again"), None)
        weights, use = trace_weights(levels, trace, again)
    levels = weighted(levels, weights)
    return ShapesReport(
        model=job.subject.name,
        backend=request.backend or str(job.backend.name),
        file=str(request.model),
        dimension=request.sweep.name,
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


def shapes(
    model: str | PathLike[str],
    *,
    batch: Sequence[int] | None = None,
    sweep: str | None = None,
    on: str | None = None,
    gain_pct: float = GAIN_PCT,
    weights: Mapping[str, float] | None = None,
    trace: str | PathLike[str] | None = None,
    profiles: int = PROFILES.usual,
    rounds: int = ROUNDS.usual,
    visits: int = VISITS.usual,
    requests: int = REQUESTS.usual,
    workload: Workload | None = None,
    limits: Limits | None = None,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> ShapesReport:
    """Measure a model with several shapes: latency, the knee, and what a change of shape costs.

    Answers which shapes to run and to build for.

    Args:
        model: An ONNX model with a dynamic dimension, or an engine.
        batch: Batch sizes; by default 1, 2, 4, 8, 16, 32.
        sweep: A named dimension with its sizes, ``"seq=16:128:16"``, or an input with whole shapes,
            ``"image=1x3x224x224,1x3x256x256"``, in place of `batch`.
        on: TensorRT or ONNX Runtime; by default as for `bench`.
        gain_pct: At the knee no larger shape has so much more throughput.
        weights: Share of the requests by shape, in any unit, as ``{"8": 3, "16": 1}``.
        trace: A file with the sizes of requests as they come, one a line, in place of `weights`.
        profiles: Optimization profiles to propose, at most.
        rounds: Fresh processes, 3 to 1,000.
        visits: How often each process changes to each shape.
        requests: Requests after each change, the first one included.
        workload: Other inputs, seed and mode; stop rule and warm-up are not used.
        limits: Of each process.
        tags: Names for the runs in the store.
        store: Where the runs are stored.

    Returns:
        ``report.knee.label``, ``report.levels`` and ``report.profiles``.

    Raises:
        UsageError: A dimension is fixed, or a request contradicts the model.
        BackendError: Fewer than three processes went well.
    """
    if batch is not None and sweep is not None:
        raise UsageError("`batch` and `sweep`", why="one dimension changes at a time")
    sizes = tuple(sorted(set(batch))) if batch is not None else BATCHES
    request = ShapesRequest(
        model=Path(model),
        sweep=parse_sweep(sweep) if sweep is not None else Sweep(name="batch", sizes=sizes),
        backend=on,
        gain_pct=gain_pct,
        weights={str(label): weight for label, weight in weights.items()} if weights else None,
        trace=Path(trace) if trace is not None else None,
        profiles=profiles,
        rounds=rounds,
        visits=visits,
        requests=requests,
        workload=workload or Workload(),
        process_limits=limits,
        **stored_fields(tags, store),
    )
    return sweep_shapes(request, MeasurementObserver())

"""``shapes``: which shapes to run and build for, and what does a change of shape cost?"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from enginescope.analysis.shapes import levels as shape_levels
from enginescope.backends.profile_bounds import dims_text
from enginescope.backends.registry import backends_that, load_backend
from enginescope.backends.varying_shapes import Changing
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.formats.arrival_trace import read_trace
from enginescope.formats.onnx.onnx_inputs import OnnxInputs
from enginescope.judge.comparison.looks import MOST_ROUNDS
from enginescope.judge.experiment import Ended
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.run.job import DimSize, InputShape, Job, ShapePoint, ShapeRule, Workload
from enginescope.records.run.run import Run, ShapeOutcome
from enginescope.records.verdict.shapes import ShapeLevel, ShapesReport
from enginescope.runner.model_inputs import inputs_of, settled_workload, sized
from enginescope.services.declared import File, Param, existing, python_function
from enginescope.services.measurement import jobs
from enginescope.services.measurement.observer import MeasurementObserver, merged_notices
from enginescope.services.measurement.rounds import Pacing, keep_rounds, used_rounds
from enginescope.services.store_access import writable_store
from enginescope.store.archive import Store

BATCHES = (1, 2, 4, 8, 16, 32)
MOST_SHAPES = 64
_SIZE = re.compile(r"[1-9]\d{0,9}")
_SPAN = re.compile(r"(\d{1,10}):(\d{1,10})(?::(\d{1,10}))?")
_DIMS = re.compile(r"\d+(x\d+)+")
_BOUNDS = ("min_shapes", "opt_shapes", "max_shapes")


class Sweep(Record, frozen=True, kw_only=True):
    """What changes from shape to shape: ``batch``, a named dimension, or an input.

    One has `sizes` in ascending order, or whole `shapes` of the input.
    """

    name: str
    sizes: tuple[int, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        shapes = self.shapes or [(size,) for size in self.sizes]
        return tuple("x".join(map(str, dims)) for dims in shapes)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return ``1,2,4``, ``1:8`` or ``16:64:16`` as sizes in ascending order, each once."""
    sizes: set[int] = set()
    for part in text.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is not None:
            first, last, step = int(span[1]), int(span[2]), int(span[3] or 1)
            if not 0 < first <= last or not step or (last - first) // step >= MOST_SHAPES:
                why = f"they are not 1 to {MOST_SHAPES} sizes above 0"
                raise UsageError(f"sizes {part}", why=why)
            sizes |= {*range(first, last + 1, step)}
        elif _SIZE.fullmatch(part.strip()):
            sizes.add(int(part))
        else:
            raise UsageError(f"{text!r} is not a list of sizes", hint="1,2,4,8 or FROM:TO:STEP")
    return tuple(sorted(sizes))


def parse_sweep(text: str) -> Sweep:
    """Return ``seq=16,32``, ``seq=16:64:16`` or ``image=1x3x224x224,1x3x256x256``."""
    name, equals, values = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"{text!r} is not NAME=SIZES", hint="as in seq=16,32,64")
    parts = [part.strip() for part in values.split(",")]
    if all(map(_DIMS.fullmatch, parts)):
        shapes = {tuple(map(int, part.split("x"))) for part in parts}
        ordered = sorted(shapes, key=lambda dims: (math.prod(dims), dims))
        return Sweep(name=name, shapes=tuple(ordered))
    return Sweep(name=name, sizes=parse_sizes(values))


def parse_weight(text: str) -> tuple[str, float]:
    """Return ``8=0.5`` as a label and its weight."""
    label, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = -1.0
    if not label or not 0 <= weight < float("inf"):
        raise UsageError(f"{text!r} is not SHAPE=WEIGHT", hint="as in 8=0.5")
    return label, weight


class ShapesRequest(jobs.ModelRequest, frozen=True, kw_only=True):
    """A model and its shapes: the parameters of `shapes`."""

    batch: Annotated[
        Sequence[int] | None,
        Param(
            "Batch sizes: a list, or FROM:TO:STEP.",
            usual=",".join(map(str, BATCHES)),
            metavar="SIZES",
            read=parse_sizes,
        ),
    ] = None
    sweep: Annotated[
        str | None,
        Param(
            "Sizes of a named dimension, or whole shapes of an input, instead of batch sizes.",
            metavar="NAME=SIZES",
        ),
    ] = None
    on: jobs.On = None
    gain_pct: Annotated[
        float,
        Param(
            "Gain in throughput, in percent, that no shape above the knee reaches.",
            above=0,
            most=100,
            metavar="PERCENT",
        ),
    ] = 10.0
    weights: Annotated[
        Mapping[str, float] | None,
        Param(
            "Share of the requests that have a shape, in any unit.",
            flag="--weight",
            metavar="SHAPE=WEIGHT",
            read=parse_weight,
        ),
    ] = None
    trace: Annotated[
        File | None,
        existing(
            "Read the sizes of requests in their order, one per line.", heading="Model and inputs"
        ),
    ] = None
    profiles: Annotated[
        int, Param("Number of optimization profiles to propose.", least=1, most=16)
    ] = 1
    rounds: jobs.Rounds = jobs.ROUNDS
    visits: Annotated[
        int, Param("Number of changes to each shape per process.", least=2, most=MOST_ROUNDS)
    ] = 3
    requests: Annotated[
        int,
        Param(
            "Requests after each change; fewer where they take longer than 250 ms.",
            least=4,
            most=MOST_ROUNDS,
        ),
    ] = 20

    @property
    def swept(self) -> Sweep:
        """The sweep; raises `UsageError` if two dimensions change, or for no ``NAME=SIZES``."""
        if self.sweep is None:
            sizes = BATCHES if self.batch is None else tuple(sorted(set(self.batch)))
            return Sweep(name="batch", sizes=sizes)
        if self.batch is not None:
            raise UsageError("`batch` and `sweep`", why="one dimension changes at a time")
        return parse_sweep(self.sweep)

    @property
    def share_of(self) -> dict[str, float]:
        """The weight of each label; empty: unknown."""
        return {str(label): weight for label, weight in (self.weights or {}).items()}


def check_shapes_request(request: ShapesRequest) -> None:
    """Raise `UsageError` where a request cannot be, before anything is run."""
    sweep, weights = request.swept, request.share_of
    if not 2 <= len(sweep.labels) <= MOST_SHAPES:
        why = f"a sweep has 2 to {MOST_SHAPES}"
        raise UsageError(f"{counted(len(sweep.labels), 'shape')} of {sweep.name}", why=why)
    if request.trace is not None and sweep.shapes:
        why = "its lines are sizes, and the sweep has whole shapes"
        raise UsageError("`trace`", why=why, hint="`weight`")
    if not weights:
        return
    if request.trace is not None:
        raise UsageError("`weight` and `trace`", why="each alone gives the weights")
    unknown = next((label for label in weights if label not in sweep.labels), None)
    if unknown is not None:
        why = f"the sweep has {', '.join(sweep.labels)}"
        raise UsageError(f"weight of shape {unknown}", why=why)
    if not any(weight > 0 for weight in weights.values()):
        raise UsageError("weights", why="none is above 0")


def sweep_points(model: Path, sweep: Sweep, workload: Workload) -> tuple[ShapePoint, ...]:
    """Return the shapes of a sweep in ascending order of size."""
    inputs = inputs_of(model)
    if inputs is not None:
        _check_dynamic(model, inputs, sweep)
    sizes = sweep.sizes or tuple(math.prod(dims) for dims in sweep.shapes)
    points = []
    for at, (label, size) in enumerate(zip(sweep.labels, sizes, strict=True)):
        asked, items = _workload_of(sweep, at, workload)
        settled = replace(settled_workload([model], asked), data_set=None)
        points.append(ShapePoint(label=label, size=size, items=items, workload=settled))
    return tuple(points)


def _workload_of(sweep: Sweep, at: int, workload: Workload) -> tuple[Workload, int]:
    if sweep.shapes:
        dims = sweep.shapes[at]
        shape = InputShape(name=sweep.name, dims=dims)
        return replace(workload, shapes=(*workload.shapes, shape)), dims[0]
    size = sweep.sizes[at]
    if sweep.name == "batch" and not any(one.name == "batch" for one in workload.dims):
        return replace(workload, batch=size), size
    dim = DimSize(name=sweep.name, size=size)
    return replace(workload, dims=(*workload.dims, dim)), size * (workload.batch or 1)


def _check_dynamic(model: Path, inputs: OnnxInputs, sweep: Sweep) -> None:
    if sweep.shapes:
        dims = inputs.dims.get(sweep.name, (None,))
        fixed = tuple(dim for dim in dims if isinstance(dim, int))
        if len(fixed) == len(dims):
            why = f"{model.name} fixes it to {dims_text(fixed)}"
            hint = "export the model with dynamic dimensions"
            raise UsageError(f"shapes of {sweep.name}", why=why, hint=hint)
    elif sweep.name == "batch":
        for name, dims in inputs.dims.items():
            if dims and isinstance(dims[0], int):
                why = f"input {name} has a fixed first dimension of {dims[0]}"
                hint = "export the model with a dynamic batch, or sweep another dimension"
                raise UsageError(f"batch sizes of {model.name}", why=why, hint=hint)


def spanning(job: Job, points: Sequence[ShapePoint]) -> Job:
    """Return a job whose engine is built for all points, unless its options name shapes.

    The optimum is the middle point, as no weights of the shapes are known before they are measured.
    """
    options = job.backend.options
    is_built = job.backend.name in ("trt", "trt-rtx") and job.subject.kind == "onnx"
    inputs = inputs_of(Path(job.subject.path or "")) if is_built else None
    if inputs is None or any(key in options for key in _BOUNDS):
        return job
    shapes = [_shapes_of(inputs, point.workload) for point in points]
    spans = {
        "min_shapes": {name: _ends(min, shapes, name) for name in shapes[0]},
        "opt_shapes": shapes[len(shapes) // 2],
        "max_shapes": {name: _ends(max, shapes, name) for name in shapes[0]},
    }
    texts = {
        key: ",".join(f"{name}:{dims_text(dims)}" for name, dims in span.items())
        for key, span in spans.items()
        if span
    }
    return replace(job, backend=replace(job.backend, options={**options, **texts}))


def _shapes_of(inputs: OnnxInputs, workload: Workload) -> dict[str, tuple[int, ...]]:
    given = {one.name: one.dims for one in workload.shapes}
    return {
        name: given.get(name) or sized(dims, {}, workload.batch)[0]
        for name, dims in inputs.dims.items()
        if not all(isinstance(dim, int) for dim in dims)
    }


def _ends(
    end: Callable[..., int], shapes: Sequence[dict[str, tuple[int, ...]]], name: str
) -> tuple[int, ...]:
    return tuple(map(end, *(one[name] for one in shapes)))


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
    trace = None
    if request.trace is not None:

        def size(text: str) -> int | None:
            return int(text) if _SIZE.fullmatch(text) else None

        path = Path(request.trace)
        trace = tuple(read_trace(path, size, noun="size", expected="a size above 0"))
    store = writable_store(request.store)
    job = _job_of(request, store)
    pacing = Pacing(looks=(request.rounds,), seed=request.workload.seed)
    rounds, ended = keep_rounds((job,), pacing, request.jobs(request.path), store, observer)
    (runs,) = rounds.sides
    rows, disturbed = used_rounds([runs])
    used = [run for (run,) in rows]
    if len(used) < jobs.LEAST_ROUNDS and ended in (Ended.GIVEN_UP, Ended.LAST_LOOK):
        jobs.raise_unless_ok(next(run for run in reversed(runs) if not run.is_ok))
    if not used:
        jobs.raise_unless_ok(runs[-1])
    report = _report(job, used, request, trace)
    notices = (*rounds.notices(), *_lost(runs), *disturbed, *report.notices)
    return replace(report, notices=notices, **rounds.report_fields(len(used)))


def _job_of(request: ShapesRequest, store: Store) -> Job:
    points = sweep_points(request.path, request.swept, request.workload)
    middle = points[len(points) // 2].workload
    (job,) = jobs.jobs_of(request.jobs(request.path, on=request.on, data="none"), store)
    if not isinstance(load_backend(job.backend.name), Changing):
        hint = f"`on` {' or '.join(backends_that(Changing))}"
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
    levels = shape_levels.levels_of(points, outcomes)
    costs = (*shape_levels.first_costs(outcomes), *shape_levels.part_costs(outcomes))
    weights, use = request.share_of or None, None
    if trace is not None:
        again = next((cost for cost in costs if cost.kind == "again"), None)
        weights, use = shape_levels.trace_weights(levels, trace, again)
    levels = shape_levels.weighted(levels, weights)
    return ShapesReport(
        model=job.subject.name,
        backend=request.on or str(job.backend.name),
        file=str(request.path),
        dimension=request.swept.name,
        levels=levels,
        knee=shape_levels.knee_of(points, medians, request.gain_pct),
        cliffs=shape_levels.cliffs_of(points, medians),
        costs=costs,
        profiles=shape_levels.propose(levels, request.profiles),
        weights="trace" if trace is not None else "uniform" if weights is None else "given",
        trace=use,
        notices=(*_not_measured(levels, outcomes), *merged_notices(runs)),
    )


def _not_measured(
    levels: Sequence[ShapeLevel], outcomes: Sequence[ShapeOutcome]
) -> Iterator[Notice]:
    missing = [level for level in levels if level.latency_ms is None]
    if missing:
        named = "; ".join(f"{level.label}: {level.why or 'unknown'}" for level in missing)
        message = f"{len(missing)} of {len(levels)} shapes are not measured: {named}"
        evidence = {"shapes": [level.label for level in missing]}
        yield Notice(code="W-SHAPE-LEFT-OUT", message=message, evidence=evidence)
    reason = next(filter(None, (outcome.why_no_graph for outcome in outcomes)), None)
    if reason is not None:
        message = f"measured without a CUDA graph: {reason}"
        yield Notice(code="I-NO-CUDA-GRAPH", message=message, evidence={"asked": None})


def _lost(runs: Sequence[Run]) -> Iterator[Notice]:
    failed = [run for run in runs if not run.is_ok]
    if failed:
        message = f"{len(failed)} of {len(runs)} processes failed: {failed[-1].outcome.message}"
        evidence = {"failed": len(failed), "processes": len(runs)}
        yield Notice(code="W-LOST-PROCESSES", message=message, evidence=evidence)


shapes = python_function("shapes", ShapesRequest, sweep_shapes)

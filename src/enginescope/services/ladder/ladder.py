"""``ladder``: why is my number not trtexec's?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from enginescope.analysis.ladder.rungs import (
    Reader,
    climb,
    graph_compute,
    layer_sum,
    median_of,
    period,
    placed,
    read_figure,
)
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.backends.registry import CPU_BACKEND, ENGINE_BACKEND, load_backend, read_spec
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.formats.onnxruntime.ort_profile import ASYNCHRONOUS
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec, Job, Mode
from enginescope.records.run.run import Run
from enginescope.records.verdict.ladder import LadderReport, LadderSum, Rung, RungKey
from enginescope.runner.jobs import subject_of, usual_backend
from enginescope.services.declared import Param, python_function
from enginescope.services.measurement import jobs
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.observer import MeasurementObserver, merged_notices
from enginescope.services.measurement.rounds import Pacing, is_given_up, keep_rounds, used_rounds
from enginescope.services.store_access import writable_store

#: Fewer sides have no steps between them.
_LEAST_SIDES = 2
#: Notices of a run that say why a rung has no figure.
_WHY = {RungKey.GRAPH: ("W-NO-CUDA-GRAPH",), RungKey.LAYERS: ("W-NO-LAYERS", "W-HOST-NODE-TIMES")}


class LadderRequest(jobs.ModelRequest, frozen=True, kw_only=True):
    """A model, and how to climb: the parameters of `ladder`."""

    on: jobs.On = None
    mine: Annotated[
        str | float | None,
        Param(
            "Place this latency on the ladder: 1.9ms, whose digits say how precise it is.",
            metavar="TIME",
        ),
    ] = None
    rounds: jobs.Rounds = jobs.ROUNDS
    streams: Annotated[
        int, Param("Number of parallel streams or requests at the last rung.", least=3, most=64)
    ] = 4


def climb_ladder(request: LadderRequest, observer: MeasurementObserver) -> LadderReport:
    """Measure a query in all ways, from its layers to a client's call, and the steps between them.

    Answers why one tool's number is not another's. Fresh processes of all ways are interleaved in
    rounds. Where a way fails, the others begin again without it.

    Returns:
        ``report.rungs``, ``report.steps`` and ``report.mine.nearest``.

    Raises:
        UsageError: The backend has no ladder, or a request contradicts the model.
        StoreError: The store cannot be written.
        BackendError: No way to measure succeeded.
    """
    mine = f"{request.mine!r}ms" if isinstance(request.mine, int | float) else request.mine
    if mine is not None:
        read_figure(mine)
    request = replace(request, workload=paced_workload(request.workload))
    store = writable_store(request.store)
    subject = subject_of(request.path)
    backend = request.on or usual_backend(request.path)
    ladder = ladder_for(read_spec(backend), request.streams, is_engine=subject.kind == "engine")
    job_request = request.jobs(request.path)
    left = [
        (way, way.job_of(job))
        for way in ladder.ways
        for job in jobs.jobs_of(replace(job_request, on=way.backend or backend), store)
    ]
    pacing = Pacing(looks=(request.rounds,), profiles_each=True, seed=request.workload.seed)
    why: dict[RungKey, str] = {}
    while True:
        side_jobs = tuple(job for _, job in left)
        measured, _ = keep_rounds(side_jobs, pacing, job_request, store, observer)
        sides = [(way, runs) for (way, _), runs in zip(left, measured.sides, strict=True)]
        why |= _reasons(sides)
        left = [
            side for side, runs in zip(left, measured.sides, strict=True) if not is_given_up(runs)
        ]
        if len(left) == len(sides) or len(left) < _LEAST_SIDES:
            break
    sides = [(way, runs) for way, runs in sides if any(run.is_ok for run in runs)]
    if not sides:
        jobs.raise_unless_ok(measured.sides[0][-1])
    rounds, disturbed = used_rounds([runs for _, runs in sides])
    rungs = [replace(rung, why=rung.why or why.get(rung.key)) for rung in ladder.rungs]
    figures = _figures([way for way, _ in sides], rounds)
    report = climb(rungs, figures, model=subject.name, backend=backend)
    good = [run for _, runs in sides for run in runs if run.is_ok]
    fields = measured.report_fields(len(rounds))
    return replace(
        report,
        mine=placed(mine, report.rungs) if mine else None,
        notices=(*measured.notices(), *disturbed, *_gaps(report.sums), *merged_notices(good)),
        **{**fields, "evidence": evidence_level(*(runs for _, runs in sides))},
    )


def _figures(
    ways: Sequence[Way], rounds: Sequence[tuple[Run, ...]]
) -> dict[RungKey, dict[int, float]]:
    """Return the figures of each rung that has any, by place among the rounds."""
    by_rung: dict[RungKey, dict[int, float]] = {}
    for at, way in enumerate(ways):
        for key, read in way.readers.items():
            values = (read(row[at]) for row in rounds)
            figures = {number: value for number, value in enumerate(values) if value is not None}
            by_rung |= {key: figures} if figures else {}
    return by_rung


def _reasons(sides: Sequence[tuple[Way, Sequence[Run]]]) -> dict[RungKey, str]:
    """Return why a rung would have no figure: what its last process said."""
    why: dict[RungKey, str] = {}
    for way, runs in sides:
        last = runs[-1]
        failure = last.outcome.message or last.outcome.kind.value
        usual = "its processes have no such figure" if last.is_ok else failure
        for key in way.readers:
            codes = _WHY.get(key, ())
            reasons = (notice.message for notice in last.notices if notice.code in codes)
            why[key] = next(reasons, usual)
    return why


def _gaps(sums: Sequence[LadderSum]) -> Iterator[Notice]:
    for total in sums:
        whole = total.whole
        if total.is_consistent is False:
            yield Notice(
                code="W-LADDER-SUM",
                message=f"the steps from {whole.base.value} to {whole.to.value} add up to "
                f"{total.steps_ms:.4g} ms, and the whole is {whole.value_ms:.4g} ms: the "
                "intervals do not overlap",
                evidence={"steps_ms": total.steps_ms, "whole_ms": whole.value_ms},
            )


class Way(Record, frozen=True, kw_only=True):
    """One side of the rounds: how its processes issue requests, and what is read from them.

    `readers`: Rung -> its figure of a run. `profiles`: time the layers too, in a pass of its own.
    """

    mode: Mode
    readers: Mapping[RungKey, Reader]
    profiles: bool = False
    backend: str | None = None

    def job_of(self, job: Job) -> Job:
        """Return the job of this side."""
        workload = replace(job.workload, mode=self.mode)
        return replace(job, workload=workload, layer_profile=self.profiles)


class Ladder(Record, frozen=True, kw_only=True):
    """Rungs in their order, those that cannot be had with the reason; and the ways to measure."""

    rungs: tuple[Rung, ...]
    ways: tuple[Way, ...]


def ladder_for(spec: BackendSpec, streams: int, *, is_engine: bool) -> Ladder:
    """Return the ladder of a backend; raise `UsageError` if it has none."""
    if spec.name in ("trt", "trt-rtx"):
        return _of_tensorrt(spec, streams, is_engine=is_engine)
    provider = getattr(load_backend(spec.name), "provider", None)
    if provider is None:
        hint = f"`on` {ENGINE_BACKEND}, or `on` {CPU_BACKEND} for an ONNX model"
        raise UsageError(f"{spec.name} has no ladder", hint=hint)
    return _of_onnxruntime(streams, provider)


def _of_tensorrt(spec: BackendSpec, streams: int, *, is_engine: bool) -> Ladder:
    keys, latency = RungKey, median_of("latency")
    eager = Mode(kind="latency", transfers=False, cuda_graph=False)
    copies = replace(eager, transfers=True)
    ahead = replace(copies, kind="throughput", in_flight=2)
    ways = [
        Way(
            mode=eager,
            readers={
                keys.LAYERS: layer_sum,
                keys.EAGER: median_of("gpu_compute"),
                keys.SYNC: latency,
                keys.ENQUEUE: median_of("enqueue"),
            },
            profiles=True,
        ),
        Way(mode=replace(eager, cuda_graph=True), readers={keys.GRAPH: graph_compute}),
        Way(mode=copies, readers={keys.PINNED: latency}),
        Way(mode=replace(copies, call="arrays"), readers={keys.PAGEABLE: latency}),
        Way(
            mode=ahead, readers={keys.ONE_AHEAD: period, keys.TRTEXEC: median_of("trtexec_latency")}
        ),
        Way(mode=replace(ahead, streams=streams), readers={keys.STREAMS: period}),
    ]
    precision = f":{spec.precision}" if spec.precision else ""
    why = (
        "an engine does not run through ONNX Runtime; name the ONNX model"
        if is_engine
        else _why_unusable(f"ort-trt{precision}")
    )
    if why is None:
        mode = Mode(transfers=True)
        ways.append(Way(mode=mode, readers={keys.PROVIDER: latency}, backend=f"ort-trt{precision}"))
    rungs = (
        Rung(key=keys.LAYERS),
        Rung(key=keys.GRAPH, base=keys.LAYERS),
        Rung(key=keys.EAGER, base=keys.GRAPH),
        Rung(key=keys.SYNC, base=keys.EAGER),
        Rung(key=keys.PINNED, base=keys.SYNC),
        Rung(key=keys.PAGEABLE, base=keys.PINNED),
        Rung(key=keys.PROVIDER, base=keys.PAGEABLE, why=why),
        Rung(key=keys.ONE_AHEAD, base=keys.PINNED, count=2),
        Rung(key=keys.STREAMS, base=keys.ONE_AHEAD, count=streams),
        Rung(key=keys.TRTEXEC),
        Rung(key=keys.ENQUEUE),
    )
    return Ladder(rungs=rungs, ways=tuple(ways))


def _why_unusable(backend: str) -> str | None:
    loaded: Any = load_backend(read_spec(backend).name)
    try:
        availability = loaded.availability()
    except EnginescopeError as error:
        return str(error)
    return None if availability.usable else str(availability.detail)


def _of_onnxruntime(streams: int, provider: Provider) -> Ladder:
    keys, latency = RungKey, median_of("latency")
    is_cpu, on_cuda = provider.is_cpu, provider.on_cuda
    has_layers = is_cpu or provider.name in ASYNCHRONOUS
    bound = Mode(kind="latency")
    readers: dict[RungKey, Reader] = {keys.BOUND: latency}
    if has_layers:
        readers[keys.LAYERS] = layer_sum
    if on_cuda:
        readers[keys.DEVICE] = median_of("device_latency")
    passed = replace(bound, transfers=True if on_cuda else None)
    ways = [
        Way(mode=bound, readers=readers, profiles=has_layers),
        Way(mode=replace(passed, call="arrays"), readers={keys.ARRAYS: latency}),
        Way(mode=replace(passed, call="client"), readers={keys.CLIENT: latency}),
    ]
    if is_cpu:
        ahead = replace(bound, kind="throughput")
        ways += [
            Way(mode=replace(bound, loop="python"), readers={keys.PYTHON: latency}),
            Way(mode=replace(ahead, in_flight=2), readers={keys.ONE_AHEAD: period}),
            Way(mode=replace(ahead, in_flight=streams), readers={keys.STREAMS: period}),
        ]
    host_times = "its profile has times of the host, not of the device"
    cpu_only = f"enginescope measures several requests in flight on {CPU_BACKEND} alone"
    in_flight = None if is_cpu else cpu_only
    rungs = (
        Rung(key=keys.LAYERS, why=None if has_layers else host_times),
        *((Rung(key=keys.DEVICE, base=keys.LAYERS),) if on_cuda else ()),
        Rung(key=keys.BOUND, base=keys.DEVICE if on_cuda else keys.LAYERS),
        *((Rung(key=keys.PYTHON, base=keys.BOUND),) if is_cpu else ()),
        Rung(key=keys.ARRAYS, base=keys.PYTHON if is_cpu else keys.BOUND),
        Rung(key=keys.CLIENT, base=keys.ARRAYS),
        Rung(key=keys.ONE_AHEAD, base=keys.BOUND, count=2, why=in_flight),
        Rung(key=keys.STREAMS, base=keys.ONE_AHEAD, count=streams, why=in_flight),
    )
    return Ladder(rungs=rungs, ways=tuple(ways))


ladder = python_function("ladder", LadderRequest, climb_ladder)

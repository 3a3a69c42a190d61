"""Ways to measure a query on a backend, and the rungs that each of them has the figure of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginescope.analysis.ladder.rungs import (
    Reader,
    graph_compute,
    layer_sum,
    median_of,
    period,
)
from enginescope.backends.onnxruntime.providers.providers import Provider
from enginescope.backends.registry import load_backend, read_spec
from enginescope.core.errors import EnginescopeError, UsageError
from enginescope.core.record import Record, replace
from enginescope.formats.onnxruntime.ort_profile import ASYNCHRONOUS
from enginescope.records.run.job import BackendSpec, Job, Mode
from enginescope.records.verdict.ladder import Rung, RungKey


class Way(Record, frozen=True, kw_only=True):
    """One side of the rounds: how its processes issue requests, and what is read from them.

    Attributes:
        readers: Rung -> how to read its figure from a run.
        profiles: Time the layers too, in a pass of its own.
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
    """Return the ladder of a backend.

    Raises:
        UsageError: The backend has no ladder.
    """
    if spec.name in ("trt", "trt-rtx"):
        return _of_tensorrt(spec, streams, is_engine=is_engine)
    provider = getattr(load_backend(spec.name), "provider", None)
    if provider is None:
        hint = "--on trt, or --on ort-cpu for an ONNX model"
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
            mode=ahead,
            readers={keys.ONE_AHEAD: period, keys.TRTEXEC: median_of("trtexec_latency")},
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
    """Return why a backend cannot be used here; ``None`` if it can."""
    loaded: Any = load_backend(read_spec(backend).name)
    try:
        availability = loaded.availability()
    except EnginescopeError as error:
        return str(error)
    return None if availability.usable else str(availability.detail)


_HOST_TIMES = "its profile has times of the host, not of the device"
_CPU_ONLY = "enginescope measures several requests in flight on ort-cpu alone"


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
    in_flight = None if is_cpu else _CPU_ONLY
    rungs = (
        Rung(key=keys.LAYERS, why=None if has_layers else _HOST_TIMES),
        *((Rung(key=keys.DEVICE, base=keys.LAYERS),) if on_cuda else ()),
        Rung(key=keys.BOUND, base=keys.DEVICE if on_cuda else keys.LAYERS),
        *((Rung(key=keys.PYTHON, base=keys.BOUND),) if is_cpu else ()),
        Rung(key=keys.ARRAYS, base=keys.PYTHON if is_cpu else keys.BOUND),
        Rung(key=keys.CLIENT, base=keys.ARRAYS),
        Rung(key=keys.ONE_AHEAD, base=keys.BOUND, count=2, why=in_flight),
        Rung(key=keys.STREAMS, base=keys.ONE_AHEAD, count=streams, why=in_flight),
    )
    return Ladder(rungs=rungs, ways=tuple(ways))

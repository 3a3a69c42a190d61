"""A loaded engine, ready to answer requests."""

import os
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.loop import Recorder
from enginescope.backends.native_loop import cuda_context, python_notice, require_native
from enginescope.backends.tensorrt.build.build import stripped_notice
from enginescope.backends.tensorrt.build.network import load_plugins
from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.libraries import Libraries, Log, make_logger
from enginescope.backends.tensorrt.run import engine
from enginescope.backends.tensorrt.run.inference_stream import InferenceStream, LaneParts, Origin
from enginescope.backends.tensorrt.run.native import NativeLatency, NativeThroughput
from enginescope.backends.tensorrt.run.request_loops import LatencyRecorder, ThroughputRecorder
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.formats.trtexec.trtexec_flags import read_options
from enginescope.judge.notice import Notice
from enginescope.probe.nvml import process_memory_bytes
from enginescope.records.plan.build import DeviceMemory
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import ProviderShare, TensorValues
from enginescope.records.tensor import Tensor

_ENQUEUE = "without a CUDA graph TensorRT's own enqueue is called, which Python alone can"
#: On an H100, with copies; the loop in C takes 19 µs (docs/contributing/decisions).
_COST = "a query takes the host about 30 µs, so that engines below 50 µs are timed as slower"


def resolved(asked: Mode) -> Mode:
    """Return `asked` with defaults: copies, spinning waits, one stream; graphs stay open."""
    kind = asked.kind or "latency"
    if asked.call == "client":
        raise UsageError("call client", why="TensorRT is given memory, which the caller fills")
    streams = asked.streams or 1
    if kind == "latency" and streams > 1:
        what = f"{streams} streams in latency mode"
        raise UsageError(what, why="it has one request in flight", hint="--mode throughput")
    if asked.decode is not None:
        asked = replace(asked, cuda_graph=_decoding_without(asked))
    return replace(
        asked,
        kind=kind,
        in_flight=1 if kind == "latency" else asked.in_flight or 2,
        transfers=True if asked.transfers is None else asked.transfers,
        spin_wait=True if asked.spin_wait is None else asked.spin_wait,
        streams=streams,
        cold=bool(asked.cold),
        rotate=asked.rotate or 1,
    )


def _decoding_without(asked: Mode) -> bool:
    """Return that a decode loop runs without CUDA graphs, as shapes grow with each token."""
    refused = {
        "--mode throughput": asked.kind == "throughput",
        "--graph on": asked.cuda_graph,
        "--transfers off": asked.transfers is False,
        "--idle": asked.idle_ms,
        "--cold": asked.cold,
        "--rotate": (asked.rotate or 1) > 1,
    }
    for option, is_asked in refused.items():
        if is_asked:
            what = f"trt: --decode with {option}"
            why = "tokens are generated one after another, and each chooses the next"
            raise UsageError(what, why=why, hint=f"omit {option.split()[0]}")
    return False


class TrtSession:
    """An engine with one context and one set of memory for each inference stream.

    Args:
        job: With `Job.engine`, or an engine as its subject.
        mode: By default that of the job's workload.

    Attributes:
        mode: Every default filled in; `cuda_graph` is known after `settle`.
    """

    providers = ("TensorRT",)
    placement: tuple[ProviderShare, ...] = ()

    def __init__(self, libraries: Libraries, job: Job, mode: Mode | None = None) -> None:
        options = read_options(job.backend.options)
        self.libraries = libraries
        self.mode = resolved(mode or job.workload.mode)
        self.cuda = Cuda(libraries.cuda, options.get("device", 0))
        self.device = self.cuda.described(self.cuda.device)
        self.engine: Any = None
        self.contexts: list[Any] = []
        self.lanes: list[InferenceStream] = []
        try:
            self._open(job, options)
        except BaseException:  # also on Ctrl-C: what was taken of the device is given back
            self.close()
            raise

    def _open(self, job: Job, options: dict[str, Any]) -> None:
        self.log = Log()
        self._options = options
        self._origin: Origin | None = None
        self._context_number: int | None = None  # CUDA's, where the loop in C makes the calls
        self._python_notice: Notice | None = None
        logger = make_logger(self.libraries.trt, self.log, options.get("log_level", "warning"))
        load_plugins(self.libraries, logger, options.get("plugins", ()))
        free = [self.cuda.free_bytes()]
        path = job.engine or job.subject.path or ""
        self._runtime, self.engine = engine.load_engine(
            self.libraries, logger, self.log, path, options
        )
        if "refit_from" in options:
            engine.refit_from_onnx(
                self.libraries, logger, self.engine, options["refit_from"], self.log
            )
        if "weight_streaming_budget" in options:
            engine.set_weight_budget(self.engine, options["weight_streaming_budget"])
        free.append(self.cuda.free_bytes())
        self._profile = options.get("profile_index", 0)
        self._tensors = engine.tensors_of(self.libraries.trt, self.engine)
        parts = LaneParts(
            trt=self.libraries.trt,
            cuda=self.cuda,
            tensors=self._tensors,
            mode=self.mode,
            log=self.log,
            managed=options.get("managed_memory", False),
        )
        for _ in range(self.mode.streams or 1):
            context = self._context(options)
            self.contexts.append(context)
            self.lanes.append(InferenceStream(parts, context))
        for lane, context in zip(self.lanes, self.contexts, strict=True):
            engine.choose_profile(self.engine, context, self._profile, int(lane.compute_stream))
            self.cuda.wait(lane.compute_stream, "choosing the optimization profile")
        free.append(self.cuda.free_bytes())
        self._taken = [before - after for before, after in pairwise(free)]
        self._name = Path(path).name

    def _context(self, options: dict[str, Any]) -> Any:
        made = engine.make_context(self.libraries, self.engine, self.log, options.get("allocation"))
        if ratio := options.get("persistent_cache_ratio", 0.0):
            rt = self.cuda.runtime
            kind = rt.cudaDeviceAttr.cudaDevAttrMaxPersistingL2CacheSize
            asked = rt.cudaDeviceGetAttribute(kind, self.cuda.device)
            nbytes = int(self.cuda.check(asked, "asking for the persisting L2 cache"))
            made.persistent_cache_limit = int(ratio * nbytes)
        return made

    @property
    def gpu(self) -> str:
        return str(self.cuda.device)

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        inputs = (one for one in self._tensors if one.is_input)
        return tuple(engine.input_spec(self.engine, one, self._profile) for one in inputs)

    def bind(self, feeds: Feeds) -> None:
        """Allocate everything once and copy the inputs to the device."""
        for lane in self.lanes:
            lane.bind(feeds.arrays, feeds.shapes)

    def step(self) -> None:
        """Answer one request on every lane, checked and waited for."""
        for lane in self.lanes:
            lane.request()

    def settle(self) -> None:
        """Capture graphs, unless they were declined; what cannot be captured runs without."""
        for lane in self.lanes:
            lane.settle()
        captured = self.mode.cuda_graph is not False and not self.why_no_graph
        if not captured:
            for lane in self.lanes:  # all the same way, or the figures mix two
                lane.launch_eagerly()
        self.asked_for_graph = self.mode.cuda_graph
        wanted = self.mode.loop
        try:
            require_native(wanted, None if captured else _ENQUEUE)
            self._context_number = cuda_context()
        except UnsupportedError as error:
            self._python_notice = python_notice(error, _COST, wanted)
        chosen = "python" if self._context_number is None else "native"
        self.mode = replace(self.mode, cuda_graph=captured, loop=chosen)

    @property
    def why_no_graph(self) -> str | None:
        return next((lane.why_no_graph for lane in self.lanes if lane.why_no_graph), None)

    def recorder(self) -> Recorder:
        cuda, lanes, mode = self.cuda, self.lanes, self.mode
        context = self._context_number if mode.loop == "native" else None
        if mode.kind == "latency":
            if context is None:
                return LatencyRecorder(cuda, lanes[0], mode)
            return NativeLatency(cuda, lanes[0], mode, context=context)
        if self._origin is None:
            self._origin = Origin(cuda, lanes)
        stamps = self._options.get("stamps", False)
        if context is None:
            return ThroughputRecorder(cuda, lanes, mode, self._origin, stamps=stamps)
        return NativeThroughput(cuda, lanes, mode, self._origin, stamps=stamps, context=context)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        lane = self.lanes[0]
        return {name: buffer.shape for name, buffer in {**lane.sets[0], **lane.outputs}.items()}

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        shapes = self.shapes()
        return self._sides(
            Tensor(
                name=one.name,
                shape=shapes.get(one.name),
                dtype=one.dtype,
                location="Host" if one.on_host else "Device",
            )
            for one in self._tensors
        )

    def declared(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as the engine declares them, dynamic dimensions ``None``."""
        return self._sides(
            Tensor(name=one.name, shape=one.shape, dtype=one.dtype) for one in self._tensors
        )

    def _sides(self, tensors: Iterable[Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Part tensors in the engine's order into inputs and outputs."""
        pairs = list(zip(self._tensors, tensors, strict=True))
        inputs = tuple(tensor for one, tensor in pairs if one.is_input)
        return inputs, tuple(tensor for one, tensor in pairs if not one.is_input)

    def answers(self) -> tuple[TensorValues, ...]:
        return self.lanes[0].answers()

    def device_memory(self) -> DeviceMemory:
        """Return what the engine, its contexts and its buffers take."""
        return DeviceMemory(
            engine_bytes=max(self._taken[0], 0),
            context_bytes=max(self._taken[1], 0),
            activation_bytes=engine.activation_bytes(self.engine),
            buffer_bytes=sum(lane.nbytes for lane in self.lanes),
            process_bytes=process_memory_bytes(self.device.uuid, os.getpid()),
            streamable_weights_bytes=getattr(self.engine, "streamable_weights_size", None) or None,
        )

    def notices(self) -> tuple[Notice, ...]:
        found = []
        if self.why_no_graph:
            level = "W" if self.asked_for_graph else "I"
            message = f"measured without a CUDA graph: {self.why_no_graph}"
            found.append(Notice(f"{level}-NO-CUDA-GRAPH", message, {"asked": self.asked_for_graph}))
        found += [self._python_notice] if self._python_notice else []
        if strange := [one for one in self._tensors if not engine.is_known(one.layout)]:
            names = ", ".join(one.name for one in strange)
            message = (
                f"{names}: values are passed to and from the engine's memory format "
                "without reordering, so times are valid and outputs are not"
            )
            evidence = {one.name: one.format_text for one in strange}
            found.append(Notice("W-RAW-LAYOUT", message, evidence))
        stripped = stripped_notice(self.libraries.trt, self.engine, self._options)
        if stripped is not None:
            found.append(stripped)
        return (*found, *(Notice("W-TENSORRT", one.rstrip(".")) for one in self.log.warnings))

    def close(self) -> None:
        """Release everything, the contexts before the engine."""
        self.cuda.runtime.cudaDeviceSynchronize()
        for lane in self.lanes:
            lane.close()
        self.lanes.clear()
        self.contexts.clear()
        self.engine = self._runtime = None
        self.cuda.close()


def must_be_runnable(job: Job) -> None:
    """Raise unless there is an engine to run."""
    if job.subject.kind not in ("onnx", "engine"):
        what = f"trt cannot run {job.subject.name}"
        raise UnsupportedError(what, why="it is neither a model nor a plan")
    if job.subject.kind == "onnx" and job.engine is None:
        raise BackendError(f"running {job.subject.name}", why="its engine was not built")


#: Nothing is timed: no graph, and waits that leave the processor to others.
_MODE = Mode(kind="latency", cuda_graph=False, spin_wait=False)
#: Outputs of a shape that only values decide take new host memory each time; after so many samples
#: all of it is given back.
_MOST_GROWN = 64


class TrtAnswers:
    """A loaded engine; it is loaded anew for inputs of other shapes."""

    providers = TrtSession.providers

    def __init__(self, libraries: Libraries, job: Job) -> None:
        self._libraries, self._job = libraries, job
        self._session = TrtSession(libraries, job, _MODE)
        self._shapes: dict[str, tuple[int, ...]] | None = None
        self._answered = 0
        self._said: list[Notice] = []

    @property
    def input_specs(self) -> tuple[InputSpec, ...]:
        return self._session.input_specs

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return self._session.declared()

    def answer(self, feeds: Feeds) -> tuple[TensorValues, ...]:
        lane = self._session.lanes[0]
        shapes = dict(feeds.shapes)
        # the values of a shape tensor decide other shapes
        decides = any(one.default_values is not None for one in self.input_specs)
        is_worn = bool(lane.grown) and self._answered >= _MOST_GROWN
        if self._shapes is not None and (shapes != self._shapes or decides or is_worn):
            self._keep_notices()
            self._session.close()
            self._session = TrtSession(self._libraries, self._job, _MODE)
            self._shapes, self._answered = None, 0
            lane = self._session.lanes[0]
        if self._shapes is None:
            self._session.bind(feeds)
            self._shapes = shapes
        else:
            for name, buffer in lane.sets[0].items():
                buffer.fill(feeds.arrays[name])
        self._session.step()
        if lane.grown:
            lane.settle()
        self._answered += 1
        return self._session.answers()

    def _keep_notices(self) -> None:
        self._said += [one for one in self._session.notices() if one not in self._said]

    def notices(self) -> tuple[Notice, ...]:
        self._keep_notices()
        return tuple(self._said)

    def close(self) -> None:
        self._session.close()

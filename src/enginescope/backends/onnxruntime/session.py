"""One ONNX Runtime session, driven one request at a time.

Times a request in two ways, interleaved: with copies between host and device, and without.
"""

import math
import os
from array import array
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from enginescope.backends import loop
from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.native_loop import NativeSteps, Program, python_notice, require_native
from enginescope.backends.onnxruntime.native import COST, NativeSession, NativeThreads
from enginescope.backends.onnxruntime.options import dtype_of, session_options, write_graph
from enginescope.backends.onnxruntime.providers import opening
from enginescope.backends.onnxruntime.providers.placement import (
    RECORD_ASSIGNMENT,
    leftover_notices,
    read_placement,
    require_provider,
)
from enginescope.backends.onnxruntime.providers.providers import translated
from enginescope.backends.onnxruntime.requests import (
    RAW,
    DeviceRequest,
    Request,
    host_values,
    request_for,
)
from enginescope.core.errors import EnginescopeError, UnsupportedError
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples
from enginescope.probe.host import peak_rss_bytes
from enginescope.probe.nvml import PeakDeviceMemory, probe_device, process_memory_bytes
from enginescope.records.plan.build import DeviceMemory
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import Tensor


class PairedRecorder(loop.TimedRecorder):
    """One request from host memory, then the same one in device memory, each timed.

    Args:
        host, device: The two steps, interleaved, so that clocks, temperature and other load
            are the same for both.
    """

    def __init__(self, host: loop.Step, device: loop.Step) -> None:
        super().__init__()
        self._steps = (host, device)
        self._device = array("q")  # nanoseconds

    def run(self, count: int, untimed: int = 0) -> None:
        host, device = self._steps
        self.issued += 2 * (untimed + count)
        starts, hosts, devices = (array("q", bytes(8 * count)) for _ in range(3))
        for _ in range(untimed):
            host()
            device()
        clock = perf_counter_ns
        first = clock()
        for i in range(count):
            begin = clock()
            host()
            between = clock()
            device()
            end = clock()
            starts[i] = begin
            hosts[i] = between - begin
            devices[i] = end - between
        self.wall_ms += (clock() - first) / 1e6
        self._starts.extend(starts)
        self._times.extend(hosts)
        self._device.extend(devices)

    def samples(self) -> tuple[Samples, ...]:
        """Return metric ``latency``, with copies, and ``device_latency``, without."""
        device = np.frombuffer(self._device, dtype=np.int64) / 1e6
        return self._series({"latency": self.times_ms(), "device_latency": device})


_INTERVAL_S = 0.02


class DeviceMemoryWatch:
    """Samples until it is told to stop: before the timed loop, which it would disturb.

    Args:
        index: The GPU's number in CUDA's count.
    """

    def __init__(self, index: int) -> None:
        self._index = index
        sampling = ExitStack()
        self._peak = sampling.enter_context(PeakDeviceMemory(index, _INTERVAL_S))
        self.stop = sampling.close  # may be called again

    def read(self) -> DeviceMemory | None:
        """Return what the process holds now and held at its peak; ``None`` if neither is known."""
        self.stop()
        device = probe_device(self._index)
        now = process_memory_bytes(device.uuid if device else None, os.getpid())
        marks = [one for one in (now, self._peak.bytes) if one is not None]
        if not marks:
            return None
        return DeviceMemory(process_bytes=now, process_peak_bytes=max(marks))


_NOT_BOUND = "an input or output cannot be bound"
_ONLY_CPU = "the loop in C runs ONNX Runtime's CPU provider alone"


class OrtSession:
    """A loaded model.

    On a GPU a request is timed in two ways, interleaved, unless the mode asks for one: with its
    tensors in host memory, copies inside the step; and with its tensors on the device.

    Args:
        graph: File for the graph that the session executes.
    """

    def __init__(
        self,
        ort: Any,
        job: Job,
        setup: opening.Setup,
        *,
        profile_prefix: str | None = None,
        graph: Path | None = None,
    ) -> None:
        self._ort = ort
        self._setup = setup
        self._asked = job.workload.mode
        provider = setup.provider
        self._index = int(setup.provider_options.get("device_id", "0"))
        self.gpu = str(self._index) if provider.on_cuda else None
        self._memory = DeviceMemoryWatch(self._index) if provider.on_cuda else None
        options = session_options(ort, job.backend.options, job.conditions.pinned_cores)
        options.add_session_config_entry(RECORD_ASSIGNMENT, "1")
        if profile_prefix is not None:
            options.enable_profiling = True
            options.profile_file_prefix = profile_prefix
        if graph is not None:
            write_graph(options, graph)
        self._notices: list[Notice] = []
        self.session = opening.open_session(ort, setup, options, self._notices)
        self.placement = read_placement(self.session)
        require_provider(ort, self.session, provider, self.placement)
        self.providers: tuple[str, ...] = tuple(self.session.get_providers())
        self.input_specs = tuple(_spec(one) for one in self.session.get_inputs())
        self._types = {spec.name: spec.dtype for spec in self.input_specs}
        self._device: DeviceRequest | None = None
        self._host: Request | None = None
        self._copies: loop.Step | None = None
        #: Of the requests that are in flight beside the first one.
        self._further: tuple[Request, ...] = ()
        self._job = job
        self._native: NativeSession | None = None
        self._programs: list[Program] | None = None  # of the loop in C; empty: from Python
        #: Before the loop in C has a session of its own.
        self.peak_memory_bytes: int | None = None
        self._look: loop.OutputLook | None = None
        self.step: loop.Step = self._guarded

    @property
    def _in_flight(self) -> int:
        return (self._asked.in_flight or 2) if self._asked.kind == "throughput" else 1

    @property
    def mode(self) -> Mode:
        on_device = self._setup.provider.on_cuda
        graph = self._setup.provider_options.get(self._setup.provider.graph_option or "")
        return Mode(
            kind=self._asked.kind or "latency",
            in_flight=self._in_flight,
            call=self._asked.call,
            transfers=self._host is not None or self._copies is not None if on_device else None,
            cuda_graph=graph.lower() in ("1", "true") if graph is not None else None,
            loop="native" if self._programs else "python",
        )

    def bind(self, feeds: Feeds) -> None:
        self._arrays = feeds.arrays
        if self._setup.provider.on_cuda and (self._asked.transfers is not True or self._is_graph):
            self._device = self._on_device(feeds)
        if self._device is None or (self._asked.transfers is not False and not self._is_graph):
            self._host = self._in_host_memory(feeds)
        self._further = tuple(self._in_host_memory(feeds) for _ in range(self._in_flight - 1))

    def _in_host_memory(self, feeds: Feeds) -> Request:
        return request_for(
            self._ort, self.session, self.input_specs, feeds.arrays, self._asked.call, feeds.shapes
        )

    @property
    def _is_graph(self) -> bool:
        return bool(self.mode.cuda_graph)

    def _on_device(self, feeds: Feeds) -> DeviceRequest | None:
        """Return the request in device memory; ``None``, with a notice, where it cannot be had."""
        try:
            return DeviceRequest(
                self._ort,
                self.session,
                self.input_specs,
                feeds.arrays,
                self._index,
                is_graph=self._is_graph,
            )
        except EnginescopeError as error:
            if self._asked.transfers is False or self._is_graph:
                what = "tensors cannot lie in device memory"
                raise UnsupportedError(what, why=str(error), hint="--transfers") from error
            self._notices.append(Notice("W-NO-DEVICE-TENSORS", f"only timed with copies: {error}"))
            return None

    def _guarded(self) -> None:
        """Step before `settle`: one request, with errors in our words."""
        self._first(self._host or self._device)

    def _first(self, request: Request | None) -> None:
        with translated("the first inference"):
            try:
                if request is not None:
                    request.first()
            except Exception as error:  # its exceptions have no common base of their own
                opening.raise_if_unsupported(self._ort, self._setup.provider, error)
                raise

    def settle(self) -> None:
        """After the first step: allocate the outputs once, and leave the step bare."""
        if self._memory is not None:
            self._memory.stop()
        if self._host is not None and self._device is not None:
            self._first(self._device)
        with translated("binding the outputs"):
            for one in (self._host, self._device):
                if one is not None:
                    one.settle()
            if self._is_graph and self._device is not None and self._asked.transfers is not False:
                self._copies = self._device.with_copies()
            for request in self._further:
                request.first()
                request.settle()
        self.step = self._steps()[0]
        self._look = loop.OutputLook(self._small_outputs())

    def _steps(self) -> list[loop.Step]:
        """Return what is timed: the step with copies, where there is one, first."""
        copies = self._copies or (self._host.step if self._host else None)
        device = self._device if self._asked.transfers is not True else None
        every = (copies, device.step if device else None)
        return [one for one in every if one is not None]

    def recorder(self) -> loop.Recorder:
        if self._programs is None:
            self._programs = self._native_programs()
        if self._programs:
            several = self._programs[1:]
            return NativeThreads(self._programs) if several else NativeSteps(self._programs[0])
        steps = self._steps()
        if self._further:
            return loop.ThreadsRecorder([steps[0], *(one.step for one in self._further)])
        return PairedRecorder(*steps) if len(steps) == 2 else loop.StepRecorder(steps[0])

    def _native_programs(self) -> list[Program]:
        """Return the requests in flight for the loop in C; none, with a notice, if it cannot."""
        if self._asked.call is not None:  # a way to call that only Python has
            return []
        try:
            require_native(self._asked.loop, None if self._setup.provider.is_cpu else _ONLY_CPU)
            requests = [request for request in (self._host, *self._further) if request is not None]
            bound = [found for request in requests if (found := request.bound_values()) is not None]
            require_native(None, _NOT_BOUND if len(bound) < len(requests) else None)
            self.peak_memory_bytes = peak_rss_bytes()
            self._native = NativeSession(self._ort, self._job, self._setup.model)
            return [self._native.program(*request) for request in bound]
        except UnsupportedError as error:
            self._notices.append(python_notice(error, COST, self._asked.loop))
            return []

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        inputs = tuple(
            Tensor(name=name, shape=tuple(array.shape), dtype=self._types[name])
            for name, array in self._arrays.items()
        )
        request = self._host or self._device
        return inputs, request.outputs() if request else ()

    def notices(self) -> tuple[Notice, ...]:
        request = self._host or self._device
        said = request.notices() if request else ()
        looked = self._look.notices(self._small_outputs()) if self._look is not None else ()
        return (*self._notices, *leftover_notices(self._setup, self.providers), *said, *looked)

    def _small_outputs(self) -> dict[str, Any]:
        """Return the outputs of the last request, by name, as far as they are small arrays."""
        request = self._device if self._is_graph else self._host or self._device
        if request is None:
            return {}
        outputs = request.outputs()
        sizes = [
            math.prod(dim or 0 for dim in known) * (output.dtype.bits or 0) // 8
            for output in outputs
            if output.dtype is not None and (known := output.shape) is not None
        ]
        if len(sizes) < len(outputs) or sum(sizes) > loop.MOST_BYTES:
            return {}
        with translated("reading the outputs"):
            pairs = zip(outputs, request.values(), strict=True)
            return {output.name: values for output, values in pairs if values is not None}

    def device_memory(self) -> DeviceMemory | None:
        return self._memory.read() if self._memory is not None else None

    def answers(self) -> tuple[TensorValues, ...]:
        request = self._device if self._is_graph else self._host or self._device
        names = [one.name for one in self.session.get_outputs()]
        with translated("reading the outputs"):
            values = request.values() if request else ()
        pairs = zip(names, values, strict=True)
        return tuple(tensor_of(name, value) for name, value in pairs if value is not None)

    def close(self) -> None:
        """Release the loop's session; ONNX Runtime releases the one that nobody refers to."""
        if self._native is not None:
            self._native.close()
        if self._memory is not None:
            self._memory.stop()

    def end_profiling(self) -> str:
        return str(self.session.end_profiling())


def _spec(argument: Any) -> InputSpec:
    shape = tuple(dim if isinstance(dim, (int, str)) else None for dim in argument.shape)
    return InputSpec(
        name=argument.name, dtype=dtype_of(argument.type), shape=shape, type_text=argument.type
    )


class OrtAnswers:
    """A session that answers samples of any shape."""

    def __init__(self, ort: Any, job: Job, setup: opening.Setup) -> None:
        self._ort = ort
        self._opened = OrtSession(ort, job, setup)
        self._session = self._opened.session
        self.input_specs: tuple[InputSpec, ...] = self._opened.input_specs
        self.providers: tuple[str, ...] = self._opened.providers

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return (
            tuple(_tensor(one) for one in self._session.get_inputs()),
            tuple(_tensor(one) for one in self._session.get_outputs()),
        )

    def answer(self, feeds: Feeds) -> tuple[TensorValues, ...]:
        names = [one.name for one in self._session.get_outputs()]
        with translated("running the model"):
            if all(spec.dtype not in RAW for spec in self.input_specs):
                values = self._session.run(None, dict(feeds.arrays))
            else:
                given = host_values(self._ort, self.input_specs, feeds.arrays, feeds.shapes)
                values = [one.numpy() for one in self._session.run_with_ort_values(None, given)]
        pairs = zip(names, values, strict=True)
        return tuple(tensor_of(*part) for name, value in pairs for part in _parts(name, value))

    def notices(self) -> tuple[Notice, ...]:
        """Nothing: nothing is timed."""
        return ()

    def close(self) -> None:
        self._opened.close()


def _tensor(argument: Any) -> Tensor:
    shape = tuple(dim if isinstance(dim, int) and dim >= 0 else None for dim in argument.shape)
    dtype = dtype_of(argument.type)
    return Tensor(name=argument.name, shape=shape if dtype is not None else None, dtype=dtype)


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return an output as tensors: a sequence's members by number, a map's keys and values."""
    if value is None:  # an optional that holds nothing
        return []
    if isinstance(value, dict):
        keys = sorted(value)
        made = [(f"{name}.keys", np.asarray(keys))]
        return [*made, (f"{name}.values", np.asarray([value[key] for key in keys]))]
    if isinstance(value, list):
        return [part for at, one in enumerate(value) for part in _parts(f"{name}[{at}]", one)]
    return [(name, np.asarray(value))]

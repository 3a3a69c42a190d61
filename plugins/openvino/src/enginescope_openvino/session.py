"""One compiled model of OpenVINO, driven one request at a time or with several in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter_ns
from typing import Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.backends.loop import (
    MOST_BYTES,
    OutputLook,
    Recorder,
    StepRecorder,
    ThreadsRecorder,
)
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.formats.tensors.tensor_files import tensor_of
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Job, Mode
from enginescope.records.run.run import ProviderShare, TensorValues
from enginescope.records.tensor import DataType, Tensor
from enginescope_openvino.options import device_of, properties_of

_TYPES = {
    "f64": DataType.FP64,
    "f32": DataType.FP32,
    "f16": DataType.FP16,
    "bf16": DataType.BF16,
    "i64": DataType.INT64,
    "i32": DataType.INT32,
    "i16": DataType.INT16,
    "i8": DataType.INT8,
    "i4": DataType.INT4,
    "u64": DataType.UINT64,
    "u32": DataType.UINT32,
    "u16": DataType.UINT16,
    "u8": DataType.UINT8,
    "u4": DataType.UINT4,
    "boolean": DataType.BOOL,
    "string": DataType.STRING,
}
#: Types whose arrays are raw bits.
_RAW = (DataType.BF16,)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn an exception of OpenVINO into a `BackendError`, with its last line that says why."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BackendError(what, why=lines[-1] if lines else type(error).__name__) from error


def dtype_of(element: Any) -> DataType | None:
    """Return an element type of OpenVINO; ``None``: one without an array form here."""
    return _TYPES.get(element.get_type_name())


def port_name(port: Any) -> str:
    """Return the name that the model gives an input or output: the shortest of its names."""
    names = port.get_names()
    return str(min(names, key=lambda one: (len(one), one)) if names else port.node.friendly_name)


def _spec(port: Any) -> InputSpec:
    shape = tuple(dim.get_length() if dim.is_static else None for dim in port.get_partial_shape())
    element = port.get_element_type()
    return InputSpec(
        name=port_name(port),
        dtype=dtype_of(element),
        shape=shape,
        type_text=element.get_type_name(),
    )


def tensor_at(port: Any) -> Tensor:
    """Return an input or output as the model declares it."""
    shape = port.get_partial_shape()
    known = (
        tuple(dim.get_length() if dim.is_static else None for dim in shape)
        if shape.rank.is_static
        else None
    )
    return Tensor(name=port_name(port), shape=known, dtype=dtype_of(port.get_element_type()))


class OpenVinoSession:
    """A compiled model.

    Args:
        is_profiled: Whether OpenVINO times its nodes, which slows a run.
    """

    def __init__(self, ov: Any, job: Job, *, is_profiled: bool = False) -> None:
        self._ov = ov
        self._asked = job.workload.mode
        device = device_of(job.backend)
        properties = properties_of(job, is_throughput=self._asked.kind == "throughput")
        if is_profiled:
            properties["PERF_COUNT"] = True
        core = ov.Core()
        if device.split(".")[0].split(":")[0] not in _known_devices(core):
            raise UnsupportedError(
                f"openvino on {device}",
                why=f"this machine has {', '.join(core.available_devices) or 'no device'}",
                hint="?device=CPU",
            )
        path = job.subject.path
        if path is None:
            raise UsageError(f"{job.subject.name} has no file")
        with translated(f"compiling {job.subject.name} for {device}"):
            self.compiled = core.compile_model(path, device, properties)
        self._requests: list[Any] = []
        self._queue: Any = None
        #: Inputs: a request does not keep the memory that a tensor shares with an array.
        self._kept: list[Any] = []
        self._look: OutputLook | None = None
        self.input_specs: tuple[InputSpec, ...] = tuple(map(_spec, self.compiled.inputs))
        self.providers: tuple[str, ...] = tuple(self._property("EXECUTION_DEVICES") or (device,))
        self.placement: tuple[ProviderShare, ...] = ()
        self.step: Callable[[], object] = self._guarded

    def _property(self, name: str) -> Any:
        try:
            return self.compiled.get_property(name)
        except RuntimeError:  # not every device has every property
            return None

    @property
    def in_flight(self) -> int:
        """Requests at a time: as asked for, else as many as OpenVINO calls optimal."""
        if self._asked.kind != "throughput":
            return 1
        return self._asked.in_flight or self._property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") or 1

    @property
    def mode(self) -> Mode:
        """How requests are put."""
        streams = self._property("NUM_STREAMS")
        return Mode(
            kind=self._asked.kind or "latency",
            in_flight=self.in_flight,
            streams=streams if isinstance(streams, int) else None,
            loop="python",
        )

    def bind(self, feeds: Feeds) -> None:
        """Give every request in flight inputs of its own, in memory that it keeps."""
        self._feeds = feeds
        self._kept = []
        with translated("setting the inputs"):
            if self._asked.kind == "throughput":
                self._queue = self._ov.AsyncInferQueue(self.compiled, self.in_flight)
            self._requests = list(self._queue or [self.compiled.create_infer_request()])
            for request in self._requests:
                self._set_inputs(request, feeds)

    def _set_inputs(self, request: Any, feeds: Feeds) -> None:
        for port, spec in zip(self.compiled.inputs, self.input_specs, strict=True):
            array = np.array(feeds.arrays[spec.name])
            if spec.dtype in _RAW:
                shape = list(feeds.shapes.get(spec.name, array.shape))
                tensor = self._ov.Tensor(array, shape, port.get_element_type())
            else:
                tensor = self._ov.Tensor(array, shared_memory=spec.dtype is not DataType.STRING)
            self._kept.append(tensor)
            request.set_tensor(port, tensor)

    def _guarded(self) -> None:
        with translated("the first inference"):
            self._requests[0].infer(share_outputs=True)

    def settle(self) -> None:
        """Leave the step bare; OpenVINO keeps the outputs of each request."""
        for request in self._requests[1:]:
            with translated("the first inference"):
                request.infer(share_outputs=True)
        self.step = partial(self._requests[0].infer, share_outputs=True)
        self._look = OutputLook(self._small_outputs())

    def recorder(self) -> Recorder:
        """Return a recorder of one request, or of as many as OpenVINO's threads run at a time."""
        if self._queue is not None:
            return _QueueRecorder(self._queue, self._requests)
        return _InferRecorder(self.step, self._requests[0])

    def tensors(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs with the shapes they have in this run."""
        inputs = tuple(
            Tensor(
                name=spec.name,
                shape=tuple(self._feeds.shapes.get(spec.name, self._feeds.arrays[spec.name].shape)),
                dtype=spec.dtype,
            )
            for spec in self.input_specs
        )
        outputs = tuple(
            Tensor(
                name=port_name(port),
                shape=tuple(self._requests[0].get_tensor(port).shape),
                dtype=dtype_of(port.get_element_type()),
            )
            for port in self.compiled.outputs
        )
        return inputs, outputs

    def _values(self) -> dict[str, Any]:
        request = self._requests[0]
        return {port_name(one): _array(request.get_tensor(one)) for one in self.compiled.outputs}

    def _small_outputs(self) -> dict[str, Any]:
        request = self._requests[0]
        sizes = [request.get_tensor(one).byte_size for one in self.compiled.outputs]
        return self._values() if sum(sizes) <= MOST_BYTES else {}

    def notices(self) -> tuple[Notice, ...]:
        """Return what the outputs show."""
        return self._look.notices(self._small_outputs()) if self._look is not None else ()

    def answer(self, feeds: Feeds) -> tuple[TensorValues, ...]:
        """Return the outputs for these inputs."""
        self.bind(feeds)
        self._guarded()
        return self.answers()

    def answers(self) -> tuple[TensorValues, ...]:
        """Return the outputs of the last request."""
        with translated("reading the outputs"):
            return tuple(tensor_of(name, value) for name, value in self._values().items())

    def bindings(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return inputs and outputs as the model declares them."""
        return (
            tuple(map(tensor_at, self.compiled.inputs)),
            tuple(map(tensor_at, self.compiled.outputs)),
        )

    def node_times(self) -> list[Any]:
        """Return what OpenVINO timed in the last request, node by node."""
        return list(self._requests[0].get_profiling_info())

    def close(self) -> None:
        """Release the requests and their inputs."""
        self._requests, self._queue, self._kept = [], None, []


def _known_devices(core: Any) -> set[str]:
    composed = {"AUTO", "MULTI", "HETERO", "BATCH"}
    return {one.split(".")[0] for one in core.available_devices} | composed


class _InferRecorder(StepRecorder):
    """Requests by OpenVINO's own clock, as benchmark_app takes them under the hint ``latency``.

    The clock runs from the call of the C++ function to its return. The interpreter's 2 to 4 µs for
    each request are outside.
    """

    def __init__(self, step: Any, request: Any) -> None:
        super().__init__(step)
        self._request = request

    def run(self, count: int, untimed: int = 0) -> None:
        step, request, clock = self._step, self._request, perf_counter_ns
        self.issued += untimed + count
        rows = np.zeros((count, 2), np.int64)
        for _ in range(untimed):
            step()
        first = clock()
        for row in rows:
            row[0] = clock()
            step()
            row[1] = row[0] + round(request.latency * 1e6)
        self.wall_ms += (clock() - first) / 1e6
        self._extend(rows)


class _QueueRecorder(ThreadsRecorder):
    """Requests that one thread starts, each when one is idle, as benchmark_app does for throughput.

    Threads that each start their own next request do 17 % more of 0.07 ms on two cores. Latencies
    are by OpenVINO's own clock.
    """

    def __init__(self, queue: Any, requests: list[Any]) -> None:
        super().__init__([request.infer for request in requests])
        self._queue, self._requests = queue, requests

    def run(self, count: int, untimed: int = 0) -> None:
        queue, requests, clock = self._queue, self._requests, perf_counter_ns
        self.issued += count + untimed * len(requests)
        for _ in range(untimed * len(requests)):
            queue.start_async()
        queue.wait_all()
        rows: list[tuple[int, int]] = []
        starts: dict[int, int] = {}
        for _ in range(count):
            idle = queue.get_idle_request_id()
            if idle in starts:
                rows.append((starts[idle], starts[idle] + round(requests[idle].latency * 1e6)))
            starts[idle] = clock()
            queue.start_async()
        queue.wait_all()
        rows += [(start, start + round(requests[i].latency * 1e6)) for i, start in starts.items()]
        self._extend(np.array(sorted(rows), np.int64).reshape(-1, 2))


def _array(tensor: Any) -> Any:
    if tensor.element_type.get_type_name() == "string":
        return np.asarray(tensor.str_data)
    return np.array(tensor.data)

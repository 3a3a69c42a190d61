"""An inference stream: a context, its memory, its CUDA streams and what is enqueued on them.

One enqueue as a CUDA graph.
The moment that both clocks count from: the host's and the GPU's.

The gate of a stream lets the GPU wait until the host has enqueued everything. Without it the host
enqueues short layers more slowly than the GPU runs them, and the GPU's waiting is counted as time
of the layers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Timer
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from enginescope.backends.tensorrt.cuda import Cuda
from enginescope.backends.tensorrt.libraries import Log, is_out_of_memory
from enginescope.backends.tensorrt.run.engine import Buffer, EngineTensor, values_of
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.core.record import Record
from enginescope.records.run.job import Mode
from enginescope.records.run.run import TensorValues

#: Seconds after which the gate opens by itself: an enqueue that waits for the GPU would never end.
LIMIT_S = 1.0
_GREATER_OR_EQUAL = 0  # CU_STREAM_WAIT_VALUE_GEQ


class Gate:
    """A word in page-locked memory that the GPU waits for.

    Args:
        driver: ``cuda.bindings.driver``.

    Attributes:
        was_late: The gate opened by itself: the host had not enqueued everything after `LIMIT_S`.
    """

    def __init__(self, driver: Any, cuda: Cuda, stream: Any) -> None:
        self._driver = driver
        self._stream = driver.CUstream(int(stream))
        self._word = cuda.host_buffer(4).view(np.uint32)
        self._word[0] = 0
        self._generation = 0
        self.was_late = False

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Hold back what is enqueued in this block, until it is left."""
        self._generation += 1
        watchdog = Timer(LIMIT_S, self._open_late)
        watchdog.start()
        try:
            address = self._driver.CUdeviceptr(self._word.ctypes.data)
            (error,) = self._driver.cuStreamWaitValue32(
                self._stream, address, self._generation, _GREATER_OR_EQUAL
            )
            if error:
                raise UnsupportedError("holding back a CUDA stream", why=error.name)
            yield
        finally:
            self._word[0] = self._generation
            watchdog.cancel()

    def check(self) -> None:
        """Raise if the gate once opened by itself."""
        if self.was_late:
            raise UnsupportedError(
                "holding back the GPU",
                why=f"an inference was not enqueued within {LIMIT_S:g} s: the engine waits for the "
                "GPU in between, or has more launches than the driver's queue holds",
            )

    def _open_late(self) -> None:
        self.was_late = True
        self._word[0] = self._generation


class Captured(Record, frozen=True, kw_only=True, eq=False):
    """An executable graph, or why there is none."""

    graph: Any | None = None
    why_not: str | None = None


def capture(cuda: Cuda, enqueue: Callable[[], bool], stream: Any) -> Captured:
    """Capture `enqueue` on `stream`; the copies of inputs and outputs stay outside.

    An engine that synchronizes or allocates while it runs cannot be captured.
    """
    rt = cuda.runtime
    local = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    cuda.check(rt.cudaStreamBeginCapture(stream, local), "starting a CUDA graph capture")
    accepted = enqueue()
    error, graph = rt.cudaStreamEndCapture(stream)
    if error or not accepted:
        if not error:
            rt.cudaGraphDestroy(graph)
        rt.cudaGetLastError()  # clears it: what follows runs without the graph
        name = cuda.error_name(error) if error else "the enqueue failed"
        return Captured(
            why_not=f"the engine has an operation that a CUDA graph cannot contain ({name})"
        )
    error, made = rt.cudaGraphInstantiate(graph, 0)
    rt.cudaGraphDestroy(graph)
    if error:
        rt.cudaGetLastError()
        return Captured(why_not=f"the graph cannot be instantiated ({cuda.error_name(error)})")
    cuda.own(rt.cudaGraphExecDestroy, made)
    return Captured(graph=made)


class Grown:
    """Device memory that grows on demand, and the shape it was last used for.

    Attributes:
        shape: ``None`` until TensorRT has said it.
    """

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self.address = 0
        self.nbytes = 0
        self.shape: tuple[int, ...] | None = None

    def take(self, nbytes: int) -> int:
        """Return an address with at least so many bytes behind it; 0 if there are none left."""
        if nbytes > self.nbytes or self.address == 0:
            try:
                self.address = self._cuda.device_buffer(nbytes)
            except MemoryError:  # TensorRT is told by the null address, and reports it
                return 0
            self.nbytes = nbytes
        return self.address


def make_allocator(trt: Any, memory: dict[str, Grown]) -> Any:
    """Return a ``trt.IOutputAllocator`` over `memory`, by tensor name."""

    class Allocator(trt.IOutputAllocator):  # type: ignore[misc]  # found at run time
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)

        def reallocate_output(
            self, tensor_name: str, memory_address: int, size: int, alignment: int
        ) -> int:
            del memory_address, alignment  # cudaMalloc aligns to 256 bytes
            return memory[tensor_name].take(size)

        def reallocate_output_async(
            self, tensor_name: str, memory_address: int, size: int, alignment: int, stream: int
        ) -> int:
            del stream
            return self.reallocate_output(tensor_name, memory_address, size, alignment)

        def notify_shape(self, tensor_name: str, shape: Any) -> None:
            memory[tensor_name].shape = tuple(shape)

    return Allocator()


#: A call and its arguments, with nothing of ours between a loop and the library; see `refused`.
Launch = tuple[Callable[..., Any], tuple[Any, ...]]


def refused(answer: Any) -> bool:
    """Whether a launch failed: TensorRT answers true or false, CUDA an error code in a tuple."""
    return answer is not True and (answer is False or bool(answer[0]))


class LaneMemory(NamedTuple):
    """Memory of one shape: sets of inputs, outputs, and outputs of a size that values decide."""

    sets: list[dict[str, Buffer]]
    outputs: dict[str, Buffer]
    grown: dict[str, Grown]


class LaneParts(Record, frozen=True, kw_only=True, eq=False):
    """What lanes of one session share."""

    trt: Any
    cuda: Cuda
    tensors: tuple[EngineTensor, ...]
    mode: Mode
    log: Log
    managed: bool = False

    def buffer(
        self, tensor: EngineTensor, shape: tuple[int, ...], address: int | None = None
    ) -> Buffer:
        """Return memory of a tensor as mode and options ask for it; `address`: see `Buffer`."""
        managed = self.managed and address is None
        pageable = self.mode.call == "arrays"
        return Buffer(self.cuda, tensor, shape, managed=managed, pageable=pageable, address=address)


class InferenceStream:
    """One context with everything it needs to answer requests.

    Attributes:
        input_stream, compute_stream, output_stream: One and the same where requests go one at a
            time.
        launches: One for each set of input buffers: a graph's launch, or the enqueue itself.
    """

    def __init__(self, parts: LaneParts, context: Any) -> None:
        self._parts = parts
        self._context = context
        cuda = parts.cuda
        self.compute_stream = cuda.stream()
        overlapping = parts.mode.kind == "throughput"
        self.input_stream = cuda.stream() if overlapping else self.compute_stream
        self.output_stream = cuda.stream() if overlapping else self.compute_stream
        self.sets: list[dict[str, Buffer]] = []
        self.outputs: dict[str, Buffer] = {}
        self.grown: dict[str, Grown] = {}
        self.launches: list[Launch] = []
        self.why_no_graph: str | None = None
        self._allocator: Any = None

    @property
    def nbytes(self) -> int:
        """Device memory of inputs and outputs."""
        buffers = [one for group in self.sets for one in group.values()]
        buffers += [one for name, one in self.outputs.items() if name not in self.grown]
        fixed = sum(one.nbytes for one in buffers if one.device)
        return fixed + sum(one.nbytes for one in self.grown.values())

    def bind(
        self,
        arrays: Mapping[str, Any],
        shapes: Mapping[str, tuple[int, ...]],
        memory: LaneMemory | None = None,
    ) -> LaneMemory:
        """Fix the input shapes, allocate everything once, and copy the inputs to the device.

        Args:
            memory: What an earlier call returned for the same shapes: it is used again.
        """
        parts, context = self._parts, self._context
        inputs = [one for one in parts.tensors if one.is_input]
        if memory is None:
            memory = LaneMemory([], {}, {})
            for _ in range(max(parts.mode.rotate or 1, 1)):
                memory.sets.append(
                    {one.name: parts.buffer(one, shapes[one.name]) for one in inputs}
                )
            for group in memory.sets:
                for name, buffer in group.items():
                    buffer.fill(arrays[name])
        self.sets, self.outputs, self.grown = memory
        for one in inputs:
            if None in one.shape:
                self.set_shape(one.name, shapes[one.name])
            # the values of a shape tensor are read when the other shapes are inferred
            self.set_address(one.name, self.sets[0][one.name].address)
        if missing := context.infer_shapes():
            raise BackendError("inferring shapes", why=f"nothing is known of {', '.join(missing)}")
        self._bind_outputs()
        for group in self.sets:
            for copy in self._copies(group.values(), self.input_stream):
                parts.cuda.check(copy(), "copying the inputs")
        parts.cuda.wait(self.input_stream, "copying the inputs")
        self.launch_eagerly()
        return memory

    def set_shape(self, name: str, shape: tuple[int, ...]) -> None:
        if not self._context.set_input_shape(name, shape):
            what = f"shape {'x'.join(map(str, shape))} for input {name}"
            why = self._parts.log.why("the engine's optimization profile does not allow it")
            hint = "build it for that shape: --min-shape, --opt-shape, --max-shape"
            raise UsageError(what, why=why, hint=hint)

    def launch_eagerly(self) -> None:
        """Let every launch be the enqueue itself."""
        if len(self.sets) == 1:
            self.launches = [(self._context.execute_async_v3, (int(self.compute_stream),))]
        else:
            self.launches = [(self._enqueue, (index,)) for index in range(len(self.sets))]

    def _bind_outputs(self) -> None:
        parts = self._parts
        for one in (tensor for tensor in parts.tensors if not tensor.is_input):
            shape = tuple(self._context.get_tensor_shape(one.name))
            if any(size < 0 for size in shape):
                self.grown.setdefault(one.name, Grown(parts.cuda))
                continue
            if one.name not in self.outputs:
                self.outputs[one.name] = parts.buffer(one, shape)
            self.set_address(one.name, self.outputs[one.name].address)
        if self.grown:
            self._allocator = make_allocator(parts.trt, self.grown)
            for name in self.grown:
                self._context.set_output_allocator(name, self._allocator)

    def set_address(self, name: str, address: int) -> None:
        if not self._context.set_tensor_address(name, address):
            raise BackendError(f"binding {name}", why=self._parts.log.why("TensorRT refused it"))

    def _enqueue(self, index: int) -> bool:
        """Enqueue one inference on a set of inputs; whether TensorRT took it."""
        if len(self.sets) > 1:
            for name, buffer in self.sets[index].items():
                self._context.set_tensor_address(name, buffer.address)
        return bool(self._context.execute_async_v3(int(self.compute_stream)))

    def h2d(self, index: int = 0) -> list[Callable[[], Any]]:
        """Return the copies of one set of inputs, on the input stream."""
        return self._copies(self.sets[index].values(), self.input_stream)

    def d2h(self) -> list[Callable[[], Any]]:
        """Return the copies of the outputs, on the output stream."""
        return self._copies(self.outputs.values(), self.output_stream)

    @staticmethod
    def _copies(buffers: Any, stream: Any) -> list[Callable[[], Any]]:
        made = (one.copy(stream) for one in buffers)
        return [one for one in made if one is not None]

    def request(self) -> None:
        """Answer one request, copies included, and wait for it."""
        cuda = self._parts.cuda
        for copy in self.h2d():
            cuda.check(copy(), "copying the inputs")
        cuda.wait(self.input_stream, "copying the inputs")
        launch, arguments = self.launches[0]
        if refused(launch(*arguments)):
            raise self.failure()
        cuda.wait(self.compute_stream, "running the engine")
        for copy in self.d2h():
            cuda.check(copy(), "copying the outputs")
        cuda.wait(self.output_stream, "copying the outputs")

    def failure(self) -> BaseException:
        why = self._parts.log.why("TensorRT gave no reason")
        if is_out_of_memory(why):
            return MemoryError(f"enqueueing an inference: {why}")
        return BackendError("enqueueing an inference", why=why)

    def settle(self) -> None:
        """After the first request: give outputs of unknown shape a host side, capture graphs."""
        parts = self._parts
        by_name = {one.name: one for one in parts.tensors}
        for name, memory in self.grown.items():
            if memory.shape is not None:
                tensor, where = by_name[name], memory.address
                self.outputs[name] = parts.buffer(tensor, memory.shape, where)
        if parts.mode.cuda_graph is not False:
            self._capture_all()

    def _capture_all(self) -> None:
        cuda, made = self._parts.cuda, []
        for index in range(len(self.sets)):
            self._enqueue(index)  # once outside: lazy initialization cannot be captured
            cuda.wait(self.compute_stream, "running the engine")
            captured = capture(cuda, partial(self._enqueue, index), self.compute_stream)
            if captured.graph is None:
                self.why_no_graph = captured.why_not
                return
            made.append((cuda.runtime.cudaGraphLaunch, (captured.graph, self.compute_stream)))
        self.launches = made

    def close(self) -> None:
        """Let go of the context: it is destroyed while its streams are still there."""
        self.launches = []
        self._context = self._allocator = None

    def answers(self) -> tuple[TensorValues, ...]:
        cuda = self._parts.cuda
        for copy in self.d2h():
            cuda.check(copy(), "copying the outputs")
        cuda.wait(self.output_stream, "copying the outputs")
        return tuple(values_of(one.tensor, one.shape, one.host) for one in self.outputs.values())


class Origin:
    """An event and a reading of the host's clock, taken together before the warm-up.

    Attributes:
        ns: The host's clock when `event` was recorded on an idle stream.
    """

    def __init__(self, cuda: Cuda, lanes: Sequence[InferenceStream]) -> None:
        rt, stream = cuda.runtime, lanes[0].compute_stream
        self.event = cuda.event(spin=True)
        cuda.wait(stream, "starting the clocks")
        cuda.check(rt.cudaEventRecord(self.event, stream), "starting the clocks")
        self.ns = perf_counter_ns()
        cuda.check(rt.cudaEventSynchronize(self.event), "starting the clocks")

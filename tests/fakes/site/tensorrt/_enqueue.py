"""One enqueue: what it checks, and the work that it puts on the stream."""

from typing import Any

from fake_device.crash import crash
from fake_device.device import DEVICE
from fake_device.errors import Error
from fake_device.settings import compute_ns, event_ns, faulty
from fake_device.timeline import Node, Stream
from tensorrt import _model
from tensorrt._values import Dims
from tensorrt._version import MAJOR

_ALIGNMENT = 256


class Enqueue:
    def __init__(self, context: Any, stream_handle: int) -> None:
        self._context = context
        self._engine = context._engine
        self._execution = context._engine._execution
        self._stream = DEVICE.stream(stream_handle)
        self._shapes = dict(context._shapes)
        self._addresses = dict(context._addresses)

    def run(self) -> bool:
        """Return whether the work was taken."""
        if faulty("crash_run"):
            crash()
        stream, context = self._stream, self._context
        if stream is None:
            return self._fail("the stream handle is invalid")
        if DEVICE.timeline.failed is not None:
            return self._fail(f"Cuda Runtime ({DEVICE.timeline.failed.name})")
        if faulty("execute_fails"):
            context._error(
                "1: [convolutionRunner.cpp::execute::391] Error Code 1: Cask (Cask convolution "
                "execution)"
            )
            return False
        if not self._sound():
            return False
        if faulty("illegal_address"):
            DEVICE.timeline.fails_next_wait = Error.cudaErrorIllegalAddress
        if stream.capture is not None and not self._capturable(stream):
            return False
        if self._engine._dependent & set(self._engine._order):
            return self._run_dependent(stream)
        self._put(stream, Node(compute_ns(), self._compute))
        return True

    def _fail(self, why: str) -> bool:
        return self._context._check_failed("enqueueV3", why)

    def _sound(self) -> bool:
        missing = self._context._missing_shapes()
        if missing:
            return self._fail(
                "allInputDimensionsSpecified(routine). Not all input dimensions are specified for "
                f"the engine: {missing[0]}"
            )
        for name, io in self._engine._io.items():
            allocator = not io["input"] and self._context._allocators.get(name) is not None
            if not self._addresses.get(name) and not allocator:
                return self._fail(
                    "mContext.profileObliviousBindings.at(profileObliviousIndex) || "
                    "getPtrOrNull(mOutputAllocators, profileObliviousIndex). Neither address or "
                    f"allocator is set for tensor {name}"
                )
        return True

    def _capturable(self, stream: Stream) -> bool:
        """Whether a graph can hold it; a stream that is captured is spoilt if not."""
        dependent = bool(self._engine._dependent & set(self._engine._order))
        profiled = self._context._profiler is not None and self._context.enqueue_emits_profile
        if not (faulty("graph_refused") or dependent or profiled):
            return True
        stream.invalidated = True
        self._context._error(
            "1: [genericReformat.cuh] Error Code 1: Cuda Runtime (operation not permitted when "
            "stream is capturing)"
        )
        return faulty("graph_refused") and not dependent  # then it is the stream that tells

    # work of known shapes

    def _compute(self) -> Error | None:
        """Read the inputs, compute, write the outputs: when the work's time has come."""
        feeds = {}
        for name, io in self._engine._io.items():
            if not io["input"]:
                continue
            address, shape = self._addresses[name], self._shapes[name]
            if not self._reachable(name, address, shape):
                return Error.cudaErrorIllegalAddress
            feeds[name] = self._execution.read(name, address, shape)
        for name, array in self._execution.run(feeds).items():
            address = self._addresses.get(name)
            if self._context._allocators.get(name) is not None:
                continue  # it has its own memory
            if not self._reachable(name, address, array.shape):
                return Error.cudaErrorIllegalAddress
            self._execution.write(name, address, array)
        return None

    def _reachable(self, name: str, address: int, shape: tuple[int, ...]) -> bool:
        size = self._execution.nbytes(name, shape)
        io = self._engine._io[name]
        if io["host"] and io["input"]:
            return DEVICE.memory.on_host(address, size)
        return DEVICE.memory.on_device(address, size)

    # work whose output shapes only the values tell

    def _run_dependent(self, stream: Stream) -> bool:
        """Wait for the inputs, compute, and ask for memory of the outputs' size."""
        timeline = DEVICE.timeline
        timeline.wait_for_gate(stream)
        if timeline.wait_until(stream.cursor_ns) is not None:
            return self._fail("Cuda Runtime (an earlier error)")
        feeds = {
            name: self._execution.read(name, self._addresses[name], self._shapes[name])
            for name, io in self._engine._io.items()
            if io["input"]
        }
        found = self._execution.run(feeds)
        for name, array in found.items():
            address = self._place(name, array, stream)
            if not address:
                self._context._error(
                    f"2: [executionContext.cpp] Error Code 2: OutOfMemory (the output allocator "
                    f"gave no memory for {name})"
                )
                return False
            self._addresses[name] = address
        addresses = dict(self._addresses)

        def write() -> Error | None:
            for name, array in found.items():
                if not self._reachable(name, addresses[name], array.shape):
                    return Error.cudaErrorIllegalAddress
                self._execution.write(name, addresses[name], array)
            return None

        self._put(stream, Node(compute_ns(), write))
        return True

    def _place(self, name: str, array: Any, stream: Stream) -> int | None:
        allocator = self._context._allocators.get(name)
        if allocator is None:
            return self._addresses.get(name)
        size = max(self._execution.nbytes(name, array.shape), 1)
        address = self._addresses.get(name, 0)
        if MAJOR >= 10:
            given = allocator.reallocate_output_async(
                name, address, size, _ALIGNMENT, stream.handle
            )
        else:
            given = allocator.reallocate_output(name, address, size, _ALIGNMENT)
        allocator.notify_shape(name, Dims(array.shape))
        return given

    # what follows

    def _put(self, stream: Stream, node: Node) -> None:
        context = self._context
        layers = max(len(context._engine._model.graph.node), 1)
        if context._profiler is not None:
            node.duration_ns += layers * event_ns()
        DEVICE.timeline.enqueue(stream, node)
        if context._profiler is None:
            return
        report = _Report(context, node.duration_ns)
        context._unreported = stream, report
        if context.enqueue_emits_profile and stream.capture is None:
            DEVICE.timeline.wait_for_gate(stream)
            DEVICE.timeline.wait_until(stream.cursor_ns)
            report()


class _Report:
    """The times of one execution's layers: equal shares of the whole."""

    def __init__(self, context: Any, duration_ns: int) -> None:
        self._context, self._duration_ns = context, duration_ns

    def __call__(self) -> None:
        nodes = self._context._engine._model.graph.node
        share = self._duration_ns / 1e6 / max(len(nodes), 1)
        for node in nodes:
            self._context._profiler.report_layer_time(_model.name_of(node), share)

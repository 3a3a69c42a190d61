"""An execution context: shapes, addresses, and what an enqueue checks and puts on a stream."""

from functools import partial
from typing import Any

from fake_device.device import DEVICE
from fake_device.handles import cudaError_t
from fake_device.settings import compute_ns, crash, event_ns, faulty
from fake_device.timeline import Node, Stream
from tensorrt import _model
from tensorrt._base import MAJOR, Dims, Made, Setting, dims_of, need
from tensorrt._callbacks import IOutputAllocator, IProfiler


class IExecutionContext(Made):
    def __init__(self, engine: Any, reserved: int) -> None:
        self._engine, self._logger, self._reserved = engine, engine._logger, reserved
        self._profile = 0
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._addresses: dict[str, int] = {}
        self._allocators: dict[str, Any] = {}
        self._inferred: tuple[Any, dict[str, tuple[int, ...]]] | None = None
        self._values: dict[str, Any] = {}
        self._profiler: Any = None
        self._unreported: Any = None
        for one in engine._facts["io"]:
            if one["input"] and -1 not in one["shape"]:
                self._shapes[one["name"]] = tuple(one["shape"])

    def __del__(self) -> None:
        self._engine._memory.used -= self._reserved

    active_optimization_profile = property(lambda self: self._profile)
    enqueue_emits_profile = Setting(bool, True)
    persistent_cache_limit = Setting(int, 0)

    @property
    def profiler(self) -> Any:
        return self._profiler

    @profiler.setter
    def profiler(self, value: Any) -> None:
        need("profiler", (value, (IProfiler, type(None))))
        if value is None and MAJOR < 10:
            self._check_failed("setProfiler", "(profiler) != nullptr")
            return
        self._profiler = value

    def _check_failed(self, method: str, condition: str) -> bool:
        """Log a refused argument in the words of the version; return false."""
        if MAJOR >= 10:
            self._error(
                f"IExecutionContext::{method}: Error Code 3: API Usage Error (Parameter check "
                f"failed, condition: {condition})"
            )
        else:
            at = f"executionContext.cpp::{method}::2309"
            self._error(
                f"3: [{at}] Error Code 3: API Usage Error (Parameter check failed at: "
                f"runtime/api/{at}, condition: {condition})"
            )
        return False

    # profiles and shapes

    def set_optimization_profile_async(self, profile_index: int, stream_handle: int) -> bool:
        need("set_optimization_profile_async", (profile_index, int), (stream_handle, int))
        count = self._engine.num_optimization_profiles
        if not 0 <= profile_index < count:
            return self._check_failed(
                "setOptimizationProfileAsync",
                f"profileIndex >= 0 && profileIndex < {count}. Invalid index {profile_index}",
            )
        self._profile = profile_index
        for one in self._engine._facts["io"]:  # dynamic shapes are forgotten
            if -1 in one["shape"]:
                self._shapes.pop(one["name"], None)
        return True

    def set_input_shape(self, name: str, shape: Any) -> bool:
        need("set_input_shape", (name, str))
        wanted = dims_of("set_input_shape", shape)
        found = self._engine._io.get(name)
        if found is None or not found["input"]:
            return self._check_failed("setInputShape", f"{name} is not an input tensor")
        engine_dims = found["shape"]
        if len(engine_dims) != len(wanted) or any(
            one not in (-1, other) for one, other in zip(engine_dims, wanted, strict=True)
        ):
            return self._check_failed(
                "setInputShape",
                "engineDims.d[i] == dims.d[i]. Static dimension mismatch while setting input shape "
                f"for {name}. Set dimensions are {list(wanted)}. Expected dimensions are "
                f"{engine_dims}.",
            )
        if not self._fits(name, wanted):
            return False
        self._shapes[name] = wanted
        return True

    def _fits(self, name: str, wanted: tuple[int, ...]) -> bool:
        if not self._engine._facts["profiles"]:
            return True
        span = self._engine._span(self._profile, "shapes", name)
        if span is None:
            return True
        low, _, high = span
        if all(a <= b <= c for a, b, c in zip(low, wanted, high, strict=True)):
            return True
        return self._check_failed(
            "setInputShape",
            "satisfyProfile. Runtime dimension does not satisfy any optimization profile. Set "
            f"dimension {list(wanted)} for tensor {name} does not satisfy any optimization "
            f"profiles. Valid range for profile {self._profile}: {list(low)}..{list(high)}.",
        )

    def _host_inputs(self) -> list[str]:
        return [one["name"] for one in self._engine._facts["io"] if one["host"] and one["input"]]

    def _missing_shapes(self) -> list[str]:
        inputs = [one["name"] for one in self._engine._facts["io"] if one["input"]]
        unbound = [name for name in self._host_inputs() if not self._addresses.get(name)]
        return [name for name in inputs if name not in self._shapes or name in unbound]

    def infer_shapes(self) -> list[str]:
        missing = self._missing_shapes()
        if not missing:
            self._infer()
        return missing

    def _infer(self) -> dict[str, tuple[int, ...]]:
        """Return the outputs' shapes; −1 where only values decide."""
        execution = self._engine._execution
        values = {
            name: execution.read(name, self._addresses[name], self._shapes[name])
            for name in self._host_inputs()
        }
        key = (tuple(sorted(self._shapes.items())), {n: v.tobytes() for n, v in values.items()})
        if self._inferred is None or self._inferred[0] != key:
            found = execution.shapes(self._shapes, values)
            dependent = self._engine._dependent
            masked = {
                name: tuple(
                    -1 if name in dependent and known == -1 else size
                    for size, known in zip(shape, self._engine._io[name]["shape"], strict=True)
                )
                for name, shape in found.items()
            }
            self._inferred = key, masked
        return self._inferred[1]

    def get_tensor_shape(self, name: str) -> Dims:
        found = self._engine._tensor("getTensorShape", name)
        if found is None:
            return Dims([])
        if found["input"]:
            return Dims(self._shapes.get(name, found["shape"]))
        return Dims(found["shape"] if self._missing_shapes() else self._infer()[name])

    # addresses

    def set_tensor_address(self, name: str, memory: int) -> bool:
        need("set_tensor_address", (memory, int))
        if self._engine._tensor("setTensorAddress", name) is None:
            return False
        self._addresses[name] = memory
        return True

    def set_output_allocator(self, name: str, output_allocator: Any) -> bool:
        need("set_output_allocator", (output_allocator, (IOutputAllocator, type(None))))
        found = self._engine._tensor("setOutputAllocator", name)
        if found is None or found["input"]:
            return False
        self._allocators[name] = output_allocator
        return True

    # work

    def execute_async_v3(self, stream_handle: int) -> bool:
        need("execute_async_v3", (stream_handle, int))
        return Enqueue(self, stream_handle).run()

    def report_to_profiler(self) -> bool:
        if self._profiler is None or self._unreported is None:
            return self._check_failed("reportToProfiler", "mProfiler != nullptr")
        stream, report = self._unreported
        if stream.destroyed:
            raise AssertionError(
                "report_to_profiler after the stream is destroyed: the real one ends by SIGSEGV"
            )
        if DEVICE.timeline.wait_until(stream.cursor_ns) is not None:
            return False
        report()
        return True


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
            DEVICE.timeline.fails_next_wait = cudaError_t.cudaErrorIllegalAddress
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

    def _compute(self) -> cudaError_t | None:
        """Read the inputs, compute, write the outputs: when the work's time has come."""
        feeds = {}
        for name, io in self._engine._io.items():
            if not io["input"]:
                continue
            address, shape = self._addresses[name], self._shapes[name]
            if not self._reachable(name, address, shape):
                return cudaError_t.cudaErrorIllegalAddress
            feeds[name] = self._execution.read(name, address, shape)
        # an output with an allocator has its own memory
        own = {name for name, one in self._context._allocators.items() if one is not None}
        found = self._execution.run(feeds)
        return self._write({name: found[name] for name in found.keys() - own}, self._addresses)

    def _write(self, arrays: Any, addresses: dict[str, int]) -> cudaError_t | None:
        for name, array in arrays.items():
            if not self._reachable(name, addresses.get(name), array.shape):
                return cudaError_t.cudaErrorIllegalAddress
            self._execution.write(name, addresses[name], array)
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
        write = partial(self._write, found, dict(self._addresses))
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
        share = node.duration_ns / 1e6 / layers

        def report() -> None:  # equal shares of the whole
            for layer in context._engine._model.graph.node:
                context._profiler.report_layer_time(_model.name_of(layer), share)

        context._unreported = stream, report
        if context.enqueue_emits_profile and stream.capture is None:
            DEVICE.timeline.wait_for_gate(stream)
            DEVICE.timeline.wait_until(stream.cursor_ns)
            report()

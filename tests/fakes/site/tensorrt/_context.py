"""An execution context: shapes, addresses, and work on a stream."""

from typing import Any

from fake_device.device import DEVICE
from tensorrt._bound import Made, need, setting
from tensorrt._callbacks import IOutputAllocator, IProfiler
from tensorrt._enqueue import Enqueue
from tensorrt._enums import ALL
from tensorrt._logger import ILogger
from tensorrt._values import Dims, dims_of
from tensorrt._version import MAJOR


class IExecutionContext(Made):
    def __init__(self, engine: Any, reserved: int) -> None:
        self._engine, self._reserved = engine, reserved
        self._profile = 0
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._addresses: dict[str, int] = {}
        self._allocators: dict[str, Any] = {}
        self._inferred: tuple[Any, dict[str, tuple[int, ...]]] | None = None
        self._values: dict[str, Any] = {}
        self._profiler: Any = None
        self._unreported: Any = None
        self._name = ""
        for one in engine._facts["io"]:
            if one["input"] and -1 not in one["shape"]:
                self._shapes[one["name"]] = tuple(one["shape"])

    def __del__(self) -> None:
        DEVICE.memory.give_back(getattr(self, "_reserved", 0))

    # what is plain

    engine = property(lambda self: self._engine)
    active_optimization_profile = property(lambda self: self._profile)

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

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

    def _error(self, text: str) -> None:
        self._engine._logger.log(ILogger.ERROR, text)

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


for _name, _kind, _default in (
    ("enqueue_emits_profile", bool, True),
    ("debug_sync", bool, False),
    ("persistent_cache_limit", int, 0),
    ("device_memory", int, 0),
    ("nvtx_verbosity", ALL["ProfilingVerbosity"], ALL["ProfilingVerbosity"].LAYER_NAMES_ONLY),
    ("temporary_allocator", object, None),
    ("error_recorder", object, None),
):
    setattr(IExecutionContext, _name, setting(_name, _kind, _default))

"""An engine: what a plan says of itself."""

from typing import Any

from fake_device.device import DEVICE
from fake_device.settings import faulty
from tensorrt import _io, _model
from tensorrt._bound import Made, need
from tensorrt._enums import ALL
from tensorrt._execution import Execution
from tensorrt._inspector import EngineInspector
from tensorrt._logger import ILogger
from tensorrt._values import DataType, Dims, IHostMemory
from tensorrt._version import MAJOR

TensorIOMode = ALL["TensorIOMode"]
TensorLocation = ALL["TensorLocation"]
Strategy = ALL.get("ExecutionContextAllocationStrategy")


class _Engine(Made):
    def __init__(self, facts: dict[str, Any], model: Any, data: bytes, logger: Any) -> None:
        self._facts, self._model, self._data, self._logger = facts, model, data, logger
        self._io = {one["name"]: one for one in facts["io"]}
        self._order = list(self._io)
        self._execution = Execution(model, facts["io"], facts["precisions"])
        self._budget = self._streamable
        self._dependent = _model.data_dependent(model)

    def __del__(self) -> None:
        if hasattr(self, "_facts"):
            DEVICE.memory.give_back(self._facts["weight_bytes"])

    def _error(self, text: str) -> None:
        self._logger.log(ILogger.ERROR, text)

    def _tensor(self, method: str, name: str) -> dict[str, Any] | None:
        need(method, (name, str))
        found = self._io.get(name)
        if found is None:
            self._error(
                f"3: [engine.cpp::{method}] Error Code 3: Internal Error (Given invalid tensor "
                f"name: {name}. Get valid tensor names with getIOTensorName())"
            )
        return found

    @property
    def _streamable(self) -> int:
        return self._facts["weight_bytes"] if "WEIGHT_STREAMING" in self._facts["flags"] else 0

    _compatible = property(lambda self: "VERSION_COMPATIBLE" in self._facts["flags"])

    def _span(self, profile: int, key: str, name: str) -> list[tuple[int, ...]] | None:
        found = self._facts["profiles"][profile][key].get(name)
        return None if found is None else [tuple(one) for one in found]


class ICudaEngine(_Engine):
    name = property(lambda self: self._facts["name"])
    num_io_tensors = property(lambda self: len(self._order))
    num_layers = property(lambda self: len(self._model.graph.node))
    num_optimization_profiles = property(lambda self: max(len(self._facts["profiles"]), 1))
    num_aux_streams = property(lambda self: self._facts["aux_streams"])
    refittable = property(lambda self: "REFIT" in self._facts["flags"])
    tactic_sources = property(lambda self: self._facts["tactic_sources"])
    engine_capability = property(lambda _: ALL["EngineCapability"].STANDARD)
    has_implicit_batch_dimension = property(lambda _: False)
    profiling_verbosity = property(
        lambda self: getattr(ALL["ProfilingVerbosity"], self._facts["verbosity"])
    )
    hardware_compatibility_level = property(
        lambda self: getattr(ALL["HardwareCompatibilityLevel"], self._facts["hardware"])
    )
    device_memory_size = property(lambda self: self._facts["activation_bytes"])
    device_memory_size_v2 = property(lambda self: self._facts["activation_bytes"])
    streamable_weights_size = property(lambda self: self._streamable)

    @property
    def weight_streaming_budget_v2(self) -> int:
        return self._budget

    @weight_streaming_budget_v2.setter
    def weight_streaming_budget_v2(self, value: int) -> None:
        need("weight_streaming_budget_v2", (value, int))
        self._budget = min(max(value, 0), self._streamable)

    def get_weight_streaming_automatic_budget(self) -> int:
        return self._streamable

    def get_engine_stat(self, stat: Any) -> int:
        need("get_engine_stat", (stat, ALL.get("EngineStat", object)))
        is_there = stat.name == "TOTAL_WEIGHTS_SIZE" or "STRIP_PLAN" in self._facts["flags"]
        return self._facts["weight_bytes"] if is_there else 0

    def get_tensor_name(self, index: int) -> str:
        need("get_tensor_name", (index, int))
        return self._order[index]

    def __getitem__(self, index: int) -> str:
        if not -len(self._order) <= index < len(self._order):
            raise IndexError("Out of bounds")
        return self._order[index]

    def get_tensor_mode(self, name: str) -> Any:
        found = self._tensor("getTensorIOMode", name)
        if found is None:
            return TensorIOMode.NONE
        return TensorIOMode.INPUT if found["input"] else TensorIOMode.OUTPUT

    def get_tensor_shape(self, name: str) -> Dims:
        found = self._tensor("getTensorShape", name)
        return Dims([] if found is None else found["shape"])

    def get_tensor_dtype(self, name: str) -> Any:
        found = self._tensor("getTensorDataType", name)
        return DataType.FLOAT if found is None else getattr(DataType, found["dtype"])

    def get_tensor_location(self, name: str) -> Any:
        found = self._tensor("getTensorLocation", name)
        host = found is not None and found["host"] and found["input"]
        return TensorLocation.HOST if host else TensorLocation.DEVICE

    def get_tensor_format(self, name: str, profile_index: int = 0) -> Any:
        found = self._tensor("getTensorFormat", name)
        return getattr(ALL["TensorFormat"], "LINEAR" if found is None else found["format"])

    def get_tensor_format_desc(self, name: str, profile_index: int = 0) -> str:
        found = self._tensor("getTensorFormatDesc", name)
        return "" if found is None else _io.describe(found["format"], found["dtype"])

    def get_tensor_vectorized_dim(self, name: str, profile_index: int = 0) -> int:
        found = self._tensor("getTensorVectorizedDim", name)
        return 1 if found is not None and _io.width(found["format"]) > 1 else -1

    def get_tensor_components_per_element(self, name: str, profile_index: int = 0) -> int:
        found = self._tensor("getTensorComponentsPerElement", name)
        wide = 1 if found is None else _io.width(found["format"])
        return wide if wide > 1 else -1

    def get_tensor_profile_shape(self, name: str, profile_index: int) -> list[Dims]:
        need("get_tensor_profile_shape", (name, str), (profile_index, int))
        if not 0 <= profile_index < self.num_optimization_profiles:
            raise IndexError("profile index out of range")
        found = self._tensor("getProfileShape", name)
        span = self._span(profile_index, "shapes", name) if self._facts["profiles"] else None
        return [Dims(one) for one in span or [tuple(found["shape"])] * 3]

    def get_tensor_profile_values(self, name: int, profile_index: str) -> list[list[int]]:
        # so they are bound: the profile's index first, under the name of the other
        need("get_tensor_profile_values", (name, int), (profile_index, str))
        span = self._span(name, "values", profile_index) if self._facts["profiles"] else None
        return [list(one) for one in span or ()]

    def serialize(self) -> IHostMemory:
        return IHostMemory(self._data)

    def create_execution_context(self, strategy: Any = None) -> Any:
        from tensorrt._context import IExecutionContext

        if strategy is not None and (Strategy is None or MAJOR < 10):
            need("create_execution_context", (strategy, type(None)))
        if strategy is not None:
            need("create_execution_context", (strategy, Strategy))
        is_ours = strategy is None or strategy.name != "USER_MANAGED"
        taken = self._facts["activation_bytes"] if is_ours else 0
        if faulty("oom_context") or not DEVICE.memory.reserve(taken):
            self._error(
                "1: [defaultAllocator.cpp::allocate::19] Error Code 1: Cuda Runtime (out of memory)"
            )
            self._error(
                "2: [executionContext.cpp::ExecutionContext::410] Error Code 2: OutOfMemory (no "
                "further information)"
            )
            return None
        return IExecutionContext(self, taken)

    def create_engine_inspector(self) -> EngineInspector | None:
        return None if self._compatible else EngineInspector(self)

    # bindings: in version 8 only; the others lose these names

    def get_binding_index(self, name: str) -> int:
        need("get_binding_index", (name, str))
        return self._order.index(name) if name in self._io else -1

    def get_binding_name(self, index: int) -> str:
        need("get_binding_name", (index, int))
        return self._order[index % len(self._order)]

    def get_profile_shape_input(self, profile_index: int, binding: int | str) -> list[list[int]]:
        need("get_profile_shape_input", (profile_index, int), (binding, (int, str)))
        name = binding if isinstance(binding, str) else self.get_binding_name(binding)
        if not self._io[name]["host"]:
            raise RuntimeError("the binding is not an input shape tensor")
        return [list(one) for one in self._span(profile_index, "values", name) or ()]

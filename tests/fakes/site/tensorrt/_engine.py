"""An engine and its inspector: what a plan says of itself, in the JSON of the version."""

import json
from typing import Any

from fake_device.device import DEVICE
from fake_device.settings import faulty
from tensorrt import _execution, _model
from tensorrt._base import ALL, MAJOR, DataType, Dims, Made, need
from tensorrt._context import IExecutionContext

LayerInformationFormat = ALL["LayerInformationFormat"]


class EngineInspector(Made):
    """Tells layers; shapes are those of the context that is attached."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._context: Any = None
        self._known = _model.value_dims(engine._model, {})

    @property
    def execution_context(self) -> Any:
        return self._context

    @execution_context.setter
    def execution_context(self, context: Any) -> None:
        need("execution_context", (context, (IExecutionContext, type(None))))
        self._context = context
        self._known = _model.value_dims(self._engine._model, context._shapes if context else {})

    def get_engine_information(self, format: Any) -> str:  # noqa: A002
        need("get_engine_information", (format, LayerInformationFormat))
        layers = [self._layer(at) for at in range(self._engine.num_layers)]
        if format == LayerInformationFormat.ONELINE:
            lines = [one if isinstance(one, str) else _one_line(one) for one in layers]
            return "\n".join(lines) + "\n"
        whole: dict[str, Any] = {"Layers": layers}
        if MAJOR >= 11:
            whole["I/O Tensors"] = [self._io_tensor(one) for one in self._engine._order]
            whole["ProfilingVerbosity"] = self._engine._facts["verbosity"]
        else:
            whole["Bindings"] = list(self._engine._order)
        return json.dumps(whole, indent=2, ensure_ascii=False)

    def _layer(self, index: int) -> Any:
        verbosity = self._engine._facts["verbosity"]
        node = self._engine._model.graph.node[index]
        name = _model.name_of(node)
        if verbosity in ("NONE", "LAYER_NAMES_ONLY", "DEFAULT"):
            return "" if verbosity == "NONE" else name
        return {
            "Name": name,
            "LayerType": node.op_type,
            "Inputs": [self._tensor(one) for one in node.input if self._is_activation(one)],
            "Outputs": [self._tensor(one) for one in node.output],
            "ParameterType": node.op_type,
            "TacticValue": "0x0000000000000000",
            "StreamId": 0,
            "Metadata": f"[ONNX Layer: {name}]",
        }

    def _is_activation(self, name: str) -> bool:
        weights = {one.name for one in self._engine._model.graph.initializer}
        return bool(name) and name not in weights

    def _tensor(self, name: str) -> dict[str, Any]:
        dtype, layout = self._type_of(name)
        told: dict[str, Any] = {"Name": name, "Dimensions": self._dims(name)}
        if MAJOR >= 11:
            return told | {"Format": layout, "Datatype": dtype.capitalize()}
        return told | {"Location": "Device", "Format/Datatype": _execution.describe(layout, dtype)}

    def _type_of(self, name: str) -> tuple[str, str]:
        io = self._engine._io.get(name)
        if io is not None:
            return io["dtype"], io["format"]
        return "HALF" if "FP16" in self._engine._facts["precisions"] else "FLOAT", "LINEAR"

    def _dims(self, name: str) -> list[int]:
        if self._context is not None and name in self._engine._io:
            return list(self._context.get_tensor_shape(name))
        return self._known.get(name, [])

    def _io_tensor(self, name: str) -> dict[str, Any]:
        io = self._engine._io[name]
        described = _execution.describe(io["format"], io["dtype"])
        spans = [one["shapes"].get(name) for one in self._engine._facts["profiles"]]
        static = [io["shape"]] * 3
        words = ("MinShape", "OptShape", "MaxShape")
        return {
            "Name": name,
            "IOMode": "Input" if io["input"] else "Output",
            "DataType": io["dtype"].capitalize(),
            "Dimensions": self._dims(name),
            "Location": "Host" if io["host"] else "Device",
            "IsShapeInferenceIO": io["host"],
            "ProfileInfo": [
                dict(zip(words, map(list, span or static), strict=True)) | {"Format": described}
                for span in spans or [None]
            ],
        }


def _one_line(layer: dict[str, Any]) -> str:
    inputs = ", ".join(one["Name"] for one in layer["Inputs"])
    outputs = ", ".join(one["Name"] for one in layer["Outputs"])
    return f"{layer['LayerType']}({layer['Name']}), Inputs: {inputs}, Outputs: {outputs}"


TensorIOMode = ALL["TensorIOMode"]
TensorLocation = ALL["TensorLocation"]
Strategy = ALL.get("ExecutionContextAllocationStrategy")


class _Engine(Made):
    def __init__(self, facts: dict[str, Any], model: Any, logger: Any) -> None:
        self._facts, self._model, self._logger = facts, model, logger
        self._memory = DEVICE.memory
        self._io = {one["name"]: one for one in facts["io"]}
        self._order = list(self._io)
        self._execution = _execution.Execution(model, facts["io"], facts["precisions"])
        self._budget = self._streamable
        self._dependent = _model.data_dependent(model)

    def __del__(self) -> None:
        if hasattr(self, "_facts"):
            self._memory.used -= self._facts["weight_bytes"]

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
    num_io_tensors = property(lambda self: len(self._order))
    num_layers = property(lambda self: len(self._model.graph.node))
    num_optimization_profiles = property(lambda self: max(len(self._facts["profiles"]), 1))
    num_aux_streams = property(lambda self: self._facts["aux_streams"])
    refittable = property(lambda self: "REFIT" in self._facts["flags"])
    has_implicit_batch_dimension = property(lambda _: False)
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
        return "" if found is None else _execution.describe(found["format"], found["dtype"])

    def get_tensor_vectorized_dim(self, name: str, profile_index: int = 0) -> int:
        found = self._tensor("getTensorVectorizedDim", name)
        return 1 if found is not None and _execution.width(found["format"]) > 1 else -1

    def get_tensor_components_per_element(self, name: str, profile_index: int = 0) -> int:
        found = self._tensor("getTensorComponentsPerElement", name)
        wide = 1 if found is None else _execution.width(found["format"])
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

    def create_execution_context(self, strategy: Any = None) -> Any:
        if strategy is not None and (Strategy is None or MAJOR < 10):
            need("create_execution_context", (strategy, type(None)))
        if strategy is not None:
            need("create_execution_context", (strategy, Strategy))
        is_ours = strategy is None or strategy.name != "USER_MANAGED"
        taken = self._facts["activation_bytes"] if is_ours else 0
        if faulty("oom_context") or not self._memory.reserve(taken):
            self._out_of_memory("executionContext.cpp::ExecutionContext::410")
            return None
        return IExecutionContext(self, taken)

    def create_engine_inspector(self) -> EngineInspector | None:
        return None if self._compatible else EngineInspector(self)

    # bindings: in version 8 only; the others lose these names

    def get_binding_index(self, name: str) -> int:
        need("get_binding_index", (name, str))
        return self._order.index(name) if name in self._io else -1

    def get_profile_shape_input(self, profile_index: int, binding: int) -> list[list[int]]:
        need("get_profile_shape_input", (profile_index, int), (binding, int))
        name = self._order[binding]
        if not self._io[name]["host"]:
            raise RuntimeError("the binding is not an input shape tensor")
        return [list(one) for one in self._span(profile_index, "values", name) or ()]

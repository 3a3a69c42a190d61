"""The engine inspector: a layer per node, in the JSON of the version."""

import json
from typing import Any

from tensorrt import _io, _model
from tensorrt._bound import Made, need
from tensorrt._enums import ALL
from tensorrt._version import MAJOR

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
        from tensorrt._context import IExecutionContext

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
        return told | {"Location": "Device", "Format/Datatype": _io.describe(layout, dtype)}

    def _type_of(self, name: str) -> tuple[str, str]:
        io = self._engine._io.get(name)
        if io is not None:
            return io["dtype"], io["format"]
        half = "FP16" in self._engine._facts["precisions"]
        return "HALF" if half else "FLOAT", "LINEAR"

    def _dims(self, name: str) -> list[int]:
        if self._context is not None and name in self._engine._io:
            return list(self._context.get_tensor_shape(name))
        return self._known.get(name, [])

    def _io_tensor(self, name: str) -> dict[str, Any]:
        io = self._engine._io[name]
        described = _io.describe(io["format"], io["dtype"])
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

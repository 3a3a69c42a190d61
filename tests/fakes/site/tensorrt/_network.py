"""The network: an ONNX model seen as layers and tensors, and its parser."""

from pathlib import Path
from typing import Any

import onnx
from fake_device.settings import faulty
from google.protobuf.message import DecodeError
from tensorrt import _model
from tensorrt._base import ALL, MAJOR, Bound, DataType, Dims, Made, Setting, need, number
from tensorrt._callbacks import ILogger

TensorFormat = ALL["TensorFormat"]
_ALL_FORMATS = sum(1 << value for value in {int(one) for one in TensorFormat.__members__.values()})


class ITensor(Made):
    def __init__(self, name: str, shape: list[int], dtype: Any, **flags: bool) -> None:
        self._name, self._shape, self._flags = name, shape, flags
        self._values = {"dtype": dtype}

    name = property(lambda self: self._name)
    shape = property(lambda self: Dims(self._shape))

    allowed_formats = Setting(int, _ALL_FORMATS)
    dtype = Setting(DataType, None) if MAJOR < 11 else property(lambda self: self._values["dtype"])

    is_network_input = property(lambda self: self._flags.get("is_input", False))
    is_shape_tensor = property(lambda self: self._flags.get("is_shape", False))


class ILayer(Made):
    def __init__(self, node: Any, dims: dict[str, list[int]]) -> None:
        self._node, self._dims = node, dims
        self._values: dict[Any, Any] = {}

    name = property(lambda self: _model.name_of(self._node))
    type = property(
        lambda self: getattr(ALL["LayerType"], _model.LAYERS.get(self._node.op_type, "ELEMENTWISE"))
    )
    num_inputs = property(lambda self: len(self._node.input))
    num_outputs = property(lambda self: len(self._node.output))

    def get_output(self, index: int) -> ITensor:
        name = self._node.output[index]
        return ITensor(name, self._dims.get(name, []), DataType.FLOAT)

    precision = Setting(DataType, DataType.FLOAT)
    precision_is_set = property(lambda self: "precision" in self._values)

    def set_output_type(self, index: int, dtype: Any) -> None:
        need("set_output_type", (index, int), (dtype, DataType))
        if not 0 <= index < self.num_outputs:
            raise IndexError("Out of bounds")
        self._values[index] = dtype

    def output_type_is_set(self, index: int) -> bool:
        return index in self._values

    def get_output_type(self, index: int) -> Any:
        return self._values.get(index, DataType.FLOAT)


class INetworkDefinition(Made):
    """Empty until a parser fills it."""

    def __init__(self, builder: Any, flags: int) -> None:
        self._builder, self._flags = builder, flags
        self._model: Any = None
        self._inputs: list[ITensor] = []
        self._outputs: list[ITensor] = []
        self._layers: list[ILayer] = []

    def _fill_inputs(self, model: Any) -> None:
        shapes = _model.shape_inputs(model)
        self._inputs = [
            ITensor(
                one.name,
                _model.dims_of_value(one),
                _model.type_of(one),
                is_input=True,
                is_shape=one.name in shapes,
            )
            for one in _model.inputs_of(model)
        ]

    def _fill(self, model: Any) -> None:
        dims, dependent = _model.value_dims(model, {}), _model.data_dependent(model)
        self._fill_inputs(model)
        self._model = model
        self._outputs = [
            ITensor(
                one.name,
                [-1] * len(dims[one.name])
                if one.name in dependent and -1 not in dims[one.name]
                else dims[one.name],
                _model.type_of(one),
            )
            for one in model.graph.output
        ]
        self._layers = [ILayer(node, dims) for node in model.graph.node]

    @property
    def _strongly_typed(self) -> bool:
        flag = number(ALL["NetworkDefinitionCreationFlag"], "STRONGLY_TYPED")
        return MAJOR >= 11 or (flag is not None and bool(self._flags >> flag & 1))

    name = "Unnamed Network 0"

    num_layers = property(lambda self: len(self._layers))
    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))

    def get_layer(self, index: int) -> ILayer:
        return self._at("get_layer", self._layers, index)

    def get_input(self, index: int) -> ITensor:
        return self._at("get_input", self._inputs, index)

    def get_output(self, index: int) -> ITensor:
        return self._at("get_output", self._outputs, index)

    def _at(self, method: str, things: list[Any], index: int) -> Any:
        need(method, (index, int))
        if 0 <= index < len(things):
            return things[index]
        if MAJOR >= 11:
            self._builder._error(f"INetworkDefinition::{method}: no index {index}")
        return None

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: int) -> ILayer:
        if not -len(self._layers) <= index < len(self._layers):
            raise IndexError("Out of bounds")
        return self._layers[index]


ErrorCode = ALL["ErrorCode"]
OnnxParserFlag = ALL.get("OnnxParserFlag")
MISSING_DOMAIN = "fake.missing"


class ParserError(Made):
    """One error: about a node, or about the file (node −1)."""

    def __init__(self, code: Any, desc: str, node: int = -1, what: Any = None) -> None:
        self._code, self._desc, self._node, self._what = code, desc, node, what

    def code(self) -> Any:
        return self._code

    def desc(self) -> str:
        return self._desc

    def node(self) -> int:
        return self._node

    def node_name(self) -> str:
        return _model.name_of(self._what) if self._what is not None else ""

    def node_operator(self) -> str:
        return self._what.op_type if self._what is not None else ""

    def __str__(self) -> str:
        where = "importFallbackPluginImporter" if self._node >= 0 else "deserializeOnnxModel"
        code = str(self._code).rpartition(".")[2]
        return f"In node {self._node} ({where}): {code}: {self._desc}"


class OnnxParser(Bound):
    def __init__(self, network: INetworkDefinition, logger: ILogger) -> None:
        need("OnnxParser", (network, INetworkDefinition), (logger, ILogger))
        self._network, self._logger = network, logger
        self._errors: list[ParserError] = []

    def parse_from_file(self, model: str) -> bool:
        need("parse_from_file", (model, str))
        try:
            found = onnx.load(model)
        except (DecodeError, OSError, ValueError) as error:
            if not Path(model).is_file():
                self._error(f"Could not open file {model}")
            missing = MAJOR >= 11 and not Path(model).is_file()
            return self._fail(
                "INVALID_VALUE" if missing else "MODEL_DESERIALIZE_FAILED",
                f"Failed to parse ONNX model from file: {model}! ({type(error).__name__})",
            )
        self._say("INFO", f"Input filename:   {model}")
        self._say("INFO", f"ONNX IR version:  0.0.{found.ir_version}")
        self._say("INFO", f"Producer name:    {found.producer_name}")
        return self._take(found)

    def _take(self, model: Any) -> bool:
        flag = number(ALL["NetworkDefinitionCreationFlag"], "EXPLICIT_BATCH")
        if MAJOR < 10 and not self._network._flags >> flag & 1:
            return self._fail(
                "INVALID_VALUE",
                "Assertion failed: !_importer_ctx.network()->hasImplicitBatchDimension() && "
                '"This version of the ONNX parser only supports TensorRT INetworkDefinitions with '
                "an explicit batch dimension. Please ensure the network was created using the "
                'EXPLICIT_BATCH NetworkDefinitionCreationFlag."',
            )
        nodes = list(enumerate(model.graph.node))
        bad = [(at, node) for at, node in nodes if node.domain == MISSING_DOMAIN]
        if faulty("plugin_missing"):
            bad = bad or nodes[-1:]
        for at, node in bad:
            self._refuse(at, node)
        untyped = [one.name for one in _model.inputs_of(model) if _model.type_of(one) is None]
        if untyped:
            return self._fail("UNSUPPORTED_GRAPH", f"Unsupported type of input {untyped[0]}")
        if bad:
            self._network._fill_inputs(model)
            return False
        self._network._fill(model)
        return True

    def _refuse(self, at: int, node: Any) -> None:
        kind = node.op_type
        text = f"No importer registered for op: {kind}. Attempting to import as plugin."
        self._say("INFO", text)
        text = f"Searching for plugin: {kind}, plugin_version: 1, plugin_namespace: "
        self._say("INFO", text)
        if MAJOR == 8:
            self._error(f"3: getPluginCreator could not find plugin: {kind} version: 1")
        desc = (
            'Assertion failed: creator && "Plugin not found, are the plugin name, version, and '
            'namespace correct?"'
        )
        desc += "\n" if MAJOR >= 10 else ""
        code = ErrorCode.UNSUPPORTED_NODE if MAJOR < 11 else ErrorCode.INVALID_NODE
        error = ParserError(code, desc, at, node)
        self._errors.append(error)
        self._error(
            f'ModelImporter.cpp:768: While parsing node number {at} [{kind} -> "{node.output[0]}"]:'
        )
        self._error(f"ModelImporter.cpp:771: ERROR: {error}")

    def _fail(self, code: str, desc: str) -> bool:
        self._errors.append(ParserError(getattr(ErrorCode, code), desc))
        self._error(desc)
        return False

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index: int) -> ParserError:
        need("get_error", (index, int))
        if MAJOR >= 11 and index >= len(self._errors):
            self._error(f"IParser::getError: there is no error {index}")
            return None
        return self._errors[index]

    def set_flag(self, flag: Any) -> None:
        need("set_flag", (flag, OnnxParserFlag))

    def clear_flag(self, flag: Any) -> None:
        need("clear_flag", (flag, OnnxParserFlag))

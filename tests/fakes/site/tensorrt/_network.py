"""The network: an ONNX model seen as layers and tensors."""

from typing import Any

from tensorrt import _model
from tensorrt._bound import Made, need
from tensorrt._enums import ALL, number
from tensorrt._values import DataType, Dims
from tensorrt._version import MAJOR

TensorFormat = ALL["TensorFormat"]
TensorLocation = ALL["TensorLocation"]
_ALL_FORMATS = sum(1 << value for value in {int(one) for one in TensorFormat.__members__.values()})


class ITensor(Made):
    def __init__(self, name: str, shape: list[int], dtype: Any, **flags: bool) -> None:
        self._name, self._shape, self._dtype = name, shape, dtype
        self._flags = flags
        self._formats = _ALL_FORMATS

    name = property(lambda self: self._name)
    shape = property(lambda self: Dims(self._shape))

    @property
    def dtype(self) -> Any:
        return self._dtype

    if MAJOR < 11:

        @dtype.setter
        def dtype(self, value: Any) -> None:
            need("dtype", (value, DataType))
            self._dtype = value

    @property
    def allowed_formats(self) -> int:
        return self._formats

    @allowed_formats.setter
    def allowed_formats(self, mask: int) -> None:
        need("allowed_formats", (mask, int))
        self._formats = mask

    location = property(lambda _: TensorLocation.DEVICE)
    is_network_input = property(lambda self: self._flags.get("is_input", False))
    is_shape_tensor = property(lambda self: self._flags.get("is_shape", False))


class ILayer(Made):
    def __init__(self, node: Any, dims: dict[str, list[int]]) -> None:
        self._node, self._dims = node, dims
        self._name = _model.name_of(node)
        self._precision: Any = None
        self._types: dict[int, Any] = {}

    name = property(lambda self: self._name)
    type = property(lambda self: _model.layer_type(self._node))
    metadata = property(lambda self: f"[ONNX Layer: {self._name}]")
    num_inputs = property(lambda self: len(self._node.input))
    num_outputs = property(lambda self: len(self._node.output))

    def get_input(self, index: int) -> ITensor:
        return self._tensor(self._node.input[index])

    def get_output(self, index: int) -> ITensor:
        return self._tensor(self._node.output[index])

    def _tensor(self, name: str) -> ITensor:
        return ITensor(name, self._dims.get(name, []), DataType.FLOAT)

    @property
    def precision(self) -> Any:
        return self._precision or DataType.FLOAT

    @precision.setter
    def precision(self, value: Any) -> None:
        need("precision", (value, DataType))
        self._precision = value

    precision_is_set = property(lambda self: self._precision is not None)

    def set_output_type(self, index: int, dtype: Any) -> None:
        need("set_output_type", (index, int), (dtype, DataType))
        if not 0 <= index < self.num_outputs:
            raise IndexError("Out of bounds")
        self._types[index] = dtype

    def output_type_is_set(self, index: int) -> bool:
        return index in self._types

    def get_output_type(self, index: int) -> Any:
        return self._types.get(index, DataType.FLOAT)


class INetworkDefinition(Made):
    """Empty until a parser fills it."""

    def __init__(self, builder: Any, flags: int) -> None:
        self._builder, self._flags = builder, flags
        self._model: Any = None
        self._inputs: list[ITensor] = []
        self._outputs: list[ITensor] = []
        self._layers: list[ILayer] = []
        self._name = "Unnamed Network 0"

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
                is_output=True,
            )
            for one in model.graph.output
        ]
        self._layers = [ILayer(node, dims) for node in model.graph.node]

    @property
    def _strongly_typed(self) -> bool:
        flag = number(ALL["NetworkDefinitionCreationFlag"], "STRONGLY_TYPED")
        return MAJOR >= 11 or (flag is not None and bool(self._flags >> flag & 1))

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    builder = property(lambda self: self._builder)
    flags = property(lambda self: self._flags)

    def get_flag(self, flag: Any) -> bool:
        need("get_flag", (flag, ALL["NetworkDefinitionCreationFlag"]))
        return bool(self._flags >> int(flag) & 1)

    has_implicit_batch_dimension = property(lambda self: self._implicit)

    @property
    def _implicit(self) -> bool:
        flag = number(ALL["NetworkDefinitionCreationFlag"], "EXPLICIT_BATCH")
        return MAJOR < 10 and not self._flags >> flag & 1

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
            logger = self._builder.logger
            logger.log(type(logger).ERROR, f"INetworkDefinition::{method}: no index {index}")
        return None

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: int) -> ILayer:
        if not -len(self._layers) <= index < len(self._layers):
            raise IndexError("Out of bounds")
        return self._layers[index]

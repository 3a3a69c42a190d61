"""What the fake knows of an ONNX model: types, shapes, what depends on data, what is a shape."""

from typing import Any

import onnx
from tensorrt._enums import ALL, number
from tensorrt._version import MAJOR

DataType = ALL["DataType"]
_TYPES = {
    "FLOAT": "FLOAT",
    "FLOAT16": "HALF",
    "BFLOAT16": "BF16",
    "DOUBLE": "FLOAT",
    "INT64": "INT64" if MAJOR >= 10 else "INT32",
    "INT32": "INT32",
    "INT8": "INT8",
    "UINT8": "UINT8",
    "BOOL": "BOOL",
    "FLOAT8E4M3FN": "FP8",
}
#: Operators whose output's shape only their values decide.
_DATA_DEPENDENT = {"NonZero", "NonMaxSuppression", "Unique", "Compress"}
#: Operator -> the inputs that are shapes.
_SHAPE_INPUTS = {
    "Reshape": (1,),
    "Expand": (1,),
    "ConstantOfShape": (0,),
    "Tile": (1,),
    "Slice": (1, 2),
    "Range": (0, 1, 2),
    "Resize": (3,),
    "Pad": (1,),
}
_LAYERS = {
    "Conv": "CONVOLUTION",
    "ConvTranspose": "DECONVOLUTION",
    "Gemm": "MATRIX_MULTIPLY",
    "MatMul": "MATRIX_MULTIPLY",
    "MaxPool": "POOLING",
    "AveragePool": "POOLING",
    "GlobalAveragePool": "REDUCE",
    "Softmax": "SOFTMAX",
    "Concat": "CONCATENATION",
    "Reshape": "SHUFFLE",
    "Transpose": "SHUFFLE",
    "Flatten": "SHUFFLE",
    "Squeeze": "SHUFFLE",
    "Unsqueeze": "SHUFFLE",
    "Gather": "GATHER",
    "Slice": "SLICE",
    "Cast": "CAST",
    "Identity": "IDENTITY",
    "Constant": "CONSTANT",
    "Shape": "SHAPE",
    "NonZero": "NON_ZERO",
    "QuantizeLinear": "QUANTIZE",
    "DequantizeLinear": "DEQUANTIZE",
    "LayerNormalization": "NORMALIZATION",
    "BatchNormalization": "SCALE",
}
_ACTIVATIONS = {"Relu", "Sigmoid", "Tanh", "Clip", "LeakyRelu", "Elu", "Selu", "HardSigmoid"}
_ACTIVATIONS |= {"Softplus", "Gelu"}
_UNARY = {"Sqrt", "Exp", "Log", "Neg", "Abs", "Erf", "Floor", "Ceil", "Not", "Sin", "Cos"}


def inputs_of(model: Any) -> list[Any]:
    weights = {one.name for one in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in weights]


def type_of(value: Any) -> Any:
    name = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    return getattr(DataType, _TYPES.get(name, ""), None)


def dims_of_value(value: Any) -> list[int]:
    """Return dimensions, −1 for unknown ones."""
    dims = value.type.tensor_type.shape.dim
    return [one.dim_value if one.HasField("dim_value") else -1 for one in dims]


def name_of(node: Any) -> str:
    """Return a node's name, or the one that TensorRT's parser gives it."""
    return node.name or f"node_of_{node.output[0]}"


def layer_type(node: Any) -> Any:
    kinds = ALL["LayerType"]
    name = _LAYERS.get(node.op_type)
    if name is None:
        name = "ACTIVATION" if node.op_type in _ACTIVATIONS else "ELEMENTWISE"
        name = "UNARY" if node.op_type in _UNARY else name
        name = "REDUCE" if node.op_type.startswith("Reduce") else name
    return getattr(kinds, name)


def shape_inputs(model: Any) -> set[str]:
    """Return names of inputs whose values are shapes."""
    names = {one.name for one in inputs_of(model)}
    found: set[str] = set()
    for node in model.graph.node:
        positions = _SHAPE_INPUTS.get(node.op_type, ())
        found |= {node.input[at] for at in positions if at < len(node.input)} & names
    return found


def data_dependent(model: Any) -> set[str]:
    """Return names of values whose shapes depend on data, and of all that comes of them."""
    tainted: set[str] = set()
    for node in model.graph.node:
        if node.op_type in _DATA_DEPENDENT or tainted & set(node.input):
            tainted |= set(node.output)
    return tainted


def value_dims(model: Any, shapes: dict[str, tuple[int, ...]]) -> dict[str, list[int]]:
    """Return dimensions of all values that can be inferred, with `shapes` of inputs given."""
    if shapes:
        fixed = onnx.ModelProto()
        fixed.CopyFrom(model)
        for one in inputs_of(fixed):
            dims = one.type.tensor_type.shape.dim
            for dim, size in zip(dims, shapes.get(one.name, ()), strict=False):
                dim.dim_value = size
        # what was said of the others was said with unknown sizes
        del fixed.graph.value_info[:]
        model = fixed
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    values = (*inferred.value_info, *inferred.output, *inferred.input)
    known = {one.name: dims_of_value(one) for one in values}
    known |= {one.name: list(one.dims) for one in inferred.initializer}
    return known


def quantised(model: Any) -> bool:
    return any(node.op_type == "QuantizeLinear" for node in model.graph.node)


def weight_bytes(model: Any) -> int:
    return sum(onnx.numpy_helper.to_array(one).nbytes for one in model.graph.initializer)


HAS_INT64 = number(DataType, "INT64") is not None

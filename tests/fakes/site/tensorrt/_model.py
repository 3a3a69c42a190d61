"""What the fake knows of an ONNX model: types, shapes, what depends on data, what is a shape."""

from typing import Any

import onnx
from tensorrt._base import MAJOR, DataType

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
#: Operators whose second input is a shape.
_SHAPED = {"Reshape", "Expand", "Tile"}
#: Operator -> layer type, of those that the tests tell apart.
LAYERS = {
    **dict.fromkeys(("MatMul", "Gemm"), "MATRIX_MULTIPLY"),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh"), "ACTIVATION"),
    "Conv": "CONVOLUTION",
    "QuantizeLinear": "QUANTIZE",
    "DequantizeLinear": "DEQUANTIZE",
}


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


def shape_inputs(model: Any) -> set[str]:
    """Return names of inputs whose values are shapes."""
    names = {one.name for one in inputs_of(model)}
    return names & {node.input[1] for node in model.graph.node if node.op_type in _SHAPED}


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

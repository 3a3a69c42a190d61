"""The coarsest precision that an ONNX model computes in, by its nodes and weights.

Also the files an ONNX model consists of: itself, and those its weights lie in.
Also graphs within graphs, and the values of its weights, wherever it holds them: initializers and
Constant nodes.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.core.errors import BackendError, FormatError
from enginescope.core.jsonio import sha256_of
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.records.tensor import DataType

#: Operators that quantize, or compute on what is quantized.
_QUANTISED = frozenset(
    {
        *("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv"),
        *("QLinearMatMul", "QLinearAdd", "QGemm", "ConvInteger", "MatMulInteger", "MatMulNBits"),
        *("DynamicQuantizeMatMul", "QAttention"),
    }
)
#: ONNX's name of an element type -> ours; ONNX Runtime has the same names in lower case.
DATA_TYPES = {
    "DOUBLE": DataType.FP64,
    "FLOAT": DataType.FP32,
    "FLOAT16": DataType.FP16,
    "BFLOAT16": DataType.BF16,
    "FLOAT8E8M0": DataType.E8M0,
    "FLOAT4E2M1": DataType.FP4,
    **dict.fromkeys(
        ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"), DataType.FP8
    ),
    **{
        dtype.name: dtype
        for dtype in DataType
        if dtype.name.startswith(("INT", "UINT", "COMPLEX", "BOOL", "STRING"))
    },
}
#: The same from type to name, the first of several.
TYPE_NAMES = {dtype: name for name, dtype in reversed(DATA_TYPES.items())}
_FP8 = frozenset({"FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"})


def onnx_precision(path: Path) -> str:
    """Return ``fp32``, ``fp16``, ``bf16``, ``int8``, ``fp8`` or ``fp4``; reads no weight file."""
    try:
        model = load_without_weights(str(path))
    except BackendError as error:
        raise FormatError(str(path), why=error.why or str(error)) from error
    graphs = [each for root in (model.graph, *model.functions) for each in graphs_of(root)]
    nodes = [node for graph in graphs for node in graph.node]
    operators = {node.op_type for node in nodes}
    numbers = {one.data_type for graph in graphs for one in getattr(graph, "initializer", ())}
    # the types that nodes hold a constant of, or cast to
    for node in nodes:
        numbers |= {one.t.data_type for one in node.attribute if one.HasField("t")}
        numbers |= {one.i for one in node.attribute if node.op_type == "Cast" and one.name == "to"}
    types = set(map(type_name, numbers))
    if "FLOAT4E2M1" in types:
        return "fp4"
    if operators & _QUANTISED:
        return "fp8" if types & _FP8 and not types & {"INT8", "UINT8"} else "int8"
    return "bf16" if "BFLOAT16" in types else "fp16" if "FLOAT16" in types else "fp32"


def type_name(number: int) -> str | None:
    """Return ONNX's name of an element type; ``None`` for a number that ONNX does not know."""
    onnx = require("onnx", purpose="types", install="onnx")
    known = onnx.TensorProto.DataType.DESCRIPTOR.values_by_number.get(number)
    return None if known is None else str(known.name)


def load_without_weights(path: str) -> Any:
    """Return a model's proto; weights in files of their own stay there."""
    onnx = require("onnx", purpose="reading the model", install="onnx")
    try:  # whatever the name ends in: what runtimes parse is the binary form
        return onnx.load(path, format="protobuf", load_external_data=False)
    except OSError as error:
        raise BackendError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    except Exception as error:  # each protobuf runtime has a DecodeError of its own
        what = f"{path} cannot be read"
        raise BackendError(what, why=f"it is not an ONNX model ({error})") from error


def external_data(tensor: Any, path: str) -> Any:
    """Return where a tensor's values lie in another file: onnx's ``ExternalDataInfo``."""
    from onnx.external_data_helper import ExternalDataInfo

    try:
        place = ExternalDataInfo(tensor)
        numbers = (("offset", place.offset), ("length", place.length))
        negative = (f"its {key} is {value}" for key, value in numbers if int(value or 0) < 0)
        wrong = next(negative, None)
    except (TypeError, ValueError) as error:  # newer versions check keys and numbers themselves
        wrong = str(error)
    if wrong is not None:
        what = f"{path} cannot be read"
        why = f"the external data of weight {tensor.name}: {wrong}"
        raise BackendError(what, why=why, hint="export the model again, or fetch it again")
    return place


def external_files(path: str) -> tuple[str, ...]:
    """Return the files beside a model that hold its weights, sorted."""
    model = load_without_weights(path)
    from onnx.external_data_helper import _get_all_tensors, uses_external_data

    tensors = (tensor for tensor in _get_all_tensors(model) if uses_external_data(tensor))
    return tuple(sorted({external_data(tensor, path).location for tensor in tensors}))


def digest_of(path: str) -> str:
    """Return a SHA-256 over the model and every file its weights lie in."""
    model = Path(path)
    names = external_files(path)
    digest = hashlib.sha256(sha256_of(model).encode())
    for name in names:
        file = model.parent / name
        if not os.path.isfile(file):  # noqa: PTH113 - Path.is_file raises for an impossible name
            raise BackendError(f"{path}", why=f"its weights file {name} is missing")
        digest.update(name.encode() + b"\0" + sha256_of(file).encode())
    return digest.hexdigest()


def graphs_of(graph: Any) -> Iterator[Any]:
    """Yield `graph` and, depth first, the branches and bodies of its nodes."""
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from graphs_of(inner)


def inner_graphs(node: Any) -> Iterator[Any]:
    """Yield the branches or body of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def copy_of(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def refill(field: Any, values: Iterable[Any]) -> None:
    """Give a repeated field of a message other values; they may be some of its own."""
    kept = list(values)
    del field[:]
    field.extend(kept)


def node_names(path: Path) -> frozenset[str]:
    """Return the names of a model's nodes, those in branches and bodies too."""
    graphs = graphs_of(load_without_weights(str(path)).graph)
    return frozenset(node_name(node) for graph in graphs for node in graph.node)


def node_name(node: Any) -> str:
    """Return a node's name; without one, as TensorRT's parser calls it."""
    first = next(filter(None, node.output), "")
    return str(node.name or f"node_of_{first}")


#: No layer needs such a weight: it stands for minus infinity in a mask.
_SENTINEL = 1e30


class LargeWeight(Record, frozen=True, kw_only=True):
    """A weight with the node that reads it, and its largest magnitude."""

    name: str
    node: str
    operator: str
    peak: float


def large_weights(path: Path, above: float) -> tuple[LargeWeight, ...]:
    """Return the floating weights whose largest finite magnitude is above a number."""
    model = load_without_weights(str(path))
    peaks: dict[str, float] = {}
    for name, tensor in _weights(model.graph):
        peak = _peak(path, tensor)
        if above < peak < _SENTINEL:
            peaks[name] = peak
    return tuple(
        LargeWeight(name=name, node=node_name(node), operator=node.op_type, peak=peaks[name])
        for graph in graphs_of(model.graph)
        for node in graph.node
        for name in node.input
        if name in peaks
    )


def _weights(graph: Any) -> Iterator[tuple[str, Any]]:
    for inner in graphs_of(graph):
        for tensor in inner.initializer:
            yield tensor.name, tensor
        for node in inner.node:
            if node.op_type == "Constant":
                for attribute in node.attribute:
                    if attribute.name == "value":
                        yield from ((name, attribute.t) for name in node.output)


def _peak(path: Path, tensor: Any) -> float:
    """Return the largest finite magnitude; 0 where the numbers are not floating."""
    onnx = require("onnx", purpose="reading weights", install="enginescope")
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)
    if tensor.data_type not in kinds:
        return 0.0
    try:
        values = onnx.numpy_helper.to_array(tensor, base_dir=str(path.parent))
    except (OSError, TypeError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        raise BackendError(f"{path}", why=f"its weight {tensor.name}: {error}") from error
    sizes = np.abs(values.astype(np.float64))
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))

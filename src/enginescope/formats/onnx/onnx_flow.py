"""What flows through an ONNX model: the tensors between its nodes, in an order to compute them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_precision import (
    inner_graphs,
    load_without_weights,
    node_name,
    type_name,
)
from enginescope.records.tensor import DataType

_TYPES = {
    "DOUBLE": DataType.FP64,
    "FLOAT": DataType.FP32,
    "FLOAT16": DataType.FP16,
    "BFLOAT16": DataType.BF16,
    "FLOAT8E4M3FN": DataType.FP8,
    "INT64": DataType.INT64,
    "INT32": DataType.INT32,
    "INT16": DataType.INT16,
    "INT8": DataType.INT8,
    "UINT64": DataType.UINT64,
    "UINT32": DataType.UINT32,
    "UINT16": DataType.UINT16,
    "UINT8": DataType.UINT8,
    "BOOL": DataType.BOOL,
    "STRING": DataType.STRING,
}


class FlowNode(Record, frozen=True, kw_only=True):
    """A node of the model's graph; what is inside its branches and bodies counts as its own.

    Attributes:
        name: As TensorRT calls it: its own, or ``node_of_`` and its first output.
        inputs: Those of its branches and bodies included.
        varies: Whether it depends on an input of the model.
    """

    name: str
    own_name: str | None
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    varies: bool


class FlowTensor(Record, frozen=True, kw_only=True):
    """Type and shape as far as they are known without running; ``None`` where not.

    Attributes:
        is_tensor: False for a sequence, a map or an optional value.
    """

    dtype: DataType | None = None
    shape: tuple[int | None, ...] | None = None
    is_tensor: bool = True

    def bytes(self, unknown: int = 1) -> int | None:
        """Return the size, with `unknown` for each dimension that is not known."""
        if self.shape is None:
            return None
        size = (self.dtype.bits if self.dtype and self.dtype.bits else 32) / 8
        for one in self.shape:
            size *= unknown if one is None else one
        return int(size)


class OnnxFlow(Record, frozen=True, kw_only=True):
    """Nodes in an order in which they can be computed, and what is known of their tensors."""

    nodes: tuple[FlowNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: dict[str, FlowTensor]

    def tensor(self, name: str) -> FlowTensor:
        """Return what is known of a tensor."""
        return self.tensors.get(name) or FlowTensor()


def read_onnx_flow(path: Path, input_shapes: Mapping[str, Sequence[int]] | None = None) -> OnnxFlow:
    """Return what flows through a model; weights in other files are not read.

    Args:
        input_shapes: Shapes of inputs in place of the file's.

    Raises:
        BackendError: It cannot be read, or is not an ONNX model.
        FormatError: Its nodes wait for each other.
    """
    model = load_without_weights(str(path))
    weights = {one.name for one in model.graph.initializer}
    inputs = tuple(one.name for one in model.graph.input if one.name not in weights)
    for value in model.graph.input:
        _fix(value, (input_shapes or {}).get(value.name))
    graph = inferred(model).graph
    return OnnxFlow(
        nodes=tuple(_nodes(_ordered(graph.node, path), inputs)),
        inputs=inputs,
        outputs=tuple(one.name for one in graph.output),
        tensors=dict(_tensors(graph)),
    )


def reads(node: Any) -> Iterator[str]:
    """Yield what a node reads, and what its branches and bodies read of the graph around them."""
    yield from (name for name in node.input if name)
    for graph in inner_graphs(node):
        own = {one.name for one in (*graph.input, *graph.initializer)}
        own |= {name for inner in graph.node for name in inner.output}
        wanted = [name for inner in graph.node for name in reads(inner)]
        wanted += [one.name for one in graph.output]
        yield from (name for name in wanted if name not in own)


def _nodes(protos: Sequence[Any], inputs: Sequence[str]) -> Iterator[FlowNode]:
    varying = set(inputs)
    for proto in protos:
        read = tuple(dict.fromkeys(reads(proto)))
        outputs = tuple(one for one in proto.output if one)
        varies = not varying.isdisjoint(read)
        if varies:
            varying.update(outputs)
        yield FlowNode(
            name=node_name(proto),
            own_name=proto.name or None,
            operator=proto.op_type,
            inputs=read,
            outputs=outputs,
            varies=varies,
        )


def _ordered(nodes: Sequence[Any], path: Path) -> list[Any]:
    """Return the nodes with each behind what it reads; converters leave some before it."""
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    waits = [{makers[name] for name in reads(node) if name in makers} - {at}
             for at, node in enumerate(nodes)]  # fmt: skip
    readers: list[list[int]] = [[] for _ in nodes]
    for at, needed in enumerate(waits):
        for one in needed:
            readers[one].append(at)
    left = [len(needed) for needed in waits]
    ready = [at for at, count in enumerate(left) if not count]  # sorted, and so a heap
    order: list[Any] = []
    while ready:
        at = heapq.heappop(ready)
        order.append(nodes[at])
        for one in readers[at]:
            left[one] -= 1
            if not left[one]:
                heapq.heappush(ready, one)
    if len(order) < len(nodes):
        raise FormatError(str(path), why="its nodes wait for each other's outputs")
    return order


def inferred(model: Any) -> Any:
    """Return a model with types and shapes as far as they can be inferred."""
    inference = require("onnx.shape_inference", purpose="shapes", install="enginescope")
    try:
        return inference.infer_shapes(model, data_prop=True)
    except (inference.InferenceError, ValueError, RuntimeError):
        return model  # custom operators, or a model over protobuf's limit: what it says itself


def _fix(value: Any, shape: Sequence[int] | None) -> None:
    dims = value.type.tensor_type.shape.dim
    if shape is not None and len(dims) == len(shape):
        for dim, size in zip(dims, shape, strict=True):
            dim.dim_value = size


def _tensors(graph: Any) -> Iterator[tuple[str, FlowTensor]]:
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.HasField("tensor_type"):
            tensor = value.type.tensor_type
            known = tensor.HasField("shape")
            yield (
                value.name,
                FlowTensor(
                    dtype=_TYPES.get(type_name(tensor.elem_type) or ""),
                    shape=tuple(_size(one) for one in tensor.shape.dim) if known else None,
                ),
            )
        elif value.type.WhichOneof("value") is not None:
            yield value.name, FlowTensor(is_tensor=False)


def _size(dim: Any) -> int | None:
    return int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else None

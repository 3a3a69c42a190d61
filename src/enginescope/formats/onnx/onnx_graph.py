"""ONNX models as graphs of nodes, without their weights; other graphs as files for Netron.

Also what flows through a model: the tensors between its nodes, in an order to compute them.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx import onnx_precision
from enginescope.records.plan.plan import Plan
from enginescope.records.tensor import DataType, Tensor


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
        return self.tensors.get(name) or FlowTensor()


def read_onnx_flow(path: Path, input_shapes: Mapping[str, Sequence[int]] | None = None) -> OnnxFlow:
    """Return what flows through a model; weights in other files are not read.

    Args:
        input_shapes: Shapes of inputs in place of the file's.
    """
    model = onnx_precision.load_without_weights(str(path))
    weights = {one.name for one in model.graph.initializer}
    inputs = tuple(one.name for one in model.graph.input if one.name not in weights)
    graph = _with_shapes(model, input_shapes or {})
    return OnnxFlow(
        nodes=tuple(_nodes(in_order(graph.node, str(path)), inputs)),
        inputs=inputs,
        outputs=tuple(one.name for one in graph.output),
        tensors=dict(_tensors(graph)),
    )


def reads(node: Any) -> Iterator[str]:
    """Yield what a node reads, and what its branches and bodies read of the graph around them."""
    yield from (name for name in node.input if name)
    for graph in onnx_precision.inner_graphs(node):
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
            name=onnx_precision.node_name(proto),
            own_name=proto.name or None,
            operator=proto.op_type,
            inputs=read,
            outputs=outputs,
            varies=varies,
        )


def in_order(nodes: Sequence[Any], source: str) -> list[Any]:
    """Return the nodes with each behind what it reads; converters leave some before it.

    Raises:
        FormatError: They wait for each other; names `source`.
    """
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
        raise FormatError(source, why="its nodes wait for each other's outputs")
    return order


def inferred(model: Any) -> Any:
    """Return a model with types and shapes as far as they can be inferred."""
    inference = require("onnx.shape_inference", purpose="shapes", install="enginescope")
    try:
        return inference.infer_shapes(model, data_prop=True)
    except (inference.InferenceError, ValueError, RuntimeError):
        return model  # custom operators, or a model over protobuf's limit: what it says itself


def _tensors(graph: Any) -> Iterator[tuple[str, FlowTensor]]:
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.HasField("tensor_type"):
            tensor = value.type.tensor_type
            dtype = onnx_precision.DATA_TYPES.get(onnx_precision.type_name(tensor.elem_type) or "")
            shape = tuple(map(_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
            yield value.name, FlowTensor(dtype=dtype, shape=shape)
        elif value.type.WhichOneof("value") is not None:
            yield value.name, FlowTensor(is_tensor=False)


#: The first version of ONNX's file format in which nodes carry notes.
_IR_WITH_NOTES = 10


class OnnxNode(Record, frozen=True, kw_only=True):
    """One node.

    Attributes:
        index: From 0, in the file's order; the nodes of a node's own graphs follow it.
        name: As TensorRT calls it: its own name, or ``node_of_`` and its first output if it has
            none.
        domain: ``""`` for ONNX's own operators.
        inputs, outputs: Tensor names; ``""`` for one that is left out.
        own_name: The name in the file.
        depth: 0 in the model's graph, 1 in a branch or body of one of its nodes, and so on.
    """

    index: int
    name: str
    op_type: str
    domain: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    own_name: str | None = None
    depth: int = 0


class OnnxGraph(Record, frozen=True, kw_only=True):
    """Nodes of a model and the shapes of its tensors.

    Attributes:
        name: Of the model's graph.
        nodes: Those inside branches and bodies included.
        shapes: Of inputs, outputs, weights, and what shape inference finds between; ``None`` is a
            dynamic dimension.
    """

    name: str
    nodes: tuple[OnnxNode, ...]
    shapes: dict[str, tuple[int | None, ...]]


def onnx_graph_of_plan(plan: Plan, path: Path) -> OnnxGraph:
    """Return a model with its inputs in the shapes that an engine was built for."""
    inputs = (one.tensor for one in plan.inputs)
    return read_onnx_graph(path, {one.name: one.shape for one in inputs if one.shape is not None})


def read_onnx_graph(
    path: Path, input_shapes: Mapping[str, Sequence[int | None]] | None = None
) -> OnnxGraph:
    """Return the graph of an ONNX model; weights in other files are not read.

    Args:
        input_shapes: Shapes of inputs in place of the file's, such as those an engine was built
            for: they make the shapes in between known where the model's are dynamic.
    """
    graph = _with_shapes(load_onnx(path), input_shapes or {})
    nodes = (
        OnnxNode(
            index=index,
            name=onnx_precision.node_name(proto),
            op_type=proto.op_type,
            domain=proto.domain if proto.domain != "ai.onnx" else "",
            inputs=tuple(proto.input),
            outputs=tuple(proto.output),
            own_name=proto.name or None,
            depth=depth,
        )
        for index, (proto, depth) in enumerate(_walk(graph, 0))
    )
    return OnnxGraph(name=graph.name, nodes=tuple(nodes), shapes=dict(_shapes(graph)))


def onnx_input_shapes(path: Path) -> dict[str, tuple[int | None, ...]]:
    """Return the shapes of a model's inputs, weights left out; ``None`` is a dynamic dimension."""
    return {
        one.name: tuple(map(_dim, one.type.tensor_type.shape.dim))
        for one in _fed(path)
        if one.type.HasField("tensor_type")
    }


def onnx_input_names(path: Path) -> tuple[str, ...]:
    """Return the names of a model's inputs, weights left out."""
    return tuple(one.name for one in _fed(path))


def _fed(path: Path) -> list[Any]:
    graph = load_onnx(path).graph
    weights = {one.name for one in graph.initializer}
    return [one for one in graph.input if one.name not in weights]


def annotated_onnx(path: Path, notes: Mapping[int, Mapping[str, str]]) -> bytes:
    """Return the model with notes on its nodes, for viewers such as Netron.

    Weights in other files stay there: the annotated model belongs beside the original.

    Args:
        notes: Index of a node, as `read_onnx_graph` counts them -> ``metadata_props`` to add; one
            of the same key is replaced.
    """
    model = load_onnx(path)
    for index, (proto, _) in enumerate(_walk(model.graph, 0)):
        if not hasattr(proto, "metadata_props"):
            what = str(path)
            raise FormatError(what, why="the installed onnx package cannot store node metadata")
        added = notes.get(index, {})
        kept = [(prop.key, prop.value) for prop in proto.metadata_props if prop.key not in added]
        del proto.metadata_props[:]
        for key, value in (*kept, *added.items()):
            entry = proto.metadata_props.add()
            entry.key, entry.value = key, value
    model.ir_version = max(model.ir_version, _IR_WITH_NOTES)
    data: bytes = model.SerializeToString()
    return data


def load_onnx(path: Path) -> Any:
    """Return a model's message; weights in other files are not read."""
    onnx = require("onnx", purpose=f"reading {path.name}", install="enginescope")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None
    except Exception as error:  # noqa: BLE001 - each protobuf runtime has a DecodeError of its own
        first = next(iter(str(error).splitlines()), type(error).__name__)
        why = f"it is not an ONNX model ({first})"
        raise FormatError(str(path), why=why, expected="a ModelProto") from None
    if not model.HasField("graph"):
        raise FormatError(str(path), why="it has no graph", expected="a ModelProto")
    return model


def _with_shapes(model: Any, input_shapes: Mapping[str, Sequence[int | None]]) -> Any:
    for value in model.graph.input:
        dims, shape = value.type.tensor_type.shape.dim, input_shapes.get(value.name, ())
        for dim, size in zip(dims, shape, strict=False) if len(dims) == len(shape) else ():
            if size is not None:
                dim.dim_value = size
    return inferred(model).graph


def _walk(graph: Any, depth: int) -> Iterator[tuple[Any, int]]:
    for node in graph.node:
        yield node, depth
        for inner in onnx_precision.inner_graphs(node):
            yield from _walk(inner, depth + 1)


def _shapes(graph: Any) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    yield from ((name, one.shape) for name, one in _tensors(graph) if one.shape is not None)
    for weight in graph.initializer:
        yield weight.name, tuple(weight.dims)
    for node in graph.node:
        for inner in onnx_precision.inner_graphs(node):
            yield from _shapes(inner)


def _dim(dim: Any) -> int | None:
    return int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else None


#: Netron shows operators of domains that it does not know with all their attributes.
DOMAIN = "tensorrt"
_IR_VERSION = 10


class ViewerNode(Record, frozen=True, kw_only=True):
    """A node of a graph for viewers.

    Attributes:
        id: Unique in its graph.
        namespace: Modules around it, ``layer1/block0``; empty at the top.
        attributes: Whatever is known of it, as text.
        inputs, outputs: Names of values; each value is written once.
    """

    id: str
    name: str
    type: str
    namespace: str = ""
    attributes: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


class ViewerGraph(Record, frozen=True, kw_only=True):
    """Nodes in execution order, the values between them, and which come in and go out."""

    name: str
    nodes: tuple[ViewerNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: dict[str, Tensor]


def viewer_model(graph: ViewerGraph) -> bytes:
    """Return an ONNX file of the graph, without weights: for viewers, not to be run."""
    onnx = require("onnx", purpose="writing a file for Netron", install="onnx")
    helper = onnx.helper
    make = partial(helper.make_node, domain=DOMAIN)
    nodes = [
        make(node.type, node.inputs, node.outputs, name=node.name, **node.attributes)
        for node in graph.nodes
    ]
    infos = {name: _info(onnx, name, tensor) for name, tensor in graph.values.items()}
    ends = (graph.inputs, graph.outputs)
    fed, given = ([infos[name] for name in names if name in infos] for names in ends)
    outer = {*graph.inputs, *graph.outputs}
    inner = [info for name, info in infos.items() if name not in outer]
    proto = helper.make_graph(nodes, graph.name, fed, given, value_info=inner)
    domains = [helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(proto, opset_imports=domains, producer_name="enginescope")
    model.ir_version = _IR_VERSION
    data: bytes = model.SerializeToString()
    return data


def _info(onnx: Any, name: str, tensor: Tensor) -> Any:
    kinds = onnx.TensorProto
    word = onnx_precision.TYPE_NAMES[tensor.dtype] if tensor.dtype else "UNDEFINED"
    kind = getattr(kinds, word, kinds.UNDEFINED)
    return onnx.helper.make_tensor_value_info(name, kind, tensor.shape)

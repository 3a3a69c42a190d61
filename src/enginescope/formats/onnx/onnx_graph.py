"""ONNX models as graphs of nodes, without their weights; and with notes on the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.records.plan.plan import Plan

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
    """Return a model with its inputs in the shapes that an engine was built for.

    Raises:
        FormatError, MissingDependencyError: As `read_onnx_graph` does.
    """
    inputs = (one.tensor for one in plan.inputs)
    return read_onnx_graph(path, {one.name: one.shape for one in inputs if one.shape is not None})


def read_onnx_graph(
    path: Path, input_shapes: Mapping[str, Sequence[int | None]] | None = None
) -> OnnxGraph:
    """Return the graph of an ONNX model; weights in other files are not read.

    Args:
        input_shapes: Shapes of inputs in place of the file's, such as those an engine was built
            for: they make the shapes in between known where the model's are dynamic.

    Raises:
        FormatError: It cannot be read, or is not an ONNX model.
        MissingDependencyError: The onnx package is not installed.
    """
    model = load_onnx(path)
    for value in model.graph.input:
        _fix_shape(value, (input_shapes or {}).get(value.name))
    graph = _with_shapes(model).graph
    numbered = enumerate(_walk(graph, 0))
    return OnnxGraph(
        name=graph.name,
        nodes=tuple(_node(index, proto, depth) for index, (proto, depth) in numbered),
        shapes=dict(_shapes(graph)),
    )


def onnx_input_shapes(path: Path) -> dict[str, tuple[int | None, ...]]:
    """Return the shapes of a model's inputs, weights left out; ``None`` is a dynamic dimension.

    Raises:
        FormatError: It is not an ONNX model.
    """
    return {
        one.name: tuple(map(_dim, one.type.tensor_type.shape.dim))
        for one in _fed(path)
        if one.type.HasField("tensor_type")
    }


def onnx_input_names(path: Path) -> tuple[str, ...]:
    """Return the names of a model's inputs, weights left out.

    Raises:
        FormatError: It is not an ONNX model.
    """
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

    Raises:
        FormatError: As `read_onnx_graph`; or the onnx package is older than notes on nodes (1.16).
    """
    model = load_onnx(path)
    for index, (proto, _) in enumerate(_walk(model.graph, 0)):
        if not hasattr(proto, "metadata_props"):
            raise FormatError(
                str(path), why="the installed onnx package cannot store node metadata"
            )
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
    """Return a model's message; weights in other files are not read.

    Raises:
        FormatError: It cannot be read, or is not an ONNX model.
        MissingDependencyError: The onnx package is not installed.
    """
    onnx = require("onnx", purpose=f"reading {path.name}", install="enginescope")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None
    except Exception as error:  # noqa: BLE001 - each protobuf runtime has a DecodeError of its own
        raise FormatError(
            str(path),
            why=f"it is not an ONNX model ({_first_line(error)})",
            expected="a ModelProto",
        ) from None
    if not model.HasField("graph"):
        raise FormatError(str(path), why="it has no graph", expected="a ModelProto")
    return model


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _with_shapes(model: Any) -> Any:
    """The model with the shapes between inputs and outputs, as far as they are known."""
    inference = require("onnx.shape_inference", purpose="shapes", install="enginescope")
    try:
        return inference.infer_shapes(model, data_prop=True)
    except (inference.InferenceError, ValueError, RuntimeError):
        return model  # custom operators, or a model over protobuf's limit: its own shapes remain


def _fix_shape(value: Any, shape: Sequence[int | None] | None) -> None:
    dims = value.type.tensor_type.shape.dim
    if shape is None or len(dims) != len(shape):
        return
    for dim, size in zip(dims, shape, strict=True):
        if size is not None:
            dim.dim_value = size


def _walk(graph: Any, depth: int) -> Iterator[tuple[Any, int]]:
    for node in graph.node:
        yield node, depth
        for attribute in node.attribute:
            inner = (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))
            for one in inner:
                yield from _walk(one, depth + 1)


def _node(index: int, proto: Any, depth: int) -> OnnxNode:
    outputs = tuple(proto.output)
    return OnnxNode(
        index=index,
        name=proto.name or f"node_of_{outputs[0] if outputs else ''}",
        op_type=proto.op_type,
        domain=proto.domain if proto.domain != "ai.onnx" else "",
        inputs=tuple(proto.input),
        outputs=outputs,
        own_name=proto.name or None,
        depth=depth,
    )


def _shapes(graph: Any) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    for value in (*graph.input, *graph.output, *graph.value_info):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            yield value.name, tuple(map(_dim, tensor.shape.dim))
    for weight in graph.initializer:
        yield weight.name, tuple(weight.dims)
    for node, depth in _walk(graph, 0):
        if depth:
            continue
        for attribute in node.attribute:
            for inner in (attribute.g,) if attribute.HasField("g") else ():
                yield from _shapes(inner)


def _dim(dim: Any) -> int | None:
    return int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else None

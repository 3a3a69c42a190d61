"""A graph that is no ONNX model, as a file that Netron opens."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_precision import TYPE_NAMES
from enginescope.records.tensor import Tensor

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
    nodes = [
        helper.make_node(
            node.type,
            list(node.inputs),
            list(node.outputs),
            name=node.name,
            domain=DOMAIN,
            **node.attributes,
        )
        for node in graph.nodes
    ]
    infos = {name: _info(onnx, name, tensor) for name, tensor in graph.values.items()}
    ends = {*graph.inputs, *graph.outputs}
    proto = helper.make_graph(
        nodes,
        graph.name,
        _known(infos, graph.inputs),
        _known(infos, graph.outputs),
        value_info=[info for name, info in infos.items() if name not in ends],
    )
    domains = [helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(proto, opset_imports=domains, producer_name="enginescope")
    model.ir_version = _IR_VERSION
    data: bytes = model.SerializeToString()
    return data


def _known(infos: dict[str, object], names: Sequence[str]) -> list[object]:
    return [infos[name] for name in names if name in infos]


def _info(onnx: object, name: str, tensor: Tensor) -> object:
    proto = onnx.TensorProto  # type: ignore[attr-defined]
    kind = getattr(
        proto, TYPE_NAMES[tensor.dtype] if tensor.dtype else "UNDEFINED", proto.UNDEFINED
    )
    return onnx.helper.make_tensor_value_info(name, kind, tensor.shape)  # type: ignore[attr-defined]

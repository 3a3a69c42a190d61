"""The layers and blocks of an ONNX model that are converted at once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_graph import FlowNode, OnnxFlow
from enginescope.records.tensor import DataType
from enginescope.records.verdict.sensitivity import Granularity

#: Operators that do the work of a model: a layer begins with one.
COMPUTING = frozenset(
    {
        *("Conv", "ConvTranspose", "DeformConv", "MatMul", "Gemm", "Einsum", "RNN", "GRU", "LSTM"),
        *("Attention", "MultiHeadAttention", "GroupQueryAttention", "FusedMatMul", "If", "Loop"),
        "Scan",
    }
)
#: Blocks that a model is divided into at least, where its names or its length allow it.
_FEWEST_BLOCKS = 4


class LayerNodes(Record, frozen=True, kw_only=True):
    """Nodes that are converted together, in the model's order."""

    name: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]


def layers_of(
    flow: OnnxFlow, by: Granularity, inner: Mapping[str, Sequence[str]]
) -> tuple[LayerNodes, ...]:
    """Return the layers of a model: each floating-point node that inputs reach is in one of them.

    A layer is a node that computes and those that follow it, up to the next ones that compute.
    Nodes before the first such node are layers of their own.

    Args:
        inner: Node -> nodes of its branches and bodies, which belong to it.
    """
    layers: dict[str, list[FlowNode]] = {}
    layer_of_tensor: dict[str, str] = {}
    for node in flow.nodes:
        types = [flow.tensor(output).dtype for output in node.outputs]
        if not node.varies or not any(one in (DataType.FP32, None) for one in types):
            continue
        before = [layer_of_tensor[name] for name in node.inputs if name in layer_of_tensor]
        places = list(layers)
        own = node.operator in COMPUTING or not before
        name = node.name if own else max(before, key=places.index)
        layers.setdefault(name, []).append(node)
        layer_of_tensor |= dict.fromkeys(node.outputs, name)
    found = tuple(
        LayerNodes(
            name=name,
            operators=tuple(dict.fromkeys(node.operator for node in nodes)),
            nodes=tuple(one for node in nodes for one in (node.name, *inner.get(node.name, ()))),
        )
        for name, nodes in layers.items()
    )
    return found if by == "layer" else _blocks(found)


def _blocks(layers: Sequence[LayerNodes]) -> tuple[LayerNodes, ...]:
    """Return layers by the first parts of their names; without such names by their order."""
    parts = [re.split(r"[/.]", layer.name.lstrip("/"))[:-1] for layer in layers]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = [
            "/".join(some[:depth]) or layer.name for some, layer in zip(parts, layers, strict=True)
        ]
        if _FEWEST_BLOCKS <= len(set(names)) < len(layers):
            return _joined(layers, names)
    size = math.ceil(len(layers) / max(_FEWEST_BLOCKS, math.isqrt(len(layers))))
    firsts = [layers[at - at % size] for at in range(len(layers))]
    lasts = [layers[min(at - at % size + size, len(layers)) - 1] for at in range(len(layers))]
    names = [
        first.name if first is last else f"{first.name} … {last.name}"
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return _joined(layers, names)


def _joined(layers: Sequence[LayerNodes], names: Sequence[str]) -> tuple[LayerNodes, ...]:
    groups: dict[str, list[LayerNodes]] = {}
    for name, layer in zip(names, layers, strict=True):
        groups.setdefault(name, []).append(layer)
    return tuple(
        LayerNodes(
            name=name,
            operators=tuple(dict.fromkeys(one for layer in some for one in layer.operators)),
            nodes=tuple(node for layer in some for node in layer.nodes),
        )
        for name, some in groups.items()
    )

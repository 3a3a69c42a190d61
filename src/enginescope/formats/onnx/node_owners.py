"""Which executed node an ONNX node went into: by names, and by what flows between them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import reads
from enginescope.formats.onnx.onnx_precision import load_without_weights, node_name
from enginescope.records.plan.plan import Layer


def with_onnx_nodes(
    layers: Sequence[Layer], originals: Iterable[tuple[int, str]], model: str
) -> tuple[Layer, ...]:
    """Give every node of an ONNX file to one of the layers that were executed for it.

    A node that no layer names was fused, folded or dropped: it belongs to the first layer that
    reads what became of it, and at the end of the model to the one before it. A QuantizeLinear
    belongs to the layer that computes its input, and so does what lies between: that layer writes
    the quantized type.

    Args:
        originals: Index of a layer, and the name of a node or of its output that the layer came
            from. The first of several layers has the node, so what is sure comes first.
    """
    nodes = list(load_without_weights(model).graph.node)
    makers = {output: at for at, node in enumerate(nodes) for output in node.output}
    by_name = makers | {node.name: at for at, node in enumerate(nodes) if node.name}
    owner: dict[int, int] = {}
    for index, name in originals:
        if name in by_name:
            owner.setdefault(by_name[name], index)
    for at, node in enumerate(nodes):
        above = at if node.op_type == "QuantizeLinear" else None
        while above is not None and above not in owner:
            above = makers.get(next(iter(nodes[above].input), ""))
        if above is not None:
            owner[at] = owner[above]
    _spread(owner, nodes, makers)
    held: dict[int, list[str]] = {}
    for at, index in sorted(owner.items()):
        held.setdefault(index, []).append(node_name(nodes[at]))
    return tuple(replace(one, onnx_nodes=tuple(held.get(one.index, ()))) for one in layers)


def _spread(owner: dict[int, int], nodes: Sequence[Any], makers: Mapping[str, int]) -> None:
    before = [[makers[name] for name in reads(node) if name in makers] for node in nodes]
    after: list[list[int]] = [[] for _ in nodes]
    for at, producers in enumerate(before):
        for producer in producers:
            after[producer].append(at)
    places = range(len(nodes))
    backward, forward = (places[::-1], after, min), (places, before, max)
    # once more backward: what feeds a node that only those before it have placed
    for order, neighbors, choose in (backward, forward, backward):
        for at in order:
            if known := [owner[one] for one in neighbors[at] if one in owner]:
                owner.setdefault(at, choose(known))

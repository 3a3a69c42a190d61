"""Which executed node an ONNX node went into: by names, and by what flows between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from enginescope.core.record import replace
from enginescope.formats.onnx.onnx_graph import reads
from enginescope.formats.onnx.onnx_precision import load_without_weights, node_name
from enginescope.records.plan.plan import Layer


def with_onnx_nodes(
    layers: Sequence[Layer], originals: Mapping[int, Iterable[str]], model: str
) -> tuple[Layer, ...]:
    """Give every node of an ONNX file to one of the layers that were executed for it.

    A node that no layer names was fused, folded or dropped: it belongs to the first layer that
    reads what became of it, and at the end of the model to the one before it.

    Args:
        originals: Index of a layer -> names of nodes, or of their outputs, that it came from.
    """
    nodes = list(load_without_weights(model).graph.node)
    by_name = {output: at for at, node in enumerate(nodes) for output in node.output}
    by_name |= {node.name: at for at, node in enumerate(nodes) if node.name}
    owner: dict[int, int] = {}
    for index, names in originals.items():
        for name in names:
            if name in by_name:
                owner.setdefault(by_name[name], index)
    _spread(owner, nodes, by_name)
    held: dict[int, list[str]] = {}
    for at, index in sorted(owner.items()):
        held.setdefault(index, []).append(node_name(nodes[at]))
    return tuple(replace(one, onnx_nodes=tuple(held.get(one.index, ()))) for one in layers)


def _spread(owner: dict[int, int], nodes: Sequence[Any], by_name: Mapping[str, int]) -> None:
    before = [[by_name[name] for name in reads(node) if name in by_name] for node in nodes]
    after: list[list[int]] = [[] for _ in nodes]
    for at, producers in enumerate(before):
        for producer in producers:
            after[producer].append(at)
    places = range(len(nodes))
    backward, forward = (places[::-1], after, min), (places, before, max)
    # once more backward: what feeds a node that only those before it have placed
    for order, neighbors, choose in (backward, forward, backward):
        for at in order:
            known = [owner[one] for one in neighbors[at] if one in owner]
            if known:
                owner.setdefault(at, choose(known))

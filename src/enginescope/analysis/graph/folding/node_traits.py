"""What folding asks of a graph's nodes: their modules, what they are alike in, who follows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enginescope.analysis.graph.folding.module_path import Path, module_path
from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.records.tensor import Tensor

NUMBERS = re.compile(r"\d+")
Numbers = NDArray[np.int64]


class NodeTraits:
    """Traits of a graph's nodes by their ids, found when first asked for and shared by foldings."""

    def __init__(self, graph: PlanGraph) -> None:
        self.graph = graph

    @cached_property
    def paths(self) -> list[Path | None]:
        """Module of each node; ``None`` where its names tell none."""
        return [
            module_path(node.layer) if node.layer is not None else None for node in self.graph.nodes
        ]

    @cached_property
    def kinds(self) -> list[int]:
        """Numbers from 0: equal for nodes equal in type, shapes and data types."""
        number: dict[Any, int] = {}
        return [number.setdefault(_signature(node), len(number)) for node in self.graph.nodes]

    def cut_widths(self, members: Sequence[Sequence[int]]) -> list[int]:
        """Count the tensors that cross the cut before each member and after the last.

        Args:
            members: Ids of the nodes in each.
        """
        sizes = np.fromiter(map(len, members), dtype=np.int64, count=len(members))
        nodes = np.fromiter((one for some in members for one in some), dtype=np.int64)
        places = np.repeat(np.arange(len(members)), sizes)
        self._place[nodes] = places
        starts, targets, tensors = self._following
        counts = starts[nodes + 1] - starts[nodes]
        skipped = np.repeat(starts[nodes] - np.cumsum(counts) + counts, counts)
        edges = np.arange(len(skipped)) + skipped
        begins, ends = np.repeat(places, counts), self._place[targets[edges]]
        self._place[nodes] = -1
        forward = ends > begins
        edges, begins, ends = tensors[edges[forward]], begins[forward], ends[forward]
        if not len(edges):
            return [0] * (len(members) + 1)
        first = np.flatnonzero(np.diff(edges, prepend=-1))  # edges of a tensor stand together
        last = np.maximum.reduceat(ends, first)
        length = len(members) + 2
        change = np.bincount(begins[first] + 1, minlength=length)
        change -= np.bincount(last + 1, minlength=length)
        widths: list[int] = np.cumsum(change)[:-1].tolist()
        return widths

    @cached_property
    def _place(self) -> Numbers:
        """Scratch: where each node is among the members looked at; -1 elsewhere."""
        return np.full(len(self.graph.nodes), -1, dtype=np.int64)

    @cached_property
    def _following(self) -> tuple[Numbers, Numbers, Numbers]:
        """Where each node's edges start; the targets and tensors of edges, by source and tensor."""
        edges = self.graph.edges
        number: dict[tuple[int, str | None], int] = {}
        named = ((edge.source, edge.tensor.name if edge.tensor else None) for edge in edges)
        tensors = np.array([number.setdefault(one, len(number)) for one in named], dtype=np.int64)
        sources = np.array([edge.source for edge in edges], dtype=np.int64)
        targets = np.array([edge.target for edge in edges], dtype=np.int64)
        order = np.lexsort((tensors, sources))
        counts = np.bincount(sources, minlength=len(self.graph.nodes))
        return np.concatenate(([0], np.cumsum(counts))), targets[order], tensors[order]


def _signature(node: GraphNode) -> Any:
    layer = node.layer
    if layer is None:
        return node.kind, _stored(node.tensor)
    if layer.type == "unknown":
        return NUMBERS.sub("", layer.name)
    return (
        layer.type,
        layer.subtype,
        tuple([_stored(one) for one in layer.inputs]),
        tuple([_stored(output) for output in layer.outputs]),
    )


def _stored(tensor: Tensor | None) -> Any:
    if tensor is None:
        return None
    return tensor.shape, tensor.dtype and tensor.dtype._name_

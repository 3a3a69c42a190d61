"""An order of a graph's nodes that keeps modules together and every edge leading forwards."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

from enginescope.analysis.graph.folding.module_path import Path, shared_path
from enginescope.analysis.graph.folding.node_traits import NodeTraits
from enginescope.analysis.graph.plan_graph import PlanGraph


def ends_outside(graph: PlanGraph) -> tuple[list[int], list[int], list[int]]:
    """Return the tensors nothing leads to, everything else, and the tensors nothing reads.

    In execution order each. What stands at an engine's ends belongs to no module and no block.
    """
    read = {edge.source for edge in graph.edges}
    written = {edge.target for edge in graph.edges}
    first, last, middle = [], [], []
    for node in graph.nodes:
        if node.layer is None and node.id not in written:
            first.append(node.id)
        elif node.layer is None and node.id not in read:
            last.append(node.id)
        else:
            middle.append(node.id)
    return first, middle, last


def paths_of(traits: NodeTraits, nodes: list[int]) -> dict[int, Path]:
    """Return each node's module; one without takes what its neighbours in the order share.

    Empty if no node has one.
    """
    own = [traits.paths[one] for one in nodes]
    if not any(own):
        return {}
    after: Path = ()
    following = []
    for path in reversed(own):
        after = after if path is None else path
        following.append(after)
    before: Path = ()
    found: dict[int, Path] = {}
    for node, path, after in zip(nodes, own, reversed(following), strict=True):
        found[node] = shared_path((before, after)) if path is None else path
        before = before if path is None else path
    return found


def module_order(graph: PlanGraph, nodes: list[int], paths: dict[int, Path]) -> list[int]:
    """Return `nodes` so that each module's stand together as far as the edges allow.

    Of the nodes that wait for nothing, the next is the earliest in the innermost module of the one
    before. Values carried over from an earlier iteration wait for nothing.
    """
    chosen = set(nodes)
    waiting = dict.fromkeys(nodes, 0)
    after: defaultdict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        if edge.source < edge.target and {edge.source, edge.target} <= chosen:
            after[edge.source].append(edge.target)
            waiting[edge.target] += 1
    ready = _Ready(paths)
    for node in nodes:
        if not waiting[node]:
            ready.add(node)
    order: list[int] = []
    here: Path = ()
    while len(order) < len(nodes):
        node = ready.take(here)
        order.append(node)
        here = paths[node]
        for one in after[node]:
            waiting[one] -= 1
            if not waiting[one]:
                ready.add(one)
    return order


class _Ready:
    """Nodes that may come next, found by any module that holds them."""

    def __init__(self, paths: dict[int, Path]) -> None:
        self._paths = paths
        self._heaps: defaultdict[Path, list[int]] = defaultdict(list)
        self._taken: set[int] = set()

    def add(self, node: int) -> None:
        path = self._paths[node]
        for depth in range(len(path) + 1):
            heappush(self._heaps[path[:depth]], node)

    def take(self, near: Path) -> int:
        for depth in range(len(near), -1, -1):
            heap = self._heaps.get(near[:depth])
            while heap:
                node = heappop(heap)
                if node not in self._taken:
                    self._taken.add(node)
                    return node
        raise AssertionError("edges within one iteration form a cycle")

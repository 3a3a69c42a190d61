"""An order of a graph's nodes that keeps modules together and every edge leading forwards.

What folding asks of a graph's nodes: their modules, what they are alike in, who follows them.
Folding by the modules that ONNX names tell.
"""

import itertools
import re
from collections.abc import Sequence
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enginescope.analysis.graph.folding.levels import Group, Member, Path, module_path, shared_path
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
        return [module_path(it.layer) if it.layer is not None else None for it in self.graph.nodes]

    @cached_property
    def kinds(self) -> list[int]:
        """Numbers from 0: equal for nodes equal in type, shapes and data types."""
        number: dict[Any, int] = {}
        return [number.setdefault(_signature(node), len(number)) for node in self.graph.nodes]

    @cached_property
    def by_end(self) -> tuple[list[int], list[int], list[int]]:
        """The tensors nothing leads to, everything else, and the tensors nothing reads.

        In execution order each. What stands at an engine's ends belongs to no module and no block.
        """
        read, written = (set(nodes.tolist()) for nodes in self.graph.ends.T[:2])
        tensors = [node.id for node in self.graph.nodes if node.layer is None]
        first = [node for node in tensors if node not in written]
        last = [node for node in tensors if node in written and node not in read]
        middle = sorted(set(range(len(self.graph.nodes))).difference(first, last))
        return first, middle, last

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
        sources, targets, tensors = self.graph.ends.T
        order = np.lexsort((tensors, sources))
        counts = np.bincount(sources, minlength=len(self.graph.nodes))
        starts = np.concatenate(([0], np.cumsum(counts)))
        # a tensor of several sources is several tensors
        own = (sources * (tensors.max(initial=0) + 1) + tensors)[order]
        return starts, targets[order], own


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


def paths_of(traits: NodeTraits, nodes: list[int]) -> dict[int, Path]:
    """Return each node's module; one without takes what its neighbors in the order share.

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
    chosen = np.zeros(len(graph.nodes), dtype=bool)
    chosen[nodes] = True
    sources, targets = graph.ends.T[:2]
    inside = (sources < targets) & chosen[sources] & chosen[targets]
    sources, targets = sources[inside], targets[inside]
    waiting = np.bincount(targets, minlength=len(chosen)).tolist()
    starts = [0, *np.cumsum(np.bincount(sources, minlength=len(chosen))).tolist()]
    after = targets[np.argsort(sources, kind="stable")].tolist()
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
        for one in after[starts[node] : starts[node + 1]]:
            waiting[one] -= 1
            if not waiting[one]:
                ready.add(one)
    return order


class _Ready:
    """Nodes that may come next, found by any module that holds them."""

    def __init__(self, paths: dict[int, Path]) -> None:
        self._paths = paths
        self._heaps: dict[Path, list[int]] = {}
        self._around: dict[Path, list[list[int]]] = {}
        self._taken: set[int] = set()

    def add(self, node: int) -> None:
        for heap in self._holding(self._paths[node]):
            heappush(heap, node)

    def take(self, near: Path) -> int:
        for heap in self._holding(near):
            while heap:
                node = heappop(heap)
                if node not in self._taken:
                    self._taken.add(node)
                    return node
        raise AssertionError("edges within one iteration form a cycle")

    def _holding(self, path: Path) -> list[list[int]]:
        found = self._around.get(path)
        if found is None:
            around = (path[:depth] for depth in range(len(path), -1, -1))
            found = self._around[path] = [self._heaps.setdefault(one, []) for one in around]
        return found


def by_module(traits: NodeTraits) -> tuple[Member, ...] | None:
    """Return the members of the whole; ``None`` if the names tell no modules.

    A module whose layers cannot stand together without a cycle is several groups.
    """
    first, middle, last = traits.by_end
    paths = paths_of(traits, middle)
    if not paths:
        return None
    order = module_order(traits.graph, middle, paths)
    inner = _members(order, paths, ())
    while len(inner) == 1 and isinstance(inner[0], Group):  # a module that holds everything
        inner = inner[0].members
    if not any(isinstance(one, Group) for one in inner):
        return None
    return (*first, *inner, *last)


def _members(nodes: Sequence[int], paths: dict[int, Path], above: Path) -> tuple[Member, ...]:
    depth = len(above)
    found: list[Member] = []
    for step, run in itertools.groupby(nodes, lambda node: paths[node][depth : depth + 1]):
        inside = list(run)
        if not step or len(inside) == 1:
            found += inside
        else:
            found.append(_module(inside, paths, (*above, *step)))
    return tuple(found)


def _module(nodes: Sequence[int], paths: dict[int, Path], path: Path) -> Group:
    """Return the group; modules that hold nothing but one module are one with it."""
    start = len(path) - 1
    while len(steps := {paths[node][len(path) : len(path) + 1] for node in nodes}) == 1:
        (step,) = steps
        if not step:
            break
        path = (*path, *step)
    name, whole, members = "/".join(path[start:]), "/".join(path), _members(nodes, paths, path)
    return Group(name=name, path=whole, kind="module", members=members)

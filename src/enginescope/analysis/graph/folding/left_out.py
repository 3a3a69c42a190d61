"""Groups of what is left out between the nodes that are kept."""

from __future__ import annotations

from collections.abc import Collection

from enginescope.analysis.graph.folding.tree import Group, Member
from enginescope.analysis.graph.plan_graph import PlanGraph

NAME = "left out"
_ALWAYS = ("input", "output")


def left_out(graph: PlanGraph, kept: Collection[int]) -> Group:
    """Return the whole with one group for each connected run of layers that are not kept.

    Paths between kept nodes stay paths: of two nodes in one group neither lies behind a kept node
    that is behind the other, so that no group leads back into itself. Inputs and outputs stay as
    they are. Linear in nodes and edges.

    Args:
        kept: Node ids.
    """
    stays = [node.id in kept or node.kind in _ALWAYS for node in graph.nodes]
    depth = _depths(graph, stays)
    top = _runs(graph, stays, depth)
    runs: dict[int, list[int]] = {}
    for node, first in enumerate(top):
        if not stays[node]:
            runs.setdefault(first, []).append(node)
    members: list[tuple[int, bool, int, Member]] = [
        (depth[node], True, node, node) for node, does in enumerate(stays) if does
    ]
    for first, nodes in runs.items():
        if any(graph.nodes[one].held_layers for one in nodes):
            group = Group(name=NAME, path=NAME, kind="block", members=tuple(nodes))
            members.append((depth[first], False, first, group))
        else:
            members += [(depth[one], False, one, one) for one in nodes]
    members.sort(key=lambda one: one[:3])
    return Group(
        name=graph.name,
        path=graph.name,
        kind="whole",
        members=tuple(member[3] for member in members),
    )


def _depths(graph: PlanGraph, stays: list[bool]) -> list[int]:
    """How many kept nodes lie at most on a way to each node; nodes stand in execution order."""
    into: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        if edge.source < edge.target:
            into[edge.target].append(edge.source)
    depth = [0] * len(graph.nodes)
    for node, sources in enumerate(into):
        depth[node] = max((depth[source] + stays[source] for source in sources), default=0)
    return depth


def _runs(graph: PlanGraph, stays: list[bool], depth: list[int]) -> list[int]:
    """The first node of each one's run."""
    parent = list(range(len(graph.nodes)))

    def top(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for edge in graph.edges:
        a, b = edge.source, edge.target
        if not stays[a] and not stays[b] and depth[a] == depth[b]:
            first, second = sorted((top(a), top(b)))
            parent[second] = first
    return [top(node) for node in range(len(parent))]

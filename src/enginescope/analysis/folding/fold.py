"""A plan's graph, folded."""

from __future__ import annotations

from enginescope.analysis.folding.blocks import by_block, with_long_modules_folded
from enginescope.analysis.folding.modules import by_module
from enginescope.analysis.folding.node_traits import NodeTraits
from enginescope.analysis.folding.tree import FOLDINGS, Group, Member
from enginescope.analysis.plan_graph import GraphEdge, GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.paused_collection import paused_collection


def fold(graph: PlanGraph, folding: str, traits: NodeTraits | None = None) -> Group | None:
    """Return the groups of `graph`; ``None`` if there is nothing to be folded that way.

    Parameters
    ----------
    graph : PlanGraph
    folding : {"module", "block", "none"}
        By the modules in ONNX names; by stretches of layers that repeat, equal in type, shapes and
        data types; or every node for itself.
    traits : NodeTraits, optional
        Of its nodes, where it is folded in several ways.

    Raises
    ------
    UsageError
        No such folding.
    """
    if folding not in FOLDINGS:
        raise UsageError(f"no such folding: {folding!r}", hint=", ".join(FOLDINGS))
    traits = traits or NodeTraits(graph)
    with paused_collection():
        members: tuple[Member, ...] | None = tuple(node.id for node in graph.nodes)
        if folding == "module":
            members = by_module(traits)
            members = with_long_modules_folded(traits, members) if members else None
        elif folding == "block":
            members = by_block(traits)
    if members is None:
        return None
    return Group(name=graph.name, path=graph.name, kind="whole", members=members)


def folded(graph: PlanGraph, whole: Group) -> PlanGraph:
    """Return the graph with each group directly in `whole` as one node.

    Edges that begin and end at the same nodes and carry the same tensor are one; those within a
    group are left out.
    """
    place: dict[int, int] = {}
    nodes = []
    for at, member in enumerate(whole.members):
        if isinstance(member, int):
            place[member] = at
            nodes.append(_moved(graph.nodes[member], at))
            continue
        inside = tuple(member.nodes())
        place.update(dict.fromkeys(inside, at))
        nodes.append(_of_group(graph, member, inside, at))
    edges: dict[tuple[int, int, str, str, bool], GraphEdge] = {}
    for edge in graph.edges:
        source, target = place[edge.source], place[edge.target]
        if source == target and edge.source != edge.target:
            continue
        name = edge.tensor.name if edge.tensor else ""
        made = GraphEdge(
            source=source,
            target=target,
            kind=edge.kind,
            tensor=edge.tensor,
            is_carried=edge.is_carried,
        )
        edges.setdefault((source, target, edge.kind, name, edge.is_carried), made)
    return PlanGraph(name=graph.name, nodes=tuple(nodes), edges=tuple(edges.values()))


def _moved(node: GraphNode, at: int) -> GraphNode:
    return GraphNode(
        id=at,
        kind=node.kind,
        name=node.name,
        layer=node.layer,
        tensor=node.tensor,
        generation=node.generation,
    )


def _of_group(graph: PlanGraph, group: Group, inside: tuple[int, ...], at: int) -> GraphNode:
    layers = (graph.nodes[one].layer for one in inside)
    return GraphNode(
        id=at,
        kind="group",
        name=f"{group.path} × {group.copies:,}" if group.copies else group.path,
        layers=tuple(one for one in layers if one is not None),
    )

"""A part of a plan's graph: what lies around some nodes.

Which nodes of a plan's graph are meant: by type, by precision, by words.
"""

import re
from collections.abc import Iterable

from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.core.suggest import closest


class GraphPart(Record, frozen=True, kw_only=True):
    """Some nodes of a graph with all edges among them.

    Attributes:
        graph: Nodes are numbered anew, in the same order.
        centres: Ids in `graph` of the nodes that were asked for.
        whole_nodes: Nodes of the graph it is a part of.
        cut_edges: Edges between this part and the rest.
    """

    graph: PlanGraph
    centres: tuple[int, ...]
    whole_nodes: int
    cut_edges: int


def neighbourhood(graph: PlanGraph, centres: Iterable[int], radius: int) -> GraphPart:
    """Return what is at most `radius` edges away from `centres`, in either direction."""
    chosen = set(centres)
    return part_of(graph, within(graph, chosen, radius), chosen)


def within(graph: PlanGraph, centres: Iterable[int], radius: int) -> set[int]:
    """Return the ids of what is at most `radius` edges away from `centres`, and theirs."""
    if radius < 0:
        raise UsageError(f"a radius of {radius} is not possible", hint="0 shows the nodes alone")
    near: dict[int, list[int]] = {}
    for edge in graph.edges:
        near.setdefault(edge.source, []).append(edge.target)
        near.setdefault(edge.target, []).append(edge.source)
    border = sorted(set(centres))
    kept = set(border)
    for _ in range(radius):
        border = sorted({one for node in border for one in near.get(node, ())} - kept)
        kept.update(border)
    return kept


def matching(graph: PlanGraph, pattern: str) -> tuple[int, ...]:
    """Return the ids of nodes whose name, type, tactic or ONNX nodes hold a regular expression."""
    try:
        sought = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression", why=str(error)) from error
    found = tuple(node.id for node in graph.nodes if any(map(sought.search, _texts(node))))
    if not found:
        raise UsageError(f"no node of {graph.name} matches {pattern!r}")
    return found


def named(graph: PlanGraph, name: str) -> tuple[int, ...]:
    """Return the ids of the nodes of that name; ``#12`` is the layer with that index."""
    if re.fullmatch(r"#\d+", name):
        index = int(name[1:])
        found = [node.id for node in graph.nodes if node.layer and node.layer.index == index]
    else:
        found = [node.id for node in graph.nodes if node.name == name]
    if not found:
        near = closest(name, [node.name for node in graph.nodes])
        hint = f"did you mean {near}?" if near else None
        raise UsageError(f"{graph.name} has no node {name!r}", hint=hint)
    return tuple(found)


def parse_beam(text: str) -> tuple[str, int]:
    """Return name and radius from ``NAME,RADIUS``; the name may hold commas."""
    name, _, radius = text.rpartition(",")
    if not name or not re.fullmatch(r"\s*\d+\s*", radius):
        raise UsageError(f"{text!r} is not NODE,RADIUS", hint="such as: Conv_29,2")
    return name, int(radius)


def part_of(graph: PlanGraph, kept: set[int], centres: set[int]) -> GraphPart:
    """Return the nodes of these ids, with all edges among them; `centres` are some of them."""
    new_id = {old: new for new, old in enumerate(sorted(kept))}
    nodes = tuple(replace(graph.nodes[old], id=new) for old, new in new_id.items())
    inside = [edge for edge in graph.edges if edge.source in kept and edge.target in kept]
    touching = sum(edge.source in kept or edge.target in kept for edge in graph.edges)
    edges = tuple(
        replace(edge, source=new_id[edge.source], target=new_id[edge.target]) for edge in inside
    )
    return GraphPart(
        graph=PlanGraph(name=graph.name, nodes=nodes, edges=edges),
        centres=tuple(sorted(new_id[centre] for centre in centres)),
        whole_nodes=len(graph.nodes),
        cut_edges=touching - len(inside),
    )


def _texts(node: GraphNode) -> Iterable[str]:
    yield node.name
    if node.layer:
        yield node.layer.type
        yield from filter(None, (node.layer.subtype, node.layer.tactic_name))
        yield from node.layer.onnx_nodes


def queried(graph: PlanGraph, queries: Iterable[str]) -> tuple[int, ...]:
    """Return the ids of the nodes that all of `queries` mean.

    Args:
        queries: ``type:Reformat`` and ``precision:INT8`` mean layers, in whatever case; anything
            else is a regular expression, sought in names, types, tactics and ONNX nodes.
    """
    given = tuple(queries)
    found = {node.id for node in graph.nodes}
    for query in given:
        kind, colon, value = query.partition(":")
        if colon and kind in ("type", "precision"):
            found &= _equal(graph, kind, value)
        else:
            found &= set(matching(graph, query))
    if not found:
        raise UsageError(f"no node of {graph.name} matches all of {', '.join(given)}")
    return tuple(sorted(found))


def _equal(graph: PlanGraph, kind: str, value: str) -> set[int]:
    texts: dict[int, tuple[str, ...]] = {}
    for node in graph.nodes:
        layer = node.layer
        words: tuple[str | None, ...] = (layer.type, layer.subtype) if layer else ()
        if kind == "precision":
            words = (layer.precision.value,) if layer and layer.precision else ()
        texts[node.id] = tuple(filter(None, words))
    sought = value.casefold()
    found = {node for node, those in texts.items() if sought in map(str.casefold, those)}
    if not found:
        there = sorted({one for those in texts.values() for one in those})
        near = closest(value, there) or ", ".join(there)
        raise UsageError(
            f"{graph.name} has no layer of {kind} {value!r}",
            hint=f"did you mean {near}?" if near else None,
        )
    return found

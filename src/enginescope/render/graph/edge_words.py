"""What is written beside and about each edge of a drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph
from enginescope.render.graph.node_labels import ordinal, shortened, tensor_text

#: Characters beside an edge, and of each end's name in its title; whole names are on the nodes.
LABEL_CHARACTERS = 36
_END_CHARACTERS = 120
_NAME_CHARACTERS = 2_000

#: Source, kind and tensor: edges that have all three alike carry one tensor to several readers.
Flow = tuple[int, str, str]


def flow_of(edge: GraphEdge) -> Flow:
    """Return what makes edges of one tensor from one node alike."""
    return edge.source, edge.kind, edge.tensor.name if edge.tensor else ""


def edge_labels(graph: PlanGraph) -> Iterator[str | None]:
    """Yield shape, precision and format for each edge; ``None`` where a node at its end says so."""
    for edge in graph.edges:
        ends = graph.nodes[edge.source], graph.nodes[edge.target]
        if edge.tensor is None or edge.kind != "data" or any(end.tensor for end in ends):
            yield None
        else:
            yield shortened(tensor_text(edge.tensor), LABEL_CHARACTERS) or None


def edge_titles(graph: PlanGraph) -> Iterator[str]:
    """Yield for each edge what flows along it, from where to where, and who else reads it."""
    readers = Counter(map(flow_of, graph.edges))
    for edge in graph.edges:
        yield "\n".join(filter(None, _title(edge, graph.nodes, readers[flow_of(edge)])))


def _title(edge: GraphEdge, nodes: tuple[GraphNode, ...], readers: int) -> Iterator[str]:
    ends = nodes[edge.source], nodes[edge.target]
    between = " → ".join(shortened(end.name, _END_CHARACTERS) for end in ends)
    if edge.tensor is None:
        yield f"{between}\norder only: no tensor joins them"
        return
    yield shortened(edge.tensor.name, _NAME_CHARACTERS)
    yield tensor_text(edge.tensor)
    yield between
    if readers > 1:
        yield f"read by {readers:,} from here"
    if edge.kind == "reuse":
        yield "the same memory, written anew"
    else:
        use = next((end.generation for end in ends if end.generation is not None), None)
        yield f"{ordinal(use + 1)} use of this memory" if use is not None else ""
    if edge.is_carried:
        yield "read before it is written: from an earlier iteration"
